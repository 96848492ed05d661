package library

import (
	"math/rand/v2"
	goruntime "runtime"
	"slices"
	"testing"

	"healc"
	"healc/codegen/llvm/aot"
	"healc/codegen/target/profile"
	"healc/internal/engine"
	"healc/ir"
	"healc/lang/diag"
	"healc/lang/types"
	"healc/tests/random"
)

// TestTransformLevels: number theoretic transforms in a library give the interpreter's bits on every level. A processor
// of Intel's with half floats takes the level that is for those, and one of AMD's with intersections of vectors the one
// for these.
func TestTransformLevels(t *testing.T) {
	if goruntime.GOARCH != "amd64" {
		t.Skip("levels are of x86-64")
	}
	file := diag.NewFile("t.heal", `
import ring

fn plan() -> (i64[2], i64[2, 256], i64[2, 256], i64[2]) =
    ring.plan[2, 256]([ring.primes[1](50, 256)[0], ring.primes[1](59, 256)[0]])

fn f(a: i64[3, 2, 256], p: i64[2], w: i64[2, 256], v: i64[2, 256], m: i64[2]) -> (i64[3, 2, 256], i64[3, 2, 256]) = {
    let y = ring.forward[3, 2, 256](a, (p, w, v, m));
    (y, ring.inverse[3, 2, 256](a, (p, w, v, m)))
}
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
	l, err := m.Library("t", []string{"f"}, func(string) map[string]int64 { return nil })
	if err != nil {
		t.Fatal(err)
	}
	lib, err := Build(t.TempDir(), l)
	if err != nil {
		t.Fatal(err)
	}
	here, name := profile.Here(), lib.text(lib.Own("cpu"))
	for level, of := range map[string][2]string{"avx512fp16": {"GenuineIntel", "avx512_fp16"},
		"avx512vp2intersect": {"AuthenticAMD", "avx512_vp2intersect"}} {
		if (name == level) != (here.Vendor == of[0] && slices.Contains(here.Features, of[1])) {
			t.Errorf("the library takes %q on %s with %v", name, here.Vendor, here.Features)
		}
	}
	plan, err := random.Call(interp, "plan", nil, 1)
	if err != nil || plan.Failed != "" {
		t.Fatal(err, plan)
	}
	a := ir.NewArray(types.I64, 3, 2, 256)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range a.Bits {
		a.Bits[i] = r.Uint64N(plan.Results[0].Bits[i/256%2])
	}
	input := append([]*ir.Array{a}, plan.Results...)
	want, err := random.Call(interp, "f", input, 1)
	if err != nil || want.Failed != "" {
		t.Fatal(err, want)
	}
	for _, level := range aot.Levels {
		if ok, err := lib.UseCPU(level.Name); err != nil {
			t.Fatal(err)
		} else if !ok {
			t.Logf("%s is not tried: %s", level.Name, lib.LastError())
			continue
		}
		got, err := lib.Run(m.IR().Func("f"), l.Entries[0], input, 3)
		if err != nil {
			t.Fatal(err)
		}
		if d := random.Diff(want, got); d != "" {
			t.Errorf("%s: interpreter and library differ: %s", level.Name, d)
		}
	}
	if err := lib.Close(); err != nil {
		t.Fatal(err)
	}
}
