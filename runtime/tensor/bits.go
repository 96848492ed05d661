package tensor

import (
	"fmt"
	goruntime "runtime"
	"unsafe"

	"healc/lang/types"
	"healc/runtime/memory"
)

// The bits of an element, where this file passes them around, are its memory read as an unsigned integer
// of its size: a negative i8 is not sign-extended, a bool is 0 or 1, a float is its IEEE pattern.

// FromBits returns a row-major tensor with the given element bits; what does not fit the element's size is
// cut off, and a bool is 1 for any odd number.
func FromBits(dtype types.DType, shape []int64, bits []uint64) (*Tensor, error) {
	if _, err := CheckShape(dtype, shape); err != nil {
		return nil, fmt.Errorf("FromBits: %w", err)
	}
	if n := memory.Count(shape); n != int64(len(bits)) {
		return nil, fmt.Errorf("FromBits: %d elements do not fill shape %s of %d", len(bits), shapeName(shape), n)
	}
	t, err := New(dtype, shape...)
	if err != nil {
		return nil, err
	}
	switch p := t.Ptr(); {
	case dtype == types.Bool:
		for i, b := range bits {
			t.store(int64(i), b)
		}
	case dtype.Bytes() == 1:
		narrow[uint8](p, bits)
	case dtype.Bytes() == 2:
		narrow[uint16](p, bits)
	case dtype.Bytes() == 4:
		narrow[uint32](p, bits)
	default:
		narrow[uint64](p, bits)
	}
	goruntime.KeepAlive(t)
	return t, nil
}

type word interface {
	uint8 | uint16 | uint32 | uint64
}

// narrow writes bits to neighbouring elements at p.
func narrow[T word](p unsafe.Pointer, bits []uint64) {
	to := unsafe.Slice((*T)(p), len(bits))
	for i, b := range bits {
		to[i] = T(b)
	}
}

// widen reads elements at p, so many elements apart.
func widen[T word](out []uint64, p unsafe.Pointer, stride int64) {
	stride *= int64(unsafe.Sizeof(T(0)))
	for i := range out {
		out[i] = uint64(*(*T)(unsafe.Add(p, int64(i)*stride)))
	}
}

// Bits returns the bits of all elements in row-major order, nil when t cannot be used or is on a device.
func (t *Tensor) Bits() []uint64 {
	if t.HostErr() != nil {
		return nil
	}
	out := make([]uint64, t.Elems())
	if len(out) == 0 {
		return out // its outer axes may count to any number
	}
	row, stride, outer := 1, int64(1), max(t.Rank()-1, 0)
	if outer < t.Rank() {
		row, stride = int(t.Shape[outer]), t.Strides[outer]
	}
	size, rest := int64(t.DType.Bytes()), out
	for at := range positions(t.Shape[:outer], t.Strides[:outer]) {
		p := unsafe.Add(t.Ptr(), at*size)
		switch size {
		case 1:
			widen[uint8](rest[:row], p, stride)
		case 2:
			widen[uint16](rest[:row], p, stride)
		case 4:
			widen[uint32](rest[:row], p, stride)
		default:
			widen[uint64](rest[:row], p, stride)
		}
		rest = rest[row:]
	}
	goruntime.KeepAlive(t)
	return out
}

// At returns the bits of one element. Indices count from 0; one is needed per axis.
func (t *Tensor) At(index ...int64) (uint64, error) {
	at, err := t.position(index)
	if err != nil {
		return 0, err
	}
	return t.load(at), nil
}

// SetBits writes the bits of one element, in every tensor that shares it.
func (t *Tensor) SetBits(bits uint64, index ...int64) error {
	at, err := t.position(index)
	if err != nil {
		return err
	}
	t.store(at, bits)
	return nil
}

// Clear sets every element to zero.
func (t *Tensor) Clear() error {
	if err := t.Err(); err != nil {
		return err
	}
	if t.IsContiguous() {
		clear(t.Raw())
		goruntime.KeepAlive(t)
		return nil
	}
	for at := range positions(t.Shape, t.Strides) {
		t.store(at, 0)
	}
	return nil
}

// position returns where an element lies, in elements from Ptr.
func (t *Tensor) position(index []int64) (int64, error) {
	if err := t.HostErr(); err != nil {
		return 0, err
	}
	if len(index) != len(t.Shape) {
		return 0, fmt.Errorf("index %s has %d numbers, %v has rank %d", shapeName(index), len(index), t, len(t.Shape))
	}
	at := int64(0)
	for axis, i := range index {
		if i < 0 || i >= t.Shape[axis] {
			return 0, fmt.Errorf("index %d is out of range for axis %d of %v", i, axis, t)
		}
		at += i * t.Strides[axis]
	}
	return at, nil
}

// positions yields where the elements of a tensor lie, in elements from the first, in row-major order. There is one for
// no axes.
func positions(shape, strides []int64) func(yield func(int64) bool) {
	return func(yield func(int64) bool) {
		if memory.Count(shape) == 0 {
			return
		}
		index := make([]int64, len(shape))
		for at := int64(0); ; {
			if !yield(at) {
				return
			}
			axis := len(shape) - 1
			for ; axis >= 0; axis-- {
				index[axis]++
				at += strides[axis]
				if index[axis] < shape[axis] {
					break
				}
				at -= index[axis] * strides[axis]
				index[axis] = 0
			}
			if axis < 0 {
				return
			}
		}
	}
}

// load reads the element at elements from Ptr, without a check.
func (t *Tensor) load(at int64) uint64 {
	size := t.DType.Bytes()
	bits := memory.LoadBits(unsafe.Add(t.Ptr(), at*int64(size)), size)
	goruntime.KeepAlive(t)
	return bits
}

// store writes the element at elements from Ptr, without a check.
func (t *Tensor) store(at int64, bits uint64) {
	p := unsafe.Add(t.Ptr(), at*int64(t.DType.Bytes()))
	switch {
	case t.DType == types.Bool:
		*(*uint8)(p) = uint8(bits & 1)
	case t.DType.Bytes() == 1:
		*(*uint8)(p) = uint8(bits)
	case t.DType.Bytes() == 2:
		*(*uint16)(p) = uint16(bits)
	case t.DType.Bytes() == 4:
		*(*uint32)(p) = uint32(bits)
	default:
		*(*uint64)(p) = bits
	}
	goruntime.KeepAlive(t)
}
