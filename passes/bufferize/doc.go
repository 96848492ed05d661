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
package bufferize
