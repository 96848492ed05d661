package ir

import (
	"healc/lang/types"
)

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
func slotOf(b *Builder, i *Value) *Value {
	n := func(x float64) *Value { return emitFill(b, i.Type, x) }
	place, shift := lowestDigit(b, i)
	digit := b.Emit(OpBand, nil, b.Emit(OpShr, nil, i, shift), n(1<<stateBits-1))
	slot := b.Emit(OpAdd, nil, b.Emit(OpMul, nil, place, n(1<<stateBits-1)), digit)
	return b.Emit(OpSelect, nil, b.Emit(OpEq, nil, i, n(0)), n(0), slot)
}

// lowestDigit is the place of the lowest digit of i that is not 0, and how many bits there are below it.
func lowestDigit(b *Builder, i *Value) (place, shift *Value) {
	n := func(x float64) *Value { return emitFill(b, i.Type, x) }
	lowest := b.Emit(OpBand, nil, i, b.Emit(OpNeg, nil, i))
	zeros := b.Emit(OpPopcount, nil, b.Emit(OpSub, nil, lowest, n(1)))
	place = b.Emit(OpDiv, nil, zeros, n(stateBits))
	return place, b.Emit(OpMul, nil, place, n(stateBits))
}

// sparseStates are the states that a loop has kept.
type sparseStates struct {
	op     *Op
	parts  []int    // of the state: those that are needed, and those that these are computed from
	slots  []*Value // the kept ones of each part
	states []*Value // the parts of the state before the step that is undone
	after  []*Value // the slots after that
}

func newSparseStates(op *Op, needed []int) *sparseStates {
	body := op.Regions[0]
	s := &sparseStates{op: op}
	in := map[int]bool{}
	for _, k := range needed {
		in[k] = true
	}
	for n := -1; n != len(in); {
		n = len(in)
		s.parts = s.parts[:0]
		b := &Block{Ops: body.Ops}
		for k := range op.Args[1:] {
			if in[k] {
				s.parts = append(s.parts, k)
				b.Yields = append(b.Yields, body.Yields[k])
			}
		}
		prune(b)
		for _, v := range Captures(b) {
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
func (s *sparseStates) restore(b *Builder, back, body *Block, i, j *Value) {
	i32 := i.Type
	n := func(b *Builder, x float64) *Value { return emitFill(b, i32, x) }
	var slots []*Value
	for _, v := range s.slots {
		slots = append(slots, back.Param("", v.Type, s.op.Span))
	}
	end := b.Emit(OpAdd, nil, i, n(b, 1))
	_, shift := lowestDigit(b, end)
	span := b.Emit(OpShl, nil, n(b, 1), shift) // of the steps that share what is above the lowest digit of end
	begin := b.Emit(OpSub, nil, end, span)
	again := b.Emit(OpSelect, nil, b.Emit(OpEq, nil, j, n(b, 0)), n(b, 0), b.Emit(OpSub, nil, span, n(b, 1)))
	axis := A{"axes": []int64{0}}
	from := slotOf(b, begin)
	args := []*Value{again}
	step := &Block{}
	with := map[*Value]*Value{}
	in := &Builder{Block: step, Span: s.op.Span}
	with[body.Params[0]] = in.Emit(OpAdd, nil, begin, step.Param("", i32, s.op.Span))
	c := NewCloner()
	for k, part := range s.parts {
		args = append(args, b.Emit(OpIndex, axis, slots[k], from))
		with[body.Params[1+part]] = step.Param("", s.op.Args[1+part].Type, s.op.Span)
	}
	for v, w := range with {
		c.Values[v] = w
	}
	needed := &Block{Ops: body.Ops}
	for _, part := range s.parts {
		needed.Yields = append(needed.Yields, body.Yields[part])
	}
	prune(needed)
	if err := c.Append(step, needed); err != nil {
		panic("BUG: copying without substitution: " + err.Error())
	}
	step.Yields = c.ValueList(needed.Yields)
	at := slotOf(in, in.Emit(OpAdd, nil, with[body.Params[0]], n(in, 1)))
	for k := range s.parts {
		args = append(args, slots[k])
		step.Yields = append(step.Yields, putAt(in, step.Param("", slots[k].Type, s.op.Span), step.Yields[k], at))
	}
	s.after = b.EmitOp(OpIterate, nil, args, []*Block{step}).Results[len(s.parts):]
	here := slotOf(b, i)
	for _, v := range s.after {
		s.states = append(s.states, b.Emit(OpIndex, axis, v, here))
	}
}
