package tests

import (
	"context"
	"os"
	"strings"
	"testing"

	"healc"
	"healc/lang/diag"
	"healc/tests/sample"
)

// runExample is what a program of examples/rlwe prints.
func runExample(t *testing.T, name string, opts heal.Options) string {
	t.Helper()
	path := "../examples/rlwe/" + name
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := &strings.Builder{}
	opts.System = digitsSystem{dir: "../examples/data/digits", out: out}
	opts.Cache = heal.DefaultCache()
	m, err := heal.CompileFile(diag.NewFile(path, string(src)), opts)
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

// TestRLWE: what was encrypted, added and multiplied comes out of the decryption, at n = 4096 with one prime of 60 bits
// and with three of 50 bits. The interpreter, which takes half a minute, has its turn every sixth day.
func TestRLWE(t *testing.T) {
	const want = "one prime of 60 bits: (0, 0, 0)\nthree primes of 50 bits: (0, 0, 0)\n"
	backends := []heal.Options{{Backend: heal.CPU, Threads: 1}, {Backend: heal.CPU, Threads: 3}}
	if !testing.Short() && sample.Has(sample.Today(t), 4, 6) {
		backends = append(backends, heal.Options{Backend: heal.Interp})
	}
	for _, opts := range backends {
		if got := runExample(t, "demo.heal", opts); got != want {
			t.Errorf("%s with %d threads prints\n%swant\n%s", opts.Backend, opts.Threads, got, want)
		}
	}
}

// TestRLWEDigits: a classifier gives the same labels on ciphertexts as in the clear. That the accuracy is that of
// real digits shows that the labels are no constant.
func TestRLWEDigits(t *testing.T) {
	const want = "accuracy in the clear 0.90317196\naccuracy on ciphertexts 0.90317196\nlabels that differ 0\n"
	for _, threads := range []int{1, 2} {
		if got := runExample(t, "digits.heal", heal.Options{Backend: heal.CPU, Threads: threads}); got != want {
			t.Errorf("%d threads print\n%swant\n%s", threads, got, want)
		}
	}
}
