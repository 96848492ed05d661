package random

import (
	"math"
	"math/rand/v2"

	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/tensor"
)

// data draws the elements of an input: mostly ordinary numbers, some that are hard.
func (g *Gen) data(t types.Tensor) *ir.Array {
	shape := make([]int64, len(t.Shape))
	for i, d := range t.Shape {
		shape[i] = g.size(d)
	}
	return Data(g.r, t.Elem, shape)
}

// Data is an array of random elements: mostly ordinary numbers, in one array of four some that are hard.
func Data(r *rand.Rand, d types.DType, shape []int64) *ir.Array {
	a := ir.NewArray(d, shape...)
	hard := r.IntN(4) == 0
	for i := range a.Bits {
		a.Bits[i] = element(r, d, hard)
	}
	return a
}

// Small is Data for a program of a seed: from `since` on one of three has floats whose products are around the least
// normal number, so that sums of them are subnormal or not.
func Small(seed uint64, r *rand.Rand, d types.DType, shape []int64) *ir.Array {
	a := Data(r, d, shape)
	if seed < since || !d.IsFloat() || seed%3 > 0 {
		return a
	}
	root := map[types.DType]int{types.F16: -7, types.BF16: -63, types.F32: -63, types.F64: -511}[d]
	spread := 1 + r.IntN(16)
	for i := range a.Bits {
		x := math.Ldexp(r.Float64()*2-1, root+r.IntN(spread)-spread/2)
		if r.IntN(16) == 0 {
			x = 0
		}
		a.Bits[i] = scalar.FloatBits(d, x)
	}
	return a
}

func element(r *rand.Rand, d types.DType, hard bool) uint64 {
	switch {
	case d == types.Bool:
		return uint64(r.IntN(2))
	case d.IsInt():
		if hard && r.IntN(3) == 0 {
			edge := []uint64{0, 1, ^uint64(0), 1 << (d.Bits() - 1), 1<<(d.Bits()-1) - 1}
			return edge[r.IntN(len(edge))] & mask(d)
		}
		if hard {
			return r.Uint64() & mask(d)
		}
		return scalar.IntBits(d, int64(r.IntN(12))+int64(1)-int64(r.IntN(2))*4)
	}
	if hard {
		switch r.IntN(6) {
		case 0:
			special := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 1, -1, 0.5, 5e-324,
				1e-40, 65504, 3.4e38, 1e300}
			return scalar.FloatBits(d, special[r.IntN(len(special))])
		case 1: // any bits
			return r.Uint64() & mask(d)
		}
	}
	return scalar.FloatBits(d, (r.Float64()*2-1)*math.Exp2(float64(r.IntN(8)-3)))
}

func mask(d types.DType) uint64 {
	if d.Bits() == 64 {
		return ^uint64(0)
	}
	return 1<<d.Bits() - 1
}

// Strided returns a tensor with the elements of a in a layout drawn from seed: row-major, any order of
// axes, with gaps, reversed, or in the middle of something larger.
func Strided(a *ir.Array, seed uint64) (*tensor.Tensor, error) {
	v, err := layout(a.DType, a.Shape, seed)
	if err != nil {
		return nil, err
	}
	if v == nil {
		return tensor.FromBits(a.DType, a.Shape, a.Bits)
	}
	src, err := tensor.FromBits(a.DType, a.Shape, a.Bits)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	return v, src.CopyTo(v)
}

// Zeros is Strided for zeros.
func Zeros(d types.DType, shape []int64, seed uint64) (*tensor.Tensor, error) {
	v, err := layout(d, shape, seed)
	if err != nil || v != nil {
		return v, err
	}
	return tensor.Zeros(d, shape...)
}

// layout is a tensor of zeros in the layout that is drawn from seed, nil where that is the row-major one.
func layout(d types.DType, shape []int64, seed uint64) (*tensor.Tensor, error) {
	r := rand.New(rand.NewPCG(seed, 7))
	if r.IntN(2) == 0 || len(shape) == 0 {
		return nil, nil
	}
	rank := len(shape)
	perm := r.Perm(rank) // memory axis k is axis perm[k]
	step := make([]int64, rank)
	before := make([]int64, rank)
	big := make([]int64, rank)
	for k, axis := range perm {
		step[axis] = int64(1 + r.IntN(2))
		if r.IntN(4) == 0 {
			step[axis] = -step[axis]
		}
		before[axis] = int64(r.IntN(2))
		n := shape[axis]
		size := int64(0)
		if n > 0 {
			size = (n-1)*max(step[axis], -step[axis]) + 1
		}
		big[k] = size + before[axis] + int64(r.IntN(2))
	}
	room := int64(1)
	for _, n := range big { // beside an extent of 0 the others can be large
		if n > types.MaxExtent {
			return nil, nil
		}
		if room *= n; room > 1<<24 {
			return nil, nil
		}
	}
	base, err := tensor.Zeros(d, big...)
	if err != nil {
		return nil, err
	}
	inverse := make([]int, rank)
	for k, axis := range perm {
		inverse[axis] = k
	}
	t, err := base.Permute(inverse...)
	base.Close()
	if err != nil {
		return nil, err
	}
	ranges := make([]tensor.Range, rank)
	for axis := range ranges {
		n, s := shape[axis], step[axis]
		start := before[axis]
		if n == 0 {
			ranges[axis] = tensor.Range{Start: 0, Stop: 0, Step: 1}
			continue
		}
		if s > 0 {
			ranges[axis] = tensor.Range{Start: start, Stop: start + (n-1)*s + 1, Step: s}
		} else {
			last := start - 1
			ranges[axis] = tensor.Range{Start: start + (n-1)*-s, Stop: last, Step: s}
		}
	}
	defer t.Close()
	return t.Slice(ranges...)
}
