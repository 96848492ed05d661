package memory

import (
	"slices"
	"unsafe"
)

// Array is where the elements of a tensor lie: element [i0, i1, ...] at Ptr + (i0*Strides[0] + i1*Strides[1] + ...)
// * Size. Nothing keeps the memory reachable.
type Array struct {
	Ptr     unsafe.Pointer
	Size    int64 // bytes of an element
	Shape   []int64
	Strides []int64 // in elements
}

// Overlaps reports whether the address ranges of the two meet.
func (a Array) Overlaps(o Array) bool {
	if Count(a.Shape) == 0 || Count(o.Shape) == 0 {
		return false
	}
	lo, hi := a.Span()
	olo, ohi := o.Span()
	return lo < ohi && olo < hi
}

// Span returns the addresses from which and below which the elements lie, of which there are some.
func (a Array) Span() (lo, hi uintptr) {
	lo = uintptr(a.Ptr)
	hi = lo + uintptr(a.Size)
	for i, d := range a.Shape {
		if reach := (d - 1) * a.Strides[i] * a.Size; reach < 0 {
			lo -= uintptr(-reach)
		} else {
			hi += uintptr(reach)
		}
	}
	return lo, hi
}

// IsRowMajor reports whether the elements lie in row-major order without gaps.
func (a Array) IsRowMajor() bool {
	want := int64(1)
	for i := len(a.Shape) - 1; i >= 0; i-- {
		if a.Shape[i] != 1 && a.Strides[i] != want {
			return Count(a.Shape) == 0
		}
		want *= a.Shape[i]
	}
	return true
}

// Same reports whether the two are one tensor.
func (a Array) Same(o Array) bool {
	return a.Ptr == o.Ptr && slices.Equal(a.Shape, o.Shape) && SameStrides(a.Shape, a.Strides, o.Strides)
}

// Aside copies the elements to memory of their own; dense are the row-major strides of the shape.
func (a Array) Aside(dense []int64) (Array, *Storage, error) {
	s, err := New(max(Count(a.Shape)*a.Size, 1))
	if err != nil {
		return Array{}, nil, err
	}
	c := Array{s.Ptr(), a.Size, a.Shape, dense}
	Copy(c, a)
	return c, s, nil
}

// SameStrides compares strides where they matter: not on axes of extent 1, nor of empty tensors.
func SameStrides(shape, a, b []int64) bool {
	for _, n := range shape {
		if n == 0 {
			return true
		}
	}
	for i, n := range shape {
		if n > 1 && a[i] != b[i] {
			return false
		}
	}
	return true
}

// RowMajor returns the strides of a dense tensor.
func RowMajor(shape []int64) []int64 {
	strides := make([]int64, len(shape))
	SetRowMajor(strides, shape)
	return strides
}

// Count is the number of elements of a shape.
func Count(shape []int64) int64 {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	return n
}

// SetRowMajor fills strides with those of a dense tensor.
func SetRowMajor(strides, shape []int64) {
	n := int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = n
		n *= max(shape[i], 1)
	}
}

// LoadBits reads the bits of an element of so many bytes.
func LoadBits(p unsafe.Pointer, size int) uint64 {
	switch size {
	case 1:
		return uint64(*(*uint8)(p))
	case 2:
		return uint64(*(*uint16)(p))
	case 4:
		return uint64(*(*uint32)(p))
	}
	return *(*uint64)(p)
}
