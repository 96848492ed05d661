package passes_test

import (
	"fmt"
	"slices"
	"testing"

	"healc/lang/check"
	"healc/lang/diag"
	"healc/lang/irgen"
	"healc/lang/parser"
	"healc/passes"
)

// TestRecomputations: what a second kernel computes from the same values, whichever kernels these are read through, and
// nothing that only looks like it.
func TestRecomputations(t *testing.T) {
	for _, c := range []struct {
		source string
		want   []string // the operation, and how many kernels have it
	}{
		// The relu is computed by both products, as they pack it.
		{"fn f(x: f32[256, 512], w: f32[512, 512], v: f32[512, 512]) -> (f32[256, 512], f32[256, 512]) = (relu(x) @ " +
			"w, relu(x) @ v)", []string{"relu 2"}},
		// Different operands, one operation.
		{"fn f(x: f32[256, 512], y: f32[256, 512], w: f32[512, 512]) -> (f32[256, 512], f32[256, 512]) = (relu(x) @ " +
			"w, relu(y) @ w)", nil},
		// The second relu is of what the first product gives.
		{"fn f(x: f32[256, 512], w: f32[512, 512]) -> f32[256, 512] = relu(relu(x) @ w) @ w", nil},
		// A checkpoint sorts once more for the gradient, instead of keeping what was sorted.
		{"fn f(x: f32[1000, 10]) -> (f32, f32[1000, 10]) = value_and_grad(|x| mean(checkpoint(|x| " +
			"sin(sort(exp(x))))(x)))(x)", []string{"exp 4", "sort 2"}},
	} {
		tree, list := parser.Parse(diag.NewFile("f.heal", c.source))
		if err := list.Err(); err != nil {
			t.Fatal(err)
		}
		prog, list := check.Check(tree)
		if err := list.Err(); err != nil {
			t.Fatal(err)
		}
		m := irgen.Generate(prog)
		if err := passes.Run(m, passes.Standard("f", nil), passes.Options{}); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range passes.Recomputations(m, m.Func("f")) {
			got = append(got, fmt.Sprint(a.Op.Def.Name, " ", len(a.In)))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: computed again: %q, want %q\n%s", c.source, got, c.want, m)
		}
	}
}
