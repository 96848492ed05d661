package lower

import (
	"slices"

	"healc/ir"
	"healc/ir/ops"
	"healc/lang/types"
	"healc/transcript"
)

// takeAlongAxis picks along an axis by positions, which broadcast to the output; negative ones count from the end.
func takeAlongAxis(l *lowerer, c *call) {
	a, idx, out := c.tensor("a"), c.tensor("idx"), c.tensor("out")
	axis := c.axis("axis", len(a.shape))
	if idx.st.elem != types.I32 && idx.st.elem != types.I64 {
		fail("`idx` is %s; positions are i32 or i64", idx.typ())
	}
	shape := slices.Clone(a.shape)
	if len(idx.shape) == len(shape) {
		shape[axis] = idx.shape[axis]
		if shape[axis] == 1 && len(out.shape) == len(shape) && out.shape[axis] == a.shape[axis] {
			shape[axis] = a.shape[axis]
		}
	}
	if len(idx.shape) != len(a.shape) || !enlarges(idx.shape, shape) {
		fail("`idx` is of shape %s, which does not broadcast to %s outside of axis %d", list(idx.shape), list(a.shape),
			axis)
	}
	at := l.broadcast(l.read(idx), shape)
	c.store(l.emit(ops.TakeAlongAxis, ir.A{"axis": int64(axis)}, l.read(a), at), "a", "idx")
}

// digits are those of each number, in the type of the output, to which they wrap.
func digits(l *lowerer, c *call) {
	attrs := ir.A{"power": c.integer("power"), "base_bits": c.integer("base_bits")}
	c.store(l.cast(l.emit(ops.Digits, attrs, l.read(c.tensor("a"))), c.tensor("out").st.elem), "a")
}

// digitsFull are those of the numbers that residues stand for. What the recorded inverses are for is computed from
// the moduli.
func digitsFull(l *lowerer, c *call) {
	attrs := ir.A{"power": c.integer("power"), "base_bits": c.integer("base_bits")}
	x := l.emit(ops.DigitsFull, attrs, l.read(c.tensor("a")), l.read(c.tensor("q_list")))
	c.store(l.cast(x, c.tensor("out").st.elem), "a")
}

// pad appends zeros along an axis.
func pad(l *lowerer, c *call) {
	a, n := c.tensor("a"), c.integer("pad")
	axis := c.axis("axis", len(a.shape))
	if n < 0 || n > types.MaxExtent-a.shape[axis] {
		fail("`pad` is %d, which is negative or too large for axis %d of `a`, of shape %s", n, axis, list(a.shape))
	}
	x := l.read(a)
	if n > 0 {
		shape := slices.Clone(a.shape)
		shape[axis] = n
		x = l.emit(ops.Concat, ir.A{"axis": int64(axis)}, x, l.broadcast(l.number(a.st.elem, 0), shape))
	}
	c.store(x, "a")
}

func moveAxis(_ *lowerer, c *call) {
	a := c.tensor("a")
	from, to := c.axis("src", len(a.shape)), c.axis("dst", len(a.shape))
	var perm []int64
	for i := range a.shape {
		if i != from {
			perm = append(perm, int64(i))
		}
	}
	c.result(a.permuted(slices.Insert(perm, to, int64(from))))
}

// olderExpand looks for a use of `expand` that shows the order of its arguments: repeats are never negative, so a
// negative number is the axis. One writer wrote a transcript, so one use decides for all; where none does, the
// order is the newer one, unless an extent contradicts (see expand).
func olderExpand(t *transcript.Transcript) bool {
	for _, e := range t.Entries {
		if e.Op != nil && e.Op.Name == "expand" && len(e.Op.Args) == 3 && e.Op.Args[2].Number.Int < 0 {
			return true
		}
	}
	return false
}

// expand is (a, axis, repeats), and (a, repeats, axis) in older transcripts.
func expand(l *lowerer, c *call) {
	a := c.tensor("a")
	unit := func(axis int64) bool { // whether axis could be meant: it exists, and its extent is 1
		rank := int64(len(a.shape))
		return axis >= -rank && axis < rank && a.shape[(axis+rank)%rank] == 1
	}
	first, second := c.integer("first"), c.integer("second")
	if !l.older && !(unit(first) && second >= 0) && unit(second) && first >= 0 {
		l.older = true
	}
	axisName, countName := "first", "second"
	if l.older {
		axisName, countName = countName, axisName
	}
	axis, n := c.axis(axisName, len(a.shape)), c.integer(countName)
	if n < 0 || n > types.MaxExtent {
		fail("an axis cannot be repeated %d times", n)
	}
	if a.shape[axis] != 1 {
		fail("axis %d of shape %s is not of extent 1, so it cannot be expanded", axis, list(a.shape))
	}
	v := a.repeated(axis, n)
	checkSize(a.st.elem, v.shape)
	c.result(v)
}

// contiguous is the same tensor when its elements lie in order without gaps, else a copy.
func contiguous(l *lowerer, c *call) {
	a := c.tensor("a")
	if !a.contiguous() {
		a = fresh(l.version(l.read(a)))
	}
	c.result(a)
}

// getSlice indexes as Python does: a slice for each axis from the first, an integer takes an index and drops the
// axis, and one ellipsis stands for the axes that are not named.
func getSlice(_ *lowerer, c *call) {
	a := c.tensor("a")
	index := c.arg("index").List
	rank, named, dots := len(a.shape), 0, -1
	for i, x := range index {
		if x.Kind != transcript.Ellipsis {
			named++
		} else if dots >= 0 {
			fail("there are two ellipses")
		} else {
			dots = i
		}
	}
	if named > rank {
		fail("%d axes are indexed, and the tensor has shape %s", named, list(a.shape))
	}
	s := slice{starts: make([]int64, rank), steps: make([]int64, rank), shape: slices.Clone(a.shape)}
	drop := make([]bool, rank)
	for i := range s.steps {
		s.steps[i] = 1
	}
	axis := 0
	for _, x := range index {
		n := int64(0)
		if axis < rank {
			n = a.shape[axis]
		}
		switch x.Kind {
		case transcript.Ellipsis:
			axis += rank - named - 1
		case transcript.Slice:
			s.starts[axis], s.steps[axis], s.shape[axis] = resolve(x.Slice, n)
		default:
			at := x.Number.Int
			if x.Number.IsFloat || at < -n || at >= n {
				fail("index %s is out of range for axis %d of shape %s", x, axis, list(a.shape))
			}
			s.starts[axis], s.shape[axis], drop[axis] = (at+n)%n, 1, true
		}
		axis++
	}
	v := a.sliced(s)
	for i := rank - 1; i >= 0; i-- {
		if drop[i] {
			v = v.squeezed(i)
		}
	}
	c.result(v)
}

// resolve turns a slice of Python on an axis of n elements: bounds beyond the ends are cut off.
func resolve(r transcript.Range, n int64) (start, step, count int64) {
	step = 1
	if r.Step != nil {
		step = *r.Step
	}
	if step == 0 {
		fail("the step of a slice is 0")
	}
	step = min(max(step, -types.MaxExtent), types.MaxExtent) // beyond that, one element is left in any case
	low, high := int64(0), n
	if step < 0 {
		low, high = -1, n-1
	}
	limit := func(p *int64, missing int64) int64 {
		if p == nil {
			return missing
		}
		at := *p
		if at < 0 {
			at += n
		}
		return min(max(at, low), high)
	}
	var stop int64
	if step > 0 {
		start, stop = limit(r.Start, low), limit(r.Stop, high)
		count = (max(stop-start, 0) + step - 1) / step
	} else {
		start, stop = limit(r.Start, high), limit(r.Stop, low)
		count = (max(start-stop, 0) - step - 1) / -step
	}
	if count == 0 {
		start, step = 0, 1
	}
	return start, step, count
}

// flatten makes one axis of the axes from start to end, both included.
func flatten(_ *lowerer, c *call) {
	a := c.tensor("a")
	rank := max(len(a.shape), 1) // a scalar flattens to one element
	start, end := c.axis("start", rank), c.axis("end", rank)
	if start > end {
		fail("the axes from %d to %d are none", start, end)
	}
	if !a.contiguous() {
		fail("a tensor that is not contiguous cannot be flattened, shape %s, strides %s: make it contiguous before",
			list(a.shape), list(a.strides))
	}
	n, merged := int64(1), a.shape[min(start, len(a.shape)):min(end+1, len(a.shape))]
	for _, e := range merged {
		if n *= e; n > types.MaxExtent && !slices.Contains(merged, 0) {
			fail("the axes from %d to %d of shape %s make one of more than 2^31-1 elements", start, end, list(a.shape))
		}
	}
	shape := append(slices.Clone(a.shape[:min(start, len(a.shape))]), n)
	shape = append(shape, a.shape[min(end+1, len(a.shape)):]...)
	c.result(a.reshaped(shape))
}

func squeeze(_ *lowerer, c *call) {
	a := c.tensor("a")
	axis := c.axis("axis", len(a.shape))
	if a.shape[axis] != 1 {
		fail("axis %d of shape %s is of extent %d, not 1", axis, list(a.shape), a.shape[axis])
	}
	c.result(a.squeezed(axis))
}

func unsqueeze(_ *lowerer, c *call) {
	a := c.tensor("a")
	axis := c.axis("axis", len(a.shape)+1)
	if len(a.shape) == maxRank {
		fail("a tensor has at most %d axes", maxRank)
	}
	c.result(a.unsqueezed(axis))
}

// reshaped is a view of a contiguous tensor, and a copy of any other.
func reshaped(l *lowerer, c *call) {
	a, shape := c.tensor("a"), c.shape("shape", true)
	have, n, free := int64(1), int64(1), -1
	for _, e := range a.shape {
		have *= e
	}
	for i, e := range shape {
		switch {
		case e != -1:
			if n > 0 && e > have/n+1 { // keeps the product in 64 bits
				n, e = 1, have+1
			}
			n *= e
		case free >= 0:
			fail("two extents of `shape` are -1")
		default:
			free = i
		}
	}
	if free >= 0 && n > 0 && have%n == 0 && have/n <= types.MaxExtent {
		shape[free], n = have/n, have
	} else if free >= 0 {
		n = -1
	}
	if n != have {
		fail("shape %s of %d elements does not become %s", list(a.shape), have, c.arg("shape"))
	}
	if !a.contiguous() {
		a = fresh(l.version(l.read(a)))
	}
	c.result(a.reshaped(shape))
}
