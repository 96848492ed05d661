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
//
// # Devices
//
// With the backends gpu and ptxsim a plan runs on a device (Note [Programs on a device]): the same buffers and
// arena, at addresses of the device, with PTX in place of the object; abi.Device says how kernels are launched.
// The host starts everything on one stream and waits only where it has to know a value. A loop of small steps is
// one launch, and a loop that ends by a condition is ended by the device (Note [Loops on a device]). Package
// runtime/device is what the runtime asks of a device; the driver of NVIDIA and the simulator are the two that
// there are. On the simulator every buffer is an allocation of its own, so that an access beyond it is found.
// docs/gpu.md is for users.
//
// The runtime of tests runs code for processors that are not here: what is generated for AVX-512 as AVX2's
// instructions, and code on emulated processors (tests/emulated), which LoadAway puts in the place of this
// machine's.
package runtime
