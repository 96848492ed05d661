package ir

import (
	"healc/ir/scalar"
	"healc/lang/diag"
	"healc/lang/types"
)

// OpFold is a strict left fold.
var OpFold = declare("fold")
var _ = define(OpFold, OpDef{
	Class: Scope, Surface: "fold", Arity: Variadic, Regions: 1, Traits: MayFail,
	Reads: readsLast,
	Space: func(op *Op) types.Shape { return op.Args[len(op.Args)-1].Type.Shape },
	Fails: func(op *Op) bool {
		return !op.Flag("init") && foldsNothing(op.Args[0].Type, op.Ints("axes"))
	},
	Summary: "The left fold in row-major order over the axes; without a start the first element is it, and nothing " +
		"to fold is an error.",
	Attrs: []AttrDef{
		attrAxes, attrKeep,
		{Name: "init", Kind: AttrFlag, Optional: true, Doc: "whether the first operand is the start"},
	},
	Infer: inferFold,
	Doomed: func(args []types.Tensor, attrs Attrs) error {
		if init, _ := attrs[2].(bool); init {
			return nil
		}
		return foldOfNothing("C4", "a fold", args[0].Shape, attrs[0].([]int64))
	},
	Eval:    evalFold,
	Element: elementFold,
	VJP:     foldRule,
	Constraints: []Constraint{
		{"C1", "the operands are the tensor, of numbers or bools, and before it the scalar start if init is set"},
		{"C2", "the axes exist, ascending and distinct"},
		{"C3", "the region takes the accumulator and an element, both scalars, and yields the accumulator"},
		{"C4", "without a start, no reduced axis is empty, unless the result is"},
	},
	Example: "(|a, x| 10 * a + x)/([1, 2, 3]) == 123",
})

func inferFold(args []types.Tensor, attrs Attrs, regions []*Block) ([]types.Tensor, error) {
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

func evalFold(c EvalContext, op *Op, args []*Array) ([]*Array, error) {
	x := args[len(args)-1]
	out := NewArray(op.Type().Elem, extents(c, op.Type().Shape)...)
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

func elementFold(p Pull, op *Op, _ int, at []scalar.Ref) scalar.Ref {
	last := len(op.Args) - 1
	x := op.Args[last].Type
	merge := op.axisMerge(x, at)
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
func foldRule(t *Tape, op *Op, cts []*Value) {
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
	step, err := NewCloner().Block(r.step)
	if err != nil {
		panic("BUG: copying without substitution: " + err.Error())
	}
	init := len(r.starts) > 0
	scan := t.b.EmitOp(OpScan, A{"init": init}, append(append([]*Value{}, r.starts...), r.x), []*Block{step})
	if !init {
		r.starts = nil
	}
	r.after = scan.Results
	t.varied[r.x] = t.varied[x]
	shape := r.after[0].Type.Shape
	head := t.reshape(cts[0], append(append(types.Shape{}, kept...), types.Lit(1)))
	ct := t.where(t.lastOf(shape), t.broadcast(head, shape), t.Fill(r.after[0], 0))
	r.gradients([]*Value{ct}, []*Value{head})
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
