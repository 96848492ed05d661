package passes

import (
	"slices"

	"healc/ir"
)

// LICM (loop-invariant code motion) computes what is the same in every step of a loop once, before it. Only work is
// moved, with what it is computed from: views, constants and a few instructions an element are as cheap in the step,
// where they fuse. What can fail stays, because a loop may run no step; so do effects and calls.
//
// Requires: nothing. Establishes: no reduction, product, region or expensive function of a loop's step
// depends on values from outside of the loop alone, unless it can fail.
//
//	%0: f32[4] = iterate %n, %v ^(%i: i32, %s: f32[4]) {
//	  %1: f32[4, 4] = matmul %a, %a
//	  %2: f32[4, 1] = reshape %s {shape = [4, 1]}
//	  %3: f32[4, 1] = matmul %1, %2
//	  ...
//
// becomes
//
//	%0: f32[4, 4] = matmul %a, %a
//	%1: f32[4] = iterate %n, %v ^(%i: i32, %s: f32[4]) {
//	  %2: f32[4, 1] = reshape %s {shape = [4, 1]}
//	  %3: f32[4, 1] = matmul %0, %2
//	  ...
func LICM(m *ir.Module, remark Remark) error {
	for _, f := range m.Funcs {
		hoistBlock(m, f.Body, remark)
	}
	return nil
}

func hoistBlock(m *ir.Module, b *ir.Block, remark Remark) {
	var out []*ir.Op
	for _, op := range b.Ops {
		for _, r := range op.Regions { // inner ones first: what comes out of them may come out of this one
			hoistBlock(m, r, remark)
		}
		if op.IsLoop() {
			for _, in := range hoisted(m, op.Regions[0]) {
				remark("moved %s out of a loop", in.Def.Name)
				out = append(out, in)
			}
		}
		out = append(out, op)
	}
	b.Ops = out
}

// hoisted takes operations out of the region of a loop and returns them in order.
func hoisted(m *ir.Module, region *ir.Block) []*ir.Op {
	changes := map[*ir.Value]bool{} // from step to step, or stays for another reason
	for _, p := range region.Params {
		changes[p] = true
	}
	same := map[*ir.Op]bool{}
	stopped := hasStop(region)
	for _, op := range region.Ops {
		if stays(m, op, changes) || stopped && !plain(op) {
			for _, r := range op.Results {
				changes[r] = true
			}
			continue
		}
		same[op] = true
	}
	move := map[*ir.Op]bool{}
	for i := len(region.Ops) - 1; i >= 0; i-- {
		op := region.Ops[i]
		if !same[op] || !move[op] && !isWork(op) {
			continue
		}
		move[op] = true
		for _, v := range reads(op) {
			if v.Def != nil && same[v.Def] {
				move[v.Def] = true
			}
		}
	}
	var out, kept []*ir.Op
	for _, op := range region.Ops {
		if move[op] {
			out = append(out, op)
		} else {
			kept = append(kept, op)
		}
	}
	region.Ops = kept
	return out
}

// stays reports that op depends on a value that changes, or must not be evaluated when the loop runs no step.
func stays(m *ir.Module, op *ir.Op, changes map[*ir.Value]bool) bool {
	if op.Def.Class == ir.Host || op.Def.Class == ir.Fused || m.HasEffect(op) || op.MayFail() {
		return true
	}
	for _, v := range reads(op) {
		if changes[v] {
			return true
		}
	}
	return false
}

// plain reports that literal extents and shape parameters are all that op has, so that it has a meaning where a stop
// ends the program, too.
func plain(op *ir.Op) bool {
	all := true
	check := func(op *ir.Op) {
		for _, v := range append(slices.Clone(op.Args), op.Results...) {
			for _, d := range v.Type.Shape {
				_, literal := d.Const()
				_, param := d.AsParam()
				all = all && (literal || param)
			}
		}
	}
	check(op)
	for _, r := range op.Regions {
		ir.Walk(r, check)
	}
	return all
}

// reads lists operands, and what the regions capture.
func reads(op *ir.Op) []*ir.Value {
	out := append([]*ir.Value{}, op.Args...)
	for _, r := range op.Regions {
		out = append(out, ir.Captures(r)...)
	}
	return out
}

// isWork reports that op is worth a place in memory, or a register, for as long as the loop runs.
func isWork(op *ir.Op) bool {
	switch op.Def.Class {
	case ir.Reduce, ir.Contract, ir.Rows, ir.Scope:
		return true
	case ir.Pointwise:
		return !op.Def.Traits.Has(ir.Cheap)
	}
	return false
}
