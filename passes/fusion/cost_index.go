package fusion

import "healc/ir"

// This file says how the operations whose positions are data, and those that compute rows, read their
// operands.

// indexed reports the reading of the operands of op, one of those. It reports false for any other.
func (t *tracer) indexed(op *ir.Op, v *visit) bool {
	x := func(i int, at []place) { t.read(op.Args[i], v.with(at)) }
	switch op.Def {
	case ir.OpGather:
		n := op.Args[1].Type.Rank()
		looked := v.with(v.at[:n]).deepest(t.id(op)) // where a position is known
		for i := range op.Args[1:] {
			x(1+i, v.at[:n:n])
		}
		listed := map[int64]bool{}
		for _, a := range op.Ints("axes") {
			listed[a] = true
		}
		var at []place
		rest := n
		for k := range op.Args[0].Type.Shape {
			if listed[int64(k)] {
				at = append(at, looked.through(uint64(k)))
				continue
			}
			at = append(at, v.at[rest])
			rest++
		}
		x(0, at)
	case ir.OpTakeAlongAxis:
		x(1, v.at)
		at := append([]place{}, v.at...)
		at[op.Int("axis")] = v.deepest(t.id(op))
		x(0, at)
	case ir.OpSort, ir.OpArgsort:
		t.read(op.Args[0], t.row(op, 0, v))
	case ir.OpScatterAdd:
		t.read(op.Args[0], t.row(op, 0, v))
		along := t.row(op, 1, v)
		t.read(op.Args[1], along)
		t.read(op.Args[2], along)
	default:
		return false
	}
	return true
}

// row is the reading of operand i, whose rows along the axis of op are read once from end to end, by the
// kernel of op.
func (t *tracer) row(op *ir.Op, i int, v *visit) *visit {
	axis := op.Int("axis")
	extent := sizeOf(op.Args[i].Type.Shape[axis])
	if v.root != op { // in a region: each element goes through the whole row
		in, loop := t.loop(v, extent)
		at := append([]place{}, v.at...)
		at[axis] = loop
		return in.with(at)
	}
	t.nests++
	nest := append([]float64{}, v.nest...)
	nest[axis] = extent
	at := append([]place{}, v.at...)
	at[axis].axis = -1
	at[axis] = at[axis].through(t.id(op), uint64(i))
	return &visit{v.root, nest, v.axes, t.nests, v.keep, v.pack, v.some, at}
}
