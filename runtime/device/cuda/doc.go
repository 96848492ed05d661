// Package cuda is the binding to the driver of NVIDIA, libcuda.so.1, which it opens when it is first asked for a
// device: nothing of CUDA is needed to build, and a machine without a driver gets a clear error.
//
// The functions are those of the driver API (https://docs.nvidia.com/cuda/cuda-driver-api), under the names that the
// library exports: where a function has had several forms, that is the one with its suffix, as cuMemAlloc_v2.
package cuda
