package fusion

import (
	"healc/ir"
	"healc/ir/ops"
)

// Note [Loops in kernels]: a loop whose state is few scalars is one kernel, unless a step of it has work for
// many threads. Work is counted in elements that the kernel would compute for one step: values of one
// element once each, what the yields want of tensors for each element anew, because a kernel holds no
// tensors (see package bufferize). Above step_work the loop is a step of the plan, with kernels in it.

// Note [Steps as kernels]: a launch takes as long as launch_cost. Larger steps in one kernel save launches, but each
// kernel that wants a result of the loop holds the whole loop, and takes long to compile (docs/tuning/fusion-costs.md).

// loopFits reports that a loop can stand in a kernel, and should.
func loopFits(steps *ir.Steps, op *ir.Op) bool {
	if len(op.Results) == 0 || steps.Needs(op) {
		return false
	}
	for _, r := range op.Results {
		if elems(r.Type.Shape) == 0 && op.MayFail() {
			return false // a kernel without elements takes no steps, and a step may stop the program
		}
	}
	return regionWork(op.Regions[0]) <= float64(costs().StepWork)
}

// regionWork estimates the work of evaluating a region in a kernel.
func regionWork(b *ir.Block) float64 {
	w := &stepMeter{block: map[*ir.Op]bool{}}
	for _, op := range b.Ops {
		w.block[op] = true
	}
	sum := 0.0
	for _, op := range b.Ops { // a scalar is computed once
		if len(op.Results) > 0 && op.Results[0].Type.IsScalar() || op.IsLoop() {
			sum += w.own(op)
		}
	}
	for _, y := range b.Yields {
		sum += elems(y.Type.Shape) * w.element(y)
	}
	return sum
}

// A stepMeter estimates the cost of pulling single elements out of one region.
type stepMeter struct{ block map[*ir.Op]bool }

// tooMuch stands for what a kernel cannot do, and bounds the sums.
const tooMuch = 1e18

// element is the work behind one element of v.
func (w *stepMeter) element(v *ir.Value) float64 {
	if v.Def == nil || !w.block[v.Def] || v.Type.IsScalar() || v.Def.IsLoop() {
		return 1
	}
	return min(w.own(v.Def), tooMuch)
}

// own is the work of one element of op, with the elements that it reads of its region.
func (w *stepMeter) own(op *ir.Op) float64 {
	operands := 0.0
	seen := map[*ir.Value]bool{}
	for _, a := range op.Args {
		if !seen[a] {
			operands += w.element(a)
		}
		seen[a] = true
	}
	out := 1.0
	if len(op.Results) > 0 {
		out = max(elems(op.Results[0].Type.Shape), 1)
	}
	regions := 0.0
	for _, r := range op.Regions {
		regions += regionWork(r) / max(regionElems(r), 1)
	}
	switch op.Def.Class {
	case ir.Pointwise, ir.Source, ir.Reindex:
		return 1 + operands
	case ir.Reduce:
		return 1 + operands*elems(op.Args[0].Type.Shape)/out
	case ir.Contract:
		s := op.Args[0].Type.Shape
		return 1 + operands*sizeOf(s[len(s)-1])
	case ir.Host:
		for _, t := range append(ir.ArgTypes(op.Args), ir.ArgTypes(op.Results)...) {
			if !t.IsScalar() {
				return tooMuch
			}
		}
		return 1 + operands
	case ir.Scope:
		switch {
		case op.IsLoop() && !op.SmallState():
			return tooMuch
		case op.Def == ops.Fold:
			return 1 + (operands+regions)*elems(op.Args[len(op.Args)-1].Type.Shape)/out
		case op.Def == ops.Scan:
			s := op.Args[len(op.Args)-1].Type.Shape
			return 1 + (operands+regions)*sizeOf(s[len(s)-1])
		}
		return 1 + operands + regions
	}
	return tooMuch
}

// regionElems counts the elements that a region yields.
func regionElems(b *ir.Block) float64 {
	n := 0.0
	for _, y := range b.Yields {
		n += elems(y.Type.Shape)
	}
	return n
}

// assumedSteps stands for the number of steps of a loop, where it is not a constant.
const assumedSteps = 100

// steps estimates how often the region of a loop is evaluated.
func steps(op *ir.Op) float64 {
	if d := op.Args[0].Def; d != nil && d.Def == ops.Const {
		return float64(max(int32(d.Array("value").Bits[0]), 1))
	}
	return assumedSteps
}
