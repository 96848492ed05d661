package llvm

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"healc/codegen"
	"healc/codegen/llvm/libllvm"
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/ir/scalar/elementary"
	"healc/lang/types"
	"healc/runtime/abi"
)

// logKernel is a kernel of n elements whose last value is log x. seen, when it is not nil, chooses one of the
// instructions of the expansion whose value is stored, too.
func logKernel(n int64, seen func(scalar.Instr) bool) *kernel.Kernel {
	at := kernel.Access{Terms: []kernel.Term{{Coef: types.Lit(1), Var: 0}}}
	shape := []abi.Extent{{Dim: types.Lit(n)}}
	k := &kernel.Kernel{Name: "log", Axes: []kernel.Axis{{Var: 0, Extent: shape[0]}},
		Types: []types.DType{types.I64, types.F32},
		Params: []kernel.Param{{Name: "x", DType: types.F32, Shape: shape},
			{Name: "y", DType: types.F32, Out: true, Shape: shape}},
		Body: &kernel.Block{Stmts: []kernel.Stmt{&kernel.Load{ID: 1, Param: 0, At: at}}}}
	shown := scalar.None
	sink := &kernelSink{k: k, seen: seen, shown: &shown}
	value := elementary.Log(scalar.Emitter{Sink: sink}, 1)
	k.Body.Stmts = append(k.Body.Stmts, &kernel.Store{Param: 1, At: at, Val: value})
	if shown != scalar.None {
		k.Params = append(k.Params, kernel.Param{Name: "z", DType: k.Types[shown], Out: true, Shape: shape})
		k.Body.Stmts = append(k.Body.Stmts, &kernel.Store{Param: 2, At: at, Val: shown})
	}
	return k
}

// kernelSink appends instructions to the body of a kernel.
type kernelSink struct {
	k     *kernel.Kernel
	seen  func(scalar.Instr) bool
	shown *kernel.Ref
}

func (s *kernelSink) Emit(in scalar.Instr) scalar.Ref {
	id := kernel.Ref(len(s.k.Types))
	s.k.Types = append(s.k.Types, in.Type)
	s.k.Body.Stmts = append(s.k.Body.Stmts, &kernel.Let{ID: id, In: in})
	if s.seen != nil && s.seen(in) {
		*s.shown = id
	}
	return id
}

func (s *kernelSink) TypeOf(r scalar.Ref) types.DType { return s.k.Types[r] }

// TestLogarithms compares log in vectors (Note [Logarithms in vectors]) with the evaluator on the ends and middles of
// all binades, special values and random bits, also where a value on the way is wanted for itself: such a value has to
// be that of the expansion for every x.
func TestLogarithms(t *testing.T) {
	const n = 32*253 + 5
	r := rand.New(rand.NewPCG(3, 4))
	x := make([]float32, n)
	for i := range x {
		e, f := uint32(i/9%256), []uint32{0, 1, 0x3fffff, 0x400000, 0x400001, 0x7fffff, 0x3504f3, r.Uint32() & 0x7fffff,
			r.Uint32() & 0xff}[i%9]
		sign := uint32(0)
		if i < n/2 { // vectors of normal numbers, with one of something else now and then
			if e = 1 + e%254; i%97 == 0 {
				e = 0
			}
		} else if r.IntN(5) == 0 {
			sign = 1
		}
		x[i] = math.Float32frombits(sign<<31 | e<<23 | f)
	}
	for name, seen := range map[string]func(scalar.Instr) bool{
		"log alone":        nil,
		"the exponent too": func(in scalar.Instr) bool { return in.Op == scalar.Cast && in.Type == types.F32 },
		"an integer too":   func(in scalar.Instr) bool { return in.Op == scalar.Shr },
	} {
		rec, params := scalar.NewRecorder(types.F32)
		rec.Func.Results = []scalar.Ref{elementary.Log(scalar.Emitter{Sink: rec}, params[0])}
		for i, in := range rec.Func.Instrs {
			if seen != nil && seen(in) {
				rec.Func.Results = append(rec.Func.Results, scalar.Ref(i))
			}
		}
		if shown := len(rec.Func.Results) - 1; seen != nil && shown != 1 {
			t.Fatalf("%s: there are %d such instructions", name, shown)
		}
		want := scalar.Compile(&rec.Func)
		m := &kernel.Module{Name: "t", Kernels: []*kernel.Kernel{logKernel(n, seen)}}
		if err := kernel.Verify(m); err != nil {
			t.Fatal(err)
		}
		run := load(t, m.String())
		y, z := make([]float32, n), make([]uint32, n)
		run("log", 0, n, ptr(x), ptr(y), ptr(z))
		for i, v := range x {
			w, _ := want.RunOne(uint64(math.Float32bits(v)))
			if got := uint64(math.Float32bits(y[i])); !sameBits(types.F32, got, w[0]) {
				t.Fatalf("%s: log %v (%#x) = %#x, want %#x", name, v, math.Float32bits(v), got, w[0])
			}
			if seen != nil && z[i] != uint32(w[1]) {
				t.Fatalf("%s: of %v (%#x) it is %#x, want %#x", name, v, math.Float32bits(v), z[i], w[1])
			}
		}
	}
}

// TestLogarithmInstructions looks at which processors split by their own instructions, and that nothing of the other
// way is left.
func TestLogarithmInstructions(t *testing.T) {
	if codegenHostIsNotX86 {
		t.Skip("instructions of x86")
	}
	m := &kernel.Module{Name: "t", Kernels: []*kernel.Kernel{logKernel(4096, nil)}}
	for cpu, want := range map[string]bool{"sapphirerapids": true, "znver4": true, "skylake-avx512": true,
		"haswell": false, "x86-64": false} {
		text, err := Compile(m, codegen.Target{Kind: "cpu", CPU: cpu}, libllvm.Assembly)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"vgetmantps", "vgetexpps", "vfixupimmps"} {
			if got := strings.Contains(string(text), name); got != want {
				t.Errorf("%s: %s is there: %v", cpu, name, got)
			}
		}
		if want && strings.Contains(string(text), "vpsrad") {
			t.Errorf("%s: the integers are still there", cpu)
		}
	}
}
