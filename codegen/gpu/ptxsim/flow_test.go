package ptxsim

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"healc/codegen/gpu/ptxsim/machine"
)

// randomBlocks writes n blocks of code that mix %r3 and go on at random, to each other and out, within a number of
// steps. Where a lane goes depends on its values, so that warps diverge in ways that no compiler makes: loops with
// several entries, exits out of the middle, tables, calls.
func randomBlocks(r *rand.Rand, b *strings.Builder, name string, n, steps int, call string) {
	label := func() string {
		if k := r.IntN(n + 1); k < n {
			return fmt.Sprintf("%s%d", name, k)
		}
		return name + "out"
	}
	for i := range n {
		fmt.Fprintf(b,
			"%s%d:\n\tmad.lo.s32 %%r3, %%r3, 1664525, %d; shr.u32 %%r4, %%r3, %d; xor.b32 %%r3, %%r3, %%r4;\n", name, i,
			1013904223+i, 3+r.IntN(20))
		fmt.Fprintf(b, "\tadd.s32 %%r2, %%r2, 1; setp.gt.s32 %%p1, %%r2, %d; @%%p1 bra %sout;\n", steps, name)
		if call != "" && r.IntN(3) == 0 {
			fmt.Fprintf(b,
				"\t{ .param .b32 x; st.param.b32 [x], %%r3; .param .b32 y; call.uni (y), %s, (x); ld.param.b32 %%r3, "+
					"[y]; }\n", call)
		}
		if r.IntN(6) == 0 {
			fmt.Fprintf(b, "\t@%%p2 add.s32 %%r3, %%r3, 77;\n")
		}
		fmt.Fprintf(b, "\tbfe.u32 %%r5, %%r3, %d, %d; setp.lt.u32 %%p2, %%r5, %d;\n", r.IntN(20), 1+r.IntN(3), 1+
			r.IntN(3))
		switch r.IntN(8) {
		case 0:
			fmt.Fprintf(b, "\tand.b32 %%r5, %%r3, 3;\n%st%d: .branchtargets %s, %s, %s, %s;\n\tbrx.idx %%r5, %st%d;\n",
				name, i, label(), label(), label(), label(), name, i)
		case 1:
			if call != "" {
				fmt.Fprintf(b, "\t@%%p2 bra %s; st.global.u32 [%%rd3], %%r3; exit;\n", label())
				continue
			}
			fmt.Fprintf(b, "\t@%%p2 bra %s; mov.u32 %%r3, 5; bra %sout;\n", label(), name)
		case 2:
			fmt.Fprintf(b, "\tbra %s;\n", label())
		case 3:
			fmt.Fprintf(b, "\t@!%%p2 bra %s;\n", label()) // falls through
		default:
			fmt.Fprintf(b, "\t@%%p2 bra %s; bra %s;\n", label(), label())
		}
	}
	fmt.Fprintf(b, "%sout:\n", name)
}

// A thread computes the same alone, in a warp, and in a warp of which only some lanes are there: divergence changes
// nothing.
func TestRandomFlow(t *testing.T) {
	n := 150
	if testing.Short() {
		n = 30
	}
	for seed := range uint64(n) {
		r := rand.New(rand.NewPCG(seed, 1))
		var b strings.Builder
		b.WriteString(header + `
.func (.param .b32 y) g(.param .b32 x) {
	.reg .b32 %r<9>; .reg .pred %p<4>;
	ld.param.b32 %r3, [x]; mov.u32 %r2, 0; setp.eq.s32 %p2, %r3, 0;
`)
		randomBlocks(r, &b, "g", 1+r.IntN(6), 9, "")
		b.WriteString(`
	st.param.b32 [y], %r3;
	ret;
}
.visible .entry f(.param .u64 q, .param .u64 base) {
	.reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<4>;
	ld.param.u64 %rd1, [q]; ld.param.u64 %rd2, [base]; mov.u32 %r1, %tid.x; cvt.u64.u32 %rd3, %r1; add.s64 %rd3, %rd3, %rd2;
	cvt.u32.u64 %r3, %rd3; shl.b64 %rd3, %rd3, 2; add.s64 %rd3, %rd3, %rd1; mov.u32 %r2, 0; setp.eq.s32 %p2, %r3, 0;
`)
		randomBlocks(r, &b, "f", 1+r.IntN(9), 40, "g")
		b.WriteString("\tst.global.u32 [%rd3], %r3;\n\tret;\n}\n")
		m, err := Parse("test.ptx", b.String())
		if err != nil {
			t.Fatalf("%v\n%s", err, b.String())
		}
		d := machine.NewDevice(machine.Options{Instructions: 1e7})
		const size = 45
		together, alone := alloc(t, d, 4*size), alloc(t, d, 4*size)
		if err := d.Launch(m, "f", dim(1), dim(size), 0, words(together, 0)); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, b.String())
		}
		for i := range size {
			if err := d.Launch(m, "f", dim(1), dim(1), 0, words(alone, uint64(i))); err != nil {
				t.Fatalf("seed %d, thread %d: %v\n%s", seed, i, err, b.String())
			}
		}
		x, y := download(t, d, together, size), download(t, d, alone, size)
		for i := range x {
			if x[i] != y[i] {
				t.Fatalf("seed %d: thread %d gives %#x in a warp and %#x alone\n%s", seed, i, x[i], y[i], b.String())
			}
		}
	}
}
