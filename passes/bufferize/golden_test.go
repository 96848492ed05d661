package bufferize_test

import (
	"flag"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/ops"
	"healc/lang/diag"
	"healc/passes/bufferize"
	"healc/passes/fusion"
)

var update = flag.Bool("update", false, "rewrite want/remarks and want/kernels")

// TestGolden fuses and lowers every archive testdata/NAME.txtar. The first line says what is proven,
// want/count the number of kernels (never rewritten), want/remarks what fusion said, want/kernels the
// outcome. Small programs also run, against the interpreter.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { golden(t, file) })
	}
}

func golden(t *testing.T, file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	archive := txtar.Parse(data)
	section := func(name string) string {
		for _, f := range archive.Files {
			if f.Name == name {
				return string(f.Data)
			}
		}
		return ""
	}
	m, errs := ir.Parse(diag.NewFile("in.ir", section("in.ir")))
	if errs.HasErrors() {
		t.Fatal(errs.Error())
	}
	entry := m.Funcs[0].Name
	plain := m.Clone()
	var remarks strings.Builder
	if err := fusion.Fuse(m, func(format string, args ...any) {
		fmt.Fprintf(&remarks, format+"\n", args...)
	}); err != nil {
		t.Fatal(err)
	}
	if err := ir.Verify(m); err != nil {
		t.Fatal(err)
	}
	k, err := bufferize.Lower(m, entry, bufferize.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := kernel.Verify(k); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("kernels %d\n", len(k.Kernels)); got != section("want/count") {
		t.Errorf("%swant %s%s", got, section("want/count"), m)
	}
	for name, got := range map[string]string{"want/remarks": remarks.String(), "want/kernels": k.String()} {
		switch {
		case *update:
			set(archive, name, got)
		case got != section(name):
			t.Errorf("%s differs (go test -update shows how):\n%s", name, got)
		}
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	plain.Funcs[0].Name = "f"
	ir.Walk(plain.Funcs[0].Body, func(op *ir.Op) {
		if op.Def == ops.Call {
			op.Attrs[0] = "f"
		}
	})
	args, dims := arguments(rand.New(rand.NewSource(1)), plain.Funcs[0])
	if args == nil {
		return // too large for the evaluator; TestSplitReductions has such sizes
	}
	if wrong, _ := compare(plain, args, dims, fused, nil); wrong != nil {
		t.Error(wrong)
	}
}

func set(a *txtar.Archive, name, data string) {
	for i := range a.Files {
		if a.Files[i].Name == name {
			a.Files[i].Data = []byte(data)
			return
		}
	}
	a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(data)})
}

// arguments makes random arguments for f, and nil when they are large.
func arguments(rng *rand.Rand, f *ir.Func) ([]*ir.Array, map[string]int64) {
	g := &generator{Rand: rng, dims: map[string]int64{}, f: &ir.Func{Body: &ir.Block{}}}
	for i, d := range f.Dims {
		g.dims[d] = int64(3 + i)
	}
	for _, p := range f.Params() {
		n, err := p.Type.Shape.Elems()
		if err != nil || g.value(n) > 10000 {
			return nil, nil
		}
		g.param(p.Type)
	}
	return g.args, g.dims
}
