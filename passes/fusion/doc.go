// Package fusion decides which values are written to memory, and gathers everything else into the kernels
// that want it.
//
// In: an *ir.Module after inlining and canonicalisation, with literal or symbolic extents. Out: the same
// module in which every computing operation is inside of a fusion operation; outside remain input and
// output, calls that are steps of the plan, `if` over such steps, and constants and views that these want.
//
//	%0 = mul %a, %x                %0: f32[N] = fusion %a, %x, %b ^(%p0: f32[N], %p1: f32[N], %p2: f32[N]) {
//	%1 = add %0, %b         →        %1 = mul %p0, %p1
//	%2 = relu %1                     ... yields relu
//
// plan.go finds out which values are materialised, provenance.go and accessrule.go how often a value would be computed
// otherwise, cost.go what that costs, product.go when a matrix product needs a kernel of its own; group.go joins
// materialised values into kernels, fuse.go rewrites the block and explain.go describes it. A new operation fuses
// without a change here: what may move is in the table (traits, Op.ReadsAll). Where an operation reads its operands,
// accessrule.go learns from its Element rule (Note [Access relations]).
//
// # Loops
//
// iterate and iterate_until carry a state, any number of values. Fusion decides what one becomes (Note [Loops in
// kernels]). With a small state and little work in a step it stands in a kernel: the state is scalars that a
// kernel.Loop or kernel.Iterate carries, a small tensor one scalar an element, and in vector code the elements of a
// vector end on their own, under a mask. Otherwise it is an abi.Loop: a step of the plan with steps in it, whose
// states change places in memory.
//
// A scan is a kernel of its own: rows in parallel, and in each a sequential loop that stores every accumulator. each,
// and folds over a state that is no scalar, are loops that read one element in each step. What cannot be part of a
// kernel (ir.Steps: a large state, strings) may stand in the function of a tabulate, fold or scan, too.
// The pass sequentialize makes a loop over its elements of that.
package fusion
