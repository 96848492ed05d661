package onnx

import (
	"fmt"
	"math"
	"slices"

	"healc/lang/types"
)

// resize takes for each place of the result the nearest element; other modes are unsupported.
func resize(c *call) {
	x := c.arg(0)
	mode := c.string("mode", "nearest")
	how := c.string("coordinate_transformation_mode", "half_pixel")
	nearest := c.string("nearest_mode", "round_prefer_floor")
	if c.node.Op == "Upsample" || c.t.opset == 10 {
		how, nearest = "asymmetric", "floor"
	}
	if mode != "nearest" {
		c.fail("unsupported: its mode %s", mode)
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
