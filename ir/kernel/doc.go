// Package kernel is the loop-level IR: kernels with parallel axes, reductions in a named order, affine
// reads through views, and scalar bodies. A kernel is what one launch runs; abi.Program says in which order.
//
// In: fusion operations of the tensor IR, by way of passes/bufferize. Out: what codegen/llvm and
// codegen/gpu translate. Back ends see loops and scalars only, never the name of a tensor operation.
package kernel
