package fusion

import (
	"hash/fnv"
	"slices"

	"healc/ir"
)

// A place says where an index of a value comes from, inside of a kernel.
type place struct {
	level int    // the number of loops around the point where it is known; 0: it does not vary
	axis  int    // the axis of the kernel that it equals, or -1
	tag   uint64 // what was done to it since: equal tags mean equal indices (or, hardly ever, a collision)
}

// through is p after a step that the numbers describe.
func (p place) through(numbers ...uint64) place {
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
	some bool      // it happens for some of the indices, in an arm of a branch
	at   []place
}

// inArm is v in an arm of a branch.
func (v *visit) inArm() *visit {
	w := *v
	w.some = true
	return &w
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
	return count < fewThreads && inner > 1 && count*inner >= longLoop
}

// deepest is an index that is known only where all of at are.
func (v *visit) deepest(op uint64) place {
	p := place{level: v.level(), axis: -1}
	for _, q := range v.at {
		p = p.through(q.tag, uint64(q.level))
	}
	return p.through(op)
}

// with is v at other indices.
func (v *visit) with(at []place) *visit {
	w := *v
	w.at = at
	return &w
}

// A tracer finds out how operations read their operands. visit is called for every value that is read.
type tracer struct {
	nests int
	ids   map[*ir.Op]uint64
	axes  map[*ir.Value]int // the axis of the kernel that a parameter of a tabulate equals
	// They know what the planner decides; nil in regions.
	tiled   func(product *ir.Op, v *visit) bool
	inPlace func(update *ir.Op) bool
	read    func(v *ir.Value, at *visit)
}

// id is a number of its own for each operation.
func (t *tracer) id(op *ir.Op) uint64 {
	if _, ok := t.ids[op]; !ok {
		t.ids[op] = uint64(len(t.ids)) + 1
	}
	return t.ids[op]
}

// loop puts a loop where the element that v asks for is computed: inside of the loops that its index depends
// on, and of no others. It returns the new nest and the index of the loop.
func (t *tracer) loop(v *visit, extent float64) (*visit, place) {
	t.nests++
	l := max(v.level(), v.keep)
	nest := append(append(make([]float64, 0, l+1), v.nest[:l]...), extent)
	return &visit{v.root, nest, min(v.axes, l), t.nests, v.keep, v.pack, v.some, v.at}, place{level: l + 1, axis: -1}
}

// operands reports how op, whose result is read at v, reads its operands. scalars gives the level at which a
// scalar value of a region is known.
func (t *tracer) operands(op *ir.Op, result int, v *visit, level func(*ir.Value) int) {
	id := t.id(op)
	x := func(i int, at []place) { t.read(op.Args[i], v.with(at)) }
	scalarAt := func(i int) place {
		x(i, nil)
		axis := -1
		if k, ok := t.axes[op.Args[i]]; ok {
			axis = k
		}
		return place{level: level(op.Args[i]), axis: axis}.through(id, uint64(i))
	}
	switch op.Def.Class {
	case ir.Pointwise:
		for i := range op.Args {
			x(i, v.at)
		}
		return
	case ir.Reduce:
		t.reduced(op, 0, v)
		return
	case ir.Contract:
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
		return
	case ir.Host:
		for i := range op.Args {
			x(i, nil)
		}
		return
	}
	if t.indexed(op, v) {
		return
	}
	switch op.Def {
	case ir.OpBroadcast:
		from, to := op.Args[0].Type.Shape, op.Type().Shape
		at := make([]place, len(from))
		for k := range from {
			if j := k + len(to) - len(from); from[k].Equal(to[j]) {
				at[k] = v.at[j]
			}
		}
		x(0, at)
	case ir.OpPermute:
		at := make([]place, len(v.at))
		for k, a := range op.Ints("perm") {
			at[a] = v.at[k]
		}
		x(0, at)
	case ir.OpReshape:
		x(0, reshaped(op, id, v))
	case ir.OpSlice:
		at := append([]place{}, v.at...)
		for k, d := range op.Args[0].Type.Shape {
			if !d.Equal(op.Type().Shape[k]) || op.Ints("steps")[k] != 1 {
				at[k].axis = -1
			}
			if start, step := op.Dims("starts")[k], op.Ints("steps")[k]; !start.IsConst(0) || step != 1 {
				at[k] = at[k].through(hash(start.String()), uint64(step))
			}
		}
		x(0, at)
	case ir.OpIndex:
		axes := op.Ints("axes")
		var at []place
		i, j := 0, 0
		for k := range op.Args[0].Type.Shape {
			if i < len(axes) && axes[i] == int64(k) {
				i++
				at = append(at, scalarAt(i))
				continue
			}
			at = append(at, v.at[j])
			j++
		}
		x(0, at)
	case ir.OpDynamicSlice:
		at := append([]place{}, v.at...)
		for i, k := range op.Ints("axes") {
			start := scalarAt(i + 1)
			at[k] = place{level: max(at[k].level, start.level), axis: -1}.through(at[k].tag, start.tag)
		}
		x(0, at)
	case ir.OpUpdate:
		x(0, v.at)
		at := append([]place{}, v.at...)
		for k, d := range op.Dims("shape") {
			if !d.Equal(op.Type().Shape[k]) || op.Ints("steps")[k] != 1 {
				at[k].axis = -1
				at[k] = at[k].through(id, 1)
			}
		}
		v = v.inArm()
		if v.root == op && t.inPlace != nil && t.inPlace(op) { // its kernel is over what it replaces
			v.some, v.nest = false, slices.Clone(v.nest)
			for k, d := range op.Dims("shape") {
				v.nest[k] = sizeOf(d)
			}
		}
		x(1, at)
		for i := range op.Args[2:] {
			x(i+2, nil)
		}
	case ir.OpConcat:
		axis := op.Int("axis")
		v = v.inArm()
		for i := range op.Args {
			at := append([]place{}, v.at...)
			at[axis].axis = -1
			if i > 0 {
				at[axis] = at[axis].through(id, uint64(i))
			}
			x(i, at)
		}
	case ir.OpFold:
		if len(op.Args) > 1 {
			x(0, nil)
		}
		in := t.reduced(op, len(op.Args)-1, v)
		l := len(in.nest)
		t.region(op.Regions[0], 0, in.with(nil), []int{l, l}, level)
	case ir.OpTabulate:
		n := len(op.Regions[0].Params)
		levels := make([]int, n)
		for i := range levels {
			levels[i] = v.at[i].level
			if t.axes == nil {
				t.axes = map[*ir.Value]int{}
			}
			t.axes[op.Regions[0].Params[i]] = v.at[i].axis
		}
		t.region(op.Regions[0], 0, v.with(v.at[n:]), levels, level)
	case ir.OpScan:
		for i := range op.Args[:len(op.Args)-1] {
			x(i, nil)
		}
		last := len(op.Args) - 1
		in := v
		if v.root != op { // inside of another kernel it folds up to each element anew
			var k place
			in, k = t.loop(v, sizeOf(op.Results[0].Type.Shape[len(v.at)-1]))
			in = in.with(append(v.at[:len(v.at)-1:len(v.at)-1], k))
		}
		t.read(op.Args[last], in)
		levels := make([]int, len(op.Regions[0].Params))
		for i := range levels {
			levels[i] = len(in.nest)
		}
		for i := range op.Results {
			t.region(op.Regions[0], i, in.with(nil), levels, level)
		}
	case ir.OpIterate, ir.OpIterateUntil:
		for i, a := range op.Args {
			x(i, fixed(a.Type.Rank()))
		}
		in, _ := t.loop(v.with(nil), steps(op))
		levels := make([]int, len(op.Regions[0].Params))
		for i := range levels {
			levels[i] = len(in.nest)
		}
		for i, y := range op.Regions[0].Yields {
			t.region(op.Regions[0], i, in.with(fixed(y.Type.Rank())), levels, level)
		}
	case ir.OpIf:
		x(0, nil)
		t.region(op.Regions[0], result, v.inArm(), nil, level)
		t.region(op.Regions[1], result, v.inArm(), nil, level)
	default:
		for i, a := range op.Args { // an operation that is not known: any element, at any time
			at := make([]place, a.Type.Rank())
			for k := range at {
				at[k] = v.deepest(id)
			}
			x(i, at)
		}
	}
}

// fixed is a literal index: those that a loop reads its start and its next state at.
func fixed(rank int) []place {
	at := make([]place, rank)
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
	for _, a := range op.ReducedAxes() {
		axes[int(a)] = true
		extent *= sizeOf(shape[a])
	}
	in, loop := t.loop(v, extent)
	at := make([]place, len(shape))
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

// reshaped follows axes through a reshape that only adds or removes axes of extent 1.
func reshaped(op *ir.Op, id uint64, v *visit) []place {
	from, to := op.Args[0].Type.Shape, op.Type().Shape
	at := make([]place, len(from))
	j := 0
	for k, d := range from {
		if d.IsConst(1) {
			continue
		}
		for j < len(to) && to[j].IsConst(1) {
			j++
		}
		if j == len(to) || !to[j].Equal(d) {
			for k := range at {
				at[k] = v.deepest(id)
			}
			return at
		}
		at[k] = v.at[j]
		j++
	}
	return at
}

// region reports what a region reads from outside, for yield number yield at v. levels are those of the
// region's parameters.
func (t *tracer) region(b *ir.Block, yield int, v *visit, levels []int, outer func(*ir.Value) int) {
	known := map[*ir.Value]int{}
	for i, p := range b.Params {
		known[p] = levels[i]
	}
	mine := map[*ir.Op]int{}
	for i, op := range b.Ops {
		mine[op] = i
	}
	var level func(x *ir.Value) int
	level = func(x *ir.Value) int {
		if l, ok := known[x]; ok {
			return l
		}
		if x.Def == nil {
			return outer(x)
		}
		if _, ok := mine[x.Def]; !ok {
			return outer(x)
		}
		l := 0
		for _, a := range x.Def.Args {
			l = max(l, level(a))
		}
		for _, r := range x.Def.Regions {
			for _, c := range ir.Captures(r) {
				l = max(l, level(c))
			}
		}
		known[x] = l
		return l
	}
	// Operations of the region wait until all their readers are known.
	pending := make([][]*visit, len(b.Ops))
	results := make([][]int, len(b.Ops))
	inner := &tracer{nests: t.nests, ids: t.ids, axes: t.axes} // a product in there is made of plain loops
	inner.read = func(x *ir.Value, at *visit) {
		if x.Def != nil {
			if i, ok := mine[x.Def]; ok {
				for k, w := range pending[i] {
					if results[i][k] == x.Index && sameVisit(w, at) {
						return
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
	for _, l := range levels {
		first.keep = max(first.keep, l)
	}
	inner.read(b.Yields[yield], first)
	for i := len(b.Ops) - 1; i >= 0; i-- {
		for k, w := range pending[i] {
			inner.operands(b.Ops[i], results[i][k], w, level)
		}
	}
	t.nests = inner.nests
}

func sameVisit(a, b *visit) bool {
	if a.root != b.root || a.pack != b.pack || a.some != b.some || a.id != b.id && a.level() > 0 && !sharedLoops(a, b) || len(a.at) != len(b.at) {
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

func hash(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}
