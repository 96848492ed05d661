package onnx

import (
	"fmt"
	"slices"
	"strings"

	"healc/lang/types"
)

// positionOps take elements from places, and say places.
var positionOps = map[string]*entry{
	"Gather": {since: 1, write: gather},
	"GatherElements": {since: 11, write: func(c *call) {
		x, at := c.arg(0), c.arg(1)
		axis := c.axis(c.int("axis", 0), len(x.shape))
		if len(at.shape) != len(x.shape) {
			c.fail("its positions have the shape %v, and its elements %v", at.shape, x.shape)
		}
		var cuts []string
		cut := false
		for i, d := range at.shape {
			switch {
			case i == axis || d.Equal(x.shape[i]):
				cuts = append(cuts, "..")
			default:
				cuts = append(cuts, fmt.Sprintf("0..%v", d))
				cut = true
			}
		}
		text := c.t.operand(x)
		if cut {
			text += "[" + strings.Join(cuts, ", ") + "]"
		}
		c.result(0, x.elem, at.shape, "take_along_axis(%s, %s, %d)", text, c.t.operand(at), axis)
	}},
	"GatherND": {since: 11, write: func(c *call) {
		x, at := c.arg(0), c.arg(1)
		last := len(at.shape) - 1
		batch := int(c.int("batch_dims", 0))
		if batch < 0 || batch > min(last, len(x.shape)-1) || !x.shape[:batch].Equal(at.shape[:batch]) {
			c.fail("the shapes %v and %v have no %d axes in common", x.shape, at.shape, batch)
		}
		n := int(c.extent(at.shape[last], "the last extent of its positions"))
		if n < 1 || batch+n > len(x.shape) {
			c.fail("its positions have %d numbers, and its elements %d axes", n, len(x.shape))
		}
		text := c.t.operand(at)
		var picks []string
		for i := range batch { // an index of its own for each
			picks = append(picks, fmt.Sprintf("reshape(0..%v, [%v%s])", x.shape[i], x.shape[i],
				strings.Repeat(", 1", last-1-i)))
		}
		for i := range n {
			one := fmt.Sprintf("%s[%s%d]", text, colons(last), i)
			picks = append(picks, c.fromEnd(&value{elem: at.elem, text: one}, x.shape[batch+i]))
		}
		to := slices.Concat(at.shape[:last], x.shape[batch+n:])
		c.result(0, x.elem, to, "%s[%s]", c.t.operand(x), strings.Join(picks, ", "))
	}},
	"Slice": {since: 1, write: slice},
	"Pad":   {since: 2, write: pad},
	"Resize": {since: 10, ignored: "cubic_coeff_a extrapolation_value exclude_outside keep_aspect_ratio_policy",
		write: resize},
	"Upsample": {since: 9, write: resize},
	"Range":    {since: 11, write: ranged},
	"CumSum": {since: 11, write: func(c *call) {
		x := c.arg(0)
		list := c.numbers(1)
		if len(list) != 1 {
			c.fail("it has %d axes", len(list))
		}
		axis := c.axis(list[0], len(x.shape))
		text := c.t.operand(x)
		exclusive, reverse := c.flag("exclusive", 0), c.flag("reverse", 0)
		if reverse {
			text = fmt.Sprintf("flip(%s, %d)", text, axis)
		}
		if exclusive { // moved by one, behind a zero
			text = fmt.Sprintf("pad(%s, %d, 1, 0)[%s0..%v]", text, axis, colons(axis), x.shape[axis])
		}
		text = fmt.Sprintf("cumsum(%s, axis = %d)", text, axis)
		if reverse {
			text = fmt.Sprintf("flip(%s, %d)", text, axis)
		}
		c.result(0, x.elem, x.shape, "%s", text)
	}},
	"OneHot": {since: 9, write: func(c *call) {
		at, ends := c.arg(0), c.arg(2)
		depth := c.arg(1).known
		if depth == nil || depth.len() != 1 {
			c.dims(1)
		}
		var d types.Dim
		if depth.ints != nil {
			d = depth.ints[0]
		} else {
			d = number(int64(depth.floats[0]))
		}
		rank := len(at.shape) + 1
		axis := c.axis(c.int("axis", -1), rank)
		text := c.t.operand(at)
		if !at.elem.IsInt() || at.elem.IsUnsigned() {
			text = fmt.Sprintf("(%s as i64)", text)
		}
		wrapped := c.fromEnd(&value{elem: types.I64, text: text}, d)
		hot := fmt.Sprintf("one_hot[bool](%s, %v)", wrapped, d)
		if axis != rank-1 {
			hot = fmt.Sprintf("moveaxis(%s, %d, %d)", hot, rank-1, axis)
		}
		off, on := c.t.operand(ends)+"[0]", c.t.operand(ends)+"[1]"
		to := slices.Insert(slices.Clone(at.shape), axis, d)
		c.result(0, ends.elem, to, "where(%s, %s, %s)", hot, on, off)
	}},
	"EyeLike": {since: 9, write: func(c *call) {
		x := c.arg(0)
		c.rank(x, 2)
		elem := x.elem
		if a := c.attr("dtype", kindInt); a != nil {
			var err error
			if elem, err = elemType(a.Int); err != nil {
				c.fail("%v", err)
			}
		}
		f := c.helper("diagonal", "# Ones on the diagonal that begins at column k, or above.\n"+
			"fn %s[M, N](k: i32) -> bool[M, N] = tabulate(M, N, |i, j| j == i + k)")
		c.result(0, elem, x.shape, "%s[%v, %v](%d) as %v", f, x.shape[0], x.shape[1], c.int("k", 0), elem)
	}},
	"Trilu": {since: 14, write: func(c *call) {
		x := c.arg(0)
		if len(x.shape) < 2 {
			c.fail("it has %d axes", len(x.shape))
		}
		k := int64(0)
		if c.has(1) {
			k = c.numbers(1)[0]
		}
		name, what, how := "upper", "on the diagonal that begins at column k, and above it", "j >= i + k"
		if !c.flag("upper", 1) {
			name, what, how = "lower", "on the diagonal that begins at column k, and below it", "j <= i + k"
		}
		f := c.helper(name, "# The elements "+what+".\n"+
			"fn %s[M, N](k: i32) -> bool[M, N] = tabulate(M, N, |i, j| "+how+")")
		m, n := x.shape[len(x.shape)-2], x.shape[len(x.shape)-1]
		if k = min(max(k, -1<<30), 1<<30); c.foldTrilu(int(k)) {
			return
		}
		c.result(0, x.elem, x.shape, "where(%s[%v, %v](%d), %s, %s)", f, m, n, k, c.t.operand(x), zeroOf(x.elem))
	}},
	"TopK": {since: 10, write: func(c *call) {
		x := c.arg(0)
		ks := c.dims(1)
		if len(ks) != 1 {
			c.fail("it has %d numbers of elements", len(ks))
		}
		axis := c.axis(c.int("axis", -1), len(x.shape))
		c.flag("sorted", 1) // what is sorted does for what need not be
		text := c.t.operand(x)
		key := text
		if c.flag("largest", 1) {
			// backwards, and stable: of equal ones the first comes first
			if key = "-" + text; x.elem.IsInt() {
				key = "bnot(" + text + ")"
			}
		}
		to := slices.Clone(x.shape)
		to[axis] = ks[0]
		at := c.let("order", types.I32, to, "argsort(%s, %d)[%s0..%v]", key, axis, colons(axis), ks[0])
		c.result(0, x.elem, to, "take_along_axis(%s, %s, %d)", text, at.text, axis)
		c.result(1, types.I64, to, "%s as i64", at.text)
	}},
}

// zeroOf is 0 of an element type.
func zeroOf(elem types.DType) string {
	switch {
	case elem == types.Bool:
		return "false"
	case elem.IsFloat():
		return floatText(elem, 0)
	}
	return (&known{ints: []types.Dim{{}}}).element(elem, 0)
}

// foldTrilu makes a triangle of what is known, known. (Masks of exporters begin so.)
func (c *call) foldTrilu(k int) bool {
	x := c.arg(0)
	extents, ok := x.shape.Ints()
	if !ok || x.known == nil {
		return false
	}
	upper := c.flag("upper", 1)
	out := &known{clamped: x.known.clamped}
	for i, index := range positions(extents) {
		row, column := int(index[len(index)-2]), int(index[len(index)-1])
		one := x.known.pick([]int{i})
		if upper && column < row+k || !upper && column > row+k {
			one = &known{ints: make([]types.Dim, len(one.ints)), floats: make([]float64, len(one.floats))}
		}
		out.ints, out.floats = append(out.ints, one.ints...), append(out.floats, one.floats...)
	}
	c.knownResult(x.elem, x.shape, out)
	return true
}

// intText is an integer of an element type that meets others of that type.
func intText(elem types.DType, d types.Dim) string {
	if n, ok := d.Const(); ok {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("((%v) as %v)", d, elem)
}

// fromEnd is positions, of which negative ones count from the end of an axis, as positions from its start.
func (c *call) fromEnd(at *value, extent types.Dim) string {
	if list, ok := at.integers(); ok {
		if k := slices.Clone(at.known.ints); slices.Min(append(list, 0)) < 0 {
			for i, n := range list {
				if n < 0 {
					k[i] = add(k[i], extent)
				}
			}
			return c.t.operand(&value{elem: at.elem, shape: at.shape, name: at.name, known: &known{ints: k}})
		}
		return c.t.operand(at)
	}
	text := c.t.operand(at)
	return fmt.Sprintf("where(%s .< 0, %s .+ %s, %s)", text, text, intText(at.elem, extent), text)
}

func gather(c *call) {
	x, at := c.arg(0), c.arg(1)
	axis := c.axis(c.int("axis", 0), len(x.shape))
	to := slices.Concat(x.shape[:axis], at.shape, x.shape[axis+1:])
	if list, ok := at.integers(); ok && x.known != nil && len(x.shape) == 1 {
		picked := make([]int, len(list))
		for i, n := range list {
			if n < 0 {
				n += int64(x.known.len())
			}
			if n < 0 || n >= int64(x.known.len()) {
				c.fail("there is no element %d of %d", list[i], x.known.len())
			}
			picked[i] = int(n)
		}
		c.knownResult(x.elem, to, x.known.pick(picked))
		return
	}
	text := c.t.operand(x)
	if list, ok := at.integers(); ok && len(at.shape) == 0 {
		where := number(list[0])
		if list[0] < 0 {
			where = add(where, x.shape[axis])
		}
		c.result(0, x.elem, to, "%s[%s%v]", text, colons(axis), where)
		return
	}
	c.result(0, x.elem, to, "%s[%s%s]", text, colons(axis), c.fromEnd(at, x.shape[axis]))
}

// bounds are what Slice takes of an axis: from, to and step. With a negative step `to` is the last element itself.
type bounds struct {
	from, to, count types.Dim
	step            int64
}

func slice(c *call) {
	x := c.arg(0)
	starts, ok := c.dimList("starts", 1)
	ends, okEnds := c.dimList("ends", 2)
	if !ok || !okEnds || len(starts) != len(ends) {
		c.fail("its starts and ends are not one list each of one length")
	}
	axes, hasAxes := c.list("axes", 3)
	if !hasAxes {
		for i := range starts {
			axes = append(axes, int64(i))
		}
	}
	steps := slices.Repeat([]int64{1}, len(starts))
	if c.has(4) {
		steps = c.numbers(4)
	}
	if len(axes) != len(starts) || len(steps) != len(starts) {
		c.fail("it has %d starts, %d axes and %d steps", len(starts), len(axes), len(steps))
	}
	c.axes(axes, len(x.shape)) // each once
	index, to := slices.Repeat([]string{".."}, len(x.shape)), slices.Clone(x.shape)
	cut := -1
	for i := range starts {
		axis := c.axis(axes[i], len(x.shape))
		b := c.bounds(starts[i], ends[i], steps[i], x.shape[axis])
		if b.step == 1 && b.count.Equal(x.shape[axis]) {
			continue
		}
		to[axis], cut = b.count, max(cut, axis)
		switch {
		case b.count.IsConst(0):
			index[axis] = "0..0"
		case b.step == 1:
			index[axis] = fmt.Sprintf("%v..%v", b.from, b.to)
		case b.step > 0:
			index[axis] = fmt.Sprintf("%v..%v by %d", b.from, b.to, b.step)
		default:
			index[axis] = fmt.Sprintf("%v..=%v by %d", b.from, b.to, b.step)
		}
		if x.known != nil && len(x.shape) == 1 {
			first, _ := b.from.Const()
			var picked []int
			for j := range c.extent(b.count, "its length") {
				picked = append(picked, int(first+j*b.step))
			}
			if len(picked) > 0 {
				c.knownResult(x.elem, to, x.known.pick(picked))
				return
			}
		}
	}
	if cut < 0 {
		c.same(x)
		return
	}
	c.result(0, x.elem, to, "%s[%s]", c.t.operand(x), strings.Join(index[:cut+1], ", "))
}

// dimList is list with elements that may depend on dimensions.
func (c *call) dimList(name string, i int) ([]types.Dim, bool) {
	if list, ok := c.ints(name); ok {
		return shapeOf(list...), true
	}
	if c.has(i) {
		return c.dims(i), true
	}
	return nil, false
}

// endless is a bound of a slice that no axis reaches.
const endless = 1<<31 - 1

// bounds says what a slice takes of an axis. A bound that depends on dimensions is taken to lie on the axis: where it
// does not, the program stops, and ONNX would take the end of the axis.
func (c *call) bounds(start, end types.Dim, step int64, extent types.Dim) bounds {
	n, fixed := extent.Const()
	place := func(d types.Dim, least, most types.Dim) types.Dim {
		v, ok := d.Const()
		switch {
		case !ok:
			return d
		case fixed:
			if v < 0 {
				v += n
			}
			low, _ := least.Const()
			high, _ := most.Const()
			return number(min(max(v, low), high))
		case v >= endless:
			return most
		case v < -endless:
			return least
		case v < 0:
			return add(extent, d)
		}
		return d
	}
	switch {
	case step == 0:
		c.fail("its step is 0")
	case step > 0:
		b := bounds{from: place(start, types.Dim{}, extent), to: place(end, types.Dim{}, extent), step: step}
		length := sub(b.to, b.from)
		if size, ok := length.Const(); ok {
			b.count = number((max(size, 0) + step - 1) / step)
		} else if step == 1 {
			b.count = length
		} else if b.count, ok = div(length, number(step)); !ok {
			c.undecided("%v by steps of %d", length, step)
		}
		return b
	}
	last := sub(extent, number(1))
	b := bounds{from: place(start, types.Dim{}, last), to: place(end, number(-1), last), step: step}
	size := c.extent(sub(b.from, b.to), "the length of a slice")
	count := (max(size, 0) - step - 1) / -step
	b.count = number(count)
	b.to = add(b.from, number((count-1)*step))
	return b
}

func ranged(c *call) {
	start, limit, delta := c.arg(0), c.arg(1), c.arg(2)
	if start.known != nil && start.known.floats != nil {
		if limit.known == nil || delta.known == nil || limit.known.floats == nil || delta.known.floats == nil {
			c.dims(1)
		}
		from, to, by := start.known.floats[0], limit.known.floats[0], delta.known.floats[0]
		k := &known{}
		for x := from; by > 0 && x < to || by < 0 && x > to; x = from + by*float64(len(k.floats)) {
			if k.floats = append(k.floats, x); len(k.floats) > maxKnown {
				c.fail("unsupported: a range of more than %d floats", maxKnown)
			}
		}
		if len(k.floats) == 0 {
			c.fail("unsupported: a range without elements")
		}
		c.knownResult(start.elem, shapeOf(int64(len(k.floats))), k)
		return
	}
	from, to, by := c.dims(0)[0], c.dims(1)[0], c.numbers(2)[0]
	length := sub(to, from)
	if by == 0 {
		c.fail("its step is 0")
	}
	count, ok := length, by == 1
	if n, fixed := length.Const(); fixed {
		ok = true
		if by > 0 {
			count = number((max(n, 0) + by - 1) / by)
		} else {
			count = number((max(-n, 0) - by - 1) / -by)
		}
	}
	if !ok {
		c.undecided("%v by steps of %d", length, by)
	}
	if n, fixed := count.Const(); fixed && n > 0 && n <= maxKnown {
		k := &known{}
		for i := range n {
			k.ints = append(k.ints, add(from, number(i*by)))
		}
		c.knownResult(start.elem, shape{count}, k)
		return
	}
	text := fmt.Sprintf("iota[%v](%v)", start.elem, count)
	if by != 1 {
		text = fmt.Sprintf("%s * %d", text, by)
	}
	if !from.IsConst(0) {
		text = fmt.Sprintf("%s .+ %s", text, intText(start.elem, from))
	}
	c.result(0, start.elem, shape{count}, "%s", text)
}

func pad(c *call) {
	x := c.arg(0)
	list, ok := c.list("pads", 1)
	if !ok {
		list, ok = c.ints("paddings")
	}
	rank := len(x.shape)
	axes := make([]int, rank)
	for i := range axes {
		axes[i] = i
	}
	if c.has(3) {
		axes = nil
		for _, a := range c.numbers(3) {
			axes = append(axes, c.axis(a, rank))
		}
	}
	if !ok || len(list) != 2*len(axes) {
		c.fail("it has %d numbers for %d axes", len(list), len(axes))
	}
	mode := c.string("mode", "constant")
	text, to := c.t.operand(x), slices.Clone(x.shape)
	fill := ""
	if a := c.attr("value", kindFloat); a != nil && a.Float != 0 {
		fill = ", " + floatText(x.elem, rounded(a.Float))
	}
	if c.has(2) {
		if k := c.arg(2).known; k == nil || k.floats == nil || k.floats[0] != 0 {
			fill = ", " + c.text(2)
			if len(c.arg(2).shape) == 1 {
				fill += "[0]"
			}
		}
	}
	for i, axis := range axes {
		before, after := list[i], list[i+len(axes)]
		if before == 0 && after == 0 {
			continue
		}
		if mode == "constant" {
			if before < 0 || after < 0 {
				text = fmt.Sprintf("%s[%s%d..%v]", text, colons(axis), max(-before, 0),
					add(to[axis], number(min(after, 0))))
			}
			if before > 0 || after > 0 {
				text = fmt.Sprintf("pad(%s, %d, %d, %d%s)", text, axis, max(before, 0), max(after, 0), fill)
			}
		} else {
			n := c.extent(to[axis], "the extent of an axis")
			var at []int64
			for j := -before; j < n+after; j++ {
				at = append(at, c.outside(j, n, mode))
			}
			text = fmt.Sprintf("%s[%s%s]", text, colons(axis), listText(at))
		}
		to[axis] = add(to[axis], number(before+after))
	}
	if to.Equal(x.shape) {
		c.same(x)
		return
	}
	c.result(0, x.elem, to, "%s", text)
}

// outside is the element that stands for position j of an axis of n, which may lie outside.
func (c *call) outside(j, n int64, mode string) int64 {
	if n < 1 {
		c.fail("there is nothing to pad with")
	}
	switch mode {
	case "edge":
		return min(max(j, 0), n-1)
	case "wrap":
		return (j%n + n) % n
	case "reflect":
		period := max(2*(n-1), 1)
		j = (j%period + period) % period
		return min(j, period-j)
	}
	c.fail("unsupported: its mode %s", mode)
	return 0
}

// listText is positions as an index.
func listText(list []int64) string {
	text := make([]string, len(list))
	for i, n := range list {
		text[i] = fmt.Sprint(n)
	}
	return "[" + strings.Join(text, ", ") + "]"
}
