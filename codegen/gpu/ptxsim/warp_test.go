package ptxsim

import (
	"encoding/binary"
	"fmt"
	"math"
	"sort"
	"strings"
	"testing"

	"healc/codegen/gpu/ptx"
	"healc/codegen/gpu/ptxsim/machine"
)

// lanesOf runs a body that leaves a value in %r9 of each thread, and gives these.
func lanesOf(t *testing.T, threads int, body string) []uint32 {
	t.Helper()
	d := machine.NewDevice(machine.Options{})
	values := make([]uint32, 256)
	for i := range values {
		values[i] = uint32(100 + i)
	}
	p, q := upload(t, d, values), alloc(t, d, 1024)
	m := parse(t, kernel("ld.global.u32 %r8, [%rd4];"+body+"\nst.global.u32 [%rd5], %r9;"))
	if err := d.Launch(m, "f", dim(1), dim(threads), 0, words(p, q)); err != nil {
		t.Fatal(err)
	}
	return download(t, d, q, threads)
}

func TestShuffles(t *testing.T) {
	for _, width := range []int{32, 16, 8, 2} {
		seg := (32 - width) << 8
		for _, k := range []int{0, 1, 5, 31, 33} {
			for mode, f := range map[string]func(i, b int) (int, bool){
				"up":   func(i, b int) (int, bool) { return i - b, i%width >= b },
				"down": func(i, b int) (int, bool) { return i + b, i%width+b < width },
				"bfly": func(i, b int) (int, bool) { return i ^ b, (i^b)/width <= i/width },
				"idx":  func(i, b int) (int, bool) { return i/width*width + b%width, true },
			} {
				c := seg | 31
				if mode == "up" {
					c = seg
				}
				got := lanesOf(t, 64,
					fmt.Sprintf("shfl.sync.%s.b32 %%r9|%%p1, %%r8, %d, %d, -1; @!%%p1 add.s32 %%r9, %%r9, 1000;", mode,
						k, c))
				for i, v := range got {
					l := i % 32
					j, ok := f(l, k%32)
					want := uint32(100 + i - l + j)
					if !ok {
						want = uint32(1100 + i)
					}
					if v != want {
						t.Errorf("%s by %d in segments of %d, lane %d: %d, want %d", mode, k, width, i, v, want)
					}
				}
			}
		}
	}
}

// Of 40 threads the second warp has 8: full masks mean those that are there.
func TestVotes(t *testing.T) {
	ballot := func(m func(i int) bool, n int) uint32 {
		var b uint32
		for i := range n {
			if m(i) {
				b |= 1 << i
			}
		}
		return b
	}
	odd := "and.b32 %r3, %r1, 1; setp.eq.u32 %p1, %r3, 1;"
	for _, k := range []struct {
		body string
		want func(i, n int) uint32
	}{
		{odd + "vote.sync.ballot.b32 %r9, %p1, -1;", func(i, n int) uint32 {
			return ballot(func(i int) bool { return i%2 == 1 }, n)
		}},
		{odd + "vote.sync.ballot.b32 %r9, !%p1, -1;", func(i, n int) uint32 {
			return ballot(func(i int) bool { return i%2 == 0 }, n)
		}},
		{odd + "vote.sync.any.pred %p2, %p1, -1; selp.b32 %r9, 1, 0, %p2;", func(i, n int) uint32 { return 1 }},
		{odd + "vote.sync.all.pred %p2, %p1, -1; selp.b32 %r9, 1, 0, %p2;", func(i, n int) uint32 { return 0 }},
		{odd + "vote.sync.uni.pred %p2, %p1, -1; selp.b32 %r9, 1, 0, %p2;", func(i, n int) uint32 { return 0 }},
		{"setp.ge.u32 %p1, %r1, 32; vote.sync.all.pred %p2, %p1, -1; selp.b32 %r9, 1, 0, %p2;", func(i, n int) uint32 {
			return uint32(i / 32)
		}},
		{"shr.u32 %r3, %r1, 2; match.any.sync.b32 %r9, %r3, -1;", func(i, n int) uint32 {
			return 15 << (i % 32 / 4 * 4)
		}},
		{"match.all.sync.b32 %r9|%p1, %r2, -1;", func(i, n int) uint32 { return uint32(mask(n)) }},
		{"match.all.sync.b32 %r9, %r1, -1;", func(i, n int) uint32 { return 0 }},
		{"redux.sync.add.u32 %r9, %r1, -1;", func(i, n int) uint32 { return uint32(n*(n-1)/2 + i/32*32*n) }},
		{"neg.s32 %r3, %r1; redux.sync.min.s32 %r9, %r3, -1;", func(i, n int) uint32 {
			return -uint32(i/32*32 + n - 1)
		}},
		{"max.u32 %r3, %r1, 1; neg.s32 %r3, %r3; redux.sync.max.u32 %r9, %r3, -1;", func(i, n int) uint32 {
			return uint32(-max(1, i/32*32))
		}},
		{"redux.sync.or.b32 %r9, %r1, -1;", func(i, n int) uint32 { return uint32(31 + i/32*8) }},
		{"redux.sync.xor.b32 %r9, %r1, -1;", func(i, n int) uint32 { return 0 }},
		{"redux.sync.and.b32 %r9, %r1, -1;", func(i, n int) uint32 { return uint32(i / 32 * 32) }},
		{"elect.sync %r9|%p1, -1;", func(i, n int) uint32 { return 0 }},
		{"activemask.b32 %r9;", func(i, n int) uint32 { return uint32(mask(n)) }},
		{odd + "@%p1 bra a; activemask.b32 %r9; bra b; a: activemask.b32 %r9; b:", func(i, n int) uint32 {
			return 0x55555555 << (i % 2) & uint32(mask(n))
		}},
		{odd + "@%p1 bra a; bra b; a: bar.warp.sync 0xaaaaaaaa; b: activemask.b32 %r9;", func(i, n int) uint32 {
			return uint32(mask(n))
		}},
		{odd + "barrier.sync.aligned 0; bar.red.popc.u32 %r9, 0, %p1;", func(i, n int) uint32 { return 20 }},
		{odd + "bar.red.or.pred %p2, 1, %p1; selp.b32 %r9, 1, 0, %p2;", func(i, n int) uint32 { return 1 }},
		{odd + "barrier.cta.red.and.pred %p2, 2, %p1; selp.b32 %r9, 1, 0, %p2;", func(i, n int) uint32 { return 0 }},
		{"mov.u32 %r3, %laneid; mov.u32 %r4, %lanemask_lt; popc.b32 %r4, %r4; sub.s32 %r9, %r3, %r4;",
			func(i, n int) uint32 {
				return 0
			}},
		{"mov.u32 %r3, %lanemask_ge; mov.u32 %r4, %lanemask_eq; mov.u32 %r5, %lanemask_gt; or.b32 %r4, %r4, %r5; " +
			"xor.b32 %r9, %r3, %r4;", func(i, n int) uint32 {
			return 0
		}},
		{"mov.u32 %r9, 1; { .reg .b32 %r9; .reg .b64 t; mov.u32 %r9, WARP_SZ; cvt.u64.u32 t, %r9; { .reg .b32 t<2>; " +
			"mov.u32 t1, %r9; mov.u32 %r3, t1; } } { .reg .b32 t; mov.u32 t, %r9; add.s32 %r9, t, %r3; }",
			func(i, n int) uint32 {
				return 33
			}},
		{"mov.u32 %r3, %warpid; mov.u32 %r4, %nwarpid; mad.lo.s32 %r9, %r4, 10, %r3;", func(i, n int) uint32 {
			return uint32(20 + i/32)
		}},
		{"mov.u32 %r3, %ntid.x; mov.u32 %r4, %nctaid.y; mad.lo.s32 %r9, %r4, 1000, %r3;", func(i, n int) uint32 {
			return 1040
		}},
	} {
		// match.any of groups of four needs warps that are complete groups: 40 is
		for i, got := range lanesOf(t, 40, k.body) {
			n := 32
			if i >= 32 {
				n = 8
			}
			if want := k.want(i, n); got != want {
				t.Errorf("%s: lane %d: %#x, want %#x", k.body, i, got, want)
			}
		}
	}
}

// Lanes that diverge meet again, in nested ifs, loops of different lengths, tables and after exits.
func TestDivergence(t *testing.T) {
	for _, k := range []struct {
		name, body string
		want       func(i int) uint32
	}{
		{"loop",
			"mov.u32 %r9, 0; mov.u32 %r3, 0; a: setp.ge.u32 %p1, %r3, %r1; @%p1 bra b; add.s32 %r9, %r9, %r3; " +
				"add.s32 %r3, %r3, 1; bra a; b:",
			func(i int) uint32 { return uint32(i * (i - 1) / 2) }},
		{"loop with break and continue", `mov.u32 %r9, 0; mov.u32 %r3, 0;
			a: setp.ge.u32 %p1, %r3, 50; @%p1 bra d; add.s32 %r3, %r3, 1; and.b32 %r4, %r3, 3; setp.eq.u32 %p2, %r4, 0; @%p2 bra a;
			setp.gt.u32 %p3, %r3, %r1; @%p3 bra d; add.s32 %r9, %r9, %r3; bra a; d: vote.sync.ballot.b32 %r5, 1, -1; popc.b32 %r5, %r5; add.s32 %r9, %r9, %r5;`,
			func(i int) uint32 {
				s := 0
				for k := 1; k <= 50 && k <= i || k%4 == 0 && k <= 50; k++ {
					if k%4 != 0 {
						s += k
					}
				}
				return uint32(s + 32)
			}},
		{"table",
			`rem.u32 %r3, %r1, 3; t: .branchtargets x, y, x; brx.idx %r3, t; x: add.s32 %r9, %r1, 1000; bra z; y: mov.u32 %r9, 5; z:
			vote.sync.ballot.b32 %r5, 1, -1; popc.b32 %r5, %r5; add.s32 %r9, %r9, %r5;`,
			func(i int) uint32 {
				if i%3 == 1 {
					return 5 + 32
				}
				return uint32(i + 1032)
			}},
		{"guards",
			"setp.lt.u32 %p1, %r1, 20; mov.u32 %r9, 1; @%p1 mov.u32 %r9, 2; @!%p1 bar.warp.sync 0xfff00000; @%p1 bra " +
				"a; add.s32 %r9, %r9, 10; a:",
			func(i int) uint32 {
				if i%64 < 20 {
					return 2
				}
				return 11
			}},
	} {
		t.Run(k.name, func(t *testing.T) {
			for i, got := range lanesOf(t, 32, k.body) {
				if want := k.want(i); got != want {
					t.Errorf("lane %d: %d, want %d", i, got, want)
				}
			}
		})
	}
}

// Calls in diverged code, with recursion of different depths.
func TestCalls(t *testing.T) {
	text := header + `
.func (.param .b64 r) fib (.param .b32 n);
.visible .entry f(.param .u64 p) {
	.reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<3>;
	ld.param.u64 %rd1, [p];
	mov.u32 %r1, %tid.x;
	setp.lt.u32 %p1, %r1, 3;
	mov.u64 %rd3, 77;
	@%p1 bra a;
	{ .param .b32 x; st.param.b32 [x+0], %r1; .param .b64 y; call.uni (y), fib, (x); ld.param.b64 %rd3, [y+0]; }
a:	mul.wide.u32 %rd2, %r1, 8;
	add.s64 %rd1, %rd1, %rd2;
	st.global.u64 [%rd1], %rd3;
	ret;
}
.func (.param .b64 r) fib (.param .b32 n) {
	.reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<3>;
	.local .align 8 .b64 keep[1];
	ld.param.u32 %r1, [n];
	cvt.u64.u32 %rd1, %r1;
	setp.lt.u32 %p1, %r1, 2;
	@%p1 bra done;
	add.s32 %r2, %r1, -1;
	{ .param .b32 x; st.param.b32 [x], %r2; .param .b64 y; call (y), fib, (x); ld.param.b64 %rd2, [y]; }
	mov.u64 %rd4, keep;
	st.local.u64 [%rd4], %rd2;
	add.s32 %r2, %r1, -2;
	{ .param .b32 x; st.param.b32 [x], %r2; .param .b64 y; call (y), fib, (x); ld.param.b64 %rd3, [y]; }
	ld.local.u64 %rd2, [%rd4];
	add.s64 %rd1, %rd2, %rd3;
done:
	st.param.b64 [r+0], %rd1;
	ret;
}`
	m := parse(t, text)
	d := machine.NewDevice(machine.Options{})
	p := alloc(t, d, 64*8)
	if err := d.Launch(m, "f", dim(1), dim(12), 0, words(p)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 12*8)
	d.Read(p, b)
	fib := []uint64{0, 1}
	for i := range 12 {
		fib = append(fib, fib[i]+fib[i+1])
		want := fib[i]
		if i < 3 {
			want = 77
		}
		if got := binary.LittleEndian.Uint64(b[8*i:]); got != want {
			t.Errorf("fib(%d) = %d", i, got)
		}
	}
	endless := parse(t, header+`
.func g () { .local .align 8 .b64 x[100]; .reg .b64 %rd; mov.u64 %rd, x; st.local.u64 [%rd], 1; call g; ret; }
.func h () { call h; ret; }
.visible .entry f() { call g; ret; }
.visible .entry k() { call h; ret; }`)
	f := wantFault(t, d.Launch(endless, "f", dim(1), dim(3), 0, nil), machine.StackOverflow)
	if f.Func != "g" || f.Entry != "f" || !strings.Contains(f.Error(), "in g called by f") {
		t.Error(f)
	}
	wantFault(t, d.Launch(endless, "k", dim(1), dim(1), 0, nil), machine.StackOverflow)
	large := parse(t, header+".visible .entry f() { .local .b8 x[1000]; ret; }")
	d.SetStack(999)
	wantFault(t, d.Launch(large, "f", dim(1), dim(1), 0, nil), machine.StackOverflow)
	d.SetStack(1000)
	if err := d.Launch(large, "f", dim(1), dim(1), 0, nil); err != nil {
		t.Error(err)
	}
}

func TestAtomics(t *testing.T) {
	type atomic struct {
		op, ty string
		old, x uint64
		want   uint64
	}
	for _, a := range []atomic{
		{"add", "u32", 5, 0xffffffff, 4}, {"add", "u64", 1 << 63, 1<<63 + 3, 3}, {"add", "s32", 1, 2, 3},
		{"and", "b32", 12, 10, 8}, {"or", "b64", 12, 10, 14}, {"xor", "b32", 12, 10, 6}, {"exch", "b64", 12, 10, 10},
		{"exch", "b32", 12, 10, 10},
		{"inc", "u32", 5, 7, 6}, {"inc", "u32", 7, 7, 0}, {"inc", "u32", 8, 7, 0}, {"dec", "u32", 5, 7, 4},
		{"dec", "u32", 0, 7, 7}, {"dec", "u32", 8, 7, 7},
		{"min", "s32", 5, 0xffffffff, 0xffffffff}, {"min", "u32", 5, 0xffffffff, 5}, {"max", "s64", 5, 1 << 63, 5},
		{"max", "u64", 5, 1 << 63, 1 << 63},
		{"add", "f32", uint64(math.Float32bits(1)), uint64(math.Float32bits(0x1p-24)), uint64(math.Float32bits(1))},
		{"add", "f64", math.Float64bits(1), math.Float64bits(2.5), math.Float64bits(3.5)},
		{"add.noftz", "f16", 0x3c00, 0x3c00, 0x4000}, {"add.noftz", "bf16x2", 0x3f803f80, 0x3f804000, 0x40004040},
		{"cas", "b32", 5, 5, 99}, {"cas", "b64", 5, 6, 5}, {"cas", "b16", 5, 5, 99},
	} {
		ty, _ := ptx.TypeNamed(a.ty)
		for _, s := range []string{"global", "shared", ""} {
			mem := map[string]string{"global": "%rd2", "shared": "%rd6", "": "%rd9"}[s]
			dot := s
			if s != "" {
				dot = "." + s
			}
			l := map[int]string{16: "%h", 32: "%r", 64: "%rd"}[ty.Bits()]
			third := ""
			if a.op == "cas" {
				third = fmt.Sprintf(", %s8", l)
			}
			load := func(v uint64, r int) string { // a constant of any type
				if ty.Bits() == 64 {
					return fmt.Sprintf("mov.b64 %%rd%d, %d;", r+10, v)
				}
				return fmt.Sprintf("mov.b%d %s%d, %d;", ty.Bits(), l, r, v)
			}
			x, y, z := l+"5", l+"6", l+"7"
			if ty.Bits() == 64 {
				x, y, z = "%rd15", "%rd16", "%rd17"
				if third != "" {
					third = ", %rd18"
				}
			}
			body := fmt.Sprintf(
				"cvta.shared.u64 %%rd9, %%rd6; %s %s %s st%s.b%d [%s], %s; atom%s.%s.%s %s, [%s], %s%s; ld%s.b%d %s, "+
					"[%s]; st.global.b%d [%%rd2+512], %s; st.global.b%d [%%rd2+520], %s;",
				load(a.old, 5), load(a.x, 6), load(99, 8), dot, ty.Bits(), mem, x, dot, a.op, a.ty, z, mem, y, third,
				dot, ty.Bits(), x, mem, ty.Bits(), z, ty.Bits(), x)
			k, err := runKernel(t, body, 1, 1)
			if err != nil {
				t.Fatalf("%s\n%v", body, err)
			}
			b := make([]byte, 16)
			k.Read(k.out+512, b)
			if old, now := load64(b, ty), load64(b[8:], ty); old != a.old || now != a.want {
				t.Errorf("atom.%s.%s of %#x and %#x in %s memory: %#x, was %#x; want %#x", a.op, a.ty, a.old, a.x, s,
					now, old, a.want)
			}
		}
	}
	// every thread gets a value of its own
	k, err := runKernel(t,
		"mov.u32 %r3, %ntid.x; mad.lo.s32 %r3, %r3, %r2, %r1; atom.global.add.u32 %r4, [%rd1], 1; mul.wide.u32 %rd8, "+
			"%r3, 4; add.s64 %rd8, %rd8, %rd2; st.global.u32 [%rd8], %r4;", 4, 50)
	if err != nil {
		t.Fatal(err)
	}
	v := download(t, k.Device, k.out, 200)
	sort.Slice(v, func(i, j int) bool { return v[i] < v[j] })
	for i, x := range v {
		if x != uint32(i) {
			t.Fatalf("ticket %d is %d", i, x)
		}
	}
}

func load64(b []byte, t ptx.Type) uint64 { return binary.LittleEndian.Uint64(b) & mask(t.Bits()) }

// Values of memory of all widths, vectors, and extension to the width of the register.
func TestLoadsAndStores(t *testing.T) {
	k, err := runKernel(t, `
	mov.u32 %r3, 0x80818283; mov.u32 %r4, 4; mov.u32 %r5, 5; mov.u32 %r6, 6;
	st.global.v4.u32 [%rd2], {%r3, %r4, %r5, %r6};
	ld.global.s8 %r7, [%rd2+1]; st.global.u32 [%rd2+16], %r7;
	ld.global.u8 %r7, [%rd2+1]; st.global.u32 [%rd2+20], %r7;
	ld.global.s16 %rd8, [%rd2+2]; st.global.u64 [%rd2+24], %rd8;
	ld.global.v2.b64 {%rd8, %rd9}, [%rd2]; st.global.u64 [%rd2+32], %rd9;
	ld.global.v2.u16 {%h1, _}, [%rd2]; st.global.u16 [%rd2+40], %h1; st.global.u8 [%rd2+42], %r3; st.global.v2.u8 [%rd2+44], {%h1, %r4};
	ld.const.u32 %r7, [k+4]; st.global.u32 [%rd2+48], %r7;
	mov.u64 %rd8, g; st.u32 [%rd8+12], %r6; ld.global.u32 %r7, [g+12]; st.global.u32 [%rd2+52], %r7; ld.global.u32 %r7, [g]; st.global.u32 [%rd2+56], %r7;
	mov.u64 %rd8, s; cvta.shared.u64 %rd9, %rd8; cvta.to.shared.u64 %rd10, %rd9; sub.s64 %rd10, %rd10, %rd8; st.global.u64 [%rd2+64], %rd10;
	isspacep.shared %p1, %rd9; isspacep.global %p2, %rd2; and.pred %p3, %p1, %p2; isspacep.local %p4, %rd9; xor.pred %p3, %p3, %p4; selp.b32 %r7, 1, 0, %p3; st.global.u32 [%rd2+72], %r7;
`, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 76)
	k.Read(k.out, b)
	want := map[int]uint32{0: 0x80818283, 4: 4, 8: 5, 12: 6, 16: 0xffffff82, 20: 0x82, 24: 0xffff8081, 28: 0xffffffff,
		32: 5, 36: 6, 48: 2, 52: 6, 56: 0, 64: 0, 68: 0, 72: 1}
	for off, w := range want {
		if got := binary.LittleEndian.Uint32(b[off:]); got != w {
			t.Errorf("byte %d: %#x, want %#x", off, got, w)
		}
	}
	if got := b[40:46]; got[0] != 0x83 || got[1] != 0x82 || got[2] != 0x83 || got[4] != 0x83 || got[5] != 4 {
		t.Errorf("bytes 40 to 45: %x", got)
	}
}

// Blocks that run at the same time give what they give one after the other, and faults are found in both ways.
func TestWorkers(t *testing.T) {
	m := parse(t,
		kernel(
			"mov.u32 %r3, %ntid.x; mad.lo.s32 %r3, %r3, %r2, %r1; atom.global.add.u32 %r4, [%rd1], 1; mul.wide.u32 "+
				"%rd8, %r3, 4; add.s64 %rd8, %rd8, %rd2; st.global.u32 [%rd8], %r3;"))
	racy := parse(t, kernel("st.global.u32 [%rd5], %r1;"))
	for _, workers := range []int{1, 2, 7} {
		d := machine.NewDevice(machine.Options{Workers: workers})
		p, q := upload(t, d, []uint32{0}), alloc(t, d, 4*100*70)
		for range 3 {
			if err := d.Launch(m, "f", dim(100), dim(70), 0, words(p, q)); err != nil {
				t.Fatal(err)
			}
		}
		if n := download(t, d, p, 1)[0]; n != 3*7000 {
			t.Errorf("%d workers: %d tickets", workers, n)
		}
		for i, v := range download(t, d, q, 7000) {
			if v != uint32(i) {
				t.Fatalf("%d workers: element %d is %d", workers, i, v)
			}
		}
		wantFault(t, d.Launch(racy, "f", dim(100), dim(70), 0, words(p, q)), machine.Race)
		if err := d.Launch(m, "f", dim(100), dim(70), 0, words(p, q)); err != nil {
			t.Fatal(err)
		}
	}
}

// Warps that wait for each other without a barrier make progress.
func TestSpinning(t *testing.T) {
	_, err := runKernel(t, `
	setp.ne.u32 %p1, %r1, 0; @%p1 bra i; st.shared.u32 [%rd6], 0; i: bar.sync 0;
	setp.lt.u32 %p1, %r1, 32; @%p1 bra wait;
	setp.ne.u32 %p1, %r1, 32; @%p1 bra done; atom.shared.exch.b32 %r4, [%rd6], 1; bra done;
wait: ld.volatile.shared.u32 %r3, [%rd6]; setp.eq.u32 %p1, %r3, 0; @%p1 bra wait;
done:`, 1, 64)
	if err != nil {
		t.Fatal(err)
	}
}

// Source positions come from .loc, and threads have three coordinates.
func TestPositions(t *testing.T) {
	text := header + `
.visible .entry f(.param .u64 p) {
	.reg .b32 %r<5>; .reg .b64 %rd<5>; .reg .pred %p;
	.loc 1 12 3
	ld.param.u64 %rd1, [p];
	mov.u32 %r1, %tid.z; mov.u32 %r2, %tid.y; mov.u32 %r3, %ctaid.y;
	add.s32 %r1, %r1, %r2; add.s32 %r1, %r1, %r3;
	setp.lt.u32 %p, %r1, 4;
	@%p bra ok;
	.loc 1 13 7, function_name $L__info_string0, inlined_at 1 3 5
	trap;
ok:	ret;
}
	.file 1 "/src/f.heal"
`
	d := machine.NewDevice(machine.Options{})
	f := wantFault(t, d.Launch(parse(t, text), "f", [3]int{1, 2, 1}, [3]int{4, 3, 3}, 0, words(0)), machine.Trap)
	if f.Source != "/src/f.heal:13:7" || f.Block != [3]int{0, 0, 0} || f.Thread != [3]int{0, 2, 2} {
		t.Errorf("%+v", f)
	}
	if !strings.Contains(f.Error(), "from /src/f.heal:13:7") {
		t.Error(f)
	}
}

// TestMatrixProduct compares mma with a product of matrices, which are put together from the registers of lanes as the
// manual of PTX says (Matrix Fragments for mma.m16n8k32).
func TestMatrixProduct(t *testing.T) {
	register := func(lane, n int) uint32 { return uint32(100+lane) * uint32(2*n+1) * 0x01000193 }
	extend := map[string]func(x uint32) int32{
		"s8": func(x uint32) int32 { return int32(int8(x)) }, "u8": func(x uint32) int32 { return int32(uint8(x)) }}
	for _, types := range [][2]string{{"s8", "s8"}, {"s8", "u8"}, {"u8", "s8"}, {"u8", "u8"}} {
		var a [16][32]int32
		var b [32][8]int32
		for lane := range 32 {
			group, number := lane/4, lane%4
			for i := range 16 {
				row, column := group, number*4+i&3
				if i >= 4 && i < 8 || i >= 12 {
					row += 8
				}
				if i >= 8 {
					column += 16
				}
				a[row][column] = extend[types[0]](register(lane, i/4) >> (i % 4 * 8))
			}
			for i := range 8 {
				row := number*4 + i&3
				if i >= 4 {
					row += 16
				}
				b[row][group] = extend[types[1]](register(lane, 4+i/4) >> (i % 4 * 8))
			}
		}
		for n := range 4 {
			var body strings.Builder
			body.WriteString("{ .reg .b32 %x<14>;")
			for i := range 10 { // of a, b and the sums
				fmt.Fprintf(&body, "mul.lo.u32 %%x%d, %%r8, %d;", i, uint32(2*i+1)*0x01000193&0xffffffff)
			}
			fmt.Fprintf(&body, "mma.sync.aligned.m16n8k32.row.col.s32.%s.%s.s32 {%%x0, %%x11, %%x12, %%x13}, "+
				"{%%x0, %%x1, %%x2, %%x3}, {%%x4, %%x5}, {%%x6, %%x7, %%x8, %%x9}; mov.u32 %%r9, %%x%d; }",
				types[0], types[1], []int{0, 11, 12, 13}[n])
			for lane, got := range lanesOf(t, 32, body.String()) {
				row, column := lane/4+n/2*8, lane%4*2+n%2
				want := int32(register(lane, 6+n))
				for k := range 32 {
					want += a[row][k] * b[k][column]
				}
				if got != uint32(want) {
					t.Errorf("%v, sum %d of lane %d: %#x, want %#x", types, n, lane, got, uint32(want))
				}
			}
		}
	}
}
