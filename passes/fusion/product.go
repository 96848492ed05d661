package fusion

import (
	"fmt"

	"healc/ir"
)

// Note [Products stand alone]: a kernel that is one matrix product, with what makes its operands and what is done to each
// element of the result, is scheduled in tiles (Note [Matrix products] in codegen/llvm). Anything else that has loops in
// the same kernel makes it plain loops again: a second product, the sum of each row beside it, or a reduction that takes the
// product's elements one by one. That costs tileGain times as long, which is nearly always more than memory for the
// result: of f32[300, 400] @ f32[400, 500] the sums of the rows took 16.8 ms in one kernel, and 0.9 in two; silu(x @ w) *
// (x @ v) 19.5 ms and 1.8 (one thread of a Sapphire Rapids, November 2026).

// tileGain is by how much tiles are faster than plain loops.
const tileGain = 8

// tileLoss is the number of operations that plain loops for the product op take longer than tiles, 0 where it is
// so small that its loops are unrolled anyway.
func tileLoss(op *ir.Op) float64 {
	if op.Def.Class != ir.Contract {
		return 0
	}
	own := ownWork(op)
	if own < launchCost {
		return 0
	}
	return own * (1 - 1.0/tileGain)
}

// standsAlone says why op has to be in memory so that a matrix product is the only loop of its kernel: op itself, or the
// one that its reader already has. It says "" when that costs more than it gains.
func (p *planner) standsAlone(op *ir.Op, visits []*visit) string {
	if len(visits) == 0 || !loops(op) {
		return ""
	}
	kernels := map[*ir.Op]bool{}
	for _, v := range visits {
		kernels[v.root] = true
	}
	store := storeCost(op, len(kernels))
	if loss := tileLoss(op); loss > store && !p.tiled(op, visits) {
		return fmt.Sprintf("as a product in tiles it saves %s operations, and storing it costs as much as %s", figure(loss), figure(store))
	}
	for root := range kernels {
		if other := p.product[root]; other != nil && other != op && tileLoss(other) > store {
			return fmt.Sprintf("the product %s is made in tiles when no other loop is in its kernel: that saves %s operations, and storing this costs as much as %s",
				p.name(other.Results[0]), figure(tileLoss(other)), figure(store))
		}
	}
	return ""
}

// tiled reports that the product op is read by one kernel, element by element at the kernel's own indices, and that no other
// product is in that one.
func (p *planner) tiled(op *ir.Op, visits []*visit) bool {
	v := visits[0]
	other := p.product[v.root]
	return len(visits) == 1 && v.level() <= v.axes && v.count() == elems(v.root.Results[0].Type.Shape) && (other == nil || other == op)
}
