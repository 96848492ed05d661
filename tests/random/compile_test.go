package random

import (
	"flag"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"healc/cmd/healc/driver"
	"healc/codegen/gpu"
	"healc/codegen/llvm"
	"healc/internal/modules"
	"healc/internal/pipeline"
	"healc/ir"
	"healc/ir/kernel"
	"healc/lang/diag"
	"healc/lang/lexer"
	"healc/passes"
	"healc/tests/sample"
)

// mostText is how many bytes a source has at most: size is the subject of other tests.
const mostText = 3000

// corpus is the sources of the other suites.
func corpus(t testing.TB) []string {
	t.Helper()
	var out []string
	for _, pattern := range []string{"../programs/*.heal", "../lang/*/*.txtar", "../run/*.txtar"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no sources %s: %v", pattern, err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			parts := txtar.Parse(text).Files
			if len(parts) == 0 {
				parts = []txtar.File{{Data: text}}
			}
			for _, s := range parts {
				if len(s.Data) < mostText && filepath.Ext(s.Name) != ".py" {
					out = append(out, string(s.Data))
				}
			}
		}
	}
	return out
}

// TestMutants compiles sources of the other suites with some of their words replaced by others of the same kind. Half
// of them are still programs.
func TestMutants(t *testing.T) {
	sources, day, n := corpus(t), sample.Today(t), 150
	if sample.All() {
		n = 20_000
	}
	compiled := 0
	for i := range n {
		seed := uint64(day*n + i)
		r := rand.New(rand.NewPCG(seed, 3))
		text := sources[r.IntN(len(sources))]
		for !isProgram(text) {
			text = sources[r.IntN(len(sources))]
		}
		if through(t, mutant(r, text), seed) {
			compiled++
		}
	}
	t.Logf("%d of %d were programs", compiled, n)
	if compiled < n/10 {
		t.Errorf("only %d of %d were programs", compiled, n)
	}
}

// isProgram reports whether a source compiles without any file beside it.
func isProgram(text string) bool {
	_, err := pipeline.Check(diag.NewFile("x.heal", text))
	return err == nil && !strings.Contains(text, "import")
}

// mutant is a source with one to three words replaced, doubled or left out.
func mutant(r *rand.Rand, text string) string {
	for range 1 + r.IntN(3) {
		tokens, _, _ := lexer.Tokens(diag.NewFile("x.heal", text))
		if len(tokens) < 3 {
			return text
		}
		at := tokens[r.IntN(len(tokens)-1)]
		old, other := text[at.Start:at.End], ""
		var same []string
		for _, k := range tokens {
			if k.Kind == at.Kind {
				same = append(same, text[k.Start:k.End])
			}
		}
		for _, words := range [][]string{
			{"bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"},
			{"+", "-", "*", "/", "%", ".+", ".-", ".*", "./", ".%", "@"},
			{"<", "<=", "==", "!=", ">=", ".<", ".==", "&&", "||"},
			{"0", "1", "2", "3", "7", "8", "9", "16", "70", "128", "2147483647", "9223372036854775807"},
			{"0.0", "1.0", "0.5", "1e30", "1e-40", "65504.0", "16777217.0"},
			{"sum", "max", "min", "mean", "prod", "any", "all", "argmax", "argmin", "sort", "argsort", "cumsum"},
			{"map", "fold", "scan", "tabulate", "iterate"},
			{"exp", "log", "sin", "sqrt", "abs", "sign", "floor", "relu", "tanh", "reverse", "transpose"},
		} {
			if slices.Contains(words, old) && r.IntN(4) > 0 {
				same = words
			}
		}
		if at.Kind == lexer.Op && len(same) > 12 {
			continue // of brackets and their like, most are in the right place
		}
		switch r.IntN(20) {
		case 0:
			other = "" // left out
		case 1:
			other = old + " " + old
		default:
			other = same[r.IntN(len(same))]
		}
		text = text[:at.Start] + other + text[at.End:]
	}
	return text
}

// FuzzCompile is TestMutants for any text.
func FuzzCompile(f *testing.F) {
	day, fuzzing := sample.Today(f), flag.Lookup("test.fuzz").Value.String() != ""
	for i, text := range corpus(f) {
		if fuzzing || sample.Has(day, i, 20) {
			f.Add(uint64(i), text)
		}
	}
	f.Fuzz(func(t *testing.T, seed uint64, text string) {
		if len(text) <= mostText {
			through(t, text, seed)
		}
	})
}

// through takes a source through every stage before libLLVM, and reports whether it is a program: none finds a bug of
// the compiler, and what the passes make of each function does what the function did, on inputs of the seed.
func through(t *testing.T, text string, seed uint64) bool {
	t.Helper()
	file := diag.NewFile("fuzz.heal", text)
	// try reports whether f, which is a stage, ends without an error; a bug ends the test.
	try := func(f func() error) bool {
		err := driver.Guard(f)
		if o := driver.Classify(err, file); o.Bug != nil {
			t.Fatalf("seed %d: %s\n%s\n%s\nof\n%s", seed, o.Bug.Cause, o.Bug.Stack, o.Bug.IR, text)
		}
		return err == nil
	}
	alone := &modules.Importer{Read: func(string) ([]byte, error) { return nil, fs.ErrNotExist }}
	var src *pipeline.Source
	if !try(func() (err error) {
		src, err = pipeline.Read(file, pipeline.ReadOptions{Imports: alone, Tests: true})
		return err
	}) {
		return false
	}
	m := pipeline.New(src, pipeline.Options{Debug: pipeline.Debug{Passes: &passes.Options{VerifyEach: true}}})
	for _, f := range m.IR().Funcs {
		p := drawn(m.IR(), f, seed)
		if p == nil {
			continue
		}
		if want, printed, err := bounded(p, m.IR(), f.Name, 1); err == nil {
			var fused *ir.Module
			if !try(func() (err error) {
				fused, err = m.Fused(f.Name, p.Bind)
				return err
			}) {
				continue
			}
			got, after, err := bounded(p, fused, f.Name, 20)
			if costly(err) {
				continue
			}
			if err != nil {
				t.Fatalf("seed %d: %s: %v, but not before\n%s\n%s", seed, f.Name, err, text, fused)
			}
			if d := Diff(want, got); d != "" || printed != after {
				t.Fatalf("seed %d: %s with %v: %s; printed %q, and now %q\n%s\n%s", seed, f.Name, p.Bind, d, printed,
					after, text, fused)
			}
		}
		for _, bind := range []map[string]int64{p.Bind, nil} {
			var km *kernel.Module
			if !try(func() (err error) {
				km, err = m.Kernels(f.Name, bind, nil)
				return err
			}) {
				continue
			}
			if err := kernel.Verify(km); err != nil {
				t.Fatalf("seed %d: %s: %v\n%s\n%s", seed, f.Name, err, text, km)
			}
			try(func() error {
				_, err := llvm.Generate(km, llvm.Options{})
				return err
			})
			try(func() error {
				_, _, err := gpu.Generate(km, "sm_80", false)
				return err
			})
		}
	}
	return true
}
