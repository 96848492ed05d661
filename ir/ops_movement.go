package ir

import (
	"fmt"

	"healc/lang/types"
)

// OpBroadcast repeats a tensor along new and unit axes.
var OpBroadcast = define(&OpDef{
	Name: "broadcast", Class: Reindex, Surface: "expand", Arity: 1, Traits: View | Cheap,
	Reads:   readsBroadcast,
	Summary: "The operand repeated along axes of extent 1 and along new leading axes.",
	Attrs:   []AttrDef{{Name: "shape", Kind: AttrDims, Doc: "the shape of the result"}},
	Infer: func(args []types.Tensor, attrs Attrs, _ []*Block) ([]types.Tensor, error) {
		from, to := args[0].Shape, attrs[0].(types.Shape)
		if err := requireIn("C1", "`expand`", elements, args[0]); err != nil {
			return nil, err
		}
		if len(from) > len(to) {
			return nil, &types.RuleError{
				Constraint: "C2", Msg: "the result has fewer axes than the operand", Shapes: []types.Shape{from, to},
				Axis: len(to) + 1, Why: fmt.Sprintf("the ranks are %d and %d", len(from), len(to)),
			}
		}
		for i := 1; i <= len(from); i++ {
			if x, y := from[len(from)-i], to[len(to)-i]; !x.Equal(y) && !x.IsConst(1) {
				return nil, &types.RuleError{
					Constraint: "C2", Msg: "the operand does not expand to that shape", Shapes: []types.Shape{from, to},
					Axis: i,
					Why:  fmt.Sprintf("%s is neither %s nor 1", x, y),
				}
			}
		}
		return []types.Tensor{{Elem: args[0].Elem, Shape: to}}, nil
	},
	Eval:    evalBroadcast,
	Element: elementBroadcast,
	Constraints: []Constraint{
		{"C1", "the operand holds numbers or bools"},
		{"C2", "aligned at the last axis, every extent of the operand is that of the result or the literal 1"},
	},
	Example: "expand([1, 2], [2, 2]) == [[1, 2], [1, 2]]",
})

// OpReshape reads the same elements in row-major order with other axes.
var OpReshape = define(&OpDef{
	Name: "reshape", Class: Reindex, Surface: "reshape", Arity: 1, Traits: View | Cheap,
	Reads:   readsAll,
	Summary: "The same elements in row-major order, in another shape.",
	Attrs:   []AttrDef{{Name: "shape", Kind: AttrDims, Doc: "the shape of the result"}},
	Infer: func(args []types.Tensor, attrs Attrs, _ []*Block) ([]types.Tensor, error) {
		if err := requireIn("C1", "`reshape`", elements, args[0]); err != nil {
			return nil, err
		}
		to := attrs[0].(types.Shape)
		x, err := args[0].Shape.Elems()
		if err != nil {
			return nil, broken("C2", "%v", err)
		}
		y, err := to.Elems()
		if err != nil {
			return nil, broken("C2", "%v", err)
		}
		if !x.Equal(y) {
			return nil, &types.RuleError{
				Constraint: "C2", Msg: "reshape changes the number of elements",
				Shapes: []types.Shape{args[0].Shape, to},
				Why:    fmt.Sprintf("%s elements become %s", x, y),
			}
		}
		return []types.Tensor{{Elem: args[0].Elem, Shape: to}}, nil
	},
	Eval:    evalReshape,
	Element: elementReshape,
	Constraints: []Constraint{
		{"C1", "the operand holds numbers or bools"},
		{"C2", "both shapes have the same number of elements, as polynomials"},
	},
	Example: "reshape([1, 2, 3, 4], [2, 2]) == [[1, 2], [3, 4]]",
})

// OpPermute reorders axes.
var OpPermute = define(&OpDef{
	Name: "permute", Class: Reindex, Surface: "permute_axes", Arity: 1, Traits: View | Cheap,
	Reads:   readsAll,
	Summary: "Axis k of the result is axis perm[k] of the operand.",
	Attrs:   []AttrDef{{Name: "perm", Kind: AttrInts, Doc: "a permutation of the axes"}},
	Infer: func(args []types.Tensor, attrs Attrs, _ []*Block) ([]types.Tensor, error) {
		perm, x := attrs[0].([]int64), args[0]
		if err := requireIn("C1", "`permute_axes`", elements, x); err != nil {
			return nil, err
		}
		if len(perm) != x.Rank() {
			return nil, broken("C2", "%d axes are listed for %s, which has %d", len(perm), x, x.Rank())
		}
		seen := make([]bool, len(perm))
		shape := make(types.Shape, len(perm))
		for k, a := range perm {
			if a < 0 || a >= int64(len(perm)) || seen[a] {
				return nil, broken("C2", "%v is no permutation of the %d axes of %s", perm, len(perm), x)
			}
			seen[a] = true
			shape[k] = x.Shape[a]
		}
		return []types.Tensor{{Elem: x.Elem, Shape: shape}}, nil
	},
	Eval:    evalPermute,
	Element: elementPermute,
	Constraints: []Constraint{
		{"C1", "the operand holds numbers or bools"},
		{"C2", "perm names every axis of the operand once"},
	},
	Example: "permute_axes([[1, 2], [3, 4]], [1, 0]) == [[1, 3], [2, 4]]",
})

// OpSlice takes evenly spaced elements along every axis.
var OpSlice = define(&OpDef{
	Name: "slice", Class: Reindex, Arity: 1, Traits: View | Cheap,
	Reads:   readsSlice,
	Summary: "Element i of the result is, on axis k, element starts[k] + i * steps[k] of the operand.",
	Attrs: []AttrDef{
		{Name: "starts", Kind: AttrDims, Doc: "the first index of each axis"},
		{Name: "steps", Kind: AttrInts, Doc: "the distance of neighbours, negative to walk backwards"},
		{Name: "shape", Kind: AttrDims, Doc: "the shape of the result"},
	},
	Infer:   inferSlice,
	Eval:    evalSlice,
	Element: elementSlice,
	Constraints: []Constraint{
		{"C1", "the operand holds numbers or bools"},
		{"C2", "start, step and extent are given for each axis, and no step is 0"},
		{"C3", "no element lies outside the operand"},
	},
	Example: "[1, 2, 3, 4][0..4 by 2] == [1, 3]",
})

func inferSlice(args []types.Tensor, attrs Attrs, _ []*Block) ([]types.Tensor, error) {
	x, starts, steps, shape := args[0], attrs[0].(types.Shape), attrs[1].([]int64), attrs[2].(types.Shape)
	if err := requireIn("C1", "a slice", elements, x); err != nil {
		return nil, err
	}
	if len(starts) != x.Rank() || len(steps) != x.Rank() || len(shape) != x.Rank() {
		return nil, broken("C2", "a slice of %s needs start, step and extent of each of its %d axes", x, x.Rank())
	}
	for k, extent := range x.Shape {
		if steps[k] == 0 {
			return nil, broken("C2", "the step of axis %d is 0", k)
		}
		if !provablyPositive(shape[k]) {
			continue // it may be empty, and then every start is fine
		}
		last, err := lastIndex(starts[k], steps[k], shape[k])
		if err != nil {
			return nil, broken("C3", "%v", err)
		}
		for _, at := range []types.Dim{starts[k], last} {
			if outside(at, extent) {
				return nil, &types.RuleError{
					Constraint: "C3", Msg: "slice is out of range", Shapes: []types.Shape{x.Shape}, Axis: x.Rank() - k,
					Why: fmt.Sprintf("index %s is outside of an axis of extent %s", at, extent),
				}
			}
		}
	}
	return []types.Tensor{{Elem: x.Elem, Shape: shape}}, nil
}

// lastIndex is start + (n-1)*step.
func lastIndex(start types.Dim, step int64, n types.Dim) (types.Dim, error) {
	d, err := n.Sub(types.Lit(1))
	if err == nil {
		d, err = d.Mul(types.Lit(step))
	}
	if err == nil {
		d, err = start.Add(d)
	}
	return d, err
}

// outside reports that index at is outside [0, extent) whatever the parameters are.
func outside(at, extent types.Dim) bool {
	if n, ok := at.Const(); ok && n < 0 {
		return true
	}
	over, err := at.Sub(extent)
	if err != nil {
		return false
	}
	n, ok := over.Const()
	return ok && n >= 0
}

// OpIndex picks one position of some axes, at run time.
var OpIndex = define(&OpDef{
	Name: "index", Class: Reindex, Arity: Variadic, Traits: MayFail | Cheap,
	Reads: readsPositions,
	Summary: "The sub-tensor at the given positions of the listed axes, which are dropped; a position out of range " +
		"stops the program.",
	Attrs: []AttrDef{{Name: "axes", Kind: AttrInts, Doc: "one axis for each position, ascending"}},
	Infer: func(args []types.Tensor, attrs Attrs, _ []*Block) ([]types.Tensor, error) {
		axes := attrs[0].([]int64)
		if err := requirePositions(args, axes, "an index"); err != nil {
			return nil, err
		}
		x := args[0]
		out := types.Tensor{Elem: x.Elem, Shape: types.Shape{}}
		for k, d := range x.Shape {
			if !hasAxis(axes, k) {
				out.Shape = append(out.Shape, d)
			}
		}
		return []types.Tensor{out}, nil
	},
	Doomed: func(args []types.Tensor, attrs Attrs) error {
		x, axes := args[0], attrs[0].([]int64)
		for k, d := range x.Shape {
			if !hasAxis(axes, k) && !provablyPositive(d) {
				return nil // the result is empty: no index is looked at
			}
		}
		for _, a := range axes {
			if x.Shape[a].IsConst(0) {
				return &types.RuleError{
					Constraint: "C4", Msg: "index into an empty axis", Shapes: []types.Shape{x.Shape},
					Axis: x.Rank() - int(a),
					Why:  "no index is in range",
				}
			}
		}
		return nil
	},
	Eval:    evalIndex,
	Element: elementIndex,
	Constraints: []Constraint{
		{"C1", "the operand holds numbers or bools"},
		{"C2", "there is one position for each listed axis, and the axes are ascending"},
		{"C3", "every position is an i32 or i64 scalar"},
		{"C4", "no listed axis is empty, unless the result is"},
	},
	Example: "[[1, 2], [3, 4]][1, 0] == 3",
})

// OpDynamicSlice takes a run of known length that starts at a run-time position.
var OpDynamicSlice = define(&OpDef{
	Name: "dynamic_slice", Class: Reindex, Arity: Variadic, Traits: MayFail | Cheap,
	Reads:   readsPositions,
	Summary: "The elements from a run-time start, in each listed axis; a run that leaves the axis stops the program.",
	Attrs: []AttrDef{
		{Name: "axes", Kind: AttrInts, Doc: "one axis for each start, ascending"},
		{Name: "sizes", Kind: AttrDims, Doc: "the extent of the result in each of these axes"},
	},
	Infer: func(args []types.Tensor, attrs Attrs, _ []*Block) ([]types.Tensor, error) {
		axes, sizes := attrs[0].([]int64), attrs[1].(types.Shape)
		if err := requirePositions(args, axes, "a slice"); err != nil {
			return nil, err
		}
		if len(sizes) != len(axes) {
			return nil, broken("C2", "%d sizes are given for %d axes", len(sizes), len(axes))
		}
		x := args[0]
		shape := append(types.Shape{}, x.Shape...)
		for i, a := range axes {
			if over, err := sizes[i].Sub(x.Shape[a]); err == nil {
				if n, ok := over.Const(); ok && n > 0 {
					return nil, &types.RuleError{
						Constraint: "C4", Msg: "slice is longer than its axis", Shapes: []types.Shape{x.Shape},
						Axis: x.Rank() - int(a),
						Why:  fmt.Sprintf("%s elements of an axis of extent %s", sizes[i], x.Shape[a]),
					}
				}
			}
			shape[a] = sizes[i]
		}
		return []types.Tensor{{Elem: x.Elem, Shape: shape}}, nil
	},
	Eval:    evalDynamicSlice,
	Element: elementDynamicSlice,
	Constraints: []Constraint{
		{"C1", "the operand holds numbers or bools"},
		{"C2", "there is one start and one size for each listed axis, and the axes are ascending"},
		{"C3", "every start is an i32 or i64 scalar"},
		{"C4", "no size exceeds its axis"},
	},
	Example: "{ let i = +/([1, 0]); [1, 2, 3, 4][i..i + 2] } == [2, 3]",
})

// requirePositions checks the operands x, i... of an operation that takes a run-time position on some axes.
func requirePositions(args []types.Tensor, axes []int64, what string) error {
	if len(args) == 0 || len(args) != 1+len(axes) {
		return broken("C2", "%d positions are given for %d axes", max(len(args)-1, 0), len(axes))
	}
	if err := requireIn("C1", what, elements, args[0]); err != nil {
		return err
	}
	if err := requireAxes(what, axes, args[0].Rank()); err != nil {
		return err
	}
	for _, i := range args[1:] {
		if err := requireIn("C3", "a position", indices, i); err != nil {
			return err
		}
		if !i.IsScalar() {
			return broken("C3", "a position is a scalar, not %s", i)
		}
	}
	return nil
}

func hasAxis(axes []int64, k int) bool {
	for _, a := range axes {
		if a == int64(k) {
			return true
		}
	}
	return false
}

// OpConcat joins tensors along an axis.
var OpConcat = define(&OpDef{
	Name: "concat", Class: Reindex, Surface: "concat", Arity: Variadic, Traits: Cheap,
	Reads:   readsAll,
	Summary: "The operands one after another along an axis.",
	Attrs:   []AttrDef{{Name: "axis", Kind: AttrInt, Doc: "the axis along which they are joined"}},
	Infer: func(args []types.Tensor, attrs Attrs, _ []*Block) ([]types.Tensor, error) {
		if len(args) == 0 {
			return nil, broken("C1", "concat needs at least one operand")
		}
		x, axis := args[0], attrs[0].(int64)
		if err := requireIn("C1", "`concat`", elements, x); err != nil {
			return nil, err
		}
		if err := requireSameDType("C1", "`concat`", args...); err != nil {
			return nil, err
		}
		if axis < 0 || axis >= int64(x.Rank()) {
			return nil, broken("C2", "axis %d is out of range for %s of rank %d", axis, x, x.Rank())
		}
		shape := append(types.Shape{}, x.Shape...)
		for _, y := range args[1:] {
			like := append(types.Shape{}, x.Shape...)
			if y.Rank() == x.Rank() {
				like[axis] = y.Shape[axis]
			}
			if sameShape("C3", "", like, y.Shape) != nil {
				err := sameShape("C3", fmt.Sprintf("operands of `concat` differ outside of axis %d", axis), like,
					y.Shape).(*types.RuleError)
				err.Shapes = []types.Shape{x.Shape, y.Shape}
				return nil, err
			}
			var err error
			if shape[axis], err = shape[axis].Add(y.Shape[axis]); err != nil {
				return nil, broken("C3", "%v", err)
			}
		}
		return []types.Tensor{{Elem: x.Elem, Shape: shape}}, nil
	},
	Eval:    evalConcat,
	Element: elementConcat,
	Constraints: []Constraint{
		{"C1", "there is at least one operand, and all share one element type, number or bool"},
		{"C2", "the axis exists"},
		{"C3", "the shapes agree on every other axis"},
	},
	Example: "concat(([1, 2], [3]), 0) == [1, 2, 3]",
})
