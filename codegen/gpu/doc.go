// Package gpu makes PTX of kernel IR, for NVIDIA devices from compute capability 7.0 on. It decides what each thread of
// a kernel does (general.go says what is right for every kernel; the other forms are faster where they fit) and how the
// kernels are launched (abi.Device). The statements of a kernel are translated by package llvm, whose library makes the
// PTX. docs/gpu.md is about what comes out.
package gpu
