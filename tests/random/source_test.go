package random

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"healc"
	"healc/runtime"
)

// TestSources runs random functions that assign, match and return, on both backends, and compares them with the
// execution of their statements.
func TestSources(t *testing.T) {
	n, compiled := 400, 40
	if testing.Short() {
		n, compiled = 100, 8
	}
	var text strings.Builder
	sources := make([]*Source, n)
	for i := range sources {
		sources[i] = NewSource(fmt.Sprintf("f%d", i), uint64(i))
		text.WriteString(sources[i].Text)
	}
	for _, b := range []struct {
		name  string
		count int
	}{{heal.Interp, n}, {heal.CPU, compiled}} {
		m, err := heal.Compile(text.String(), heal.Options{Backend: b.name, Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range sources[:b.count] {
			f, err := m.Func(fmt.Sprintf("f%d", i))
			if err != nil {
				t.Fatal(err)
			}
			for _, in := range [][2]int32{{0, 0}, {1, -1}, {3, 2}, {-5, 7}, {100, 4}} {
				p, q := runtime.Scalar(in[0]), runtime.Scalar(in[1])
				out, err := f.Call(context.Background(), p, q)
				if err != nil {
					t.Fatalf("%s: f%d(%v): %v\n%s", b.name, i, in, err, s.Text)
				}
				if got, want := int32(out.Bits()[0]), s.Eval(in[0], in[1]); got != want {
					t.Fatalf("%s: f%d(%v) = %d, want %d\n%s", b.name, i, in, got, want, s.Text)
				}
				for _, x := range []*runtime.Tensor{p, q, out} {
					x.Close()
				}
			}
		}
		m.Close()
	}
}
