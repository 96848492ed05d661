package llvm

import (
	"healc/codegen/llvm/loops"
	"healc/codegen/llvm/matmul"
	"healc/codegen/llvm/reduce"
	"healc/codegen/llvm/transpose"
	"healc/ir/kernel/transform"
	"healc/runtime/abi"
)

// schedule tells the plan into how many tasks kernels are cut and at which multiples the others are best cut.
func (m *program) schedule() {
	width := m.decide()
	if width == nil {
		return
	}
	visitLaunches(m.Km.Plan, func(l *abi.Launch) {
		if c := m.contractions[l.Kernel]; c != nil && !c.Free {
			l.Tasks, l.Work, l.Bytes, l.Align = c.Units(), c.UnitWork(), 0, 1
			return
		}
		if w, here := width[l.Kernel]; here {
			l.Align = w
		}
	})
}

// decide finds the kernels that are matrix products, and at which multiples of an index the others are best cut, by
// their names; nil where there is no plan to tell, or the target has one iteration at a time.
func (m *program) decide() map[string]int64 {
	plan := m.Km.Plan
	if plan == nil || m.Machine.Narrow {
		return nil
	}
	launched := map[string]bool{}
	visitLaunches(plan, func(l *abi.Launch) { launched[l.Kernel] = true })
	width := map[string]int64{} // of the kernels of this module: others may be in another one
	for _, k := range m.Km.Kernels {
		width[k.Name] = 0
		if c := matmul.ContractionOf(k); c != nil && launched[k.Name] {
			c.Planned = c.Plan(m.Machine)
			if c.Planned || !c.Free {
				m.contractions[k.Name] = c
				width[k.Name] = c.Chunk
				continue
			}
		}
		if t := transpose.TranspositionOf(m.Module, k); t != nil {
			if t.Across == 0 {
				width[k.Name] = t.Part
			}
			continue
		}
		if len(k.Axes) == 1 {
			g := m.probe(k)
			_, body := transform.HoistInvariants(k)
			width[k.Name] = int64(loops.VectorWidth(g, k.Axes[0].Var, body))
			if c := reduce.ColumnStrip(g, k.Axes[0].Var, body); c != nil {
				width[k.Name] = int64(c.W)
			}
		}
	}
	return width
}

// visitLaunches calls f for every launch of a plan.
func visitLaunches(plan *abi.Program, f func(l *abi.Launch)) {
	var visit func(steps []abi.Step)
	visit = func(steps []abi.Step) {
		for _, s := range steps {
			if s.Launch != nil {
				f(s.Launch)
			}
			if s.If != nil {
				visit(s.If.Then)
				visit(s.If.Else)
			}
			if s.Loop != nil {
				visit(s.Loop.Body)
			}
		}
	}
	for _, f := range plan.Funcs {
		visit(f.Steps)
	}
}
