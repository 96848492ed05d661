package onnx

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"healc/lang/types"
)

// reductionOps go along axes.
var reductionOps = map[string]*entry{
	"ReduceSum":       reduction("+/", "x", "y"),
	"ReduceProd":      reduction("*/", "x", "y"),
	"ReduceMax":       reduction("max/", "x", "y"),
	"ReduceMin":       reduction("min/", "x", "y"),
	"ReduceMean":      reduction("mean", "x", "y"),
	"ReduceL1":        reduction("+/", "abs(x)", "y"),
	"ReduceL2":        reduction("+/", "x * x", "sqrt(y)"),
	"ReduceSumSquare": reduction("+/", "x * x", "y"),
	"ReduceLogSum":    reduction("+/", "x", "log(y)"),
	"ReduceLogSumExp": {since: 1, write: func(c *call) {
		axes, keep, _ := c.reduced()
		x := c.arg(0)
		if len(axes) == 0 {
			c.same(x)
			return
		}
		if c.foldNothing("max/", axes, along(x.shape, axes, keep)) {
			return
		}
		text := c.t.operand(x)
		kept, to := along(x.shape, axes, true), along(x.shape, axes, keep)
		top := c.let("largest", x.elem, kept, "%s", fold("max/", text, axes, len(x.shape), true))
		all := fold("+/", fmt.Sprintf("exp(%s .- %s)", text, top.text), axes, len(x.shape), true)
		sum := fmt.Sprintf("log(%s) + %s", all, top.text)
		if !keep {
			sum = fmt.Sprintf("reshape(%s, %v)", sum, to)
		}
		c.result(0, x.elem, to, "%s", sum)
	}},
	"ArgMax": extreme("argmax"),
	"ArgMin": extreme("argmin"),
	"Softmax": {since: 1, write: func(c *call) {
		c.normalized("softmax", "# exp(x) over its sum along axis %[1]s, without overflow.",
			`let e = exp(x .- max/[axis=%[1]s, keep](x));
			e ./ +/[axis=%[1]s, keep](e)`)
	}},
	"LogSoftmax": {since: 1, write: func(c *call) {
		c.normalized("log_softmax",
			"# log(softmax(x)) along axis %[1]s, without the loss of a logarithm of something small.",
			`let y = x .- max/[axis=%[1]s, keep](x);
			y .- log(+/[axis=%[1]s, keep](exp(y)))`)
	}},
	"Hardmax": {since: 13, write: func(c *call) {
		x := c.arg(0)
		axis := c.axis(c.int("axis", -1), len(x.shape))
		text := fmt.Sprintf("one_hot[%v](argmax(%s, axis = %d), %v)", x.elem, c.t.operand(x), axis, x.shape[axis])
		if last := len(x.shape) - 1; axis != last {
			text = fmt.Sprintf("moveaxis(%s, %d, %d)", text, last, axis)
		}
		c.result(0, x.elem, x.shape, "%s", text)
	}},
	"LRN": {since: 1, write: func(c *call) {
		x := c.arg(0)
		if len(x.shape) < 3 {
			c.fail("it has %d axes", len(x.shape))
		}
		size := c.int("size", 0)
		if size < 1 || size >= 1<<31 {
			c.fail("its size is %d", size)
		}
		d := letters(len(x.shape))
		at := make([]string, len(d))
		for i := range at {
			at[i] = fmt.Sprintf("i%d", i)
		}
		to := slices.Clone(at)
		to[1] += " + k"
		f := c.helper("local_response_norm", fmt.Sprintf(
			"# Every element over a power of the sum of squares of %[4]d channels around it.\n"+
				"fn %%s[T: float, %[1]s](x: T[%[1]s], by: T, power: T, bias: T) -> T[%[1]s] = {\n"+
				"let squares = pad(x * x, 1, %[5]d, %[6]d);\n"+
				"let near = tabulate(%[1]s, %[4]d, |%[2]s, k| squares[%[3]s]);\n"+
				"x / pow(bias + by * +/[axis=-1](near), power)\n}",
			strings.Join(d, ", "), strings.Join(at, ", "), strings.Join(to, ", "), size, (size-1)/2, size/2))
		c.result(0, x.elem, x.shape, "%s(%s, %s, %s, %s)", f, c.t.operand(x),
			floatText(x.elem, rounded(c.float("alpha", 1e-4))/float64(size)),
			floatText(x.elem, rounded(c.float("beta", 0.75))), floatText(x.elem, rounded(c.float("bias", 1))))
	}},
	"LayerNormalization": {since: 17, ignored: "stash_type", write: layerNorm},
	"BatchNormalization": {since: 1, ignored: "momentum", write: func(c *call) {
		if !c.flag("spatial", 1) {
			c.fail("unsupported: an average for each position")
		}
		if c.flag("training_mode", 0) || c.t.opset < 7 && !c.flag("is_test", 0) {
			c.fail("unsupported: it trains")
		}
		x := c.arg(0)
		if len(x.shape) < 2 {
			c.fail("it has %d axes", len(x.shape))
		}
		r := len(x.shape)
		d := letters(r)
		of := strings.Repeat(", 1", r-2)
		f := c.helper(fmt.Sprintf("batch_norm_%dd", r-2), fmt.Sprintf(
			"# Every channel, which is axis 1, minus its mean, over the root of its variance, then scaled "+
				"and shifted.\n"+
				"fn %%s[T: float, %[1]s]"+
				"(x: T[%[1]s], scale: T[D1], shift: T[D1], mean: T[D1], variance: T[D1], eps: T) -> T[%[1]s] = {\n"+
				"let by = scale * rsqrt(variance + eps);\n"+
				"x .* reshape(by, [D1%[2]s]) .+ reshape(shift - mean * by, [D1%[2]s])\n}", strings.Join(d, ", "), of))
		c.result(0, x.elem, x.shape, "%s(%s, %s, %s, %s, %s, %s)", f, c.t.operand(x), c.text(1), c.text(2), c.text(3),
			c.text(4), floatText(x.elem, rounded(c.float("epsilon", 1e-5))))
	}},
	"InstanceNormalization": {since: 1, write: func(c *call) {
		x := c.arg(0)
		r := len(x.shape)
		if r < 3 {
			c.fail("it has %d axes", r)
		}
		d := letters(r)
		var axes []int
		for i := 2; i < r; i++ {
			axes = append(axes, i)
		}
		f := c.helper(fmt.Sprintf("instance_norm_%dd", r-2), fmt.Sprintf(
			"# Every channel of every image with mean 0 and variance 1, then scaled and shifted.\n"+
				"fn %%s[T: float, %[1]s](x: T[%[1]s], scale: T[D1], shift: T[D1], eps: T) -> T[%[1]s] = {\n"+
				"let d = x .- mean(x, axis = %[3]s, keep = true);\n"+
				"let v = mean(d * d, axis = %[3]s, keep = true);\n"+
				"d .* rsqrt(v + eps) .* reshape(scale, [D1%[2]s]) .+ reshape(shift, [D1%[2]s])\n}",
			strings.Join(d, ", "), strings.Repeat(", 1", r-2), axesText(axes)))
		c.result(0, x.elem, x.shape, "%s(%s, %s, %s, %s)", f, c.t.operand(x), c.text(1), c.text(2),
			floatText(x.elem, rounded(c.float("epsilon", 1e-5))))
	}},
	"GlobalAveragePool": {since: 1, write: global("mean")},
	"GlobalMaxPool":     {since: 1, write: global("max/")},
}

// fold is a reduction along axes, of all of rank axes where it keeps none.
func fold(of, text string, axes []int, rank int, keep bool) string {
	named := ""
	switch {
	case of == "mean" && len(axes) == rank && !keep:
		return "mean(" + text + ")"
	case of == "mean":
		if named = ", axis = " + axesText(axes); keep {
			named += ", keep = true"
		}
		return "mean(" + text + named + ")"
	case len(axes) == rank && !keep:
	default:
		if named = "axis=" + axesText(axes); keep {
			named += ", keep"
		}
		named = "[" + named + "]"
	}
	return of + named + "(" + text + ")"
}

// along is a shape without axes, or with 1 in their place.
func along(s shape, axes []int, keep bool) shape {
	var out shape
	for i, d := range s {
		switch {
		case !slices.Contains(axes, i):
			out = append(out, d)
		case keep:
			out = append(out, number(1))
		}
	}
	return out
}

// reduced are the axes of a reduction; all without a word, unless that stands for none.
func (c *call) reduced() (axes []int, keep, none bool) {
	keep = c.flag("keepdims", 1)
	none = c.flag("noop_with_empty_axes", 0)
	rank := len(c.arg(0).shape)
	list, _ := c.list("axes", 1)
	if len(list) > 0 {
		return c.axes(list, rank), keep, false
	}
	if none {
		return nil, keep, true
	}
	for i := range rank {
		axes = append(axes, i)
	}
	return axes, keep, false
}

// reduction is the entry of a fold of a function of x, with a function of the result.
func reduction(of, before, after string) *entry {
	return &entry{since: 1, write: func(c *call) {
		axes, keep, _ := c.reduced()
		x := c.arg(0)
		list, ok := x.integers()
		if ok && of == "*/" && len(x.shape) == 1 && !keep && foldable(x.elem) && !x.known.clamped {
			n := number(1)
			for _, v := range list {
				n = mul(n, number(v))
			}
			if n, ok := within(x.elem, n); ok {
				c.knownResult(x.elem, nil, &known{ints: []types.Dim{n}})
				return
			}
		}
		to := along(x.shape, axes, keep)
		if of == "max/" || of == "min/" {
			if c.foldNothing(of, axes, to) {
				return
			}
		}
		of := of
		if x.elem == types.Bool {
			of = map[string]string{"max/": "||/", "min/": "&&/"}[of]
		}
		text := replaced(before, "x", c.t.operand(x))
		if len(axes) > 0 {
			text = fold(of, text, axes, len(x.shape), keep)
		} else if text == c.t.operand(x) && after == "y" {
			c.same(x)
			return
		}
		c.result(0, x.elem, to, "%s", replaced(after, "y", text))
	}}
}

// foldNothing makes output 0 the least or largest number, where the axes of a reduction have no elements.
func (c *call) foldNothing(of string, axes []int, to shape) bool {
	x := c.arg(0)
	if !x.elem.IsFloat() || !slices.ContainsFunc(axes, func(a int) bool { return x.shape[a].IsConst(0) }) {
		return false
	}
	sign := -1
	if of == "min/" {
		sign = 1
	}
	c.fill(x.elem, to, &known{floats: []float64{math.Inf(sign)}})
	return true
}

// extreme is the entry of the position of the largest or smallest.
func extreme(name string) *entry {
	return &entry{since: 1, write: func(c *call) {
		x := c.arg(0)
		axis := c.axis(c.int("axis", 0), len(x.shape))
		keep, last := c.flag("keepdims", 1), c.flag("select_last_index", 0)
		text, kept := c.t.operand(x), ""
		if last {
			text = fmt.Sprintf("flip(%s, %d)", text, axis)
		}
		if keep {
			kept = ", keep = true"
		}
		text = fmt.Sprintf("%s(%s, axis = %d%s) as i64", name, text, axis, kept)
		if last {
			text = fmt.Sprintf("%s - (%s)", intText(types.I64, sub(x.shape[axis], number(1))), text)
		}
		c.result(0, types.I64, along(x.shape, []int{axis}, keep), "%s", text)
	}}
}

// normalized writes a call of a helper that goes along an axis, of any extents. Before version 13 of the operators it
// goes along that axis and all behind it.
func (c *call) normalized(name, about, body string) {
	x := c.arg(0)
	rank := len(x.shape)
	var axes []int
	if c.t.opset >= 13 {
		axes = []int{c.axis(c.int("axis", -1), rank)}
	} else {
		for i := c.axis(c.int("axis", 1), rank); i < rank; i++ {
			axes = append(axes, i)
		}
	}
	d, along := strings.Join(letters(rank), ", "), axesText(axes)
	f := c.helper(name, fmt.Sprintf(about, along)+"\n"+
		fmt.Sprintf("fn %%s[T: float, %s](x: T[%s]) -> T[%s] = {\n%s\n}", d, d, d, fmt.Sprintf(body, along)))
	c.result(0, x.elem, x.shape, "%s(%s)", f, c.t.operand(x))
}

// layerNorm has the mean and the inverse of the deviation as further results.
func layerNorm(c *call) {
	x, scale := c.arg(0), c.arg(1)
	r := len(x.shape)
	axis := c.axis(c.int("axis", -1), r)
	eps := rounded(c.float("epsilon", 1e-5))
	if !c.broadcast(x, scale).Equal(x.shape) {
		c.fail("its scale has the shape %v", scale.shape)
	}
	var axes []int
	for i := axis; i < r; i++ {
		axes = append(axes, i)
	}
	if c.output(1) || c.output(2) {
		kept := along(x.shape, axes, true)
		c.result(1, x.elem, kept, "%s", fold("mean", c.t.operand(x), axes, r, true))
		d := c.let("difference", x.elem, x.shape, "%s .- %s", c.t.operand(x),
			fold("mean", c.t.operand(x), axes, r, true))
		c.result(2, x.elem, kept, "rsqrt(%s + %s)", fold("mean", d.text+" * "+d.text, axes, r, true),
			floatText(x.elem, eps))
	}
	by, shift := c.t.operand(scale), ""
	if c.has(2) {
		shift = c.text(2)
		if !c.arg(2).shape.Equal(scale.shape) {
			c.fail("its bias has the shape %v, and its scale %v", c.arg(2).shape, scale.shape)
		}
	}
	d := letters(r)
	of := "[" + strings.Join(d[axis:], ", ") + "]"
	if !scale.shape.Equal(x.shape[axis:]) {
		c.fail("unsupported: a scale of the shape %v", scale.shape)
	}
	param, plus := "", ""
	if shift != "" {
		param, plus, shift = "shift: T"+of+", ", " .+ shift", shift+", "
	}
	f := c.helper("layer_norm", fmt.Sprintf(
		"# Mean 0 and variance 1 along axis %[1]s, then scaled and shifted.\n"+
			"fn %%s[T: float, %[2]s](x: T[%[2]s], scale: T%[3]s, %[4]seps: T) -> T[%[2]s] = {\n"+
			"let d = x .- mean(x, axis = %[1]s, keep = true);\n"+
			"let v = mean(d * d, axis = %[1]s, keep = true);\n"+
			"d .* rsqrt(v + eps) .* scale%[5]s\n}", axesText(axes), strings.Join(d, ", "), of, param, plus))
	c.result(0, x.elem, x.shape, "%s(%s, %s, %s%s)", f, c.t.operand(x), by, shift,
		floatText(x.elem, eps))
}

// global reduces the axes of an image.
func global(of string) func(*call) {
	return func(c *call) {
		x := c.arg(0)
		if len(x.shape) < 3 {
			c.fail("it has %d axes", len(x.shape))
		}
		var axes []int
		for i := 2; i < len(x.shape); i++ {
			axes = append(axes, i)
		}
		c.result(0, x.elem, along(x.shape, axes, true), "%s", fold(of, c.t.operand(x), axes, len(x.shape), true))
	}
}
