package ptxsim

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"healc/codegen/gpu/ptx"
)

// rounded is an exact number that is not zero in type t: the integer multiple of the unit in the last place that the
// rounding asks for. It is written from the definition, with big numbers.
func rounded(t ptx.Type, x *big.Float, r rounding) uint64 {
	f := formats[t]
	bias := 1<<(f.exp-1) - 1
	least := 1 - bias - f.frac // exponent of the smallest subnormal
	unit := max(x.MantExp(nil)-1-f.frac, least)
	abs := new(big.Float).Abs(x)
	scaled := new(big.Float).SetPrec(5000).SetMantExp(abs, -unit)
	n, acc := scaled.Int(nil)
	negative := x.Sign() < 0
	if acc != big.Exact {
		rest := new(big.Float).SetPrec(5000).Sub(scaled, new(big.Float).SetPrec(5000).SetInt(n))
		up := false
		switch c := rest.Cmp(big.NewFloat(0.5)); r {
		case toNearest:
			up = c > 0 || c == 0 && n.Bit(0) == 1
		case nearestAway:
			up = c >= 0
		case downward:
			up = negative
		case upward:
			up = !negative
		}
		if up {
			n.Add(n, big.NewInt(1))
		}
	}
	v := n.Uint64() + uint64(unit-least)<<f.frac
	if top := uint64(1<<f.exp-1) << f.frac; v >= top {
		v = top
		if r == towardZero || r == downward && !negative || r == upward && negative {
			v--
		}
	}
	if negative {
		v |= 1 << (f.frac + f.exp)
	}
	return v
}

// exact is a sum of products x*y + z of floats of type t, rounded once.
func exact(t ptx.Type, r rounding, x, y, z float64) uint64 {
	if v := x*y + z; x-x == 0 && y-y == 0 && math.IsInf(z, 0) {
		return special64(t, z)
	} else if v-v != 0 && (x-x != 0 || y-y != 0 || z-z != 0) {
		// an operand is infinite or NaN: so is the result
		return special64(t, v)
	}
	b := func(v float64) *big.Float { return new(big.Float).SetPrec(5000).SetFloat64(v) }
	s := b(x)
	s.Mul(s, b(y))
	s.Add(s, b(z))
	if s.Sign() == 0 {
		negative := false
		switch p, q := math.Signbit(x) != math.Signbit(y), math.Signbit(z); {
		case (x == 0 || y == 0) && z == 0 && p == q:
			negative = p
		default:
			negative = r == downward
		}
		return boolean(negative) << (t.Bits() - 1)
	}
	return rounded(t, s, r)
}

// special64 is an infinity or NaN as a value of type t.
func special64(t ptx.Type, v float64) uint64 {
	f := formats[t]
	if v != v {
		return f.nan
	}
	return uint64(1<<f.exp-1)<<f.frac | boolean(v < 0)<<(t.Bits()-1)
}

var directions = map[string]rounding{"rn": toNearest, "rz": towardZero, "rm": downward, "rp": upward}

func TestFloatArithmetic(t *testing.T) {
	for _, ty := range []ptx.Type{ptx.F16, ptx.BF16, ptx.F32, ptx.F64} {
		two, three := []ptx.Type{ty, ty}, []ptx.Type{ty, ty, ty}
		v := func(x uint64) float64 { return exactly(ty, x) }
		for name, r := range directions {
			if ty.Bits() == 16 && r != toNearest {
				continue
			}
			check(t, fmt.Sprintf("add.%s.%s $0, $1, $2;", name, ty), ty, two, func(x []uint64) uint64 {
				return exact(ty, r, v(x[0]), 1, v(x[1]))
			})
			check(t, fmt.Sprintf("sub.%s.%s $0, $1, $2;", name, ty), ty, two, func(x []uint64) uint64 {
				return exact(ty, r, v(x[0]), 1, -v(x[1]))
			})
			check(t, fmt.Sprintf("mul.%s.%s $0, $1, $2;", name, ty), ty, two, func(x []uint64) uint64 {
				a, b := v(x[0]), v(x[1])
				return exact(ty, r, a, b, math.Copysign(0, math.Copysign(1, a)*math.Copysign(1, b)))
			})
		}
		check(t, fmt.Sprintf("fma.rn.%s $0, $1, $2, $3;", ty), ty, three, func(x []uint64) uint64 {
			return exact(ty, toNearest, v(x[0]), v(x[1]), v(x[2]))
		})
		if ty.Bits() == 16 {
			continue
		}
		check(t, fmt.Sprintf("div.rn.%s $0, $1, $2;", ty), ty, two, func(x []uint64) uint64 {
			return quotient(ty, v(x[0]), v(x[1]))
		})
		check(t, fmt.Sprintf("rcp.rn.%s $0, $1;", ty), ty, two[:1], func(x []uint64) uint64 {
			return quotient(ty, 1, v(x[0]))
		})
		check(t, fmt.Sprintf("sqrt.rn.%s $0, $1;", ty), ty, two[:1], func(x []uint64) uint64 {
			a := v(x[0])
			if !(a > 0) || math.IsInf(a, 0) {
				if a == 0 {
					return x[0]
				}
				return special64(ty, math.Sqrt(a))
			}
			return rounded(ty, new(big.Float).SetPrec(3000).Sqrt(new(big.Float).SetPrec(3000).SetFloat64(a)), toNearest)
		})
	}
	check(t, "add.sat.f32 $0, $1, $2;", ptx.F32, []ptx.Type{ptx.F32, ptx.F32}, func(x []uint64) uint64 {
		s := f32of(x[0]) + f32of(x[1])
		switch {
		case !(s > 0):
			return 0
		case s > 1:
			return 0x3f800000
		}
		return uint64(math.Float32bits(s))
	})
	pair := func(f func(a, b float64) uint64) func(x []uint64) uint64 {
		return func(x []uint64) uint64 {
			var r uint64
			for i := 0; i < 32; i += 16 {
				r |= f(exactly(ptx.F16, x[0]>>i&0xffff), exactly(ptx.F16, x[1]>>i&0xffff)) << i
			}
			return r
		}
	}
	packed := [][]uint64{}
	edges := hardFloats(ptx.F16)
	for _, r := range product([][]uint64{edges, edges, edges, edges}) {
		packed = append(packed, []uint64{r[0] | r[1]<<16, r[2] | r[3]<<16})
	}
	checkRows(t, "add.f16x2 $0, $1, $2;", ptx.B32, []ptx.Type{ptx.B32, ptx.B32}, packed,
		pair(func(a, b float64) uint64 {
			return exact(ptx.F16, toNearest, a, 1, b)
		}))
	checkRows(t, "fma.rn.f16x2 $0, $1, $2, $2;", ptx.B32, []ptx.Type{ptx.B32, ptx.B32}, packed,
		pair(func(a, b float64) uint64 {
			return exact(ptx.F16, toNearest, a, b, b)
		}))
}

// quotient is x / y rounded to nearest: big.Float has no exact quotients, but one of 3000 bits rounds as the exact one
// does.
func quotient(t ptx.Type, x, y float64) uint64 {
	q := x / y
	if x-x != 0 || y-y != 0 || x == 0 || y == 0 {
		if q == 0 {
			return boolean(math.Signbit(q)) << (t.Bits() - 1)
		}
		return special64(t, q)
	}
	b := func(v float64) *big.Float { return new(big.Float).SetPrec(3000).SetFloat64(v) }
	return rounded(t, new(big.Float).SetPrec(3000).Quo(b(x), b(y)), toNearest)
}

func TestFloatSelections(t *testing.T) {
	for _, ty := range []ptx.Type{ptx.F16, ptx.BF16, ptx.F32, ptx.F64} {
		two := []ptx.Type{ty, ty}
		f := formats[ty]
		sign := uint64(1) << (ty.Bits() - 1)
		nan := func(x uint64) bool { return x&^sign > uint64(1<<f.exp-1)<<f.frac }
		// a total order in which -0 is less than 0
		key := func(x uint64) int64 {
			if x&sign != 0 {
				return -int64(x&^sign) - 1
			}
			return int64(x)
		}
		for _, op := range []string{"min", "max"} {
			for _, mod := range []string{"", ".NaN"} {
				check(t, fmt.Sprintf("%s%s.%s $0, $1, $2;", op, mod, ty), ty, two, func(x []uint64) uint64 {
					switch {
					case nan(x[0]) && nan(x[1]), mod != "" && (nan(x[0]) || nan(x[1])):
						return f.nan
					case nan(x[0]):
						return x[1]
					case nan(x[1]):
						return x[0]
					}
					if (key(x[0]) < key(x[1])) == (op == "min") {
						return x[0]
					}
					return x[1]
				})
			}
		}
		check(t, fmt.Sprintf("abs.%s $0, $1;", ty), ty, two[:1], func(x []uint64) uint64 { return x[0] &^ sign })
		check(t, fmt.Sprintf("neg.%s $0, $1;", ty), ty, two[:1], func(x []uint64) uint64 { return x[0] ^ sign })
		if ty.Bits() == 16 {
			continue
		}
		check(t, fmt.Sprintf("copysign.%s $0, $1, $2;", ty), ty, two, func(x []uint64) uint64 {
			return x[0]&sign | x[1]&^sign
		})
		for op, holds := range map[string]func(x uint64) bool{
			"finite": func(x uint64) bool {
				return x < uint64(1<<f.exp-1)<<f.frac
			}, "infinite": func(x uint64) bool { return x == uint64(1<<f.exp-1)<<f.frac },
			"number": func(x uint64) bool { return !nan(x) }, "notanumber": nan,
			"normal":    func(x uint64) bool { return x >= 1<<f.frac && x < uint64(1<<f.exp-1)<<f.frac },
			"subnormal": func(x uint64) bool { return x > 0 && x < 1<<f.frac },
		} {
			check(t, fmt.Sprintf("testp.%s.%s $0, $1;", op, ty), ptx.Pred, two[:1], func(x []uint64) uint64 {
				return boolean(holds(x[0] &^ sign))
			})
		}
	}
}

func TestConversionsOfIntegers(t *testing.T) {
	all := []ptx.Type{ptx.U8, ptx.S8, ptx.U16, ptx.S16, ptx.U32, ptx.S32, ptx.U64, ptx.S64}
	for _, at := range all {
		for _, dt := range all {
			// registers of the instruction have at least 16 bits, and the conversion reads the low ones
			out := map[int]ptx.Type{8: ptx.U16, 16: ptx.U16, 32: ptx.U32, 64: ptx.U64}[dt.Bits()]
			check(t, fmt.Sprintf("cvt.%s.%s $0, $1;", dt, at), out, []ptx.Type{at}, func(x []uint64) uint64 {
				v := wrap(integer(at, x[0]), dt.Bits())
				return wrap(integer(dt, v), out.Bits())
			})
			check(t, fmt.Sprintf("cvt.sat.%s.%s $0, $1;", dt, at), out, []ptx.Type{at}, func(x []uint64) uint64 {
				v := integer(at, x[0])
				least, most := new(big.Int), new(big.Int).SetUint64(mask(dt.Bits()))
				if dt.Signed() {
					most.SetUint64(mask(dt.Bits() - 1))
					least.Sub(big.NewInt(-1), most)
				}
				if v.Cmp(least) < 0 {
					v = least
				}
				if v.Cmp(most) > 0 {
					v = most
				}
				return wrap(v, out.Bits())
			})
		}
	}
}

func TestConversionsOfFloats(t *testing.T) {
	floats := []ptx.Type{ptx.F16, ptx.BF16, ptx.F32, ptx.F64}
	ints := []ptx.Type{ptx.U8, ptx.S8, ptx.U16, ptx.S16, ptx.U32, ptx.S32, ptx.U64, ptx.S64}
	for _, ft := range floats {
		for _, it := range ints {
			if ft == ptx.BF16 && it.Bits() == 8 {
				continue
			}
			out := map[int]ptx.Type{8: ptx.U16, 16: ptx.U16, 32: ptx.U32, 64: ptx.U64}[it.Bits()]
			for name, r := range directions {
				check(t, fmt.Sprintf("cvt.%s.%s.%s $0, $1;", name, ft, it), ft, []ptx.Type{it},
					func(x []uint64) uint64 {
						v := integer(it, x[0])
						if v.Sign() == 0 {
							return 0
						}
						return rounded(ft, new(big.Float).SetPrec(100).SetInt(v), r)
					})
				check(t, fmt.Sprintf("cvt.%si.%s.%s $0, $1;", name, it, ft), out, []ptx.Type{ft},
					func(x []uint64) uint64 {
						v := exactly(ft, x[0])
						if v != v {
							if ft == ptx.F64 || it.Bits() == 64 {
								return wrap(integer(it, 1<<(it.Bits()-1)), out.Bits())
							}
							return 0
						}
						var n *big.Int
						least, most := new(big.Int), new(big.Int).SetUint64(mask(it.Bits()))
						if it.Signed() {
							most.SetUint64(mask(it.Bits() - 1))
							least.Sub(big.NewInt(-1), most)
						}
						switch {
						case math.IsInf(v, 1):
							n = most
						case math.IsInf(v, -1):
							n = least
						default:
							n, _ = big.NewFloat(integral(v, r)).Int(nil)
						}
						if n.Cmp(least) < 0 {
							n = least
						}
						if n.Cmp(most) > 0 {
							n = most
						}
						return wrap(n, out.Bits())
					})
			}
		}
		for name, r := range directions {
			check(t, fmt.Sprintf("cvt.%si.%s.%s $0, $1;", name, ft, ft), ft, []ptx.Type{ft}, func(x []uint64) uint64 {
				v := exactly(ft, x[0])
				if v-v != 0 {
					return special64(ft, v)
				}
				w := integral(v, r)
				if w == 0 {
					return x[0] & (1 << (ft.Bits() - 1))
				}
				return rounded(ft, big.NewFloat(w), toNearest)
			})
			for _, to := range floats {
				smaller := formats[to].frac < formats[ft].frac || formats[to].exp < formats[ft].exp
				if to == ft || !smaller {
					continue
				}
				check(t, fmt.Sprintf("cvt.%s.%s.%s $0, $1;", name, to, ft), to, []ptx.Type{ft},
					func(x []uint64) uint64 {
						return narrowed(to, exactly(ft, x[0]), x[0]>>(ft.Bits()-1), r)
					})
			}
		}
		for _, to := range floats {
			if formats[to].frac > formats[ft].frac && formats[to].exp >= formats[ft].exp {
				check(t, fmt.Sprintf("cvt.%s.%s $0, $1;", to, ft), to, []ptx.Type{ft}, func(x []uint64) uint64 {
					return narrowed(to, exactly(ft, x[0]), x[0]>>(ft.Bits()-1), toNearest)
				})
			}
		}
	}
	check(t, "cvt.rn.f16x2.f32 $0, $1, $2;", ptx.B32, []ptx.Type{ptx.F32, ptx.F32}, func(x []uint64) uint64 {
		return narrowed(ptx.F16, exactly(ptx.F32, x[0]), x[0]>>31, toNearest)<<16 |
			narrowed(ptx.F16, exactly(ptx.F32, x[1]), x[1]>>31, toNearest)
	})
	check(t, "cvt.rn.relu.bf16.f32 $0, $1;", ptx.BF16, []ptx.Type{ptx.F32}, func(x []uint64) uint64 {
		v := narrowed(ptx.BF16, exactly(ptx.F32, x[0]), x[0]>>31, toNearest)
		if v>>15 != 0 {
			return 0
		}
		return v
	})
	check(t, "cvt.sat.f32.f32 $0, $1;", ptx.F32, []ptx.Type{ptx.F32}, func(x []uint64) uint64 {
		v := f32of(x[0])
		if !(v > 0) {
			return 0
		}
		return uint64(math.Float32bits(min(v, 1)))
	})
	check(t, "cvt.rna.tf32.f32 $0, $1;", ptx.B32, []ptx.Type{ptx.F32}, func(x []uint64) uint64 {
		v := exactly(ptx.F32, x[0])
		if v-v != 0 {
			return special64(ptx.F32, v)
		}
		return (x[0] + 1<<12) &^ (1<<13 - 1)
	})
}

// narrowed is a float in another type.
func narrowed(t ptx.Type, v float64, negative uint64, r rounding) uint64 {
	switch {
	case v-v != 0:
		return special64(t, v)
	case v == 0:
		return negative << (t.Bits() - 1)
	}
	return rounded(t, big.NewFloat(v), r)
}

// integral rounds a finite float to an integral value.
func integral(v float64, r rounding) float64 {
	switch r {
	case towardZero:
		return math.Trunc(v)
	case downward:
		return math.Floor(v)
	case upward:
		return math.Ceil(v)
	}
	if f := math.Floor(v); v-f < 0.5 || v-f == 0.5 && math.Mod(f, 2) == 0 {
		return f
	}
	return math.Ceil(v)
}
