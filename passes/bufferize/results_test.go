package bufferize_test

import (
	"testing"

	"healc/ir"
	"healc/lang/diag"
	"healc/passes/bufferize"
)

// TestReshapedResults: what a result is a reshape of is computed where the result is to be, by rows that are axes of
// its kernel, and nothing is copied.
func TestReshapedResults(t *testing.T) {
	for name, c := range map[string]struct{ params, results, body string }{
		"sums": {"%x: f32[6, 5]", "f32[2, 3]", `
  %0: f32[6] = reduce_sum %x {axes = [1]}
  %1: f32[2, 3] = reshape %0 {shape = [2, 3]}
  return %1`},
		"twice": {"%x: f32[6, 5]", "(f32[2, 3], f32[6], f32[3, 2])", `
  %0: f32[6] = reduce_sum %x {axes = [1]}
  %1: f32[2, 3] = reshape %0 {shape = [2, 3]}
  %2: f32[3, 2] = reshape %1 {shape = [3, 2]}
  return %1, %0, %2`},
		"inverse": {"%x: i64[3, 64], %p: i64[1], %w: i64[1, 64], %s: i64[1]", "i64[3, 64]", `
  %0: i64[3, 1, 64] = reshape %x {shape = [3, 1, 64]}
  %1: i32[64] = iota {start = 0, extent = 64}
  %2: i64[3, 1, 64] = intt %0, %p, %w, %s, %1 {axis = 2}
  %3: i64[3, 64] = reshape %2 {shape = [3, 64]}
  return %3`},
	} {
		text := "module \"t\"\n\nfunc @f(" + c.params + ") -> " + c.results + " {" + c.body + "\n}\n"
		m, errs := ir.Parse(diag.NewFile("t.ir", text))
		if errs.HasErrors() {
			t.Fatalf("%s: %v", name, errs.Error())
		}
		k, err := bufferize.Lower(m, "f", bufferize.Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if steps := k.Plan.Funcs[0].Steps; len(steps) != 1 || steps[0].Launch == nil || len(k.Kernels[0].Axes) != 1 {
			t.Errorf("%s: it is not one kernel over rows\n%s", name, k)
		}
	}
}
