// Package tensor has tensors: their elements, views, copies between the host and devices, printing, and generated ones.
//
// # Ownership
//
// A Tensor holds one counted reference to its memory.Storage. Every *Tensor that a function or method of this
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
// more memory than there is (*memory.OutOfMemoryError).
package tensor
