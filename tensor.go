package heal

import (
	"fmt"
	"unsafe"

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

// TensorOf is a tensor whose elements are known to be T, in the memory of the host. It is a *Tensor, with all of its
// methods; a function is called with the field of that name, or with its view of another type.
type TensorOf[T Elem] struct{ *Tensor }

// Of is a tensor on the memory of data itself, in row-major order, without a copy: each sees what is written through
// the other. The garbage collector keeps data as long as the tensor, and does not move it. A call may read data, and
// writes it where the tensor is a place for a result or the argument of a `&mut` parameter; what is known to FromSlice
// of shapes and errors is so here.
func Of[T Elem](data []T, shape ...int) TensorOf[T] { return TensorOf[T]{tensor.Wrap(data, shape...)} }

// As is t with the type of its elements, which is not another one: the same tensor, which is closed once.
func As[T Elem](t *Tensor) (TensorOf[T], error) {
	if err := t.HostErr(); err != nil {
		return TensorOf[T]{}, err
	}
	if want := tensor.DTypeOf[T](); t.DType != want {
		return TensorOf[T]{}, fmt.Errorf("%v is no tensor of %v", t, want)
	}
	return TensorOf[T]{t}, nil
}

// Slice is the elements of a contiguous tensor, without a copy. It is valid as that of the function Slice is.
func (t TensorOf[T]) Slice() ([]T, error) { return tensor.Slice[T](t.Tensor) }

// At is one element. Indices count from 0; one is needed for each axis.
func (t TensorOf[T]) At(index ...int64) (T, error) {
	bits, err := t.Tensor.At(index...)
	return *(*T)(unsafe.Pointer(&bits)), err // the machines that there is code for have the low byte first
}

// Set writes one element, in every tensor that shares it.
func (t TensorOf[T]) Set(v T, index ...int64) error {
	var bits uint64
	*(*T)(unsafe.Pointer(&bits)) = v
	return t.SetBits(bits, index...)
}

// System is the world outside, as programs see it: what they print, and the files that they read and write.
type System = runtime.System
