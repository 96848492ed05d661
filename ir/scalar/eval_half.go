package scalar

import "healc/lang/types"

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
		var bx, by, bz [blockLen]uint64
		n := len(d)
		widen(bx[:n], x, nil, nil)
		if arity > 1 {
			widen(by[:n], y, nil, nil)
		}
		if arity > 2 {
			widen(bz[:n], z, nil, nil)
		}
		inner(d, bx[:n], by[:n], bz[:n])
		if !compares {
			round(d, d, nil, nil)
		}
	}
}

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
