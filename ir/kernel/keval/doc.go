// Package keval executes the plans and kernels of a kernel.Module plainly, one scalar instruction at a time,
// so that what comes before code generation can be compared with the reference interpreter without a
// code generator. It checks what generated code relies on: nothing is read out of bounds, before it was
// written, or outside of a buffer's life in the arena; nothing is written twice by one kernel.
//
// In: *kernel.Module and arrays. Out: arrays, or a *Failure. It is slow, and used by tests alone.
package keval
