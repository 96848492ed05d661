package ir

import (
	"healc/lang/types"
)

// Note [Gradients of loops]: the derivative of a loop walks its steps backwards. It carries the cotangents of the
// floats of the state, and the sums of the gradients of what the step captures. Each step of it needs the state
// before the step that it undoes. Where the number of steps is known when the program is compiled, the loop itself
// keeps these states, those parts of them that the derivative reads, in a tensor with one more axis. Where it is not,
// it keeps some of them: Note [Sparse states].

func init() { // init: see rule
	rule(OpIterate, loopRule)
	rule(OpIterateUntil, loopRule)
}

// tripCount is the greatest number of steps of a loop as an extent, where that is known.
func tripCount(n *Value) (types.Dim, bool) {
	switch {
	case n.Def == nil:
	case n.Def.Def == OpConst:
		return types.Lit(max(0, signed(n.Def.Array("value")))), true
	case n.Def.Def == OpDim:
		return n.Def.Dim("dim"), true
	}
	return types.Dim{}, false
}

// loopRule is the rule of iterate and iterate_until.
func loopRule(t *Tape, op *Op, cts []*Value) {
	body, inits := op.Regions[0], op.Args[1:]
	if n, known := tripCount(op.Args[0]); known && n.IsConst(0) {
		for k, v := range inits {
			if v.Type.Elem.IsFloat() && cts[k] != nil {
				t.Add(v, cts[k])
			}
		}
		return
	}
	caps := t.variedCaptures(body)
	var floats []int
	var by []int64 // their parameters
	for k := range inits {
		if t.varied[body.Params[1+k]] {
			floats, by = append(floats, k), append(by, int64(k+1))
		}
	}
	i32 := types.Scalar(types.I32)

	// One step back.
	back := &Block{}
	j := back.Param("", i32, op.Span)
	var carried []*Value
	for _, k := range floats {
		carried = append(carried, back.Param("", inits[k].Type, op.Span))
	}
	var sums []*Value
	for _, v := range caps {
		sums = append(sums, back.Param("", v.Type, op.Span))
	}
	b := &Builder{Block: &Block{}, Span: op.Span}
	steps := &Value{Type: i32} // stands for the number of steps
	i := b.Emit(OpSub, nil, b.Emit(OpSub, nil, steps, emitFill(b, i32, 1)), j)
	head := b.Block.Ops
	b.Block = &Block{}
	state := make([]*Value, len(inits)) // stand for the state before the step
	for k, v := range inits {
		state[k] = &Value{Type: v.Type}
	}
	if op.Stops() { // the bool that ends the loop takes no cotangent
		body = &Block{Params: body.Params, Ops: body.Ops, Yields: body.Yields[:len(inits)]}
	}
	if sums == nil {
		sums = []*Value{}
	}
	cotangents := make([]*Value, len(inits))
	for n, k := range floats {
		cotangents[k] = carried[n]
	}
	back.Yields = closureVjp(b, body, append([]*Value{i}, state...), by, caps, t.cotangentsOf(b, inits, cotangents),
		sums)
	b.Block.Yields = back.Yields
	tidy(b.Block, op.Span)
	uses := Uses(b.Block)
	var needed []int
	for k, s := range state {
		if len(uses[s]) > 0 {
			needed = append(needed, k)
		}
	}

	for _, k := range needed {
		if state[k].Type.Elem == types.String {
			unsupportedGradient(op.Span, "a loop whose floats depend on a string that changes")
		}
	}
	with := map[*Value]*Value{}
	pre := &Builder{Block: &Block{}, Span: op.Span}
	var kept *sparseStates
	count := op.Args[0]
	switch extent, known := tripCount(count); {
	case len(needed) == 0:
		if op.Stops() {
			count, _ = t.keepStates(op, nil, nil)
		}
	case known:
		var all []*Value
		count, all = t.keepStates(op, needed, func(*Builder, *Value) (*Value, types.Dim) { return nil, extent })
		for n, k := range needed {
			with[state[k]] = pre.Emit(OpIndex, A{"axes": []int64{0}}, all[n], i)
		}
	default:
		kept = newSparseStates(op, needed)
		count, kept.slots = t.keepStates(op, kept.parts, func(b *Builder, i *Value) (*Value, types.Dim) {
			return slotOf(b, i), types.Lit(stateSlots)
		})
		kept.restore(pre, back, body, i, j)
		for n, k := range kept.parts {
			with[state[k]] = kept.states[n]
		}
	}
	with[steps] = count
	back.Ops = append(append(append(back.Ops, head...), pre.Block.Ops...), b.Block.Ops...)
	back.Yields = b.Block.Yields
	args := []*Value{count}
	for _, k := range floats {
		if cts[k] != nil {
			args = append(args, cts[k])
		} else {
			args = append(args, t.Zeros(inits[k].Type))
		}
	}
	for _, v := range caps {
		if sum := t.cotangents[v]; sum != nil {
			args = append(args, sum)
		} else {
			args = append(args, t.Zeros(v.Type))
		}
	}
	if kept != nil {
		back.Yields, args = append(back.Yields, kept.after...), append(args, kept.slots...)
	}
	Replace(back, with)
	out := t.b.EmitOp(OpIterate, nil, args, []*Block{back}).Results
	for n, v := range caps {
		t.cotangents[v] = out[len(floats)+n]
	}
	for n, k := range floats { // a value may be captured and be the start as well
		t.Add(inits[k], out[n])
	}
}

// keepStates puts a loop in the place of op that keeps parts of the state before each step, each in a tensor with one
// more axis. place gives the position in it for a step, nil for the number of the step, and the extent of the axis. It
// gives the number of steps that the loop makes and these tensors.
func (t *Tape) keepStates(op *Op, parts []int, place func(b *Builder, i *Value) (*Value, types.Dim)) (count *Value,
	kept []*Value) {
	inits := op.Args[1:]
	i32 := types.Scalar(types.I32)
	b := &Builder{Block: &Block{}, Span: op.Span}
	step, err := NewCloner().Block(op.Regions[0])
	if err != nil {
		panic("BUG: copying without substitution: " + err.Error())
	}
	in := &Builder{Block: step, Span: op.Span}
	count = op.Args[0]
	args := append([]*Value{}, op.Args...)
	yields := append([]*Value{}, step.Yields[:len(inits)]...)
	i := step.Params[0]
	if op.Stops() { // one more value of the state counts the steps
		args = append(args, emitZeros(b, i32))
		step.Param("", i32, op.Span)
		yields = append(yields, in.Emit(OpAdd, nil, i, emitFill(in, i32, 1)))
	}
	first := len(yields)
	if len(parts) > 0 {
		at, extent := place(in, i)
		if at == nil {
			at = i
		}
		for _, k := range parts {
			all := emitZeros(b, withAxis(extent, inits[k].Type))
			args = append(args, all)
			yields = append(yields, putAt(in, step.Param("", all.Type, op.Span), step.Params[1+k], at))
		}
	}
	if op.Stops() {
		yields = append(yields, step.Yields[len(inits)])
	}
	step.Yields = yields
	out := b.EmitOp(op.Def, nil, args, []*Block{step}).Results
	t.splice(op, b.Block.Ops, out[:len(inits)])
	if op.Stops() {
		count = out[len(inits)]
	}
	return count, out[first:]
}

// withAxis is a tensor of n values of type t.
func withAxis(n types.Dim, t types.Tensor) types.Tensor {
	return types.Tensor{Elem: t.Elem, Shape: append(types.Shape{n}, t.Shape...)}
}

// putAt replaces element at of the first axis of all.
func putAt(b *Builder, all, v, at *Value) *Value {
	row := append(types.Shape{types.Lit(1)}, v.Type.Shape...)
	r := len(row)
	attrs := A{"axes": []int64{0}, "sizes": lits(1, 1), "starts": lits(r, 0), "steps": ones(r), "shape": row}
	return b.Emit(OpUpdate, attrs, all, b.Emit(OpReshape, A{"shape": row}, v), at)
}

// splice puts operations in the place of op, and values in the place of its results.
func (t *Tape) splice(op *Op, ops []*Op, results []*Value) {
	list := t.b.Block.Ops
	for k, o := range list {
		if o == op {
			t.b.Block.Ops = append(append(append([]*Op{}, list[:k]...), ops...), list[k+1:]...)
			for i, r := range op.Results {
				t.with[r] = results[i]
			}
			return
		}
	}
	panic("BUG: an operation is not on the tape")
}
