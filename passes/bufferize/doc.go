// Package bufferize turns a fused module into kernels and a plan: every fusion operation becomes loop nests (package
// ir/kernel), every value gets a place (an output, a view, or a range of one arena), and what runs between kernels
// becomes steps of an abi.Program.
//
// In: an *ir.Module in which every computing operation is inside a fusion operation (passes/fusion). A computing
// operation that is outside of one becomes a kernel of its own. Out: a verified *kernel.Module whose Plan the runtime
// walks. The package never decides what is fused, and never changes the module.
//
// Package plan walks the blocks of the functions: it assigns buffers, and writes the steps. For each kernel it asks
// package lower, which writes the body. The passes of ir/kernel/transform then rewrite the kernels.
//
// # Memory
//
// The plan names every buffer before anything runs: inputs and results, which are the caller's, constants, and
// temporaries. Temporaries lie in one arena by their lifetimes, so that its size is known before the program runs.
// Kernels write results where they end up, and views are strides. A result that is a transposed argument is written
// by a kernel. Outputs that are too large for the caches are marked, so that code generation writes past them.
// Kernels allocate nothing, and a second call of CallInto does not either (tests/allocations).
//
// # Rows in memory
//
// Sorting, scatter_add and transforms make all elements of a row at once, in memory. They have a Rows rule beside
// Element: the code for one row. It becomes a kernel of its own, parallel over the other axes, with what computes its
// operands pulled in. For a device the rule is told that threads share a row (Options.Teams).
package bufferize
