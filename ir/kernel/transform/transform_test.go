package transform_test

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/kernel/keval"
	"healc/ir/kernel/transform"
	"healc/ir/scalar"
	"healc/lang/diag"
	"healc/lang/types"
	"healc/runtime/abi"
)

var update = flag.Bool("update", false, "number in.kernels, and rewrite out.kernels where it is there")

// apart are functions of the package that are no rows of the table. What gives parts of a kernel is made a whole one,
// see apart_test.go.
var apart = map[string]func(k *kernel.Kernel){
	"collapse":        collapse,
	"indexsplit":      indexSplit,
	"unrolljam":       unrollJam,
	"dce":             func(k *kernel.Kernel) { transform.DeadCode(k.Body) },
	"hoistinvariants": hoistInvariants,
	"mergebodies":     mergeBodies,
	"specialise":      specialise,
	"stage":           stage,
	"stagerows":       stageRows,
	"takearm":         takeArm,
}

// runs gives the pass with a name.
func runs(name string) func(k *kernel.Kernel) {
	for _, p := range transform.Passes {
		if p.Name == name {
			return func(k *kernel.Kernel) { p.Run(k, transform.Options{}) }
		}
	}
	return apart[name]
}

// TestPasses runs the pass NAME over every archive testdata/NAME_CASE.txtar. The first line says what is proven,
// in.kernels is a kernel, and out.kernels the kernel after the pass. An archive without out.kernels has one that the
// pass leaves as it is. A line of `dims` gives the shape parameters values; for each, the kernel runs before and after
// the pass, and its outputs have to be the same; a section `not run` says why it does not. Every pass, and every
// function in apart, has an archive of either kind.
func TestPasses(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	happened, left := map[string]bool{}, map[string]bool{}
	for _, file := range files {
		base := strings.TrimSuffix(filepath.Base(file), ".txtar")
		pass, _, _ := strings.Cut(base, "_")
		t.Run(base, func(t *testing.T) {
			if golden(t, file, pass) {
				happened[pass] = true
			} else {
				left[pass] = true
			}
		})
	}
	names := slices.Collect(maps.Keys(apart))
	for _, p := range transform.Passes {
		names = append(names, p.Name)
	}
	for _, name := range names {
		if !happened[name] || !left[name] {
			t.Errorf("%s needs archives of a kernel that it changes (there is one: %v), and of one that it leaves (%v)",
				name, happened[name], left[name])
		}
	}
}

// golden runs one archive, and reports whether the pass has to change the kernel.
func golden(t *testing.T, file, name string) bool {
	pass := runs(name)
	if pass == nil {
		t.Fatalf("there is no pass %s", name)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	archive := txtar.Parse(data)
	section := func(name string) *txtar.File {
		i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == name })
		if i < 0 {
			return nil
		}
		return &archive.Files[i]
	}
	in := string(section("in.kernels").Data)
	before, after := parse(t, in), parse(t, in)
	if *update {
		in = before.String()
		section("in.kernels").Data = []byte(in)
	}
	if before.String() != in {
		t.Errorf("in.kernels is printed as\n%s", before)
	}
	for _, k := range after.Kernels {
		pass(k)
	}
	if err := kernel.Verify(after); err != nil {
		t.Fatal(err)
	}
	out := section("out.kernels")
	switch {
	case out == nil:
		if after.String() != in {
			t.Errorf("the kernel has changed:\n%s", after)
		}
	case *update:
		out.Data = []byte(after.String())
	case after.String() != string(out.Data):
		t.Errorf("out.kernels differs (go test -update rewrites it):\n%s", after)
	case after.String() == in:
		t.Error("the kernel has not changed")
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if section("not run") != nil {
		return out != nil
	}
	sizes := []string{""}
	if dims := section("dims"); dims != nil {
		sizes = strings.Split(strings.TrimSpace(string(dims.Data)), "\n")
	}
	for _, line := range sizes {
		dims := map[string]int64{}
		for _, d := range strings.Fields(line) {
			name, value, _ := strings.Cut(d, "=")
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			dims[name] = n
		}
		want, got := execute(t, before, before, dims), execute(t, before, after, dims)
		for name, w := range want {
			if g, there := got[name]; there && !slices.Equal(w, g) {
				t.Errorf("%s, with %q: %v before the pass, and %v after it", name, line, w, g)
			}
		}
		for name := range got {
			if _, there := want[name]; !there {
				t.Errorf("%s is an output after the pass alone", name)
			}
		}
	}
	return out != nil
}

func parse(t *testing.T, text string) *kernel.Module {
	m, errs := kernel.Parse(diag.NewFile("in.kernels", text))
	if errs.HasErrors() {
		t.Fatal(errs.Error())
	}
	if err := kernel.Verify(m); err != nil {
		t.Fatal(err)
	}
	return m
}

// execute runs the only kernel of m with random inputs, those of the kernel with its parameters in first, and gives
// the outputs by name.
func execute(t *testing.T, first, m *kernel.Module, dims map[string]int64) map[string][]uint64 {
	t.Helper()
	rng := rand.New(rand.NewSource(1))
	values := map[string]*ir.Array{}
	for _, p := range first.Kernels[0].Params {
		if !p.Out || p.InPlace {
			values[p.Name] = random(t, rng, p, dims)
		}
	}
	k := m.Kernels[0]
	f := &abi.Function{Name: "f"}
	l := &abi.Launch{Kernel: k.Name, Outer: abi.Extent{Dim: types.Lit(1)}}
	if len(k.Axes) > 0 {
		l.Outer = k.Axes[0].Extent
	}
	var args []*ir.Array
	var names []string
	for i, p := range k.Params[:k.Buffers()] {
		b := abi.Buffer{Kind: abi.Output, DType: p.DType, Shape: p.Shape}
		if a := values[p.Name]; a != nil {
			b.Kind = abi.Input
			f.Params, args = append(f.Params, i), append(args, a)
		}
		f.Buffers, l.Args = append(f.Buffers, b), append(l.Args, i)
		switch {
		case p.InPlace:
			f.Updates = append(f.Updates, i)
		case p.Out:
			f.Results = append(f.Results, rowMajor(t, i, p))
			names = append(names, p.Name)
		}
	}
	for _, i := range f.Updates { // behind the results
		names = append(names, k.Params[i].Name)
	}
	f.Steps = []abi.Step{{Launch: l}}
	run := *m
	run.Plan = &abi.Program{Funcs: []*abi.Function{f}}
	outs, err := keval.Run(&run, dims, args, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, m)
	}
	got := map[string][]uint64{}
	for i, a := range outs {
		got[names[i]] = a.Bits
	}
	return got
}

// rowMajor is the view of all of a buffer.
func rowMajor(t *testing.T, buffer int, p kernel.Param) abi.View {
	v := abi.View{Buffer: buffer, Strides: make([]types.Dim, len(p.Shape))}
	size := types.Lit(1)
	for i, e := range slices.Backward(p.Shape) {
		v.Strides[i] = size
		var err error
		if size, err = size.Mul(e.Dim); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range p.Shape {
		v.Shape = append(v.Shape, e.Dim)
	}
	return v
}

// random makes an array for a parameter: floats around 0, and small numbers.
func random(t *testing.T, rng *rand.Rand, p kernel.Param, dims map[string]int64) *ir.Array {
	a := &ir.Array{DType: p.DType, Shape: []int64{}}
	size := int64(1)
	for _, e := range p.Shape {
		n, err := e.Dim.Eval(dims)
		if err != nil {
			t.Fatal(err)
		}
		a.Shape = append(a.Shape, n)
		size *= n
	}
	for range size {
		switch p.DType {
		case types.F32:
			a.Bits = append(a.Bits, uint64(math.Float32bits(float32(rng.NormFloat64()))))
		case types.I64, types.U64, types.I32:
			a.Bits = append(a.Bits, scalar.IntBits(p.DType, rng.Int63n(1000)))
		default:
			t.Fatal(fmt.Errorf("no random %s", p.DType))
		}
	}
	return a
}

// TestTable: names are there once, and every row has what its readers look for.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	stage := transform.Build
	for _, p := range transform.Passes {
		if seen[p.Name] || p.Name == "" || p.Doc == "" || p.Why == "" || p.Run == nil {
			t.Errorf("the row %q is there twice, or lacks its doc or its reason", p.Name)
		}
		if p.Stage < stage {
			t.Errorf("%s stands behind passes of a later stage", p.Name)
		}
		seen[p.Name], stage = true, p.Stage
	}
}
