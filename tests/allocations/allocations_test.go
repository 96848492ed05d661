// Package allocations calls every program of the other tests a second time, with places for its results, and wants
// nothing of Go's heap to be allocated: element-wise programs, reductions, rows, products, results that are views,
// loops, branches, recursions, whole programs.
//
// What does allocate, and why, is in `allocates`.
package allocations

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	heal "healc"
	"healc/internal/cache"
	"healc/internal/engine"
	"healc/lang/diag"
	"healc/lang/types"
	"healc/runtime"
	"healc/runtime/abi"
	"healc/runtime/tensor"
	"healc/tests/sample"

	"github.com/rogpeppe/go-internal/txtar"
)

// allocates are the steps of a plan whose meaning needs memory that is no tensor.
var allocates = map[string]string{
	"print":      "the text of a tensor of any size",
	"print_str":  "output is a matter of the host",
	"print_i32":  "the text of the number",
	"print_i64":  "the text of the number",
	"print_f32":  "the text of the number",
	"print_f64":  "the text of the number",
	"str_concat": "a string of any length",
	"load_npy":   "a file",
	"save_npy":   "a file",
}

// silent is a world in which printing goes nowhere.
type silent struct{ runtime.OS }

func (silent) Print(string) error { return nil }

// TestViews: results that are views of arguments or of other results, and recursions over tensors.
func TestViews(t *testing.T) {
	programs, err := os.ReadFile("views.heal")
	if err != nil {
		t.Fatal(err)
	}
	second(t, diag.NewFile("views.heal", string(programs)), []int64{0, 1, 7, 130})
}

// TestFusion: the programs whose kernels tests/fusion counts.
func TestFusion(t *testing.T) {
	paths, err := filepath.Glob("../fusion/*.txtar")
	if err != nil || len(paths) < 7 {
		t.Fatalf("%d archives: %v", len(paths), err)
	}
	for i, path := range paths {
		if testing.Short() && i%3 != 0 {
			continue
		}
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			second(t, diag.NewFile(filepath.Base(path)+"/"+f.Name, string(f.Data)), []int64{33})
		}
	}
}

// TestKernels: every kind of kernel.
func TestKernels(t *testing.T) {
	for _, path := range []string{"../sizes/sizes.heal", "../rows/rows.heal"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		second(t, diag.NewFile(path, string(text)), []int64{130})
	}
}

// TestPrograms: whole programs.
func TestPrograms(t *testing.T) {
	paths, err := filepath.Glob("../programs/*.heal")
	if err != nil || len(paths) < 50 {
		t.Fatalf("%d programs: %v", len(paths), err)
	}
	for i, path := range paths {
		if testing.Short() && i%9 != 0 {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		second(t, diag.NewFile(path, string(text)), []int64{8})
	}
}

// second calls functions of a file twice and more, with their free shape parameters at each of the sizes: every second
// function, and the others on the next day. Most functions accept whatever they are given; those that do not are
// counted.
func second(t *testing.T, file *diag.File, sizes []int64) {
	t.Helper()
	cache := &cache.Cache{Dir: t.TempDir()} // code is the same for any number of threads
	day := sample.Today(t)
	called.files++
	for _, threads := range []int{1, 2} {
		m, err := engine.CompileFile(file,
			engine.Options{Threads: threads, SplitAll: true, System: silent{}, Cache: cache})
		if err != nil {
			t.Fatal(err)
		}
		for i, name := range m.Names() {
			if !sample.Has(day, called.files+i, 2) {
				continue
			}
			for _, n := range sizes {
				what := fmt.Sprintf("%s, %s of %d on %d threads", file.Name, name, n, threads)
				called.all++
				if err := call(m, name, n); errors.As(err, new(refused)) {
					called.refused++
					t.Logf("%s: %v", what, err)
				} else if err != nil {
					t.Errorf("%s: %v", what, err)
				}
			}
		}
		m.Close()
	}
}

// called counts files, calls of functions, and those that were refused: an index that is out of range, a shape
// parameter that follows from no argument.
var called struct{ files, all, refused int }

type refused struct{ error }

func TestMain(m *testing.M) {
	code := m.Run()
	if called.refused*8 > called.all {
		fmt.Fprintf(os.Stderr, "%d of %d functions refused their arguments, so that nothing is known of them\n",
			called.refused, called.all)
		code = 1
	}
	os.Exit(code)
}

// call compares the results of CallAll with those of CallInto and counts what later calls allocate.
func call(m *engine.Module, name string, n int64) error {
	f, err := m.Func(name)
	if err != nil {
		return err
	}
	bind := map[string]int64{}
	for i, d := range f.IR().Dims {
		bind[d] = n + int64(i)
	}
	var args, out []*tensor.Tensor
	defer func() {
		for _, x := range append(args, out...) {
			x.Close()
		}
	}()
	for _, p := range f.IR().Params() {
		if p.Type.Elem == types.String {
			return refused{errors.New("a string is no tensor")}
		}
		x, err := newArgument(p.Type, bind, p.Name)
		if err != nil {
			return refused{err}
		}
		args = append(args, x)
	}
	ctx := context.Background()
	want, err := f.CallAll(ctx, args...)
	if errors.As(err, new(*runtime.RuntimeError)) || errors.As(err, new(*heal.ArgumentError)) {
		return refused{err}
	}
	if err != nil {
		return err
	}
	updates := len(f.IR().Updates) > 0
	for _, w := range want {
		defer w.Close()
		if w.DType == types.String {
			return refused{errors.New("a string is no place for a result")}
		}
		o, err := tensor.New(w.DType, w.Shape...)
		if err != nil {
			return err
		}
		out = append(out, o)
	}
	var failed error
	again := func() {
		if err := f.CallInto(ctx, out, args...); err != nil {
			failed = err
		}
	}
	again()
	for i, w := range want {
		if !updates && !slices.Equal(w.Bits(), out[i].Bits()) {
			return fmt.Errorf("result %d differs from that of CallAll", i)
		}
	}
	km, err := m.Kernels(name, bind, nil)
	if err != nil {
		return err
	}
	if got := allocations(again); got != 0 && !mayAllocate(km.Plan) {
		return fmt.Errorf("%v allocations", got)
	}
	return failed
}

// allocations of a call. What is counted is the whole process, and Go allocates when it starts a thread of the system,
// as it does on a busy machine while another thread is in the system: what a call allocates is what every one of some
// tries did.
func allocations(call func()) float64 {
	fewest := testing.AllocsPerRun(3, call)
	for try := 0; try < 4 && fewest != 0; try++ {
		fewest = min(fewest, testing.AllocsPerRun(3, call))
	}
	return fewest
}

// mayAllocate reports whether a plan has steps that allocate.
func mayAllocate(p *abi.Program) bool {
	found := false
	for _, fn := range p.Funcs {
		walk(fn.Steps, func(s *abi.Step) { found = found || s.Host != nil && allocates[s.Host.Name] != "" })
	}
	return found
}

func walk(steps []abi.Step, f func(*abi.Step)) {
	for i := range steps {
		s := &steps[i]
		f(s)
		switch {
		case s.If != nil:
			walk(s.If.Then, f)
			walk(s.If.Else, f)
		case s.Loop != nil:
			walk(s.Loop.Body, f)
		}
	}
}

func newArgument(p types.Tensor, bind map[string]int64, name string) (*tensor.Tensor, error) {
	shape := make([]int64, len(p.Shape))
	size := int64(1)
	for i, d := range p.Shape {
		n, err := d.Eval(bind)
		if err != nil {
			return nil, err
		}
		shape[i] = n
		size *= n
	}
	bits := make([]uint64, size)
	for i := range bits {
		switch {
		case p.Elem == types.F32:
			bits[i] = uint64(math.Float32bits(float32(i%17)/7 + 0.25))
		case p.Elem == types.F64:
			bits[i] = math.Float64bits(float64(i%17)/7 + 0.25)
		case p.Elem.IsFloat():
			bits[i] = 0x3c00 + uint64(i%17)
		case name == "p":
			bits[i] = 7 // a prime, and a position in every axis
		default:
			bits[i] = uint64(i % 2)
		}
	}
	return tensor.FromBits(p.Elem, shape, bits)
}
