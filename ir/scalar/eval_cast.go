package scalar

import (
	"math"
	"math/bits"

	"healc/lang/types"
)

// castKernel returns the conversion from src to t (language.md, section 2).
func castKernel(t, src types.DType) kernel {
	switch {
	case t == src:
		return copyBits
	case t == types.Bool:
		return toBool(src)
	case src.IsFloat() && t.IsFloat():
		return floatToFloat(t, src)
	case src.IsFloat():
		toInt := f64ToInt(t)
		if src == types.F64 {
			return toInt
		}
		widen := floatToFloat(types.F64, src) // exact
		return func(d, x, _, _ []uint64) {
			widen(d, x, nil, nil)
			toInt(d, d, nil, nil)
		}
	case t.IsFloat():
		return intToFloat(t, src)
	}
	return intToInt(t, src)
}

// toBool: everything but zero is true, NaN too.
func toBool(src types.DType) kernel {
	value := uint64(1)<<(src.Bits()-1)<<1 - 1
	if src.IsFloat() {
		value >>= 1 // -0 is zero
	}
	return func(d, x, _, _ []uint64) {
		x = x[:len(d)]
		for i := range d {
			d[i] = b2u(x[i]&value != 0)
		}
	}
}

func unusedBits(src types.DType) uint { return uint(64 - src.Bits()) }

func intToInt(t, src types.DType) kernel {
	mask := uint64(1)<<(t.Bits()-1)<<1 - 1
	if !src.IsSigned() {
		return func(d, x, _, _ []uint64) {
			x = x[:len(d)]
			for i := range d {
				d[i] = x[i] & mask
			}
		}
	}
	unused := unusedBits(src)
	return func(d, x, _, _ []uint64) {
		x = x[:len(d)]
		for i := range d {
			d[i] = uint64(extend(x[i], unused)) & mask
		}
	}
}

// intToFloat rounds once, for every pair of widths.
func intToFloat(t, src types.DType) kernel {
	signed, unused := src.IsSigned(), unusedBits(src)
	switch {
	case t == types.F32 && signed:
		return func(d, x, _, _ []uint64) {
			x = x[:len(d)]
			for i := range d {
				d[i] = st32(float32(extend(x[i], unused)))
			}
		}
	case t == types.F32:
		return func(d, x, _, _ []uint64) {
			x = x[:len(d)]
			for i := range d {
				d[i] = st32(float32(x[i]))
			}
		}
	case t == types.F64 && signed:
		return func(d, x, _, _ []uint64) {
			x = x[:len(d)]
			for i := range d {
				d[i] = math.Float64bits(float64(extend(x[i], unused)))
			}
		}
	case t == types.F64:
		return func(d, x, _, _ []uint64) {
			x = x[:len(d)]
			for i := range d {
				d[i] = math.Float64bits(float64(x[i]))
			}
		}
	}
	round := f32ToBF16
	if t == types.F16 {
		round = f32ToF16
	}
	return func(d, x, _, _ []uint64) {
		for i := range d {
			m, sign := x[i], uint64(0)
			if a := extend(m, unused); signed && a < 0 {
				m, sign = uint64(-a), 1<<31
			}
			d[i] = st32(oddF32(m)) | sign
		}
		round(d, d, nil, nil)
	}
}

// oddF32 returns n rounded to odd in float32, so that a second rounding to f16 or bf16 gives what one
// rounding of n would.
func oddF32(n uint64) float32 {
	if drop := bits.Len64(n) - 24; drop > 0 {
		sticky := b2u(n&(1<<drop-1) != 0)
		n = (n>>drop | sticky) << drop
	}
	return float32(n) // exact: at most 24 significant bits
}

// f64ToInt truncates toward zero and saturates; NaN gives 0.
func f64ToInt(t types.DType) kernel {
	mask := uint64(1)<<(t.Bits()-1)<<1 - 1
	if t.IsSigned() {
		// The limits are powers of two, so they are exact.
		limit := math.Ldexp(1, t.Bits()-1)
		lowest, highest := uint64(1)<<(t.Bits()-1), mask>>1
		return func(d, x, _, _ []uint64) {
			x = x[:len(d)]
			for i := range d {
				switch v := math.Float64frombits(x[i]); {
				case v >= limit:
					d[i] = highest
				case v < -limit:
					d[i] = lowest
				case v != v:
					d[i] = 0
				default:
					d[i] = uint64(int64(v)) & mask
				}
			}
		}
	}
	limit := math.Ldexp(1, t.Bits())
	return func(d, x, _, _ []uint64) {
		x = x[:len(d)]
		for i := range d {
			switch v := math.Float64frombits(x[i]); {
			case v >= limit:
				d[i] = mask
			case v >= 0x1p63: // only u64 comes here, and the difference is exact
				d[i] = uint64(int64(v-0x1p63)) ^ 1<<63
			case v >= 1:
				d[i] = uint64(int64(v))
			default:
				d[i] = 0
			}
		}
	}
}

// floatToFloat widens exactly and narrows with one rounding.
func floatToFloat(t, src types.DType) kernel {
	var widen kernel // src to f32
	switch src {
	case types.F16:
		widen = f16ToF32
	case types.BF16:
		widen = bf16ToF32
	case types.F32:
		widen = copyBits
	case types.F64:
		switch t {
		case types.F32:
			return f64ToF32
		case types.F16:
			return func(d, x, _, _ []uint64) { f64ToOddF32(d, x); f32ToF16(d, d, nil, nil) }
		default:
			return func(d, x, _, _ []uint64) { f64ToOddF32(d, x); f32ToBF16(d, d, nil, nil) }
		}
	}
	narrow := map[types.DType]kernel{types.F16: f32ToF16, types.BF16: f32ToBF16, types.F32: copyBits,
		types.F64: f32ToF64}[t]
	switch {
	case src == types.F32:
		return narrow
	case t == types.F32:
		return widen
	}
	return func(d, x, _, _ []uint64) {
		widen(d, x, nil, nil)
		narrow(d, d, nil, nil)
	}
}

func f32ToF64(d, x, _, _ []uint64) {
	x = x[:len(d)]
	for i := range d {
		d[i] = math.Float64bits(float64(ld32(x[i])))
	}
}

func f64ToF32(d, x, _, _ []uint64) {
	x = x[:len(d)]
	for i := range d {
		d[i] = st32(float32(math.Float64frombits(x[i])))
	}
}

func f64ToOddF32(d, x []uint64) {
	for i := range d {
		d[i] = st32(OddF32(math.Float64frombits(x[i])))
	}
}
