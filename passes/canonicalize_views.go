package passes

import (
	"slices"

	"healc/ir"
	"healc/ir/ops"
	"healc/lang/types"
)

// addViewRules registers the rules about where elements are read. None of them computes anything.
func addViewRules() {
	addRule("the view changes nothing", identityView, ops.Reshape, ops.Broadcast, ops.Permute, ops.Slice, ops.Cast,
		ops.Shard, ops.Replicate, ops.ShardAs)
	addRule("view of a repeated scalar", viewOfSplat, ops.Reshape, ops.Broadcast, ops.Permute, ops.Slice)
	addRule("reshape of a reshape", reshapeOfReshape, ops.Reshape)
	addRule("permute of a permute", permuteOfPermute, ops.Permute)
	addRule("permute that moves unit axes only is a reshape", permuteOfUnits, ops.Permute)
	addRule("slice of a slice", sliceOfSlice, ops.Slice)
	addRule("slice within one operand of a concat", sliceOfConcat, ops.Slice)
	addRule("broadcast of a broadcast", broadcastOfBroadcast, ops.Broadcast)
	addRule("broadcast that adds unit axes only is a reshape", broadcastOfUnits, ops.Broadcast)
	addRule("constant index in range is a slice", constantIndex, ops.Index)
	addRule("constant start in range is a slice", constantStart, ops.DynamicSlice)
	addRule("concat of one, of empty operands, or of a concat", flattenConcat, ops.Concat)
	addRule("body does not depend on the index", invariantTabulate, ops.Tabulate)
	addRule("tabulate of a tensor at its own index", ownIndexTabulate, ops.Tabulate)
	addRule("condition is constant", constantIf, ops.If)
	for _, d := range ir.Ops() {
		if d.Class == ir.Reduce && d != ops.Argmax && d != ops.Argmin && d.Expand == nil {
			addRule("reduction of single elements", reduceOfUnits, d)
		}
		if (d.Class == ir.Reduce || d == ops.Fold) && d.Expand == nil {
			addRule("kept axes are a reshape", keepIsReshape, d)
		}
	}
}

// identityView: a reshape, broadcast or cast to the operand's own type, a permute that leaves every axis
// in its place, a slice of everything in order, and what says something to ranks alone.
func identityView(_ *canonicalizer, op *ir.Op) []*ir.Value {
	x := op.Args[0]
	if !types.Equal(x.Type, op.Type()) {
		return nil
	}
	switch op.Def {
	case ops.Permute:
		for i, a := range op.Ints("perm") {
			if int(a) != i {
				return nil
			}
		}
	case ops.Slice:
		starts, steps := op.Dims("starts"), op.Ints("steps")
		for i, d := range x.Type.Shape {
			if !d.IsConst(0) && (!starts[i].IsConst(0) || steps[i] != 1 && !d.IsConst(1)) {
				return nil
			}
		}
	}
	return one(x)
}

// viewOfSplat: every element of the operand is one scalar, so every element of the view is it.
func viewOfSplat(c *canonicalizer, op *ir.Op) []*ir.Value {
	x := op.Args[0]
	s, ok := splat(x)
	if !ok || s == x {
		return nil
	}
	return one(c.emit(op, ops.Broadcast, ir.A{"shape": op.Type().Shape}, s))
}

// reshapeOfReshape: both keep the row-major order of the elements.
func reshapeOfReshape(c *canonicalizer, op *ir.Op) []*ir.Value {
	if in := definedBy(op.Args[0], ops.Reshape); in != nil {
		return one(c.emit(op, ops.Reshape, ir.A{"shape": op.Type().Shape}, in.Args[0]))
	}
	return nil
}

// permuteOfPermute: axis k of the result is axis outer[k] of the middle, which is inner[outer[k]] of x.
func permuteOfPermute(c *canonicalizer, op *ir.Op) []*ir.Value {
	in := definedBy(op.Args[0], ops.Permute)
	if in == nil {
		return nil
	}
	perm := make([]int64, len(op.Ints("perm")))
	for k, a := range op.Ints("perm") {
		perm[k] = in.Ints("perm")[a]
	}
	return one(c.emit(op, ops.Permute, ir.A{"perm": perm}, in.Args[0]))
}

// permuteOfUnits: the axes that are not the literal 1 keep their order, so that the elements keep theirs.
func permuteOfUnits(c *canonicalizer, op *ir.Op) []*ir.Value {
	last := int64(-1)
	for _, a := range op.Ints("perm") {
		if op.Args[0].Type.Shape[a].IsConst(1) {
			continue
		}
		if a < last {
			return nil
		}
		last = a
	}
	return one(c.emit(op, ops.Reshape, ir.A{"shape": op.Type().Shape}, op.Args[0]))
}

// sliceOfSlice: element i is s1 + (s2 + i*p2)*p1 = (s1 + s2*p1) + i*(p2*p1). It is left alone where that
// overflows.
func sliceOfSlice(c *canonicalizer, op *ir.Op) []*ir.Value {
	in := definedBy(op.Args[0], ops.Slice)
	if in == nil {
		return nil
	}
	starts, steps := make(types.Shape, len(op.Dims("starts"))), make([]int64, len(op.Ints("steps")))
	for k, s2 := range op.Dims("starts") {
		p1, p2 := in.Ints("steps")[k], op.Ints("steps")[k]
		far, err := s2.Mul(types.Lit(p1))
		if err != nil {
			return nil
		}
		if starts[k], err = in.Dims("starts")[k].Add(far); err != nil {
			return nil
		}
		step, err := types.Lit(p1).Mul(types.Lit(p2))
		if err != nil {
			return nil
		}
		steps[k], _ = step.Const()
	}
	return one(c.emit(op, ops.Slice, ir.A{"starts": starts, "steps": steps, "shape": op.Type().Shape}, in.Args[0]))
}

// sliceOfConcat: the elements come from one operand alone, by literal extents of those before it.
func sliceOfConcat(c *canonicalizer, op *ir.Op) []*ir.Value {
	in := definedBy(op.Args[0], ops.Concat)
	if in == nil {
		return nil
	}
	axis := in.Int("axis")
	n, known := op.Type().Shape[axis].Const()
	first, literal := op.Dims("starts")[axis].Const()
	if !known || !literal || n == 0 {
		return nil
	}
	last := first + (n-1)*op.Ints("steps")[axis]
	before := int64(0)
	for _, x := range in.Args {
		extent, known := x.Type.Shape[axis].Const()
		if !known {
			return nil
		}
		if min(first, last) >= before && max(first, last) < before+extent {
			starts := slices.Clone(op.Dims("starts"))
			starts[axis] = types.Lit(first - before)
			return one(c.emit(op, ops.Slice, ir.A{"starts": starts, "steps": op.Ints("steps"),
				"shape": op.Type().Shape}, x))
		}
		before += extent
	}
	return nil
}

// broadcastOfBroadcast: an axis that the inner repeats is the literal 1 in x, and one that the outer
// repeats is the literal 1 in between, so that x has a 1 wherever the two repeat. A reshape that only adds
// leading unit axes is what broadcast does by itself.
func broadcastOfBroadcast(c *canonicalizer, op *ir.Op) []*ir.Value {
	mid := op.Args[0]
	in := definedBy(mid, ops.Broadcast)
	if in == nil {
		in = definedBy(mid, ops.Reshape)
		if in == nil || !addsLeadingUnits(in.Args[0].Type.Shape, mid.Type.Shape) {
			return nil
		}
	}
	return one(c.emit(op, ops.Broadcast, ir.A{"shape": op.Type().Shape}, in.Args[0]))
}

// addsLeadingUnits reports whether to is from with literal 1s before it.
func addsLeadingUnits(from, to types.Shape) bool {
	n := len(to) - len(from)
	if n < 0 || !from.Equal(to[n:]) {
		return false
	}
	for _, d := range to[:n] {
		if !d.IsConst(1) {
			return false
		}
	}
	return true
}

// broadcastOfUnits: nothing is repeated.
func broadcastOfUnits(c *canonicalizer, op *ir.Op) []*ir.Value {
	if !addsLeadingUnits(op.Args[0].Type.Shape, op.Type().Shape) {
		return nil
	}
	return one(c.emit(op, ops.Reshape, ir.A{"shape": op.Type().Shape}, op.Args[0]))
}

// inside reports whether elements start to start+size-1 are in an axis of the given extent, for sure.
func inside(start int64, size, extent types.Dim) bool {
	rest, err := extent.Sub(size)
	if err != nil {
		return false
	}
	if rest, err = rest.Sub(types.Lit(start)); err != nil {
		return false
	}
	n, ok := rest.Const()
	return ok && n >= 0 && start >= 0
}

// position is the value of a constant index operand.
func position(v *ir.Value) (int64, bool) {
	bits, ok := same(v)
	if v.Type.Elem == types.I32 {
		return int64(int32(uint32(bits))), ok
	}
	return int64(bits), ok
}

// constantIndex: an index that is in range for sure cannot fail, and is the slice of one element without
// its axis.
func constantIndex(c *canonicalizer, op *ir.Op) []*ir.Value {
	sizes := make(types.Shape, len(op.Ints("axes")))
	for i := range sizes {
		sizes[i] = types.Lit(1)
	}
	v := c.sliceAt(op, op.Ints("axes"), sizes)
	if v == nil {
		return nil
	}
	return one(c.emit(op, ops.Reshape, ir.A{"shape": op.Type().Shape}, v))
}

// constantStart: as constantIndex, for runs of elements.
func constantStart(c *canonicalizer, op *ir.Op) []*ir.Value {
	return one(c.sliceAt(op, op.Ints("axes"), op.Dims("sizes")))
}

// sliceAt is the slice of op's first operand that starts, on the given axes, at the values of the other
// operands; nil when they are not constants in range.
func (c *canonicalizer) sliceAt(op *ir.Op, axes []int64, sizes types.Shape) *ir.Value {
	x := op.Args[0].Type
	starts, steps, shape := make(types.Shape, x.Rank()), make([]int64, x.Rank()), slices.Clone(x.Shape)
	for k := range steps {
		steps[k] = 1
	}
	for i, a := range axes {
		n, ok := position(op.Args[1+i])
		if !ok || !inside(n, sizes[i], x.Shape[a]) {
			return nil
		}
		starts[a], shape[a] = types.Lit(n), sizes[i]
	}
	return c.emit(op, ops.Slice, ir.A{"starts": starts, "steps": steps, "shape": shape}, op.Args[0])
}

// flattenConcat: operands without elements are left out, and operands that are concats along the same
// axis are taken apart. A concat of one operand is the operand.
func flattenConcat(c *canonicalizer, op *ir.Op) []*ir.Value {
	axis := op.Int("axis")
	var args []*ir.Value
	for _, a := range op.Args {
		in := definedBy(a, ops.Concat)
		switch {
		case a.Type.Shape[axis].IsConst(0):
		case in != nil && in.Int("axis") == axis:
			args = append(args, in.Args...)
		default:
			args = append(args, a)
		}
	}
	switch {
	case len(args) == 0:
		return one(op.Args[0])
	case len(args) == 1:
		return one(args[0])
	case slices.Equal(args, op.Args):
		return nil
	}
	return one(c.emit(op, ops.Concat, ir.A{"axis": axis}, args...))
}

// invariantTabulate: the region yields a value from outside and has no operation left that can fail, so
// that every index gives that value.
func invariantTabulate(c *canonicalizer, op *ir.Op) []*ir.Value {
	r := op.Regions[0]
	y := r.Yields[0]
	if op.MayFail() || slices.Contains(r.Params, y) {
		return nil
	}
	for _, in := range r.Ops {
		if slices.Contains(in.Results, y) {
			return nil
		}
	}
	return one(c.emit(op, ops.Broadcast, ir.A{"shape": op.Type().Shape}, y))
}

// constantIf: the arm that is taken moves to the place of the if.
func constantIf(c *canonicalizer, op *ir.Op) []*ir.Value {
	bits, ok := same(op.Args[0])
	if !ok {
		return nil
	}
	arm := op.Regions[1]
	if bits != 0 {
		arm = op.Regions[0]
	}
	c.out = append(c.out, arm.Ops...)
	if arm.Yields == nil {
		return []*ir.Value{} // not nil: the rule applies
	}
	return arm.Yields
}

// reduceOfUnits: a sum, product, maximum, ... of one element is the element, -0 and NaN included, since
// each of them starts with its first element.
func reduceOfUnits(c *canonicalizer, op *ir.Op) []*ir.Value {
	x := op.Args[0]
	for _, a := range ops.ReducedAxes(op) {
		if !x.Type.Shape[a].IsConst(1) {
			return nil
		}
	}
	return one(c.emit(op, ops.Reshape, ir.A{"shape": op.Type().Shape}, x))
}

// keepIsReshape: the axes that a reduction keeps have the extent 1. Without them, the same reduction with
// and without keep is one.
func keepIsReshape(c *canonicalizer, op *ir.Op) []*ir.Value {
	if !op.Flag("keep") {
		return nil
	}
	attrs := named(op)
	delete(attrs, "keep")
	v := c.emitRegions(op, op.Def, attrs, op.Regions, op.Args...)
	if v == nil {
		return nil
	}
	return one(c.emit(op, ops.Reshape, ir.A{"shape": op.Type().Shape}, v))
}
