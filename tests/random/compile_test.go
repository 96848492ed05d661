package random

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"healc/cmd/healc/driver"
	"healc/codegen/gpu"
	"healc/codegen/llvm"
	"healc/internal/modules"
	"healc/internal/pipeline"
	"healc/ir/kernel"
	"healc/lang/diag"
	"healc/passes"
	"healc/tests/sample"
)

// FuzzCompile takes sources through every stage before libLLVM: none finds a bug of the compiler, and what the passes
// make of each function does what the function did, on drawn inputs.
func FuzzCompile(f *testing.F) {
	const most = 3000 // bytes; size is the subject of other tests
	n, day, fuzzing := 0, sample.Today(f), flag.Lookup("test.fuzz").Value.String() != ""
	for _, pattern := range []string{"../programs/*.heal", "../lang/*/*.txtar", "../run/*.txtar"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatalf("no seeds %s: %v", pattern, err)
		}
		for i, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			sources := txtar.Parse(text).Files
			if len(sources) == 0 {
				sources = []txtar.File{{Data: text}}
			}
			for _, s := range sources {
				n++
				if len(s.Data) < most && filepath.Ext(s.Name) != ".py" && (fuzzing || sample.Has(day, n, 10)) {
					f.Add(uint64(i), string(s.Data))
				}
			}
		}
	}
	alone := &modules.Importer{Read: func(string) ([]byte, error) { return nil, fs.ErrNotExist }}
	f.Fuzz(func(t *testing.T, seed uint64, text string) {
		if len(text) > most {
			return
		}
		file := diag.NewFile("fuzz.heal", text)
		ok := func(err error) bool {
			if o := driver.Classify(err, file); o.Bug != nil {
				t.Fatalf("%s\n%s\n%s\nof\n%s", o.Bug.Cause, o.Bug.Stack, o.Bug.IR, text)
			}
			return err == nil
		}
		src, err := pipeline.Read(file, pipeline.ReadOptions{Imports: alone, Tests: true})
		if !ok(err) {
			return
		}
		m := pipeline.New(src, pipeline.Options{Debug: pipeline.Debug{Passes: &passes.Options{VerifyEach: true}}})
		for _, f := range m.IR().Funcs {
			p := drawn(m.IR(), f, seed)
			if p == nil {
				continue
			}
			if want, printed, err := bounded(p, m.IR(), f.Name, 1); err == nil {
				fused, err := m.Fused(f.Name, p.Bind)
				if !ok(err) {
					continue
				}
				got, after, err := bounded(p, fused, f.Name, 20)
				if err != nil {
					t.Fatalf("%s: %v, but not before\n%s\n%s", f.Name, err, text, fused)
				}
				if d := Diff(want, got); d != "" || printed != after {
					t.Fatalf("%s with %v: %s; printed %q, and now %q\n%s\n%s", f.Name, p.Bind, d, printed, after, text,
						fused)
				}
			}
			for _, bind := range []map[string]int64{p.Bind, nil} {
				km, err := m.Kernels(f.Name, bind, nil)
				if !ok(err) {
					continue
				}
				if err := kernel.Verify(km); err != nil {
					t.Fatalf("%s: %v\n%s\n%s", f.Name, err, text, km)
				}
				_, err = llvm.Generate(km, llvm.Options{})
				ok(err)
				_, _, err = gpu.Generate(km, "sm_80", false)
				ok(err)
			}
		}
	})
}
