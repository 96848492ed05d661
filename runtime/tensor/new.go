package tensor

import (
	"fmt"
	"reflect"
	"unsafe"

	"healc/lang/types"
	"healc/runtime/memory"
)

// Elem is the Go types of elements. An int is an i64, a uint a u64; f16 and bf16 have no Go type: see
// FromBits, and Bitcast on a tensor of uint16. So it is with f8e4m3, f8e5m2, e8m0 and f4e2m1 and a tensor of uint8,
// and with i4 and one of int8.
type Elem interface {
	~bool | ~int8 | ~int16 | ~int32 | ~int64 | ~int | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uint | ~float32 | ~float64
}

// DTypeOf returns the element type that T is.
func DTypeOf[T Elem]() types.DType { return dtypeOfKind[reflect.TypeFor[T]().Kind()] }

var dtypeOfKind = [...]types.DType{
	reflect.Bool: types.Bool,
	reflect.Int:  types.I64, reflect.Int8: types.I8, reflect.Int16: types.I16, reflect.Int32: types.I32,
	reflect.Int64: types.I64,
	reflect.Uint:  types.U64, reflect.Uint8: types.U8, reflect.Uint16: types.U16, reflect.Uint32: types.U32,
	reflect.Uint64:  types.U64,
	reflect.Float32: types.F32, reflect.Float64: types.F64,
}

// New returns a row-major tensor whose elements have unspecified values.
func New(dtype types.DType, shape ...int64) (*Tensor, error) {
	bytes, err := CheckShape(dtype, shape)
	if err != nil {
		return nil, err
	}
	s, err := memory.New(bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", TypeName(dtype, shape), err)
	}
	t := newView(s, dtype, len(shape))
	copy(t.Shape, shape)
	memory.SetRowMajor(t.Strides, t.Shape)
	return t, nil
}

// Zeros returns a row-major tensor of zeros.
func Zeros(dtype types.DType, shape ...int64) (*Tensor, error) {
	t, err := New(dtype, shape...)
	if err != nil {
		return nil, err
	}
	clear(t.Raw())
	return t, nil
}

// FromSlice copies data, in row-major order, into a tensor of the given shape; without a shape the result
// has one axis. For a scalar see Scalar. When the shape does not have len(data) elements, or memory runs out, the
// result is a tensor that cannot be used: its Err says why, and every use of it returns that error.
func FromSlice[T Elem](data []T, shape ...int) *Tensor {
	s, err := sliceShape(len(data), shape)
	if err != nil {
		return &Tensor{err: fmt.Errorf("FromSlice: %w", err)}
	}
	t, err := New(DTypeOf[T](), s...)
	if err != nil {
		return &Tensor{err: fmt.Errorf("FromSlice: %w", err)}
	}
	copy(unsafe.Slice((*T)(t.storage.Ptr()), len(data)), data)
	return t
}

// Wrap returns a tensor on the memory of data itself, without a copy: both see the writes of the other.
// It reports errors like FromSlice. The memory is aligned to one element only.
func Wrap[T Elem](data []T, shape ...int) *Tensor {
	s, err := sliceShape(len(data), shape)
	if err != nil {
		return &Tensor{err: fmt.Errorf("Wrap: %w", err)}
	}
	if len(data) == 0 {
		return FromSlice(data, shape...) // no memory to share, and Ptr is not to be nil
	}
	dtype := DTypeOf[T]()
	t, err := FromStorage(memory.Wrap(unsafe.Pointer(&data[0]), int64(len(data)*dtype.Bytes()), data, nil), dtype, s...)
	if err != nil {
		return &Tensor{err: fmt.Errorf("Wrap: %w", err)}
	}
	return t
}

// Rewrap puts t, which Wrap made, on the memory of other data, of as many elements of the same type, and allocates
// nothing: for who is given another slice for each call. Nothing else uses t meanwhile; that a view of it is left is an
// error.
func Rewrap[T Elem](t *Tensor, data []T) error {
	if err := t.Err(); err != nil {
		return fmt.Errorf("Rewrap: %w", err)
	}
	if dtype := DTypeOf[T](); dtype != t.DType || int64(len(data)) != t.Elems() || !t.IsContiguous() || t.Offset != 0 {
		return fmt.Errorf("Rewrap: %d elements of type %s for a tensor %s", len(data), dtype, t)
	}
	if len(data) == 0 {
		return nil
	}
	if !t.storage.Rewrap(unsafe.Pointer(&data[0])) {
		return fmt.Errorf("Rewrap: the memory of %s is not wrapped, or shared with another tensor", t)
	}
	return nil
}

// sliceShape checks a shape for n elements.
func sliceShape(n int, shape []int) ([]int64, error) {
	if len(shape) == 0 {
		return []int64{int64(n)}, nil
	}
	s := make([]int64, len(shape))
	for i, d := range shape {
		s[i] = int64(d)
	}
	if _, err := CheckShape(types.I8, s); err != nil {
		return nil, err
	}
	if memory.Count(s) != int64(n) {
		return nil, fmt.Errorf("%d elements do not fill shape %s of %d", n, shapeName(s), memory.Count(s))
	}
	return s, nil
}

// FromStorage returns a row-major tensor at the start of s, and takes the caller's reference to s, also
// when it fails because s is too small.
func FromStorage(s *memory.Storage, dtype types.DType, shape ...int64) (*Tensor, error) {
	bytes, err := CheckShape(dtype, shape)
	if err == nil && bytes > s.Bytes() {
		err = fmt.Errorf("%s needs %d bytes, the storage has %d", TypeName(dtype, shape), bytes, s.Bytes())
	}
	if err != nil {
		s.Release()
		return nil, err
	}
	t := newView(s, dtype, len(shape))
	copy(t.Shape, shape)
	memory.SetRowMajor(t.Strides, t.Shape)
	return t, nil
}

// Scalar returns a tensor of rank 0. It reports errors like FromSlice.
func Scalar[T Elem](v T) *Tensor {
	t, err := New(DTypeOf[T]())
	if err != nil {
		return &Tensor{err: fmt.Errorf("Scalar: %w", err)}
	}
	*(*T)(t.storage.Ptr()) = v
	return t
}

// Slice returns the elements of a contiguous tensor as a Go slice on the tensor's own memory: writes
// show in the tensor and in its views. The slice is valid until the memory is released by Close. Since the garbage
// collector does not see such a slice, it no longer releases the memory of this tensor: Close must.
func Slice[T Elem](t *Tensor) ([]T, error) {
	if err := t.HostErr(); err != nil {
		return nil, err
	}
	want := DTypeOf[T]()
	bits := want == types.U16 && (t.DType == types.F16 || t.DType == types.BF16) ||
		want == types.U8 && t.DType.IsStored() && t.DType != types.I4 || want == types.I8 && t.DType == types.I4
	switch {
	case want != t.DType && !bits:
		return nil, fmt.Errorf("Slice: a tensor of %v has no slice of %v", t.DType, reflect.TypeFor[T]())
	case !t.IsContiguous():
		return nil, fmt.Errorf("Slice: %v with strides %s is not contiguous; use Contiguous first", t,
			shapeName(t.Strides))
	}
	t.storage.Pin()
	return unsafe.Slice((*T)(t.Ptr()), t.Elems()), nil
}

// Raw is the memory of a contiguous tensor of the host as bytes.
func (t *Tensor) Raw() []byte { return unsafe.Slice((*byte)(t.Ptr()), t.Bytes()) }
