package random

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"healc/ir"
	"healc/ir/interp"
	"healc/lang/diag"
	"healc/lang/types"
	"healc/passes"
	"healc/tests/sample"
)

// longestPipeline is how many passes a drawn pipeline has at most.
const longestPipeline = 10

// TestPipelines runs passes in random orders on random programs, as `healc opt` may be told to: the result verifies,
// and the interpreter gives for it what it gave before.
func TestPipelines(t *testing.T) {
	n, parts, day := uint64(2400), sample.Part(5), sample.Today(t)
	if testing.Short() {
		n, parts = 150, 1
	}
	for seed := range n {
		if (int(seed)+day)%parts > 0 {
			continue
		}
		p := New(seed+9_000_000, map[string]int{})
		r := rand.New(rand.NewPCG(seed, 1))
		order := make([]byte, 1+r.IntN(longestPipeline))
		for i := range order {
			order[i] = byte(r.IntN(256))
		}
		reorder(t, p, order)
	}
}

// FuzzPipelines is TestPipelines for the program of a seed where text is empty, and else for text, with inputs of the
// seed: pass number order[i] of passes.All is the next one.
func FuzzPipelines(f *testing.F) {
	for i := range byte(30) {
		f.Add(uint64(i), []byte{i, 11, 5 * i, i + 1, 3 * i}, "")
	}
	files, err := filepath.Glob("../../passes/testdata/*/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds: ", err)
	}
	for i, name := range files {
		a, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for j, file := range a.Files {
			f.Add(uint64(i), []byte{byte(j), 5, 6, byte(i), 11, 5}, string(file.Data))
		}
	}
	f.Fuzz(func(t *testing.T, seed uint64, order []byte, text string) {
		if len(text) > 1<<13 {
			return
		}
		order = order[:min(len(order), longestPipeline)]
		if text == "" {
			reorder(t, New(seed, map[string]int{}), order)
		} else if p := programOf(text, seed); p != nil {
			reorder(t, p, order)
		}
	})
}

// programOf is the last function of a text with drawn inputs, nil where there is none that can be called.
func programOf(text string, seed uint64) *Program {
	m, list := ir.Parse(diag.NewFile("fuzz.ir", text))
	if list.HasErrors() || ir.Verify(m) != nil || len(m.Funcs) == 0 {
		return nil
	}
	return drawn(m, m.Funcs[len(m.Funcs)-1], seed)
}

// drawn is function f of m with extents and inputs of a seed, nil where they would be too large or are no numbers.
func drawn(m *ir.Module, f *ir.Func, seed uint64) *Program {
	r := rand.New(rand.NewPCG(seed, 2))
	p := &Program{Seed: seed, IR: m, Bind: map[string]int64{}}
	dims := map[string]types.Dim{}
	for _, name := range f.Dims {
		p.Bind[name] = int64(r.IntN(9))
		dims[name] = types.Lit(p.Bind[name])
	}
	for _, v := range f.Params() {
		shape, err := v.Type.Shape.Subst(dims)
		if err != nil || v.Type.Elem.Bytes() == 0 {
			return nil
		}
		extents, elems := []int64{}, int64(1)
		for _, d := range shape {
			n, ok := d.Const()
			if !ok || n < 0 || n > maxElems || elems*max(n, 1) > maxElems {
				return nil
			}
			extents, elems = append(extents, n), elems*max(n, 1)
		}
		p.Input = append(p.Input, Data(r, v.Type.Elem, extents))
	}
	return p
}

// reorder runs the passes of an order on a copy of p and compares what the two do.
func reorder(t *testing.T, p *Program, order []byte) {
	t.Helper()
	entry := p.IR.Funcs[len(p.IR.Funcs)-1].Name
	if p.IR.Func("f") != nil {
		entry = "f"
	}
	want, printed, err := bounded(p, p.IR, entry, 1)
	if err != nil || len(order) == 0 {
		return // it takes more than a test has
	}
	all := passes.All()
	var names []string
	for _, k := range order {
		names = append(names, all[int(k)%len(all)].Name)
	}
	pipeline, err := passes.ParsePipeline(strings.Join(names, ","))
	if err != nil {
		t.Fatal(err)
	}
	m, before := p.IR.Clone(), p.IR.String()
	describe := func() string {
		return fmt.Sprintf("seed %d: healc opt --passes=%s, with %v of\n%s", p.Seed, strings.Join(names, ","), p.Bind,
			before)
	}
	if err := passes.Run(m, pipeline, passes.Options{VerifyEach: true}); err != nil {
		var bug *passes.BugError
		if errors.As(err, &bug) {
			t.Fatalf("%s\n%v\n%s\nin\n%s", describe(), err, bug.Stack, bug.IR)
		}
		return // what is wrong with the program is said
	}
	got, after, err := bounded(p, m, entry, 20)
	if costly(err) {
		return
	}
	if err != nil {
		t.Fatalf("%s\n%v, but not before, of\n%s", describe(), err, m)
	}
	if d := Diff(want, got); d != "" {
		t.Fatalf("%s\n%s, after\n%s", describe(), d, m)
	}
	if printed != after {
		t.Fatalf("%s\nprinted %q, and now %q, of\n%s", describe(), printed, after, m)
	}
}

var errTooLong = errors.New("it takes too long")

// costly reports whether an error of bounded says that the program is too much for a test, and nothing else: a fused
// program may take many times the steps that it took before, since the interpreter computes its elements one by one.
func costly(err error) bool {
	var steps *interp.StepsError
	return errors.Is(err, errTooLong) || errors.As(err, &steps)
}

// bounded is what the entry of m does, a form of p, and what it prints. The error is that it takes more than so many
// times what a test has; one of the program is part of the outcome.
func bounded(p *Program, m *ir.Module, entry string, times int64) (*Outcome, string, error) {
	start, system := time.Now(), &interp.MemSystem{}
	bounds := interp.Bounds{MaxSteps: times * 100_000, MaxBytes: times * 16 << 20, Ended: func() error {
		if time.Since(start) > time.Duration(times)*time.Second {
			return errTooLong
		}
		return nil
	}}
	out, err := interp.RunWithin(bounds, m, entry, p.Bind, p.Input, system)
	var failed *interp.RuntimeError
	switch {
	case err == nil:
		return &Outcome{Results: out}, system.Out.String(), nil
	case errors.As(err, &failed):
		return &Outcome{Failed: err.Error()}, system.Out.String(), nil
	}
	return nil, "", err
}
