package lower

import (
	"fmt"

	"healc/ir"
	"healc/lang/types"
)

// finish keeps what the outputs need, and what may stop the program, and numbers the values.
func (l *lowerer) finish() *Program {
	p := &Program{Module: &ir.Module{Name: "transcript"}, File: l.file, Inputs: l.inputs, Slots: len(l.inputs)}
	live := map[*version]bool{}
	for _, o := range l.outputs {
		if o.Fill == nil {
			live[o.from] = true
		}
	}
	// Backwards: what a step needs is alive in the steps before it.
	kept := make([][]*version, len(l.steps))
	for i := len(l.steps) - 1; i >= 0; i-- {
		kept[i] = l.steps[i].prune(live)
	}
	slots := map[*version]int{}
	slot := func(w *version) int {
		if w.input >= 0 {
			return w.input
		}
		n, ok := slots[w]
		if !ok {
			panic("BUG: a tensor of a transcript is read before it is made")
		}
		return n
	}
	for i, s := range l.steps {
		step := Step{Segment: s.segment, First: s.first, Last: s.last, Ops: s.ops}
		if len(s.body.Ops) > 0 || len(kept[i]) > 0 {
			step.Func = fmt.Sprintf("entries_%d_to_%d", s.first, s.last)
			f := &ir.Func{Name: step.Func, Body: s.body, Public: true}
			for k, w := range s.from {
				s.body.Params[k].Index, s.body.Params[k].Name = k, fmt.Sprintf("x%d", k)
				step.Args = append(step.Args, slot(w))
			}
			for _, w := range kept[i] {
				slots[w] = p.Slots
				step.Results = append(step.Results, p.Slots)
				p.Slots++
				s.body.Yields = append(s.body.Yields, w.value)
				f.Results = append(f.Results, types.Tensor{Elem: w.typ.Elem, Shape: w.typ.Shape})
			}
			p.Module.Funcs = append(p.Module.Funcs, f)
		}
		p.Steps = append(p.Steps, step)
	}
	for _, o := range l.outputs {
		if o.Value = -1; o.Fill == nil {
			o.Value = slot(o.from)
		}
		p.Outputs = append(p.Outputs, o.Output)
	}
	return p
}

// prune drops the operations and parameters of a step that nothing needs. live has what later steps read; prune adds
// what this one does, and returns what it has to give.
func (s *step) prune(live map[*version]bool) []*version {
	var results []*version
	needed := map[*ir.Value]bool{}
	for _, w := range s.made {
		if live[w] {
			results = append(results, w)
			needed[w.value] = true
		}
	}
	var ops []*ir.Op
	for i := len(s.body.Ops) - 1; i >= 0; i-- {
		op := s.body.Ops[i]
		keep := op.MayFail()
		for _, r := range op.Results {
			keep = keep || needed[r]
		}
		if !keep {
			continue
		}
		ops = append(ops, op)
		for _, a := range op.Args {
			needed[a] = true
		}
	}
	for i, k := 0, len(ops)-1; i < k; i, k = i+1, k-1 {
		ops[i], ops[k] = ops[k], ops[i]
	}
	s.body.Ops = ops
	var params []*ir.Value
	var from []*version
	for i, p := range s.body.Params {
		if needed[p] {
			params, from = append(params, p), append(from, s.from[i])
			live[s.from[i]] = true
		}
	}
	s.body.Params, s.from = params, from
	return results
}
