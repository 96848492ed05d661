package shard

import (
	"slices"

	"healc/ir"
	"healc/ir/ops"
	"healc/lang/types"
)

// StandIn is a function that gives what the types of f say, and nothing of what f computes, so that a chain of calls is
// not looked at once more for each of its functions; nil where f does not say how something is cut.
func StandIn(f *ir.Func) *ir.Func {
	plain := func(t types.Tensor) bool {
		return (t.Elem.IsNumber() || t.Elem == types.Bool) &&
			t.Layout == types.RowMajor && t.Place == types.OnHost
	}
	results := f.Results[:len(f.Results)-len(f.Updates)]
	if !Says(f) || slices.ContainsFunc(results, func(t types.Tensor) bool { return !plain(t) }) {
		return nil
	}
	c := *f
	c.Body = &ir.Block{}
	b := &ir.Builder{Block: c.Body, Span: f.Span}
	for _, v := range f.Params() {
		c.Body.Param(v.Name, v.Type, v.Span)
	}
	for i, y := range f.Body.Yields {
		var v *ir.Value
		if i < len(results) {
			v = b.Emit(ops.Const, ir.A{"value": ir.NewArray(y.Type.Elem)})
			if y.Type.Rank() > 0 {
				v = b.Emit(ops.Broadcast, ir.A{"shape": y.Type.Shape}, v)
			}
		} else {
			v = c.Params()[f.Updates[i-len(results)]]
		}
		if y.Def != nil && y.Def.Def == ops.Shard {
			v = b.Emit(ops.Shard, ir.A{"axis": y.Def.Int("axis"), "declared": true}, v)
		}
		c.Body.Yields = append(c.Body.Yields, v)
	}
	return &c
}
