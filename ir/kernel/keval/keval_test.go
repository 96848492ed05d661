package keval

import (
	"errors"
	"strings"
	"testing"

	"healc/ir"
	"healc/ir/kernel"
	"healc/lang/diag"
	"healc/lang/types"
	"healc/runtime/abi"
)

// program is one kernel of an input and an output of four elements, launched once.
func program(t *testing.T, body string) *kernel.Module {
	t.Helper()
	m, errs := kernel.Parse(diag.NewFile("k", `kernels "m"
site 0 "index" at "f.heal":1:2 op "index" text "x[i]"
kernel @k(in x: f32[4], out y: f32[4]) over %0 in 0..4 {
`+body+"\n}\n"))
	if errs.HasErrors() {
		t.Fatal(errs.Error())
	}
	four := []abi.Extent{{Dim: types.Lit(4)}}
	shape := []types.Dim{types.Lit(4)}
	m.Plan = &abi.Program{Funcs: []*abi.Function{{
		Buffers: []abi.Buffer{{Kind: abi.Input, DType: types.F32, Shape: four},
			{Kind: abi.Output, DType: types.F32, Shape: four}},
		Params:  []int{0},
		Results: []abi.View{{Buffer: 1, Shape: shape, Strides: []types.Dim{types.Lit(1)}}},
		Steps:   []abi.Step{{Launch: &abi.Launch{Kernel: "k", Args: []int{0, 1}, Outer: four[0]}}},
	}}}
	return m
}

func run4(m *kernel.Module) ([]*ir.Array, error) {
	return Run(m, nil, []*ir.Array{{DType: types.F32, Shape: []int64{4}, Bits: []uint64{1, 2, 3, 4}}}, nil)
}

func TestRun(t *testing.T) {
	out, err := run4(program(t, "  %1: f32 = load x[-1*%0 + 3]\n  store y[%0], %1"))
	if err != nil || out[0].Bits[0] != 4 || out[0].Bits[3] != 1 {
		t.Errorf("%v, %v", out, err)
	}
}

// TestUntil: a loop ends by what its condition was in the step, also where that is carried, and another value after it.
func TestUntil(t *testing.T) {
	out, err := run4(program(t, `  %1: f32 = load x[%0]
  %2: i64 = const 3
  %3: bool = const true
  %4: bool = const false
  %5: f32, %6: bool = iterate %7 upto %2 carry %8: f32 = %1, %9: bool = %3 {
    %10: f32 = add %8, %8
    next %10, %4
    until %9
  }
  store y[%0], %5`))
	if err != nil || out[0].Bits[2] != 6 {
		t.Errorf("%v, %v", out, err)
	}
}

// TestBrokenPromises: what generated code must never do is an error that is no *Failure.
func TestBrokenPromises(t *testing.T) {
	for body, want := range map[string]string{
		"  %1: f32 = load x[%0 + 1]\n  store y[%0], %1": "out of bounds",
		"  %1: f32 = load x[%0]\n  store y[0], %1":      "written twice",
		"  %1: f32 = load x[0]\n  store y[%0 + 4], %1":  "out of bounds",
		"  %1: i64 = const 2\n  %2: bool = lt %0, %1\n  %3: f32 = const 1.0\n  if %2 {\n    store y[%0], %3\n" +
			"  } else {\n  }": "never written",
	} {
		_, err := run4(program(t, body))
		var f *Failure
		if err == nil || errors.As(err, &f) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %q, for\n%s", err, want, body)
		}
	}
}

func TestFailure(t *testing.T) {
	_,
		err := run4(program(t,
		"  %1: i64 = const 3\n  %2: bool = lt %0, %1\n  check index %2, %0, %1 site 0\n  %3: f32 = load x[%0]\n"+
			"  store y[%0], %3"))
	var f *Failure
	if !errors.As(err, &f) || f.Site.Op != "index" || f.Info != [2]int64{3, 3} {
		t.Errorf("%v", err)
	}
}

// TestArena: a buffer of the arena cannot be read after its life.
func TestArena(t *testing.T) {
	m := program(t, "  %1: f32 = load x[%0]\n  store y[%0], %1")
	f := m.Plan.Funcs[0]
	temp := f.Buffers[1]
	temp.Kind, temp.First, temp.Last = abi.Temp, 0, 0
	f.Buffers = append(f.Buffers, temp)
	one := func(from, to int) abi.Step {
		return abi.Step{Launch: &abi.Launch{Kernel: "k", Args: []int{from, to}, Outer: temp.Shape[0]}}
	}
	f.Steps = []abi.Step{one(0, 2), one(2, 1)}
	if _, err := run4(m); err == nil || !strings.Contains(err.Error(), "never written") {
		t.Errorf("%v", err)
	}
	f.Buffers[2].Last = 1
	if _, err := run4(m); err != nil {
		t.Error(err)
	}
}
