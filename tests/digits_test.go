package tests

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"healc"
	"healc/lang/diag"
	"healc/runtime"
	"healc/runtime/tensor"
	"healc/runtime/tensorfile"
)

// digitsSystem reads the example's data from a folder and keeps what is printed.
type digitsSystem struct {
	runtime.OS
	dir string
	out *strings.Builder
}

func (s digitsSystem) Print(text string) error { s.out.WriteString(text); return nil }

func (s digitsSystem) LoadNpy(path string) (*tensor.Tensor, error) {
	return tensorfile.ReadNpyFile(filepath.Join(s.dir, filepath.Base(path)))
}

// TestDigitsSameBits runs the main example on the interpreter, on the CPU with one, two and three threads,
// and from Fortran-ordered copies of its inputs. Floats are printed in the shortest form that reads back,
// so equal text is equal bits.
func TestDigitsSameBits(t *testing.T) {
	const folder = "../examples/data/digits"
	src, err := os.ReadFile("../examples/digits.heal")
	if err != nil {
		t.Fatal(err)
	}
	fortran := t.TempDir()
	for _, name := range []string{"images.npy", "labels.npy"} {
		x, err := tensorfile.ReadNpyFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		// The transpose of a row-major copy of the transpose has the same elements in Fortran order.
		flipped, _ := x.Transpose()
		dense, err := flipped.Clone()
		if err != nil {
			t.Fatal(err)
		}
		y, _ := dense.Transpose()
		if err := tensorfile.WriteNpyFile(filepath.Join(fortran, name), y); err != nil {
			t.Fatal(err)
		}
		for _, z := range []*tensor.Tensor{x, flipped, dense, y} {
			z.Close()
		}
	}
	raw, err := os.ReadFile(filepath.Join(fortran, "images.npy"))
	if err != nil || !strings.Contains(string(raw[:128]), "'fortran_order': True") {
		t.Fatalf("the copy is not in Fortran order: %q, %v", raw[:min(128, len(raw))], err)
	}
	run := func(dir string, opts heal.Options) string {
		out := &strings.Builder{}
		opts.System = digitsSystem{dir: dir, out: out}
		m, err := heal.CompileFile(diag.NewFile("digits.heal", string(src)), opts)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		f, err := m.Func("main")
		if err != nil {
			t.Fatal(err)
		}
		code, err := f.Call(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		code.Close()
		return out.String()
	}
	want := run(folder, heal.Options{Backend: heal.Interp})
	if !strings.HasPrefix(want, "accuracy 0.9048414\nconfusion matrix\n[[177 ") {
		t.Errorf("the interpreter prints\n%s", want)
	}
	cache := &heal.Cache{Dir: t.TempDir()} // code is the same for any number of threads
	for threads := 1; threads <= 3; threads++ {
		for _, dir := range []string{folder, fortran} {
			if got := run(dir, heal.Options{Threads: threads, Cache: cache}); got != want {
				t.Errorf("%d threads, %s: prints\n%s\nthe interpreter prints\n%s", threads, dir, got, want)
			}
		}
	}
}
