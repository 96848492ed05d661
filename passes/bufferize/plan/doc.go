// Package plan writes the plan of a program: which buffers there are, where each value lies, and which steps run in
// which order.
//
// In: a fused *ir.Module. Out: a *kernel.Module with its abi.Program. What a kernel computes is package lower's; this
// package says which values one kernel computes and which buffers it reads and writes.
//
// plan.go has functions, steps.go the operations that are steps, hostloop.go loops over kernels, fuse.go the kernels of
// a fusion operation, unit.go sites and scalar functions. buffers.go assigns buffers, inplace.go and inplace_rows.go
// let results take the buffers of operands, lifetimes.go says how long temporaries live, and cost.go estimates what a
// kernel does.
package plan
