package ir

import (
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Loops]: a loop carries a state, any number of values of any shape. Its region computes the next
// state from the number of the step, an i32 that counts from 0, and the state; everything else that it
// reads is captured. Programs do not see the number of the step: `fold` over a state that is no scalar and
// `each` are loops whose region reads the element of that number, so that a kernel knows its index to be
// in range.
//
// A loop becomes one of two things. When its state is small and a step does little work, it is a loop
// inside of a kernel, whose state lives in registers. Else it is a step of the plan that runs kernels, and
// the states of two neighbouring steps change places in memory. passes/fusion decides which.

// OpIterate computes a state again and again.
var OpIterate = declare("iterate")
var _ = define(OpIterate, OpDef{
	Class: Scope, Surface: "iterate", Arity: Variadic, Regions: 1,
	Reads:   readsForAny,
	Summary: "The state after so many steps; a count below 1 leaves the start as it is.",
	Infer: func(args []types.Tensor, _ Attrs, regions []*Block) ([]types.Tensor, error) {
		return inferLoop("iterate", args, regions[0], 0)
	},
	Eval:    evalIterate,
	Element: elementIterate,
	VJP:     loopRule,
	Constraints: []Constraint{
		{"C1",
			"the first operand, the number of steps, is an i32 scalar; the others, the start, hold numbers or bools, " +
				"or are strings"},
		{"C2", "the region takes the number of the step, an i32, and the state, of the types of the start"},
		{"C3", "the region yields the next state, of the types of the start"},
	},
	Example: "iterate(10, 1, |x| 2 * x) == 1024",
})

// OpIterateUntil computes a state until a condition holds.
var OpIterateUntil = declare("iterate_until")
var _ = define(OpIterateUntil, OpDef{
	Class: Scope, Surface: "iterate_until", Arity: Variadic, Regions: 1,
	Reads: readsForAny,
	Summary: "The state after the first step that makes the condition true, or after the greatest number of steps; " +
		"the start is not tested.",
	Infer: func(args []types.Tensor, _ Attrs, regions []*Block) ([]types.Tensor, error) {
		return inferLoop("iterate_until", args, regions[0], 1)
	},
	Eval:    evalIterate,
	Element: elementIterate,
	VJP:     loopRule,
	Constraints: []Constraint{
		{"C1",
			"the first operand, the greatest number of steps, is an i32 scalar; the others, the start, hold numbers " +
				"or bools, or are strings"},
		{"C2", "the region takes the number of the step, an i32, and the state, of the types of the start"},
		{"C3", "the region yields the next state, of the types of the start, and a bool that ends the loop"},
	},
	Example: "iterate_until(1, |x| 2 * x, |x| x > 100, 1000) == 128",
})

// inferLoop gives the types of the state; extra counts the bools that the region yields after it.
func inferLoop(name string, args []types.Tensor, body *Block, extra int) ([]types.Tensor, error) {
	if len(args) == 0 || !types.Equal(args[0], types.Scalar(types.I32)) {
		return nil, broken("C1", "the number of steps of `%s` is an i32", name)
	}
	state := args[1:]
	for _, t := range state {
		if t.Elem == types.String && t.IsScalar() {
			continue
		}
		if err := requireIn("C1", "the state of `"+name+"`", elements, t); err != nil {
			return nil, err
		}
	}
	want := append([]types.Tensor{types.Scalar(types.I32)}, state...)
	if len(body.Params) != len(want) {
		return nil, broken("C2", "the step of `%s` takes %s, not %d", name, types.Count(len(want), "value"),
			len(body.Params))
	}
	for i, t := range want {
		if !types.Equal(body.Params[i].Type, t) {
			return nil, broken("C2", "the step of `%s` takes %s here, not %s", name, t, body.Params[i].Type)
		}
	}
	want = append([]types.Tensor{}, state...)
	for range extra {
		want = append(want, types.Scalar(types.Bool))
	}
	if len(body.Yields) != len(want) {
		return nil, broken("C3", "the step of `%s` gives %s, not %d", name, types.Count(len(want), "value"),
			len(body.Yields))
	}
	for i, t := range want {
		if !types.Equal(body.Yields[i].Type, t) {
			return nil, broken("C3", "the step of `%s` makes %s of %s", name, body.Yields[i].Type, t)
		}
	}
	return state, nil
}

// Stops reports that o is a loop whose region yields, after the state, whether it ends.
func (o *Op) Stops() bool { return len(o.Regions[0].Yields) > len(o.Results) }

// IsLoop reports that o carries a state through steps.
func (o *Op) IsLoop() bool { return o.Def == OpIterate || o.Def == OpIterateUntil }

// evalIterate is the meaning of both loops.
func evalIterate(c EvalContext, op *Op, args []*Array) ([]*Array, error) {
	state := args[1:]
	for i := int64(0); i < signed(args[0]); i++ {
		in := append([]*Array{scalarArray(types.I32, scalar.IntBits(types.I32, i))}, state...)
		out, err := c.Region(op, 0, in...)
		if err != nil {
			return nil, err
		}
		state = out[:len(state)]
		if op.Stops() && out[len(state)].Bits[0] != 0 {
			break
		}
	}
	return state, nil
}

// elementIterate is a loop whose state is scalars; bufferize takes small tensors apart before it asks.
func elementIterate(p Pull, op *Op, result int, _ []scalar.Ref) scalar.Ref {
	n := p.Arg(op, 0, nil)
	init := make([]scalar.Ref, len(op.Args)-1)
	for k := range init {
		init[k] = p.Arg(op, k+1, nil)
	}
	return p.Iterate(n, init, func(i scalar.Ref, state []scalar.Ref) ([]scalar.Ref, scalar.Ref) {
		in := append([]scalar.Ref{p.E().Cast(types.I32, i)}, state...)
		next := make([]scalar.Ref, len(state))
		for k := range next {
			next[k] = p.Region(op, 0, k, in, nil)
		}
		stop := scalar.None
		if op.Stops() {
			stop = p.Region(op, 0, len(state), in, nil)
		}
		return next, stop
	})[result]
}

// MaxSmallState is the number of scalars that the state of a loop may have when it is in a kernel.
const MaxSmallState = 32

// SmallState reports that the state of a loop is few scalars, so that registers can hold it: all its
// extents are literal, and there are at most MaxSmallState elements.
func (o *Op) SmallState() bool {
	total := int64(0)
	for _, r := range o.Results {
		n := int64(1)
		for _, d := range r.Type.Shape {
			c, ok := d.Const()
			if !ok || c > MaxSmallState {
				return false
			}
			if n *= c; n > MaxSmallState {
				return false
			}
		}
		total += n
	}
	return total <= MaxSmallState
}

// Note [Gradients of loops]: the derivative of a loop walks its steps backwards. It carries the cotangents of the
// floats of the state, and the sums of the gradients of what the step captures. Each step of it needs the state
// before the step that it undoes. Where the number of steps is known when the program is compiled, the loop itself
// keeps these states, those parts of them that the derivative reads, in a tensor with one more axis. Where it is not,
// it keeps some of them: Note [Sparse states].

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
