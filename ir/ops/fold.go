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
	Reads:    readsLast,
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
			Text: "the operands are the tensor, of numbers or bools, and before it the scalar start if init is set"},
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
	acc := types.Scalar(x.Elem)
	if init {
		acc = args[0]
		if !acc.IsScalar() {
			return nil, broken("C1", "the start of a fold is a scalar, not %s", acc)
		}
	}
	for _, t := range []types.Tensor{acc, x} {
		if err := requireIn("C1", "a fold", elements, t); err != nil {
			return nil, err
		}
	}
	if err := requireAxes("a fold", axes, x.Rank()); err != nil {
		return nil, err
	}
	body := regions[0]
	if len(body.Params) != 2 || !types.Equal(body.Params[0].Type, acc) ||
		!types.Equal(body.Params[1].Type, types.Scalar(x.Elem)) {
		return nil, broken("C3", "the function of a fold takes the accumulator, %s, and an element, %s", acc, x.Elem)
	}
	if len(body.Yields) != 1 || !types.Equal(body.Yields[0].Type, acc) {
		return nil, broken("C3", "the function of a fold gives the accumulator, %s", acc)
	}
	return []types.Tensor{{Elem: acc.Elem, Shape: reducedShape(x.Shape, axes, keep)}}, nil
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
		if !op.Flag("init") {
			acc = scalarArray(x.DType, row[0])
			row = row[1:]
		}
		for _, v := range row {
			y, err := c.Region(op, 0, acc, scalarArray(x.DType, v))
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
		start = p.Arg(op, 0, nil)
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
	r := &recurrence{t: t, step: op.Regions[0], x: t.reshape(moved, append(append(types.Shape{}, kept...), n)),
		at: op.Span}
	r.starts = op.Args[: len(op.Args)-1 : len(op.Args)-1]
	step, err := ir.NewCloner().Block(r.step)
	if err != nil {
		panic("BUG: copying without substitution: " + err.Error())
	}
	init := len(r.starts) > 0
	scan := t.b.EmitOp(Scan, ir.A{"init": init}, append(append([]*ir.Value{}, r.starts...), r.x), []*ir.Block{step})
	if !init {
		r.starts = nil
	}
	r.after = scan.Results
	t.varied[r.x] = t.varied[x]
	shape := r.after[0].Type.Shape
	head := t.reshape(cts[0], append(append(types.Shape{}, kept...), types.Lit(1)))
	ct := t.where(t.lastOf(shape), t.broadcast(head, shape), t.Fill(r.after[0], 0))
	r.gradients([]*ir.Value{ct}, []*ir.Value{head})
	if g := t.cotangents[r.x]; g != nil && r.x != x {
		t.Add(x, t.permute(t.reshape(g, moved.Type.Shape), inverse(perm)))
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
	Reads:    readsLast,
	Space:    func(op *ir.Op) types.Shape { return op.Results[0].Type.Shape },
	Params: []ir.Param{
		{Name: "init", Kind: ir.ParamValue},
		{Name: "f", Kind: ir.ParamFunction},
		{Name: "v"},
	},
	Summary: "The accumulators of the left folds along the last axis, one after each element; without a start the " +
		"first element is the first of them.",
	Attrs: []ir.AttrDef{
		{Name: "init", Kind: ir.AttrFlag, Optional: true, Doc: "whether the operands before the last are the start"},
	},
	Infer:   inferScan,
	Eval:    evalScan,
	Element: elementScan,
	VJP: vjp(func(t *tape, op *ir.Op, cts []*ir.Value) {
		x := op.Args[len(op.Args)-1]
		r := &recurrence{t: t, step: op.Regions[0], x: x, after: op.Results, at: op.Span}
		if op.Flag("init") {
			r.starts = op.Args[:len(op.Args)-1]
		}
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
			Text: "the operands are the tensor, of numbers or bools and with an axis, and before it the scalar " +
				"starts if init is set"},
		{Name: "C2",
			Text: "the region takes the accumulators and an element, all scalars, and yields the accumulators"},
	},
	Example: "scan(0, |a, x| 10 * a + x, [1, 2, 3]) == [1, 12, 123]",
})

// accumulators are the types of what a scan carries.
func accumulators(args []types.Tensor, attrs ir.Attrs) []types.Tensor {
	if init, _ := attrs[0].(bool); init {
		return args[:len(args)-1]
	}
	return []types.Tensor{types.Scalar(args[len(args)-1].Elem)}
}

func inferScan(args []types.Tensor, attrs ir.Attrs, regions []*ir.Block) ([]types.Tensor, error) {
	init, _ := attrs[0].(bool)
	if len(args) == 0 || !init && len(args) != 1 || init && len(args) < 2 {
		return nil, broken("C1", "scan takes the tensor, and the starts before it if there are any, not %s",
			types.Count(len(args), "operand"))
	}
	x := args[len(args)-1]
	if err := requireIn("C1", "a scan", elements, x); err != nil {
		return nil, err
	}
	if x.IsScalar() {
		return nil, broken("C1", "a scan goes along the last axis, and a scalar has none")
	}
	accs := accumulators(args, attrs)
	for _, t := range accs {
		if !t.IsScalar() || !elements.has(t.Elem) {
			return nil, broken("C1", "the start of a scan is made of scalars, not %s", t)
		}
	}
	want := append(append([]types.Tensor{}, accs...), types.Scalar(x.Elem))
	body := regions[0]
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
	x := args[len(args)-1]
	out := make([]*ir.Array, len(op.Results))
	for k, r := range op.Results {
		out[k] = ir.NewArray(r.Type.Elem, x.Shape...)
	}
	n := int(x.Shape[len(x.Shape)-1])
	for at := range x.Bits {
		elem := scalarArray(x.DType, x.Bits[at])
		first := at%n == 0
		if first && !op.Flag("init") {
			out[0].Bits[at] = elem.Bits[0]
			continue
		}
		in := make([]*ir.Array, len(out), len(out)+1)
		for k := range in {
			if first {
				in[k] = args[k]
			} else {
				in[k] = scalarArray(out[k].DType, out[k].Bits[at-1])
			}
		}
		acc, err := c.Region(op, 0, append(in, elem)...)
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
	x := len(op.Args) - 1
	if !op.Flag("init") {
		shape, e := op.Args[x].Type.Shape, p.E()
		if d := shape[len(shape)-1]; !d.AlwaysPositive() {
			// It holds where there is an element to compute, and keeps the first one from being read where not.
			e.Check(scalar.CheckEmpty, e.Lt(e.Int(types.I64, 0), p.Extent(d)))
		}
		first := append(append([]scalar.Ref{}, row...), p.E().Int(types.I64, 0))
		return []scalar.Ref{p.Arg(op, x, first)}, 1
	}
	for k := range x {
		acc = append(acc, p.Arg(op, k, nil))
	}
	return acc, 0
}

// ScanStep gives the accumulators after element i of a row.
func ScanStep(p ir.Pull, op *ir.Op, row []scalar.Ref, i scalar.Ref, acc []scalar.Ref) []scalar.Ref {
	x := p.Arg(op, len(op.Args)-1, append(append([]scalar.Ref{}, row...), i))
	in := append(append([]scalar.Ref{}, acc...), x)
	next := make([]scalar.Ref, len(acc))
	for k := range next {
		next[k] = p.Region(op, 0, k, in, nil)
	}
	return next
}

// Note [Gradients of folds and scans]: a scan carries accumulators along a row. Its derivative is a scan again, from
// the end of each row to its start: it carries the cotangents of the accumulators, reads the accumulators that the scan
// has kept anyway, and keeps what reaches the accumulators after each element. From these the gradients by the elements
// and by what the function captures follow for each element on its own, as those of a tabulate. A fold is the last
// accumulator of a scan, whose accumulators the derivative computes first. So there is one kernel over all rows in each
// direction, and no step is computed more than twice.

// A recurrence is what a scan computes along the last axis of x.
type recurrence struct {
	t      *tape
	step   *ir.Block   // from accumulators and an element to accumulators
	starts []*ir.Value // nil where the first element of a row is the first accumulator
	x      *ir.Value
	after  []*ir.Value // the accumulators after each element, of the shape of x
	at     diag.Span
}

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
	t, floats, last := r.t, r.floats(), r.x.Type.Rank()-1
	n := r.x.Type.Shape[last]
	var before []*ir.Value // what reaches the accumulators before each element
	if !n.IsConst(0) {
		before = r.each(r.backwards(cts))
	}
	axes := firstAxes(last + 1)
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
		t.Add(r.starts[k], t.Emit(ReduceSum, ir.A{"axes": axes}, first))
	}
}

// backwards walks every row from its end, and gives the cotangents of the accumulators after each element, with all
// that comes from later elements.
func (r *recurrence) backwards(cts []*ir.Value) []*ir.Value {
	t := r.t
	walk, step, reads := &ir.Block{}, &ir.Builder{Block: &ir.Block{}, Span: r.at}, &ir.Block{}
	var args, carried, read []*ir.Value
	for _, k := range r.floats() {
		e := types.Scalar(r.after[k].Type.Elem)
		args = append(args, t.Zeros(e))
		carried = append(carried, walk.Param("", e, r.at))
	}
	for _, v := range append(slices.Clone(r.after), r.x) {
		read = append(read, reads.Param("", types.Scalar(v.Type.Elem), r.at))
	}
	step.Block.Yields = closureVjp(step, r.step, read, r.floats(), nil, carried, nil)
	tidy(step.Block, r.at)
	positions := r.steps(cts, walk, step.Block, carried, read)
	out := t.b.EmitOp(Scan, ir.A{"init": true}, append(args, positions), []*ir.Block{walk}).Results
	reached := make([]*ir.Value, len(out))
	for i, v := range out {
		reached[i] = t.flip(v)
	}
	return reached
}

// steps writes what a walk does for each element, into its block, from what a step does, which reads an element and the
// accumulators before it, and gives the tensor that the walk goes over. That is the cotangents, where a step reads
// nothing, as those of cumsum. Else it is positions; one below 0 is the last of its row, which no step follows.
func (r *recurrence) steps(cts []*ir.Value, walk, step *ir.Block, carried, read []*ir.Value) *ir.Value {
	t, floats, shape := r.t, r.floats(), r.x.Type.Shape
	in := &ir.Builder{Block: walk, Span: r.at}
	if len(r.after) == 1 && cts[0] != nil && !readsAny(step, read) {
		ct := walk.Param("", carried[0].Type, r.at)
		walk.Ops = step.Ops
		walk.Yields = []*ir.Value{in.Emit(Add, nil, step.Yields[0], ct)}
		return t.flip(cts[0])
	}
	i32 := types.Scalar(types.I32)
	total := flatExtent(r.at, shape)
	flat := func(v *ir.Value) *ir.Value { return t.reshape(v, types.Shape{total}) }
	position := t.reshape(t.Emit(Iota, ir.A{"start": types.Dim{}, "extent": total}), shape)
	minus := t.sub(t.Fill(position, -1), position)
	positions := t.flip(t.where(t.lastOf(shape), minus, position))
	p := walk.Param("", i32, r.at)
	last := in.Emit(Lt, nil, p, emitFill(in, i32, 0))
	p = in.Emit(Select, nil, last, in.Emit(Sub, nil, emitFill(in, i32, -1), p), p)
	axis := ir.A{"axes": []int64{0}}
	end, at := &ir.Builder{Block: &ir.Block{}, Span: r.at}, &ir.Builder{Block: &ir.Block{}, Span: r.at}
	with := map[*ir.Value]*ir.Value{}
	for k, y := range r.after {
		with[read[k]] = at.Emit(Index, axis, flat(y), p)
	}
	with[read[len(r.after)]] = at.Emit(Index, axis, flat(r.x), at.Emit(Add, nil, p, emitFill(at, i32, 1)))
	ir.Replace(step, with)
	step.Ops = append(at.Block.Ops, step.Ops...)
	prune(step)
	for _, v := range carried {
		end.Block.Yields = append(end.Block.Yields, emitZeros(end, v.Type))
	}
	walk.Yields = append(walk.Yields, in.EmitOp(If, nil, []*ir.Value{last},
		[]*ir.Block{end.Block, step}).Results...)
	for i, k := range floats {
		if cts[k] != nil {
			walk.Yields[i] = in.Emit(Add, nil, walk.Yields[i], in.Emit(Index, axis, flat(cts[k]), p))
		}
	}
	return positions
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
func (r *recurrence) each(reached []*ir.Value) (before []*ir.Value) {
	t, floats := r.t, r.floats()
	state := make([]*ir.Value, len(r.after))
	for k := range state {
		state[k] = r.before(k)
	}
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
	if t.Needs(r.x) {
		caps = append(caps, r.x)
	}
	for _, v := range t.variedCaptures(r.step) {
		if v != r.x {
			caps = append(caps, v)
		}
	}
	steps := &ir.Builder{Block: &ir.Block{}, Span: r.at}
	for _, k := range floats {
		shape := ir.A{"shape": r.x.Type.Shape}
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
	last := y.Type.Rank() - 1
	edge := append(append(types.Shape{}, y.Type.Shape[:last]...), types.Lit(1))
	start := t.Zeros(types.Tensor{Elem: y.Type.Elem, Shape: edge})
	if len(r.starts) > 0 {
		start = t.broadcast(r.starts[k], edge)
	}
	all := t.Emit(Concat, ir.A{"axis": int64(last)}, start, y)
	return t.Emit(Slice, ir.A{"starts": lits(last+1, 0), "steps": ones(last + 1), "shape": y.Type.Shape}, all)
}

// one is the function from an index of x to accumulator k after that element.
func (r *recurrence) one(before []*ir.Value, k int64) *ir.Block {
	body := &ir.Block{}
	b := &ir.Builder{Block: body, Span: r.at}
	axes := make([]int64, r.x.Type.Rank())
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
	x := read(r.x)
	if len(r.starts) > 0 {
		body.Yields = []*ir.Value{inlined(b, r.step, append(args, x))[k]}
		return body
	}
	first := b.Emit(Eq, nil, body.Params[len(axes)-1], emitFill(b, types.Scalar(types.I32), 0))
	step := &ir.Builder{Block: &ir.Block{}, Span: r.at}
	step.Block.Yields = inlined(step, r.step, append(args, x))
	body.Yields = b.EmitOp(If, nil, []*ir.Value{first}, []*ir.Block{{Yields: []*ir.Value{x}}, step.Block}).Results
	return body
}
