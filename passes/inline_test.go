package passes

import (
	"fmt"
	"strings"
	"testing"
)

// TestInlineLongChain: f1 calls f2, which calls f3, and so on. Twice the length takes twice the work, counted in
// allocations.
func TestInlineLongChain(t *testing.T) {
	const n = 100
	chain := func(n int) string {
		var b strings.Builder
		b.WriteString("module \"chain\"\n\n")
		for i := range n {
			fmt.Fprintf(&b, "func @f%d[N](%%x: f32[N]) -> f32[N] {\n  %%0: f32[N] = exp %%x\n", i)
			if i == n-1 {
				b.WriteString("  return %0\n}\n\n")
				continue
			}
			fmt.Fprintf(&b,
				"  %%1: f32[N] = call %%0 {callee = \"f%d\", dims = [N], results = [f32[N]]}\n"+
					"  %%2: f32[N] = log %%1\n  return %%2\n}\n\n", i+1)
		}
		return strings.TrimSuffix(b.String(), "\n")
	}
	allocations := func(n int) float64 {
		text := chain(n)
		run := func(inline bool) float64 {
			return testing.AllocsPerRun(1, func() {
				m := parse(t, "chain.ir", text)
				if !inline {
					return
				}
				if err := Inline(m, "f0", func(string, ...any) {}); err != nil {
					t.Fatal(err)
				}
				if ops := len(m.Funcs[0].Body.Ops); len(m.Funcs) != 1 || ops != 2*n-1 {
					t.Fatalf("%d functions, of which the first has %d operations", len(m.Funcs), ops)
				}
			})
		}
		return run(true) - run(false)
	}
	if one, four := allocations(n), allocations(4*n); four > 6*one {
		t.Errorf("%v allocations for %d functions, %v for %d", one, n, four, 4*n)
	}
}
