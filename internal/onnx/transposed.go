package onnx

import (
	"fmt"
	"slices"
	"strings"
)

// convTranspose writes the transpose of a convolution: the convolution, with the filters backwards, of the image with
// zeros between its elements and around it.
func convTranspose(c *call) {
	x, w := c.arg(0), c.arg(1)
	rank := len(x.shape) - 2
	if rank < 1 || len(w.shape) != rank+2 {
		c.fail("the image has the shape %v, and the filters %v", x.shape, w.shape)
	}
	sizes, ok := w.shape[2:].Ints()
	if list, given := c.ints("kernel_shape"); !ok || given && !slices.Equal(list, sizes) || slices.Contains(sizes, 0) {
		c.fail("kernel_shape is %v, and the filters have the shape %v", list, w.shape)
	}
	if c.int("group", 1) != 1 {
		c.fail("unsupported: groups of channels")
	}
	if !x.shape[1].Equal(w.shape[0]) {
		c.fail("the image has %v channels, and the filters %v", x.shape[1], w.shape[0])
	}
	numbers := func(name string, n int, other int64) []int64 {
		list, ok := c.ints(name)
		if !ok {
			return slices.Repeat([]int64{other}, n)
		}
		if len(list) != n || slices.ContainsFunc(list, func(v int64) bool { return v < 0 || v < other || v >= 1<<31 }) {
			c.fail("%s is %v", name, list)
		}
		return list
	}
	steps, aparts, pads := numbers("strides", rank, 1), numbers("dilations", rank, 1), numbers("pads", 2*rank, 0)
	extra := numbers("output_padding", rank, 0)
	want, sized := c.ints("output_shape")
	auto := c.string("auto_pad", "NOTSET")
	if sized && len(want) != rank {
		c.fail("output_shape has %d numbers for %d axes", len(want), rank)
	}
	ws := make([]window, rank)
	text := c.t.operand(x)
	to := shape{x.shape[0], w.shape[1]}
	spread := slices.Clone(x.shape)
	for i := range ws {
		axis := i + 2
		v := window{size: sizes[i], step: 1, apart: aparts[i]}
		before, after := pads[i], pads[i+rank]
		n := c.extent(x.shape[axis], "the extent of an axis")
		if n < 1 {
			c.fail("the image has the shape %v", x.shape)
		}
		full := steps[i]*(n-1) + extra[i] + v.span() // without padding
		size := full - before - after
		switch {
		case sized:
			size = want[i]
		case auto == "SAME_UPPER" || auto == "SAME_LOWER":
			size = n * steps[i]
		case auto == "VALID":
			before, size = 0, full
		case auto != "NOTSET" && auto != "":
			c.fail("there is no padding %s", auto)
		}
		if sized || strings.HasPrefix(auto, "SAME") {
			all := max(full-size, 0) // where the result is larger, zeros are behind it
			if before = all / 2; auto != "SAME_UPPER" {
				before = all - all/2
			}
		}
		if size < 0 || size >= 1<<31 {
			c.fail("a result has an extent of %d", size)
		}
		// zeros behind each element, and none behind the last
		if s := steps[i]; s > 1 {
			apart := slices.Insert(slices.Clone(spread), axis+1, number(1))
			spread[axis] = number(n * s)
			text = fmt.Sprintf("reshape(pad(reshape(%s, %v), %d, 0, %d), %v)", text, apart, axis+1, s-1, spread)
		}
		v.before = v.span() - 1 - before
		v.after = size + v.span() - 1 - v.before - n*steps[i]
		v.count = number(size)
		if v.before < 0 {
			text = fmt.Sprintf("%s[%s%d..%v]", text, colons(axis), -v.before, spread[axis])
			spread[axis] = add(spread[axis], number(v.before))
			v.before = 0
		}
		ws[i] = v
		to = append(to, v.count)
	}
	backwards := c.t.operand(w)
	for i := range ws {
		backwards = fmt.Sprintf("flip(%s, %d)", backwards, i+2)
	}
	order := []int{1, 0}
	for i := range ws {
		order = append(order, i+2)
	}
	backwards = fmt.Sprintf("permute_axes(%s, [%s])", backwards, strings.Trim(axesText(order), "()"))
	call := fmt.Sprintf("%s(%s, %s)", c.convHelper(ws, 1), padded(text, spread, ws, ""), backwards)
	if c.has(2) {
		call += fmt.Sprintf(" .+ reshape(%s, [%v%s])", c.text(2), w.shape[1], strings.Repeat(", 1", rank))
	}
	c.result(0, x.elem, to, "%s", call)
}
