package passes

import (
	"healc/ir"
	"healc/ir/ops"
)

// Unshard removes what a program says to ranks, for one that runs on one rank, before derivatives keep values to say
// it again.
//
// Requires: nothing. Establishes: no operation `shard`, `shard_as` or `replicate` is left.
//
//	%0: f32[N] = shard %x {axis = 0}
//	%1: f32[N] = exp %0
//	%2: f32[N] = replicate %1
//	return %2
//
// becomes
//
//	%0: f32[N] = exp %x
//	return %0
func Unshard(m *ir.Module, remark Remark) error {
	for _, f := range m.Funcs {
		n := remove(f, func(op *ir.Op) bool {
			return op.Def == ops.Shard || op.Def == ops.ShardAs || op.Def == ops.Replicate
		})
		if n > 0 {
			remark("removed %d operations for ranks of %s", n, ir.FormatSym(f.Name))
		}
	}
	return nil
}

// remove puts the first operand of some operations, which have one result, in the place of them; it gives their number.
func remove(f *ir.Func, which func(op *ir.Op) bool) int {
	with := map[*ir.Value]*ir.Value{}
	ir.WalkBlocks(f.Body, func(b *ir.Block) {
		kept := b.Ops[:0]
		for _, op := range b.Ops {
			if which(op) {
				with[op.Result()] = op.Args[0]
				continue
			}
			kept = append(kept, op)
		}
		b.Ops = kept
	})
	if len(with) > 0 {
		ir.Replace(f.Body, with)
	}
	return len(with)
}
