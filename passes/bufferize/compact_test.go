package bufferize_test

import (
	"strings"
	"testing"

	"healc/ir"
	"healc/lang/diag"
	"healc/lang/types"
	"healc/passes/bufferize"
)

// TestCompactArguments: of arguments whose strides turn out at run time, small ones are copied that are read several
// times, and kernels behind the copy do not know of strides.
func TestCompactArguments(t *testing.T) {
	const twice = "  %0: f32[SHAPE] = sin %x\n  %1: f32[SHAPE] = cos %x\n  return %0, %1\n"
	for _, c := range []struct {
		name, shape, body string
		kernels, strided  int
	}{
		{"twice", "100", twice, 3, 1},
		{"once", "100", "  %0: f32[SHAPE] = sin %x\n  return %0, %0\n", 1, 1},
		{"large", "10000000", twice, 2, 2},
		{"unknown", "N", twice, 2, 2},
	} {
		text := "module \"t\"\n\nfunc @f[N](%x: f32[SHAPE]) -> (f32[SHAPE], f32[SHAPE]) {\n" + c.body + "}\n"
		text = strings.ReplaceAll(text, "SHAPE", c.shape)
		m, errs := ir.Parse(diag.NewFile("t.ir", text))
		if errs.HasErrors() {
			t.Fatalf("%s: %v", c.name, errs.Error())
		}
		k, err := bufferize.Lower(m, "f", bufferize.Options{InputStrides: [][]types.Dim{{types.Param("s")}}})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		strided := 0
		for _, one := range k.Kernels {
			if strings.Contains(one.String(), "strides [s]") {
				strided++
			}
		}
		if len(k.Kernels) != c.kernels || strided != c.strided {
			t.Errorf("%s: %d kernels, %d of them read by strides; it should be %d and %d\n%s", c.name, len(k.Kernels),
				strided, c.kernels, c.strided, k)
		}
	}
}
