package passes

import (
	"slices"
	"sync"

	"healc/ir"
)

// Expand replaces operations that the table defines by simpler ones, such as mean and var. Before that, an operation
// and the one that makes an operand for it alone become one that does both, where the table has one (OpDef.Merge).
//
// Requires: nothing. Establishes: no operation with an OpDef.Expand is left, except for one whose expansion depends on
// an extent that is symbolic; lowering reports that.
//
//	%0: f32 = mean %x {axes = [0]}
//
// becomes, for %x: f32[4],
//
//	%0: f32 = reduce_sum %x {axes = [0]}
//	%1: f32 = const {value = f32 4.0}
//	%2: f32 = broadcast %1 {shape = []}
//	%3: f32 = div %0, %2
func Expand(m *ir.Module, remark Remark) error { return expandBut(m, remark) }

// expandBut is Expand that leaves some operations as they are.
func expandBut(m *ir.Module, remark Remark, kept ...*ir.OpDef) error {
	for _, f := range m.Funcs {
		e := &expander{m: m, with: map[*ir.Value]*ir.Value{}, remark: remark, kept: kept,
			uses: sync.OnceValue(func() map[*ir.Value][]ir.Use {
				return ir.Uses(f.Body)
			})}
		ir.WalkBlocks(f.Body, e.block)
		ir.Replace(f.Body, e.with)
	}
	return nil
}

type expander struct {
	m      *ir.Module
	with   map[*ir.Value]*ir.Value
	kept   []*ir.OpDef
	uses   func() map[*ir.Value][]ir.Use
	out    []*ir.Op
	remark Remark
}

// block rewrites the operations of b, but not those of regions.
func (e *expander) block(b *ir.Block) {
	e.out = nil
	for _, op := range b.Ops {
		if op.Def.Merge == nil || !e.merge(op) {
			e.add(op)
		}
	}
	b.Ops = e.out
}

// add appends op, or what it is made of, which is expanded in turn.
func (e *expander) add(op *ir.Op) {
	if op.Def.Expand == nil || slices.Contains(e.kept, op.Def) {
		e.out = append(e.out, op)
		return
	}
	sub := &ir.Block{}
	vals := op.Def.Expand(&ir.Builder{Block: sub, Span: op.Span}, op)
	if vals == nil {
		e.remark("left %s, whose program depends on an unknown extent", op.Def.Name)
		e.out = append(e.out, op)
		return
	}
	e.remark("expanded %s into %d operations", op.Def.Name, len(sub.Ops))
	e.put(op, sub, vals)
}

// put appends the operations of sub in the place of op.
func (e *expander) put(op *ir.Op, sub *ir.Block, vals []*ir.Value) {
	for i, r := range op.Results {
		e.with[r] = vals[i]
	}
	for _, s := range sub.Ops {
		e.add(s)
	}
}

// merge makes op and one that makes an operand for it one.
func (e *expander) merge(op *ir.Op) bool {
	var gone *ir.Op
	made := func(arg int) *ir.Op {
		x := op.Args[arg]
		if x.Def == nil || len(x.Def.Results) != 1 || len(e.uses()[x]) != 1 {
			return nil
		}
		for i := len(e.out) - 1; i >= 0; i-- {
			before := e.out[i]
			if before == x.Def {
				gone = before
				return before
			}
			if before.MayFail() || e.m.HasEffect(before) {
				return nil
			}
		}
		return nil
	}
	sub := &ir.Block{}
	vals := op.Def.Merge(&ir.Builder{Block: sub, Span: op.Span}, op, made)
	if vals == nil {
		return false
	}
	e.remark("%s of %s is one operation", op.Def.Name, gone.Def.Name)
	e.out = slices.DeleteFunc(e.out, func(o *ir.Op) bool { return o == gone })
	e.put(op, sub, vals)
	return true
}
