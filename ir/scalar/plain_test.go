package scalar

import (
	"math"
	"math/big"
	"math/bits"

	"healc/lang/types"
)

// The instructions and conversions by their definitions, written for clarity and without a look at the evaluator.

// edges returns the raw bits of t where operations have their corners, and some ordinary values.
func edges(t types.DType) []uint64 {
	switch {
	case t == types.Bool:
		return []uint64{0, 1}
	case t.IsInt():
		w := t.Bits()
		mask := uint64(1)<<(w-1)<<1 - 1
		var out []uint64
		for _, v := range []uint64{0, 1, 2, 3, 7, 10, 1<<(w-1) - 1, 1 << (w - 1), 1<<(w-1) + 1, mask - 1, mask,
			0x5a5a5a5a5a5a5a5a, 100, 1<<(w/2) - 1, 1 << (w / 2), 0xdeadbeefcafef00d} {
			out = append(out, v&mask)
		}
		return out
	}
	var out []uint64
	for _, v := range []float64{
		0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, 1.0 / 3, 0.1, 7.25, -7.75, 127.5, 128, -129,
		255.5, 256, 32767.5, -32769, 65504, 65520, 65535, 65536,
		0x1p31, -0x1p31, 0x1p32 - 1, 0x1p63, -0x1p63, 0x1p64, 0x1p24 + 1, 0x1p-24, 0x1p-25, 0x1.8p-25, 0x1p-14, 0x1p-15,
		0x1p-126, 0x1p-149, 0x1p-1022, 0x1p-1074, 1e30, -1e38, math.MaxFloat64,
		math.Inf(1), math.Inf(-1), math.NaN(), 0x1.fffffep127, 0x1.ffcp15, 1 + 0x1p-10, 1 + 0x1p-7, 1 + 0x1p-23, 1 +
			0x1p-52,
	} {
		out = append(out, FloatBits(t, v))
	}
	return out
}

// sameBits compares results; all NaNs are one.
func sameBits(t types.DType, a, b uint64) bool {
	if t.IsFloat() && isNaNBits(t, a) && isNaNBits(t, b) {
		return true
	}
	return a == b
}

func isNaNBits(t types.DType, b uint64) bool {
	v := plainValue(t, b)
	return v != v
}

// plainValue is the value of a float, written independently of the evaluator.
func plainValue(t types.DType, b uint64) float64 {
	exponentBits := map[types.DType]int{types.F16: 5, types.BF16: 8, types.F32: 8, types.F64: 11}[t]
	mantissaBits := t.Bits() - 1 - exponentBits
	bias := 1<<(exponentBits-1) - 1
	m := b & (1<<mantissaBits - 1)
	exp := int(b >> mantissaBits & (1<<exponentBits - 1))
	sign := 1.0
	if b>>(t.Bits()-1) != 0 {
		sign = -1
	}
	switch {
	case exp == 1<<exponentBits-1 && m != 0:
		return math.NaN()
	case exp == 1<<exponentBits-1:
		return math.Inf(int(sign))
	case exp == 0:
		return math.Copysign(math.Ldexp(float64(m), 1-bias-mantissaBits), sign)
	}
	return sign * math.Ldexp(float64(m|1<<mantissaBits), exp-bias-mantissaBits)
}

// bigInteger is the value of an integer or bool.
func bigInteger(t types.DType, b uint64) *big.Int {
	v := new(big.Int).SetUint64(b)
	if t.IsSigned() && b>>(t.Bits()-1) != 0 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(t.Bits())))
	}
	return v
}

// wrap is the bits of v modulo 2^width.
func wrap(t types.DType, v *big.Int) uint64 {
	return new(big.Int).And(v, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(t.Bits())),
		big.NewInt(1))).Uint64()
}

// plainInt is an operation on integers or bool by its definition.
func plainInt(op Op, t types.DType, x, y, z uint64) uint64 {
	a, b := bigInteger(t, x), bigInteger(t, y)
	r := new(big.Int)
	count := uint(y & uint64(t.Bits()-1))
	pick := func(first bool) uint64 {
		if first {
			return x
		}
		return y
	}
	switch op {
	case Add:
		r.Add(a, b)
	case Sub:
		r.Sub(a, b)
	case Mul, MulExact:
		r.Mul(a, b)
	case Div:
		if b.Sign() != 0 {
			r.Quo(a, b)
		}
	case Rem:
		if b.Sign() != 0 {
			r.Rem(a, b)
		}
	case Neg:
		r.Neg(a)
	case Abs:
		r.Abs(a)
	case Min:
		return pick(a.Cmp(b) <= 0)
	case Max:
		return pick(a.Cmp(b) >= 0)
	case Digits52, Doubles, DoubleSums:
		return x
	case Mul52Lo, Mul52Hi:
		low := big.NewInt(1<<52 - 1)
		r.Mul(new(big.Int).And(a, low), new(big.Int).And(b, low))
		if op == Mul52Hi {
			r.Rsh(r, 52)
		} else {
			r.And(r, low)
		}
		r.Add(r, bigInteger(t, z))
	case MulHi:
		r.Rsh(r.Mul(a, b), uint(t.Bits()))
	case And:
		r.And(a, b)
	case Or:
		r.Or(a, b)
	case Xor:
		r.Xor(a, b)
	case Not:
		r.Not(a)
	case Shl:
		r.Lsh(a, count)
	case Shr:
		r.Rsh(a, count)
	case Clz:
		r.SetInt64(int64(t.Bits() - bits.Len64(x)))
	case Popcnt:
		for i := range t.Bits() {
			r.Add(r, big.NewInt(int64(x>>i&1)))
		}
	case Eq:
		return b2u(a.Cmp(b) == 0)
	case Ne:
		return b2u(a.Cmp(b) != 0)
	case Lt:
		return b2u(a.Cmp(b) < 0)
	case Le:
		return b2u(a.Cmp(b) <= 0)
	}
	return wrap(t, r)
}

// plainFloat is an operation on floats by its definition: in float64, or exactly with big.Float, and rounded
// once to f32 (where rounding in float64 before is innocuous, or the result exact), and then to f16 or bf16.
func plainFloat(op Op, t types.DType, xb, yb, zb uint64) uint64 {
	x, y, z := plainValue(t, xb), plainValue(t, yb), plainValue(t, zb)
	sign := uint64(1) << (t.Bits() - 1)
	var r float64
	switch op {
	case Add:
		r = x + y
	case Sub:
		r = x - y
	case Mul, MulExact:
		r = x * y
	case Div:
		r = x / y
	case Rem:
		r = math.Mod(x, y)
	case Neg:
		return xb ^ sign
	case Abs:
		return xb &^ sign
	case CopySign:
		return xb&^sign | yb&sign
	case Min:
		r = math.Min(x, y)
		if x != x || y != y { // Go's Min prefers -inf to NaN
			r = math.NaN()
		}
	case Max:
		r = math.Max(x, y)
		if x != x || y != y {
			r = math.NaN()
		}
	case Flush:
		if x < y {
			return zb
		}
		return xb
	case Fma:
		if t == types.F64 {
			return math.Float64bits(math.FMA(x, y, z))
		}
		r = x*y + z // right for zeros and what is not finite
		if r != 0 && !math.IsInf(r, 0) && r == r {
			exact := new(big.Float).SetPrec(4000).SetFloat64(x)
			exact.Mul(exact, big.NewFloat(y)).Add(exact, big.NewFloat(z))
			f, _ := exact.Float32()
			r = float64(f)
		}
	case Sqrt:
		r = math.Sqrt(x)
	case Floor:
		r = math.Floor(x)
	case Ceil:
		r = math.Ceil(x)
	case Trunc:
		r = math.Trunc(x)
	case Round:
		r = math.RoundToEven(x)
	case Eq:
		return b2u(x == y)
	case Ne:
		return b2u(x != y)
	case Lt:
		return b2u(x < y)
	case Le:
		return b2u(x <= y)
	}
	switch t {
	case types.F64:
		return math.Float64bits(r)
	case types.F32:
		return uint64(math.Float32bits(float32(r)))
	case types.F16:
		return uint64(F16Bits(float32(r)))
	}
	return uint64(BF16Bits(float32(r)))
}

// roundFloat rounds the exact v to f16 or bf16 by trying all of its values around.
func roundFloat(t types.DType, v *big.Float) uint64 {
	if v.Sign() == 0 {
		return b2u(v.Signbit()) << 15
	}
	inf := FloatBits(t, math.Inf(1))
	value := func(b uint64) *big.Float {
		if b == inf { // where the next finite one would be
			last, before := plainValue(t, b-1), plainValue(t, b-2)
			return big.NewFloat(last + (last - before))
		}
		return big.NewFloat(plainValue(t, b))
	}
	a := new(big.Float).Abs(v)
	lo, hi := uint64(0), inf // value(lo) <= a < value(hi), or a is beyond
	if a.Cmp(value(inf)) >= 0 {
		lo = inf
	} else {
		for hi-lo > 1 {
			if mid := (lo + hi) / 2; value(mid).Cmp(a) <= 0 {
				lo = mid
			} else {
				hi = mid
			}
		}
		exact := func() *big.Float { return new(big.Float).SetPrec(4000) }
		below, above := exact().Sub(a, value(lo)), exact().Sub(value(hi), a)
		if c := below.Cmp(above); c > 0 || c == 0 && lo&1 == 1 {
			lo = hi
		}
	}
	return lo | b2u(v.Signbit())<<15
}

// plainCast converts by the definition in language.md section 2.
func plainCast(t, src types.DType, b uint64) uint64 {
	if src.IsFloat() {
		v := plainValue(src, b)
		switch {
		case t == types.Bool:
			return b2u(v != 0)
		case t.IsInt() && v != v:
			return 0
		case t.IsInt():
			lo, hi := big.NewInt(0), new(big.Int).Lsh(big.NewInt(1), uint(t.Bits()))
			if t.IsSigned() {
				hi.Rsh(hi, 1)
				lo.Neg(hi)
			}
			hi.Sub(hi, big.NewInt(1))
			n, _ := big.NewFloat(v).Int(nil) // nil for an infinity
			switch {
			case v > 0 && (n == nil || n.Cmp(hi) > 0):
				n = hi
			case v < 0 && (n == nil || n.Cmp(lo) < 0):
				n = lo
			}
			return wrap(t, n)
		case v != v:
			return FloatBits(t, math.NaN())
		case math.IsInf(v, 0) && t != types.F64:
			return FloatBits(types.F32, v) >> (32 - t.Bits()) // bf16
		}
		return plainRound(t, big.NewFloat(v))
	}
	v := bigInteger(src, b)
	switch {
	case t == types.Bool:
		return b2u(v.Sign() != 0)
	case t.IsFloat():
		return plainRound(t, new(big.Float).SetInt(v))
	}
	return wrap(t, v)
}

func plainRound(t types.DType, v *big.Float) uint64 {
	switch t {
	case types.F64:
		f, _ := v.Float64()
		return math.Float64bits(f)
	case types.F32:
		f, _ := v.Float32()
		return uint64(math.Float32bits(f))
	}
	if v.IsInf() {
		return FloatBits(t, math.Inf(v.Sign()))
	}
	return roundFloat(t, v)
}
