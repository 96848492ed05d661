package keval

import (
	"math/bits"

	"healc/ir/kernel"
)

// transform runs one stage after the other, and holds a kernel to what the statement asks for.
func (e *exec) transform(st *kernel.Transform) {
	p := e.vals[st.P]
	if p == 0 || p >= kernel.TransformLimit {
		fail("a transform modulo %d", p)
	}
	residue := func(x uint64) uint64 {
		if x >= p {
			fail("%d is no residue modulo %d", x, p)
		}
		return x
	}
	mul := func(x, y uint64) uint64 {
		hi, lo := bits.Mul64(x, y)
		return bits.Rem64(hi, lo, p)
	}
	data, at := e.bufs[st.Data.Param], e.offset(st.Data.At)
	table, from := e.bufs[st.Table.Param], e.offset(st.Table.At)
	get := func(i int64) uint64 { return residue(data.get(at + i)) }
	for h := int64(1); h < st.Size; h *= 2 {
		stage := h
		if st.Inverse {
			stage = st.Size / (2 * h)
		}
		t := st.Size / (2 * stage)
		for i := range stage {
			w := residue(table.get(from + stage + i))
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
		scale := residue(e.vals[st.Scale])
		for i := range st.Size {
			data.set(at+i, mul(get(i), scale))
		}
	}
}
