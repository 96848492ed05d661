package passes

import (
	"flag"
	"fmt"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"healc/ir"
	"healc/ir/interp"
	"healc/ir/scalar"
	"healc/lang/diag"
	"healc/lang/types"
	"healc/passes/fusion"
)

var update = flag.Bool("update", false, "rewrite the want/ sections of testdata")

func parse(t testing.TB, name, text string) *ir.Module {
	t.Helper()
	m, list := ir.Parse(diag.NewFile(name, text))
	if list.HasErrors() {
		t.Fatalf("%s", list.Error())
	}
	if err := ir.Verify(m); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestGolden runs every archive testdata/PASS/NAME.txtar: the first line says what is proven, `passes`
// (the folder's name if it is not there) is the pipeline, `in.ir` the input. The output and the remarks
// are compared with `want/out.ir` and, if it is there, `want/remarks`. `mirror` has the rows and the steps from which
// that pass halves a product: small ones are interpreted sooner. Then both modules are
// interpreted on the same random inputs, which must give the same bits, output and errors.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	var remarks string
	for _, file := range files {
		t.Run(strings.TrimSuffix(strings.TrimPrefix(file, "testdata/"), ".txtar"), func(t *testing.T) {
			remarks += golden(t, file)
		})
	}
	rulesOf(nil) // makes them
	for def, list := range rules {
		for _, r := range list {
			if !strings.Contains(remarks, ": "+r.name+"\n") {
				t.Errorf("no archive shows the rule %q, which %s has", r.name, def.Name)
			}
		}
	}
}

// golden checks one archive and returns all remarks.
func golden(t *testing.T, file string) string {
	ar, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if first, _, _ := strings.Cut(string(ar.Comment), "\n"); first == "" {
		t.Error("the first line says nothing")
	}
	sections := map[string]*txtar.File{}
	for i := range ar.Files {
		sections[ar.Files[i].Name] = &ar.Files[i]
	}
	names := filepath.Base(filepath.Dir(file))
	if p := sections["passes"]; p != nil {
		names = strings.TrimSpace(string(p.Data))
	}
	pipeline, err := ParsePipeline(names)
	if err != nil {
		t.Fatal(err)
	}
	if p := sections["mirror"]; p != nil {
		var rows, steps int
		if _, err := fmt.Sscan(string(p.Data), &rows, &steps); err != nil {
			t.Fatal(err)
		}
		pipeline[0].Run = func(m *ir.Module, remark Remark) error { return fusion.MirrorFrom(m, rows, steps, remark) }
	}
	in := parse(t, file, string(sections["in.ir"].Data))
	out := in.Clone()
	var remarks strings.Builder
	if err := Run(out, pipeline, Options{VerifyEach: true, Remarks: []string{"all"}, Out: &remarks}); err != nil {
		t.Fatal(err)
	}
	compare := func(section, got string) {
		s := sections[section]
		switch {
		case *update && s == nil:
			ar.Files = append(ar.Files, txtar.File{Name: section, Data: []byte(got)})
		case *update:
			s.Data = []byte(got)
		case s == nil:
			t.Errorf("no section %s; run with -update", section)
		case string(s.Data) != got:
			t.Errorf("%s is\n%s\nand was\n%s", section, got, s.Data)
		}
	}
	if sections["want/remarks"] != nil {
		compare("want/remarks", remarks.String())
	}
	compare("want/out.ir", out.String())
	if *update {
		if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	rng := rand.New(rand.NewSource(1))
	for _, f := range in.Funcs {
		if out.Func(f.Name) == nil {
			continue
		}
		for range 8 {
			dims := map[string]int64{}
			for _, d := range f.Dims {
				dims[d] = rng.Int63n(6) // 0 too
			}
			sameMeaning(t, rng, in, out, f.Name, dims)
		}
	}
	return remarks.String()
}

// sameMeaning interprets one function of both modules on the same random arguments.
func sameMeaning(t *testing.T, rng *rand.Rand, before, after *ir.Module, name string, dims map[string]int64) {
	t.Helper()
	f := before.Func(name)
	args := make([]*ir.Array, len(f.Params()))
	for i, p := range f.Params() {
		args[i] = randomArray(rng, p.Type, dims)
		if args[i] == nil {
			return // a negative extent: the program does not run with these dims
		}
	}
	run := func(m *ir.Module) string {
		sys := &interp.MemSystem{}
		out, err := interp.RunDims(m, name, dims, args, sys)
		if err != nil {
			return fmt.Sprintf("error: %v", err)
		}
		text := "printed: " + sys.Out.String()
		for _, a := range out {
			text += "\n" + canonicalNaNs(a).String()
		}
		return text
	}
	want, got := run(before), run(after)
	if want != got {
		t.Errorf("%s with %v of %v changes its meaning\nbefore: %s\nafter: %s", name, dims, args, want, got)
	}
}

// canonicalNaNs makes all NaNs one: which NaN a program gives is not specified.
func canonicalNaNs(a *ir.Array) *ir.Array {
	if !a.DType.IsFloat() {
		return a
	}
	b := ir.NewArray(a.DType, a.Shape...)
	for i, bits := range a.Bits {
		if math.IsNaN(scalar.FloatValue(a.DType, bits)) {
			bits = scalar.FloatBits(a.DType, math.NaN())
		}
		b.Bits[i] = bits
	}
	return b
}

// special floats come up as often as all others.
var specials = []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), 0.5, 1e-45, 3e38, -2.5}

func randomArray(rng *rand.Rand, t types.Tensor, dims map[string]int64) *ir.Array {
	shape := make([]int64, t.Rank())
	for i, d := range t.Shape {
		n, err := d.Eval(dims)
		if err != nil || n < 0 {
			return nil
		}
		shape[i] = n
	}
	a := ir.NewArray(t.Elem, shape...)
	for i := range a.Bits {
		switch {
		case t.Elem.IsFloat() && rng.Intn(2) == 0:
			a.Bits[i] = scalar.FloatBits(t.Elem, specials[rng.Intn(len(specials))])
		case t.Elem.IsFloat():
			a.Bits[i] = scalar.FloatBits(t.Elem, rng.NormFloat64()*10)
		case t.Elem == types.Bool || rng.Intn(2) == 0:
			a.Bits[i] = scalar.IntBits(t.Elem, rng.Int63n(2))
		default:
			a.Bits[i] = scalar.IntBits(t.Elem, int64(rng.Uint64()>>rng.Intn(64)))
		}
	}
	return a
}
