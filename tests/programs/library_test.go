package programs

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	heal "healc"
	"healc/codegen"
	"healc/codegen/llvm/aot"
	"healc/internal/engine"
	"healc/ir"
	"healc/ir/ops"
	"healc/ir/scalar"
	"healc/lang/diag"
	"healc/lang/types"
	"healc/runtime"
	"healc/runtime/tensor"
	"healc/tests/devices"
	"healc/tests/library"
	"healc/tests/random"
	"healc/tests/sample"
)

// TestFunctionsInLibraries compiles the functions of the programs into shared libraries, for any shape, and compares
// them with the interpreter on random arguments. Left out are functions that print or have strings in their types, and
// those that may run forever on arguments that nobody thought of. A third of the programs has a library on a day, with
// the code of one level of the processor, another one the next time; tests/library and tests/run have libraries of all
// levels.
func TestFunctionsInLibraries(t *testing.T) {
	paths, err := filepath.Glob("*.heal")
	if err != nil {
		t.Fatal(err)
	}
	calls, cpus, day := 0, devices.Processors(t), sample.Today(t)
	for i, path := range paths {
		if testing.Short() && i%8 != 0 || !sample.Has(day, i, 3) {
			continue
		}
		cpu := cpus[(i+i/8+day)/3%len(cpus)]
		t.Run(strings.TrimSuffix(path, ".heal"), func(t *testing.T) { calls += inLibrary(t, path, cpu) })
	}
	t.Logf("%d calls", calls)
	if calls < 150 && !testing.Short() {
		t.Errorf("only %d calls were made", calls)
	}
}

func inLibrary(t *testing.T, path, cpu string) (calls int) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	open := func(backend string) *engine.Module {
		m, err := engine.CompileFile(diag.NewFile(path, string(text)), engine.Options{Backend: backend, Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(m.Close)
		return m
	}
	m, reference := open(heal.CPU), open(heal.Interp)
	l := &aot.Library{Prefix: "p", SplitAll: true, Target: codegen.Target{CPU: cpu}}
	for _, f := range m.IR().Funcs {
		if f.Name == "main" || !ends(m.IR(), f, map[string]bool{}) {
			continue
		}
		one, err := m.Library("p", []string{f.Name}, func(string) map[string]int64 { return nil })
		var no *codegen.Unsupported
		if errors.As(err, &no) {
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		l.Entries = append(l.Entries, one.Entries[0])
	}
	if len(l.Entries) == 0 {
		return 0
	}
	lib, err := library.Build(t.TempDir(), l)
	if err != nil {
		t.Fatal(err)
	}
	defer lib.Close()
	if _, err := lib.Do(lib.Own("set_threads"), 2); err != nil {
		t.Fatal(err)
	}
	for _, e := range l.Entries {
		f := m.IR().Func(e.Name)
		for seed := range uint64(3) {
			input := arrays(f, seed)
			want, err := interpret(reference, e.Name, input)
			if err != nil {
				continue // these shapes do not fit
			}
			got, err := lib.Run(f, e, input, seed)
			if err != nil {
				t.Errorf("%s on %s, seed %d: %v", e.Name, cpu, seed, err)
				continue
			}
			calls++
			if d := random.Diff(want, got); d != "" {
				t.Errorf("%s on %s, seed %d: interpreter and library differ: %s", e.Name, cpu, seed, d)
			}
		}
	}
	return calls
}

// ends reports that a function ends whatever its arguments: it neither recurses nor repeats until something holds.
func ends(m *ir.Module, f *ir.Func, above map[string]bool) bool {
	if above[f.Name] {
		return false
	}
	above[f.Name] = true
	defer delete(above, f.Name)
	fine := true
	ir.Walk(f.Body, func(op *ir.Op) {
		switch {
		case op.Def == ops.Call:
			fine = fine && ends(m, m.Func(op.Str("callee")), above)
		case op.IsLoop() && strings.Contains(op.Def.Name, "until"):
			fine = false
		}
	})
	return fine
}

// arrays are random arguments. Integers are small, so that counts are, and some are good indices.
func arrays(f *ir.Func, seed uint64) []*ir.Array {
	r := rand.New(rand.NewPCG(seed, 11))
	bind := map[string]int64{}
	for _, d := range f.Dims {
		bind[d] = []int64{3, 8, 33}[seed] + int64(r.IntN(2))
	}
	var out []*ir.Array
	for _, p := range f.Params() {
		var shape []int64
		for _, d := range p.Type.Shape {
			n, err := d.Eval(bind)
			if err != nil || n < 0 {
				n = 0
			}
			shape = append(shape, n)
		}
		a := ir.NewArray(p.Type.Elem, shape...)
		for i := range a.Bits {
			switch {
			case a.DType == types.Bool:
				a.Bits[i] = uint64(r.IntN(2))
			case a.DType.IsInt():
				a.Bits[i] = scalar.IntBits(a.DType, int64(r.IntN(6)))
			default:
				a.Bits[i] = scalar.FloatBits(a.DType, r.Float64()*4-1)
			}
		}
		out = append(out, a)
	}
	return out
}

// interpret runs a function on the interpreter. The error is one of the arguments, not of the program.
func interpret(m *engine.Module, name string, input []*ir.Array) (*random.Outcome, error) {
	f, err := m.Func(name)
	if err != nil {
		return nil, err
	}
	var args []*tensor.Tensor
	defer func() {
		for _, t := range args {
			t.Close()
		}
	}()
	for _, a := range input {
		t, err := tensor.FromBits(a.DType, a.Shape, a.Bits)
		if err != nil {
			return nil, err
		}
		args = append(args, t)
	}
	results, err := f.CallAll(context.Background(), args...)
	var failed *runtime.RuntimeError
	if errors.As(err, &failed) {
		return &random.Outcome{Failed: failed.Message}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	out := &random.Outcome{}
	for _, k := range f.IR().Updates {
		results = append(results, args[k])
		args[k] = nil
	}
	for _, t := range results {
		out.Results = append(out.Results, &ir.Array{DType: t.DType, Shape: append([]int64{}, t.Shape...),
			Bits: t.Bits()})
		t.Close()
	}
	return out, nil
}
