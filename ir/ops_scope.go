package ir

import (
	"healc/ir/scalar"
	"healc/lang/types"
)

// OpTabulate computes a tensor from its indices.
var OpTabulate = define(&OpDef{
	Name: "tabulate", Class: Scope, Surface: "tabulate", Regions: 1,
	Space:   func(op *Op) types.Shape { return op.Dims("shape") },
	Summary: "The tensor whose element at an index is the value of the region there; tensor values add their axes.",
	Attrs:   []AttrDef{{Name: "shape", Kind: AttrDims, Doc: "the extents of the index axes"}},
	Infer: func(_ []types.Tensor, attrs Attrs, regions []*Block) ([]types.Tensor, error) {
		shape, body := attrs[0].(types.Shape), regions[0]
		if len(body.Params) != len(shape) {
			return nil, broken("C1", "the function of `tabulate` takes %s, not %d",
				types.Count(len(shape), "parameter"), len(body.Params))
		}
		for _, p := range body.Params {
			if p.Type.Elem != types.I32 || !p.Type.IsScalar() {
				return nil, broken("C1", "an index of `tabulate` is an i32, not %s", p.Type)
			}
		}
		if len(body.Yields) != 1 || !elements.has(body.Yields[0].Type.Elem) {
			return nil, broken("C2", "the function of `tabulate` gives one tensor of numbers or bools")
		}
		t := body.Yields[0].Type
		out := types.Tensor{Elem: t.Elem, Shape: append(append(types.Shape{}, shape...), t.Shape...)}
		return []types.Tensor{out}, nil
	},
	Eval: evalTabulate,
	Element: func(p Pull, op *Op, _ int, at []scalar.Ref) scalar.Ref {
		n := len(op.Regions[0].Params)
		index := make([]scalar.Ref, n)
		for i := range index {
			index[i] = p.E().Cast(types.I32, at[i])
		}
		return p.Region(op, 0, 0, index, at[n:])
	},
	Constraints: []Constraint{
		{"C1", "the region has one i32 parameter for each extent"},
		{"C2", "the region yields one tensor of numbers or bools"},
	},
	Example: "tabulate(2, 3, |i, j| 10 * i + j) == [[0, 1, 2], [10, 11, 12]]",
})

// OpFold is a strict left fold.
var OpFold = define(&OpDef{
	Name: "fold", Class: Scope, Surface: "fold", Arity: Variadic, Regions: 1, Traits: MayFail,
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

// OpIf evaluates one of two regions.
var OpIf = define(&OpDef{
	Name: "if", Class: Scope, Surface: "if", Arity: 1, Regions: 2,
	Reads:   readsForAny,
	Summary: "The values of the first region if the condition is true, else of the second; the other is not evaluated.",
	Infer: func(args []types.Tensor, _ Attrs, regions []*Block) ([]types.Tensor, error) {
		if args[0].Elem != types.Bool || !args[0].IsScalar() {
			return nil, broken("C1", "the condition of `if` is a bool, not %s", args[0])
		}
		then, els := ArgTypes(regions[0].Yields), ArgTypes(regions[1].Yields)
		if len(regions[0].Params)+len(regions[1].Params) > 0 {
			return nil, broken("C2", "the arms of `if` have no parameters")
		}
		if len(then) != len(els) {
			return nil, broken("C2", "the arms of `if` give %s and %s", types.Count(len(then), "value"),
				types.Count(len(els), "value"))
		}
		for i := range then {
			if !types.Equal(then[i], els[i]) {
				return nil, broken("C2", "the arms of `if` give %s and %s", then[i], els[i])
			}
		}
		return then, nil
	},
	Eval: func(c EvalContext, op *Op, args []*Array) ([]*Array, error) {
		if args[0].Bits[0] != 0 {
			return c.Region(op, 0)
		}
		return c.Region(op, 1)
	},
	Element: func(p Pull, op *Op, result int, at []scalar.Ref) scalar.Ref {
		arm := func(r int) func() scalar.Ref {
			return func() scalar.Ref { return p.Region(op, r, result, nil, at) }
		}
		return p.If(p.Arg(op, 0, nil), op.Results[result].Type.Elem, arm(0), arm(1))
	},
	Constraints: []Constraint{
		{"C1", "the condition is a bool scalar"},
		{"C2", "the regions have no parameters and yield values of the same types"},
	},
	Example: "(if 1 < 2 { 3 } else { 4 }) == 3",
})

// OpFusion is a set of operations that become one kernel.
var OpFusion = define(&OpDef{
	Name: "fusion", Class: Fused, Arity: Variadic, Regions: 1,
	Summary: "The values of a region that becomes one kernel; made by the fusion pass only.",
	Infer: func(args []types.Tensor, _ Attrs, regions []*Block) ([]types.Tensor, error) {
		body := regions[0]
		if len(body.Params) != len(args) {
			return nil, broken("C1", "a fusion of %s has %s", types.Count(len(args), "operand"),
				types.Count(len(body.Params), "parameter"))
		}
		for i, p := range body.Params {
			if !types.Equal(p.Type, args[i]) {
				return nil, broken("C1", "parameter %d of a fusion is %s, its operand %s", i, p.Type, args[i])
			}
		}
		return ArgTypes(body.Yields), nil
	},
	Eval: func(c EvalContext, op *Op, args []*Array) ([]*Array, error) { return c.Region(op, 0, args...) },
	Constraints: []Constraint{
		{"C1", "the region's parameters have the types of the operands"},
	},
})
