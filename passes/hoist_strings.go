package passes

import (
	"healc/ir"
	"healc/ir/ops"
	"healc/lang/types"
)

// HoistStrings takes operations on strings out of lambdas. The runtime does them between kernels, so one
// that stands in a lambda, which becomes part of a kernel, has to be computed before it. Operations on
// strings are pure, so that does not change what the program does, with one exception (docs/language.md,
// Limits): a string that is too long is an error even where no element asks for it. One that depends on the
// lambda's parameters stays, and bufferize refuses it.
//
// Requires: nothing. Establishes: no lambda holds an operation on strings that does not depend on its
// parameters.
//
//	%0: i32[3] = tabulate {shape = [3]} ^(%i: i32) {
//	  %1: i32 = str_len %s
//	  %2: i32 = add %i, %1
//	  yield %2
//	}
//
// becomes
//
//	%0: i32 = str_len %s
//	%1: i32[3] = tabulate {shape = [3]} ^(%i: i32) {
//	  %2: i32 = add %i, %0
//	  yield %2
//	}
func HoistStrings(m *ir.Module, remark Remark) error {
	for _, f := range m.Funcs {
		moved := hoistStrings(m, f.Body, false)
		if len(moved) > 0 {
			panic("BUG: strings leave the function " + f.Name)
		}
	}
	return nil
}

// hoistStrings goes through a block, innermost regions first, and returns the operations that leave it: none
// unless it is inside of a lambda. The arms of an `if` outside of lambdas keep theirs: they are steps.
func hoistStrings(m *ir.Module, b *ir.Block, lambda bool) []*ir.Op {
	strings := false
	var list []*ir.Op
	for _, op := range b.Ops {
		for _, r := range op.Regions {
			list = append(list, hoistStrings(m, r, lambda || op.Def != ops.If)...)
		}
		list = append(list, op)
	}
	b.Ops = list
	for _, op := range b.Ops {
		strings = strings || onStrings(op)
	}
	if !lambda || !strings {
		return nil
	}
	h := &stringHoister{m: m, here: map[*ir.Value]bool{}, free: map[*ir.Op]bool{}, out: map[*ir.Op]bool{}}
	for _, p := range b.Params {
		h.here[p] = true
	}
	for _, op := range b.Ops {
		for _, r := range op.Results {
			h.here[r] = true
		}
		h.free[op] = h.movable(op)
	}
	for _, op := range b.Ops {
		if onStrings(op) && h.free[op] {
			h.take(op)
		}
	}
	var kept, moved []*ir.Op
	for _, op := range b.Ops {
		if h.out[op] {
			moved = append(moved, op)
		} else {
			kept = append(kept, op)
		}
	}
	b.Ops = kept
	return moved
}

// onStrings reports an operation without effect that takes or gives a string.
func onStrings(op *ir.Op) bool {
	if op.Def.Traits.Has(ir.Effect) {
		return false
	}
	for _, t := range append(ir.ArgTypes(op.Args), ir.ArgTypes(op.Results)...) {
		if t.Elem == types.String {
			return true
		}
	}
	return false
}

type stringHoister struct {
	m    *ir.Module
	here map[*ir.Value]bool // defined in the block
	free map[*ir.Op]bool    // can leave the block
	out  map[*ir.Op]bool    // leaves it
}

// movable reports whether op can be computed before the block's operation: operations before it have been
// asked already.
func (h *stringHoister) movable(op *ir.Op) bool {
	if op.MayFail() && op.Def != ops.StrConcat || h.m.HasEffect(op) {
		return false
	}
	for _, v := range h.reads(op) {
		if h.here[v] && (v.Def == nil || !h.free[v.Def]) {
			return false
		}
	}
	return true
}

// reads are the operands of op and what its regions capture.
func (h *stringHoister) reads(op *ir.Op) []*ir.Value {
	out := append([]*ir.Value{}, op.Args...)
	for _, r := range op.Regions {
		out = append(out, ir.Captures(r)...)
	}
	return out
}

// take makes op leave the block, with what it needs.
func (h *stringHoister) take(op *ir.Op) {
	if h.out[op] {
		return
	}
	h.out[op] = true
	for _, v := range h.reads(op) {
		if h.here[v] {
			h.take(v.Def)
		}
	}
}
