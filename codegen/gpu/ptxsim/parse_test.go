package ptxsim

import (
	"errors"
	"os"
	"strings"
	"testing"

	"healc/codegen/gpu/ptx"
	"healc/codegen/gpu/ptxsim/machine"
	"healc/tests/claims"
)

// Each text is one of PTX, and no instruction of the line that ends with "// here" can be translated.
func TestTranslationErrors(t *testing.T) {
	body := func(s string) string {
		return header +
			".func (.param .b32 r) g(.param .b32 a);\n" +
			".visible .entry f(.param .u64 p, .param .align 8 .b8 q[16]) {\n" +
			".reg .b16 %h<3>; .reg .b32 %r<3>; .reg .f32 %f<3>; .reg .b64 %rd<3>; .reg .pred %p<3>;\n" + s +
			"\nret;\n}\n"
	}
	for _, k := range []struct{ text, want string }{
		{body("frobnicate.b32 %r1, %r2; // here"), "frobnicate is not known"},
		{body("add.x32 %r1, %r2, %r2; // here"), ".x32 is not supported"},
		{body("add.s32.x %r1, %r2, %r2; // here"), "modifier .x"},
		{body("add.ftz.f32 %f1, %f2, %f2; // here"), "subnormal numbers are kept"},
		{body("add.s32 %r1, %r2; // here"), "3 operands, not 2"},
		{body("add.s32 %r1, %r2, %r3; // here"), "register %r3 is not declared"},
		{body("add.s32 %r1, %r2, %h1; // here"), "%h1 has 16 bits"},
		{body("add.s32 %r1, %r2, %p1; // here"), "%p1 is a predicate"},
		{body("add.s32 %f1, %r2, %r1; // here"), "%f1 is a .f32"},
		{body("add.f32 %f1, %f2, 1; // here"), "written 0f"},
		{body("add.s32 %r1, %r2, 0f3F800000; // here"), "float constant"},
		{body("add.s32 5, %r2, %r1; // here"), "destination"},
		{body("setp.lt.b32 %p1, %r1, %r2; // here"), "order"},
		{body("setp.nan.s32 %p1, %r1, %r2; // here"), "compares floats"},
		{body("setp.lt.s32 %r1, %r1, %r2; // here"), "not a predicate"},
		{body("@%r1 bra a; // here\na:"), "not a predicate"},
		{body("bra a; // here"), "no label a"},
		{body("brx.idx %r1, t; // here"), "no list of targets t"},
		{body("mov.u32 %r1, %clock; // here"), "differs between runs"},
		{body("mov.u64 %rd1, y; // here"), "y is not declared"},
		{body("mov.u64 %rd1, p; // here"), "address of parameter p"},
		{body("mov.b64 {%r1, %r2, %r1}, %rd1; // here"), "3 parts"},
		{body("ex2.approx.f32 %f1, %f2; // here"), "refused"},
		{body("div.full.f32 %f1, %f2, %f1; // here"), "refused"},
		{body("sqrt.approx.f32 %f1, %f2; // here"), "refused"},
		{body("div.f32 %f1, %f2, %f1; // here"), "with .rn only"},
		{body("cvt.f32.s32 %f1, %r1; // here"), "needs .rn"},
		{body("cvt.s32.f32 %r1, %f1; // here"), "needs .rni"},
		{body("cvt.f16.f32 %h1, %f1; // here"), "needs .rn"},
		{body("cvt.rn.s32.u32 %r1, %r2; // here"), "does not round"},
		{body("ld.param.u64 %rd1, [x]; // here"), "name of a parameter"},
		{body("ld.param.u64 %rd1, [q+16]; // here"), "8 bytes at byte 16 of q, which has 16"},
		{body("ld.param.u64 %rd1, [q+4]; // here"), "8 bytes at byte 4"},
		{body("ld.global.v2.u32 {%r1, %r2, %r1}, [%rd1]; // here"), "2 elements, and 3"},
		{body("ld.global.u32 %r1, %rd1; // here"), "in brackets"},
		{body("ld.global.u32 %r1, [%h1]; // here"), "no address"},
		{body("st.param.u32 [q], %r1; // here"), "parameter of a kernel"},
		{body("atom.global.mul.u32 %r1, [%rd1], %r2; // here"), "needs an operation"},
		{body("atom.global.inc.s32 %r1, [%rd1], %r2; // here"), "does not exist"},
		{body("atom.global.add.f32 %r1, [%rd1], %r2; // here\nadd.s32 %f1, %r1, 1;"), "%f1 is a .f32"},
		{body("shfl.down.b32 %r1, %r2, 1, 31; // here"), "without .sync"},
		{body("vote.any.pred %p1, %p2; // here"), "without .sync"},
		{body("call (x), g, (x); // here"), "no body"},
		{body("call %rd1, (x); // here"), "indirect"},
		{body("call f; // here"), "calls of kernels"},
		{body("call nobody; // here"), "nobody is not declared"},
		{body("wmma.load.a.sync.aligned.m16n16k16.global.row.f16 {%r1}, [%rd1]; // here"), "wmma is not known"},
	} {
		_, err := Parse("test.ptx", k.text)
		var e *ptx.Error
		if !errors.As(err, &e) {
			t.Errorf("no error %q but %v in\n%s", k.want, err, k.text)
			continue
		}
		if !strings.Contains(e.Msg, k.want) {
			t.Errorf("%q has no %q", e.Error(), k.want)
		}
		if i := strings.Index(k.text, "// here"); e.Line != 1+strings.Count(k.text[:i], "\n") &&
			!strings.Contains(k.text, "here\nadd") {
			t.Errorf("%v: not the line", e)
		}
	}
}

// FuzzParse runs whatever can be parsed: no text may crash, hang or read out of bounds.
func FuzzParse(f *testing.F) {
	text, err := os.ReadFile("testdata/llvm19.ptx")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	for _, body := range []string{
		"bar.sync 0; st.shared.u32 [%rd7], %r1; ld.shared.u32 %r3, [%rd6];",
		"shfl.sync.bfly.b32 %r3|%p1, %r1, 1, 31, -1; vote.sync.ballot.b32 %r4, %p1, -1;",
		"a: setp.lt.u32 %p1, %r1, 5; @%p1 bra a; bar.warp.sync 0xff; bar.red.popc.u32 %r4, 0, %p1;",
		"t: .branchtargets a, b; brx.idx %r1, t; a: exit; b: trap;",
		"atom.global.add.u32 %r3, [%rd1], 1; ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1]; fma.rn.f32 %f1, %f2, " +
			"%f3, %f4;",
		"mov.u64 %rd8, l; cvta.local.u64 %rd9, %rd8; st.u16 [%rd9+3], %h1; bfe.u32 %r3, %r1, 300, 40; prmt.b32 %r4, " +
			"%r1, %r2, 0x3210; lop3.b32 %r5, %r1, %r2, %r3, 0x96;",
		"cvt.rn.bf16.f32 %h1, %f1; cvt.rzi.s64.f32 %rd8, %f1; add.cc.u32 %r3, %r1, %r2; addc.u32 %r4, %r1, %r2; " +
			"mul.hi.s64 %rd9, %rd8, %rd8;",
	} {
		f.Add(kernel(body))
	}
	f.Fuzz(func(t *testing.T, text string) {
		enough := claims.Within(t, len(text), 16<<20, 400)
		m, err := Parse("fuzz.ptx", text)
		enough()
		if err != nil {
			return
		}
		for _, entry := range m.Entries() {
			n := m.ParamBytes(entry)
			if n > 1<<16 {
				continue
			}
			d := machine.NewDevice(machine.Options{
				Bytes: 1 << 20, Instructions: 1e5, StackBytes: 4096, SharedBytes: 1 << 16})
			addr, err := d.Alloc(256)
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Memset(addr, 1, 128); err != nil {
				t.Fatal(err)
			}
			params := make([]byte, n)
			for i := 0; i+8 <= n; i += 8 {
				copy(params[i:], words(addr))
			}
			// a fault is an answer, too
			_ = d.Launch(m, entry, dim(2), dim(40), 64, params)
		}
	})
}
