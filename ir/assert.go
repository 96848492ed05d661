package ir

import (
	"errors"
	"strings"

	"healc/ir/scalar"
	"healc/lang/types"
)

// OpAssert stops the program when its condition is false. The other operands are shown then: two of them
// are what was compared.
var OpAssert = declare("assert")
var _ = define(OpAssert, OpDef{
	Class: Host, Surface: "assert", Arity: Variadic, Traits: Effect,
	Summary: "Stops the program unless a condition holds, and shows the values that were compared.",
	Attrs:   []AttrDef{{Name: "what", Kind: AttrStr, Doc: "the assertion as it is written"}},
	Infer: func(args []types.Tensor, _ Attrs, _ []*Block) ([]types.Tensor, error) {
		if len(args) != 1 && len(args) != 3 {
			return nil, broken("C1", "an assertion has a condition, and two values or none, not %d operands", len(args))
		}
		if !types.Equal(args[0], types.Scalar(types.Bool)) {
			return nil, broken("C2", "the condition of `assert` is a bool, not %s", args[0])
		}
		return nil, nil
	},
	Eval: func(c EvalContext, op *Op, args []*Array) ([]*Array, error) {
		if args[0].Bits[0] != 0 {
			return nil, nil
		}
		var shown []string
		for _, a := range args[1:] {
			shown = append(shown, c.System().Format(a))
		}
		difference := ""
		if len(args) == 3 {
			x, y := args[1], args[2]
			value := func(bits uint64) float64 { return scalar.FloatValue(x.DType, bits) }
			show := func(bits uint64) string { return c.System().Format(&Array{DType: x.DType, Bits: []uint64{bits}}) }
			difference = types.Difference(x.DType, x.Shape, x.Bits, y.Bits, value, show)
		}
		return nil, errors.New(types.AssertMessage(op.Str("what"), shown, difference))
	},
	NoGrad: "an assertion has no value",
	Constraints: []Constraint{
		{"C1", "there is a condition, and two values or none"},
		{"C2", "the condition is a bool scalar"},
	},
	Example: "{ assert(1 < 2); 1 } == 1",
})

// OpRequire is for what a function asks of its arguments: an operation like any other, which stands in kernels and in
// functions without effects, where an assertion cannot. Its details are two, as a kernel has room for (abi.Error);
// those not shown are 0.
var OpRequire = declare("require")
var _ = define(OpRequire, OpDef{
	Class: Pointwise, Surface: "require", Arity: 4, Traits: MayFail,
	Operands: []string{"x", "ok", "a", "b"},
	Summary: "The first operand where the second is true; elsewhere the program stops with the message, in which the " +
		"others stand for {}.",
	Attrs: []AttrDef{{Name: "says", Kind: AttrStr, Doc: "the message, with {} at most twice"}},
	Infer: func(args []types.Tensor, attrs Attrs, _ []*Block) ([]types.Tensor, error) {
		if err := requireIn("C1", "`require`", elements, args[0]); err != nil {
			return nil, err
		}
		if err := requireIn("C2", "the condition of `require`", bools, args[1]); err != nil {
			return nil, err
		}
		for _, a := range args[2:] {
			if a.Elem != types.I64 {
				return nil, broken("C3", "the message of `require` shows an i64, not %s", a.Elem)
			}
		}
		if err := requireSameShape("C4", "`require`", args...); err != nil {
			return nil, err
		}
		if says, _ := attrs[0].(string); strings.Count(says, "{}") > 2 {
			return nil, broken("C5", "a message has room for two numbers")
		}
		return args[:1:1], nil
	},
	Scalar: func(e scalar.Emitter, op *Op, x []scalar.Ref) scalar.Ref {
		e.Check(scalar.CheckRequire, x[1], x[2:2+strings.Count(op.Str("says"), "{}")]...)
		return x[0]
	},
	VJP: func(t *Tape, op *Op, cts []*Value) { t.Add(op.Args[0], cts[0]) },
	Constraints: []Constraint{
		{"C1", "the first operand is of type number or bool"},
		{"C2", "the second is bool"},
		{"C3", "the others are i64"},
		{"C4", "the operands share one shape"},
		{"C5", "the message shows two numbers at most"},
	},
	Example: `require([1, 2], [1, 2] .> 0, "a size is at least 1, not {}", [1, 2]) == [1, 2]`,
})

// Subject is what the message of a failing check of op is about: the operation as programs write it, or the text that
// it has.
func (o *Op) Subject() string {
	if o.Def == OpRequire {
		return o.Str("says")
	}
	return o.Def.Spelling()
}
