package engine

import (
	"strings"
	"testing"
)

// TestEqualKernelsShareCode: a chain of products launches two kernels, that of its first product and that of all
// others, when it is compiled for its shape and in a library.
func TestEqualKernelsShareCode(t *testing.T) {
	m, err := Compile("fn f(x: i32[5, 5]) -> i32[5, 5] = x"+strings.Repeat(" @ x", 30)+"\n", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	km, err := m.Kernels("f", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	art, err := m.Artifact(km)
	if err != nil {
		t.Fatal(err)
	}
	launched := map[string]bool{}
	for _, s := range art.Plan.Funcs[0].Steps {
		if s.Launch != nil {
			launched[s.Launch.Kernel] = true
		}
	}
	if len(km.Kernels) < 10 || len(launched) != 2 {
		t.Errorf("%d kernels, of which %d are launched: %v", len(km.Kernels), len(launched), launched)
	}
	l, err := m.Library("p", []string{"f"}, func(string) map[string]int64 { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if n := len(l.Entries[0].Packed.Kernels); n != 2 {
		t.Errorf("a library has %d kernels", n)
	}
}
