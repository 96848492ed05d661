package library

import (
	"bytes"
	"debug/elf"
	goruntime "runtime"
	"strings"
	"testing"

	"healc/codegen/llvm/aot"
	"healc/internal/engine"
	"healc/lang/diag"
)

// TestSharedCode: kernels that two functions have in common have their code once, and so have transforms, whichever
// kernels call them, for each level whose processors have a use for other code: other instructions, or what their
// profile writes otherwise.
func TestSharedCode(t *testing.T) {
	if goruntime.GOARCH != "amd64" {
		t.Skip("the levels are those of x86-64")
	}
	const transform = "(a: i64[2, 64], p: i64[2], w: i64[2, 64]) -> i64[2, 64] = " +
		"ntt(a, p, w, 0..64, axis = -1, skip_perm = true)\n"
	m, err := engine.CompileFile(diag.NewFile("t.heal", "pub fn f"+transform+"pub fn g"+transform+
		"pub fn h(x: f32[8]) -> f32[8] = x .+ 1.0\n"+
		"pub fn fours(x: f32[16384]) -> f32[16384] = sigmoid(x)\n"+
		"pub fn streams(x: f32[4096, 4096]) -> f32[4096] = +/[axis=1](x)\n"+
		"pub fn digits(x: i64[1048576]) -> i64[1048576, 4] = g_decomposition(x, 4, 15)\n"+
		"pub fn other(a: i64[2, 64], p: i64[2], w: i64[2, 64]) -> i64[2, 64] = "+
		"ntt(a .+ 1, p, w, 0..64, axis = -1, skip_perm = true)\n"), engine.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	l, err := m.Library("t", []string{"f", "g", "h", "fours", "streams", "digits", "other"},
		func(string) map[string]int64 { return nil })
	if err != nil {
		t.Fatal(err)
	}
	objects, err := aot.Objects(l)
	if err != nil {
		t.Fatal(err)
	}
	defined := map[string]int{}
	for _, o := range objects {
		file, err := elf.NewFile(bytes.NewReader(o))
		if err != nil {
			t.Fatal(err)
		}
		symbols, err := file.Symbols()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range symbols {
			if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Section != elf.SHN_UNDEF {
				defined[s.Name]++
			}
		}
	}
	with := func(part string) (n int) {
		for name, times := range defined {
			if strings.Contains(name, part) {
				n += times
			}
		}
		return n
	}
	// The kinds of moduli are two for AVX2 and AVX-512 each, one before them, and three with IFMA, once more for
	// AMD's processors with intersections of vectors and once for Intel's with half floats.
	for part, want := range map[string]int{"ntt.64.": 14,
		"t.f.x86-64.": 1, "t.f.avx2.": 1, "t.f.avx512ifma.": 1, "t.f.avx512vnni.": 0, "t.f.avx512vp2intersect.": 1,
		"t.f.avx512fp16.": 1, "t.f.amx.": 0,
		"t.g.":        0,
		"t.h.avx512.": 1, "t.h.avx512ifma.": 0, "t.h.avx512vp2intersect.": 0,
		"t.other.avx2.": 1,
		// Zen 5 takes four vectors of a sigmoid at once, and keeps 32 MiB of results; Sapphire Rapids reads two rows
		// at once.
		"t.fours.avx512.": 1, "t.fours.avx512vnni.": 0, "t.fours.avx512vp2intersect.": 1, "t.fours.avx512fp16.": 0,
		"t.digits.avx512.": 1, "t.digits.avx512vp2intersect.": 1, "t.digits.avx512fp16.": 0,
		"t.streams.avx512.": 1, "t.streams.avx512fp16.": 1, "t.streams.amx.": 0,
	} {
		if got := with(part); got != want {
			t.Errorf("%d functions have %q in their names, and it should be %d: %v", got, part, want, defined)
		}
	}
}
