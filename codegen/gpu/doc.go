// Package gpu makes PTX of kernel IR, for NVIDIA devices from compute capability 7.0 on. It maps each kernel to a grid
// in the first of KernelForms that fits, and decides how the kernels are launched (abi.Device). Package llvm translates
// the statements of a kernel, and its library makes the PTX. docs/gpu.md describes the forms and the result.
package gpu
