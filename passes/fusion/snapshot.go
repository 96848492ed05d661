package fusion

import (
	"slices"

	"healc/ir"
	"healc/ir/ops"
	"healc/ir/scalar"
	"healc/lang/types"
)

// This file says which parts of a tensor are copied before the tensor changes in place (copy before update).

// snapshots materialises what an update in place takes from the tensor that it changes, or from one before it in a
// chain of such updates: computed in the kernel of the update, it would need the old elements while they are
// overwritten, so that all of them would have to be copied. It is no larger than what is replaced. Rows that
// change places are the example: `let t = x[a]; x[a] = x[b]; x[b] = t;`
//
// What is computed from the replaced elements alone, each from its own, as in `x[i] += 1.0`, needs no such thing:
// the kernel reads an element before it writes it.
func (p *planner) snapshots() {
	first := map[*ir.Value]*ir.Value{} // the tensor that a chain of updates begins with
	for i, op := range p.block.Ops {
		if p.host[i] || !p.changesMemory(op) {
			continue
		}
		x := op.Args[0]
		root := first[x]
		if root == nil {
			root = x
			first[x] = x
		}
		first[op.Result()] = root
		for _, v := range op.Args[1:] {
			if p.mine(v) && !p.host[p.index[v.Def]] && p.readsChain(v, op, first) {
				p.mat[v.Def] = true
			}
		}
	}
}

// maxSeen bounds a search through what a value is computed from.
const maxSeen = 1000

// readsChain reports whether computing v, of which update makes elements, reads the tensor that the chain of updates
// begins with, or an update of it, outside of what is in memory already and of the replaced elements themselves. It
// says so too when v is computed from very much.
func (p *planner) readsChain(v *ir.Value, update *ir.Op, first map[*ir.Value]*ir.Value) bool {
	type read struct {
		v   *ir.Value
		own bool // element by element, as they are replaced
	}
	root := first[update.Args[0]]
	seen := map[read]bool{}
	todo := []read{{v, true}}
	for len(todo) > 0 {
		r := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		switch {
		case seen[r]:
		case first[r.v] == root || len(seen) >= maxSeen:
			return true
		case p.mine(r.v) && !p.host[p.index[r.v.Def]] && !p.mat[r.v.Def]:
			if r.own && readsReplaced(r.v.Def, update) {
				break
			}
			own := r.own && elementwise(r.v.Def)
			for _, u := range p.usedBy(r.v.Def) {
				todo = append(todo, read{u, own})
			}
		}
		seen[r] = true
	}
	return false
}

// elementwise reports that op makes each element of its result from those of its operands in the same place, unit
// axes aside.
func elementwise(op *ir.Op) bool {
	if op.Def == ops.Reshape {
		return withoutUnits(op.Args[0].Type.Shape).Equal(withoutUnits(op.Type().Shape))
	}
	return op.Def.Class == ir.Pointwise
}

func withoutUnits(s types.Shape) types.Shape {
	out := types.Shape{}
	for _, d := range s {
		if !d.IsConst(1) {
			out = append(out, d)
		}
	}
	return out
}

// readsReplaced reports that op reads the very elements that update replaces: `x[i]` beside `x[i] = v`.
func readsReplaced(op, update *ir.Op) bool {
	x := update.Args[0]
	if len(op.Args) == 0 || op.Args[0] != x {
		return false
	}
	axes, _ := update.Attr("axes").([]int64)
	switch op.Def {
	case ops.Slice:
		starts, ok := constantStarts(update, axes)
		return ok && op.Dims("starts").Equal(starts) && slices.Equal(op.Ints("steps"), update.Ints("steps")) &&
			op.Type().Shape.Equal(update.Dims("shape"))
	case ops.Index:
		if !slices.Equal(op.Ints("axes"), axes) || !slices.Equal(op.Args[1:], update.Args[2:]) {
			return false
		}
		whole := append(types.Shape{}, x.Type.Shape...)
		for _, a := range axes {
			whole[a] = types.Lit(1)
		}
		for k, start := range update.Dims("starts") {
			if !start.IsConst(0) || update.Ints("steps")[k] != 1 {
				return false
			}
		}
		return whole.Equal(update.Dims("shape"))
	}
	return false
}

// constantStarts are the first positions that an update replaces, when all are known.
func constantStarts(update *ir.Op, axes []int64) (types.Shape, bool) {
	starts := append(types.Shape{}, update.Dims("starts")...)
	for i, a := range axes {
		c := update.Args[2+i].Def
		if c == nil || c.Def != ops.Const || !starts[a].IsConst(0) {
			return nil, false
		}
		position := c.Array("value")
		starts[a] = types.Lit(int64(scalar.EvalInstr(scalar.Cast, types.I64, position.DType, position.Bits[0])))
	}
	return starts, true
}
