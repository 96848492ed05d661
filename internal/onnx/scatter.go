package onnx

import (
	"fmt"
	"slices"
	"strings"
)

// scatterOps put elements at places.
var scatterOps = map[string]*entry{
	"Scatter":         {since: 9, write: scatterElements},
	"ScatterElements": {since: 11, write: scatterElements},
	"ScatterND": {since: 11, write: func(c *call) {
		x, at, v := c.arg(0), c.arg(1), c.arg(2)
		r := len(at.shape) - 1
		if r < 0 {
			c.fail("its positions have no axes")
		}
		n := int(c.extent(at.shape[r], "the last extent of its positions"))
		if n < 1 || n > len(x.shape) {
			c.fail("its positions have %d numbers, and its elements %d axes", n, len(x.shape))
		}
		if !v.shape.Equal(slices.Concat(at.shape[:r], x.shape[n:])) {
			c.fail("it puts %v at places of the shape %v", v.shape, at.shape)
		}
		picks := make([]string, n)
		for i := range picks {
			one := fmt.Sprintf("at[%s%d]", colons(r), i)
			picks[i] = fmt.Sprintf("where(%s .< 0, %s .+ (D%d as %v), %s)", one, one, i, at.elem, one)
		}
		c.scatter(x, at, v, strings.Join(picks, ", "), strings.Join(append(placeNames(r), fmt.Sprint(n)), ", "),
			strings.Join(append(placeNames(r), letters(len(x.shape))[n:]...), ", "), placeNames(r))
	}},
}

// placeNames are names of shape parameters for the places of a scatter.
func placeNames(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("P%d", i)
	}
	return out
}

func scatterElements(c *call) {
	x, at, v := c.arg(0), c.arg(1), c.arg(2)
	r := len(x.shape)
	axis := c.axis(c.int("axis", 0), r)
	if len(at.shape) != r || !at.shape.Equal(v.shape) {
		c.fail("it puts %v at places of the shape %v into %v", v.shape, at.shape, x.shape)
	}
	picks := make([]string, r)
	for i := range picks {
		if picks[i] = fmt.Sprintf("reshape(0..P%d, [P%d%s])", i, i, strings.Repeat(", 1", r-1-i)); i == axis {
			picks[i] = fmt.Sprintf("where(at .< 0, at .+ (D%d as %v), at)", i, at.elem)
		}
	}
	of := strings.Join(placeNames(r), ", ")
	c.scatter(x, at, v, strings.Join(picks, ", "), of, of, placeNames(r))
}

// scatter writes a call of a helper that changes elements of x, one after the other. An operation with what is there
// goes by the rules of the language where positions are equal: one by one for a sum, which scatter_add is.
func (c *call) scatter(x, at, v *value, picks, atShape, vShape string, places []string) {
	how := c.string("reduction", "none")
	if how != "none" && how != "add" {
		c.fail("unsupported: its reduction %s", how)
	}
	d := strings.Join(letters(len(x.shape)), ", ")
	params := strings.Join(append(letters(len(x.shape)), places...), ", ")
	if how == "add" {
		c.scatterAdd(x, at, v)
		return
	}
	f := c.helper("scatter", fmt.Sprintf(
		"# x with v at positions, of which negative ones count from the end.\n"+
			"fn %%s[T: any, %s](x: T[%s], at: %v[%s], v: T[%s]) -> T[%s] = {\n"+
			"let mut y = x;\ny[%s] = v;\ny\n}", params, d, at.elem, atShape, vShape, d, picks))
	c.result(0, x.elem, x.shape, "%s(%s, %s, %s)", f, c.t.operand(x), c.t.operand(at), c.t.operand(v))
}

// scatterAdd adds along one axis.
func (c *call) scatterAdd(x, at, v *value) {
	if c.node.Op == "ScatterND" {
		c.fail("unsupported: its reduction add")
	}
	axis := c.axis(c.int("axis", 0), len(x.shape))
	for i, d := range at.shape {
		if i != axis && !d.Equal(x.shape[i]) {
			c.fail("unsupported: positions of the shape %v into %v", at.shape, x.shape)
		}
	}
	c.result(0, x.elem, x.shape, "scatter_add(%s, %s, %s, %d)", c.t.operand(x), c.fromEnd(at, x.shape[axis]),
		c.t.operand(v), axis)
}
