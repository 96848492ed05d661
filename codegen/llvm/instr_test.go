package llvm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"healc/codegen"
	"healc/codegen/llvm/libllvm"
	"healc/codegen/target"
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/abi"
	"healc/runtime/objload"
)

// instrCase is one instruction on operands of given types.
type instrCase struct {
	op   scalar.Op
	t    types.DType
	args []types.DType
}

// instrCases lists every instruction on every type that its verifier admits.
func instrCases() []instrCase {
	var out []instrCase
	for name := scalar.Const; name <= scalar.Check; name++ {
		switch name {
		case scalar.Const, scalar.Param, scalar.Check:
			continue
		}
		for _, t := range types.DTypes {
			for _, from := range types.DTypes {
				args := make([]types.DType, name.Info().Arity)
				for i := range args {
					args[i] = from
				}
				if name == scalar.Select {
					args[0] = types.Bool
				}
				in := scalar.Instr{Op: name, Type: t, Args: [3]scalar.Ref{scalar.None, scalar.None, scalar.None}}
				for i := range args {
					in.Args[i] = scalar.Ref(i)
				}
				if scalar.VerifyInstr(in, func(r scalar.Ref) types.DType { return args[r] }) == nil {
					out = append(out, instrCase{name, t, args})
				}
				if name.Info().Arity == 0 {
					break
				}
			}
		}
	}
	return out
}

// bytesOf stores bits as elements of d; bitsOf is its inverse.
func bytesOf(d types.DType, bits []uint64) []byte {
	n := d.Bytes()
	out := make([]byte, n*len(bits)+64)
	for i, b := range bits {
		for k := range n {
			out[i*n+k] = byte(b >> (8 * k))
		}
	}
	return out
}

func bitsOf(d types.DType, raw []byte, n int) []uint64 {
	out := make([]uint64, n)
	for i := range out {
		for k := range d.Bytes() {
			out[i] |= uint64(raw[i*d.Bytes()+k]) << (8 * k)
		}
	}
	return out
}

// hard draws elements: the ends of the range, special floats, small numbers, any bits.
func hard(r *rand.Rand, d types.DType) uint64 {
	width := uint64(1)<<(d.Bits()-1)<<1 - 1
	switch {
	case d == types.Bool:
		return r.Uint64() & 1
	case d.IsFloat():
		special := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, 1.5, 2.5, -2.5, math.Inf(1), math.Inf(-1), math.NaN(),
			65504, 65520, 1e-7, 5e-324, 1e-45, 3.4028235e38, 1e308, 2147483647, 2147483648, -2147483649, 9.3e18, 1.9e19,
			255.5, -0.9}
		switch r.IntN(4) {
		case 0:
			return r.Uint64() & width
		case 1: // of any size that an integer has
			return scalar.FloatBits(d, math.Ldexp(r.Float64()-0.5, r.IntN(70)))
		}
		return scalar.FloatBits(d, special[r.IntN(len(special))])
	}
	edges := []uint64{0, 1, 2, 3, 7, 8, 31, 32, 33, 63, 64, width, width - 1, width >> 1, width>>1 + 1, 1 << 24, 1<<24 +
		1, 1 << 25, 1 << 26, 1 << 51, 1<<52 - 1, 1<<53 + 1, 1<<54 + 2}
	if r.IntN(3) > 0 {
		return edges[r.IntN(len(edges))] & width
	}
	return r.Uint64() & width
}

func sameBits(d types.DType, a, b uint64) bool {
	nan := func(x uint64) bool {
		switch d {
		case types.F64:
			return x&^(1<<63) > 0x7ff<<52
		case types.F32:
			return x&0x7fffffff > 0x7f800000
		case types.F16:
			return x&0x7fff > 0x7c00
		case types.BF16:
			return x&0x7fff > 0x7f80
		}
		return false
	}
	return a == b || nan(a) && nan(b)
}

// TestInstructionsMatchTheEvaluator runs every scalar instruction on every type through machine code, for this
// processor, for one without AVX, and for AVX-512 or AVX2, whichever this one is not, and compares with the evaluator,
// bit for bit.
func TestInstructionsMatchTheEvaluator(t *testing.T) {
	const n = 203 // vectors and what is left over
	cases := instrCases()
	if len(cases) < 400 {
		t.Fatalf("only %d cases", len(cases))
	}
	m := &kernel.Module{Name: "instr"}
	for i, c := range cases {
		k := &kernel.Kernel{Name: fmt.Sprintf("k%d", i), Axes: []kernel.Axis{{Var: 0,
			Extent: abi.Extent{Dim: types.Lit(n)}}}, Types: []types.DType{types.I64}, Body: &kernel.Block{}}
		at := kernel.Access{Terms: []kernel.Term{{Coef: types.Lit(1), Var: 0}}}
		in := scalar.Instr{Op: c.op, Type: c.t, Args: [3]scalar.Ref{scalar.None, scalar.None, scalar.None}}
		for j, d := range c.args {
			id := kernel.Ref(len(k.Types))
			k.Types = append(k.Types, d)
			k.Params = append(k.Params, kernel.Param{Name: fmt.Sprintf("x%d", j), DType: d,
				Shape: []abi.Extent{{Dim: types.Lit(n)}}})
			k.Body.Stmts = append(k.Body.Stmts, &kernel.Load{ID: id, Param: j, At: at})
			in.Args[j] = id
		}
		id := kernel.Ref(len(k.Types))
		k.Types = append(k.Types, c.t)
		k.Params = append(k.Params, kernel.Param{Name: "y", DType: c.t, Out: true,
			Shape: []abi.Extent{{Dim: types.Lit(n)}}})
		k.Body.Stmts = append(k.Body.Stmts, &kernel.Let{ID: id, In: in},
			&kernel.Store{Param: len(c.args), At: at, Val: id})
		m.Kernels = append(m.Kernels, k)
	}
	if err := kernel.Verify(m); err != nil {
		t.Fatal(err)
	}
	cpus := []string{""}
	if !codegenHostIsNotX86 {
		cpus = append(cpus, "x86-64")
	}
	switch target.MachineOf(codegen.Target{}).VectorBits {
	case 512:
		cpus = append(cpus, "x86-64-v3")
	case 256:
		cpus = append(cpus, "x86-64-v4/x86-64-v3")
	}
	for i, cpu := range cpus {
		made := m
		if i == 2 { // casts alone, which differ most between processors: the rest would take half a minute
			made = &kernel.Module{Name: m.Name}
			for i, c := range cases {
				if c.op == scalar.Cast {
					made.Kernels = append(made.Kernels, m.Kernels[i])
				}
			}
		}
		obj, err := Compile(made, codegen.Target{Kind: "cpu", CPU: cpu}, libllvm.Object)
		if err != nil {
			t.Fatal(err)
		}
		img, err := objload.Load(obj, objload.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(1, 1))
		for i, c := range cases {
			cols := make([][]uint64, len(c.args))
			var bufs []unsafe.Pointer
			var keep [][]byte
			for j, d := range c.args {
				for range n {
					cols[j] = append(cols[j], hard(r, d))
				}
				keep = append(keep, bytesOf(d, cols[j]))
				bufs = append(bufs, ptr(keep[j]))
			}
			out := make([]byte, n*8+64)
			bufs = append(bufs, ptr(out))
			fn, ok := img.Symbol(fmt.Sprintf("k%d", i))
			if !ok {
				if made == m {
					t.Fatalf("cpu %q: there is no kernel %d", cpu, i)
				}
				continue
			}
			var e abi.Error
			objload.CallKernel(fn, &bufs[0], nil, 0, n, &e)
			got := bitsOf(c.t, out, n)
			for x := range n {
				args := make([]uint64, len(cols))
				for j := range cols {
					args[j] = cols[j][x]
				}
				want := scalar.EvalInstr(c.op, c.t, c.args[len(c.args)-1], args...)
				if !sameBits(c.t, got[x], want) {
					t.Errorf("cpu %q: %s %s of %v %#x: machine code gives %#x, the evaluator %#x", cpu, c.op, c.t,
						c.args, args, got[x], want)
					break
				}
			}
		}
		img.Close()
	}
}
