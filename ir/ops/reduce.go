package ops

import (
	"fmt"
	"math"

	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/types"
)

var (
	attrAxes = ir.AttrDef{Name: "axes", Kind: ir.AttrInts, Doc: "the axes that are reduced, ascending"}
	attrKeep = ir.AttrDef{Name: "keep", Kind: ir.AttrFlag, Optional: true,
		Doc: "whether reduced axes stay, with extent 1"}
)

// ReducedShape is the shape that is left of s.
func ReducedShape(s types.Shape, axes []int64, keep bool) types.Shape {
	out := types.Shape{}
	for k, d := range s {
		switch {
		case !hasAxis(axes, k):
			out = append(out, d)
		case keep:
			out = append(out, types.Lit(1))
		}
	}
	return out
}

// reduction fills in what reductions share: the type rule "the elements are of the set (C1), the axes
// exist (C2)". Those without an identity fail when they run on nothing, and not before: a program may ask
// for the extent first.
func reduction(op *ir.OpDef, d ir.OpDef, set dtypeSet, identity bool) *ir.OpDef {
	d.Name, d.Class, d.Arity = op.Name, ir.Reduce, 1
	d.Attrs = []ir.AttrDef{attrAxes, attrKeep}
	what := d.Quoted()
	d.Infer = func(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		x, axes := args[0], attrs[0].([]int64)
		keep, _ := attrs[1].(bool)
		if err := requireIn("C1", what, set, x); err != nil {
			return nil, err
		}
		if err := requireAxes(what, axes, x.Rank()); err != nil {
			return nil, err
		}
		return []types.Tensor{{Elem: x.Elem, Shape: ReducedShape(x.Shape, axes, keep)}}, nil
	}
	d.Constraints = []ir.Constraint{
		{Name: "C1", Text: fmt.Sprintf("the elements are of type %s", set.name)},
		{Name: "C2", Text: "the axes exist, ascending and distinct"},
	}
	if !identity {
		d.Traits |= ir.MayFail
		d.Constraints = append(d.Constraints, ir.Constraint{Name: "C3",
			Text: "no reduced axis is empty, unless the result is"})
		d.Doomed = func(args []types.Tensor, attrs ir.Attrs) error {
			return foldOfNothing("C3", what, args[0].Shape, attrs[0].([]int64))
		}
		if d.Fails == nil {
			d.Fails = func(op *ir.Op) bool { return foldsNothing(op.Args[0].Type, op.Ints("axes")) }
		}
	}
	return ir.Define(op, d)
}

// reduceParams are the arguments of a reduction; literals in the operand are of type elem, if that is not Invalid.
func reduceParams(elem types.DType) []ir.Param {
	return []ir.Param{
		{Name: "x", Elem: elem},
		{Name: "axis", Kind: ir.ParamAxes, Attr: "axes", Optional: true},
		{Name: "keep", Kind: ir.ParamFlag, Optional: true, What: "`keep`"},
	}
}

// foldsNothing reports that an axis in axes of x may be empty.
func foldsNothing(x types.Tensor, axes []int64) bool {
	for _, a := range axes {
		if !x.Shape[a].AlwaysPositive() {
			return true
		}
	}
	return false
}

// foldOfNothing is the error of combining no elements where that has no value. An empty result has no
// element that could fail.
func foldOfNothing(c, what string, s types.Shape, axes []int64) error {
	for _, d := range ReducedShape(s, axes, false) {
		if !d.AlwaysPositive() {
			return nil
		}
	}
	for _, a := range axes {
		if s[a].IsConst(0) {
			return &types.RuleError{
				Constraint: c, Msg: what + " of nothing has no value", Shapes: []types.Shape{s}, Axis: len(s) - int(a),
				Why: "the axis is empty",
			}
		}
	}
	return nil
}

func evalReduce(kind ir.ReduceKind) func(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
	return func(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
		x, axes := args[0], op.Ints("axes")
		out := ir.NewArray(x.DType, extents(c, op.Type().Shape)...)
		if len(out.Bits) == 0 {
			return one(out)
		}
		if len(x.Bits) == 0 {
			identity, ok := kind.Identity(x.DType)
			if !ok {
				return nil, c.Fail(op, scalar.CheckEmpty)
			}
			for i := range out.Bits {
				out.Bits[i] = identity
			}
			return one(out)
		}
		in := accumulator(kind, x.DType)
		x = converted(x, in)
		add := vectorOf(op.Def, in, 2, func(e scalar.Emitter, x []scalar.Ref) scalar.Ref {
			return kind.Combine(e, x[0], x[1])
		})
		if len(axes) > 0 && hasAxis(axes, len(x.Shape)-1) {
			for r, row := range reducedInner(x, axes, len(out.Bits)) {
				out.Bits[r] = byLanes(add, row)
			}
		} else {
			copy(out.Bits, byColumns(add, reducedOuter(x, axes, len(out.Bits))))
		}
		to := out.DType
		out.DType = in
		return one(converted(out, to))
	}
}

// accumulator is the type that a reduction of elements of type t is computed in: sums and products of 16 bits in f32,
// rounded once in the end.
func accumulator(kind ir.ReduceKind, t types.DType) types.DType {
	if (kind == ir.ReduceSum || kind == ir.ReduceProd) && t.IsFloat() && t.Bytes() < types.F32.Bytes() {
		return types.F32
	}
	return t
}

// converted is x with elements of another float type, or x itself.
func converted(x *ir.Array, to types.DType) *ir.Array {
	if x.DType == to {
		return x
	}
	out := ir.NewArray(to, x.Shape...)
	for i, b := range x.Bits {
		out.Bits[i] = scalar.FloatBits(to, floatValue(x.DType, b))
	}
	return out
}

func elementReduce(kind ir.ReduceKind) func(p ir.Pull, op *ir.Op, result int, at []scalar.Ref) scalar.Ref {
	return func(p ir.Pull, op *ir.Op, _ int, at []scalar.Ref) scalar.Ref {
		x := op.Args[0].Type
		merge := mergeOf(op, x, at)
		extents := reducedExtents(x, merge.axes)
		if _, ok := kind.Identity(x.Elem); !ok && !checkSome(p, extents) {
			return p.E().Int(x.Elem, 0)
		}
		last, in := hasAxis(merge.axes, x.Rank()-1), accumulator(kind, x.Elem)
		result := p.Reduce(op, kind, in, last, extents, func(reduced []scalar.Ref) scalar.Ref {
			return as(p.E(), in, p.Arg(op, 0, merge.index(reduced)))
		})
		return as(p.E(), x.Elem, result)
	}
}

// as is x in type t.
func as(e scalar.Emitter, t types.DType, x scalar.Ref) scalar.Ref {
	if e.TypeOf(x) == t {
		return x
	}
	return e.Cast(t, x)
}

// axisMerge joins an index of the result of a reduction with one of the reduced axes: the index of the
// operand.
type axisMerge struct {
	rank int
	axes []int64
	keep bool
	at   []scalar.Ref // of the result
}

func (m axisMerge) index(reduced []scalar.Ref) []scalar.Ref {
	out := make([]scalar.Ref, m.rank)
	next, inner := 0, 0
	for k := range out {
		switch {
		case hasAxis(m.axes, k):
			out[k] = reduced[inner]
			inner++
			if m.keep {
				next++
			}
		default:
			out[k] = m.at[next]
			next++
		}
	}
	return out
}

func mergeOf(o *ir.Op, x types.Tensor, at []scalar.Ref) axisMerge {
	return axisMerge{rank: x.Rank(), axes: ReducedAxes(o), keep: o.Flag("keep"), at: at}
}

// reducedExtents are the extents of the reduced axes of x.
func reducedExtents(x types.Tensor, axes []int64) []types.Dim {
	out := make([]types.Dim, len(axes))
	for i, a := range axes {
		out[i] = x.Shape[a]
	}
	return out
}

// checkSome stops the program when the axes hold no element. It reports false when that is certain, and
// there is nothing to pull.
func checkSome(p ir.Pull, extents []types.Dim) bool {
	e := p.E()
	for _, d := range extents {
		if d.IsConst(0) {
			e.Check(scalar.CheckEmpty, e.Bool(false))
			return false
		}
	}
	for _, d := range extents {
		if !d.AlwaysPositive() {
			e.Check(scalar.CheckEmpty, e.Lt(e.Int(types.I64, 0), p.Extent(d)))
		}
	}
	return true
}

// zeros is the first index of n axes.
func zeros(p ir.Pull, n int) []scalar.Ref {
	out := make([]scalar.Ref, n)
	for i := range out {
		out[i] = p.E().Int(types.I64, 0)
	}
	return out
}

// unreduce gives every element of a reduction's operand the value that g has for its result.
func (t *tape) unreduce(op *ir.Op, g *ir.Value) *ir.Value {
	x := op.Args[0].Type.Shape
	return t.broadcast(t.reshape(g, ReducedShape(x, op.Ints("axes"), true)), x)
}

// The reductions in the order of language.md section 9. Without axes, all of them are listed.

var ReduceSum = ir.Declare("reduce_sum")
var _ = reduction(ReduceSum, ir.OpDef{
	Sharding: ir.ShardReduce,
	Surface:  "+/",
	Function: "sum", Params: reduceParams(types.Invalid),
	Summary: "Sum; of nothing 0. Floats are added in the order of \"Numerics\", those of 16 bits in f32.",
	Eval:    evalReduce(ir.ReduceSum), Element: elementReduce(ir.ReduceSum),
	VJP:     vjp(func(t *tape, op *ir.Op, cts []*ir.Value) { t.Add(op.Args[0], t.unreduce(op, cts[0])) }),
	Example: "+/([1, 2, 3]) == 6",
}, numbers, true)

var ReduceProd = ir.Declare("reduce_prod")
var _ = reduction(ReduceProd, ir.OpDef{
	Sharding: ir.ShardReduce,
	Surface:  "*/",
	Function: "prod", Params: reduceParams(types.Invalid),
	Summary: "Product; of nothing 1. Floats are multiplied in the order of \"Numerics\", those of 16 bits in f32.",
	Eval:    evalReduce(ir.ReduceProd), Element: elementReduce(ir.ReduceProd),
	VJP:     vjp(prodRule),
	Example: "*/([2, 3, 4]) == 24",
}, numbers, true)

// Note [Products of others]: the derivative of a product by an element is the product of the other elements. Where the
// element is not 0 that is the whole by the element. Where it is 0 and no other is, it is the product of what is not 0,
// and where another is, it is 0. But that is no constant: the derivative of x[0] * x[1] * x[2] by x[0] is x[1] * x[2],
// which changes with x[1] where both are 0. So it is a function with a derivative of its own (CustomVjp), whose
// operations are computed where it is differentiated again.

// prodRule gives every element the product of the others.
func prodRule(t *tape, op *ir.Op, cts []*ir.Value) {
	x := op.Args[0]
	attrs := ir.A{"axes": op.Ints("axes"), "keep": op.Flag("keep")}
	isZero := t.Emit(Eq, nil, x, t.Fill(x, 0))
	zeros := t.unreduce(op, t.Emit(ReduceSum, attrs, t.Emit(Cast, ir.A{"to": types.I32}, isZero)))
	filled := t.where(isZero, t.Fill(x, 1), x)
	rest := t.unreduce(op, t.Emit(ReduceProd, attrs, filled))
	none := t.mul(rest, t.otherZeros(op.Ints("axes"), t.where(isZero, x, t.Fill(x, 1))))
	only := t.where(t.Emit(Eq, nil, zeros, t.Fill(zeros, 1)), rest, t.add(none, t.Fill(x, 0)))
	others := t.where(isZero, only, t.div(t.unreduce(op, op.Result()), filled))
	t.Add(x, t.mul(t.unreduce(op, cts[0]), others))
}

// otherZeros is 0, as the product of the others is where another element along the axes is 0, with the derivative of
// that product.
func (t *tape) otherZeros(axes []int64, x *ir.Value) *ir.Value {
	value, rule, exact := &ir.Block{}, &ir.Block{}, &ir.Block{}
	value.Param("", x.Type, t.b.Span)
	value.Yields = []*ir.Value{emitZeros(&ir.Builder{Block: value, Span: t.b.Span}, x.Type)}
	e := &tape{b: &ir.Builder{Block: exact, Span: t.b.Span}}
	exact.Yields = []*ir.Value{e.othersInRow(axes, exact.Param("", x.Type, t.b.Span))}
	args := []*ir.Value{rule.Param("", x.Type, t.b.Span), rule.Param("", x.Type, t.b.Span)}
	r := &ir.Builder{Block: rule, Span: t.b.Span}
	rule.Yields = r.EmitOp(Vjp, ir.A{"wrt": []int64{0}}, args, []*ir.Block{exact}).Results[1:2:2]
	return t.b.EmitOp(CustomVjp, nil, []*ir.Value{x}, []*ir.Block{value, rule}).Results[0]
}

// othersInRow is the product of all elements along the axes but the one itself: of those before it and those after it.
func (t *tape) othersInRow(axes []int64, x *ir.Value) *ir.Value {
	var perm []int64
	kept, reduced := types.Shape{}, types.Shape{}
	for k, d := range x.Type.Shape {
		if !hasAxis(axes, k) {
			perm, kept = append(perm, int64(k)), append(kept, d)
		}
	}
	for _, a := range axes {
		perm, reduced = append(perm, a), append(reduced, x.Type.Shape[a])
	}
	moved := t.permute(x, perm)
	row := t.reshape(moved, append(kept[:len(kept):len(kept)], flatExtent(t.b.Span, reduced)))
	others := t.mul(t.productsBefore(row), t.flip(t.productsBefore(t.flip(row))))
	return t.permute(t.reshape(others, moved.Type.Shape), inverse(perm))
}

// productsBefore is the product of the elements before each one along the last axis, 1 for the first.
func (t *tape) productsBefore(x *ir.Value) *ir.Value {
	step := &ir.Block{}
	e := types.Scalar(x.Type.Elem)
	acc, next := step.Param("", e, t.b.Span), step.Param("", e, t.b.Span)
	step.Yields = []*ir.Value{(&ir.Builder{Block: step, Span: t.b.Span}).Emit(Mul, nil, acc, next)}
	through := t.b.EmitOp(Scan, nil, []*ir.Value{x}, []*ir.Block{step}).Results[0]
	return t.behind(emitFill(t.b, edge(x), 1), through)
}

var ReduceMax = ir.Declare("reduce_max")
var _ = reduction(ReduceMax, ir.OpDef{
	Sharding: ir.ShardAnyOrder,
	Surface:  "max/",
	Summary:  "The largest element; NaN if there is one; of nothing an error.",
	Eval:     evalReduce(ir.ReduceMax), Element: elementReduce(ir.ReduceMax),
	VJP:     extremeRule(Argmax),
	Example: "max/([2, 5, 3]) == 5",
}, numbers, false)

var ReduceMin = ir.Declare("reduce_min")
var _ = reduction(ReduceMin, ir.OpDef{
	Sharding: ir.ShardAnyOrder,
	Surface:  "min/",
	Summary:  "The least element; NaN if there is one; of nothing an error.",
	Eval:     evalReduce(ir.ReduceMin), Element: elementReduce(ir.ReduceMin),
	VJP:     extremeRule(Argmin),
	Example: "min/([2, 5, 3]) == 2",
}, numbers, false)

// extremeRule gives the gradient to the first of the elements that are the result, in row-major order.
func extremeRule(position *ir.OpDef) func(t ir.Tape, op *ir.Op, cts []*ir.Value) {
	return vjp(func(t *tape, op *ir.Op, cts []*ir.Value) {
		x, axes := op.Args[0], op.Ints("axes")
		if len(axes) == 0 {
			t.Add(x, cts[0])
			return
		}
		var perm []int64
		kept, reduced := types.Shape{}, types.Shape{}
		for k, d := range x.Type.Shape {
			if !hasAxis(axes, k) {
				perm, kept = append(perm, int64(k)), append(kept, d)
			}
		}
		for _, a := range axes {
			perm, reduced = append(perm, a), append(reduced, x.Type.Shape[a])
		}
		moved := t.permute(x, perm)
		flat := append(append(types.Shape{}, kept...), elems(reduced))
		last := int64(len(kept))
		at := t.Emit(position, ir.A{"axis": last, "keep": true}, t.reshape(moved, flat))
		hit := t.Emit(Eq, nil, t.broadcast(at, flat), t.along(flat, last))
		hit = t.permute(t.reshape(hit, moved.Type.Shape), inverse(perm))
		t.Add(x, t.where(hit, t.unreduce(op, cts[0]), t.Fill(x, 0)))
	})
}

// along is the index on one axis of every element of a tensor, an i32.
func (t *tape) along(shape types.Shape, axis int64) *ir.Value {
	flat := lits(len(shape), 1)
	flat[axis] = shape[axis]
	return t.broadcast(t.reshape(t.Emit(Iota, ir.A{"start": types.Dim{}, "extent": shape[axis]}), flat), shape)
}

var ReduceAnd = ir.Declare("reduce_and")
var _ = reduction(ReduceAnd, ir.OpDef{
	Sharding: ir.ShardAnyOrder,
	Surface:  "&&/", NoGrad: "bool has no gradient",
	Function: "all", Params: reduceParams(types.Bool),
	Summary: "Whether all are true; of nothing true.",
	Eval:    evalReduce(ir.ReduceAnd), Element: elementReduce(ir.ReduceAnd),
	Example: "&&/([true, false]) == false",
}, bools, true)

var ReduceOr = ir.Declare("reduce_or")
var _ = reduction(ReduceOr, ir.OpDef{
	Sharding: ir.ShardAnyOrder,
	Surface:  "||/", NoGrad: "bool has no gradient",
	Function: "any", Params: reduceParams(types.Bool),
	Summary: "Whether any is true; of nothing false.",
	Eval:    evalReduce(ir.ReduceOr), Element: elementReduce(ir.ReduceOr),
	Example: "||/([true, false]) == true",
}, bools, true)

var ReduceSub = ir.Declare("reduce_sub")
var _ = reduction(ReduceSub, ir.OpDef{
	Sharding: ir.ShardFold,
	Surface:  "-/",
	Summary:  "x0 - x1 - x2 ..., strictly from the left; of nothing an error.",
	Eval:     evalLeftFold(scalar.Emitter.Sub), Element: elementLeftFold(scalar.Emitter.Sub),
	VJP: vjp(func(t *tape, op *ir.Op, cts []*ir.Value) {
		g := t.unreduce(op, cts[0])
		t.Add(op.Args[0], t.where(t.first(op), g, t.neg(g)))
	}),
	Example: "-/([10, 2, 3]) == 5",
}, numbers, false)

var ReduceDiv = ir.Declare("reduce_div")
var _ = reduction(ReduceDiv, ir.OpDef{
	Sharding: ir.ShardFold,
	Surface:  "//",
	Fails: func(op *ir.Op) bool {
		x := op.Args[0].Type
		return x.Elem.IsInt() || foldsNothing(x, op.Ints("axes"))
	},
	Summary: "x0 / x1 / x2 ..., strictly from the left; of nothing an error, as is an integer divisor 0.",
	Eval:    evalLeftFold(checkedDiv), Element: elementLeftFold(checkedDiv),
	VJP: vjp(func(t *tape, op *ir.Op, cts []*ir.Value) {
		x, g, first := op.Args[0], t.unreduce(op, cts[0]), t.first(op)
		tail := t.Emit(ReduceDiv, ir.A{"axes": op.Ints("axes"), "keep": op.Flag("keep")},
			t.where(first, t.Fill(x, 1), x))
		others := t.neg(t.div(t.mul(g, t.unreduce(op, op.Result())), x))
		t.Add(x, t.where(first, t.mul(g, t.unreduce(op, tail)), others))
	}),
	Example: "//([24, 2, 3]) == 4",
}, numbers, false)

func checkedDiv(e scalar.Emitter, x, y scalar.Ref) scalar.Ref {
	checkDivisor(e, y)
	return e.Div(x, y)
}

// evalLeftFold is x0 - x1 - x2 ... and its like, strictly from the left.
func evalLeftFold(f func(e scalar.Emitter, x, y scalar.Ref) scalar.Ref) func(c ir.EvalContext, op *ir.Op,
	args []*ir.Array) ([]*ir.Array, error) {
	return func(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
		x := args[0]
		out := ir.NewArray(x.DType, extents(c, op.Type().Shape)...)
		if len(out.Bits) == 0 {
			return one(out)
		}
		if len(x.Bits) == 0 {
			return nil, c.Fail(op, scalar.CheckEmpty)
		}
		step := vectorOf(op.Def, x.DType, 2, func(e scalar.Emitter, x []scalar.Ref) scalar.Ref {
			return f(e, x[0], x[1])
		})
		rows := reducedOuter(x, op.Ints("axes"), len(out.Bits))
		acc := rows[0]
		for _, row := range rows[1:] {
			var err *scalar.CheckError
			if acc, err = step.apply(acc, row); err != nil {
				return nil, failed(c, op, err)
			}
		}
		copy(out.Bits, acc)
		return one(out)
	}
}

// elementLeftFold folds in order, from the first element on.
func elementLeftFold(f func(e scalar.Emitter, x, y scalar.Ref) scalar.Ref) func(p ir.Pull, op *ir.Op, result int,
	at []scalar.Ref) scalar.Ref {
	return func(p ir.Pull, op *ir.Op, _ int, at []scalar.Ref) scalar.Ref {
		x := op.Args[0].Type
		merge := mergeOf(op, x, at)
		extents := reducedExtents(x, merge.axes)
		if !checkSome(p, extents) {
			return p.E().Int(x.Elem, 0)
		}
		first := p.Arg(op, 0, merge.index(zeros(p, len(extents))))
		return p.Loop(extents, 1, []scalar.Ref{first}, func(reduced, acc []scalar.Ref) []scalar.Ref {
			y := p.Arg(op, 0, merge.index(reduced))
			return []scalar.Ref{f(p.E(), acc[0], y)}
		})[0]
	}
}

// first says which elements of a reduction's operand are the first of theirs.
func (t *tape) first(op *ir.Op) *ir.Value {
	x := op.Args[0].Type.Shape
	var out *ir.Value
	for _, a := range op.Ints("axes") {
		at := t.along(x, a)
		if is := t.Emit(Eq, nil, at, t.Zeros(at.Type)); out == nil {
			out = is
		} else {
			out = t.Emit(And, nil, out, is)
		}
	}
	if out == nil {
		return emitFill(t.b, types.Tensor{Elem: types.Bool, Shape: x}, 1)
	}
	return out
}

// Positions of extremes. Elements are compared with <, as NumPy does: -0 and +0 tie.

var Argmax = position("argmax", "maximum", ir.ReduceArgMax, "argmax([1, 5, 5]) == 1")

var Argmin = position("argmin", "minimum", ir.ReduceArgMin, "argmin([5, 1, 1]) == 1")

func position(name, word string, kind ir.ReduceKind, example string) *ir.OpDef {
	return ir.Define(ir.Declare(name), ir.OpDef{
		Class: ir.Reduce, Surface: name, Arity: 1, Traits: ir.MayFail, Sharding: ir.ShardPositions,
		Params: []ir.Param{
			{Name: "x", Literals: ir.LiteralsOwn, What: "the operand of `" + name + "`"},
			{Name: "axis", Kind: ir.ParamAnyAxis, Optional: true},
			{Name: "keep", Kind: ir.ParamFlag, Optional: true, What: "`keep`"},
		},
		Summary: "The i32 position of the first " + word +
			" along an axis, or in the flattened tensor; the first NaN counts as one; of nothing an error.",
		Attrs: []ir.AttrDef{
			{Name: "axis", Kind: ir.AttrInt, Optional: true,
				Doc: "the axis; when absent, the position is in the flattened tensor"},
			attrKeep,
		},
		Fails: func(op *ir.Op) bool {
			x := op.Args[0].Type
			return foldsNothing(x, positionAxes(op.Attr("axis"), x.Rank()))
		},
		Infer: func(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
			x := args[0]
			keep, _ := attrs[1].(bool)
			if err := requireIn("C1", "`"+name+"`", numbers, x); err != nil {
				return nil, err
			}
			axes := positionAxes(attrs[0], x.Rank())
			if err := requireAxes("`"+name+"`", axes, x.Rank()); err != nil {
				return nil, err
			}
			out := types.Tensor{Elem: types.I32, Shape: ReducedShape(x.Shape, axes, keep)}
			if n, err := x.Shape.Elems(); err == nil && attrs[0] == nil {
				if n, ok := n.Const(); ok && n > 1<<31 {
					return nil, broken("C4", "a position in %s does not fit i32", x)
				}
			}
			return []types.Tensor{out}, nil
		},
		Doomed: func(args []types.Tensor, attrs ir.Attrs) error {
			x := args[0].Shape
			return foldOfNothing("C3", "`"+name+"`", x, positionAxes(attrs[0], len(x)))
		},
		Eval:    evalPosition(kind),
		Element: elementPosition(kind),
		NoGrad:  "a position is an integer",
		Constraints: []ir.Constraint{
			{Name: "C1", Text: "the elements are of type number"},
			{Name: "C2", Text: "the axis exists"},
			{Name: "C3", Text: "the axis is not empty, unless the result is"},
			{Name: "C4", Text: "every position fits i32"},
		},
		Example: example,
	})
}

// positionAxes lists the axes over which argmax and argmin look: the given one, or all.
func positionAxes(axis any, rank int) []int64 {
	if a, ok := axis.(int64); ok {
		return []int64{a}
	}
	return firstAxes(rank)
}

func evalPosition(kind ir.ReduceKind) func(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
	return func(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
		x := args[0]
		out := ir.NewArray(types.I32, extents(c, op.Type().Shape)...)
		if len(out.Bits) == 0 {
			return one(out)
		}
		if len(x.Bits) == 0 {
			return nil, c.Fail(op, scalar.CheckEmpty)
		}
		for r, row := range reducedInner(x, ReducedAxes(op), len(out.Bits)) {
			out.Bits[r] = scalar.IntBits(types.I32, firstExtreme(x.DType, row, kind == ir.ReduceArgMax))
		}
		return one(out)
	}
}

// firstExtreme is the position of the first NaN or, if there is none, of the first maximum or minimum.
func firstExtreme(t types.DType, x []uint64, largest bool) int64 {
	best := 0
	for i, v := range x {
		switch {
		case isNaN(t, x[best]):
			return int64(best)
		case isNaN(t, v), largest && less(t, x[best], v), !largest && less(t, v, x[best]):
			best = i
		}
	}
	return int64(best)
}

func isNaN(t types.DType, x uint64) bool { return t.IsFloat() && math.IsNaN(floatValue(t, x)) }

func less(t types.DType, x, y uint64) bool {
	switch {
	case t.IsFloat():
		return floatValue(t, x) < floatValue(t, y)
	case t.IsSigned():
		return signExtend(t, x) < signExtend(t, y)
	}
	return x < y
}

// floatValue is the value of a float element; every one is a float64.
func floatValue(t types.DType, x uint64) float64 {
	switch t {
	case types.F16:
		return float64(types.F16Value(uint16(x)))
	case types.BF16:
		return float64(types.BF16Value(uint16(x)))
	case types.F32:
		return float64(math.Float32frombits(uint32(x)))
	}
	return math.Float64frombits(x)
}

func elementPosition(kind ir.ReduceKind) func(p ir.Pull, op *ir.Op, result int, at []scalar.Ref) scalar.Ref {
	return func(p ir.Pull, op *ir.Op, _ int, at []scalar.Ref) scalar.Ref {
		x := op.Args[0].Type
		merge := mergeOf(op, x, at)
		extents := reducedExtents(x, merge.axes)
		if !checkSome(p, extents) {
			return p.E().Int(types.I32, 0)
		}
		last := hasAxis(merge.axes, x.Rank()-1)
		position := p.Reduce(op, kind, x.Elem, last, extents, func(reduced []scalar.Ref) scalar.Ref {
			return p.Arg(op, 0, merge.index(reduced))
		})
		return p.E().Cast(types.I32, position)
	}
}

// Mean is the sum by the count.
var Mean = ir.Declare("mean")
var _ = expanded(Mean, ir.OpDef{
	Surface: "mean",
	Params:  reduceParams(types.F32),
	Summary: "The sum divided by the number of elements, which is converted to the element type; NaN of nothing. " +
		"Means of 16 bits are computed in f32 and rounded once.",
	Expand: func(b *ir.Builder, op *ir.Op) []*ir.Value {
		x := widened(b, op.Args[0])
		return []*ir.Value{narrowed(b, op, emitMean(b, x, op.Ints("axes"), op.Flag("keep")))}
	},
	Example: "mean([1.0, 2.0, 6.0]) == 3.0",
})

// Var is the mean of the squared distances from the mean.
var Var = ir.Declare("var")
var _ = expanded(Var, ir.OpDef{
	Surface: "var",
	Params:  reduceParams(types.F32),
	Summary: "The population variance: the mean of (x - mean)^2. That of 16 bits is computed in f32 and rounded once.",
	Expand: func(b *ir.Builder, op *ir.Op) []*ir.Value {
		x, axes := widened(b, op.Args[0]), op.Ints("axes")
		mean := b.Emit(Broadcast, ir.A{"shape": x.Type.Shape}, emitMean(b, x, axes, true))
		d := b.Emit(Sub, nil, x, mean)
		return []*ir.Value{narrowed(b, op, emitMean(b, b.Emit(Mul, nil, d, d), axes, op.Flag("keep")))}
	},
	Example: "var([1.0, 3.0]) == 1.0",
})

// expanded is a reduction of floats that becomes simpler operations.
func expanded(op *ir.OpDef, d ir.OpDef) *ir.OpDef { return reduction(op, d, floats, true) }

// widened is x in the type in which sums of its elements are computed.
func widened(b *ir.Builder, x *ir.Value) *ir.Value {
	if in := accumulator(ir.ReduceSum, x.Type.Elem); in != x.Type.Elem {
		return b.Emit(Cast, ir.A{"to": in}, x)
	}
	return x
}

// narrowed is x in the type of the result of op.
func narrowed(b *ir.Builder, op *ir.Op, x *ir.Value) *ir.Value {
	if to := op.Type().Elem; to != x.Type.Elem {
		return b.Emit(Cast, ir.A{"to": to}, x)
	}
	return x
}

func emitMean(b *ir.Builder, x *ir.Value, axes []int64, keep bool) *ir.Value {
	sum := b.Emit(ReduceSum, ir.A{"axes": axes, "keep": keep}, x)
	n := emitCount(b, x.Type, axes)
	return b.Emit(Div, nil, sum, b.Emit(Broadcast, ir.A{"shape": sum.Type.Shape}, n))
}

// emitCount is the number of reduced elements in x's element type. It is counted in i64, so that it does
// not wrap, and rounded once.
func emitCount(b *ir.Builder, x types.Tensor, axes []int64) *ir.Value {
	n := types.Lit(1)
	for _, a := range axes {
		p, err := n.Mul(x.Shape[a])
		if err != nil {
			panic("BUG: the size of a tensor overflows: " + err.Error())
		}
		n = p
	}
	if c, ok := n.Const(); ok {
		v := ir.NewArray(x.Elem)
		v.Bits[0] = scalar.IntBits(x.Elem, c)
		return b.Emit(Const, ir.A{"value": v})
	}
	var product *ir.Value
	for _, a := range axes {
		d := b.Emit(Cast, ir.A{"to": types.I64}, b.Emit(Dim, ir.A{"dim": x.Shape[a]}))
		if product == nil {
			product = d
		} else {
			product = b.Emit(Mul, nil, product, d)
		}
	}
	return b.Emit(Cast, ir.A{"to": x.Elem}, product)
}

// ReducedAxes lists the axes that an operation of class Reduce, or a fold, combines, ascending.
func ReducedAxes(o *ir.Op) []int64 {
	if o.Def.Attrs[0].Name == "axis" {
		return positionAxes(o.Attrs[0], o.Args[0].Type.Rank())
	}
	return o.Ints("axes")
}
