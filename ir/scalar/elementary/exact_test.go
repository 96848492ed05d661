package elementary

import (
	"math"
	"testing"

	"healc/ir/scalar"
	"healc/ir/scalar/scalartest"
	"healc/lang/types"
)

// TestMulExactIsExact holds the expansions to the promise of their MulExact instructions: no product of one rounds, on
// arguments of every exponent and sign, dense where exponentials end, and the special ones.
func TestMulExactIsExact(t *testing.T) {
	for _, c := range []struct {
		name string
		f    func(scalar.Emitter, scalar.Ref) scalar.Ref
	}{{"exp", Exp}, {"exp2", Exp2}, {"silu", Silu}, {"gelu", Gelu}, {"softplus", Softplus}, {"sinh", Sinh},
		{"cosh", Cosh}, {"erf", Erf}, {"sigmoid", Sigmoid}} {
		for _, d := range []types.DType{types.F32, types.F64} {
			fn := scalartest.Record(func(e scalar.Emitter, p []scalar.Ref) scalar.Ref { return c.f(e, p[0]) }, d)
			products := 0
			for _, x := range exactArgs(d) {
				vals := make([]uint64, len(fn.Instrs))
				for i, in := range fn.Instrs {
					var args []uint64
					from := in.Type
					for k, a := range in.Args {
						if a != scalar.None {
							args = append(args, vals[a])
							if k == 0 {
								from = fn.Instrs[a].Type
							}
						}
					}
					switch in.Op {
					case scalar.Param:
						vals[i] = x
						continue
					case scalar.Const:
						vals[i] = in.Imm
						continue
					}
					vals[i] = scalar.EvalInstr(in.Op, in.Type, from, args...)
					if in.Op != scalar.MulExact {
						continue
					}
					products++
					minus := scalar.EvalInstr(scalar.Neg, in.Type, in.Type, vals[i])
					rest := scalar.EvalInstr(scalar.Fma, in.Type, in.Type, args[0], args[1], minus)
					if r := scalartest.PlainValue(in.Type, rest); r != 0 && !math.IsNaN(r) {
						t.Fatalf("%s of %s %s: the product of %s and %s is off by %v", c.name, d,
							scalar.FormatBits(d, x), scalar.FormatBits(in.Type, args[0]),
							scalar.FormatBits(in.Type, args[1]), r)
					}
				}
			}
			if (c.name == "exp" || c.name == "exp2") && products == 0 {
				t.Errorf("%s of %s has no exact product", c.name, d)
			}
		}
	}
}

// exactArgs is what the promise is tested on.
func exactArgs(d types.DType) []uint64 {
	out := scalartest.Edges(d)
	for x := -1500.0; x < 1500; x += 1.37 {
		out = append(out, scalar.FloatBits(d, x))
	}
	for x := -150.0; x < 150; x += 0.0917 {
		out = append(out, scalar.FloatBits(d, x))
	}
	for e := -150; e < 150; e++ {
		out = append(out, scalar.FloatBits(d, math.Ldexp(1.37, e)), scalar.FloatBits(d, math.Ldexp(-1.83, e)))
	}
	return out
}

// TestFlushMayKeep holds the expansions to the promise of their Flush instructions: the same results whether what lies
// between its bounds is replaced or kept, on arguments between them and around.
func TestFlushMayKeep(t *testing.T) {
	for _, c := range []struct {
		name string
		f    func(scalar.Emitter, scalar.Ref) scalar.Ref
	}{{"exp", Exp}, {"exp2", Exp2}} {
		for _, d := range []types.DType{types.F32, types.F64} {
			fn := scalartest.Record(func(e scalar.Emitter, p []scalar.Ref) scalar.Ref { return c.f(e, p[0]) }, d)
			kept := *fn
			kept.Instrs = append([]scalar.Instr{}, fn.Instrs...)
			var lo, to float64
			for i, in := range fn.Instrs {
				if in.Op == scalar.Flush {
					lo = scalartest.PlainValue(d, fn.Instrs[in.Args[1]].Imm)
					to = scalartest.PlainValue(d, fn.Instrs[in.Args[2]].Imm)
					kept.Instrs[i].Args[1] = in.Args[2] // raises to the lower bound
				}
			}
			if !(to < lo) {
				t.Fatalf("%s of %s flushes nothing", c.name, d)
			}
			args := exactArgs(d)
			for i := range 20000 {
				args = append(args, scalar.FloatBits(d, lo+1+(to-lo-2)*float64(i)/20000))
			}
			x := lo
			for range 20000 {
				x = math.Nextafter(x, to)
				if d == types.F32 {
					x = float64(math.Nextafter32(float32(x), float32(to)))
				}
				args = append(args, scalar.FloatBits(d, x))
			}
			a, b := scalar.Compile(fn), scalar.Compile(&kept)
			for _, x := range args {
				want, _ := a.RunOne(x)
				got, _ := b.RunOne(x)
				if !scalartest.SameBits(d, got[0], want[0]) {
					t.Fatalf("%s of %s %s is %s, and %s when it is kept", c.name, d, scalar.FormatBits(d, x),
						scalar.FormatBits(d, want[0]), scalar.FormatBits(d, got[0]))
				}
			}
		}
	}
}
