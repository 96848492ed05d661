package ir

import "healc/ir/scalar"

func evalBroadcast(c EvalContext, op *Op, args []*Array) ([]*Array, error) {
	x, shape := args[0], extents(c, op.Dims("shape"))
	strides := make([]int64, len(shape))
	lead := len(shape) - len(x.Shape)
	for k, s := range rowMajor(x.Shape) {
		if x.Shape[k] != 1 {
			strides[lead+k] = s
		}
	}
	return one(gather(x, shape, 0, strides))
}

func evalPermute(_ EvalContext, op *Op, args []*Array) ([]*Array, error) {
	x, perm := args[0], op.Ints("perm")
	from := rowMajor(x.Shape)
	shape, strides := make([]int64, len(perm)), make([]int64, len(perm))
	for k, a := range perm {
		shape[k], strides[k] = x.Shape[a], from[a]
	}
	return one(gather(x, shape, 0, strides))
}

func evalSlice(c EvalContext, op *Op, args []*Array) ([]*Array, error) {
	x, starts, steps := args[0], extents(c, op.Dims("starts")), op.Ints("steps")
	strides, offset := rowMajor(x.Shape), int64(0)
	for k := range strides {
		offset += starts[k] * strides[k]
		strides[k] *= steps[k]
	}
	return one(gather(x, extents(c, op.Dims("shape")), offset, strides))
}

// evalReshape shares the elements: arrays do not change.
func evalReshape(c EvalContext, op *Op, args []*Array) ([]*Array, error) {
	x := args[0]
	return one(&Array{DType: x.DType, Shape: extents(c, op.Dims("shape")), Bits: x.Bits})
}

func evalIndex(c EvalContext, op *Op, args []*Array) ([]*Array, error) {
	x, axes := args[0], op.Ints("axes")
	from := rowMajor(x.Shape)
	shape, strides, offset := []int64{}, []int64{}, int64(0)
	empty := false
	for k, n := range x.Shape {
		if !hasAxis(axes, k) {
			shape, strides = append(shape, n), append(strides, from[k])
			empty = empty || n == 0
		}
	}
	if empty {
		return one(NewArray(x.DType, shape...))
	}
	for i, a := range axes {
		at := signed(args[1+i])
		if at < 0 || at >= x.Shape[a] {
			return nil, c.Fail(op, scalar.CheckIndex, at, x.Shape[a])
		}
		offset += at * from[a]
	}
	return one(gather(x, shape, offset, strides))
}

func evalDynamicSlice(c EvalContext, op *Op, args []*Array) ([]*Array, error) {
	x, axes, sizes := args[0], op.Ints("axes"), extents(c, op.Dims("sizes"))
	strides := rowMajor(x.Shape)
	shape := append([]int64{}, x.Shape...)
	for i, a := range axes {
		shape[a] = sizes[i]
	}
	for _, n := range shape {
		if n == 0 {
			return one(NewArray(x.DType, shape...))
		}
	}
	offset := int64(0)
	for i, a := range axes {
		start, n := signed(args[1+i]), x.Shape[a]
		if start < 0 || start > n-sizes[i] {
			outside := start // the first index that is not in the axis
			if start >= 0 && start < n {
				outside = n
			}
			return nil, c.Fail(op, scalar.CheckIndex, outside, n)
		}
		offset += start * strides[a]
	}
	return one(gather(x, shape, offset, strides))
}

func evalConcat(_ EvalContext, op *Op, args []*Array) ([]*Array, error) {
	axis := op.Int("axis")
	shape := append([]int64{}, args[0].Shape...)
	shape[axis] = 0
	for _, x := range args {
		shape[axis] += x.Shape[axis]
	}
	out := NewArray(args[0].DType, shape...)
	// Everything from the axis on is one run of elements in each operand.
	inner := rowMajor(shape)[axis]
	at := 0
	for block := 0; at < len(out.Bits); block++ {
		for _, x := range args {
			run := int(x.Shape[axis] * inner)
			at += copy(out.Bits[at:], x.Bits[block*run:(block+1)*run])
		}
	}
	return one(out)
}
