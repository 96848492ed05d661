package ptxsim

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strings"
	"testing"

	"healc/codegen/gpu/ptx"
	"healc/codegen/gpu/ptxsim/machine"
)

// hardInts are integers at the edges of all widths.
var hardInts = []uint64{
	0, 1, 2, 3, 5, 7, 15, 16, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 0x7ffe, 0x7fff, 0x8000, 0x8001, 0xffff,
	0x10000, 0x55555555, 0xaaaaaaaa,
	0x7ffffffe, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff, 0x100000000, 0x123456789abcdef0,
	0x7fffffffffffffff, 0x8000000000000000, 0x8000000000000001, 0xfffffffffffffffe, 0xffffffffffffffff,
}

// hardFloats are floats of type t at the edges: zeros, subnormals, powers of two and their neighbours, ties,
// infinities, NaN.
func hardFloats(t ptx.Type) []uint64 {
	f := formats[t]
	top := uint64(1<<f.exp-1) << f.frac
	one := uint64(1<<(f.exp-1)-1) << f.frac
	v := []uint64{
		0, 1, 2, 3, 1<<f.frac - 1, 1 << f.frac, 1<<f.frac + 1, 2 << f.frac, one - 1, one, one + 1, one + 1<<(f.frac-1),
		one + 1<<f.frac, one + 3<<(f.frac-1),
		one - 1<<f.frac, one + uint64(f.frac)<<f.frac, one + uint64(f.frac+1)<<f.frac, one + uint64(f.frac)<<f.frac + 1,
		one - uint64(f.frac+1)<<f.frac, one/2 + 12345, one + top/5,
		top - 1, top - 1<<f.frac, top, top | 1<<(f.frac-1),
	}
	for _, x := range v {
		v = append(v, x|1<<(f.frac+f.exp))
	}
	return v
}

// hard are hard values of a type.
func hard(t ptx.Type) []uint64 {
	switch {
	case t == ptx.Pred:
		return []uint64{0, 1}
	case t.Float():
		return hardFloats(t)
	}
	var v []uint64
	seen := map[uint64]bool{}
	for _, x := range hardInts {
		if x &= mask(t.Bits()); !seen[x] {
			seen[x] = true
			v = append(v, x)
		}
	}
	return v
}

// letters name registers by their width in the kernels of these tests.
func letter(t ptx.Type) string {
	return map[int]string{1: "p", 8: "h", 16: "h", 32: "r", 64: "d"}[t.Bits()]
}

// evaluate executes an instruction for rows of operands. In the text, $0 stands for the result and $1, $2, $3 for the
// operands, of the types given.
func evaluate(t *testing.T, text string, result ptx.Type, types []ptx.Type, rows [][]uint64) []uint64 {
	t.Helper()
	var b strings.Builder
	b.WriteString(header + ".visible .entry f(.param .u64 n, .param .u64 in, .param .u64 out) {\n")
	b.WriteString(".reg .b16 %h<9>; .reg .b32 %r<19>; .reg .b64 %d<9>; .reg .b64 %x<9>; .reg .pred %p<9>;\n")
	b.WriteString("ld.param.u64 %x1, [in]; ld.param.u64 %x2, [out]; ld.param.u64 %x3, [n];\n")
	b.WriteString(
		"mov.u32 %r8, %ctaid.x; mov.u32 %r9, %ntid.x; mov.u32 %r10, %tid.x; mad.lo.s32 %r8, %r8, %r9, %r10; " +
			"cvt.u64.u32 %x4, %r8;\n")
	b.WriteString(
		"setp.ge.u64 %p8, %x4, %x3; @%p8 bra done; shl.b64 %x5, %x4, 5; add.s64 %x1, %x1, %x5; shl.b64 %x5, %x4, 3; " +
			"add.s64 %x2, %x2, %x5;\n")
	for i, u := range types {
		fmt.Fprintf(&b, "ld.global.u64 %%x6, [%%x1+%d]; ", 8*i)
		switch u.Bits() {
		case 1:
			fmt.Fprintf(&b, "setp.ne.u64 %%p%d, %%x6, 0;\n", i+1)
		case 64:
			fmt.Fprintf(&b, "mov.b64 %%d%d, %%x6;\n", i+1)
		default:
			fmt.Fprintf(&b, "cvt.u%d.u64 %%%s%d, %%x6;\n", max(u.Bits(), 16), letter(u), i+1)
		}
		text = strings.ReplaceAll(text, fmt.Sprintf("$%d", i+1), fmt.Sprintf("%%%s%d", letter(u), i+1))
	}
	b.WriteString(strings.ReplaceAll(text, "$0", "%"+letter(result)+"0") + "\n")
	switch result.Bits() {
	case 1:
		b.WriteString("selp.b64 %x7, 1, 0, %p0;\n")
	case 64:
		b.WriteString("mov.b64 %x7, %d0;\n")
	default:
		fmt.Fprintf(&b, "cvt.u64.u%d %%x7, %%%s0;\n", max(result.Bits(), 16), letter(result))
	}
	b.WriteString("st.global.u64 [%x2], %x7;\ndone: ret;\n}\n")
	m, err := Parse("test.ptx", b.String())
	if err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	d := machine.NewDevice(machine.Options{})
	var raw []byte
	for _, r := range rows {
		for i := range 4 {
			var v uint64
			if i < len(r) {
				v = r[i]
			}
			raw = binary.LittleEndian.AppendUint64(raw, v)
		}
	}
	in, out := alloc(t, d, len(raw)), alloc(t, d, 8*len(rows))
	if err := d.Write(in, raw); err != nil {
		t.Fatal(err)
	}
	if err := d.Launch(m, "f", dim((len(rows)+255)/256), dim(256), 0, words(uint64(len(rows)), in, out)); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	got := make([]byte, 8*len(rows))
	if err := d.Read(out, got); err != nil {
		t.Fatal(err)
	}
	var v []uint64
	for i := range rows {
		v = append(v, binary.LittleEndian.Uint64(got[8*i:]))
	}
	return v
}

// product is all combinations of values, of which about 20000 are taken.
func product(sets [][]uint64) [][]uint64 {
	n := 1
	for _, s := range sets {
		n *= len(s)
	}
	step := max(1, n/20000)
	for step > 1 && gcd(step, n) != 1 {
		step++
	}
	var rows [][]uint64
	for i := 0; i < n; i += step {
		k := i
		var r []uint64
		for _, s := range sets {
			r = append(r, s[k%len(s)])
			k /= len(s)
		}
		rows = append(rows, r)
	}
	return rows
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// check compares an instruction with a function for hard operands.
func check(t *testing.T, text string, result ptx.Type, types []ptx.Type, want func(x []uint64) uint64) {
	t.Helper()
	var sets [][]uint64
	for _, u := range types {
		sets = append(sets, hard(u))
	}
	checkRows(t, text, result, types, product(sets), want)
}

func checkRows(t *testing.T, text string, result ptx.Type, types []ptx.Type, rows [][]uint64,
	want func(x []uint64) uint64) {
	t.Helper()
	bad := 0
	for i, got := range evaluate(t, text, result, types, rows) {
		if w := want(rows[i]); got != w && bad < 3 {
			t.Errorf("%s of %#x: %#x, want %#x", text, rows[i], got, w)
			bad++
		}
	}
}

// integer is a value as a big integer.
func integer(t ptx.Type, v uint64) *big.Int {
	if t.Signed() {
		return big.NewInt(int64(extend(t, v)))
	}
	return new(big.Int).SetUint64(v)
}

// wrap is the low bits of a big integer.
func wrap(x *big.Int, bits int) uint64 {
	m := new(big.Int).Lsh(big.NewInt(1), uint(bits))
	return new(big.Int).Mod(x, m).Uint64()
}

func TestIntegers(t *testing.T) {
	for _, ty := range integers {
		n := ty.Bits()
		val := func(v uint64) *big.Int { return integer(ty, v) }
		two := []ptx.Type{ty, ty}
		bin := func(name string, f func(x, y *big.Int) *big.Int) {
			check(t, fmt.Sprintf("%s.%s $0, $1, $2;", name, ty), ty, two, func(x []uint64) uint64 {
				return wrap(f(val(x[0]), val(x[1])), n)
			})
		}
		newInt := func() *big.Int { return new(big.Int) }
		bin("add", func(x, y *big.Int) *big.Int { return newInt().Add(x, y) })
		bin("sub", func(x, y *big.Int) *big.Int { return newInt().Sub(x, y) })
		bin("mul.lo", func(x, y *big.Int) *big.Int { return newInt().Mul(x, y) })
		bin("mul.hi", func(x, y *big.Int) *big.Int { return newInt().Rsh(newInt().Mul(x, y), uint(n)) })
		bin("min", func(x, y *big.Int) *big.Int {
			if x.Cmp(y) < 0 {
				return x
			}
			return y
		})
		bin("max", func(x, y *big.Int) *big.Int {
			if x.Cmp(y) > 0 {
				return x
			}
			return y
		})
		var rows [][]uint64
		for _, r := range product([][]uint64{hard(ty), hard(ty)}) {
			if r[1] != 0 {
				rows = append(rows, r)
			}
		}
		checkRows(t, fmt.Sprintf("div.%s $0, $1, $2;", ty), ty, two, rows, func(x []uint64) uint64 {
			return wrap(newInt().Quo(val(x[0]), val(x[1])), n)
		})
		checkRows(t, fmt.Sprintf("rem.%s $0, $1, $2;", ty), ty, two, rows, func(x []uint64) uint64 {
			return wrap(newInt().Rem(val(x[0]), val(x[1])), n)
		})
		three := []ptx.Type{ty, ty, ty}
		check(t, fmt.Sprintf("mad.lo.%s $0, $1, $2, $3;", ty), ty, three, func(x []uint64) uint64 {
			return wrap(newInt().Add(newInt().Mul(val(x[0]), val(x[1])), val(x[2])), n)
		})
		check(t, fmt.Sprintf("mad.hi.%s $0, $1, $2, $3;", ty), ty, three, func(x []uint64) uint64 {
			return wrap(newInt().Add(newInt().Rsh(newInt().Mul(val(x[0]), val(x[1])), uint(n)), val(x[2])), n)
		})
		check(t, fmt.Sprintf("sad.%s $0, $1, $2, $3;", ty), ty, three, func(x []uint64) uint64 {
			d := newInt().Sub(val(x[0]), val(x[1]))
			return wrap(newInt().Add(d.Abs(d), val(x[2])), n)
		})
		if n < 64 {
			w := wide(ty)
			check(t, fmt.Sprintf("mul.wide.%s $0, $1, $2;", ty), w, two, func(x []uint64) uint64 {
				return wrap(newInt().Mul(val(x[0]), val(x[1])), 2*n)
			})
			check(t, fmt.Sprintf("mad.wide.%s $0, $1, $2, $3;", ty), w, []ptx.Type{ty, ty, w}, func(x []uint64) uint64 {
				return wrap(newInt().Add(newInt().Mul(val(x[0]), val(x[1])), integer(w, x[2])), 2*n)
			})
		}
		if ty.Signed() {
			check(t, fmt.Sprintf("abs.%s $0, $1;", ty), ty, two[:1], func(x []uint64) uint64 {
				return wrap(newInt().Abs(val(x[0])), n)
			})
			check(t, fmt.Sprintf("neg.%s $0, $1;", ty), ty, two[:1], func(x []uint64) uint64 {
				return wrap(newInt().Neg(val(x[0])), n)
			})
		}
		shift := func(name string, f func(v *big.Int, k uint) *big.Int) {
			check(t, fmt.Sprintf("%s $0, $1, $2;", name), ty, []ptx.Type{ty, ptx.U32}, func(x []uint64) uint64 {
				return wrap(f(val(x[0]), uint(min(x[1], 200))), n)
			})
		}
		shift(fmt.Sprintf("shl.b%d", n), newInt().Lsh)
		shift(fmt.Sprintf("shr.%s", ty), newInt().Rsh)
	}
	pairs := []ptx.Type{ptx.B32, ptx.B32}
	for name, f := range map[string]func(x, y uint16) uint16{
		"add.u16x2": func(x, y uint16) uint16 {
			return x + y
		}, "min.u16x2": func(x, y uint16) uint16 {
			return min(x, y)
		}, "max.u16x2": func(x, y uint16) uint16 { return max(x, y) },
		"min.s16x2": func(x, y uint16) uint16 {
			return uint16(min(int16(x), int16(y)))
		}, "max.s16x2.relu": func(x, y uint16) uint16 { return uint16(max(int16(x), int16(y), 0)) },
	} {
		check(t, name+" $0, $1, $2;", ptx.B32, pairs, func(x []uint64) uint64 {
			return uint64(f(uint16(x[0]), uint16(x[1]))) | uint64(f(uint16(x[0]>>16), uint16(x[1]>>16)))<<16
		})
	}
	saturating := func(x int64) uint64 { return uint64(uint32(max(min(x, math.MaxInt32), math.MinInt32))) }
	check(t, "add.sat.s32 $0, $1, $2;", ptx.S32, []ptx.Type{ptx.S32, ptx.S32}, func(x []uint64) uint64 {
		return saturating(int64(int32(x[0])) + int64(int32(x[1])))
	})
	check(t, "sub.sat.s32 $0, $1, $2;", ptx.S32, []ptx.Type{ptx.S32, ptx.S32}, func(x []uint64) uint64 {
		return saturating(int64(int32(x[0])) - int64(int32(x[1])))
	})
	check(t, "mul24.lo.u32 $0, $1, $2;", ptx.U32, []ptx.Type{ptx.U32, ptx.U32}, func(x []uint64) uint64 {
		return x[0] & 0xffffff * (x[1] & 0xffffff) & mask(32)
	})
	check(t, "mul24.hi.s32 $0, $1, $2;", ptx.S32, []ptx.Type{ptx.S32, ptx.S32}, func(x []uint64) uint64 {
		return uint64(int64(int32(x[0]<<8)>>8)*int64(int32(x[1]<<8)>>8)>>16) & mask(32)
	})
	check(t, "dp4a.s32.u32 $0, $1, $2, $3;", ptx.S32, []ptx.Type{ptx.S32, ptx.U32, ptx.S32}, func(x []uint64) uint64 {
		v := int32(x[2])
		for i := range 4 {
			v += int32(int8(x[0]>>(8*i))) * int32(uint8(x[1]>>(8*i)))
		}
		return uint64(uint32(v))
	})
}

// Sums and products of 128 bits, by carries.
func TestCarries(t *testing.T) {
	four := []ptx.Type{ptx.U64, ptx.U64, ptx.U64}
	check(t, "{ .reg .b64 %lo; add.cc.s64 %lo, $1, $2; addc.s64 $0, $3, 0; }", ptx.U64, four, func(x []uint64) uint64 {
		_, k := bits.Add64(x[0], x[1], 0)
		return x[2] + k
	})
	check(t, "{ .reg .b64 %lo; sub.cc.u64 %lo, $1, $2; subc.u64 $0, $3, $1; }", ptx.U64, four, func(x []uint64) uint64 {
		_, k := bits.Sub64(x[0], x[1], 0)
		return x[2] - x[0] - k
	})
	check(t, "{ .reg .b32 %lo; add.cc.u32 %lo, $1, $2; addc.cc.u32 %lo, $3, $1; addc.u32 $0, 0, 0; }", ptx.U32,
		[]ptx.Type{ptx.U32, ptx.U32, ptx.U32}, func(x []uint64) uint64 {
			return (x[2] + x[0] + (x[0]+x[1])>>32) >> 32
		})
	check(t, "{ .reg .b32 %lo; sub.cc.u32 %lo, $1, $2; subc.cc.u32 %lo, $3, $1; subc.u32 $0, 0, 0; }", ptx.U32,
		[]ptx.Type{ptx.U32, ptx.U32, ptx.U32}, func(x []uint64) uint64 {
			_, k := bits.Sub32(uint32(x[0]), uint32(x[1]), 0)
			_, k = bits.Sub32(uint32(x[2]), uint32(x[0]), k)
			return uint64(uint32(-k))
		})
	check(t, "{ .reg .b64 %lo; mad.lo.cc.u64 %lo, $1, $2, $3; madc.hi.u64 $0, $1, $2, 0; }", ptx.U64, four,
		func(x []uint64) uint64 {
			hi, lo := bits.Mul64(x[0], x[1])
			_, k := bits.Add64(lo, x[2], 0)
			return hi + k
		})
	check(t, "{ .reg .b32 %lo; mad.lo.cc.u32 %lo, $1, $2, $3; madc.hi.cc.u32 %lo, $1, $2, $3; addc.u32 $0, 0, 0; }",
		ptx.U32, []ptx.Type{ptx.U32, ptx.U32, ptx.U32}, func(x []uint64) uint64 {
			p := x[0] * x[1]
			k := (p&mask(32) + x[2]) >> 32
			return (p>>32 + x[2] + k) >> 32
		})
}

func TestComparisons(t *testing.T) {
	for _, ty := range []ptx.Type{ptx.U16, ptx.S16, ptx.U32, ptx.S32, ptx.U64, ptx.S64} {
		for op, holds := range map[string]func(c int) bool{
			"eq": func(c int) bool {
				return c == 0
			}, "ne": func(c int) bool { return c != 0 }, "lt": func(c int) bool { return c < 0 },
			"le": func(c int) bool {
				return c <= 0
			}, "gt": func(c int) bool { return c > 0 }, "ge": func(c int) bool { return c >= 0 },
		} {
			check(t, fmt.Sprintf("setp.%s.%s $0, $1, $2;", op, ty), ptx.Pred, []ptx.Type{ty, ty},
				func(x []uint64) uint64 {
					return boolean(holds(integer(ty, x[0]).Cmp(integer(ty, x[1]))))
				})
		}
	}
	for op, signed := range map[string]string{"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"} {
		check(t, fmt.Sprintf("{ .reg .pred %%q; setp.%s.u32 %%q, $1, $2; setp.%s.xor.u32 $0, $1, $2, %%q; }", op,
			signed), ptx.Pred, []ptx.Type{ptx.U32, ptx.U32}, func(x []uint64) uint64 {
			return 0
		})
	}
	for _, ty := range []ptx.Type{ptx.F16, ptx.BF16, ptx.F32, ptx.F64} {
		for op, holds := range map[string]func(a, b float64) bool{
			"eq": func(a, b float64) bool {
				return a == b
			}, "ne": func(a, b float64) bool { return a < b || a > b }, "lt": func(a, b float64) bool { return a < b },
			"le": func(a, b float64) bool {
				return a <= b
			}, "gt": func(a, b float64) bool { return a > b }, "ge": func(a, b float64) bool { return a >= b },
			"equ": func(a, b float64) bool {
				return !(a < b || a > b)
			}, "neu": func(a, b float64) bool { return a != b }, "ltu": func(a, b float64) bool { return !(a >= b) },
			"leu": func(a, b float64) bool {
				return !(a > b)
			}, "gtu": func(a, b float64) bool { return !(a <= b) }, "geu": func(a, b float64) bool { return !(a < b) },
			"num": func(a, b float64) bool {
				return a == a && b == b
			}, "nan": func(a, b float64) bool { return a != a || b != b },
		} {
			check(t, fmt.Sprintf("setp.%s.%s $0, $1, $2;", op, ty), ptx.Pred, []ptx.Type{ty, ty},
				func(x []uint64) uint64 {
					return boolean(holds(exactly(ty, x[0]), exactly(ty, x[1])))
				})
		}
	}
	check(t, "{ .reg .pred %q; setp.lt.and.s32 %q|$0, $1, $2, $3; }", ptx.Pred, []ptx.Type{ptx.S32, ptx.S32, ptx.Pred},
		func(x []uint64) uint64 {
			return boolean(int32(x[0]) >= int32(x[1])) & x[2]
		})
	for q, half := range map[string]int{"$0|_": 0, "_|$0": 16} {
		check(t, fmt.Sprintf("setp.ltu.f16x2 %s, $1, $2;", q), ptx.Pred, []ptx.Type{ptx.B32, ptx.B32},
			func(x []uint64) uint64 {
				return boolean(!(exactly(ptx.F16, x[0]>>half&0xffff) >= exactly(ptx.F16, x[1]>>half&0xffff)))
			})
	}
	check(t, "set.gt.u32.f32 $0, $1, $2;", ptx.U32, []ptx.Type{ptx.F32, ptx.F32}, func(x []uint64) uint64 {
		return mask(32) * boolean(f32of(x[0]) > f32of(x[1]))
	})
	check(t, "set.eq.f32.s32 $0, $1, $2;", ptx.F32, []ptx.Type{ptx.S32, ptx.S32}, func(x []uint64) uint64 {
		return 0x3f800000 * boolean(x[0] == x[1])
	})
	check(t, "slct.b64.s32 $0, $1, $2, $3;", ptx.B64, []ptx.Type{ptx.B64, ptx.B64, ptx.S32}, func(x []uint64) uint64 {
		return x[x[2]>>31]
	})
}

// exactly is the value of a float, by the definition of the formats.
func exactly(t ptx.Type, v uint64) float64 {
	switch t {
	case ptx.F32:
		return float64(math.Float32frombits(uint32(v)))
	case ptx.F64:
		return math.Float64frombits(v)
	case ptx.BF16:
		return float64(math.Float32frombits(uint32(v) << 16))
	}
	// f16 from its definition
	x := float64(v & 1023)
	switch e := int(v >> 10 & 31); e {
	case 0:
		x *= 0x1p-24
	case 31:
		if x != 0 {
			return math.NaN()
		}
		x = math.Inf(1)
	default:
		x = (x + 1024) * math.Pow(2, float64(e-25))
	}
	if v>>15 != 0 {
		x = -x
	}
	return x
}
