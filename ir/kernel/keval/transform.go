package keval

import (
	"math/bits"

	"healc/ir/kernel"
)

// transform runs one stage after the other, and holds a kernel to what the statement asks for.
func (e *exec) transform(st *kernel.Transform) {
	p := e.vals[st.P]
	if int64(p) <= 0 {
		fail("a transform modulo %d", int64(p))
	}
	mul := func(x, y uint64) uint64 {
		hi, lo := bits.Mul64(x, y)
		return bits.Rem64(hi, lo, p)
	}
	data, at := e.bufs[st.Data.Param], e.offset(st.Data.At)
	source, origin := e.bufs[st.Source.Param], e.offset(st.Source.At)
	table, from := e.bufs[st.Table.Param], e.offset(st.Table.At)
	fit := p < kernel.TransformLimit
	for i := range st.Size {
		x := source.get(origin + i)
		fit = fit && x < p && table.get(from+i) < p
		if st.Times != nil && fit {
			y := e.bufs[st.Times.Param].get(e.offset(st.Times.At) + i)
			fit = y < p
			x = mul(x, y)
		}
		data.set(at+i, x)
	}
	e.vals[st.ID] = 0
	if !fit {
		for i := range st.Size {
			data.set(at+i, 1<<63-1) // which nobody may look at
		}
		return
	}
	e.vals[st.ID] = 1
	get := func(i int64) uint64 { return data.get(at + i) }
	for h := int64(1); h < st.Size; h *= 2 {
		stage := h
		if st.Inverse {
			stage = st.Size / (2 * h)
		}
		t := st.Size / (2 * stage)
		for i := range stage {
			w := table.get(from + stage + i)
			for j := 2 * i * t; j < 2*i*t+t; j++ {
				x, y := get(j), get(j+t)
				if st.Inverse {
					data.set(at+j, (x+y)%p)
					data.set(at+j+t, mul(x+p-y, w))
				} else {
					y = mul(y, w)
					data.set(at+j, (x+y)%p)
					data.set(at+j+t, (x+p-y)%p)
				}
			}
		}
	}
	if st.Inverse {
		scale := e.vals[st.Scale]
		if scale >= p {
			fail("the scale %d is no residue modulo %d", scale, p)
		}
		for i := range st.Size {
			data.set(at+i, mul(get(i), scale))
		}
	}
}
