package onnx

import (
	"fmt"
	"math"
	"slices"

	"healc/lang/types"
)

// resize takes for each place of the result the nearest element, or goes straight from one to the next (linear); other
// modes are unsupported.
func resize(c *call) {
	x := c.arg(0)
	mode := c.string("mode", "nearest")
	how := c.string("coordinate_transformation_mode", "half_pixel")
	nearest := c.string("nearest_mode", "round_prefer_floor")
	if c.node.Op == "Upsample" || c.t.opset == 10 {
		how, nearest = "asymmetric", "floor"
	}
	linear := mode == "linear"
	if mode != "nearest" && !(linear && c.node.Op == "Resize" && c.t.opset > 10 && x.elem.IsFloat()) {
		c.fail("unsupported: its mode %s", mode)
	}
	if linear && c.flag("antialias", 0) {
		c.fail("unsupported: antialias")
	}
	axes := make([]int, len(x.shape))
	for i := range axes {
		axes[i] = i
	}
	if list, ok := c.ints("axes"); ok {
		c.axes(list, len(x.shape)) // each once
		axes = nil
		for _, a := range list {
			axes = append(axes, c.axis(a, len(x.shape)))
		}
	}
	scales, sizes := c.scales(len(axes))
	text, to := c.t.operand(x), slices.Clone(x.shape)
	for i, axis := range axes {
		if sizes != nil && sizes[i].Equal(x.shape[axis]) || sizes == nil && scales[i] == 1 {
			continue
		}
		n := c.extent(x.shape[axis], "the extent of an axis that is resized")
		var size int64
		scale := 1.0
		if sizes != nil {
			size = c.extent(sizes[i], "an extent")
			scale = float64(size) / float64(n)
		} else {
			scale = scales[i]
			size = int64(math.Floor(float64(n) * scale))
		}
		if size < 1 || size > 1<<16 || !(scale > 0) {
			c.fail("its extent is %d", size)
		}
		if linear {
			x = c.between(x, text, to, axis, n, size, func(j float64) float64 {
				return c.place(how, j, scale, float64(n), float64(size))
			})
			text = x.text
			to[axis] = number(size)
			continue
		}
		at := make([]int64, size)
		for j := range at {
			place := c.place(how, float64(j), scale, float64(n), float64(size))
			at[j] = min(max(c.nearest(nearest, place), 0), n-1)
		}
		to[axis] = number(size)
		if times := size / n; times*n == size && repeats(at, times) {
			text = fmt.Sprintf("repeat(%s, %d, %d)", text, times, axis)
		} else {
			text = fmt.Sprintf("%s[%s%s]", text, colons(axis), listText(at))
		}
	}
	if to.Equal(x.shape) {
		c.same(x)
		return
	}
	c.result(0, x.elem, to, "%s", text)
}

// between goes along an axis straight from each element to the next: at place p it has a part of the element before and
// the rest of the element behind it. Beyond the ends, the axis has its first and last element.
func (c *call) between(x *value, text string, to shape, axis int, n, size int64,
	place func(float64) float64) *value {
	low, high := make([]int64, size), make([]int64, size)
	part := &known{floats: make([]float64, size)}
	for j := range low {
		p := min(max(place(float64(j)), 0), float64(n-1))
		low[j] = int64(math.Floor(p))
		high[j] = min(low[j]+1, n-1)
		part.floats[j] = float64(float32(p - math.Floor(p)))
	}
	s := slices.Clone(to)
	s[axis] = number(size)
	of := make(shape, len(to)-axis)
	for i := range of {
		of[i] = number(1)
	}
	of[0] = number(size)
	before := c.let("before", x.elem, s, "%s[%s%s]", text, colons(axis), listText(low))
	behind := c.let("behind", x.elem, s, "%s[%s%s]", text, colons(axis), listText(high))
	weight := literal(x.elem, shape{number(size)}, part)
	if len(of) > 1 {
		weight = fmt.Sprintf("reshape(%s, %v)", weight, of)
	}
	by := c.let("part", x.elem, of, "%s", weight)
	return c.let("line", x.elem, s, "%s + (%s - %s) .* %s", before.text, behind.text, before.text, by.text)
}

// scales are the factors by which axes grow, or the extents that they get.
func (c *call) scales(axes int) ([]float64, []types.Dim) {
	at := 2
	if c.node.Op == "Upsample" || c.t.opset == 10 {
		at = 1
	}
	if c.has(3) {
		if sizes := c.dims(3); len(sizes) == axes {
			if policy := c.string("keep_aspect_ratio_policy", "stretch"); policy != "stretch" {
				c.fail("unsupported: keep_aspect_ratio_policy %s", policy)
			}
			return nil, sizes
		}
	}
	v := c.arg(at)
	if v.known == nil || len(v.known.floats) != axes {
		c.dims(at)
	}
	return v.known.floats, nil
}

// place is where on an axis of n element j of a result of size lies.
func (c *call) place(how string, j, scale, n, size float64) float64 {
	switch how {
	case "half_pixel":
		return (j+0.5)/scale - 0.5
	case "half_pixel_symmetric": // half of a part of an element is left out at each end
		return n/2*(1-size/(n*scale)) + (j+0.5)/scale - 0.5
	case "pytorch_half_pixel":
		if size > 1 {
			return (j+0.5)/scale - 0.5
		}
		return 0
	case "asymmetric":
		return j / scale
	case "align_corners":
		if size > 1 {
			return j * (n - 1) / (size - 1)
		}
		return 0
	case "tf_half_pixel_for_nn":
		return (j + 0.5) / scale
	}
	c.fail("unsupported: its coordinate_transformation_mode %s", how)
	return 0
}

// nearest is the element that stands for a place between two.
func (c *call) nearest(mode string, place float64) int64 {
	switch mode {
	case "round_prefer_floor":
		return int64(math.Ceil(place - 0.5))
	case "round_prefer_ceil":
		return int64(math.Floor(place + 0.5))
	case "floor":
		return int64(math.Floor(place))
	case "ceil":
		return int64(math.Ceil(place))
	}
	c.fail("unsupported: its nearest_mode %s", mode)
	return 0
}

// repeats reports whether positions are each place in order, a number of times.
func repeats(at []int64, times int64) bool {
	for i, p := range at {
		if times < 1 || p != int64(i)/times {
			return false
		}
	}
	return true
}
