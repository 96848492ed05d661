// Package runtime has what a compiled program needs while it runs: tensors and their memory, the
// .npy and .npz formats, printing, generated inputs and the pool of worker threads. It knows no part
// of the compiler, so a program that was compiled ahead of time links this package alone.
//
// # Ownership
//
// A Tensor holds one counted reference to its Storage. Every *Tensor that a function or method of this
// package returns, views included, belongs to the caller, who ends it with Close; the memory is
// released with the last reference. A tensor that is forgotten is released by the garbage collector
// some time later, unless Slice handed out its memory (see Slice).
//
// A Tensor may be read by several goroutines at once. Close must not run while another goroutine uses
// the same Tensor.
//
// # Errors
//
// Misuse is a Go error, never a panic: a closed tensor, an axis out of range, shapes that do not agree,
// more memory than there is (*OutOfMemoryError), a malformed file (*NpyError).
package runtime
