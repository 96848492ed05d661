package passes

import (
	"slices"

	"healc/ir"
	"healc/ir/ops"
	"healc/lang/types"
)

// Positions writes down the checks of positions that no element looks at: a position is in its axis, or the program
// stops, where nothing is read or written there, too. Kernels check the positions of the elements that they compute,
// and those of a tensor without elements compute none. What follows from extents and loops is not checked.
//
// Requires: nothing. Establishes: where the program for the elements of an operation does not read all of its positions
// (ir.Op.ReadsAll), something else does, that fails as the operation would.
//
//	%0: i32[0] = index %x, %i {axes = [0]}
//
// becomes, for %x: i32[2, 0],
//
//	%0: i32 = position %i {extent = 2, size = 1}
//	%1: i32[0] = index %x, %i {axes = [0]}
func Positions(m *ir.Module, remark Remark) error {
	p := &positions{in: map[*ir.Value]types.Dim{}}
	for _, f := range m.Funcs {
		ir.WalkBlocks(f.Body, p.counters)
		p.added = 0
		ir.WalkBlocks(f.Body, p.block)
		if p.added > 0 {
			remark("%s: checks %s of operations that may have no elements", ir.FormatSym(f.Name),
				types.Count(p.added, "position"))
		}
	}
	return nil
}

type positions struct {
	in    map[*ir.Value]types.Dim // the parameters of regions that count from 0, with what they stay below
	added int
}

// counters notes what counts in the regions of the operations of b.
func (p *positions) counters(b *ir.Block) {
	for _, op := range b.Ops {
		switch {
		case op.Def == ops.Tabulate:
			for i, v := range op.Regions[0].Params {
				p.in[v] = op.Dims("shape")[i]
			}
		case op.Def == ops.Iterate:
			if n, ok := countOf(op.Args[0]); ok {
				p.in[op.Regions[0].Params[0]] = n
			}
		}
	}
}

// countOf is the number of steps where it is an extent or a constant.
func countOf(v *ir.Value) (types.Dim, bool) {
	for v.Def != nil && v.Def.Def == ops.Cast {
		v = v.Def.Args[0]
	}
	switch {
	case v.Def == nil:
	case v.Def.Def == ops.Dim:
		return v.Def.Dim("dim"), true
	case v.Def.Def == ops.Const:
		return types.Lit(constants(v)[0]), true
	}
	return types.Dim{}, false
}

// within reports that the elements of v are from 0 to below n, whatever they are.
func (p *positions) within(v *ir.Value, n types.Dim) bool {
	if below, ok := p.in[v]; ok {
		return below.Equal(n) || atMost(below, n)
	}
	if v.Def == nil {
		return false
	}
	switch v.Def.Def {
	case ops.Cast, ops.Broadcast, ops.Reshape:
		return p.within(v.Def.Args[0], n)
	case ops.Const:
		most, ok := n.Const()
		return ok && !slices.ContainsFunc(constants(v), func(x int64) bool { return x < 0 || x >= most })
	}
	return false
}

// atMost reports that one literal extent is no more than another.
func atMost(a, b types.Dim) bool {
	x, ok1 := a.Const()
	y, ok2 := b.Const()
	return ok1 && ok2 && x <= y
}

func (p *positions) block(b *ir.Block) {
	kept := b.Ops
	b.Ops = nil
	for _, op := range kept {
		if op.Def.Positions != nil {
			for _, at := range op.Def.Positions(op) {
				if v := op.Args[at.Arg]; !op.ReadsAll(at.Arg) && !(at.Size.IsConst(1) && p.within(v, at.Extent)) {
					b := &ir.Builder{Block: b, Span: op.Span}
					b.Emit(ops.Position, ir.A{"extent": at.Extent, "size": at.Size}, v)
					p.added++
				}
			}
		}
		b.Ops = append(b.Ops, op)
	}
}

// constants are the elements of a constant, an i32 or i64.
func constants(v *ir.Value) []int64 {
	a := v.Def.Array("value")
	out := make([]int64, len(a.Bits))
	for i, bits := range a.Bits {
		if out[i] = int64(bits); a.DType == types.I32 {
			out[i] = int64(int32(bits))
		}
	}
	return out
}
