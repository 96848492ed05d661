package ir

import (
	"fmt"

	"healc/lang/types"
)

// OpGather picks positions of some axes by tensors of positions.
var OpGather = define(&OpDef{
	Name: "gather", Class: Reindex, Arity: Variadic, Traits: MayFail | Cheap,
	Reads: func(op *Op, i int) bool { return i > 0 && nonEmpty(restOf(op.Args[0].Type.Shape, op.Ints("axes"))) },
	Summary: "Element [i..., j...] is the operand's at the positions [i...] of the tensors on the listed axes, and " +
		"at j on the others; " +
		"a position out of range stops the program.",
	Attrs: []AttrDef{{Name: "axes", Kind: AttrInts, Doc: "one axis for each tensor of positions, ascending"}},
	Infer: inferGather,
	Doomed: func(args []types.Tensor, attrs Attrs) error {
		x, axes := args[0], attrs[0].([]int64)
		if !nonEmpty(args[1].Shape) || !nonEmpty(restOf(x.Shape, axes)) {
			return nil // the result may be empty: then no position is looked at
		}
		return noEmptyAxis("C5", x, axes)
	},
	Eval:    evalGather,
	Element: elementGather,
	Constraints: []Constraint{
		{"C1", "the operand holds numbers or bools"},
		{"C2", "there is one tensor of positions for each listed axis, at least one, and the axes are ascending"},
		{"C3", "every position is an i32 or i64"},
		{"C4", "the tensors of positions share one shape"},
		{"C5", "no listed axis is empty, unless the result is"},
	},
	Example: "[[1, 2, 3], [4, 5, 6]][[1, 0, 1], [2, 2, 0]] == [6, 3, 4]",
})

func inferGather(args []types.Tensor, attrs Attrs, _ []*Block) ([]types.Tensor, error) {
	axes := attrs[0].([]int64)
	if len(axes) == 0 || len(args) != 1+len(axes) {
		return nil, broken("C2", "%d tensors of positions are given for %d axes", max(len(args)-1, 0), len(axes))
	}
	x := args[0]
	if err := requireIn("C1", "an index", elements, x); err != nil {
		return nil, err
	}
	if err := requireAxes("an index", axes, x.Rank()); err != nil {
		return nil, err
	}
	for _, i := range args[1:] {
		if err := requireIn("C3", "a position", indices, i); err != nil {
			return nil, err
		}
	}
	if err := requireSameShape("C4", "an index", args[1:]...); err != nil {
		return nil, err
	}
	shape := append(append(types.Shape{}, args[1].Shape...), restOf(x.Shape, axes)...)
	return []types.Tensor{{Elem: x.Elem, Shape: shape}}, nil
}

// restOf lists the extents of the axes of s that are not in axes.
func restOf(s types.Shape, axes []int64) types.Shape {
	out := types.Shape{}
	for k, d := range s {
		if !hasAxis(axes, k) {
			out = append(out, d)
		}
	}
	return out
}

// noEmptyAxis is the rule that none of the listed axes of x has the literal extent 0.
func noEmptyAxis(c string, x types.Tensor, axes []int64) error {
	for _, a := range axes {
		if x.Shape[a].IsConst(0) {
			return &types.RuleError{
				Constraint: c, Msg: "index into an empty axis", Shapes: []types.Shape{x.Shape}, Axis: x.Rank() - int(a),
				Why: "no index is in range",
			}
		}
	}
	return nil
}

// OpTakeAlongAxis picks by a position of its own for every element.
var OpTakeAlongAxis = define(&OpDef{
	Name: "take_along_axis", Class: Reindex, Surface: "take_along_axis", Arity: 2, Traits: MayFail | Cheap,
	Reads: func(_ *Op, i int) bool { return i == 1 },
	Summary: "The operand's elements at the given positions along one axis, and at the element's own index on the " +
		"others; " +
		"a position out of range stops the program.",
	Attrs: []AttrDef{{Name: "axis", Kind: AttrInt, Doc: "the axis that the positions count"}},
	Infer: func(args []types.Tensor, attrs Attrs, _ []*Block) ([]types.Tensor, error) {
		x, idx, axis := args[0], args[1], attrs[0].(int64)
		if err := requireAlong("`take_along_axis`", x, idx, axis); err != nil {
			return nil, err
		}
		return []types.Tensor{{Elem: x.Elem, Shape: idx.Shape}}, nil
	},
	Doomed: func(args []types.Tensor, attrs Attrs) error {
		if !nonEmpty(args[1].Shape) {
			return nil
		}
		return noEmptyAxis("C5", args[0], []int64{attrs[0].(int64)})
	},
	Eval:    evalTakeAlongAxis,
	Element: elementTakeAlongAxis,
	Constraints: []Constraint{
		{"C1", "the operand holds numbers or bools"},
		{"C2", "the axis exists"},
		{"C3", "every position is an i32 or i64"},
		{"C4", "the shapes agree on every other axis"},
		{"C5", "the axis is not empty, unless the result is"},
	},
	Example: "take_along_axis([[10, 20], [30, 40]], [[1], [0]], 1) == [[20], [30]]",
})

// requireAlong checks a tensor and the positions along one of its axes.
func requireAlong(what string, x, idx types.Tensor, axis int64) error {
	if err := requireIn("C1", what, elements, x); err != nil {
		return err
	}
	if axis < 0 || axis >= int64(x.Rank()) {
		return broken("C2", "axis %d is out of range for %s of rank %d", axis, x, x.Rank())
	}
	if err := requireIn("C3", "a position", indices, idx); err != nil {
		return err
	}
	return sameOutside("C4", fmt.Sprintf("operands of %s differ outside of axis %d", what, axis), x.Shape, idx.Shape,
		axis)
}

// sameOutside checks that two shapes agree on every axis but one.
func sameOutside(c, msg string, x, y types.Shape, axis int64) error {
	if len(x) != len(y) {
		return sameShape(c, msg, x, y)
	}
	like := append(types.Shape{}, x...)
	like[axis] = y[axis]
	err := sameShape(c, msg, like, y)
	if err == nil {
		return nil
	}
	err.(*types.RuleError).Shapes = []types.Shape{x, y}
	return err
}
