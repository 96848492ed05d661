package onnx

import (
	"fmt"
	"slices"
)

// productOps multiply matrices.
var productOps = map[string]*entry{
	"MatMul": {since: 1, write: matmul},
	"Gemm":   {since: 1, write: gemm},
}

func matmul(c *call) {
	a, b := c.arg(0), c.arg(1)
	left, right := a.shape, b.shape
	if len(left) == 0 || len(right) == 0 {
		c.fail("an operand has no axes")
	}
	k, l := left[len(left)-1], right[max(len(right)-2, 0)]
	if !k.Equal(l) {
		c.fail("the shapes %v and %v do not multiply", left, right)
	}
	textA, textB := c.t.operand(a), c.t.operand(b)
	switch {
	case len(left) == 1 && len(right) == 1:
		c.result(0, a.elem, nil, "%s @ %s", textA, textB)
		return
	case len(left) == 1:
		c.result(0, a.elem, slices.Concat(right[:len(right)-2], right[len(right)-1:]), "%s @ %s", textA, textB)
		return
	case len(right) == 1:
		c.result(0, a.elem, left[:len(left)-1], "%s @ %s", textA, textB)
		return
	}
	to := c.together(left[:len(left)-2], right[:len(right)-2])
	to = append(to, left[len(left)-2], right[len(right)-1])
	c.result(0, a.elem, to, "%s @ %s", textA, textB)
}

func gemm(c *call) {
	a, b := c.arg(0), c.arg(1)
	c.rank(a, 2)
	c.rank(b, 2)
	alpha, beta := rounded(c.float("alpha", 1)), rounded(c.float("beta", 1))
	side := func(v *value, flip bool) (string, shape) {
		if flip {
			return fmt.Sprintf("transpose(%s)", c.t.operand(v)), shape{v.shape[1], v.shape[0]}
		}
		return c.t.operand(v), v.shape
	}
	textA, left := side(a, c.flag("transA", 0))
	textB, right := side(b, c.flag("transB", 0))
	if !left[1].Equal(right[0]) {
		c.fail("the shapes %v and %v do not multiply", left, right)
	}
	to := shape{left[0], right[1]}
	text := fmt.Sprintf("%s @ %s", textA, textB)
	if alpha != 1 {
		text = fmt.Sprintf("%s * (%s)", floatText(a.elem, alpha), text)
	}
	if c.has(2) && beta != 0 {
		plus := c.arg(2)
		if !c.together(to, plus.shape).Equal(to) {
			c.fail("the bias of the shape %v does not broadcast to %v", plus.shape, to)
		}
		by := c.t.operand(plus)
		if beta != 1 {
			by = fmt.Sprintf("%s * %s", by, floatText(a.elem, beta))
		}
		op := ".+"
		if plus.shape.Equal(to) {
			op = "+"
		}
		text = fmt.Sprintf("%s %s %s", text, op, by)
	}
	c.result(0, a.elem, to, "%s", text)
}
