package ir

import (
	"healc/ir/scalar"
	"healc/lang/types"
)

// evalMatmul makes each element of the result as a chain of multiply-add over k ascending, from +0. Some rows of the
// result are made side by side: one where it is long, so many that a step is worth its dispatch where it is short.
func evalMatmul(c EvalContext, op *Op, args []*Array) ([]*Array, error) {
	const together = 256
	a, b := args[0], args[1]
	r := len(a.Shape)
	m, inner, n := int(a.Shape[r-2]), int(a.Shape[r-1]), int(b.Shape[r-1])
	out := NewArray(a.DType, extents(c, op.Type().Shape)...)
	if len(out.Bits) == 0 {
		return one(out)
	}
	step := vectorOf(op.Def, a.DType, 3, func(e scalar.Emitter, x []scalar.Ref) scalar.Ref {
		return multiplyAdd(e, x[0], x[1], x[2])
	})
	group := min(m, max(1, together/n))
	left, tiled := make([]uint64, group*n), make([]uint64, group*n)
	for row := 0; row < len(out.Bits)/n; {
		batch := row / m
		rows := min(group, (batch+1)*m-row)
		sum := out.Bits[row*n : (row+rows)*n]
		for k := range inner {
			right := b.Bits[(batch*inner+k)*n:][:n]
			for i := range rows {
				x, to := a.Bits[(row+i)*inner+k], left[i*n:(i+1)*n]
				for j := range to {
					to[j] = x
				}
			}
			if rows > 1 {
				for i := range rows {
					copy(tiled[i*n:(i+1)*n], right)
				}
				right = tiled
			}
			step.into(sum, left[:len(sum)], right[:len(sum)], sum)
		}
		row += rows
	}
	return one(out)
}

func evalTabulate(c EvalContext, op *Op, _ []*Array) ([]*Array, error) {
	shape := extents(c, op.Dims("shape"))
	out := NewArray(op.Type().Elem, extents(c, op.Type().Shape)...)
	index := make([]int64, len(shape))
	for at := 0; at < len(out.Bits); {
		params := make([]*Array, len(index))
		for k, i := range index {
			params[k] = scalarArray(types.I32, scalar.IntBits(types.I32, i))
		}
		y, err := c.Region(op, 0, params...)
		if err != nil {
			return nil, err
		}
		at += copy(out.Bits[at:], y[0].Bits)
		next(index, shape)
	}
	return one(out)
}

func evalFold(c EvalContext, op *Op, args []*Array) ([]*Array, error) {
	x := args[len(args)-1]
	out := NewArray(op.Type().Elem, extents(c, op.Type().Shape)...)
	if len(out.Bits) == 0 {
		return one(out)
	}
	if len(x.Bits) == 0 && !op.Flag("init") {
		return nil, c.Fail(op, scalar.CheckEmpty)
	}
	for r, row := range reducedInner(x, op.Ints("axes"), len(out.Bits)) {
		acc := args[0]
		if !op.Flag("init") {
			acc = scalarArray(x.DType, row[0])
			row = row[1:]
		}
		for _, v := range row {
			y, err := c.Region(op, 0, acc, scalarArray(x.DType, v))
			if err != nil {
				return nil, err
			}
			acc = y[0]
		}
		out.Bits[r] = acc.Bits[0]
	}
	return one(out)
}
