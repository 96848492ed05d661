package ops

import (
	"healc/ir"
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

// Iterate computes a state again and again.
var Iterate = ir.Declare("iterate")
var _ = ir.Define(Iterate, ir.OpDef{
	Class: ir.Scope, Surface: "iterate", Arity: ir.Variadic, Regions: 1, Traits: ir.Loop,
	Sharding: ir.ShardLoop,
	Reads:    readsForAny,
	Params: []ir.Param{
		{Name: "n", Kind: ir.ParamScalar, Elem: types.I32, What: "the number of steps"},
		{Name: "init", Kind: ir.ParamValue},
		{Name: "step", Kind: ir.ParamFunction},
	},
	Summary: "The state after so many steps; a count below 1 leaves the start as it is.",
	Infer: func(args []types.Tensor, _ ir.Attrs, regions []*ir.Block) ([]types.Tensor, error) {
		return inferLoop("iterate", args, regions[0], 0)
	},
	Eval:    evalIterate,
	Element: elementIterate,
	VJP:     vjp(loopRule),
	Constraints: []ir.Constraint{
		{Name: "C1",
			Text: "the first operand, the number of steps, is an i32 scalar; the others, the start, hold numbers or " +
				"bools, or are strings"},
		{Name: "C2", Text: "the region takes the number of the step, an i32, and the state, of the types of the start"},
		{Name: "C3", Text: "the region yields the next state, of the types of the start"},
	},
	Example: "iterate(10, 1, |x| 2 * x) == 1024",
})

// IterateUntil computes a state until a condition holds.
var IterateUntil = ir.Declare("iterate_until")
var _ = ir.Define(IterateUntil, ir.OpDef{
	Class: ir.Scope, Surface: "iterate_until", Arity: ir.Variadic, Regions: 1, Traits: ir.Loop,
	Sharding: ir.ShardLoop,
	Reads:    readsForAny,
	Params: []ir.Param{
		{Name: "init", Kind: ir.ParamValue},
		{Name: "step", Kind: ir.ParamFunction},
		{Name: "done", Kind: ir.ParamFunction},
		{Name: "max", Kind: ir.ParamScalar, Elem: types.I32, What: "the greatest number of steps"},
	},
	Summary: "The state after the first step that makes the condition true, or after the greatest number of steps; " +
		"the start is not tested.",
	Infer: func(args []types.Tensor, _ ir.Attrs, regions []*ir.Block) ([]types.Tensor, error) {
		return inferLoop("iterate_until", args, regions[0], 1)
	},
	Eval:    evalIterate,
	Element: elementIterate,
	VJP:     vjp(loopRule),
	Constraints: []ir.Constraint{
		{Name: "C1",
			Text: "the first operand, the greatest number of steps, is an i32 scalar; the others, the start, hold " +
				"numbers or bools, or are strings"},
		{Name: "C2", Text: "the region takes the number of the step, an i32, and the state, of the types of the start"},
		{Name: "C3",
			Text: "the region yields the next state, of the types of the start, and a bool that ends the loop"},
	},
	Example: "iterate_until(1, |x| 2 * x, |x| x > 100, 1000) == 128",
})

// inferLoop gives the types of the state; extra counts the bools that the region yields after it.
func inferLoop(name string, args []types.Tensor, body *ir.Block, extra int) ([]types.Tensor, error) {
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

// evalIterate is the meaning of both loops.
func evalIterate(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
	state := args[1:]
	for i := int64(0); i < signed(args[0]); i++ {
		in := append([]*ir.Array{ir.NewScalar(types.I32, scalar.IntBits(types.I32, i))}, state...)
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
func elementIterate(p ir.Pull, op *ir.Op, result int, _ []scalar.Ref) scalar.Ref {
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

// Note [Gradients of loops]: the derivative of a loop walks its steps backwards. It carries the cotangents of the
// floats of the state, and the sums of the gradients of what the step captures. Each step of it needs the state
// before the step that it undoes. Where the number of steps is known when the program is compiled, the loop itself
// keeps these states, those parts of them that the derivative reads, in a tensor with one more axis. Where it is not,
// it keeps some of them: Note [Sparse states].

// tripCount is the greatest number of steps of a loop as an extent, where that is known.
func tripCount(n *ir.Value) (types.Dim, bool) {
	switch {
	case n.Def == nil:
	case n.Def.Def == Const:
		return types.Lit(max(0, signed(n.Def.Array("value")))), true
	case n.Def.Def == Dim:
		return n.Def.Dim("dim"), true
	}
	return types.Dim{}, false
}

// loopRule is the rule of iterate and iterate_until.
func loopRule(t *tape, op *ir.Op, cts []*ir.Value) {
	inits := op.Args[1:]
	if n, known := tripCount(op.Args[0]); known && n.IsConst(0) {
		for k, v := range inits {
			if v.Type.Elem.IsFloat() && cts[k] != nil {
				t.Add(v, cts[k])
			}
		}
		return
	}
	s := newStepBack(t, op)
	pre := &ir.Builder{Block: &ir.Block{}, Span: op.Span}
	count, with, kept := s.statesBefore(t, pre)
	with[s.steps] = count
	back := s.block
	back.Ops = append(append(append(back.Ops, s.head...), pre.Block.Ops...), s.undo.Ops...)
	back.Yields = s.undo.Yields
	orZeros := func(ct *ir.Value, of types.Tensor) *ir.Value {
		if ct == nil {
			return t.Zeros(of)
		}
		return ct
	}
	args := []*ir.Value{count}
	for _, k := range s.floats {
		args = append(args, orZeros(cts[k], inits[k].Type))
	}
	for _, v := range s.caps {
		args = append(args, orZeros(t.cotangents[v], v.Type))
	}
	if kept != nil {
		back.Yields, args = append(back.Yields, kept.after...), append(args, kept.slots...)
	}
	ir.Replace(back, with)
	out := t.b.EmitOp(Iterate, nil, args, []*ir.Block{back}).Results
	for n, v := range s.caps {
		t.cotangents[v] = out[len(s.floats)+n]
	}
	for n, k := range s.floats { // a value may be captured and be the start as well
		t.Add(inits[k], out[n])
	}
}

// stepBack is a step of the loop that walks the steps of a loop backwards, as far as it is known without the states of
// that loop.
type stepBack struct {
	op     *ir.Op
	body   *ir.Block   // of op, without the bool that ends the loop, which takes no cotangent
	floats []int       // the parts of the state that are carried
	caps   []*ir.Value // what the step captures whose gradients are summed

	block *ir.Block   // its parameters: j, the cotangents of the floats, the sums
	j, i  *ir.Value   // the number of this step, and of the step that it undoes
	steps *ir.Value   // stands for the number of steps
	state []*ir.Value // stand for the state before the step
	head  []*ir.Op    // computes i
	undo  *ir.Block   // the derivative of the step
}

func newStepBack(t *tape, op *ir.Op) *stepBack {
	inits := op.Args[1:]
	i32 := types.Scalar(types.I32)
	s := &stepBack{op: op, body: op.Regions[0], block: &ir.Block{}, steps: &ir.Value{Type: i32}}
	s.caps = t.variedCaptures(s.body)
	var by []int64 // the parameters of the floats
	for k := range inits {
		if t.varied[s.body.Params[1+k]] {
			s.floats, by = append(s.floats, k), append(by, int64(k+1))
		}
	}
	s.j = s.block.Param("", i32, op.Span)
	cotangents := make([]*ir.Value, len(inits))
	for _, k := range s.floats {
		cotangents[k] = s.block.Param("", inits[k].Type, op.Span)
	}
	sums := []*ir.Value{}
	for _, v := range s.caps {
		sums = append(sums, s.block.Param("", v.Type, op.Span))
	}
	b := &ir.Builder{Block: &ir.Block{}, Span: op.Span}
	s.i = b.Emit(Sub, nil, b.Emit(Sub, nil, s.steps, emitFill(b, i32, 1)), s.j)
	s.head = b.Block.Ops
	b.Block = &ir.Block{}
	s.state = make([]*ir.Value, len(inits))
	for k, v := range inits {
		s.state[k] = &ir.Value{Type: v.Type}
	}
	if op.Stops() {
		s.body = &ir.Block{Params: s.body.Params, Ops: s.body.Ops, Yields: s.body.Yields[:len(inits)]}
	}
	b.Block.Yields = closureVjp(b, s.body, append([]*ir.Value{s.i}, s.state...), by, s.caps,
		t.cotangentsOf(b, inits, cotangents), sums)
	tidy(b.Block, op.Span)
	s.undo = b.Block
	return s
}

// needed are the parts of the state that the derivative of the step reads.
func (s *stepBack) needed() []int {
	uses := ir.Uses(s.undo)
	var out []int
	for k, v := range s.state {
		if len(uses[v]) > 0 {
			out = append(out, k)
		}
	}
	for _, k := range out {
		if s.state[k].Type.Elem == types.String {
			unsupportedGradient(s.op.Span, "a loop whose floats depend on a string that changes")
		}
	}
	return out
}

// statesBefore lets the loop keep what the steps back need of its states, and reads it in pre. It gives the number of
// steps, what stands for the state, and the states where not all are kept.
func (s *stepBack) statesBefore(t *tape, pre *ir.Builder) (count *ir.Value, with map[*ir.Value]*ir.Value,
	kept *sparseStates) {
	needed := s.needed()
	count, with = s.op.Args[0], map[*ir.Value]*ir.Value{}
	switch extent, known := tripCount(count); {
	case len(needed) == 0:
		if s.op.Stops() {
			count, _ = t.keepStates(s.op, nil, nil)
		}
	case known:
		var all []*ir.Value
		count, all = t.keepStates(s.op, needed, func(*ir.Builder, *ir.Value) (*ir.Value, types.Dim) {
			return nil, extent
		})
		for n, k := range needed {
			with[s.state[k]] = pre.Emit(Index, ir.A{"axes": []int64{0}}, all[n], s.i)
		}
	default:
		kept = newSparseStates(s.op, needed)
		count, kept.slots = t.keepStates(s.op, kept.parts, func(b *ir.Builder, i *ir.Value) (*ir.Value, types.Dim) {
			return slotOf(b, i), types.Lit(stateSlots)
		})
		kept.restore(pre, s.block, s.body, s.i, s.j)
		for n, k := range kept.parts {
			with[s.state[k]] = kept.states[n]
		}
	}
	return count, with, kept
}

// keepStates puts a loop in the place of op that keeps parts of the state before each step, each in a tensor with one
// more axis. place gives the position in it for a step, nil for the number of the step, and the extent of the axis. It
// gives the number of steps that the loop makes and these tensors.
func (t *tape) keepStates(op *ir.Op, parts []int, place func(b *ir.Builder, i *ir.Value) (*ir.Value,
	types.Dim)) (count *ir.Value,
	kept []*ir.Value) {
	inits := op.Args[1:]
	i32 := types.Scalar(types.I32)
	b := &ir.Builder{Block: &ir.Block{}, Span: op.Span}
	step, err := ir.NewCloner().Block(op.Regions[0])
	if err != nil {
		panic("BUG: copying without substitution: " + err.Error())
	}
	in := &ir.Builder{Block: step, Span: op.Span}
	count = op.Args[0]
	args := append([]*ir.Value{}, op.Args...)
	yields := append([]*ir.Value{}, step.Yields[:len(inits)]...)
	i := step.Params[0]
	if op.Stops() { // one more value of the state counts the steps
		args = append(args, emitZeros(b, i32))
		step.Param("", i32, op.Span)
		yields = append(yields, in.Emit(Add, nil, i, emitFill(in, i32, 1)))
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
	out := b.EmitOp(op.Def, nil, args, []*ir.Block{step}).Results
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
func putAt(b *ir.Builder, all, v, at *ir.Value) *ir.Value {
	row := append(types.Shape{types.Lit(1)}, v.Type.Shape...)
	r := len(row)
	attrs := ir.A{"axes": []int64{0}, "sizes": lits(1, 1), "starts": lits(r, 0), "steps": ones(r), "shape": row}
	return b.Emit(Update, attrs, all, b.Emit(Reshape, ir.A{"shape": row}, v), at)
}

// splice puts operations in the place of op, and values in the place of its results.
func (t *tape) splice(op *ir.Op, ops []*ir.Op, results []*ir.Value) {
	list := t.b.Block.Ops
	for k, o := range list {
		if o == op {
			t.b.Block.Ops = append(append(append([]*ir.Op{}, list[:k]...), ops...), list[k+1:]...)
			for i, r := range op.Results {
				t.with[r] = results[i]
			}
			return
		}
	}
	panic("BUG: an operation is not on the tape")
}

// Note [Sparse states]: a loop whose number of steps is known only when it runs cannot keep the state before every
// step: memory is planned before. It keeps some: of the numbers of steps, written to the base 8, one for each place and
// each digit but 0 there, the last state whose number ends in zeros below that digit; and the start. Walking backwards,
// the state before step i is there, or, when i+1 ends in zeros, those since the last kept state are computed again, and
// kept in the same places. With L digits every step is computed at most L-1 times more, and 7*L+1 states are kept:
// twice for 500 steps, 10 times and 78 states for as many steps as there can be.

const (
	stateBits  = 3  // of a digit
	stateSlots = 78 // 31 bits have 11 digits
)

// slotOf is the place of the state before step i, an i32 that is not negative.
func slotOf(b *ir.Builder, i *ir.Value) *ir.Value {
	n := func(x float64) *ir.Value { return emitFill(b, i.Type, x) }
	place, shift := lowestDigit(b, i)
	digit := b.Emit(Band, nil, b.Emit(Shr, nil, i, shift), n(1<<stateBits-1))
	slot := b.Emit(Add, nil, b.Emit(Mul, nil, place, n(1<<stateBits-1)), digit)
	return b.Emit(Select, nil, b.Emit(Eq, nil, i, n(0)), n(0), slot)
}

// lowestDigit is the place of the lowest digit of i that is not 0, and how many bits there are below it.
func lowestDigit(b *ir.Builder, i *ir.Value) (place, shift *ir.Value) {
	n := func(x float64) *ir.Value { return emitFill(b, i.Type, x) }
	lowest := b.Emit(Band, nil, i, b.Emit(Neg, nil, i))
	zeros := b.Emit(Popcount, nil, b.Emit(Sub, nil, lowest, n(1)))
	place = b.Emit(Div, nil, zeros, n(stateBits))
	return place, b.Emit(Mul, nil, place, n(stateBits))
}

// sparseStates are the states that a loop has kept.
type sparseStates struct {
	op     *ir.Op
	parts  []int       // of the state: those that are needed, and those that these are computed from
	slots  []*ir.Value // the kept ones of each part
	states []*ir.Value // the parts of the state before the step that is undone
	after  []*ir.Value // the slots after that
}

func newSparseStates(op *ir.Op, needed []int) *sparseStates {
	body := op.Regions[0]
	s := &sparseStates{op: op}
	in := map[int]bool{}
	for _, k := range needed {
		in[k] = true
	}
	for n := -1; n != len(in); {
		n = len(in)
		s.parts = s.parts[:0]
		b := &ir.Block{Ops: body.Ops}
		for k := range op.Args[1:] {
			if in[k] {
				s.parts = append(s.parts, k)
				b.Yields = append(b.Yields, body.Yields[k])
			}
		}
		prune(b)
		for _, v := range ir.Captures(b) {
			for k := range op.Args[1:] {
				if v == body.Params[1+k] {
					in[k] = true
				}
			}
		}
	}
	for _, k := range s.parts {
		if op.Args[1+k].Type.Elem == types.String {
			unsupportedGradient(op.Span, "a loop whose floats depend on a string that changes")
		}
	}
	return s
}

// restore writes what makes the state before step i, the step that is undone after j others, from the slots, which
// become parameters of back, the step backwards.
func (s *sparseStates) restore(b *ir.Builder, back, body *ir.Block, i, j *ir.Value) {
	i32 := i.Type
	n := func(b *ir.Builder, x float64) *ir.Value { return emitFill(b, i32, x) }
	var slots []*ir.Value
	for _, v := range s.slots {
		slots = append(slots, back.Param("", v.Type, s.op.Span))
	}
	end := b.Emit(Add, nil, i, n(b, 1))
	_, shift := lowestDigit(b, end)
	span := b.Emit(Shl, nil, n(b, 1), shift) // of the steps that share what is above the lowest digit of end
	begin := b.Emit(Sub, nil, end, span)
	again := b.Emit(Select, nil, b.Emit(Eq, nil, j, n(b, 0)), n(b, 0), b.Emit(Sub, nil, span, n(b, 1)))
	axis := ir.A{"axes": []int64{0}}
	from := slotOf(b, begin)
	args := []*ir.Value{again}
	step := &ir.Block{}
	with := map[*ir.Value]*ir.Value{}
	in := &ir.Builder{Block: step, Span: s.op.Span}
	with[body.Params[0]] = in.Emit(Add, nil, begin, step.Param("", i32, s.op.Span))
	c := ir.NewCloner()
	for k, part := range s.parts {
		args = append(args, b.Emit(Index, axis, slots[k], from))
		with[body.Params[1+part]] = step.Param("", s.op.Args[1+part].Type, s.op.Span)
	}
	for v, w := range with {
		c.Values[v] = w
	}
	needed := &ir.Block{Ops: body.Ops}
	for _, part := range s.parts {
		needed.Yields = append(needed.Yields, body.Yields[part])
	}
	prune(needed)
	if err := c.Append(step, needed); err != nil {
		panic("BUG: copying without substitution: " + err.Error())
	}
	step.Yields = c.ValueList(needed.Yields)
	at := slotOf(in, in.Emit(Add, nil, with[body.Params[0]], n(in, 1)))
	for k := range s.parts {
		args = append(args, slots[k])
		step.Yields = append(step.Yields, putAt(in, step.Param("", slots[k].Type, s.op.Span), step.Yields[k], at))
	}
	s.after = b.EmitOp(Iterate, nil, args, []*ir.Block{step}).Results[len(s.parts):]
	here := slotOf(b, i)
	for _, v := range s.after {
		s.states = append(s.states, b.Emit(Index, axis, v, here))
	}
}
