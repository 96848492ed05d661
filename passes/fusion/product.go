package fusion

import (
	"fmt"
	"math"
	"slices"

	"healc/ir"
	"healc/ir/ops"
)

// Note [Products stand alone]: a kernel that is one matrix product, with what makes its operands and what is done to
// each element of the result, is scheduled in tiles (Note [Matrix products] in codegen/llvm). Anything else that has
// loops in the same kernel makes it plain loops again: a second product, the sum of each row beside it, or a reduction
// that takes the product's elements one by one. That costs tile_gain times as long, which is nearly always more than
// memory for the result (docs/tuning/fusion-costs.md).

// Note [Operands of products]: what computes an operand of such a product, a cast or a scale, is taken into its
// kernel, where the operands are packed (copied to memory of the thread in the order in which tiles read them): each
// element is computed when it is packed, and not for every use. The left operand is packed again for each block of
// columns, the right one by each thread for each of the few pieces that its rows are cut in. So the costs of Note
// [Recompute or materialise] are those of few evaluations, and a cast is read from where it is, while a tanh before a
// wide product is written to memory. The blocks depend on the machine, and a plan serves several: packed_cols and
// right_pieces are round numbers. Only straight-line code is packed. A product with a vector packs nothing: it uses
// each element of the matrix once.
//
// A softmax before a product is left to a kernel of its own, where the sum of a row and its elements share the
// exponentials (Note [Row caching] in ir/kernel/transform). Computing them again in the product takes longer
// (docs/tuning/fusion-costs.md).

// leftPackings and rightPackings are how often each element of an operand of product is computed.
func leftPackings(product *ir.Op) float64 {
	return math.Ceil(lastExtent(product, 1) / float64(costs().PackedCols))
}
func rightPackings(product *ir.Op) float64 {
	return min(math.Ceil(lastExtent(product, 2)/float64(costs().PieceRows)), float64(costs().RightPieces))
}

// lastExtent is the extent of the axis of the result that is the i-th from the end.
func lastExtent(product *ir.Op, i int) float64 {
	s := product.Type().Shape
	return sizeOf(s[len(s)-i])
}

// withVector reports that one operand of a product is a row or a column.
func withVector(product *ir.Op) bool {
	return lastExtent(product, 1) == 1 || lastExtent(product, 2) == 1
}

// packed makes v the reading of an operand of a product in tiles, which is packed so many times for all the elements
// of the other operand, which differ along the axis at other.
func (v *visit) packed(product *ir.Op, other origin, times float64) {
	v.pack = true
	if other.level > 0 && !withVector(product) {
		v.nest = slices.Clone(v.nest)
		v.nest[other.level-1] = times
	}
}

// straight reports that an element of op, which is read at v, is made by straight-line code, and cannot fail there, in
// a product of these operands.
func straight(op, product *ir.Op, v *visit) bool {
	switch {
	case op.Def.Class == ir.Source, op.Def.Traits.Has(ir.View):
		return true
	case op.Def.Class == ir.Pointwise:
		return !op.MayFail()
	case op.Def == ops.Index, op.Def == ops.DynamicSlice:
		return hasElements(product) // so that they are checked before the product
	case op.Def == ops.Gather: // a check for each row of the left operand
		at := v.with(v.at[:op.Args[1].Type.Rank()])
		return hasElements(product) && at.level() < v.axes
	}
	return false
}

// hasElements reports that a product and its operands are known to have elements.
func hasElements(product *ir.Op) bool {
	for _, a := range product.Args {
		for _, d := range a.Type.Shape {
			if n, ok := d.Const(); !ok || n == 0 {
				return false
			}
		}
	}
	return true
}

// sharedWithReduction finds a value of some work that both the elements of op and a reduction that they need are
// computed from.
func (p *planner) sharedWithReduction(op *ir.Op) *ir.Op {
	own := map[*ir.Op]bool{}
	var reductions []*ir.Op
	p.behind(op, own, func(r *ir.Op) { reductions = append(reductions, r) })
	for _, r := range reductions {
		reduced := map[*ir.Op]bool{}
		for _, a := range r.Args {
			if p.mine(a) {
				p.behind(a.Def, reduced, func(*ir.Op) {})
			}
		}
		for _, in := range p.block.Ops {
			if own[in] && reduced[in] && in.Def.Class == ir.Pointwise && opCount(in) >= float64(costs().SharedLeast) {
				return in
			}
		}
	}
	return nil
}

// behind collects what elements of op are computed from, op among it, up to what is in memory and to reductions, which
// it hands to reduction.
func (p *planner) behind(op *ir.Op, seen map[*ir.Op]bool, reduction func(*ir.Op)) {
	if seen[op] || len(seen) >= maxBehind || p.mat[op] || p.host[p.index[op]] {
		return
	}
	seen[op] = true
	if op.Def.Class == ir.Reduce {
		reduction(op)
		return
	}
	for _, a := range op.Args {
		if p.mine(a) {
			p.behind(a.Def, seen, reduction)
		}
	}
}

// tileLoss is the number of operations that plain loops for the product op take longer than tiles, 0 where it is
// so small that its loops are unrolled anyway.
func tileLoss(op *ir.Op) float64 {
	if op.Def.Class != ir.Contract {
		return 0
	}
	own := ownWork(op)
	if own < costs().launchCost {
		return 0
	}
	return own * (1 - 1.0/float64(costs().TileGain))
}

// chainLoss is the number of operations that the chains of a product with a vector take longer in the kernels that read
// it, where each element is wanted along another axis: these have their vectors there, and its chains go one after the
// other, each step waiting for the one before.
func chainLoss(op *ir.Op, visits []*visit) float64 {
	if op.Def.Class != ir.Contract || !withVector(op) {
		return 0
	}
	for _, v := range visits {
		if v.root.Def.Class != ir.Rows && iterations(v.root) > elems(op.Type().Shape) {
			return ownWork(op) * float64(costs().TileGain)
		}
	}
	return 0
}

// standsAlone says why op has to be in memory so that a matrix product is the only loop of its kernel: op itself, or
// the one that its reader already has. It says "" when that costs more than it gains.
func (p *planner) standsAlone(op *ir.Op, visits []*visit) string {
	if len(visits) == 0 {
		return ""
	}
	kernels := map[*ir.Op]bool{}
	for _, v := range visits {
		kernels[v.root] = true
	}
	store := storeCost(op, len(kernels))
	if loss := max(tileLoss(op), chainLoss(op, visits)); loss > store && !p.tiled(op, visits) {
		return fmt.Sprintf("as a product in tiles it saves %s operations, and storing it costs as much as %s",
			figure(loss), figure(store))
	}
	for _, v := range visits {
		if other := p.product[v.root]; other != nil && v.pack && !straight(op, other, v) && tileLoss(other) > store {
			return fmt.Sprintf(
				"the product %s packs what straight-line code computes: that saves %s operations, and storing this "+
					"costs as much as %s",
				p.told(other), figure(tileLoss(other)), figure(store))
		}
	}
	if v := visits[0]; v.pack && op.Def.Class == ir.Pointwise {
		if in := p.sharedWithReduction(op); in != nil {
			return fmt.Sprintf("in a kernel with the reductions of its rows it shares %s with them", p.told(in))
		}
	}
	for root := range kernels {
		if other := p.product[root]; other != nil && other != op && loops(op) && tileLoss(other) > store {
			return fmt.Sprintf(
				"the product %s is made in tiles when no other loop is in its kernel: that saves %s operations, and "+
					"storing this costs as much as %s",
				p.told(other), figure(tileLoss(other)), figure(store))
		}
	}
	return ""
}

// iterations is the number of elements that the kernel of a materialised operation computes.
func iterations(root *ir.Op) float64 {
	if replacesFew(root) {
		return elems(root.Dims("shape"))
	}
	return elems(root.Results[0].Type.Shape)
}

// tiled reports that the product op is read by one kernel, element by element at the kernel's own indices and whatever
// these are, and that no other product is in that one.
func (p *planner) tiled(op *ir.Op, visits []*visit) bool {
	v := visits[0]
	if len(visits) != 1 || v.arm != 0 || v.root.Def.Class == ir.Rows || v.count() != iterations(v.root) {
		return false
	}
	own := map[int]bool{} // axes of the kernel
	for k, at := range v.at {
		if op.Type().Shape[k].IsConst(1) {
			continue
		}
		if at.level > v.axes || own[at.level] {
			return false
		}
		own[at.level] = true
	}
	other := p.product[v.root]
	return other == nil || other == op
}
