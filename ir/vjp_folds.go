package ir

import "healc/lang/types"

// The derivatives of folds and scans are those of the loop over elements that they stand for: over all elements of a
// tensor for a fold, of a vector for a scan.

func init() { // init: see rule
	rule(OpFold, func(t *Tape, op *Op, cts []*Value) {
		elementLoopRule(t, op, cts, "a fold along some axes with a function")
	})
	rule(OpScan, func(t *Tape, op *Op, cts []*Value) {
		elementLoopRule(t, op, cts, "`scan`, `cumsum` and `cumprod` of more than one axis")
	})
}

// elementLoopRule differentiates a block that computes the same as op with an iterate.
func elementLoopRule(t *Tape, op *Op, cts []*Value, what string) {
	x := op.Args[len(op.Args)-1]
	scan, init := op.Def == OpScan, op.Flag("init")
	for _, r := range op.Results {
		if r.Type.Rank() > 1 || !scan && elems(r.Type.Shape).String() != "1" {
			unsupportedGradient(op.Span, what)
		}
	}
	i32 := types.Scalar(types.I32)
	n := elems(x.Type.Shape)
	if n.IsConst(0) && !init {
		return // a scan of nothing; a fold of nothing has failed
	}
	b := &Builder{Block: &Block{}, Span: op.Span}
	at := A{"axes": []int64{0}}
	flat := b.Emit(OpReshape, A{"shape": types.Shape{n}}, x)
	state := op.Args[:len(op.Args)-1]
	skip := 0.0
	if !init {
		state, skip = []*Value{b.Emit(OpIndex, at, flat, emitZeros(b, i32))}, 1
	}
	k := len(state)
	count := b.Emit(OpDim, A{"dim": n})
	if c, ok := n.Const(); ok {
		count = b.Emit(OpDim, A{"dim": types.Lit(c - int64(skip))})
	} else if !init { // no extent is below 0: the loop keeps no states then
		count = b.Emit(OpSub, nil, count, emitFill(b, i32, 1))
	}
	body, err := NewCloner().Block(op.Regions[0])
	if err != nil {
		panic("BUG: copying without substitution: " + err.Error())
	}
	step := &Block{}
	in := &Builder{Block: step, Span: op.Span}
	i := in.Emit(OpAdd, nil, step.Param("", i32, op.Span), emitFill(in, i32, skip))
	with := map[*Value]*Value{}
	for j, s := range state {
		with[body.Params[j]] = step.Param("", s.Type, op.Span)
	}
	with[body.Params[k]] = in.Emit(OpIndex, at, flat, i)
	step.Ops = append(step.Ops, body.Ops...)
	step.Yields = append([]*Value{}, body.Yields...)
	args := append([]*Value{count}, state...)
	put := A{"axes": []int64{0}, "sizes": lits(1, 1), "starts": lits(1, 0), "steps": ones(1), "shape": lits(1, 1)}
	if scan { // what is kept of each step
		for j := range state {
			all := emitZeros(b, op.Results[j].Type)
			if !init {
				all = b.Emit(OpUpdate, put, all, b.Emit(OpReshape, A{"shape": lits(1, 1)}, state[j]), emitZeros(b, i32))
			}
			args = append(args, all)
			v := in.Emit(OpReshape, A{"shape": lits(1, 1)}, body.Yields[j])
			step.Yields = append(step.Yields, in.Emit(OpUpdate, put, step.Param("", all.Type, op.Span), v, i))
		}
	}
	Replace(step, with)
	out := b.EmitOp(OpIterate, nil, args, []*Block{step}).Results
	if scan {
		out = out[k:]
	}
	for j, r := range op.Results {
		y := out[j]
		if !y.Type.Shape.Equal(r.Type.Shape) {
			y = b.Emit(OpReshape, A{"shape": r.Type.Shape}, y)
		}
		b.Block.Yields = append(b.Block.Yields, y)
	}
	caps := t.variedCaptures(b.Block)
	grads := closureVjp(t.b, b.Block, nil, nil, caps, t.cotangentsOf(t.b, op.Results, cts), nil)
	for j, v := range caps {
		t.Add(v, grads[j])
	}
}
