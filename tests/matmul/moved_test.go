package matmul

import (
	"testing"

	"healc/codegen"
	"healc/codegen/llvm"
	"healc/codegen/target/profile"
	"healc/internal/engine"
	"healc/ir/kernel/transform"
	"healc/runtime/abi"
)

// TestMoved: a product that changes a part of a matrix in place, in steps between which one thread works at the edges
// of that part, is shared out where that takes less time than what moves between threads. A matrix that other products
// of the loop share out stays where it is.
func TestMoved(t *testing.T) {
	for _, c := range []struct {
		what, call, n string
		shared        int
	}{
		{"lu", "let (m, _, _) = linalg.lu(a); m", "500", 0},
		{"lu", "let (m, _, _) = linalg.lu(a); m", "2000", 1},
		{"solutions for all columns", "linalg.solve_lower(a, a)", "100", 0},
		{"solutions for all columns", "linalg.solve_lower(a, a)", "500", 1},
		{"reflections", "let (q, _) = linalg.qr(a); q", "500", 2},
	} {
		matrix := "f64[" + c.n + ", " + c.n + "]"
		src := "import linalg\nfn f(a: " + matrix + ") -> " + matrix + " = { " + c.call + " }"
		m, err := engine.Compile(src, engine.Options{Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		km, err := m.Kernels("f", nil, nil)
		m.Close()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := llvm.Prepare(km, codegen.Target{CPU: "x86-64-v4"}, llvm.Options{}); err != nil {
			t.Fatal(err)
		}
		shared := 0
		transform.Launches(km.Plan, func(l *abi.Launch) {
			if l.Moved > 0 && l.Tasks >= 2*l.Grain(&profile.Base().Threads) {
				shared++
			}
		})
		if shared != c.shared {
			t.Errorf("%s of %s rows: %d products are shared out, not %d", c.what, c.n, shared, c.shared)
		}
	}
}
