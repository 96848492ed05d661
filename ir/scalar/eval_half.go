package scalar

import (
	"sync"

	"healc/lang/types"
)

// halfKernel returns the kernel of op on f16 or bf16, or nil: the operands become f32, which is exact,
// the f32 operation runs, and its result is rounded once more to t. So every operation rounds as one
// in f32 and then as one to t. For add, sub, mul, div and sqrt that equals a single rounding where
// the result is normal, because 24 >= 2*11+2 bits; Fma is the f32 Fma rounded to t, on every back end. (Source:
// Figueroa, "When is double rounding innocuous?", 1995.)
func halfKernel(op Op, t types.DType) kernel {
	switch op {
	case Neg:
		return func(d, x, _, _ []uint64) {
			for i := range d {
				d[i] = x[i] ^ 0x8000
			}
		}
	case Abs:
		return func(d, x, _, _ []uint64) {
			for i := range d {
				d[i] = x[i] & 0x7fff
			}
		}
	case CopySign:
		return func(d, x, y, _ []uint64) {
			for i := range d {
				d[i] = x[i]&0x7fff | y[i]&0x8000
			}
		}
	}
	inner, widen, round := f32Kernels[op], bf16ToF32, f32ToBF16
	if t == types.F16 {
		widen, round = f16ToF32, f32ToF16
	}
	if inner == nil {
		return nil
	}
	arity := op.Info().Arity
	compares := op == Eq || op == Ne || op == Lt || op == Le
	return func(d, x, y, z []uint64) {
		wide := widened.Get().(*[3][blockLen]uint64)
		defer widened.Put(wide)
		bx, by, bz := wide[0][:len(d)], wide[1][:len(d)], wide[2][:len(d)]
		widen(bx, x, nil, nil)
		if arity > 1 {
			widen(by, y, nil, nil)
		}
		if arity > 2 {
			widen(bz, z, nil, nil)
		}
		inner(d, bx, by, bz)
		if !compares {
			round(d, d, nil, nil)
		}
	}
}

// widened has room for operands as f32, which would else be allocated for every block.
var widened = sync.Pool{New: func() any { return new([3][blockLen]uint64) }}

func f16ToF32(d, x, _, _ []uint64) {
	x = x[:len(d)]
	for i := range d {
		d[i] = st32(F16Value(uint16(x[i])))
	}
}

func bf16ToF32(d, x, _, _ []uint64) {
	x = x[:len(d)]
	for i := range d {
		d[i] = x[i] << 16
	}
}

func f32ToF16(d, x, _, _ []uint64) {
	x = x[:len(d)]
	for i := range d {
		d[i] = uint64(F16Bits(ld32(x[i])))
	}
}

func f32ToBF16(d, x, _, _ []uint64) {
	x = x[:len(d)]
	for i := range d {
		d[i] = uint64(BF16Bits(ld32(x[i])))
	}
}
