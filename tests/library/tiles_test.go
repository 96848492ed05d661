package library

import (
	"math/rand/v2"
	goruntime "runtime"
	"testing"

	"healc"
	"healc/codegen/llvm/aot"
	"healc/internal/engine"
	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/diag"
	"healc/runtime/amx"
	"healc/tests/random"
	"healc/tests/sample"
)

// TestTileProducts: products of bytes and of bf16 in a library give the interpreter's bits on every level, and in a
// library for one processor with and without its tile registers, which it has where the system leaves them to this
// process.
func TestTileProducts(t *testing.T) {
	if goruntime.GOARCH != "amd64" {
		t.Skip("levels are of x86-64")
	}
	if !sample.Has(sample.Today(t), 1, 4) {
		t.Skip("it compiles for every level, and has a day of four")
	}
	file := diag.NewFile("t.heal", `
fn f[M, K, N](a: i8[M, K], b: i8[K, N]) -> i32[M, N] = (a as i32) @ (b as i32)
fn g[M, K, N](a: u8[K, M], b: u8[N, K], c: i32[N]) -> i32[M, N] = max(transpose(a as i32) @ transpose(b as i32) .- c, 0)
fn h[M, K, N](a: u8[2, M, K], b: i8[K, N]) -> u32[2, M, N] = (a as u32) @ (b as u32)
fn i[M, K, N](a: bf16[M, K], b: bf16[N, K]) -> bf16[M, N] = a @ transpose(b)
`)
	interp, err := engine.CompileFile(file, engine.Options{Backend: heal.Interp})
	if err != nil {
		t.Fatal(err)
	}
	defer interp.Close()
	m, err := engine.CompileFile(file, engine.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	levels := map[string][]string{
		"": {"x86-64", "avx2", "avx512", "avx512ifma", "avx512vnni", "avx512vp2intersect", "avx512fp16",
			"amx"},
		"sapphirerapids": {"sapphirerapids", "sapphirerapids+amx"},
	}
	for cpu, names := range levels {
		l, err := m.Library("t", []string{"f", "g", "h", "i"}, func(string) map[string]int64 { return nil })
		if err != nil {
			t.Fatal(err)
		}
		l.Target.CPU = cpu
		lib, err := Build(t.TempDir(), l)
		if err != nil {
			t.Fatal(err)
		}
		best := lib.text(lib.Own("cpu"))
		if tiled := names[len(names)-1]; (best == tiled) != amx.Permitted() {
			t.Errorf("of %v the library takes %q, and leave for tiles is %v", names, best, amx.Permitted())
		}
		for _, level := range names {
			ok, err := lib.UseCPU(level)
			if err != nil {
				t.Fatal(err)
			}
			if !ok || cpu != "" && !amx.Permitted() { // then this may be another processor
				t.Logf("%s is not tried: %s", level, lib.LastError())
				continue
			}
			for _, e := range l.Entries {
				for _, size := range [][3]int64{{1, 1, 1}, {33, 70, 47}, {7, 0, 5}, {0, 3, 3}, {70, 515, 100},
					{16, 64, 16}, {5, 2111, 33}} {
					sameTiles(t, interp, lib, m.IR().Func(e.Name), e, size, level)
				}
			}
		}
		if err := lib.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// sameTiles compares a function of a library with the interpreter, on bytes of any value and on numbers around 0.
func sameTiles(t *testing.T, interp *engine.Module, lib *Lib, f *ir.Func, e *aot.Entry, size [3]int64, level string) {
	t.Helper()
	m, k, n := size[0], size[1], size[2]
	shapes := map[string][][]int64{"f": {{m, k}, {k, n}}, "g": {{k, m}, {n, k}, {n}}, "h": {{2, m, k}, {k, n}},
		"i": {{m, k}, {n, k}}}
	r := rand.New(rand.NewPCG(uint64(m), uint64(k*n)))
	var input []*ir.Array
	for i, shape := range shapes[e.Name] {
		a := ir.NewArray(e.Params[i].Type.Elem, shape...)
		for j := range a.Bits {
			if a.Bits[j] = r.Uint64() >> (64 - a.DType.Bits()); a.DType.IsFloat() {
				a.Bits[j] = scalar.FloatBits(a.DType, r.NormFloat64())
			}
		}
		input = append(input, a)
	}
	want, err := random.Call(interp, e.Name, input, 1)
	if err != nil {
		t.Fatal(err)
	}
	got, err := lib.Run(f, e, input, uint64(m))
	if err != nil {
		t.Fatal(err)
	}
	if d := random.Diff(want, got); d != "" {
		t.Errorf("%s of %v, %s: interpreter and library differ: %s", e.Name, size, level, d)
	}
}
