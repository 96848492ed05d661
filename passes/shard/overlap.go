package shard

import (
	"slices"

	"healc/ir"
	"healc/ir/exchange"
	"healc/ir/ops"
)

// Overlap gives exchanges something to compute meanwhile: each begins as soon as what it sends is there, and kernels
// that do not need what comes go before those that do. Exchanges keep their order, and so do kernels that can fail.
//
// Requires: fuse. Establishes: nothing that could stand between an exchange and its first use stands elsewhere in the
// same run of kernels.
//
//	%0: f32[N] = fusion %x ...
//	%1: f32[M] = all_gather %y {...}
//	%2: f32 = fusion %1 ...
//	%3: f32[N] = fusion %x ...
//
// becomes
//
//	%1: f32[M] = all_gather %y {...}
//	%0: f32[N] = fusion %x ...
//	%3: f32[N] = fusion %x ...
//	%2: f32 = fusion %1 ...
func Overlap(m *ir.Module) {
	for _, f := range m.Funcs {
		ir.WalkBlocks(f.Body, func(b *ir.Block) { (&overlap{b.Ops, map[*ir.Op][]*ir.Value{}}).all() })
	}
}

// overlap reorders the operations of a block, in place.
type overlap struct {
	ops  []*ir.Op
	read map[*ir.Op][]*ir.Value // what they read, in their regions, too
}

// mostPassed is how many operations an exchange goes past, and how far behind its first use kernels are looked for: a
// few take as long as any exchange, and all would take the compiler long.
const mostPassed = 32

// inHalves reports whether an operation is an exchange that goes on while kernels run (Note [Halves] in package
// runtime).
func inHalves(op *ir.Op) bool { return op.Def == exchange.Halo || op.Def == exchange.Gather }

// moves reports whether other operations may go past op: a kernel or a view, which does nothing but give its results.
func moves(op *ir.Op) bool {
	return op.Def == ops.Fusion || op.Def.Class != ir.Host && len(op.Regions) == 0 && !op.Def.Traits.Has(ir.Effect)
}

func (o *overlap) all() {
	for i := range o.ops {
		if inHalves(o.ops[i]) {
			o.early(i)
		}
	}
	for i := 0; i < len(o.ops); i++ {
		if inHalves(o.ops[i]) {
			o.between(i)
		}
	}
}

// early moves exchange i to where what it sends is there.
func (o *overlap) early(i int) {
	to := i
	for to > max(0, i-mostPassed) && moves(o.ops[to-1]) && !o.needs(o.ops[i], o.ops[to-1]) {
		to--
	}
	o.move(i, to)
}

// between moves kernels before the first one that needs what comes of exchange i. One goes past others only if it
// shares no operand with them: which of them is the last to read a value decides who may write in its place.
func (o *overlap) between(i int) {
	first := i + 1
	for first < len(o.ops) && moves(o.ops[first]) && !o.needs(o.ops[first], o.ops[i]) {
		first++
	}
	end := min(len(o.ops), first+mostPassed)
	for k := first + 1; k < end && moves(o.ops[first]) && moves(o.ops[k]); k++ {
		free := !o.ops[k].MayFail()
		for _, past := range o.ops[first:k] {
			free = free && !o.needs(o.ops[k], past) && !o.shares(o.ops[k], past)
		}
		if free {
			o.move(k, first)
			first++
		}
	}
}

// move takes operation i out and puts it before operation to, which is before it.
func (o *overlap) move(i, to int) {
	op := o.ops[i]
	copy(o.ops[to+1:i+1], o.ops[to:i])
	o.ops[to] = op
}

// reads is what an operation reads.
func (o *overlap) reads(op *ir.Op) []*ir.Value {
	out, known := o.read[op]
	if !known {
		out = slices.Clone(op.Args)
		for _, region := range op.Regions {
			out = append(out, ir.Captures(region)...)
		}
		o.read[op] = out
	}
	return out
}

// needs reports whether an operation reads a result of another.
func (o *overlap) needs(op, of *ir.Op) bool {
	return slices.ContainsFunc(o.reads(op), func(v *ir.Value) bool { return v.Def == of })
}

// shares reports whether two operations read a value that is no scalar.
func (o *overlap) shares(a, b *ir.Op) bool {
	read := o.reads(b)
	return slices.ContainsFunc(o.reads(a), func(v *ir.Value) bool {
		return v.Type.Rank() > 0 && slices.Contains(read, v)
	})
}
