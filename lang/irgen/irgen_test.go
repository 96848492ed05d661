package irgen_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"healc/ir"
	"healc/lang/check"
	"healc/lang/diag"
	"healc/lang/irgen"
	"healc/lang/parser"
)

var update = flag.Bool("update", false, "rewrite the want/ sections of testdata")

func generate(t testing.TB, name, text string) *ir.Module {
	t.Helper()
	file, list := parser.Parse(diag.NewFile(name, text))
	if list.HasErrors() {
		t.Fatal(list.Error())
	}
	prog, list := check.Check(file)
	if list.HasErrors() {
		t.Fatal(list.Error())
	}
	m := irgen.Generate(prog)
	if err := ir.Verify(m); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestGolden compares the module of `in.heal` with `want/out.ir`, which shows positions.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		if err := ir.Print(&got, generate(t, "in.heal", string(ar.Files[0].Data)), ir.PrintOptions{Loc: true}); err !=
			nil {
			t.Fatal(err)
		}
		if *update {
			ar.Files = append(ar.Files[:1], txtar.File{Name: "want/out.ir", Data: []byte(got.String())})
			if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if len(ar.Files) < 2 || string(ar.Files[1].Data) != got.String() {
			t.Errorf("%s gives\n%s", file, &got)
		}
	}
}

// A block of many statements takes time in proportion to its length.
func TestLongBlock(t *testing.T) {
	var b strings.Builder
	b.WriteString("fn f(x0: f32) -> f32 = {\n")
	const n = 10_000
	for i := range n {
		fmt.Fprintf(&b, "  let x%d = x%d + 1.0;\n", i+1, i)
	}
	fmt.Fprintf(&b, "  x%d\n}\n", n)
	file, list := parser.Parse(diag.NewFile("long.heal", b.String()))
	if list.HasErrors() {
		t.Fatal(list.Error())
	}
	prog, list := check.Check(file)
	if list.HasErrors() {
		t.Fatal(list.Error())
	}
	start := time.Now()
	m := irgen.Generate(prog)
	if took := time.Since(start); took > time.Second {
		t.Errorf("generation took %v", took)
	}
	if got := len(m.Func("f").Body.Ops); got != 2*n {
		t.Errorf("%d operations", got)
	}
}
