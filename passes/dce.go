package passes

import (
	"healc/ir"
	"healc/ir/ops"
)

// DCE removes operations whose results nobody uses, and results of `if` that nobody uses. Operations with
// effects stay, and so do those that can stop the program, unless it is proven that they do not.
//
// Requires: nothing. Establishes: every pure operation has a use.
//
//	%0: f32[N] = exp %x
//	%1: i32 = div %a, %b
//	return %x
//
// becomes
//
//	%0: i32 = div %a, %b
//	return %x
func DCE(m *ir.Module, remark Remark) error {
	for _, f := range m.Funcs {
		d := &eliminator{m: m, used: map[*ir.Value]bool{}}
		d.block(f.Body)
		if d.removed > 0 {
			remark("removed %d operations from %s", d.removed, ir.FormatSym(f.Name))
		}
	}
	return nil
}

type eliminator struct {
	m       *ir.Module
	used    map[*ir.Value]bool
	removed int
}

// block goes through b from its end, so that every use is seen before its definition.
func (d *eliminator) block(b *ir.Block) {
	d.use(b.Yields)
	kept := len(b.Ops) // the operations that stay are moved to the end
	for i := len(b.Ops) - 1; i >= 0; i-- {
		op := b.Ops[i]
		if op.Def == ops.If {
			d.dropResults(op)
		}
		if !d.anyUsed(op) && !op.MayFail() && !d.m.HasEffect(op) {
			d.removed++
			continue
		}
		for _, r := range op.Regions {
			d.block(r)
		}
		d.use(op.Args)
		kept--
		b.Ops[kept] = op
	}
	b.Ops = append([]*ir.Op(nil), b.Ops[kept:]...)
}

func (d *eliminator) use(vs []*ir.Value) {
	for _, v := range vs {
		d.used[v] = true
	}
}

func (d *eliminator) anyUsed(op *ir.Op) bool {
	for _, r := range op.Results {
		if d.used[r] {
			return true
		}
	}
	return false
}

// dropResults removes the results of an `if` that are not used, and the yields behind them.
func (d *eliminator) dropResults(op *ir.Op) {
	kept := 0
	for i, r := range op.Results {
		if !d.used[r] {
			continue
		}
		r.Index = kept
		op.Results[kept] = r
		for _, arm := range op.Regions {
			arm.Yields[kept] = arm.Yields[i]
		}
		kept++
	}
	op.Results = op.Results[:kept]
	for _, arm := range op.Regions {
		arm.Yields = arm.Yields[:kept]
	}
}
