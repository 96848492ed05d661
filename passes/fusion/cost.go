package fusion

import (
	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Recompute or materialise]: a value that several consumers want, or one consumer at more indices
// than it has, can be computed anew each time or written to memory once. Cost is counted in scalar
// operations. Memory costs byteCost for each byte that moves: a written line is fetched first, so twice the
// size for writing and once for each kernel that reads it back, plus launchCost for a kernel more. Computing
// anew costs the operations behind one element (as far as they are not materialised themselves) times the
// number of evaluations but one. Evaluations
// are not the consumers' elements: a kernel computes what depends on its outer axes alone once for these
// (Note [Placement] in passes/bufferize), so the mean of a row costs one row however often it is read.
//
// A reduction inside of a kernel with few outer indices is materialised whatever the cost says: in a kernel
// of its own it can be cut into chunks for all threads.
const (
	byteCost    = 2.5     // operations in the time of one byte: 133 G lane-operations/s, 50 GB/s, one core of a Zen 5
	launchCost  = 2000    // operations that take as long as launching a kernel
	fewThreads  = 32      // fewer outer indices than this do not keep the threads busy
	smallWork   = 1 << 15 // a computation up to this size may run on one thread
	nominalSize = 1024    // stands for a shape parameter
	callCost    = 10000   // a recursive call
)

// sizeOf estimates an extent.
func sizeOf(d types.Dim) float64 {
	n := 0.0
	for _, t := range d.Terms() {
		p := float64(t.Coef)
		for range t.Vars {
			p *= nominalSize
		}
		n += p
	}
	return max(n, 0)
}

// elems estimates the number of elements.
func elems(s types.Shape) float64 {
	n := 1.0
	for _, d := range s {
		n *= sizeOf(d)
	}
	return n
}

func bytesOf(t types.Tensor) float64 { return elems(t.Shape) * float64(t.Elem.Bytes()) }

// opCount is the number of scalar instructions of a pointwise operation.
func opCount(op *ir.Op) float64 {
	if op.Def.Scalar == nil {
		return 1
	}
	var params []types.DType
	for _, a := range op.Args {
		params = append(params, a.Type.Elem)
	}
	rec, refs := scalar.NewRecorder(params...)
	op.Def.Scalar(scalar.Emitter{Sink: rec}, op, refs)
	// Equal instructions are computed once.
	n := 0.0
	first := map[scalar.Instr]scalar.Ref{}
	now := make([]scalar.Ref, len(rec.Func.Instrs))
	for i, in := range rec.Func.Instrs {
		for k, a := range in.Args {
			if a != scalar.None {
				in.Args[k] = now[a]
			}
		}
		if r, ok := first[in]; ok {
			now[i] = r
			continue
		}
		first[in], now[i] = scalar.Ref(i), scalar.Ref(i)
		if in.Op != scalar.Const && in.Op != scalar.Param {
			n++
		}
	}
	return n
}

// ownWork estimates the scalar operations of op itself for all elements of its results.
func ownWork(op *ir.Op) float64 {
	out := 1.0
	if len(op.Results) > 0 {
		out = elems(op.Results[0].Type.Shape)
	}
	switch op.Def.Class {
	case ir.Pointwise:
		return out * opCount(op)
	case ir.Reduce:
		return elems(op.Args[0].Type.Shape)
	case ir.Contract:
		s := op.Args[0].Type.Shape
		return out * 2 * sizeOf(s[len(s)-1])
	case ir.Source:
		return 0
	case ir.Host:
		return callCost
	case ir.Scope:
		sum := 0.0
		for _, r := range op.Regions {
			sum += blockWork(r)
		}
		switch op.Def {
		case ir.OpFold:
			return sum * elems(op.Args[len(op.Args)-1].Type.Shape)
		case ir.OpTabulate:
			return sum * elems(op.Dims("shape"))
		}
		return sum
	}
	if op.Def.Traits.Has(ir.View) {
		return 0
	}
	return out * 2
}

func blockWork(b *ir.Block) float64 {
	sum := 0.0
	for _, op := range b.Ops {
		sum += ownWork(op)
	}
	return sum
}

// loops reports that an element of op is more than straight-line code.
func loops(op *ir.Op) bool {
	switch op.Def.Class {
	case ir.Reduce, ir.Contract, ir.Host:
		return true
	case ir.Scope:
		if op.Def == ir.OpFold || op.Def == ir.OpIf {
			return true
		}
		for _, r := range op.Regions {
			for _, in := range r.Ops {
				if loops(in) {
					return true
				}
			}
		}
	}
	return false
}

// A place says where an index of a value comes from, inside of a kernel: level is the number of loops around the
// point where it is known (0: it does not vary), axis the axis of the kernel that it equals, or -1.
type place struct{ level, axis int }

// A visit is one reading of a value by a kernel: the loops around it, and where each index comes from.
type visit struct {
	root *ir.Op
	nest []float64 // extents of the loops
	axes int       // how many of them, from the outermost, are axes of the kernel
	id   int       // of the nest: two reductions have different loops
	keep int       // loops that code around here may depend on otherwise: by the parameters of a region
	at   []place
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

// deepest is an index that is known only where all of at are.
func (v *visit) deepest() place { return place{v.level(), -1} }

// with is v at other indices.
func (v *visit) with(at []place) *visit { return &visit{v.root, v.nest, v.axes, v.id, v.keep, at} }

// A tracer finds out how operations read their operands. visit is called for every value that is read.
type tracer struct {
	nests int
	read  func(v *ir.Value, at *visit)
}

// loop puts a loop where the element that v asks for is computed: inside of the loops that its index depends
// on, and of no others. It returns the new nest and the index of the loop.
func (t *tracer) loop(v *visit, extent float64) (*visit, place) {
	t.nests++
	l := max(v.level(), v.keep)
	nest := append(append(make([]float64, 0, l+1), v.nest[:l]...), extent)
	return &visit{v.root, nest, min(v.axes, l), t.nests, v.keep, v.at}, place{l + 1, -1}
}

// operands reports how op, whose result is read at v, reads its operands. scalars gives the level at which a
// scalar value of a region is known.
func (t *tracer) operands(op *ir.Op, result int, v *visit, level func(*ir.Value) int) {
	x := func(i int, at []place) { t.read(op.Args[i], v.with(at)) }
	scalarAt := func(i int) place {
		x(i, nil)
		return place{level(op.Args[i]), -1}
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
		t.read(op.Args[0], in.with(append(batch, v.at[r-2], k)))
		t.read(op.Args[1], in.with(append(batch, k, v.at[r-1])))
		return
	case ir.Host:
		for i := range op.Args {
			x(i, nil)
		}
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
		x(0, reshaped(op.Args[0].Type.Shape, op.Type().Shape, v))
	case ir.OpSlice:
		at := append([]place{}, v.at...)
		for k, d := range op.Args[0].Type.Shape {
			if !d.Equal(op.Type().Shape[k]) || op.Ints("steps")[k] != 1 {
				at[k].axis = -1
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
			at[k] = place{max(at[k].level, scalarAt(i+1).level), -1}
		}
		x(0, at)
	case ir.OpConcat:
		at := append([]place{}, v.at...)
		at[op.Int("axis")].axis = -1
		for i := range op.Args {
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
		}
		t.region(op.Regions[0], 0, v.with(v.at[n:]), levels, level)
	case ir.OpIf:
		x(0, nil)
		t.region(op.Regions[0], result, v, nil, level)
		t.region(op.Regions[1], result, v, nil, level)
	default:
		for i, a := range op.Args { // an operation that is not known: any element, at any time
			at := make([]place, a.Type.Rank())
			for k := range at {
				at[k] = v.deepest()
			}
			x(i, at)
		}
	}
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
func reshaped(from, to types.Shape, v *visit) []place {
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
				at[k] = v.deepest()
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
	inner := &tracer{nests: t.nests}
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
	if a.root != b.root || a.id != b.id && a.level() > 0 && !sharedLoops(a, b) || len(a.at) != len(b.at) {
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
