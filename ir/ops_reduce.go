package ir

import (
	"fmt"

	"healc/ir/scalar"
	"healc/lang/types"
)

var (
	attrAxes = AttrDef{Name: "axes", Kind: AttrInts, Doc: "the axes that are reduced, ascending"}
	attrKeep = AttrDef{Name: "keep", Kind: AttrFlag, Optional: true, Doc: "whether reduced axes stay, with extent 1"}
)

// reducedShape is the shape that is left of s.
func reducedShape(s types.Shape, axes []int64, keep bool) types.Shape {
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
func reduction(d OpDef, set dtypeSet, identity bool) *OpDef {
	d.Class, d.Arity = Reduce, 1
	d.Attrs = []AttrDef{attrAxes, attrKeep}
	what := d.quoted()
	d.Infer = func(args []types.Tensor, attrs Attrs, _ []*Block) ([]types.Tensor, error) {
		x, axes := args[0], attrs[0].([]int64)
		keep, _ := attrs[1].(bool)
		if err := requireIn("C1", what, set, x); err != nil {
			return nil, err
		}
		if err := requireAxes(what, axes, x.Rank()); err != nil {
			return nil, err
		}
		return []types.Tensor{{Elem: x.Elem, Shape: reducedShape(x.Shape, axes, keep)}}, nil
	}
	d.Constraints = []Constraint{
		{"C1", fmt.Sprintf("the elements are of type %s", set.name)},
		{"C2", "the axes exist, ascending and distinct"},
	}
	if !identity {
		d.Traits |= MayFail
		d.Constraints = append(d.Constraints, Constraint{"C3", "no reduced axis is empty, unless the result is"})
		d.Doomed = func(args []types.Tensor, attrs Attrs) error {
			return foldOfNothing("C3", what, args[0].Shape, attrs[0].([]int64))
		}
		if d.Fails == nil {
			d.Fails = func(op *Op) bool { return foldsNothing(op.Args[0].Type, op.Ints("axes")) }
		}
	}
	return define(&d)
}

// foldOfNothing is the error of combining no elements where that has no value. An empty result has no
// element that could fail.
func foldOfNothing(c, what string, s types.Shape, axes []int64) error {
	for _, d := range reducedShape(s, axes, false) {
		if !provablyPositive(d) {
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

// The reductions in the order of language.md section 9. Without axes, all of them are listed.
var (
	OpReduceSum = reduction(OpDef{
		Name: "reduce_sum", Surface: "+/",
		Summary: "Sum; of nothing 0. Floats are added in the order of \"Numerics\".",
		Eval:    evalReduce(ReduceSum), Element: elementReduce(ReduceSum),
		Example: "+/([1, 2, 3]) == 6",
	}, numbers, true)

	OpReduceProd = reduction(OpDef{
		Name: "reduce_prod", Surface: "*/",
		Summary: "Product; of nothing 1. Floats are multiplied in the order of \"Numerics\".",
		Eval:    evalReduce(ReduceProd), Element: elementReduce(ReduceProd),
		Example: "*/([2, 3, 4]) == 24",
	}, numbers, true)

	OpReduceMax = reduction(OpDef{
		Name: "reduce_max", Surface: "max/",
		Summary: "The largest element; NaN if there is one; of nothing an error.",
		Eval:    evalReduce(ReduceMax), Element: elementReduce(ReduceMax),
		Example: "max/([2, 5, 3]) == 5",
	}, numbers, false)

	OpReduceMin = reduction(OpDef{
		Name: "reduce_min", Surface: "min/",
		Summary: "The least element; NaN if there is one; of nothing an error.",
		Eval:    evalReduce(ReduceMin), Element: elementReduce(ReduceMin),
		Example: "min/([2, 5, 3]) == 2",
	}, numbers, false)

	OpReduceAnd = reduction(OpDef{
		Name: "reduce_and", Surface: "&&/", NoGrad: "bool has no gradient",
		Summary: "Whether all are true; of nothing true.",
		Eval:    evalReduce(ReduceAnd), Element: elementReduce(ReduceAnd),
		Example: "&&/([true, false]) == false",
	}, bools, true)

	OpReduceOr = reduction(OpDef{
		Name: "reduce_or", Surface: "||/", NoGrad: "bool has no gradient",
		Summary: "Whether any is true; of nothing false.",
		Eval:    evalReduce(ReduceOr), Element: elementReduce(ReduceOr),
		Example: "||/([true, false]) == true",
	}, bools, true)

	OpReduceSub = reduction(OpDef{
		Name: "reduce_sub", Surface: "-/",
		Summary: "x0 - x1 - x2 ..., strictly from the left; of nothing an error.",
		Eval:    evalLeftFold(scalar.Emitter.Sub), Element: elementLeftFold(scalar.Emitter.Sub),
		Example: "-/([10, 2, 3]) == 5",
	}, numbers, false)

	OpReduceDiv = reduction(OpDef{
		Name: "reduce_div", Surface: "//",
		Fails: func(op *Op) bool {
			x := op.Args[0].Type
			return x.Elem.IsInt() || foldsNothing(x, op.Ints("axes"))
		},
		Summary: "x0 / x1 / x2 ..., strictly from the left; of nothing an error, as is an integer divisor 0.",
		Eval:    evalLeftFold(checkedDiv), Element: elementLeftFold(checkedDiv),
		Example: "//([24, 2, 3]) == 4",
	}, numbers, false)
)

func checkedDiv(e scalar.Emitter, x, y scalar.Ref) scalar.Ref {
	checkDivisor(e, y)
	return e.Div(x, y)
}

// Positions of extremes. Elements are compared with <, as NumPy does: -0 and +0 tie.
var (
	OpArgmax = position("argmax", "maximum", ReduceArgMax, "argmax([1, 5, 5]) == 1")
	OpArgmin = position("argmin", "minimum", ReduceArgMin, "argmin([5, 1, 1]) == 1")
)

func position(name, word string, kind ReduceKind, example string) *OpDef {
	return define(&OpDef{
		Name: name, Class: Reduce, Surface: name, Arity: 1, Traits: MayFail,
		Summary: "The i32 position of the first " + word +
			" along an axis, or in the flattened tensor; the first NaN counts as one; of nothing an error.",
		Attrs: []AttrDef{
			{Name: "axis", Kind: AttrInt, Optional: true,
				Doc: "the axis; when absent, the position is in the flattened tensor"},
			attrKeep,
		},
		Fails: func(op *Op) bool {
			x := op.Args[0].Type
			return foldsNothing(x, positionAxes(op.Attr("axis"), x.Rank()))
		},
		Infer: func(args []types.Tensor, attrs Attrs, _ []*Block) ([]types.Tensor, error) {
			x := args[0]
			keep, _ := attrs[1].(bool)
			if err := requireIn("C1", "`"+name+"`", numbers, x); err != nil {
				return nil, err
			}
			axes := positionAxes(attrs[0], x.Rank())
			if err := requireAxes("`"+name+"`", axes, x.Rank()); err != nil {
				return nil, err
			}
			out := types.Tensor{Elem: types.I32, Shape: reducedShape(x.Shape, axes, keep)}
			if n, err := x.Shape.Elems(); err == nil && attrs[0] == nil {
				if n, ok := n.Const(); ok && n > 1<<31 {
					return nil, broken("C4", "a position in %s does not fit i32", x)
				}
			}
			return []types.Tensor{out}, nil
		},
		Doomed: func(args []types.Tensor, attrs Attrs) error {
			x := args[0].Shape
			return foldOfNothing("C3", "`"+name+"`", x, positionAxes(attrs[0], len(x)))
		},
		Eval:    evalPosition(kind),
		Element: elementPosition(kind),
		NoGrad:  "a position is an integer",
		Constraints: []Constraint{
			{"C1", "the elements are of type number"},
			{"C2", "the axis exists"},
			{"C3", "the axis is not empty, unless the result is"},
			{"C4", "every position fits i32"},
		},
		Example: example,
	})
}

// positionAxes lists the axes over which argmax and argmin look: the given one, or all.
func positionAxes(axis any, rank int) []int64 {
	if a, ok := axis.(int64); ok {
		return []int64{a}
	}
	axes := make([]int64, rank)
	for i := range axes {
		axes[i] = int64(i)
	}
	return axes
}

// OpMean is the sum by the count.
var OpMean = expanded(OpDef{
	Name: "mean", Surface: "mean",
	Summary: "The sum divided by the number of elements, which is converted to the element type; NaN of nothing.",
	Expand: func(b *Builder, op *Op) []*Value {
		return []*Value{emitMean(b, op.Args[0], op.Ints("axes"), op.Flag("keep"))}
	},
	Example: "mean([1.0, 2.0, 6.0]) == 3.0",
})

// OpVar is the mean of the squared distances from the mean.
var OpVar = expanded(OpDef{
	Name: "var", Surface: "var",
	Summary: "The population variance: the mean of (x - mean)^2.",
	Expand: func(b *Builder, op *Op) []*Value {
		x, axes := op.Args[0], op.Ints("axes")
		mean := b.Emit(OpBroadcast, A{"shape": x.Type.Shape}, emitMean(b, x, axes, true))
		d := b.Emit(OpSub, nil, x, mean)
		return []*Value{emitMean(b, b.Emit(OpMul, nil, d, d), axes, op.Flag("keep"))}
	},
	Example: "var([1.0, 3.0]) == 1.0",
})

// expanded is a reduction of floats that becomes simpler operations.
func expanded(d OpDef) *OpDef { return reduction(d, floats, true) }

func emitMean(b *Builder, x *Value, axes []int64, keep bool) *Value {
	sum := b.Emit(OpReduceSum, A{"axes": axes, "keep": keep}, x)
	n := emitCount(b, x.Type, axes)
	return b.Emit(OpDiv, nil, sum, b.Emit(OpBroadcast, A{"shape": sum.Type.Shape}, n))
}

// emitCount is the number of reduced elements in x's element type. It is counted in i64, so that it does
// not wrap, and rounded once.
func emitCount(b *Builder, x types.Tensor, axes []int64) *Value {
	n := types.Lit(1)
	for _, a := range axes {
		p, err := n.Mul(x.Shape[a])
		if err != nil {
			panic("BUG: the size of a tensor overflows: " + err.Error())
		}
		n = p
	}
	if c, ok := n.Const(); ok {
		v := NewArray(x.Elem)
		v.Bits[0] = scalar.IntBits(x.Elem, c)
		return b.Emit(OpConst, A{"value": v})
	}
	var product *Value
	for _, a := range axes {
		d := b.Emit(OpCast, A{"to": types.I64}, b.Emit(OpDim, A{"dim": x.Shape[a]}))
		if product == nil {
			product = d
		} else {
			product = b.Emit(OpMul, nil, product, d)
		}
	}
	return b.Emit(OpCast, A{"to": x.Elem}, product)
}

// ReducedAxes lists the axes that an operation of class Reduce, or a fold, combines, ascending.
func (o *Op) ReducedAxes() []int64 {
	if o.Def.Attrs[0].Name == "axis" {
		return positionAxes(o.Attrs[0], o.Args[0].Type.Rank())
	}
	return o.Ints("axes")
}
