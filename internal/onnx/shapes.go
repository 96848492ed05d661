package onnx

import (
	"fmt"
	"slices"
	"strings"

	"healc/lang/types"
)

// shapeOps give the same elements in another shape or order, or say a shape.
var shapeOps = map[string]*entry{
	"Constant": {since: 1, write: constant},
	"Shape": {since: 1, write: func(c *call) {
		s := c.arg(0).shape
		from, to := c.int("start", 0), c.int("end", int64(len(s)))
		bound := func(n int64) int64 {
			if n < 0 {
				n += int64(len(s))
			}
			return min(max(n, 0), int64(len(s)))
		}
		from, to = bound(from), bound(to)
		part := s[from:max(from, to)]
		c.knownResult(types.I64, shapeOf(int64(len(part))), &known{ints: slices.Clone(part)})
	}},
	"Size": {since: 1, write: func(c *call) {
		c.knownResult(types.I64, nil, &known{ints: []types.Dim{count(c.arg(0).shape)}})
	}},
	"Reshape": {since: 5, write: reshape},
	"Flatten": {since: 1, write: func(c *call) {
		x := c.arg(0)
		axis := c.int("axis", 1)
		if axis < 0 {
			axis += int64(len(x.shape))
		}
		if axis < 0 || axis > int64(len(x.shape)) {
			c.fail("there is no axis %d of %d axes", axis, len(x.shape))
		}
		c.reshaped(x, shape{count(x.shape[:axis]), count(x.shape[axis:])})
	}},
	"Squeeze": {since: 1, write: func(c *call) {
		x := c.arg(0)
		list, ok := c.list("axes", 1)
		var to shape
		axes := c.axes(list, len(x.shape))
		for i, d := range x.shape {
			switch gone := slices.Contains(axes, i); {
			case gone && !d.IsConst(1):
				c.fail("axis %d has the extent %v", i, d)
			case gone, !ok && d.IsConst(1):
			default:
				to = append(to, d)
			}
		}
		c.reshaped(x, to)
	}},
	"Unsqueeze": {since: 1, write: func(c *call) {
		x := c.arg(0)
		list, ok := c.list("axes", 1)
		if !ok {
			c.fail("it does not say its axes")
		}
		rank := len(x.shape) + len(list)
		axes := c.axes(list, rank)
		var to shape
		rest := x.shape
		for i := range rank {
			if slices.Contains(axes, i) {
				to = append(to, number(1))
			} else {
				to, rest = append(to, rest[0]), rest[1:]
			}
		}
		c.reshaped(x, to)
	}},
	"Transpose": {since: 1, write: func(c *call) {
		x := c.arg(0)
		perm, ok := c.ints("perm")
		if !ok {
			for i := range x.shape {
				perm = append(perm, int64(len(x.shape)-1-i))
			}
		}
		if len(perm) != len(x.shape) {
			c.fail("its permutation %v is not one of %d axes", perm, len(x.shape))
		}
		c.axes(perm, len(x.shape))
		to := make([]int, len(perm))
		for i, p := range perm {
			to[i] = c.axis(p, len(perm))
		}
		c.permuted(x, to)
	}},
	"Expand": {since: 8, write: func(c *call) {
		x := c.arg(0)
		s := c.together(x.shape, c.dims(1))
		if c.foldExpand(s) {
			return
		}
		c.expanded(x, s)
	}},
	"Concat": {since: 4, write: concat},
	"Split":  {since: 2, write: split},
	"Tile": {since: 6, write: func(c *call) {
		x := c.arg(0)
		times := c.dims(1)
		if len(times) != len(x.shape) {
			c.fail("it has %d axes, and %d numbers of repetitions", len(x.shape), len(times))
		}
		// each axis after one along which it is repeated
		var apart, wide, to shape
		for i, d := range x.shape {
			apart = append(apart, number(1), d)
			wide = append(wide, times[i], d)
			to = append(to, mul(d, times[i]))
		}
		if to.Equal(x.shape) {
			c.same(x)
			return
		}
		c.result(0, x.elem, to, "reshape(expand(reshape(%s, %v), %v), %v)", c.t.operand(x), apart, wide, to)
	}},
	"ConstantOfShape": {since: 9, write: func(c *call) {
		s := shape(slices.Clone(c.dims(0)))
		elem, k := types.F32, &known{floats: []float64{0}}
		if a := c.attr("value", kindTensor); a != nil && a.Tensor != nil {
			elem, k = a.Tensor.Elem, a.Tensor.look()
			if k == nil || k.len() != 1 || k.clamped {
				c.fail("unsupported: its value")
			}
		}
		c.fill(elem, s, k)
	}},
	"DepthToSpace": {since: 1, write: func(c *call) {
		x := c.arg(0)
		c.rank(x, 4)
		b, dcr := number(c.int("blocksize", 0)), c.string("mode", "DCR") == "DCR"
		depth, ok := div(x.shape[1], mul(b, b))
		if !ok || b.IsConst(0) {
			c.fail("the axis of channels has %v", x.shape[1])
		}
		n, h, w := x.shape[0], x.shape[2], x.shape[3]
		apart, perm := shape{n, depth, b, b, h, w}, "0, 1, 4, 2, 5, 3"
		if dcr {
			apart, perm = shape{n, b, b, depth, h, w}, "0, 3, 4, 1, 5, 2"
		}
		to := shape{n, depth, mul(h, b), mul(w, b)}
		c.result(0, x.elem, to, "reshape(permute_axes(reshape(%s, %v), [%s]), %v)", c.t.operand(x), apart, perm, to)
	}},
	"SpaceToDepth": {since: 1, write: func(c *call) {
		x := c.arg(0)
		c.rank(x, 4)
		b := number(c.int("blocksize", 0))
		n, ch := x.shape[0], x.shape[1]
		h, okH := div(x.shape[2], b)
		w, okW := div(x.shape[3], b)
		if b.IsConst(0) || !okH || !okW {
			c.fail("blocks of %v do not fit into %v", b, x.shape)
		}
		to := shape{n, mul(mul(ch, b), b), h, w}
		c.result(0, x.elem, to, "reshape(permute_axes(reshape(%s, %v), [0, 3, 5, 1, 2, 4]), %v)", c.t.operand(x),
			shape{n, ch, h, b, w, b}, to)
	}},
}

// constant is a node that is its attribute.
func constant(c *call) {
	for name, kind := range map[string]int64{"value": kindTensor, "value_float": kindFloat, "value_int": kindInt,
		"value_floats": kindFloats, "value_ints": kindInts} {
		a := c.attr(name, kind)
		if a == nil {
			continue
		}
		v := &value{name: c.node.Outputs[0]}
		switch kind {
		case kindTensor:
			if a.Tensor == nil {
				c.fail("it has no value")
			}
			v.elem, v.shape, v.known, v.file = a.Tensor.Elem, shapeOf(a.Tensor.Shape...), a.Tensor.look(), a.Tensor
		case kindFloat:
			v.elem, v.known = types.F32, &known{floats: []float64{a.Float}}
		case kindInt:
			v.elem, v.known = types.I64, &known{ints: []types.Dim{number(a.Int)}}
		case kindFloats:
			v.elem, v.shape, v.known = types.F32, shapeOf(int64(len(a.Floats))), &known{floats: a.Floats}
		case kindInts:
			for i, n := range a.Ints {
				if magnitude(n) >= 1<<62 {
					c.fail("unsupported: element %d is beyond 62 bits", i)
				}
			}
			v.elem, v.shape, v.known = types.I64, shapeOf(int64(len(a.Ints))), &known{ints: shapeOf(a.Ints...)}
		}
		c.set(0, v)
		return
	}
	c.fail("unsupported: its value, which is no tensor, number or list of numbers")
}

// rank refuses values of other ranks.
func (c *call) rank(v *value, rank int) {
	if len(v.shape) != rank {
		c.fail("unsupported: %d axes, where %d are", len(v.shape), rank)
	}
}

// fill makes output 0 a tensor of one value.
func (c *call) fill(elem types.DType, s shape, k *known) {
	if n, ok := s.Ints(); ok {
		count := int64(1)
		for _, d := range n {
			if count *= d; count > maxKnown {
				break
			}
		}
		if count > 0 && count <= maxKnown {
			c.knownResult(elem, s, k.pick(make([]int, count)))
			return
		}
	}
	if len(s) == 0 {
		c.knownResult(elem, s, k)
		return
	}
	c.result(0, elem, s, "full[%v, %s](%s)", elem, strings.Trim(s.String(), "[]"), k.element(elem, 0))
}

func reshape(c *call) {
	x := c.arg(0)
	want := c.dims(1)
	zero := c.flag("allowzero", 0)
	to := make(shape, len(want))
	rest, at := count(x.shape), -1
	for i, d := range want {
		switch {
		case d.IsConst(0) && !zero:
			if i >= len(x.shape) {
				c.fail("there is no axis %d to keep", i)
			}
			to[i] = x.shape[i]
		case d.IsConst(-1):
			if at >= 0 {
				c.fail("two extents are -1")
			}
			at = i
			continue
		default:
			to[i] = d
		}
	}
	if at >= 0 {
		known := number(1)
		for i, d := range to {
			if i != at {
				known = mul(known, d)
			}
		}
		var ok bool
		if to[at], ok = div(rest, known); !ok || !mul(to[at], known).Equal(rest) {
			c.undecided("%v elements are not %v times a number", rest, known)
		}
	}
	if !count(to).Equal(rest) {
		c.fail("%v has %v elements, and %v has %v", x.shape, rest, to, count(to))
	}
	c.reshaped(x, to)
}

// reshaped makes output 0 the elements of x in another shape.
func (c *call) reshaped(x *value, to shape) {
	switch {
	case to.Equal(x.shape):
		c.same(x)
	case x.known != nil:
		c.check(to)
		c.set(0, &value{elem: x.elem, shape: to, name: c.node.Outputs[0], known: x.known})
	default:
		c.result(0, x.elem, to, "%s", c.reshapedText(x, to))
	}
}

// reshapedText is x in another shape: by the words for an axis more or less, where that is all.
func (c *call) reshapedText(x *value, to shape) string {
	text := c.t.operand(x)
	if axis, ok := moreBy(to, x.shape); ok {
		return fmt.Sprintf("unsqueeze(%s, %d)", text, axis)
	}
	if axis, ok := moreBy(x.shape, to); ok {
		return fmt.Sprintf("squeeze(%s, %d)", text, axis)
	}
	return fmt.Sprintf("reshape(%s, %v)", text, to)
}

// moreBy is the axis of extent 1 that a has and b has not, if that is the only difference.
func moreBy(a, b shape) (int, bool) {
	if len(a) != len(b)+1 || len(b) == 0 {
		return 0, false
	}
	for i, d := range a {
		if d.IsConst(1) && slices.Concat(a[:i], a[i+1:]).Equal(b) {
			return i, true
		}
	}
	return 0, false
}

// permuted makes output 0 x with its axes in another order.
func (c *call) permuted(x *value, perm []int) {
	to := make(shape, len(perm))
	moves := false
	for i, p := range perm {
		to[i] = x.shape[p]
		moves = moves || p != i
	}
	switch {
	case !moves:
		c.same(x)
	case len(perm) == 2:
		c.result(0, x.elem, to, "transpose(%s)", c.t.operand(x))
	default:
		c.result(0, x.elem, to, "permute_axes(%s, [%s])", c.t.operand(x), strings.Trim(axesText(perm), "()"))
	}
}

// foldExpand makes what is repeated known.
func (c *call) foldExpand(s shape) bool {
	x := c.arg(0)
	extents, ok := s.Ints()
	xs, okX := x.shape.Ints()
	if !ok || !okX || x.known == nil {
		return false
	}
	n := int64(1)
	for _, e := range extents {
		if n *= e; n > maxKnown {
			return false
		}
	}
	var at []int
	for _, index := range positions(extents) {
		at = append(at, flat(xs, index))
	}
	if len(at) == 0 {
		return false
	}
	c.knownResult(x.elem, s, x.known.pick(at))
	return true
}

// expanded makes output 0 x, repeated along axes.
func (c *call) expanded(x *value, s shape) {
	if s.Equal(x.shape) {
		c.same(x)
		return
	}
	text := c.t.operand(x)
	c.result(0, x.elem, s, "expand(%s, %v)", text, s)
}

func concat(c *call) {
	args := c.args()
	first := args[0]
	if len(first.shape) == 0 {
		c.fail("its operands have no axes")
	}
	axis := c.axis(c.int("axis", 0), len(first.shape))
	to := slices.Clone(first.shape)
	to[axis] = types.Dim{}
	k := &known{}
	for _, v := range args {
		if len(v.shape) != len(to) {
			c.fail("the shapes %v and %v do not go together", first.shape, v.shape)
		}
		for i, d := range v.shape {
			if i != axis && !d.Equal(to[i]) {
				c.fail("the shapes %v and %v do not go together", first.shape, v.shape)
			}
		}
		to[axis] = add(to[axis], v.shape[axis])
		switch {
		case k != nil && v.known != nil && len(to) == 1 && k.len()+v.known.len() <= maxKnown &&
			(k.len() == 0 || (k.ints == nil) == (v.known.ints == nil)):
			k = &known{append(k.ints, v.known.ints...), append(k.floats, v.known.floats...),
				k.clamped || v.known.clamped}
		case v.shape[axis].IsConst(0):
		default:
			k = nil
		}
	}
	if k != nil {
		c.knownResult(first.elem, to, k)
		return
	}
	texts := make([]string, len(args))
	for i, v := range args {
		texts[i] = c.t.operand(v)
	}
	if len(args) == 1 {
		c.same(first)
		return
	}
	c.result(0, first.elem, to, "concat((%s), %d)", strings.Join(texts, ", "), axis)
}

func split(c *call) {
	x := c.arg(0)
	axis := c.axis(c.int("axis", 0), len(x.shape))
	list, ok := c.list("split", 1)
	parts := shapeOf(list...)
	if !ok {
		n := c.int("num_outputs", int64(len(c.node.Outputs)))
		if n < 1 || n > int64(len(c.node.Outputs)) {
			c.fail("it has %d outputs, and %d parts", len(c.node.Outputs), n)
		}
		whole := x.shape[axis]
		part, ok := div(add(whole, number(n-1)), number(n))
		if _, fixed := whole.Const(); !fixed {
			part, ok = div(whole, number(n))
		}
		if !ok {
			c.undecided("%v are not %d parts", whole, n)
		}
		for range n - 1 {
			parts = append(parts, part)
			whole = sub(whole, part)
		}
		parts = append(parts, whole)
	}
	if len(parts) != len(c.node.Outputs) {
		c.fail("it has %d outputs, and %d parts", len(c.node.Outputs), len(parts))
	}
	at := types.Dim{}
	for i, part := range parts {
		end := add(at, part)
		to := slices.Clone(x.shape)
		to[axis] = part
		if x.known != nil && len(x.shape) == 1 {
			from, _ := at.Const()
			n, _ := part.Const()
			if from < 0 || n < 0 || from+n > int64(x.known.len()) {
				c.fail("its parts are more than the whole")
			}
			var picked []int
			for j := range n {
				picked = append(picked, int(from+j))
			}
			if n > 0 && c.output(i) {
				c.set(i, &value{elem: x.elem, shape: to, name: c.node.Outputs[i], known: x.known.pick(picked)})
				at = end
				continue
			}
		}
		c.result(i, x.elem, to, "%s[%s%v..%v]", c.t.operand(x), colons(axis), at, end)
		at = end
	}
	if !at.Equal(x.shape[axis]) {
		c.fail("its parts are %v of %v", at, x.shape[axis])
	}
}
