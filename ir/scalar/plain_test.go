package scalar_test

import (
	"math"
	"math/big"
	"math/bits"

	"healc/ir/scalar"
	"healc/ir/scalar/scalartest"
	"healc/lang/types"
)

// wrap is the bits of v modulo 2^width.
func wrap(t types.DType, v *big.Int) uint64 {
	return new(big.Int).And(v, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(t.Bits())),
		big.NewInt(1))).Uint64()
}

// plainInt is an operation on integers or bool by its definition.
func plainInt(op scalar.Op, t types.DType, x, y, z uint64) uint64 {
	a, b := scalartest.BigInteger(t, x), scalartest.BigInteger(t, y)
	r := new(big.Int)
	count := uint(y & uint64(t.Bits()-1))
	pick := func(first bool) uint64 {
		if first {
			return x
		}
		return y
	}
	switch op {
	case scalar.Add:
		r.Add(a, b)
	case scalar.Sub:
		r.Sub(a, b)
	case scalar.Mul, scalar.MulExact:
		r.Mul(a, b)
	case scalar.Div:
		if b.Sign() != 0 {
			r.Quo(a, b)
		}
	case scalar.Rem:
		if b.Sign() != 0 {
			r.Rem(a, b)
		}
	case scalar.Neg:
		r.Neg(a)
	case scalar.Abs:
		r.Abs(a)
	case scalar.Min:
		return pick(a.Cmp(b) <= 0)
	case scalar.Max:
		return pick(a.Cmp(b) >= 0)
	case scalar.Digits52, scalar.Doubles, scalar.DoubleSums, scalar.Compresses:
		return x
	case scalar.Mul52Lo, scalar.Mul52Hi:
		low := big.NewInt(1<<52 - 1)
		r.Mul(new(big.Int).And(a, low), new(big.Int).And(b, low))
		if op == scalar.Mul52Hi {
			r.Rsh(r, 52)
		} else {
			r.And(r, low)
		}
		r.Add(r, scalartest.BigInteger(t, z))
	case scalar.MulHi:
		r.Rsh(r.Mul(a, b), uint(t.Bits()))
	case scalar.And:
		r.And(a, b)
	case scalar.Or:
		r.Or(a, b)
	case scalar.Xor:
		r.Xor(a, b)
	case scalar.Not:
		r.Not(a)
	case scalar.Shl:
		r.Lsh(a, count)
	case scalar.Shr:
		r.Rsh(a, count)
	case scalar.Clz:
		r.SetInt64(int64(t.Bits() - bits.Len64(x)))
	case scalar.Popcnt:
		for i := range t.Bits() {
			r.Add(r, big.NewInt(int64(x>>i&1)))
		}
	case scalar.Eq:
		return scalartest.Bit(a.Cmp(b) == 0)
	case scalar.Ne:
		return scalartest.Bit(a.Cmp(b) != 0)
	case scalar.Lt:
		return scalartest.Bit(a.Cmp(b) < 0)
	case scalar.Le:
		return scalartest.Bit(a.Cmp(b) <= 0)
	}
	return wrap(t, r)
}

// plainFloat is an operation on floats by its definition: in float64, or exactly with big.Float, and rounded
// once to f32 (where rounding in float64 before is innocuous, or the result exact), and then to f16 or bf16.
func plainFloat(op scalar.Op, t types.DType, xb, yb, zb uint64) uint64 {
	x, y, z := scalartest.PlainValue(t, xb), scalartest.PlainValue(t, yb), scalartest.PlainValue(t, zb)
	sign := uint64(1) << (t.Bits() - 1)
	var r float64
	switch op {
	case scalar.Add:
		r = x + y
	case scalar.Sub:
		r = x - y
	case scalar.Mul, scalar.MulExact:
		r = x * y
	case scalar.Div:
		r = x / y
	case scalar.Rem:
		r = math.Mod(x, y)
	case scalar.Neg:
		return xb ^ sign
	case scalar.Abs:
		return xb &^ sign
	case scalar.CopySign:
		return xb&^sign | yb&sign
	case scalar.Min:
		r = math.Min(x, y)
		if x != x || y != y { // Go's Min prefers -inf to NaN
			r = math.NaN()
		}
	case scalar.Max:
		r = math.Max(x, y)
		if x != x || y != y {
			r = math.NaN()
		}
	case scalar.Flush:
		if x < y {
			return zb
		}
		return xb
	case scalar.Fma:
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
	case scalar.Sqrt:
		r = math.Sqrt(x)
	case scalar.Floor:
		r = math.Floor(x)
	case scalar.Ceil:
		r = math.Ceil(x)
	case scalar.Trunc:
		r = math.Trunc(x)
	case scalar.Round:
		r = math.RoundToEven(x)
	case scalar.Eq:
		return scalartest.Bit(x == y)
	case scalar.Ne:
		return scalartest.Bit(x != y)
	case scalar.Lt:
		return scalartest.Bit(x < y)
	case scalar.Le:
		return scalartest.Bit(x <= y)
	}
	switch t {
	case types.F64:
		return math.Float64bits(r)
	case types.F32:
		return uint64(math.Float32bits(float32(r)))
	case types.F16:
		return uint64(scalar.F16Bits(float32(r)))
	}
	return uint64(scalar.BF16Bits(float32(r)))
}

// roundFloat rounds the exact v to f16 or bf16 by trying all of its values around.
func roundFloat(t types.DType, v *big.Float) uint64 {
	if v.Sign() == 0 {
		return scalartest.Bit(v.Signbit()) << 15
	}
	inf := scalar.FloatBits(t, math.Inf(1))
	value := func(b uint64) *big.Float {
		if b == inf { // where the next finite one would be
			last, before := scalartest.PlainValue(t, b-1), scalartest.PlainValue(t, b-2)
			return big.NewFloat(last + (last - before))
		}
		return big.NewFloat(scalartest.PlainValue(t, b))
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
	return lo | scalartest.Bit(v.Signbit())<<15
}

// plainCast converts by the definition in language.md section 2.
func plainCast(t, src types.DType, b uint64) uint64 {
	if src.IsFloat() {
		v := scalartest.PlainValue(src, b)
		switch {
		case t == types.Bool:
			return scalartest.Bit(v != 0)
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
			return scalar.FloatBits(t, math.NaN())
		case math.IsInf(v, 0) && t != types.F64:
			return scalar.FloatBits(types.F32, v) >> (32 - t.Bits()) // bf16
		}
		return plainRound(t, big.NewFloat(v))
	}
	v := scalartest.BigInteger(src, b)
	switch {
	case t == types.Bool:
		return scalartest.Bit(v.Sign() != 0)
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
		return scalar.FloatBits(t, math.Inf(v.Sign()))
	}
	return roundFloat(t, v)
}
