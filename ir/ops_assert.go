package ir

import (
	"errors"

	"healc/ir/scalar"
	"healc/lang/types"
)

// OpAssert stops the program when its condition is false. The other operands are shown then: two of them
// are what was compared.
var OpAssert = define(&OpDef{
	Name: "assert", Class: Host, Surface: "assert", Arity: Variadic, Traits: Effect,
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
