package ir

import (
	"fmt"

	"healc/ir/scalar"
	"healc/lang/types"
)

// pointwise fills in what all pointwise operations share: the type rule "operands share one dtype of the
// set (C1) and one shape (C2); the result is like them", and the constraints. to, when it is not Invalid,
// is the element type of the result.
func pointwise(d OpDef, set dtypeSet, to types.DType) *OpDef {
	d.Class = Pointwise
	what := d.quoted()
	d.Infer = func(args []types.Tensor, _ Attrs, _ []*Block) ([]types.Tensor, error) {
		if err := requireSameDType("C1", what, args...); err != nil {
			return nil, err
		}
		if err := requireIn("C1", what, set, args[0]); err != nil {
			return nil, err
		}
		if err := requireSameShape("C2", what, args...); err != nil {
			return nil, err
		}
		r := args[0]
		if to != types.Invalid {
			r.Elem = to
		}
		return []types.Tensor{r}, nil
	}
	if d.Arity == 1 {
		d.Constraints = []Constraint{{"C1", fmt.Sprintf("the elements are of type %s", set.name)}}
	} else {
		d.Constraints = []Constraint{
			{"C1", fmt.Sprintf("the operands share one element type, %s", set.name)},
			{"C2", "the operands share one shape"},
		}
	}
	return define(&d)
}

// like keeps the operands' element type; compared gives bool.
const (
	like     = types.Invalid
	compared = types.Bool
)

func unary(f func(e scalar.Emitter, x scalar.Ref) scalar.Ref) func(scalar.Emitter, *Op, []scalar.Ref) scalar.Ref {
	return func(e scalar.Emitter, _ *Op, x []scalar.Ref) scalar.Ref { return f(e, x[0]) }
}

func binary(f func(e scalar.Emitter, x, y scalar.Ref) scalar.Ref) func(scalar.Emitter, *Op, []scalar.Ref) scalar.Ref {
	return func(e scalar.Emitter, _ *Op, x []scalar.Ref) scalar.Ref { return f(e, x[0], x[1]) }
}

func ternary(f func(e scalar.Emitter, x, y, z scalar.Ref) scalar.Ref) func(scalar.Emitter, *Op,
	[]scalar.Ref) scalar.Ref {
	return func(e scalar.Emitter, _ *Op, x []scalar.Ref) scalar.Ref { return f(e, x[0], x[1], x[2]) }
}

// checkDivisor stops the program when an integer divisor is 0.
func checkDivisor(e scalar.Emitter, y scalar.Ref) {
	if t := e.TypeOf(y); t.IsInt() {
		e.Check(scalar.CheckDivideByZero, e.Ne(y, e.Int(t, 0)))
	}
}

// Arithmetic.
var (
	OpAdd = pointwise(OpDef{
		Name: "add", Surface: "+", Arity: 2, Traits: Commutative | Cheap,
		Summary: "Sum. Integers wrap.",
		Scalar:  binary(scalar.Emitter.Add),
		Example: "[1.0, 2.0] + [0.5, 0.5] == [1.5, 2.5]",
	}, numbers, like)

	OpSub = pointwise(OpDef{
		Name: "sub", Surface: "-", Arity: 2, Traits: Cheap,
		Summary: "Difference. Integers wrap.",
		Scalar:  binary(scalar.Emitter.Sub),
		Example: "[1.0, 2.0] - [0.5, 0.5] == [0.5, 1.5]",
	}, numbers, like)

	OpMul = pointwise(OpDef{
		Name: "mul", Surface: "*", Arity: 2, Traits: Commutative | Cheap,
		Summary: "Product. Integers wrap.",
		Scalar:  binary(scalar.Emitter.Mul),
		Example: "[1.0, 2.0] * [3.0, 4.0] == [3.0, 8.0]",
	}, numbers, like)

	OpDiv = pointwise(OpDef{
		Name: "div", Surface: "/", Arity: 2, Traits: MayFail, Fails: integerDivides,
		Summary: "Quotient. Integers truncate toward zero; an integer divisor 0 stops the program.",
		Scalar: binary(func(e scalar.Emitter, x, y scalar.Ref) scalar.Ref {
			checkDivisor(e, y)
			return e.Div(x, y)
		}),
		Example: "[7, -7] / [2, 2] == [3, -3]",
	}, numbers, like)

	OpRem = pointwise(OpDef{
		Name: "rem", Surface: "%", Arity: 2, Traits: MayFail, Fails: integerDivides,
		Summary: "Remainder of the truncated quotient, with the dividend's sign; an integer divisor 0 stops the " +
			"program.",
		Scalar: binary(func(e scalar.Emitter, x, y scalar.Ref) scalar.Ref {
			checkDivisor(e, y)
			return e.Rem(x, y)
		}),
		Example: "[7, -7] % [4, 4] == [3, -3]",
	}, numbers, like)

	OpNeg = pointwise(OpDef{
		Name: "neg", Surface: "neg", Arity: 1, Traits: Cheap,
		Summary: "Negation. Integers wrap; floats flip the sign bit.",
		Scalar:  unary(scalar.Emitter.Neg),
		Example: "neg([1.0, -2.0]) == [-1.0, 2.0]",
	}, numbers, like)

	OpAbs = pointwise(OpDef{
		Name: "abs", Surface: "abs", Arity: 1, Traits: Cheap,
		Summary: "Absolute value. The least signed integer is its own.",
		Scalar:  unary(scalar.Emitter.Abs),
		Example: "abs([1.0, -2.0]) == [1.0, 2.0]",
	}, numbers, like)

	OpMin = pointwise(OpDef{
		Name: "min", Surface: "min", Arity: 2, Traits: Commutative | Associative | Cheap,
		Summary: "The smaller. NaN if either is NaN; -0 is below +0.",
		Scalar:  binary(scalar.Emitter.Min),
		Example: "min([1, 5], [2, 4]) == [1, 4]",
	}, numbers, like)

	OpMax = pointwise(OpDef{
		Name: "max", Surface: "max", Arity: 2, Traits: Commutative | Associative | Cheap,
		Summary: "The larger. NaN if either is NaN; -0 is below +0.",
		Scalar:  binary(scalar.Emitter.Max),
		Example: "max([1, 5], [2, 4]) == [2, 5]",
	}, numbers, like)

	OpFma = pointwise(OpDef{
		Name: "fma", Surface: "fma", Arity: 3, Traits: Cheap,
		Summary: "x * y + z, rounded once.",
		Scalar:  ternary(scalar.Emitter.Fma),
		Example: "fma(2.0, 3.0, 4.0) == 10.0",
	}, floats, like)
)

// Comparisons. Every one with a NaN is false, but `!=` is true.
var (
	OpEq = comparison("eq", "==", "equal to the second", Commutative, elements, scalar.Emitter.Eq, "[1, 2] == [1, 2]")
	OpNe = comparison("ne", "!=", "different from the second", Commutative, elements, scalar.Emitter.Ne,
		"([1, 2] != [1, 3]) == [false, true]")
	OpLt = comparison("lt", "<", "less than the second", 0, numbers, scalar.Emitter.Lt,
		"([1, 2] < [2, 2]) == [true, false]")
	OpLe = comparison("le", "<=", "less than or equal to the second", 0, numbers, scalar.Emitter.Le,
		"([1, 2] <= [1, 1]) == [true, false]")
	OpGt = comparison("gt", ">", "greater than the second", 0, numbers, scalar.Emitter.Gt,
		"([1, 2] > [1, 1]) == [false, true]")
	OpGe = comparison("ge", ">=", "greater than or equal to the second", 0, numbers, scalar.Emitter.Ge,
		"([1, 2] >= [2, 2]) == [false, true]")
)

func comparison(name, surface, word string, t Traits, set dtypeSet,
	f func(e scalar.Emitter, x, y scalar.Ref) scalar.Ref, example string) *OpDef {
	return pointwise(OpDef{
		Name: name, Surface: surface, Arity: 2, Traits: t | Cheap,
		Summary: "Whether the first is " + word + ".",
		Scalar:  binary(f), Example: example, NoGrad: "a comparison gives a bool",
	}, set, compared)
}

// Logic on bool, element by element: nothing is short-circuited.
var (
	OpAnd = pointwise(OpDef{
		Name: "and", Surface: "&&", Arity: 2, Traits: Commutative | Associative | Cheap,
		Summary: "Whether both are true.",
		Scalar:  binary(scalar.Emitter.And), NoGrad: "bool has no gradient",
		Example: "([true, true] .&& [true, false]) == [true, false]",
	}, bools, like)

	OpOr = pointwise(OpDef{
		Name: "or", Surface: "||", Arity: 2, Traits: Commutative | Associative | Cheap,
		Summary: "Whether one of them, or both, is true.",
		Scalar:  binary(scalar.Emitter.Or), NoGrad: "bool has no gradient",
		Example: "([false, true] .|| [false, false]) == [false, true]",
	}, bools, like)

	OpNot = pointwise(OpDef{
		Name: "not", Surface: "!", Arity: 1, Traits: Cheap,
		Summary: "Whether it is false.",
		Scalar:  unary(scalar.Emitter.Not), NoGrad: "bool has no gradient",
		Example: "![true, false] == [false, true]",
	}, bools, like)
)

// OpSelect chooses element by element; both operands are evaluated.
var OpSelect = define(&OpDef{
	Name: "select", Class: Pointwise, Surface: "where", Arity: 3, Traits: Cheap, Operands: []string{"cond", "a", "b"},
	Summary: "The second operand where the first is true, else the third.",
	Infer: func(args []types.Tensor, _ Attrs, _ []*Block) ([]types.Tensor, error) {
		if err := requireIn("C1", "the condition of `where`", bools, args[0]); err != nil {
			return nil, err
		}
		if err := requireSameDType("C2", "`where`", args[1:]...); err != nil {
			return nil, err
		}
		if err := requireIn("C2", "`where`", elements, args[1]); err != nil {
			return nil, err
		}
		if err := requireSameShape("C3", "`where`", args...); err != nil {
			return nil, err
		}
		return args[1:2:2], nil
	},
	Scalar: ternary(scalar.Emitter.Select),
	Constraints: []Constraint{
		{"C1", "the first operand is bool"},
		{"C2", "the other two share one element type"},
		{"C3", "all three share one shape"},
	},
	Example: "where([true, false], [1, 2], [3, 4]) == [1, 4]",
})

// OpCast converts by language.md section 2.
var OpCast = define(&OpDef{
	Name: "cast", Class: Pointwise, Surface: "as", Arity: 1, Traits: Cheap,
	Summary: "Conversion: to an integer truncates and saturates, NaN gives 0; integers wrap; floats round once; a " +
		"number is true unless it is 0.",
	Attrs: []AttrDef{{Name: "to", Kind: AttrDType, Doc: "the element type of the result"}},
	Infer: func(args []types.Tensor, attrs Attrs, _ []*Block) ([]types.Tensor, error) {
		to := attrs[0].(types.DType)
		if err := requireIn("C1", "`as`", elements, args[0]); err != nil {
			return nil, err
		}
		if !elements.has(to) {
			return nil, broken("C2", "%s cannot become %s", args[0], to)
		}
		return []types.Tensor{{Elem: to, Shape: args[0].Shape}}, nil
	},
	Scalar: func(e scalar.Emitter, op *Op, x []scalar.Ref) scalar.Ref {
		from, to := e.TypeOf(x[0]), op.DType("to")
		if to == types.Bool && from != types.Bool {
			return e.Ne(x[0], e.Int(from, 0))
		}
		return e.Cast(to, x[0])
	},
	Constraints: []Constraint{
		{"C1", "the operand holds numbers or bools"},
		{"C2", "the result holds numbers or bools"},
	},
	Example: "([1.9, -1.9] as i32) == [1, -1]",
})
