package llvm

import (
	"bytes"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"healc/codegen"
	"healc/codegen/llvm/libllvm"
	"healc/codegen/target"
	"healc/codegen/target/profile"
	"healc/codegen/target/tuned"
	"healc/ir/kernel"
	"healc/lang/diag"
)

// twoSums are two kernels that are alike but for a constant.
const twoSums = `kernels "m"

kernel @a(in x: f32[4000000], in y: f32[4000000], out z: f32[4000000]) over %0 in 0..4000000 {
  %1: f32 = load x[%0]
  %2: f32 = load y[%0]
  %3: f32 = const 0.5
  %4: f32 = add %1, %2
  %5: f32 = mul %4, %3
  store z[%0], %5
}

kernel @b(in x: f32[4000000], in y: f32[4000000], out z: f32[4000000]) over %0 in 0..4000000 {
  %1: f32 = load x[%0]
  %2: f32 = load y[%0]
  %3: f32 = const 0.25
  %4: f32 = add %1, %2
  %5: f32 = mul %4, %3
  store z[%0], %5
}
`

// TestTuned: a kernel with numbers of its own is written as one whose profile has them, and the next one as ever.
func TestTuned(t *testing.T) {
	km, errs := kernel.Parse(diag.NewFile("m.kernels", twoSums))
	if errs.HasErrors() {
		t.Fatal(errs.Error())
	}
	set := tuned.Set{"prefetch.two_inputs": 0, "prefetch.distance": 512, "loops.short_body": 0}
	machine := target.Machine{Profile: profile.Named("zen4")}
	generate := func(o Options) (a, b string) {
		o.Machine = machine
		text, err := Generate(km, o)
		if err != nil {
			t.Fatal(err)
		}
		body := func(name string) string {
			_, text, _ := strings.Cut(text, "define internal void @"+name+".body(")
			text, _, _ = strings.Cut(text, "\n}")
			return text
		}
		return body("a"), body("b")
	}
	usualA, usualB := generate(Options{})
	changedA, changedB := generate(Options{Profile: set.On(machine.Profile)})
	if usualA == changedA || usualB == changedB || changedA == "" || changedB == "" {
		t.Fatal("the numbers change no code")
	}
	if a, b := generate(Options{Tuned: map[string]tuned.Set{"a": set}}); a != changedA || b != usualB {
		t.Errorf("with numbers for a:\n%s\n%s", a, b)
	}
	if a, b := generate(Options{Tuned: map[string]tuned.Set{"b": set, "c": set}}); a != usualA || b != changedB {
		t.Errorf("with numbers for b:\n%s\n%s", a, b)
	}
	of := map[string]tuned.Set{"b": set}
	usual, shown := Scheduled(km, machine, nil).Kernels, Scheduled(km, machine, of).Kernels
	for i, same := range []bool{true, false} {
		if got := usual[i].String() == shown[i].String(); got != same {
			t.Errorf("%s is scheduled as ever: %v", usual[i].Name, got)
		}
	}
}

// TestMachineWith: what a machine is said to do well follows from the numbers that it has.
func TestMachineWith(t *testing.T) {
	words, none := *profile.Base(), *profile.Base()
	words.NTT.Words, none.NTT.Words = 1, 0
	wide, narrow := target.Machine{}.WithDefaults(), target.Machine{VectorBits: 256}.WithDefaults()
	if !wide.With(&words).Mul64 || wide.With(&none).Mul64 || narrow.With(&words).Mul64 {
		t.Error("products of 64-bit integers are those of ntt.words in vectors of 512 bits")
	}
}

// TestMemo: libLLVM is asked once for a text, of several at once, too, and again where its target or its kernels are
// others.
func TestMemo(t *testing.T) {
	if _, err := libllvm.Open(); err != nil {
		t.Skip(err)
	}
	km, errs := kernel.Parse(diag.NewFile("m.kernels", twoSums))
	if errs.HasErrors() {
		t.Fatal(errs.Error())
	}
	var memo Memo
	made := func(cpu string, set tuned.Set) (code []byte, asked bool) {
		t.Helper()
		opts := Options{Memo: &memo, Tuned: map[string]tuned.Set{"a": set}, Took: func(stage string, _ time.Duration) {
			asked = asked || stage != "generate"
		}}
		code, err := CompileWith(km, codegen.Target{CPU: cpu}, libllvm.Object, opts)
		if err != nil {
			t.Error(err)
		}
		return code, asked
	}
	first, asked := made("", nil)
	if !asked {
		t.Error("nothing was made")
	}
	if again, asked := made("", nil); asked || !bytes.Equal(first, again) {
		t.Errorf("what was made is made again: %v", asked)
	}
	for _, other := range []struct {
		cpu string
		set tuned.Set
	}{{"x86-64", nil}, {"", tuned.Set{"prefetch.two_inputs": 0, "loops.short_body": 0}}} {
		if other.cpu != "" && codegenHostIsNotX86 {
			continue
		}
		if code, asked := made(other.cpu, other.set); !asked || bytes.Equal(first, code) {
			t.Errorf("for %+v: made %v", other, asked)
		}
	}
	memo = Memo{}
	var asks atomic.Int64
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if code, asked := made("", nil); !bytes.Equal(first, code) {
				t.Error("several at once make something else")
			} else if asked {
				asks.Add(1)
			}
		})
	}
	all.Wait()
	if n := asks.Load(); n != 1 {
		t.Errorf("of four at once, %d ask libLLVM", n)
	}
}
