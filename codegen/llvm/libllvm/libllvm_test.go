package libllvm

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"testing"
)

// addKernel adds two arrays; the pointers are spelled as llir prints them.
const addKernel = `
define void @add(float** %args, i64 %begin, i64 %end) {
entry:
  %a = load float*, float** %args
  %b.p = getelementptr float*, float** %args, i64 1
  %b = load float*, float** %b.p
  %c.p = getelementptr float*, float** %args, i64 2
  %c = load float*, float** %c.p
  %any = icmp slt i64 %begin, %end
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
  %ap = getelementptr float, float* %a, i64 %i
  %bp = getelementptr float, float* %b, i64 %i
  %cp = getelementptr float, float* %c, i64 %i
  %av = load float, float* %ap
  %bv = load float, float* %bp
  %sum = fadd float %av, %bv
  store float %sum, float* %cp
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}
`

// mustOpen is the library that Open finds. Tests fail without one: a run that checked nothing must not look green.
func mustOpen(t testing.TB) *Lib {
	t.Helper()
	lib, err := Open()
	if err != nil {
		t.Fatalf("these tests need libLLVM: %v", err)
	}
	return lib
}

// installed opens one library of every supported version on this machine; two versions can be in one process.
var installed = sync.OnceValue(func() []*Lib {
	var libs []*Lib
	for _, v := range versions {
		for _, name := range names(v) {
			if lib, err := OpenPath(name); err == nil {
				libs = append(libs, lib)
				break
			}
		}
	}
	return libs
})

// eachVersion runs test with every installed version.
func eachVersion(t *testing.T, test func(t *testing.T, lib *Lib)) {
	t.Helper()
	mustOpen(t)
	for _, lib := range installed() {
		t.Run(lib.Version(), func(t *testing.T) { test(t, lib) })
	}
}

func mustCompile(t testing.TB, lib *Lib, ir string, o Options) []byte {
	t.Helper()
	out, err := lib.Compile(ir, o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestOutputs(t *testing.T) {
	eachVersion(t, func(t *testing.T, lib *Lib) {
		object := mustCompile(t, lib, addKernel, Options{OptLevel: 3})
		if !bytes.HasPrefix(object, []byte("\x7fELF")) {
			t.Errorf("object begins with %q", object[:min(4, len(object))])
		}
		if again := mustCompile(t, lib, addKernel, Options{OptLevel: 3}); !bytes.Equal(object, again) {
			t.Error("compiling twice gives different objects")
		}
		asm := mustCompile(t, lib, addKernel, Options{OptLevel: 3, Triple: "x86_64-linux-gnu", CPU: "x86-64-v3",
			Emit: Assembly})
		if !bytes.Contains(asm, []byte("\nadd:")) || !bytes.Contains(asm, []byte("vaddps")) {
			t.Errorf("assembly lacks the function or the vector loop:\n%s", asm)
		}
		ir := mustCompile(t, lib, addKernel, Options{OptLevel: 3, Triple: "x86_64-linux-gnu", CPU: "x86-64-v3",
			Emit: IR})
		for _, want := range []string{"define void @add(", "fadd <8 x float>", `target triple = "x86_64-`,
			"target datalayout = "} {
			if !bytes.Contains(ir, []byte(want)) {
				t.Errorf("optimised IR lacks %q:\n%s", want, ir)
			}
		}
	})
}

func TestTargets(t *testing.T) {
	lib := mustOpen(t)
	for triple, in := range map[string]struct{ cpu, want string }{
		"aarch64-unknown-linux-gnu": {"generic", "fadd\tv"}, // without SVE, which this machine may have
		"nvptx64-nvidia-cuda":       {"", "add.rn.f32"},
	} {
		if !lib.HasTarget(triple) {
			t.Errorf("%s %s cannot compile for %s", lib.Path(), lib.Version(), triple)
			continue
		}
		asm := mustCompile(t, lib, addKernel, Options{OptLevel: 3, Triple: triple, CPU: in.cpu, Emit: Assembly})
		if !bytes.Contains(asm, []byte(in.want)) {
			t.Errorf("%s: no %q in\n%s", triple, in.want, asm)
		}
	}
	if lib.HasTarget("sparc64-linux-gnu") {
		t.Error("HasTarget of a target that heal does not use")
	}
	if _, err := lib.Compile(addKernel, Options{Triple: "sparc64-linux-gnu"}); err == nil ||
		!strings.Contains(err.Error(), "unsupported target") {
		t.Errorf("compiling for sparc64: %v", err)
	}
}

func TestHost(t *testing.T) {
	eachVersion(t, func(t *testing.T, lib *Lib) {
		if _, ok := targetName(lib.HostTriple()); !ok {
			t.Errorf("host triple %q", lib.HostTriple())
		}
		if name, features := lib.HostCPU(); name == "" || !strings.ContainsAny(features, "+-") {
			t.Errorf("host cpu %q with features %q", name, features)
		}
		if _, err := os.Stat(lib.Path()); err != nil {
			t.Errorf("path of the library: %v", err)
		}
	})
}

// TestNoContraction holds language.md's rule that a multiplication and an addition stay two roundings,
// on processors where LLVM could fuse them.
func TestNoContraction(t *testing.T) {
	const ir = `
declare float @llvm.fma.f32(float, float, float)
define float @separate(float %a, float %b, float %c) {
  %p = fmul float %a, %b
  %s = fadd float %p, %c
  ret float %s
}
define float @fused(float %a, float %b, float %c) {
  %s = call float @llvm.fma.f32(float %a, float %b, float %c)
  ret float %s
}`
	eachVersion(t, func(t *testing.T, lib *Lib) {
		for _, c := range []struct{ triple, cpu, fma, mul string }{
			{"x86_64-linux-gnu", "x86-64-v3", "vfmadd", "vmulss"},
			{"aarch64-linux-gnu", "generic", "fmadd", "fmul"},
			{"nvptx64-nvidia-cuda", "sm_70", "fma.rn.f32", "mul.rn.f32"},
		} {
			asm := string(mustCompile(t, lib, ir, Options{OptLevel: 3, Triple: c.triple, CPU: c.cpu, Emit: Assembly}))
			if n := strings.Count(asm, c.fma); n != 1 {
				t.Errorf("%s: %d times %s, want 1 (from llvm.fma alone):\n%s", c.triple, n, c.fma, asm)
			}
			if !strings.Contains(asm, c.mul) {
				t.Errorf("%s: no %s:\n%s", c.triple, c.mul, asm)
			}
		}
	})
}

// TestTypedPointers compiles what llir may print: typed pointers in types, casts and names of intrinsics.
func TestTypedPointers(t *testing.T) {
	const ir = `
declare void @llvm.memcpy.p0i8.p0i8.i64(i8* nocapture writeonly, i8* nocapture readonly, i64, i1 immarg)
declare <4 x float> @llvm.masked.load.v4f32.p0v4f32(<4 x float>*, i32 immarg, <4 x i1>, <4 x float>)
define void @copy(i8** %args, i64 %n) {
  %d = load i8*, i8** %args
  %s.p = getelementptr i8*, i8** %args, i64 1
  %s = load i8*, i8** %s.p
  call void @llvm.memcpy.p0i8.p0i8.i64(i8* %d, i8* %s, i64 %n, i1 false)
  %v = bitcast i8* %s to <4 x float>*
  %x = call <4 x float> @llvm.masked.load.v4f32.p0v4f32(<4 x float>* %v, i32 4, <4 x i1> <i1 false, i1 true, i1 false, i1 true>, <4 x float> zeroinitializer)
  %w = bitcast i8* %d to <4 x float>*
  store <4 x float> %x, <4 x float>* %w, align 4
  ret void
}`
	eachVersion(t, func(t *testing.T, lib *Lib) {
		asm := mustCompile(t, lib, ir, Options{OptLevel: 3, Triple: "x86_64-linux-gnu", CPU: "x86-64-v3",
			Emit: Assembly})
		for _, want := range []string{"memcpy", "vmaskmov"} {
			if !bytes.Contains(asm, []byte(want)) {
				t.Errorf("no %q in\n%s", want, asm)
			}
		}
	})
}

func TestPasses(t *testing.T) {
	lib := mustOpen(t)
	const ir = "define i32 @k(i32 %x) {\n  %a = add i32 %x, 1\n  %b = sub i32 %a, 1\n  ret i32 %b\n}"
	plain := mustCompile(t, lib, ir, Options{OptLevel: 3, Passes: "no-op-module", Emit: IR})
	folded := mustCompile(t, lib, ir, Options{Passes: "function(instcombine)", Emit: IR})
	if !bytes.Contains(plain, []byte("%b = sub i32")) || bytes.Contains(folded, []byte("sub i32")) {
		t.Errorf("no-op-module gives\n%s\ninstcombine gives\n%s", plain, folded)
	}
}

func TestConcurrentCompiles(t *testing.T) {
	lib := mustOpen(t)
	want := mustCompile(t, lib, addKernel, Options{OptLevel: 3})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 4 {
				got, err := lib.Compile(addKernel, Options{OptLevel: 3})
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("a compilation beside others differs (error %v)", err)
				}
				// Errors use the shared tables of diagnostics.
				if _, err := lib.Compile("define void @k() { bad", Options{}); err == nil {
					t.Error("no error for malformed IR")
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkCompile(b *testing.B) {
	lib := mustOpen(b)
	for b.Loop() {
		if _, err := lib.Compile(addKernel, Options{OptLevel: 3}); err != nil {
			b.Fatal(err)
		}
	}
}
