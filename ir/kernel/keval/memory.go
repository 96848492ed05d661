package keval

import (
	"fmt"

	"healc/ir"
	"healc/lang/types"
	"healc/runtime/abi"
)

// memory is one buffer: raw bits of the elements at offsets from low on.
type memory struct {
	bits    []uint64
	written []bool
	low     int64
	shape   []int64
	strides []int64
	str     string
}

// bug is a broken promise of the code under test; Run turns it into an error.
type bug struct{ msg string }

func fail(format string, args ...any) { panic(bug{fmt.Sprintf(format, args...)}) }

func (r *run) dim(d types.Dim) int64 {
	if n, ok := d.Const(); ok {
		return n
	}
	n, err := d.Eval(r.dims)
	if err != nil {
		fail("%v", err)
	}
	return n
}

func (r *run) extent(e abi.Extent) int64 {
	n := r.dim(e.Dim)
	if e.Div > 1 {
		n = (n + e.Div - 1) / e.Div
	}
	if n < 0 || e.Guarded && n > types.MaxExtent {
		return 0
	}
	return n
}

// allocate makes the memory of a buffer.
func (r *run) allocate(b *abi.Buffer) *memory {
	m := &memory{str: b.Str}
	for _, e := range b.Shape {
		m.shape = append(m.shape, r.extent(e))
	}
	m.strides = make([]int64, len(m.shape))
	size, high := int64(1), int64(0)
	for k := len(m.shape) - 1; k >= 0; k-- {
		m.strides[k] = size
		size *= m.shape[k]
	}
	if b.Strides != nil {
		for k := range m.strides {
			m.strides[k] = r.dim(b.Strides[k])
		}
	}
	for k, n := range m.shape {
		if n == 0 {
			return m
		}
		if far := (n - 1) * m.strides[k]; far < 0 {
			m.low += far
		} else {
			high += far
		}
	}
	m.bits = make([]uint64, high-m.low+1)
	m.written = make([]bool, high-m.low+1)
	if b.Kind == abi.Data {
		size := b.DType.Bytes()
		for i := range m.bits {
			for k := size - 1; k >= 0 && b.DType != types.String; k-- {
				m.bits[i] = m.bits[i]<<8 | uint64(b.Bytes[i*size+k])
			}
			m.written[i] = true
		}
	}
	return m
}

// place is where offset lies in bits.
func (m *memory) place(offset int64) int {
	i := offset - m.low
	if i < 0 || i >= int64(len(m.bits)) {
		fail("element %d of a buffer of %d elements is out of bounds", offset, len(m.bits))
	}
	return int(i)
}

func (m *memory) get(offset int64) uint64 {
	i := m.place(offset)
	if !m.written[i] {
		fail("element %d is read and was never written", offset)
	}
	return m.bits[i]
}

func (m *memory) set(offset int64, bits uint64) {
	i := m.place(offset)
	m.bits[i], m.written[i] = bits, true
}

// forget makes the elements unreadable.
func (m *memory) forget() { clear(m.written) }

// offsets calls f with the offset of every element of a view, in row-major order.
func offsets(shape, strides []int64, offset int64, f func(int64)) {
	if len(shape) == 0 {
		f(offset)
		return
	}
	for i := range shape[0] {
		offsets(shape[1:], strides[1:], offset+i*strides[0], f)
	}
}

// fill copies an array into the memory.
func (m *memory) fill(a *ir.Array) {
	m.str = a.Str
	if a.DType == types.String {
		return
	}
	if fmt.Sprint(a.Shape) != fmt.Sprint(m.shape) && len(a.Shape)+len(m.shape) > 0 {
		fail("an array of shape %v for a buffer of shape %v", a.Shape, m.shape)
	}
	i := 0
	offsets(m.shape, m.strides, 0, func(o int64) {
		m.set(o, a.Bits[i])
		i++
	})
}

// array reads a view.
func (f *activation) array(v abi.View) *ir.Array {
	b, m := &f.fn.Buffers[v.Buffer], f.mem[v.Buffer]
	a := &ir.Array{DType: b.DType, Str: m.str, Shape: []int64{}}
	var strides []int64
	for k, d := range v.Shape {
		a.Shape = append(a.Shape, f.r.dim(d))
		strides = append(strides, f.r.dim(v.Strides[k]))
	}
	if b.DType != types.String {
		offsets(a.Shape, strides, f.r.dim(v.Offset), func(o int64) { a.Bits = append(a.Bits, m.get(o)) })
	}
	return a
}
