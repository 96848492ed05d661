package fusion

import (
	"healc/ir"
	"healc/ir/ops"
	"healc/lang/types"
)

// This file follows the provenance of indices: which loops of a kernel the index of each element that it reads depends
// on, and so how often that element is computed.

// An origin says where an index of a value comes from, inside of a kernel.
type origin struct {
	level int    // the number of loops around the point where it is known; 0: it does not vary
	axis  int    // the axis of the kernel that it equals, or -1
	tag   uint64 // what was done to it since: equal tags mean equal indices (or, hardly ever, a collision)
	konst bool   // it is the number bits
	bits  uint64
}

// literal is the origin of a number.
func literal(bits uint64) origin {
	p := origin{axis: -1}.through(bits)
	p.konst, p.bits = true, bits
	return p
}

// through is p after a step that the numbers describe.
func (p origin) through(numbers ...uint64) origin {
	p.konst, p.bits = false, 0
	for _, n := range numbers {
		p.tag = (p.tag ^ n) * 0x100000001b3 // as in FNV-1a
		p.tag ^= p.tag >> 29
	}
	return p
}

// A visit is one reading of a value by a kernel: the loops around it, and where each index comes from.
type visit struct {
	root *ir.Op
	nest []float64 // extents of the loops
	axes int       // how many of them, from the outermost, are axes of the kernel
	id   int       // of the nest: two reductions have different loops
	keep int       // loops that code around here may depend on otherwise: by the parameters of a region
	pack bool      // it makes an operand of a matrix product that is made in tiles (Note [Operands of products])
	arm  int       // the arm of a branch that it is in, so that it happens for some of the indices; 0 for none
	ifs  float64   // the times that the branch is taken, either way
	at   []origin
}

// inArm is v in an arm of a branch on what is known at some level.
func (t *tracer) inArm(v *visit, level int) *visit {
	w := *v
	t.arms++
	w.arm = t.arms
	if v.arm == 0 {
		w.ifs = 1
		for _, e := range v.nest[:max(level, v.level())] {
			w.ifs *= e
		}
	}
	return &w
}

// Note [Arms]: what an arm of a branch computes stays in it (Note [Placement] in passes/bufferize/lower), so each arm
// that reads a value has the code for it, wherever its index is known: what the 80 pieces of a concat have in common
// stands there 80 times. Of the arms of one branch a kernel takes one each time, which bounds what all of them compute
// of an element. But a branch that both arms of the next one read, and so on, would stand there 2^n times, whatever it
// costs when it runs: after a few it is materialised.

// maxArms is how many arms that read one element are told apart: nothing with work in it is left to so many.
const maxArms = 100

// armed is what arms compute of one element.
type armed struct {
	first     *visit
	sum, most float64
}

// alsoIn adds to arms that the one of v computes its element count times.
func alsoIn(arms []armed, v *visit, count float64) []armed {
	most := max(count, v.ifs)
	for i := range arms {
		if a := &arms[i]; sameVisit(a.first, v) {
			a.sum, a.most = a.sum+count, max(a.most, most)
			return arms
		}
	}
	return append(arms, armed{v, count, most})
}

// count is the number of times that the kernel computes the element.
func (v *visit) count() float64 {
	n := 1.0
	for _, e := range v.nest[:v.level()] {
		n *= e
	}
	return n
}

func (v *visit) level() int {
	l := 0
	for _, p := range v.at {
		l = max(l, p.level)
	}
	return l
}

// inLongLoop reports that the element is the same for all of a long loop that runs a few times only.
func (v *visit) inLongLoop() bool {
	count := v.count()
	inner := 1.0
	for _, e := range v.nest[max(v.level(), v.axes):] {
		inner *= e
	}
	return count < costs().fewThreads && inner > 1 && count*inner >= costs().longLoop
}

// deepest is an index that is known only where all of at are.
func (v *visit) deepest(op uint64) origin {
	p := origin{level: v.level(), axis: -1}
	for _, q := range v.at {
		p = p.through(q.tag, uint64(q.level))
	}
	return p.through(op)
}

// with is v at other indices.
func (v *visit) with(at []origin) *visit {
	w := *v
	w.at = at
	return &w
}

// A tracer finds out how operations read their operands. visit is called for every value that is read.
type tracer struct {
	nests int
	arms  int
	ids   map[any]uint64 // of operations and values

	captured ir.Captured
	// They know what the planner decides; nil in regions.
	tiled   func(product *ir.Op, v *visit) bool
	inPlace func(update *ir.Op) bool
	read    func(v *ir.Value, at *visit)
}

// id is a number of its own for each operation and value.
func (t *tracer) id(x any) uint64 {
	if _, ok := t.ids[x]; !ok {
		t.ids[x] = uint64(len(t.ids)) + 1
	}
	return t.ids[x]
}

// loop puts a loop where the element that v asks for is computed: inside of the loops that its index depends
// on, and of no others. It returns the new nest and the index of the loop.
func (t *tracer) loop(v *visit, extent float64) (*visit, origin) {
	t.nests++
	l := max(v.level(), v.keep)
	nest := append(append(make([]float64, 0, l+1), v.nest[:l]...), extent)
	return &visit{v.root, nest, min(v.axes, l), t.nests, v.keep, v.pack, v.arm, v.ifs, v.at},
		origin{level: l + 1, axis: -1}
}

// reads reports whether operands knows how op reads its operands.
func reads(op *ir.Op) bool {
	switch op.Def.Class {
	case ir.Source, ir.Pointwise, ir.Host, ir.Reduce, ir.Contract, ir.Rows:
		return true
	}
	return op.IsLoop() || op.Def.Space != nil && len(op.Args) > 0 || op.Def.Element != nil
}

// operands reports how op, whose result is read at v, reads its operands. known says where a scalar value of a
// region is known.
func (t *tracer) operands(op *ir.Op, result int, v *visit, known func(*ir.Value) origin) {
	switch op.Def.Class {
	case ir.Source: // they read nothing
	case ir.Pointwise:
		for _, a := range op.Args {
			t.read(a, v.with(v.at))
		}
	case ir.Host:
		for _, a := range op.Args {
			t.read(a, v.with(nil))
		}
	case ir.Reduce:
		t.reduced(op, 0, v)
	case ir.Contract:
		t.multiplied(op, v)
	case ir.Rows:
		t.rows(op, v)
	default:
		switch {
		case op.IsLoop() || op.Def.Space != nil && len(op.Args) > 0:
			t.carried(op, v, known)
		case op.Def.Element != nil:
			t.element(op, result, v, known)
		default:
			panic("BUG: fusion does not know how " + op.Def.Name + " reads its operands")
		}
	}
}

// multiplied reports the reading of the operands of a matrix product.
func (t *tracer) multiplied(op *ir.Op, v *visit) {
	r := len(v.at)
	in, k := t.loop(v, sizeOf(op.Args[0].Type.Shape[r-1]))
	batch := v.at[: r-2 : r-2]
	left, right := in.with(append(batch, v.at[r-2], k)), in.with(append(batch, k, v.at[r-1]))
	if t.tiled != nil && t.tiled(op, v) {
		left.packed(op, v.at[r-1], leftPackings(op))
		right.packed(op, v.at[r-2], rightPackings(op))
	}
	t.read(op.Args[0], left)
	t.read(op.Args[1], right)
}

// carried reports what an operation reads that goes through steps with a state: a fold, a scan, a loop.
func (t *tracer) carried(op *ir.Op, v *visit, known func(*ir.Value) origin) {
	in := v
	starts := ops.Starts(op)
	switch {
	case op.IsLoop():
		for _, a := range op.Args {
			t.read(a, v.with(fixed(a.Type.Rank())))
		}
		in, _ = t.loop(v.with(nil), steps(op))
	case op.Def == ops.Fold:
		for _, a := range op.Args[:starts] {
			t.read(a, v.with(v.at[:a.Type.Rank()])) // a scalar, or one for each element
		}
		in = t.reduced(op, starts, v)
	default: // a scan
		for _, a := range op.Args[:starts] {
			t.read(a, v.with(v.at[:a.Type.Rank()])) // a scalar, or one for each row
		}
		if v.root != op { // inside of another kernel it folds up to each element anew
			var k origin
			in, k = t.loop(v, sizeOf(op.Results[0].Type.Shape[len(v.at)-1]))
			in = in.with(append(v.at[:len(v.at)-1:len(v.at)-1], k))
		}
		for _, a := range op.Args[starts:] {
			t.read(a, in)
		}
	}
	params := fixed(len(op.Regions[0].Params))
	for i := range params {
		params[i] = origin{level: len(in.nest), axis: -1}.through(t.id(op), uint64(i))
	}
	for i, y := range op.Regions[0].Yields {
		t.region(op.Regions[0], i, in.with(fixed(y.Type.Rank())), params, known)
	}
}

// fixed is a literal index: those that a loop reads its start and its next state at.
func fixed(rank int) []origin {
	at := make([]origin, rank)
	for k := range at {
		at[k].axis = -1
	}
	return at
}

// reduced reports the reading of the operand of a reduction. The loops of one reduction have one body, so
// they count as one.
func (t *tracer) reduced(op *ir.Op, arg int, v *visit) *visit {
	shape := op.Args[arg].Type.Shape
	extent := 1.0
	axes := map[int]bool{}
	for _, a := range ops.ReducedAxes(op) {
		axes[int(a)] = true
		extent *= sizeOf(shape[a])
	}
	in, loop := t.loop(v, extent)
	at := make([]origin, len(shape))
	j := 0
	keep := len(v.at) == len(shape)
	for k := range shape {
		switch {
		case axes[k]:
			at[k] = loop
			if keep {
				j++
			}
		default:
			at[k] = v.at[j]
			j++
		}
	}
	t.read(op.Args[arg], in.with(at))
	return in
}

// region reports what a region reads from outside, for yield number yield at v. params are the origins of the
// region's parameters.
func (t *tracer) region(b *ir.Block, yield int, v *visit, params []origin, outer func(*ir.Value) origin) {
	known := map[*ir.Value]origin{}
	for i, p := range b.Params {
		known[p] = params[i]
	}
	mine := map[*ir.Op]int{}
	for i, op := range b.Ops {
		mine[op] = i
	}
	beyond := map[*ir.Value]origin{} // of what is outside, which may be many regions away
	var inside func(x *ir.Value) origin
	inside = func(x *ir.Value) origin {
		if p, ok := known[x]; ok {
			return p
		}
		if _, ok := mine[x.Def]; !ok {
			p, ok := beyond[x]
			if !ok {
				p = outer(x)
				beyond[x] = p
			}
			return p
		}
		p := origin{axis: -1}.through(t.id(x))
		for _, a := range x.Def.Args {
			p.level = max(p.level, inside(a).level)
		}
		for _, r := range x.Def.Regions {
			for _, c := range t.captured.Of(r) {
				p.level = max(p.level, inside(c).level)
			}
		}
		known[x] = p
		return p
	}
	// Operations of the region wait until all their readers are known.
	pending := make([][]*visit, len(b.Ops))
	results := make([][]int, len(b.Ops))
	// A product in there is made of plain loops.
	inner := &tracer{nests: t.nests, arms: t.arms, ids: t.ids, captured: t.captured}
	inner.read = func(x *ir.Value, at *visit) {
		if x.Def != nil {
			if i, ok := mine[x.Def]; ok {
				for k, w := range pending[i] {
					if results[i][k] == x.Index && sameVisit(w, at) {
						return // in any arm: the region's values are computed in its kernel whatever this costs
					}
				}
				pending[i], results[i] = append(pending[i], at), append(results[i], x.Index)
				return
			}
		} else if _, ok := known[x]; ok {
			return
		}
		out := at.with(at.at)
		out.keep = v.keep
		t.read(x, out)
	}
	first := v.with(v.at)
	for _, p := range params {
		first.keep = max(first.keep, p.level)
	}
	inner.read(b.Yields[yield], first)
	for i := len(b.Ops) - 1; i >= 0; i-- {
		for k, w := range pending[i] {
			inner.operands(b.Ops[i], results[i][k], w, inside)
		}
	}
	t.nests, t.arms = inner.nests, inner.arms
}

// sameVisit reports readings of one element, in the same arm or in others.
func sameVisit(a, b *visit) bool {
	if a.root != b.root || a.pack != b.pack || (a.arm == 0) != (b.arm == 0) || a.id != b.id && a.level() > 0 &&
		!sharedLoops(a, b) || len(a.at) != len(b.at) {
		return false
	}
	for k := range a.at {
		if a.at[k] != b.at[k] {
			return false
		}
	}
	return true
}

// sharedLoops reports that the loops that the visits depend on are axes of the kernel.
func sharedLoops(a, b *visit) bool { return a.level() <= a.axes && b.level() <= b.axes }

// rows reports the reading of operations that compute rows: they read each row along their axis from end to end, once
// in a kernel of their own and in regions for each element. Operands without that axis (tables, moduli) are read at any
// element, at any time.
func (t *tracer) rows(op *ir.Op, v *visit) {
	axis := op.Int("axis")
	var along *visit // operands of one extent go along together
	var extent types.Dim
	for i, a := range op.Args {
		if a.Type.Rank() != len(v.at) {
			at := make([]origin, a.Type.Rank())
			for k := range at {
				at[k] = v.deepest(t.id(op))
			}
			t.read(a, v.with(at))
			continue
		}
		if d := a.Type.Shape[axis]; along == nil || !d.Equal(extent) {
			along, extent = t.row(op, i, v), d
		}
		t.read(a, along)
	}
}

// row is the reading of operand i, whose rows along the axis of op are read once from end to end, by the
// kernel of op.
func (t *tracer) row(op *ir.Op, i int, v *visit) *visit {
	axis := op.Int("axis")
	extent := sizeOf(op.Args[i].Type.Shape[axis])
	if v.root != op { // in a region: each element goes through the whole row
		in, loop := t.loop(v, extent)
		at := append([]origin{}, v.at...)
		at[axis] = loop
		return in.with(at)
	}
	t.nests++
	nest := append([]float64{}, v.nest...)
	nest[axis] = extent
	at := append([]origin{}, v.at...)
	at[axis].axis = -1
	at[axis] = at[axis].through(t.id(op), uint64(i))
	return &visit{v.root, nest, v.axes, t.nests, v.keep, v.pack, v.arm, v.ifs, at}
}
