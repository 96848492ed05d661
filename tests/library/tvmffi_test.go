package library

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"healc/codegen"
	"healc/codegen/llvm/aot"
)

const tvmSource = `
pub fn axpy[N](a: f32, x: f32[N], y: f32[N]) -> f32[N] = a .* x .+ y
pub fn total[N](x: f64[N], on: bool) -> f64 = if on { +/(x) } else { 0.0 }
pub fn pair[N](x: i32[N], i: u8) -> (i32[N], i64, i16, bool) =
    (x .+ 1, (i as i64) * 2, 0_i16 - (i as i16), x[0] > 0)
pub fn ramp[N]() -> i32[N] = tabulate(N, |i| i as i32)
pub fn bump[N](x: &mut f32[N], by: f16) -> () = { x[0] = x[0] + (by as f32); }
pub fn cut[N](x: f32[N]) -> f32[N - 2] = x[1 .. N - 1]
pub fn at(x: i64[4], i: i32) -> i64 = x[i]
pub fn not_all[N](x: bool[N]) -> bool = !(&&/(x))
`

// TestTVM: functions for tvm-ffi take what it passes, without copies, return tensors of the caller's library and
// numbers, and say what does not fit; without libtvm_ffi they write into what they are given.
func TestTVM(t *testing.T) {
	cc := compiler(t)
	l := libraryOf(t, "s", tvmSource, "axpy", "total", "pair", "ramp", "bump", "cut", "at", "not_all")
	l.Target.CPU = plain
	if err := l.ForTVM(); err != nil {
		t.Fatal(err)
	}
	objects, err := aot.Objects(l)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	inFolder(t, dir, map[string]string{"libs.so": linked(t, l, objects, "libs.so")})
	for _, flag := range []string{"-DWITH", "-DALONE"} {
		path := filepath.Join(dir, "tvmffi"+flag)
		out, err := exec.Command(cc, "-O1", flag, filepath.Join("testdata", "tvmffi.c"), filepath.Join(dir, "libs.so"),
			"-Wl,-rpath,"+dir, "-rdynamic", "-lpthread", "-lm", "-o", path).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		silent(t, path)
	}
}

// TestTVMUnsupported: elements that DLPack packs are refused.
func TestTVMUnsupported(t *testing.T) {
	l := libraryOf(t, "s", "pub fn f(x: i4[8]) -> i32[8] = x as i32\n", "f")
	err := l.ForTVM()
	if e := (*codegen.Unsupported)(nil); !errors.As(err, &e) || !strings.Contains(err.Error(), "tensors of i4") {
		t.Errorf("i4: %v", err)
	}
}
