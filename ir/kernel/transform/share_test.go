package transform_test

import (
	"slices"
	"testing"

	"healc/ir/kernel/transform"
	"healc/runtime/abi"
)

// TestShare: kernels that differ in names and notes are one; those that differ in a constant, in what they write or in
// where a check fails are not. Launches in loops and branches follow.
func TestShare(t *testing.T) {
	m := parse(t, `kernels "m"

site 0 "divide_by_zero" at "m.heal":1:1 op "/" text "a"
site 1 "divide_by_zero" at "m.heal":2:1 op "/" text "b"

kernel @k0(in b0: i64[5], out b1: i64[5]) over %0 in 0..5 {
  note "add (line 1)"
  %1: i64 = load b0[%0]
  %2: i64 = const 1
  %3: i64 = add %1, %2
  store b1[%0], %3
}

kernel @k1(in b7: i64[5], out b8: i64[5]) over %0 in 0..5 {
  note "add (line 2)"
  %1: i64 = load b7[%0]
  %2: i64 = const 1
  %3: i64 = add %1, %2
  store b8[%0], %3
}

kernel @k2(in b0: i64[5], out b1: i64[5]) over %0 in 0..5 {
  %1: i64 = load b0[%0]
  %2: i64 = const 2
  %3: i64 = add %1, %2
  store b1[%0], %3
}

kernel @k3(in b0: i64[5], out b1: i64[5]) over %0 in 0..5 {
  %1: i64 = load b0[%0]
  %2: bool = lt %1, %1
  check divide_by_zero %2 site 0
  store b1[%0], %1
}

kernel @k4(in b0: i64[5], out b1: i64[5]) over %0 in 0..5 {
  %1: i64 = load b0[%0]
  %2: bool = lt %1, %1
  check divide_by_zero %2 site 1
  store b1[%0], %1
}
`)
	launch := func(name string) abi.Step { return abi.Step{Launch: &abi.Launch{Kernel: name}} }
	m.Plan = &abi.Program{Funcs: []*abi.Function{{Steps: []abi.Step{launch("k0"), launch("k1"), launch("k2"),
		{Loop: &abi.Loop{Body: []abi.Step{launch("k1"), launch("k3")}}},
		{If: &abi.If{Then: []abi.Step{launch("k4")}, Else: []abi.Step{launch("k1")}}}}}}}
	out := transform.Share(m)
	var names, launched []string
	for _, k := range out.Kernels {
		names = append(names, k.Name)
	}
	steps := out.Plan.Funcs[0].Steps
	for _, s := range slices.Concat(steps[:3], steps[3].Loop.Body, steps[4].If.Then, steps[4].If.Else) {
		launched = append(launched, s.Launch.Kernel)
	}
	if want := []string{"k0", "k2", "k3", "k4"}; !slices.Equal(names, want) {
		t.Errorf("kernels %q, want %q", names, want)
	}
	if want := []string{"k0", "k0", "k2", "k0", "k3", "k4", "k0"}; !slices.Equal(launched, want) {
		t.Errorf("launches %q, want %q", launched, want)
	}
	if len(m.Kernels) != 5 {
		t.Error("the module itself has lost kernels")
	}
}
