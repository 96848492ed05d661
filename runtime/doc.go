// Package runtime runs compiled programs: it walks a plan (abi.Program), calls the kernels in machine code or starts
// them on a device, and does what the host has to do. The packages below it have tensors (runtime/tensor) and their
// files (runtime/tensorfile), memory (runtime/memory) and threads (runtime/pool). It knows no part of the compiler, so
// a program that was compiled ahead of time links these packages alone.
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
