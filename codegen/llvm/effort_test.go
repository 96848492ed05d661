package llvm

import (
	"testing"

	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/diag"
	"healc/lang/types"
	"healc/runtime/abi"
)

func TestBrief(t *testing.T) {
	const add = "kernels \"k\"\n\nkernel @k0(in b0: f32[4], out b1: f32[4]) over %0 in 0..4 {\n" +
		"  %1: f32 = load b0[%0]\n  store b1[%0], %1\n}\n"
	km, list := kernel.Parse(diag.NewFile("k", add))
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	lit := func(n int64) abi.Extent { return abi.Extent{Dim: types.Lit(n)} }
	launch := func(n, work int64) abi.Step {
		return abi.Step{Launch: &abi.Launch{Kernel: "k0", Outer: lit(n), Work: work}}
	}
	for _, c := range []struct {
		name   string
		steps  []abi.Step
		effort Effort
	}{
		{"nothing", nil, Least},
		{"small", []abi.Step{launch(4, 10)}, Least},
		{"longer", []abi.Step{launch(1<<15, 20)}, Quick},
		{"long", []abi.Step{launch(1<<24, 10)}, Full},
		{"much for each index", []abi.Step{launch(4, 1<<40)}, Full},
		{"very long", []abi.Step{launch(1<<60, 1<<60)}, Full},
		{"many", make([]abi.Step, 3000), Full},
		{"a loop", []abi.Step{{Loop: &abi.Loop{Body: []abi.Step{launch(4, 10)}}}}, Full},
		{"what is called", nil, Full},
		{"branches", []abi.Step{{If: &abi.If{Then: []abi.Step{launch(4, 10)}, Else: []abi.Step{launch(5, 10)}}}},
			Least},
		{"a long branch", []abi.Step{{If: &abi.If{Else: []abi.Step{launch(1<<24, 10)}}}}, Full},
		{"any shape",
			[]abi.Step{{Launch: &abi.Launch{Kernel: "k0", Outer: abi.Extent{Dim: types.Param("N")}, Work: 1}}}, Full},
	} {
		if c.name == "many" {
			for i := range c.steps {
				c.steps[i] = launch(100, 10)
			}
		}
		km.Plan = &abi.Program{Funcs: []*abi.Function{{Steps: c.steps}}}
		if c.name == "what is called" {
			km.Plan.Funcs = append(km.Plan.Funcs, &abi.Function{Steps: []abi.Step{launch(4, 10)}})
		}
		if got := EffortFor(km); got != c.effort {
			t.Errorf("%s: the effort is %v", c.name, got)
		}
	}
	two := *km
	other := *km.Kernels[0]
	other.Name = "k1"
	two.Kernels = append([]*kernel.Kernel{&other}, km.Kernels...)
	two.Plan = &abi.Program{Funcs: []*abi.Function{{Steps: []abi.Step{launch(4, 10),
		{Launch: &abi.Launch{Kernel: "k1", Outer: lit(1 << 24), Work: 10}}}}}}
	if got := EffortsFor(&two); got["k0"] != Least || got["k1"] != Full {
		t.Errorf("a short kernel beside a long one: %v", got)
	}
	km.Plan = &abi.Program{Funcs: []*abi.Function{{}}}
	body := km.Kernels[0].Body
	before := body.Stmts
	for bound, brief := range map[uint64]bool{64: true, assumedSteps: true, assumedSteps + 1: false, 1 << 63: false} {
		const count, loaded = 10, 1
		for _, x := range []kernel.Ref{count, loaded} {
			loop := &kernel.Iterate{Count: x, Body: &kernel.Block{}}
			body.Stmts = append(before[:len(before):len(before)],
				&kernel.Let{ID: count, In: scalar.Instr{Op: scalar.Const, Type: types.I64, Imm: bound}},
				&kernel.If{Then: &kernel.Block{}, Else: &kernel.Block{Stmts: []kernel.Stmt{loop}}})
			if want := brief && x == count; (EffortFor(km) != Full) != want {
				t.Errorf("a loop until something holds, of up to %d steps (known: %v): brief is %v", bound, x == count,
					!want)
			}
		}
	}
}
