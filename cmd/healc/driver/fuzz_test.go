package driver

import (
	"errors"
	"testing"

	"healc/ir"
	"healc/lang/types"
)

// FuzzLiteral: whatever stands after --in NAME= gives a tensor of the parameter's type and rank, or a
// *UsageError.
func FuzzLiteral(f *testing.F) {
	for _, text := range []string{"[1, 2]", "[[1.5e3], [-2]]", "'a'", "true", "[", "1 } fn g() = {", "x", "[1, [2]]",
		"0x", "1_u8", "1.0_f64 # c", "|x| x", "[]", "\"s\"", "{ 1 }", "1 as f64"} {
		f.Add(text, byte(types.F32), byte(1))
	}
	f.Fuzz(func(t *testing.T, text string, dtype, rank byte) {
		p := &ir.Value{Name: "x", Type: types.Tensor{Elem: types.DTypes[int(dtype)%len(types.DTypes)]}}
		for i := range rank % 4 {
			p.Type.Shape = append(p.Type.Shape, types.Param(string(rune('A'+i))))
		}
		v, err := literal(p, text)
		var usage *UsageError
		switch {
		case err == nil:
			if v.DType != p.Type.Elem || v.Rank() != p.Type.Rank() {
				t.Errorf("%q as %s gives %s", text, p.Type, v)
			}
			v.Close()
		case !errors.As(err, &usage):
			t.Errorf("%q as %s: %v", text, p.Type, err)
		}
	})
}
