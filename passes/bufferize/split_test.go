package bufferize_test

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"healc/ir"
	"healc/lang/diag"
	"healc/passes/bufferize"
)

// TestSplitReductions runs reductions that are long enough for two kernels.
func TestSplitReductions(t *testing.T) {
	for _, c := range []struct{ param, op, result string }{
		{"f32[140001]", "reduce_sum %x {axes = [0]}", "f32"},
		{"f32[3, 45000]", "reduce_sum %x {axes = [1]}", "f32[3]"},
		{"f64[350, 400]", "reduce_sum %x {axes = [0, 1], keep = true}", "f64[1, 1]"},
		{"f32[2100, 64]", "reduce_sum %x {axes = [0]}", "f32[64]"},
		{"f32[2, 1030, 67]", "reduce_sum %x {axes = [1], keep = true}", "f32[2, 1, 67]"},
		{"i16[140001]", "reduce_prod %x {axes = [0]}", "i16"},
		{"f32[140001]", "reduce_max %x {axes = [0]}", "f32"},
		{"f32[350, 400]", "argmax %x", "i32"},
		{"u8[140001]", "argmin %x {axis = 0, keep = true}", "i32[1]"},
		{"f32[2, 70000]", "argmax %x {axis = 1}", "i32[2]"},
	} {
		t.Run(c.param+" "+c.op, func(t *testing.T) {
			text := fmt.Sprintf("module \"m\"\n\nfunc @f(%%x: %s) -> %s {\n  %%0: %s = %s\n  return %%0\n}\n", c.param,
				c.result, c.result, c.op)
			m, errs := ir.Parse(diag.NewFile("in.ir", text))
			if errs.HasErrors() {
				t.Fatal(errs.Error())
			}
			g := &generator{Rand: rand.New(rand.NewSource(5)), f: &ir.Func{Body: &ir.Block{}}}
			g.param(m.Funcs[0].Params()[0].Type)
			if strings.Contains(c.op, "arg") && m.Funcs[0].Params()[0].Type.Elem.IsFloat() {
				for i := range g.args[0].Bits {
					g.args[0].Bits[i] &= 0xbfffffff // no NaN, so that chunks matter
				}
			}
			k, err := bufferize.Lower(m, "f", bufferize.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if len(k.Kernels) != 2 {
				t.Errorf("%d kernels, not 2:\n%s", len(k.Kernels), k)
			}
			if wrong, _ := compare(m, g.args, nil, fused, nil); wrong != nil {
				t.Error(wrong)
			}
		})
	}
}
