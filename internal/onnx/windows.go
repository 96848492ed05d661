package onnx

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"healc/lang/types"
)

// windowOps go over images by windows: convolutions and pooling.
var windowOps = map[string]*entry{
	"Conv":          {since: 1, write: convolution},
	"ConvTranspose": {since: 1, write: convTranspose},
	"MaxPool":       {since: 1, ignored: "storage_order", write: func(c *call) { pool(c, "max/") }},
	"AveragePool":   {since: 1, write: func(c *call) { pool(c, "+/") }},
}

// window says where a window lies along an axis.
type window struct {
	size, step, apart int64     // its elements, how far it moves, and how far its elements lie from each other
	before, after     int64     // padding; negative: what no window reads
	count             types.Dim // of windows
}

// span is how many elements a window has between its ends.
func (w window) span() int64 { return (w.size-1)*w.apart + 1 }

// windows reads the attributes of windows of these sizes over the axes from 2 on.
func (c *call) windows(s shape, sizes []int64, ceil bool) []window {
	rank := len(s) - 2
	list := func(name string, n int, other int64) []int64 {
		l, ok := c.ints(name)
		if !ok {
			return slices.Repeat([]int64{other}, n)
		}
		if len(l) != n {
			c.fail("%s has %d numbers for %d axes", name, len(l), rank)
		}
		for _, v := range l {
			if v < 0 || v >= 1<<31 || v == 0 && other == 1 {
				c.fail("%s has %d", name, v)
			}
		}
		return l
	}
	steps, aparts, pads := list("strides", rank, 1), list("dilations", rank, 1), list("pads", 2*rank, 0)
	auto := c.string("auto_pad", "NOTSET")
	out := make([]window, rank)
	for i := range out {
		w := window{size: sizes[i], step: steps[i], apart: aparts[i], before: pads[i], after: pads[i+rank]}
		extent := s[2+i]
		switch auto {
		case "SAME_UPPER", "SAME_LOWER":
			n := c.extent(extent, "the extent of an axis")
			count := (n + w.step - 1) / w.step
			all := max((count-1)*w.step+w.span()-n, 0)
			if w.before, w.after = all/2, all-all/2; auto == "SAME_LOWER" {
				w.before, w.after = w.after, w.before
			}
		case "VALID":
			w.before, w.after = 0, 0
		case "NOTSET", "":
		default:
			c.fail("there is no padding %s", auto)
		}
		whole := add(extent, number(w.before+w.after))
		room := sub(whole, number(w.span()))
		n, fixed := room.Const()
		switch {
		case fixed && n < 0:
			c.fail("a window of %d is larger than the axis of %v", w.span(), whole)
		case fixed:
			count := n/w.step + 1
			if ceil && n%w.step > 0 && count*w.step < n+w.span()-w.after {
				count++ // the last window begins on the axis, or in the padding before it
			}
			w.count = number(count)
			w.after += (count-1)*w.step - n
		case w.step == 1:
			w.count = add(room, number(1))
		default:
			c.extent(extent, "the extent of an axis with strides")
		}
		out[i] = w
	}
	return out
}

// padded is an image with what its windows read beside it, and without what none reads.
func padded(text string, s shape, ws []window, fill string) string {
	for i, w := range ws {
		axis := i + 2
		if w.after < 0 {
			text = fmt.Sprintf("%s[%s0..%v]", text, colons(axis), add(s[axis], number(w.after)))
		}
		if w.before > 0 || w.after > 0 {
			text = fmt.Sprintf("pad(%s, %d, %d, %d%s)", text, axis, w.before, max(w.after, 0), fill)
		}
	}
	return text
}

// windowNames are the parts of a helper that reads windows: its shape parameters for places and for elements of
// windows, the extents of the image, and its indices.
func windowNames(ws []window, fixed bool) (places, elements, extents, indices, lambda []string) {
	for i, w := range ws {
		place, elem := fmt.Sprintf("H%d", i), fmt.Sprintf("P%d", i)
		at, in := fmt.Sprintf("i%d", i), fmt.Sprintf("p%d", i)
		size := elem
		if fixed {
			size = fmt.Sprint(w.size)
		}
		places, elements = append(places, place), append(elements, size)
		// (H - 1) * step + (P - 1) * apart + 1
		e := add(mul(types.Param("H"), number(w.step)), number(1-w.step-w.apart))
		if fixed {
			e = add(e, number(w.size*w.apart))
		} else {
			e = add(e, mul(types.Param("P"), number(w.apart)))
		}
		extents = append(extents, replaced(replaced(e.String(), "H", place), "P", elem))
		index := add(mul(types.Param("i"), number(w.step)), mul(types.Param("p"), number(w.apart)))
		indices = append(indices, replaced(replaced(index.String(), "i", at), "p", in))
		lambda = append(lambda, at, in)
	}
	return places, elements, extents, indices, lambda
}

// everyOther says in words how windows lie.
func everyOther(ws []window) string {
	text := ""
	for _, w := range ws {
		if w.step != 1 {
			text = fmt.Sprintf(", in steps of %s", steps(ws, func(w window) int64 { return w.step }))
		}
	}
	for _, w := range ws {
		if w.apart != 1 {
			apart := steps(ws, func(w window) int64 { return w.apart })
			return text + fmt.Sprintf(", whose elements lie %s apart", apart)
		}
	}
	return text
}

func steps(ws []window, of func(window) int64) string {
	text := make([]string, len(ws))
	for i, w := range ws {
		text[i] = fmt.Sprint(of(w))
	}
	return strings.Join(text, " by ")
}

func join(parts ...[]string) string { return strings.Join(slices.Concat(parts...), ", ") }

func convolution(c *call) {
	x, w := c.arg(0), c.arg(1)
	rank := len(x.shape) - 2
	if rank < 1 || len(w.shape) != rank+2 {
		c.fail("the image has the shape %v, and the filters %v", x.shape, w.shape)
	}
	var sizes []int64
	for _, d := range w.shape[2:] {
		sizes = append(sizes, c.extent(d, "the extent of a filter"))
	}
	if list, ok := c.ints("kernel_shape"); ok && !slices.Equal(list, sizes) {
		c.fail("kernel_shape is %v, and the filters have %v", list, sizes)
	}
	if slices.Contains(sizes, 0) {
		c.fail("the filters have no elements")
	}
	group := c.int("group", 1)
	ws := c.windows(x.shape, sizes, false)
	filters := c.extent(w.shape[0], "the number of filters")
	if group < 1 || filters%group != 0 || !x.shape[1].Equal(mul(w.shape[1], number(group))) {
		c.fail("%v channels, %d groups and %d filters of %v channels do not go together", x.shape[1], group, filters,
			w.shape[1])
	}
	f := c.convHelper(ws, group)
	call := fmt.Sprintf("%s(%s, %s)", f, padded(c.t.operand(x), x.shape, ws, ""), c.t.operand(w))
	to := shape{x.shape[0], w.shape[0]}
	for _, w := range ws {
		to = append(to, w.count)
	}
	if c.has(2) {
		call += fmt.Sprintf(" .+ reshape(%s, [%v%s])", c.text(2), w.shape[0], strings.Repeat(", 1", rank))
	}
	c.result(0, x.elem, to, "%s", call)
}

// convHelper is the function that convolves with such windows, of any extents.
func (c *call) convHelper(ws []window, group int64) string {
	places, elements, extents, indices, _ := windowNames(ws, false)
	rank := len(ws)
	in, at := make([]string, rank), make([]string, rank)
	for i := range ws {
		in[i], at[i] = fmt.Sprintf("p%d", i), fmt.Sprintf("i%d", i)
	}
	taps, spots := strings.Join(elements, " * "), strings.Join(places, " * ")
	about := fmt.Sprintf("# The convolution, as networks have it (a correlation), of images with filters%s.\n",
		everyOther(ws))
	var text string
	if group == 1 {
		text = about + fmt.Sprintf(
			"fn %%s[T: float, N, C, %[1]s, D, %[2]s](x: T[N, C, %[3]s], w: T[D, C, %[2]s]) -> T[N, D, %[1]s] = {\n"+
				"let patches = tabulate(N, C, %[2]s, %[1]s, |n, c, %[4]s| x[n, c, %[5]s]);\n"+
				"reshape(reshape(w, [D, C * %[6]s]) @ reshape(patches, [N, C * %[6]s, %[7]s]), [N, D, %[1]s])\n}",
			join(places), join(elements), join(extents), join(in, at), join(indices), taps, spots)
	} else {
		text = strings.TrimSuffix(about, ".\n") + ", in groups of channels.\n" + fmt.Sprintf(
			"fn %%s[T: float, N, C, %[1]s, D, %[2]s, G](x: T[N, G * C, %[3]s], w: T[G * D, C, %[2]s]) "+
				"-> T[N, G * D, %[1]s] = {\n"+
				"let patches = tabulate(N, G * C, %[2]s, %[1]s, |n, c, %[4]s| x[n, c, %[5]s]);\n"+
				"reshape(reshape(w, [G, D, C * %[6]s]) @ "+
				"reshape(patches, [N, G, C * %[6]s, %[7]s]), [N, G * D, %[1]s])\n}",
			join(places), join(elements), join(extents), join(in, at), join(indices), taps, spots)
	}
	return c.helper(fmt.Sprintf("conv%dd%s", rank, helperSuffix(ws)), text)
}

// helperSuffix tells helpers apart by how windows move.
func helperSuffix(ws []window) string {
	for _, w := range ws {
		if w.step != ws[0].step {
			return "_strided"
		}
	}
	if ws[0].step != 1 {
		return fmt.Sprintf("_by_%d", ws[0].step)
	}
	return ""
}

// pool reduces windows: to their largest element, or to their mean.
func pool(c *call, of string) {
	x := c.arg(0)
	rank := len(x.shape) - 2
	sizes, ok := c.ints("kernel_shape")
	if !ok || rank < 1 || len(sizes) != rank {
		c.fail("kernel_shape has %d numbers for %d axes", len(sizes), max(rank, 0))
	}
	for _, n := range sizes {
		if n < 1 || n >= 1<<31 {
			c.fail("kernel_shape has %d", n)
		}
	}
	ceil, all := c.flag("ceil_mode", 0), c.flag("count_include_pad", 0)
	ws := c.windows(x.shape, sizes, ceil)
	places, elements, extents, indices, _ := windowNames(ws, true)
	in, at := make([]string, rank), make([]string, rank)
	var axes []int
	pads, area := false, int64(1)
	for i, w := range ws {
		in[i], at[i] = fmt.Sprintf("p%d", i), fmt.Sprintf("i%d", i)
		axes = append(axes, 2+rank+i)
		pads = pads || w.before > 0 || w.after > 0
		area *= w.size
	}
	name, what := "largest", "The largest elements of windows"
	if of == "+/" {
		name, what = "sums", "The sums of windows"
	}
	f := c.helper(fmt.Sprintf("%s_%dd%s", name, rank, helperSuffix(ws)), fmt.Sprintf(
		"# %[1]s of %[2]s%[3]s.\n"+
			"fn %%s[T: num, N, C, %[4]s](x: T[N, C, %[5]s]) -> T[N, C, %[4]s] = {\n"+
			"let windows = tabulate(N, C, %[4]s, %[8]s, |n, c, %[9]s| x[n, c, %[10]s]);\n%[6]s[axis=%[7]s](windows)\n}",
		what, steps(ws, func(w window) int64 { return w.size }), everyOther(ws), join(places), join(extents), of,
		axesText(axes), join(elements), join(at, in), join(indices)))
	to := slices.Clone(x.shape[:2])
	for _, w := range ws {
		to = append(to, w.count)
	}
	text := c.t.operand(x)
	if of == "max/" {
		fill := ""
		switch {
		case x.elem.IsFloat():
			fill = ", " + floatText(x.elem, math.Inf(-1))
		case x.elem.IsSigned():
			fill = ", " + (&known{ints: []types.Dim{number(-1 << (8*x.elem.Bytes() - 1))}}).element(x.elem, 0)
		}
		c.result(0, x.elem, to, "%s(%s)", f, padded(text, x.shape, ws, fill))
		return
	}
	sums := fmt.Sprintf("%s(%s)", f, padded(text, x.shape, ws, ""))
	if !pads {
		c.result(0, x.elem, to, "%s / %d.0", sums, area)
		return
	}
	// how many elements of each window count
	one := shape{number(1), number(1)}
	counted := slices.Clone(ws)
	var inner string
	if all {
		// the padding that the model asks for counts, and what lies beyond it does not
		list, _ := c.ints("pads")
		for i := range ws {
			last := int64(0)
			if len(list) == 2*rank {
				last = list[i+rank]
			} else {
				last = ws[i].after
			}
			whole := c.extent(x.shape[2+i], "the extent of an axis") + ws[i].before + min(last, ws[i].after)
			one = append(one, number(whole))
			counted[i].before, counted[i].after = 0, max(ws[i].after-last, 0)
		}
	} else {
		one = append(one, x.shape[2:]...)
	}
	inner = fmt.Sprintf("ones[%v, %s]()", x.elem, strings.Trim(one.String(), "[]"))
	c.result(0, x.elem, to, "%s ./ %s(%s)", sums, f, padded(inner, one, counted, ""))
}
