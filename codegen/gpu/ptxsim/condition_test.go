package ptxsim

import (
	"strings"
	"testing"

	"healc/codegen/gpu/ptxsim/machine"
)

const conditional = `
.extern .func cudaGraphSetConditional(.param .b64 a, .param .b32 b);
.visible .entry f(.param .u64 h, .param .u64 v) {
	.reg .b32 %r<3>; .reg .b64 %rd<3>; .reg .pred %p<2>;
	ld.param.u64 %rd1, [h];
	ld.param.u64 %rd2, [v];
	cvt.u32.u64 %r1, %rd2;
	mov.u32 %r2, %tid.x;
	setp.ne.u32 %p1, %r2, 5;
	@%p1 bra done;
	{
	.param .b64 x;
	st.param.b64 [x+0], %rd1;
	.param .b32 y;
	st.param.b32 [y+0], %r1;
	call.uni cudaGraphSetConditional, (x, y);
	}
done:
	ret;
}
`

func TestConditions(t *testing.T) {
	d := machine.NewDevice(machine.Options{})
	m := parse(t, header+conditional)
	d.BeginCondition(8, 1)
	d.BeginCondition(9, 1)
	if err := d.Launch(m, "f", dim(1), dim(32), 0, words(8, 7)); err != nil {
		t.Fatal(err)
	}
	if a, b := d.Condition(8), d.Condition(9); a != 7 || b != 1 {
		t.Errorf("the conditions are %d and %d, want 7 and 1", a, b)
	}
	d.EndCondition(8)
	err := d.Launch(m, "f", dim(1), dim(32), 0, words(8, 7))
	if f, is := err.(*machine.Fault); !is || f.Kind != machine.Undefined || f.Thread != [3]int{5, 0, 0} ||
		!strings.Contains(f.Detail, "0x8 is no condition") {
		t.Errorf("a condition that has ended: %v", err)
	}
	for _, bad := range []struct{ from, to, want string }{
		{".param .b32 b", ".param .b64 b", "two parameters"},
		{"cudaGraphSetConditional", "somethingElse", "no body"},
		{", (x, y)", ", (x)", "2 arguments, not 1"},
	} {
		_, err := Parse("bad", header+strings.ReplaceAll(conditional, bad.from, bad.to))
		if err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%s for %s: %v", bad.to, bad.from, err)
		}
	}
}
