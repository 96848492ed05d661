package heal

import (
	"healc/runtime"
	"healc/runtime/tensor"
)

// Tensor is an array of elements of one type, in memory of the host or of a device. Package
// runtime/tensor has its methods, and everything else that makes and converts tensors; runtime/tensorfile has files. A
// tensor may be closed while calls have it: they keep its memory until they end.
type Tensor = tensor.Tensor

// Elem is the Go types of elements. An int is an i64, a uint a u64.
type Elem = tensor.Elem

// FromSlice copies data, in row-major order, into a tensor of the given shape; without a shape the result has one axis.
// When the shape does not have len(data) elements, or memory runs out, the result is a tensor that cannot be used: its
// Err says why, and every use of it returns that error.
func FromSlice[T Elem](data []T, shape ...int) *Tensor { return tensor.FromSlice(data, shape...) }

// Scalar returns a tensor without axes. It reports errors like FromSlice.
func Scalar[T Elem](v T) *Tensor { return tensor.Scalar(v) }

// Slice returns the elements of a contiguous tensor of the host as a Go slice, without a copy: it is valid until Close,
// which such a tensor needs, since the garbage collector does not see the slice.
func Slice[T Elem](t *Tensor) ([]T, error) { return tensor.Slice[T](t) }

// System is the world outside, as programs see it: what they print, and the files that they read and write.
type System = runtime.System
