package llvm

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"healc/codegen"
	"healc/codegen/llvm/libllvm"
	"healc/ir/kernel"
	"healc/lang/diag"
)

// TestPlaces: that code has places changes no instruction of it, and the places are those of the kernel's operations.
func TestPlaces(t *testing.T) {
	if _, err := libllvm.Open(); err != nil {
		t.Skip(err)
	}
	files, err := filepath.Glob("../schedule/testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for i, file := range files {
		if i%12 != 0 { // the kinds of schedules are TestText's
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		km, errs := kernel.Parse(diag.NewFile(file, string(txtar.Parse(data).Files[0].Data)))
		if errs.Err() != nil {
			t.Fatal(errs)
		}
		code := func(p *kernel.Places) string {
			out, err := CompileWith(km, codegen.Target{Triple: "x86_64-linux-gnu", CPU: "x86-64-v3"}, libllvm.Assembly,
				Options{Places: p})
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			return string(out)
		}
		want, _ := instructions(code(nil))
		source := diag.NewFile("source", strings.Repeat("x", 1<<16))
		for _, k := range km.Kernels {
			for r := range k.Types {
				k.Source = append(k.Source, diag.Span{File: source, Start: r, End: r + 1})
			}
		}
		var places kernel.Places
		got, numbers := instructions(code(&places))
		if got != want {
			t.Errorf("%s: the code with places differs:\n%s\nwithout:\n%s", file, got, want)
		}
		known := 0
		for _, n := range numbers {
			if at := places.At(n); at.Valid() && at.File == source {
				known++
			}
		}
		if known == 0 {
			t.Errorf("%s: no code has a place", file)
		}
	}
}

// instructions are those of an assembly, and the lines that it has. Labels have other numbers.
func instructions(asm string) (string, []int) {
	var out strings.Builder
	var lines []int
	for l := range strings.Lines(asm) {
		words := strings.Fields(l)
		switch {
		case len(words) > 2 && words[0] == ".loc":
			n, _ := strconv.Atoi(words[2])
			lines = append(lines, n)
		case len(words) > 0 && strings.HasPrefix(l, "\t") && words[0][0] != '.':
			out.WriteString(words[0] + " " + strings.Join(words[1:], " ") + "\n")
		}
	}
	return out.String(), lines
}
