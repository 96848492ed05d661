package ir

import (
	"math"

	"healc/lang/types"
)

// The operations on strings. They are done by the runtime, between kernels: no kernel sees a string.
var (
	// OpStrLen counts the bytes of a string.
	OpStrLen = define(&OpDef{
		Name: "str_len", Class: Host, Surface: "len", Arity: 1,
		Summary: "The number of bytes of a string, as i32.",
		Infer:   stringsTo(types.I32),
		Eval: func(_ EvalContext, _ *Op, args []*Array) ([]*Array, error) {
			return one(&Array{DType: types.I32, Bits: []uint64{uint64(min(len(args[0].Str), math.MaxInt32))}})
		},
		NoGrad: "a string has no gradient", Constraints: stringOperands,
		Example: "len(\"h\\u{E9}\") == 3",
	})

	// OpStrConcat joins two strings.
	OpStrConcat = define(&OpDef{
		Name: "str_concat", Class: Host, Surface: "++", Arity: 2,
		Summary: "Two strings, one after the other.",
		Infer:   stringsTo(types.String),
		Eval: func(_ EvalContext, _ *Op, args []*Array) ([]*Array, error) {
			return one(&Array{DType: types.String, Str: args[0].Str + args[1].Str})
		},
		NoGrad: "a string has no gradient", Constraints: stringOperands,
		Example: "len(\"ab\" ++ \"c\") == 3",
	})

	// OpStrEq compares two strings.
	OpStrEq = define(&OpDef{
		Name: "str_eq", Class: Host, Arity: 2,
		Summary: "Whether two strings have the same bytes: `==` on strings.",
		Infer:   stringsTo(types.Bool),
		Eval: func(_ EvalContext, _ *Op, args []*Array) ([]*Array, error) {
			return one(scalarArray(types.Bool, boolBits(args[0].Str == args[1].Str)))
		},
		NoGrad: "a string has no gradient", Constraints: stringOperands,
		Example: "(\"ab\" == \"a\" ++ \"b\") == true",
	})

	// OpStrLt orders two strings.
	OpStrLt = define(&OpDef{
		Name: "str_lt", Class: Host, Arity: 2,
		Summary: "Whether the first string stands before the second, byte by byte: `<` on strings.",
		Infer:   stringsTo(types.Bool),
		Eval: func(_ EvalContext, _ *Op, args []*Array) ([]*Array, error) {
			return one(scalarArray(types.Bool, boolBits(args[0].Str < args[1].Str)))
		},
		NoGrad: "a string has no gradient", Constraints: stringOperands,
		Example: "(\"a\" < \"ab\") == true",
	})
)

var stringOperands = []Constraint{{"C1", "the operands are strings"}}

// stringsTo is the rule of an operation on strings alone.
func stringsTo(result types.DType) func([]types.Tensor, Attrs, []*Block) ([]types.Tensor, error) {
	return func(args []types.Tensor, _ Attrs, _ []*Block) ([]types.Tensor, error) {
		for _, a := range args {
			if a.Elem != types.String {
				return nil, broken("C1", "a string has to stand here, not %s", a)
			}
		}
		return []types.Tensor{types.Scalar(result)}, nil
	}
}

func boolBits(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
