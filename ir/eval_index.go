package ir

import "healc/ir/scalar"

func evalGather(c EvalContext, op *Op, args []*Array) ([]*Array, error) {
	x, axes := args[0], op.Ints("axes")
	from := rowMajor(x.Shape)
	rest, strides := []int64{}, []int64{}
	for k, n := range x.Shape {
		if !hasAxis(axes, k) {
			rest, strides = append(rest, n), append(strides, from[k])
		}
	}
	out := NewArray(x.DType, append(append([]int64{}, args[1].Shape...), rest...)...)
	if len(out.Bits) == 0 {
		return one(out)
	}
	run := len(out.Bits) / len(args[1].Bits)
	for i := range args[1].Bits {
		offset := int64(0)
		for k, a := range axes {
			at := signExtend(args[1+k].DType, args[1+k].Bits[i])
			if at < 0 || at >= x.Shape[a] {
				return nil, c.Fail(op, scalar.CheckIndex, at, x.Shape[a])
			}
			offset += at * from[a]
		}
		copy(out.Bits[i*run:], gather(x, rest, offset, strides).Bits)
	}
	return one(out)
}

// lines calls f for every line of an array of the given shape along axis, with the position of the line's
// first element and the distance of neighbours.
func lines(shape []int64, axis int64, f func(line int, first, step int64) error) error {
	step := rowMajor(shape)[axis]
	outer := int64(1)
	for _, n := range shape[:axis] {
		outer *= n
	}
	for line := int64(0); line < outer*step; line++ {
		if err := f(int(line), line/step*step*shape[axis]+line%step, step); err != nil {
			return err
		}
	}
	return nil
}

func evalTakeAlongAxis(c EvalContext, op *Op, args []*Array) ([]*Array, error) {
	x, idx, axis := args[0], args[1], op.Int("axis")
	out := NewArray(x.DType, idx.Shape...)
	if len(out.Bits) == 0 {
		return one(out)
	}
	step := rowMajor(idx.Shape)[axis] // that of x, too: the axes after this one agree
	m, n := idx.Shape[axis], x.Shape[axis]
	err := lines(idx.Shape, axis, func(line int, first, _ int64) error {
		base := first/(m*step)*(n*step) + first%step
		for i := range m {
			at := signExtend(idx.DType, idx.Bits[first+i*step])
			if at < 0 || at >= n {
				return c.Fail(op, scalar.CheckIndex, at, n)
			}
			out.Bits[first+i*step] = x.Bits[base+at*step]
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return one(out)
}
