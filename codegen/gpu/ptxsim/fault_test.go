package ptxsim

import (
	"fmt"
	"strings"
	"testing"

	"healc/codegen/gpu/ptxsim/machine"
)

// kernel is a module with one entry f(p, q), whose parameters are addresses of 1024 bytes each, p with values and q
// without. Registers of all kinds and shared memory s of 512 bytes are declared.
func kernel(body string) string {
	return header + `
.shared .align 16 .b8 s[512];
.const .align 4 .b8 k[16] = {1, 0, 0, 0, 2, 0, 0, 0};
.global .align 4 .b8 g[16];
.visible .entry f(.param .u64 p, .param .u64 q) {
	.reg .b16 %h<9>; .reg .b32 %r<19>; .reg .f32 %f<9>; .reg .b64 %rd<19>; .reg .pred %p<9>;
	.local .align 8 .b8 l[16];
	ld.param.u64 %rd1, [p];
	ld.param.u64 %rd2, [q];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd3, %r1, 4;
	add.s64 %rd4, %rd1, %rd3;
	add.s64 %rd5, %rd2, %rd3;
	mov.u64 %rd6, s;
	add.s64 %rd7, %rd6, %rd3;
	mov.u32 %r2, %ctaid.x;
` + body + `
	ret;
}
`
}

// ran is a device on which a kernel ran, and the addresses that it got.
type ran struct {
	*machine.Device
	in, out uint64
}

// runKernel launches such a kernel with blocks of threads.
func runKernel(t *testing.T, body string, blocks, threads int) (ran, error) {
	t.Helper()
	d := machine.NewDevice(machine.Options{Instructions: 1e7})
	values := make([]uint32, 256)
	for i := range values {
		values[i] = uint32(i)
	}
	k := ran{d, upload(t, d, values), alloc(t, d, 1024)}
	return k, d.Launch(parse(t, kernel(body)), "f", dim(blocks), dim(threads), 0, words(k.in, k.out))
}

// Each case has a rule broken at the line with the comment "// here", or is right.
func TestFaults(t *testing.T) {
	cases := []struct {
		name            string
		kind            machine.Kind
		blocks, threads int
		body            string
		detail          string
	}{
		{"past the end", machine.OutOfBounds, 2, 256, "ld.global.u32 %r3, [%rd4+1024]; // here",
			"byte 1024 of allocation, which has 1024 bytes"},
		{"before the start", machine.OutOfBounds, 1, 32,
			"ld.global.u32 %r3, [%rd4+-4]; // here", "4 bytes before allocation"},
		{"last element of a vector", machine.OutOfBounds, 1, 32,
			"ld.global.v4.u32 {%r3,%r4,%r5,%r6}, [%rd1+1024]; // here",
			"16 bytes"},
		{"null", machine.OutOfBounds, 1, 1, "mov.u64 %rd9, 0; st.global.u32 [%rd9], %r1; // here", "address 0x0"},
		{"shared", machine.OutOfBounds, 1, 129, "st.shared.u32 [%rd7], %r1; // here", "byte 512 of shared variable s"},
		{"shared, generic", machine.OutOfBounds, 1, 129, "cvta.shared.u64 %rd8, %rd7; st.u32 [%rd8], %r1; // here",
			"byte 512 of shared variable s"},
		{"local", machine.OutOfBounds, 1, 1, "mov.u64 %rd8, l; st.local.u32 [%rd8+16], %r1; // here", "byte 16 of 16"},
		{"constant", machine.OutOfBounds, 1, 1,
			"mov.u64 %rd8, k; ld.const.u32 %r3, [%rd8+16]; // here", "const variable k"},
		{"write to a constant", machine.ReadOnly, 1, 1,
			"mov.u64 %rd8, k; st.u32 [%rd8], %r1; // here", "const variable k"},
		{"misaligned word", machine.Misaligned, 1, 1, "ld.global.u32 %r3, [%rd4+2]; // here", "multiple of 4"},
		{"misaligned vector", machine.Misaligned, 1, 32, "ld.global.v4.u32 {%r3,%r4,%r5,%r6}, [%rd4]; // here",
			"multiple of 16"},
		{"unwritten global", machine.Uninitialised, 1, 32, "ld.global.u32 %r3, [%rd5]; // here", "never written"},
		{"unwritten half", machine.Uninitialised, 1, 1, "st.global.u16 [%rd5], 1; ld.global.u32 %r3, [%rd5]; // here",
			"byte 2 was never"},
		{"unwritten shared", machine.Uninitialised, 1, 32, "ld.shared.u32 %r3, [%rd7]; // here", "never written"},
		{"shared of the block before", machine.Uninitialised, 2, 1,
			"setp.ne.u32 %p1, %r2, 0; @%p1 bra a; st.shared.u32 [%rd7], 1; a: ld.shared.u32 %r3, [%rd7]; // here",
			"never written"},
		{"unwritten local", machine.Uninitialised, 1, 1,
			"mov.u64 %rd8, l; ld.local.u32 %r3, [%rd8]; // here", "never written"},
		{"unwritten address", machine.Uninitialised, 1, 1, "ld.global.u32 %r3, [%rd18]; // here", "register"},
		{"unwritten value", machine.Uninitialised, 1, 1, "add.s32 %r3, %r18, 1; st.global.u32 [%rd5], %r3; // here",
			"register"},
		{"unwritten predicate", machine.Uninitialised, 1, 1, "@%p8 bra a; // here\na:", "register"},
		{"written in some lanes", machine.Uninitialised, 1, 32,
			"setp.lt.u32 %p1, %r1, 7; @%p1 mov.u32 %r3, 1; st.global.u32 [%rd5], %r3; // here", "register"},
		{"unwritten and not used", "", 1, 32,
			"add.s32 %r3, %r18, 1; setp.lt.u32 %p1, %r1, 32; selp.b32 %r4, %r1, %r3, %p1; st.global.u32 [%rd5], %r4;",
			""},
		{"division", machine.DivisionByZero, 1, 2, "div.s32 %r3, 5, %r1; st.global.u32 [%rd5], %r3; // here",
			"the division by zero at line"},
		{"remainder", machine.DivisionByZero, 1, 2,
			"rem.u32 %r3, 5, %r1; add.s32 %r4, %r3, 1; setp.eq.s32 %p1, %r4, 1; @%p1 bra a; // here\na:",
			"the condition depends"},
		{"division in another lane", "", 1, 2,
			"div.s32 %r3, 5, %r1; setp.eq.s32 %p1, %r1, 0; selp.b32 %r4, 7, %r3, %p1; st.global.u32 [%rd5], %r4;", ""},
		{"trap", machine.Trap, 1, 64, "setp.ne.u32 %p1, %r1, 40; @%p1 bra a; trap; // here\na:", ""},
		{"endless loop", machine.InstructionLimit, 1, 32, "a: add.s32 %r3, %r1, 1; // here\nbra a;", ""},

		{"race on shared, write and write", machine.Race, 1, 64, "st.shared.u32 [%rd6], %r1; // here",
			"writes 4 bytes at byte 0 of shared variable s that thread [0 0 0] writes"},
		{"race on shared, write and read", machine.Race, 1, 64,
			"st.shared.u32 [%rd7], %r1; xor.b32 %r3, %r1, 32; mul.wide.u32 %rd8, %r3, 4; add.s64 %rd8, %rd8, %rd6; " +
				"bar.sync 0; st.shared.u32 [%rd7], 7; ld.shared.u32 %r4, [%rd8]; // here", "reads"},
		{"race on shared, read and write", machine.Race, 1, 64,
			"st.shared.u32 [%rd7], %r1; xor.b32 %r3, %r1, 32; mul.wide.u32 %rd8, %r3, 4; add.s64 %rd8, %rd8, %rd6; " +
				"bar.sync 0; ld.shared.u32 %r4, [%rd8]; st.shared.u32 [%rd7], 7; // here", "reads"},
		{"race in a warp", machine.Race, 1, 32,
			"st.shared.u32 [%rd7], %r1; xor.b32 %r3, %r1, 1; mul.wide.u32 %rd8, %r3, 4; add.s64 %rd8, %rd8, %rd6; " +
				"ld.shared.u32 %r4, [%rd8]; // here", "no barrier"},
		{"a warp with its barrier", "", 1, 32,
			"st.shared.u32 [%rd7], %r1; xor.b32 %r3, %r1, 1; mul.wide.u32 %rd8, %r3, 4; add.s64 %rd8, %rd8, %rd6; " +
				"bar.warp.sync -1; ld.shared.u32 %r4, [%rd8]; bar.warp.sync -1; st.shared.u32 [%rd7], 3;", ""},
		{"a warp barrier for two warps", machine.Race, 1, 64,
			"st.shared.u32 [%rd7], %r1; xor.b32 %r3, %r1, 32; mul.wide.u32 %rd8, %r3, 4; add.s64 %rd8, %rd8, %rd6; " +
				"bar.warp.sync -1; setp.lt.u32 %p1, %r1, 32; @%p1 bra a; ld.shared.u32 %r4, [%rd8]; // here\na:",
			"no barrier"},
		{"half a warp with its barrier", machine.Race, 1, 32,
			"st.shared.u32 [%rd7], %r1; setp.lt.u32 %p1, %r1, 16; @%p1 bra a; bra b; a: bar.warp.sync 0xffff; b: " +
				"xor.b32 %r3, %r1, 16; mul.wide.u32 %rd8, %r3, 4; add.s64 %rd8, %rd8, %rd6; ld.shared.u32 %r4, " +
				"[%rd8]; // here", "no barrier"},
		{"within half a warp", "", 1, 32,
			"st.shared.u32 [%rd7], %r1; setp.lt.u32 %p1, %r1, 16; @!%p1 bra b; bar.warp.sync 0xffff; xor.b32 %r3, " +
				"%r1, 8; mul.wide.u32 %rd8, %r3, 4; add.s64 %rd8, %rd8, %rd6; ld.shared.u32 %r4, [%rd8]; b:", ""},
		{"shuffles are no barriers", machine.Race, 1, 32,
			"st.shared.u32 [%rd7], %r1; xor.b32 %r3, %r1, 1; mul.wide.u32 %rd8, %r3, 4; add.s64 %rd8, %rd8, %rd6; " +
				"shfl.sync.bfly.b32 %r5, %r1, 1, 31, -1; ld.shared.u32 %r4, [%rd8]; // here", "no barrier"},
		{"race of bytes", "", 1, 64, "cvt.u64.u32 %rd8, %r1; add.s64 %rd8, %rd8, %rd6; st.shared.u8 [%rd8], 1;", ""},
		{"race of a byte with a word", machine.Race, 1, 64,
			"setp.ge.u32 %p1, %r1, 32; @%p1 bra a; st.shared.u32 [%rd7], %r1; bra b; a: st.shared.u8 [%rd6+5], 1; // " +
				"here\nb:", "thread [1 0 0]"},
		{"race on global between threads", machine.Race, 1, 64, "st.global.u32 [%rd2], %r1; // here", "thread [0 0 0]"},
		{"race on global between blocks", machine.Race, 2, 1, "st.global.u32 [%rd2], %r1; // here",
			"another block writes, and blocks are not ordered"},
		{"read of what another block writes", machine.Race, 2, 1,
			"ld.global.u32 %r3, [%rd1]; setp.eq.u32 %p1, %r2, 0; @%p1 bra a; st.global.u32 [%rd1], %r3; // here\na:",
			"another block"},
		{"a barrier is not for blocks", machine.Race, 2, 32, "st.global.u32 [%rd5], %r1; // here\nbar.sync 0;",
			"another block"},
		{"atomics do not race", "", 2, 64,
			"setp.ne.u32 %p1, %r1, 0; atom.global.add.u32 %r3, [%rd1], 1; red.global.max.u32 [%rd1+4], 5; @%p1 bra " +
				"a; st.shared.u32 [%rd6], 0; a: bar.sync 0; atom.shared.exch.b32 %r4, [%rd6], 1;", ""},
		{"an atomic and a plain read", machine.Race, 2, 64,
			"red.global.add.u32 [%rd1], 1; bar.sync 0; ld.global.u32 %r3, [%rd1]; // here", "another block"},
		{"an atomic and a volatile read", "", 2, 64,
			"red.global.add.u32 [%rd1], 1; bar.sync 0; ld.volatile.global.u32 %r3, [%rd1];", ""},
		{"nc of what is written", machine.Race, 1, 32, "st.global.u32 [%rd4], 1; ld.global.nc.u32 %r3, [%rd4]; // here",
			"ld.global.nc"},

		{"barrier of some warps", machine.BarrierDivergence, 1, 64,
			"setp.lt.u32 %p1, %r1, 32; @%p1 bra a; bar.sync 1; a: bar.sync 0; // here", "never come"},
		{"barrier of some lanes", machine.BarrierDivergence, 1, 32,
			"setp.lt.u32 %p1, %r1, 16; @%p1 bra a; bra b; a: bar.sync 0; // here\nb: bar.sync 0;", "never come"},
		{"barrier after an exit", "", 1, 64, "setp.lt.u32 %p1, %r1, 40; @%p1 bra a; exit; a: bar.sync 0;", ""},
		{"one barrier at two lines", machine.BarrierDivergence, 1, 64,
			"setp.lt.u32 %p1, %r1, 32; @%p1 bra a; bar.sync 0; // here\nbra b; a: bar.sync 0; b:", "warp 0 at line"},
		{"one barrier that is not aligned at two lines", "", 1, 64,
			"st.shared.u32 [%rd7], %r1; xor.b32 %r3, %r1, 32; mul.wide.u32 %rd8, %r3, 4; add.s64 %rd8, %rd8, %rd6; " +
				"setp.lt.u32 %p1, %r1, 32; @%p1 bra a; barrier.sync 0; bra b; a: barrier.cta.sync 0; b: " +
				"ld.shared.u32 %r4, [%rd8];", ""},
		{"two parts of a block", "", 1, 128,
			"st.shared.u32 [%rd7], %r1; xor.b32 %r3, %r1, 32; mul.wide.u32 %rd8, %r3, 4; add.s64 %rd8, %rd8, %rd6; " +
				"shr.u32 %r4, %r1, 6; add.s32 %r4, %r4, 1; bar.sync %r4, 64; ld.shared.u32 %r5, [%rd8];", ""},
		{"two parts of a block, across", machine.Race, 1, 128,
			"st.shared.u32 [%rd7], %r1; xor.b32 %r3, %r1, 64; mul.wide.u32 %rd8, %r3, 4; add.s64 %rd8, %rd8, %rd6; " +
				"shr.u32 %r4, %r1, 6; add.s32 %r4, %r4, 1; bar.sync %r4, 64; ld.shared.u32 %r5, [%rd8]; // here",
			"no barrier"},
		{"producer and consumer", "", 1, 64,
			"setp.lt.u32 %p1, %r1, 32; @%p1 bra a; st.shared.u32 [%rd7], %r1; bar.arrive 1, 64; bra b; a: bar.sync " +
				"1, 64; ld.shared.u32 %r3, [%rd7+128]; b:", ""},
		{"consumer that does not wait", machine.Uninitialised, 1, 64,
			"setp.lt.u32 %p1, %r1, 32; @%p1 bra a; st.shared.u32 [%rd7], %r1; bar.arrive 1, 64; bra b; a: " +
				"ld.shared.u32 %r3, [%rd7+128]; // here\nbar.sync 1, 64; b:", ""},
		{"shuffle of some lanes", machine.WarpDivergence, 1, 32,
			"setp.lt.u32 %p1, %r1, 16; @%p1 bra a; bra b; a: shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1; // here\n" +
				"b: bar.warp.sync -1;", "never come"},
		{"shuffle in half a warp", "", 1, 32,
			"setp.lt.u32 %p1, %r1, 16; @%p1 bra a; bra b; a: shfl.sync.bfly.b32 %r3, %r1, 1, 31, 0xffff; b:", ""},
		{"shuffle from a lane that is not there", machine.WarpDivergence, 1, 32,
			"setp.lt.u32 %p1, %r1, 16; @%p1 bra a; bra b; a: shfl.sync.bfly.b32 %r3, %r1, 16, 31, 0xffff; // here\nb:",
			"reads lane 16"},
		{"shuffle of a lane that is not in the mask", machine.WarpDivergence, 1, 32,
			"shfl.sync.bfly.b32 %r3, %r1, 1, 31, 0xfffe; // here", "lane 0 is not in its member mask"},
		{"shuffle after some exit", machine.WarpDivergence, 1, 20, "shfl.sync.down.b32 %r3, %r1, 1, 31, -1; // here",
			"reads lane 20"},
		{"shuffle without a join", "", 1, 32,
			"setp.lt.u32 %p1, %r1, 16; @%p1 bra c; setp.eq.u32 %p2, %r1, 31; @%p2 bra b; bra c; b: ret; c: " +
				"vote.sync.ballot.b32 %r3, %p1, -1; setp.eq.u32 %p3, %r3, 0xffff; @%p3 bra d; trap; d:", ""},
		{"vote of some lanes", machine.WarpDivergence, 1, 32,
			"setp.lt.u32 %p1, %r1, 16; @%p1 bra b; vote.sync.ballot.b32 %r3, %p1, -1; // here\nb: bar.warp.sync -1;",
			""},
		{"cp.async without waiting", machine.Race, 1, 32,
			"cp.async.ca.shared.global [%rd7], [%rd4], 4; cp.async.commit_group; ld.shared.u32 %r3, [%rd7]; // here",
			"a cp.async writes, and this thread did not wait"},
		{"cp.async, the wrong group", machine.Race, 1, 32,
			"cp.async.ca.shared.global [%rd7], [%rd4], 4; cp.async.commit_group; cp.async.wait_group 1; " +
				"ld.shared.u32 %r3, [%rd7]; // here", "a cp.async writes"},
		{"cp.async, not committed", machine.Race, 1, 32,
			"cp.async.ca.shared.global [%rd7], [%rd4], 4; cp.async.wait_group 0; ld.shared.u32 %r3, [%rd7]; // here",
			"a cp.async writes"},
		{"cp.async over what is read", machine.Race, 1, 64,
			"st.shared.u32 [%rd7], 1; bar.sync 0; xor.b32 %r3, %r1, 32; mul.wide.u32 %rd8, %r3, 4; add.s64 %rd8, " +
				"%rd8, %rd6; ld.shared.u32 %r3, [%rd8]; cp.async.ca.shared.global [%rd7], [%rd4], 4; // here", "reads"},
		{"cp.async without a barrier", machine.Race, 1, 64,
			"st.shared.u32 [%rd7], 1; bar.sync 0; cp.async.ca.shared.global [%rd7], [%rd4], 4; cp.async.wait_all; " +
				"xor.b32 %r3, %r1, 32; mul.wide.u32 %rd8, %r3, 4; add.s64 %rd8, %rd8, %rd6; ld.shared.u32 %r3, " +
				"[%rd8]; // here", "thread [0 0 0] reads, and no barrier"},
		{"cp.async past the end", machine.OutOfBounds, 1, 32,
			"cp.async.ca.shared.global [%rd7], [%rd4+1024], 4; // here",
			"byte 1024"},
		{"cp.async of what was not written", machine.Uninitialised, 1, 32,
			"cp.async.ca.shared.global [%rd7], [%rd5], 4; // here", "never written"},
		{"cp.async, misaligned", machine.Misaligned, 1, 32,
			"cp.async.cg.shared.global [%rd6], [%rd1+4], 16; // here", ""},
		{"cp.async in two groups", "", 1, 32,
			"cp.async.ca.shared.global [%rd7], [%rd4], 4; cp.async.commit_group; cp.async.ca.shared.global " +
				"[%rd7+256], [%rd4+128], 4; cp.async.commit_group; cp.async.wait_group 1; ld.shared.u32 %r3, [%rd7]; " +
				"cp.async.wait_group 0; ld.shared.u32 %r3, [%rd7+256];", ""},
		{"a branch table", machine.Undefined, 1, 3,
			"t: .branchtargets a, b; brx.idx %r1, t; // here\na: b:", "index 2 into 2"},
	}
	for _, k := range cases {
		t.Run(k.name, func(t *testing.T) {
			_, err := runKernel(t, k.body, k.blocks, k.threads)
			if k.kind == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			f := wantFault(t, err, k.kind)
			if !strings.Contains(f.Detail, k.detail) {
				t.Errorf("the detail %q has no %q", f.Detail, k.detail)
			}
			text := kernel(k.body)
			line := 1 + strings.Count(text[:strings.Index(text, "// here")], "\n")
			if f.Line != line {
				t.Errorf("the fault is at line %d, not %d:\n%v", f.Line, line, f)
			}
			for _, part := range []string{"test.ptx:" + fmt.Sprint(line), "in f, block"} {
				if !strings.Contains(f.Error(), part) {
					t.Errorf("no %q in %s", part, f.Error())
				}
			}
		})
	}
}

// Local memory of one lane is not that of another one.
func TestLocalMemory(t *testing.T) {
	k, err := runKernel(t, `
	mov.u64 %rd8, l;
	st.local.u32 [%rd8+4], %r1;
	mul.lo.s32 %r4, %r1, 3;
	st.local.u32 [%rd8+8], %r4;
	cvta.local.u64 %rd9, %rd8;
	ld.u32 %r5, [%rd9+4];
	ld.local.u32 %r6, [%rd8+8];
	add.s32 %r5, %r5, %r6;
	st.global.u32 [%rd4], %r5;`, 1, 100)
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range download(t, k.Device, k.in, 100) {
		if got != uint32(4*i) {
			t.Errorf("%d: %d", i, got)
		}
	}
}

// cp.async copies, fills up with zeros, and reads nothing for no bytes.
func TestAsyncCopies(t *testing.T) {
	k, err := runKernel(t, `
	shl.b64 %rd8, %rd3, 2; add.s64 %rd9, %rd6, %rd8; add.s64 %rd10, %rd1, %rd8; add.s64 %rd11, %rd2, %rd8;
	mov.u32 %r3, 12; setp.eq.u32 %p1, %r1, 1; @%p1 mov.u32 %r3, 0; @%p1 mov.u64 %rd10, 0; setp.gt.u32 %p1, %r1, 1; @%p1 mov.u32 %r3, 16;
	cp.async.cg.shared.global [%rd9], [%rd10], 16, %r3;
	cp.async.wait_all;
	bar.sync 0;
	ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%rd9];
	st.global.v4.u32 [%rd11], {%r4, %r5, %r6, %r7};`, 1, 4)
	if err != nil {
		t.Fatal(err)
	}
	want := []uint32{0, 1, 2, 0, 0, 0, 0, 0, 8, 9, 10, 11, 12, 13, 14, 15}
	for i, got := range download(t, k.Device, k.out, 16) {
		if got != want[i] {
			t.Errorf("%d: %d, want %d", i, got, want[i])
		}
	}
}

// Undefined bits go where the values go: %h8, %r18 and %rd18 are never written. What is stored has to be defined.
func TestUndefinedBits(t *testing.T) {
	for body, defined := range map[string]bool{
		"mov.b32 %r3, {%h1, %h8}; and.b32 %r4, %r3, 15; st.global.u32 [%rd5], %r4;":                             true,
		"mov.b32 %r3, {%h1, %h8}; st.global.u32 [%rd5], %r3;":                                                   false,
		"mov.b32 %r3, {%h1, %h8}; st.global.u16 [%rd5], %r3;":                                                   true,
		"mov.b32 %r3, {%h8, %h1}; st.global.u16 [%rd5], %r3;":                                                   false,
		"mov.b32 %r3, {%h1, %h8}; mov.b32 {%h2, %h3}, %r3; st.global.u16 [%rd5], %h2;":                          true,
		"mov.b32 %r3, {%h1, %h8}; mov.b32 {%h2, %h3}, %r3; st.global.u16 [%rd5], %h3;":                          false,
		"mov.b32 %r3, {%h1, %h8}; shl.b32 %r4, %r3, 16; st.global.u32 [%rd5], %r4;":                             true,
		"mov.b32 %r3, {%h1, %h8}; shr.u32 %r4, %r3, 15; st.global.u32 [%rd5], %r4;":                             false,
		"mov.b32 %r3, {%h8, %h1}; shr.s32 %r4, %r3, 16; st.global.u32 [%rd5], %r4;":                             true,
		"mov.b32 %r3, {%h1, %h8}; or.b32 %r4, %r3, 0xffff0000; st.global.u32 [%rd5], %r4;":                      true,
		"mov.b32 %r3, {%h1, %h8}; or.b32 %r4, %r3, 0xfffe0000; st.global.u32 [%rd5], %r4;":                      false,
		"mov.b32 %r3, {%h1, %h8}; xor.b32 %r4, %r3, %r3; cvt.u16.u32 %h2, %r4; st.global.u16 [%rd5], %h2;":      true,
		"mov.b32 %r3, {%h1, %h8}; not.b32 %r4, %r3; cvt.u64.u32 %rd8, %r4; st.global.u64 [%rd5+256], %rd8;":     false,
		"mov.b32 %r3, {%h1, %h8}; add.s32 %r4, %r3, %r1; mul.lo.s32 %r4, %r4, 3; st.global.u16 [%rd5], %r4;":    true,
		"mov.b32 %r3, {%h8, %h1}; mad.lo.s32 %r4, %r3, 3, 1; shr.u32 %r4, %r4, 16; st.global.u16 [%rd5], %r4;":  false,
		"mov.b32 %r3, {%h1, %h8}; prmt.b32 %r4, %r3, %r1, 0x5410; st.global.u32 [%rd5], %r4;":                   true,
		"mov.b32 %r3, {%h1, %h8}; prmt.b32 %r4, %r3, %r1, 0x5420; st.global.u32 [%rd5], %r4;":                   false,
		"mov.b32 %r3, {%h1, %h8}; bfe.u32 %r4, %r3, 3, 13; st.global.u32 [%rd5], %r4;":                          true,
		"mov.b32 %r3, {%h1, %h8}; bfe.s32 %r4, %r3, 3, 14; st.global.u32 [%rd5], %r4;":                          false,
		"mov.b32 %r3, {%h1, %h8}; add.f16x2 %r4, %r3, %r3; st.global.u16 [%rd5], %r4;":                          true,
		"mov.b32 %r3, {%h8, %h1}; add.f16x2 %r4, %r3, %r3; st.global.u16 [%rd5], %r4;":                          false,
		"mov.b32 %r3, {%h1, %h8}; setp.lt.f16x2 %p1|%p2, %r3, %r3; @%p1 bra a; a: st.global.u32 [%rd5], %r1;":   true,
		"mov.b32 %r3, {%h1, %h8}; setp.lt.f16x2 %p1|%p2, %r3, %r3; @%p2 bra a; a: st.global.u32 [%rd5], %r1;":   false,
		"mov.b32 %r3, {%h1, %h8}; setp.eq.s32 %p1, %r3, 0; selp.b32 %r4, 1, 2, %p1; st.global.u32 [%rd5], %r4;": false,
		"setp.eq.s32 %p1, %r18, 0; setp.eq.s32 %p2, %r1, 77; and.pred %p3, %p2, %p1; @%p3 bra a; a: st.global.u32 " +
			"[%rd5], %r1;": true,
		"setp.eq.s32 %p1, %r18, 0; setp.ne.s32 %p2, %r1, 77; and.pred %p3, %p2, %p1; @%p3 bra a; a: st.global.u32 " +
			"[%rd5], %r1;": false,
		"setp.eq.s32 %p1, %r18, 0; setp.eq.s32 %p2, %r1, 77; or.pred %p3, %p1, !%p2; @%p3 bra a; a: st.global.u32 " +
			"[%rd5], %r1;": true,
		"setp.eq.s32 %p1, %r18, 0; xor.pred %p3, %p1, %p1; @%p3 bra a; a: st.global.u32 " +
			"[%rd5], %r1;": false,
		"setp.lt.u32 %p1, %r1, 5; @%p1 mov.u32 %r18, 9; selp.b32 %r4, %r18, %r1, %p1; st.global.u32 " +
			"[%rd5], %r4;": true,
		"mov.u32 %r4, %r18; mov.u32 %r4, 3; st.global.u32 [%rd5], %r4;":                  true,
		"shl.b32 %r4, %r1, %r18; st.global.u32 [%rd5], %r4;":                             false,
		"cvt.s64.s32 %rd8, %r18; and.b64 %rd8, %rd8, 0; st.global.u64 [%rd5+256], %rd8;": true,
	} {
		_, err := runKernel(t,
			"mov.b16 %h1, 5; shl.b32 %r17, %r1, 2; cvt.u64.u32 %rd17, %r17; add.s64 %rd5, %rd5, %rd17;"+body, 1, 32)
		if defined && err != nil {
			t.Errorf("%s\n%v", body, err)
		}
		if !defined {
			if f := wantFault(t, err, machine.Uninitialised); !strings.Contains(f.Detail, "register") {
				t.Errorf("%s\n%v", body, f)
			}
		}
	}
}

func TestUseAfterFree(t *testing.T) {
	m := parse(t, kernel("st.global.u32 [%rd5], %r1;"))
	d := machine.NewDevice(machine.Options{})
	p, q := alloc(t, d, 1024), alloc(t, d, 1024)
	if err := d.Launch(m, "f", dim(1), dim(32), 0, words(p, q)); err != nil {
		t.Fatal(err)
	}
	if err := d.Free(q); err != nil {
		t.Fatal(err)
	}
	f := wantFault(t, d.Launch(m, "f", dim(1), dim(32), 0, words(p, q)), machine.UseAfterFree)
	if !strings.Contains(f.Detail, "1024 bytes that was freed") {
		t.Error(f.Detail)
	}
	if err := d.Free(q); err == nil {
		t.Error("freed twice")
	}
	if err := d.Write(q, []byte{1}); err == nil || !strings.Contains(err.Error(), "freed") {
		t.Errorf("a write to freed memory: %v", err)
	}
	// the device is usable after faults
	if err := d.Launch(m, "f", dim(1), dim(32), 0, words(p, p)); err != nil {
		t.Fatal(err)
	}
}

// Launches are ordered: what one writes the next may read and write.
func TestLaunchesAreOrdered(t *testing.T) {
	m := parse(t,
		kernel(
			"ld.global.u32 %r3, [%rd1]; setp.ne.u32 %p1, %r1, 0; @%p1 bra a; setp.ne.u32 %p1, %r2, 0; @%p1 bra a; "+
				"st.global.u32 [%rd2], %r3; a:"))
	d := machine.NewDevice(machine.Options{})
	p, q := upload(t, d, []uint32{7}), alloc(t, d, 4)
	for range 3 {
		for _, params := range [][]byte{words(p, q), words(q, p)} {
			if err := d.Launch(m, "f", dim(4), dim(64), 0, params); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestLaunchErrors(t *testing.T) {
	m := parse(t, header+
		".extern .shared .align 16 .b8 s[];\n"+
		".visible .entry f(.param .u32 a, .param .u64 b) .reqntid 32 { .reg .b64 %r; mov.u64 %r, s; ret; }\n")
	d := machine.NewDevice(machine.Options{SharedBytes: 1000})
	p := make([]byte, 16)
	for _, k := range []struct {
		entry       string
		grid, block [3]int
		shared      int
		params      []byte
		want        string
	}{
		{"g", dim(1), dim(32), 0, p, "no kernel g"},
		{"f", dim(0), dim(32), 0, p, "grid of [0 1 1]"},
		{"f", [3]int{1, 1 << 16, 1}, dim(32), 0, p, "between 1 and 65535"},
		{"f", dim(1), dim(2048), 0, p, "not possible"},
		{"f", dim(1), [3]int{32, 32, 2}, 0, p, "2048 threads"},
		{"f", dim(1), [3]int{1, 1, 65}, 0, p, "not possible"},
		{"f", dim(1), dim(64), 0, p, "compiled for"},
		{"f", dim(1), dim(32), 0, p[:12], "12 bytes of parameters: the kernel has 16"},
		{"f", dim(1), dim(32), 1001, p, "1001 bytes of shared memory: a block has 1000"},
		{"f", dim(1), dim(32), -1, p, "-1 bytes"},
	} {
		err := d.Launch(m, k.entry, k.grid, k.block, k.shared, k.params)
		if err == nil || !strings.Contains(err.Error(), k.want) {
			t.Errorf("%v: no %q", err, k.want)
		}
	}
	if err := d.Launch(m, "f", dim(1), dim(32), 1000, p); err != nil {
		t.Error(err)
	}
	if n := m.ParamBytes("g"); n != -1 {
		t.Errorf("no entry has %d bytes of parameters", n)
	}
}

func TestMemoryErrors(t *testing.T) {
	d := machine.NewDevice(machine.Options{Bytes: 1000})
	a := alloc(t, d, 600)
	if _, err := d.Alloc(401); err == nil || !strings.Contains(err.Error(),
		"out of memory: 401 bytes wanted, 600 of 1000") {
		t.Error(err)
	}
	if _, err := d.Alloc(-1); err == nil {
		t.Error("an allocation of -1 bytes")
	}
	b := alloc(t, d, 400)
	empty := alloc(t, d, 0)
	for _, err := range []error{
		d.Write(a+599, []byte{1, 2}), d.Read(b-1, []byte{1}), d.Memset(b, 1, 401), d.Copy(a, b, 401), d.Copy(b, a, 401),
		d.Free(a + 1), d.Write(empty, []byte{1}),
	} {
		if err == nil {
			t.Error("an access out of bounds")
		}
	}
	for _, err := range []error{d.Write(a+599, []byte{1}), d.Memset(b+399, 3, 1), d.Copy(a, b, 400),
		d.Write(empty, nil), d.Free(empty), d.Free(a)} {
		if err != nil {
			t.Error(err)
		}
	}
	// the bytes of a copy that were not written are not written in the copy
	c, e := alloc(t, d, 8), alloc(t, d, 8)
	d.Memset(c, 1, 4)
	d.Memset(e, 1, 8)
	d.Copy(e, c, 8)
	m := parse(t, kernel("ld.global.u32 %r3, [%rd1]; ld.global.u32 %r3, [%rd1+4]; // here"))
	wantFault(t, d.Launch(m, "f", dim(1), dim(1), 0, words(e, e)), machine.Uninitialised)
}
