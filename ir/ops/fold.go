package ops

import (
	"slices"

	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/diag"
	"healc/lang/types"
)

// Fold is a strict left fold.
var Fold = ir.Declare("fold")
var _ = ir.Define(Fold, ir.OpDef{
	Class: ir.Scope, Surface: "fold", Arity: ir.Variadic, Regions: 1, Traits: ir.MayFail,
	Sharding: ir.ShardFold,
	Reads:    readsAfterStarts,
	Space:    func(op *ir.Op) types.Shape { return op.Args[len(op.Args)-1].Type.Shape },
	Fails: func(op *ir.Op) bool {
		return !op.Flag("init") && foldsNothing(op.Args[0].Type, op.Ints("axes"))
	},
	Params: []ir.Param{
		{Name: "init", Kind: ir.ParamValue},
		{Name: "f", Kind: ir.ParamFunction},
		{Name: "v"},
	},
	Summary: "The left fold in row-major order over the axes; without a start the first element is it, and nothing " +
		"to fold is an error.",
	Attrs: []ir.AttrDef{
		attrAxes, attrKeep,
		{Name: "init", Kind: ir.AttrFlag, Optional: true, Doc: "whether the first operand is the start"},
	},
	Infer: inferFold,
	Doomed: func(args []types.Tensor, attrs ir.Attrs) error {
		if init, _ := attrs[2].(bool); init {
			return nil
		}
		return foldOfNothing("C4", "a fold", args[0].Shape, attrs[0].([]int64))
	},
	Eval:    evalFold,
	Element: elementFold,
	VJP:     vjp(foldRule),
	Constraints: []ir.Constraint{
		{Name: "C1",
			Text: "the operands are the tensor, of numbers or bools, and before it the start if init is set, a " +
				"scalar or one for each element of the result"},
		{Name: "C2", Text: "the axes exist, ascending and distinct"},
		{Name: "C3", Text: "the region takes the accumulator and an element, both scalars, and yields the accumulator"},
		{Name: "C4", Text: "without a start, no reduced axis is empty, unless the result is"},
	},
	Example: "(|a, x| 10 * a + x)/([1, 2, 3]) == 123",
})

func inferFold(args []types.Tensor, attrs ir.Attrs, regions []*ir.Block) ([]types.Tensor, error) {
	axes := attrs[0].([]int64)
	keep, _ := attrs[1].(bool)
	init, _ := attrs[2].(bool)
	want := 1
	if init {
		want = 2
	}
	if len(args) != want {
		return nil, broken("C1", "fold takes %s here, not %d", types.Count(want, "operand"), len(args))
	}
	x := args[len(args)-1]
	for _, t := range args {
		if err := requireIn("C1", "a fold", elements, t); err != nil {
			return nil, err
		}
	}
	if err := requireAxes("a fold", axes, x.Rank()); err != nil {
		return nil, err
	}
	acc, shape := types.Scalar(x.Elem), ReducedShape(x.Shape, axes, keep)
	if init {
		acc = types.Scalar(args[0].Elem)
		if !args[0].IsScalar() && !args[0].Shape.Equal(shape) {
			return nil, broken("C1", "the start of a fold is a scalar, or has the shape of the result, %s, and not %s",
				shape, args[0])
		}
	}
	body := regions[0]
	if len(body.Params) != 2 || !types.Equal(body.Params[0].Type, acc) ||
		!types.Equal(body.Params[1].Type, types.Scalar(x.Elem)) {
		return nil, broken("C3", "the function of a fold takes the accumulator, %s, and an element, %s", acc, x.Elem)
	}
	if len(body.Yields) != 1 || !types.Equal(body.Yields[0].Type, acc) {
		return nil, broken("C3", "the function of a fold gives the accumulator, %s", acc)
	}
	return []types.Tensor{{Elem: acc.Elem, Shape: shape}}, nil
}

func evalFold(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
	x := args[len(args)-1]
	out := ir.NewArray(op.Type().Elem, extents(c, op.Type().Shape)...)
	if len(out.Bits) == 0 {
		return one(out)
	}
	if len(x.Bits) == 0 && !op.Flag("init") {
		return nil, c.Fail(op, scalar.CheckEmpty)
	}
	for r, row := range reducedInner(x, op.Ints("axes"), len(out.Bits)) {
		acc := args[0]
		switch {
		case !op.Flag("init"):
			acc = ir.NewScalar(x.DType, row[0])
			row = row[1:]
		case len(acc.Shape) > 0: // one for each element of the result
			acc = ir.NewScalar(acc.DType, acc.Bits[r])
		}
		for _, v := range row {
			y, err := c.Region(op, 0, acc, ir.NewScalar(x.DType, v))
			if err != nil {
				return nil, err
			}
			acc = y[0]
		}
		out.Bits[r] = acc.Bits[0]
	}
	return one(out)
}

func elementFold(p ir.Pull, op *ir.Op, _ int, at []scalar.Ref) scalar.Ref {
	last := len(op.Args) - 1
	x := op.Args[last].Type
	merge := mergeOf(op, x, at)
	extents := reducedExtents(x, merge.axes)
	begin, start := int64(0), scalar.None
	if op.Flag("init") {
		start = p.Arg(op, 0, at[:op.Args[0].Type.Rank()])
	} else {
		if !checkSome(p, extents) {
			return p.E().Int(op.Type().Elem, 0)
		}
		begin, start = 1, p.Arg(op, last, merge.index(zeros(p, len(extents))))
	}
	return p.Loop(extents, begin, []scalar.Ref{start}, func(reduced, acc []scalar.Ref) []scalar.Ref {
		y := p.Arg(op, last, merge.index(reduced))
		return []scalar.Ref{p.Region(op, 0, 0, []scalar.Ref{acc[0], y}, nil)}
	})[0]
}

// foldRule moves the axes of a fold to the end, as one.
func foldRule(t *tape, op *ir.Op, cts []*ir.Value) {
	x := op.Args[len(op.Args)-1]
	perm, kept := []int64{}, types.Shape{}
	reduced := types.Shape{}
	for k, d := range x.Type.Shape {
		if !hasAxis(op.Ints("axes"), k) {
			perm, kept = append(perm, int64(k)), append(kept, d)
		}
	}
	for _, a := range op.Ints("axes") {
		perm, reduced = append(perm, a), append(reduced, x.Type.Shape[a])
	}
	moved := t.permute(x, perm)
	n := flatExtent(op.Span, reduced)
	row := t.reshape(moved, append(append(types.Shape{}, kept...), n))
	r := &recurrence{t: t, step: op.Regions[0], xs: []*ir.Value{row}, at: op.Span}
	for _, v := range op.Args[:Starts(op)] {
		start := v
		if !v.Type.IsScalar() {
			start = t.reshape(v, kept)
			t.varied[start] = t.varied[v]
		}
		r.starts = append(r.starts, start)
	}
	step, err := ir.NewCloner().Block(r.step)
	if err != nil {
		panic("BUG: copying without substitution: " + err.Error())
	}
	r.after = t.b.EmitOp(Scan, ir.A{"init": len(r.starts) > 0}, append(slices.Clone(r.starts), row),
		[]*ir.Block{step}).Results
	t.varied[row] = t.varied[x]
	shape := r.after[0].Type.Shape
	head := t.reshape(cts[0], append(append(types.Shape{}, kept...), types.Lit(1)))
	ct := t.where(t.lastOf(shape), t.broadcast(head, shape), t.Fill(r.after[0], 0))
	r.gradients([]*ir.Value{ct}, []*ir.Value{head})
	if g := t.cotangents[row]; g != nil && row != x {
		t.Add(x, t.permute(t.reshape(g, moved.Type.Shape), inverse(perm)))
	}
	for k, v := range op.Args[:Starts(op)] {
		if g := t.cotangents[r.starts[k]]; g != nil && r.starts[k] != v {
			t.Add(v, t.reshape(g, v.Type.Shape))
		}
	}
}

// flatExtent is the number of elements of a shape as one extent.
func flatExtent(at diag.Span, s types.Shape) types.Dim {
	n := elems(s)
	if c, ok := n.Const(); ok && c > types.MaxExtent {
		unsupportedGradient(at, "a fold or scan of "+n.String()+" elements")
	}
	return n
}

// Scan keeps every accumulator of a fold.
var Scan = ir.Declare("scan")
var _ = ir.Define(Scan, ir.OpDef{
	Class: ir.Scope, Surface: "scan", Arity: ir.Variadic, Regions: 1,
	Sharding: ir.ShardScan,
	Reads:    readsAfterStarts,
	Space:    func(op *ir.Op) types.Shape { return op.Results[0].Type.Shape },
	Params: []ir.Param{
		{Name: "init", Kind: ir.ParamValue},
		{Name: "f", Kind: ir.ParamFunction},
		{Name: "v"},
	},
	Summary: "The accumulators of the left folds along the last axis, one after each element; without a start the " +
		"first element is the first of them. Several tensors are gone along together.",
	Attrs: []ir.AttrDef{
		{Name: "init", Kind: ir.AttrFlag, Optional: true,
			Doc: "whether the first operands are the start, one for each accumulator"},
	},
	Infer:   inferScan,
	Eval:    evalScan,
	Element: elementScan,
	VJP: vjp(func(t *tape, op *ir.Op, cts []*ir.Value) {
		n, x := Starts(op), op.Args[len(op.Args)-1]
		r := &recurrence{t: t, step: op.Regions[0], starts: op.Args[:n:n], xs: op.Args[n:], after: op.Results,
			at: op.Span}
		rows := append(append(types.Shape{}, x.Type.Shape[:x.Type.Rank()-1]...), types.Lit(1))
		heads := make([]*ir.Value, len(op.Results))
		for k, y := range op.Results {
			if y.Type.Elem.IsFloat() {
				heads[k] = t.Zeros(types.Tensor{Elem: y.Type.Elem, Shape: rows})
			}
		}
		r.gradients(cts, heads)
	}),
	Constraints: []ir.Constraint{
		{Name: "C1",
			Text: "the operands are tensors of one shape, of numbers or bools and with an axis, and before them the " +
				"starts if init is set, each a scalar or one for each row; without them there is one tensor"},
		{Name: "C2",
			Text: "the region takes the accumulators and an element of each tensor, all scalars, and yields the " +
				"accumulators"},
	},
	Example: "scan(0, |a, x| 10 * a + x, [1, 2, 3]) == [1, 12, 123]",
})

// Starts is how many operands of a fold or scan, the first ones, are starts. The others are what it goes along.
func Starts(op *ir.Op) int { return min(len(op.Results), len(op.Args)-1) }

func inferScan(args []types.Tensor, attrs ir.Attrs, regions []*ir.Block) ([]types.Tensor, error) {
	init, _ := attrs[0].(bool)
	body := regions[0]
	starts := 0
	if init {
		starts = len(body.Yields)
	}
	if over := len(args) - starts; over < 1 || !init && over > 1 || init && starts < 1 {
		return nil, broken("C1", "scan takes a tensor, or the starts and then tensors, not %s",
			types.Count(len(args), "operand"))
	}
	xs := args[starts:]
	x := xs[0]
	for _, t := range xs {
		if err := requireIn("C1", "a scan", elements, t); err != nil {
			return nil, err
		}
		if !t.Shape.Equal(x.Shape) {
			return nil, broken("C1", "a scan goes along tensors of one shape, and not along %s and %s", x, t)
		}
	}
	if x.IsScalar() {
		return nil, broken("C1", "a scan goes along the last axis, and a scalar has none")
	}
	accs := []types.Tensor{types.Scalar(x.Elem)}
	if init {
		accs = nil
	}
	for _, t := range args[:starts] {
		if !t.IsScalar() && !t.Shape.Equal(x.Shape[:x.Rank()-1]) || !elements.has(t.Elem) {
			return nil, broken("C1", "the start of a scan is made of scalars, or has one for each row, not %s", t)
		}
		accs = append(accs, types.Scalar(t.Elem))
	}
	want := slices.Clone(accs)
	for _, t := range xs {
		want = append(want, types.Scalar(t.Elem))
	}
	if len(body.Params) != len(want) {
		return nil, broken("C2", "the function of a scan takes %s, not %d", types.Count(len(want), "value"),
			len(body.Params))
	}
	for i, t := range want {
		if !types.Equal(body.Params[i].Type, t) {
			return nil, broken("C2", "the function of a scan takes %s here, not %s", t, body.Params[i].Type)
		}
	}
	if len(body.Yields) != len(accs) {
		return nil, broken("C2", "the function of a scan gives %s, not %d", types.Count(len(accs), "value"),
			len(body.Yields))
	}
	out := make([]types.Tensor, len(accs))
	for i, t := range accs {
		if !types.Equal(body.Yields[i].Type, t) {
			return nil, broken("C2", "the function of a scan makes %s of %s", body.Yields[i].Type, t)
		}
		out[i] = types.Tensor{Elem: t.Elem, Shape: x.Shape}
	}
	return out, nil
}

func evalScan(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
	starts, xs := args[:Starts(op)], args[Starts(op):]
	shape := xs[0].Shape
	out := make([]*ir.Array, len(op.Results))
	for k, r := range op.Results {
		out[k] = ir.NewArray(r.Type.Elem, shape...)
	}
	n := int(shape[len(shape)-1])
	for at := range xs[0].Bits {
		first := at%n == 0
		if first && len(starts) == 0 {
			out[0].Bits[at] = xs[0].Bits[at]
			continue
		}
		in := make([]*ir.Array, len(out), len(out)+len(xs))
		for k := range in {
			switch {
			case !first:
				in[k] = ir.NewScalar(out[k].DType, out[k].Bits[at-1])
			case len(starts[k].Shape) > 0: // one for each row
				in[k] = ir.NewScalar(out[k].DType, starts[k].Bits[at/n])
			default:
				in[k] = starts[k]
			}
		}
		for _, x := range xs {
			in = append(in, ir.NewScalar(x.DType, x.Bits[at]))
		}
		acc, err := c.Region(op, 0, in...)
		if err != nil {
			return nil, err
		}
		for k := range out {
			out[k].Bits[at] = acc[k].Bits[0]
		}
	}
	return out, nil
}

// elementScan folds up to the element that is wanted. A scan that is written to memory as a whole stores
// every accumulator on the way instead; bufferize does that with ScanStep.
func elementScan(p ir.Pull, op *ir.Op, result int, at []scalar.Ref) scalar.Ref {
	last := len(at) - 1
	e := p.E()
	start, skipped := ScanStart(p, op, at[:last])
	n := e.Add(at[last], e.Int(types.I64, 1-skipped))
	return p.Iterate(n, start, func(i scalar.Ref, acc []scalar.Ref) ([]scalar.Ref, scalar.Ref) {
		return ScanStep(p, op, at[:last], p.E().Add(i, p.E().Int(types.I64, skipped)), acc), scalar.None
	})[result]
}

// ScanStart gives the accumulators of a scan before its first step, for the row at, and the number of
// elements that they hold already: one when there is no start.
func ScanStart(p ir.Pull, op *ir.Op, row []scalar.Ref) (acc []scalar.Ref, skipped int64) {
	if !op.Flag("init") {
		shape, e := op.Args[0].Type.Shape, p.E()
		if d := shape[len(shape)-1]; !d.AlwaysPositive() {
			// It holds where there is an element to compute, and keeps the first one from being read where not.
			e.Check(scalar.CheckEmpty, e.Lt(e.Int(types.I64, 0), p.Extent(d)))
		}
		first := append(append([]scalar.Ref{}, row...), p.E().Int(types.I64, 0))
		return []scalar.Ref{p.Arg(op, 0, first)}, 1
	}
	for k, v := range op.Args[:Starts(op)] {
		acc = append(acc, p.Arg(op, k, row[:v.Type.Rank()])) // a scalar, or one for each row
	}
	return acc, 0
}

// ScanStep gives the accumulators after element i of a row.
func ScanStep(p ir.Pull, op *ir.Op, row []scalar.Ref, i scalar.Ref, acc []scalar.Ref) []scalar.Ref {
	at := append(append([]scalar.Ref{}, row...), i)
	in := append([]scalar.Ref{}, acc...)
	for k := Starts(op); k < len(op.Args); k++ {
		in = append(in, p.Arg(op, k, at))
	}
	next := make([]scalar.Ref, len(acc))
	for k := range next {
		next[k] = p.Region(op, 0, k, in, nil)
	}
	return next
}

// Note [Gradients of folds and scans]: a scan carries accumulators along a row. Its derivative is a scan again, from
// the end of each row to its start, along the cotangents, the elements, and the accumulators that the scan has kept
// anyway, all from the end: it carries the cotangents of the accumulators, and keeps what reaches those before each
// element. From these the gradients by the elements and by what the function captures follow for each element on its
// own, as those of a tabulate. A fold is the last accumulator of a scan, whose accumulators the derivative computes
// first. So there is one kernel over all rows in each direction, and no step is computed more than twice. What the walk
// reads it goes along, and captures none of it: so its rows go in tiles as those of any scan do, and where they are cut
// on several ranks, its state goes from rank to rank.

// A recurrence is what a scan computes along the last axis of some tensors.
type recurrence struct {
	t      *tape
	step   *ir.Block   // from accumulators and an element of each tensor to accumulators
	starts []*ir.Value // none where the first element of a row is the first accumulator
	xs     []*ir.Value
	after  []*ir.Value // the accumulators after each element, of the shape of the tensors
	at     diag.Span
}

func (r *recurrence) shape() types.Shape { return r.after[0].Type.Shape }

// floats are the positions of the accumulators that have cotangents.
func (r *recurrence) floats() []int64 {
	var out []int64
	for k, y := range r.after {
		if y.Type.Elem.IsFloat() {
			out = append(out, int64(k))
		}
	}
	return out
}

// gradients adds the gradients of what the recurrence reads. cts are the cotangents of the accumulators after each
// element, heads those of the accumulators before the first element of a row where there is none.
func (r *recurrence) gradients(cts, heads []*ir.Value) {
	t, floats, last := r.t, r.floats(), len(r.shape())-1
	n := r.shape()[last]
	var before []*ir.Value // what reaches the accumulators before each element
	if !n.IsConst(0) {
		state := make([]*ir.Value, len(r.after))
		for k := range state {
			state[k] = r.before(k)
		}
		before = r.each(r.backwards(cts, state), state)
	}
	for i, k := range floats {
		if len(r.starts) == 0 || !t.Needs(r.starts[k]) {
			continue
		}
		first := heads[k]
		if before != nil { // where a row may be empty, the head is what is left
			starts := lits(last+1, 0)
			starts[last] = n
			all := t.Emit(Concat, ir.A{"axis": int64(last)}, first, t.flip(before[i]))
			first = t.Emit(Slice, ir.A{"starts": starts, "steps": ones(last + 1), "shape": first.Type.Shape}, all)
		}
		if start := r.starts[k]; start.Type.IsScalar() {
			first = t.Emit(ReduceSum, ir.A{"axes": firstAxes(last + 1)}, first)
		} else {
			first = t.reshape(first, start.Type.Shape)
		}
		t.Add(r.starts[k], first)
	}
}

// backwards walks every row from its end, and gives the cotangents of the accumulators after each element, with all
// that comes from later elements.
func (r *recurrence) backwards(cts, state []*ir.Value) []*ir.Value {
	t, floats := r.t, r.floats()
	walk, step, reads := &ir.Block{}, &ir.Builder{Block: &ir.Block{}, Span: r.at}, &ir.Block{}
	in := &ir.Builder{Block: walk, Span: r.at}
	var over, carried, given, read []*ir.Value
	for _, k := range floats {
		e := types.Scalar(r.after[k].Type.Elem)
		over = append(over, t.Zeros(e))
		carried, given = append(carried, walk.Param("", e, r.at)), append(given, reads.Param("", e, r.at))
	}
	along := func(v *ir.Value) *ir.Value { // an element of v, from the end of each row
		over = append(over, t.flip(v))
		return walk.Param("", types.Scalar(v.Type.Elem), r.at)
	}
	for _, v := range slices.Concat(r.after, r.xs) {
		read = append(read, reads.Param("", types.Scalar(v.Type.Elem), r.at))
	}
	step.Block.Yields = closureVjp(step, r.step, read, floats, nil, given, nil)
	tidy(step.Block, r.at)
	with := map[*ir.Value]*ir.Value{}
	plus := func(v *ir.Value, k int64) *ir.Value {
		if cts[k] == nil {
			return v
		}
		return in.Emit(Add, nil, v, along(cts[k]))
	}
	// Where a step reads nothing, as those of cumsum, the walk carries what is asked for.
	if len(r.after) == 1 && cts[0] != nil && !readsAny(step.Block, read) {
		with[given[0]] = carried[0]
		ir.Replace(step.Block, with)
		walk.Ops = step.Block.Ops
		walk.Yields = []*ir.Value{plus(step.Block.Yields[0], 0)}
		return []*ir.Value{t.flip(r.walked(over, walk)[0])}
	}
	// Else it carries what reaches the accumulators before each element: a step of it reads these, and the element.
	for i, k := range floats {
		with[given[i]] = plus(carried[i], k)
	}
	for k, v := range slices.Concat(state, r.xs) {
		if readsAny(step.Block, read[k:k+1]) {
			with[read[k]] = along(v)
		}
	}
	ir.Replace(step.Block, with)
	if len(r.starts) > 0 || !slices.ContainsFunc(step.Block.Ops, (*ir.Op).MayFail) {
		walk.Ops = append(walk.Ops, step.Block.Ops...)
		walk.Yields = step.Block.Yields
	} else { // no step makes the first element, and nothing is read of what reaches it
		shape := r.shape()
		at := t.along(shape, int64(len(shape)-1))
		first := along(t.Emit(Lt, nil, at, t.Fill(at, 1)))
		end := &ir.Builder{Block: &ir.Block{}, Span: r.at}
		for _, v := range carried {
			end.Block.Yields = append(end.Block.Yields, emitZeros(end, v.Type))
		}
		walk.Yields = in.EmitOp(If, nil, []*ir.Value{first}, []*ir.Block{end.Block, step.Block}).Results
	}
	reached := r.walked(over, walk)
	for i, k := range floats {
		v := t.flip(t.behind(t.Zeros(edge(reached[i])), reached[i]))
		if cts[k] != nil {
			v = t.add(v, cts[k])
		}
		reached[i] = v
	}
	return reached
}

// walked is a scan from starts over tensors.
func (r *recurrence) walked(args []*ir.Value, walk *ir.Block) []*ir.Value {
	return slices.Clone(r.t.b.EmitOp(Scan, ir.A{"init": true}, args, []*ir.Block{walk}).Results)
}

// readsAny reports whether a block, or one in it, reads one of some values.
func readsAny(b *ir.Block, values []*ir.Value) bool {
	return slices.ContainsFunc(ir.Captures(b), func(v *ir.Value) bool { return slices.Contains(values, v) })
}

// lastOf says which elements of a tensor are the last ones along its last axis.
func (t *tape) lastOf(shape types.Shape) *ir.Value {
	k := len(shape) - 1
	one := emitFill(t.b, types.Scalar(types.I32), 1)
	end := t.sub(t.Emit(Dim, ir.A{"dim": shape[k]}), one)
	return t.Emit(Eq, nil, t.along(shape, int64(k)), t.broadcast(end, shape))
}

// edge is the type of one element of each row of a tensor.
func edge(v *ir.Value) types.Tensor {
	last := v.Type.Rank() - 1
	return types.Tensor{Elem: v.Type.Elem, Shape: append(slices.Clone(v.Type.Shape[:last]), types.Lit(1))}
}

// behind is v moved by one along its last axis, behind first.
func (t *tape) behind(first, v *ir.Value) *ir.Value {
	last := v.Type.Rank() - 1
	all := t.Emit(Concat, ir.A{"axis": int64(last)}, first, v)
	return t.Emit(Slice, ir.A{"starts": lits(last+1, 0), "steps": ones(last + 1), "shape": v.Type.Shape}, all)
}

// flip reverses the last axis.
func (t *tape) flip(v *ir.Value) *ir.Value {
	shape := v.Type.Shape
	last := len(shape) - 1
	starts, steps := lits(len(shape), 0), ones(len(shape))
	end, err := shape[last].Sub(types.Lit(1))
	if err != nil {
		panic("BUG: an extent overflows: " + err.Error())
	}
	starts[last], steps[last] = end, -1
	return t.Emit(Slice, ir.A{"starts": starts, "steps": steps, "shape": shape}, v)
}

// each adds the gradients by the elements and by what the step captures, from the cotangents of the accumulators after
// each element, and gives those of the float accumulators before each: what the derivative of a tabulate gives that
// makes each step from the accumulators that were kept.
func (r *recurrence) each(reached, state []*ir.Value) (before []*ir.Value) {
	t, floats := r.t, r.floats()
	var caps []*ir.Value
	for _, s := range r.starts {
		if t.Needs(s) {
			for _, k := range floats {
				caps = append(caps, state[k])
			}
			break
		}
	}
	own := len(caps)
	for i, x := range r.xs {
		if t.Needs(x) && !slices.Contains(r.xs[:i], x) {
			caps = append(caps, x)
		}
	}
	for _, v := range t.variedCaptures(r.step) {
		if !slices.Contains(r.xs, v) {
			caps = append(caps, v)
		}
	}
	steps := &ir.Builder{Block: &ir.Block{}, Span: r.at}
	for _, k := range floats {
		shape := ir.A{"shape": r.shape()}
		steps.Block.Yields = append(steps.Block.Yields, steps.EmitOp(Tabulate, shape, nil,
			[]*ir.Block{r.one(state, k)}).Results[0])
	}
	out := &ir.Builder{Block: &ir.Block{}, Span: r.at}
	out.Block.Yields = closureVjp(out, steps.Block, nil, nil, caps, reached, nil)
	tidy(out.Block, r.at) // the steps themselves have been made before
	t.b.Block.Ops = append(t.b.Block.Ops, out.Block.Ops...)
	for i, v := range caps {
		if i < own {
			before = append(before, out.Block.Yields[i])
		} else {
			t.Add(v, out.Block.Yields[i])
		}
	}
	return before
}

// before is the accumulator before each element. What stands before the first one where there are no starts is not
// read.
func (r *recurrence) before(k int) *ir.Value {
	t, y := r.t, r.after[k]
	var start *ir.Value
	switch first := edge(y); {
	case len(r.starts) == 0:
		start = t.Zeros(first)
	case r.starts[k].Type.IsScalar():
		start = t.broadcast(r.starts[k], first.Shape)
	default:
		start = t.reshape(r.starts[k], first.Shape)
	}
	return t.behind(start, y)
}

// one is the function from an index to accumulator k after that element.
func (r *recurrence) one(before []*ir.Value, k int64) *ir.Block {
	body := &ir.Block{}
	b := &ir.Builder{Block: body, Span: r.at}
	axes := make([]int64, len(r.shape()))
	for i := range axes {
		axes[i] = int64(i)
		body.Param("", types.Scalar(types.I32), r.at)
	}
	read := func(v *ir.Value) *ir.Value {
		return b.Emit(Index, ir.A{"axes": axes}, append([]*ir.Value{v}, body.Params...)...)
	}
	var args []*ir.Value
	for _, v := range before {
		args = append(args, read(v))
	}
	for _, v := range r.xs {
		args = append(args, read(v))
	}
	if len(r.starts) > 0 {
		body.Yields = []*ir.Value{inlined(b, r.step, args)[k]}
		return body
	}
	first := b.Emit(Eq, nil, body.Params[len(axes)-1], emitFill(b, types.Scalar(types.I32), 0))
	step := &ir.Builder{Block: &ir.Block{}, Span: r.at}
	step.Block.Yields = inlined(step, r.step, args)
	begin := &ir.Block{Yields: args[len(args)-1:]}
	body.Yields = b.EmitOp(If, nil, []*ir.Value{first}, []*ir.Block{begin, step.Block}).Results
	return body
}
