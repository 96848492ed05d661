package passes

import "healc/ir"

// Expand replaces operations that the table defines by simpler ones, such as mean and var.
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
func Expand(m *ir.Module, remark Remark) error {
	for _, f := range m.Funcs {
		with := map[*ir.Value]*ir.Value{}
		ir.WalkBlocks(f.Body, func(b *ir.Block) { expandBlock(b, with, remark) })
		ir.Replace(f.Body, with)
	}
	return nil
}

// expandBlock rewrites the operations of b, but not those of regions. What an expansion is made of is
// expanded in turn.
func expandBlock(b *ir.Block, with map[*ir.Value]*ir.Value, remark Remark) {
	var out []*ir.Op
	var add func(op *ir.Op)
	add = func(op *ir.Op) {
		if op.Def.Expand == nil {
			out = append(out, op)
			return
		}
		sub := &ir.Block{}
		vals := op.Def.Expand(&ir.Builder{Block: sub, Span: op.Span}, op)
		if vals == nil {
			remark("left %s, whose program depends on an unknown extent", op.Def.Name)
			out = append(out, op)
			return
		}
		remark("expanded %s into %d operations", op.Def.Name, len(sub.Ops))
		for i, r := range op.Results {
			with[r] = vals[i]
		}
		for _, s := range sub.Ops {
			add(s)
		}
	}
	for _, op := range b.Ops {
		add(op)
	}
	b.Ops = out
}
