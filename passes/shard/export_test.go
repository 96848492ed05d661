package shard

import (
	"healc/ir"
	"healc/ir/ops"
	"slices"
)

// Repair gathers the operands of operations that cannot use them as they are cut, so that random programs can be run.
// It says how many operations were repaired.
func Repair(f *ir.Func) int {
	for n := 0; ; n++ {
		p := newPlacement()
		var bad *ir.Op
		p.failed = func(op *ir.Op) {
			if bad == nil {
				bad = op
			}
		}
		p.function(f, nil)
		if bad == nil {
			for i, y := range f.Body.Yields {
				if a := p.of(y); a != whole {
					b := &ir.Builder{Block: f.Body}
					f.Body.Yields[i] = b.Emit(ops.Shard, ir.A{"axis": int64(a), "declared": true}, y)
				}
			}
			return n
		}
		before := &ir.Block{}
		b := &ir.Builder{Block: before}
		with := map[*ir.Value]*ir.Value{}
		gather := func(v *ir.Value) *ir.Value {
			if p.of(v) == whole {
				return v
			}
			if with[v] == nil {
				with[v] = b.Emit(ops.Replicate, nil, v)
			}
			return with[v]
		}
		for i, a := range bad.Args {
			bad.Args[i] = gather(a)
		}
		for _, r := range bad.Regions {
			for _, v := range ir.Captures(r) {
				gather(v)
			}
			ir.Replace(r, with)
			if bad.IsLoop() || bad.Def == ops.If {
				for i, y := range r.Yields {
					if p.of(y) != whole {
						r.Yields[i] = (&ir.Builder{Block: r}).Emit(ops.Replicate, nil, y)
					}
				}
			}
		}
		ir.WalkBlocks(f.Body, func(block *ir.Block) {
			if i := slices.Index(block.Ops, bad); i >= 0 {
				block.Ops = slices.Insert(block.Ops, i, before.Ops...)
			}
		})
		if n > 300 {
			panic("BUG: a program cannot be repaired: " + p.list.Error())
		}
	}
}

// SetLatency says how many bytes a message costs, and gives what puts it back.
func SetLatency(bytes int64) (restore func()) {
	before := latencyBytes
	latencyBytes = bytes
	return func() { latencyBytes = before }
}
