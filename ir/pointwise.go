package ir

import (
	"fmt"

	"healc/ir/scalar"
	"healc/lang/types"
)

// pointwise fills in what all pointwise operations share: the type rule "operands share one dtype of the
// set (C1) and one shape (C2); the result is like them", and the constraints. to, when it is not Invalid,
// is the element type of the result.
func pointwise(op *OpDef, d OpDef, set dtypeSet, to types.DType) *OpDef {
	d.Name, d.Class = op.Name, Pointwise
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
	return define(op, d)
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

// unaryRule is the VJP of a function y of one operand x: f gives the operand's cotangent from ct, that of the result.
// Where a function has no derivative at a point, the value is that of one side, as language.md says: relu' is 0 at 0,
// the first operand of max and min gets the gradient of a tie.
func unaryRule(f func(t *Tape, x, y, ct *Value) *Value) func(t *Tape, op *Op, cts []*Value) {
	return func(t *Tape, op *Op, cts []*Value) { t.Add(op.Args[0], f(t, op.Args[0], op.Result(), cts[0])) }
}

// piecewise is the NoGrad of functions whose derivative is 0 wherever there is one.
const piecewise = "it is constant between its steps, so that its derivative is 0"

// Arithmetic.

var OpAdd = declare("add")
var _ = pointwise(OpAdd, OpDef{
	Surface: "+", Arity: 2, Traits: Commutative | Cheap,
	Summary: "Sum. Integers wrap.",
	Scalar:  binary(scalar.Emitter.Add),
	VJP: func(t *Tape, op *Op, cts []*Value) {
		t.Add(op.Args[0], cts[0])
		t.Add(op.Args[1], cts[0])
	},
	Example: "[1.0, 2.0] + [0.5, 0.5] == [1.5, 2.5]",
}, numbers, like)

var OpSub = declare("sub")
var _ = pointwise(OpSub, OpDef{
	Surface: "-", Arity: 2, Traits: Cheap,
	Summary: "Difference. Integers wrap.",
	Scalar:  binary(scalar.Emitter.Sub),
	VJP: func(t *Tape, op *Op, cts []*Value) {
		t.Add(op.Args[0], cts[0])
		if t.Needs(op.Args[1]) {
			t.Add(op.Args[1], t.neg(cts[0]))
		}
	},
	Example: "[1.0, 2.0] - [0.5, 0.5] == [0.5, 1.5]",
}, numbers, like)

var OpMul = declare("mul")
var _ = pointwise(OpMul, OpDef{
	Surface: "*", Arity: 2, Traits: Commutative | Cheap,
	Summary: "Product. Integers wrap.",
	Scalar:  binary(scalar.Emitter.Mul),
	VJP: func(t *Tape, op *Op, cts []*Value) {
		x, y := op.Args[0], op.Args[1]
		if t.Needs(x) {
			t.Add(x, t.mul(cts[0], y))
		}
		if t.Needs(y) {
			t.Add(y, t.mul(cts[0], x))
		}
	},
	Example: "[1.0, 2.0] * [3.0, 4.0] == [3.0, 8.0]",
}, numbers, like)

var OpDiv = declare("div")
var _ = pointwise(OpDiv, OpDef{
	Surface: "/", Arity: 2, Traits: MayFail, Fails: integerDivides,
	Summary: "Quotient. Integers truncate toward zero; an integer divisor 0 stops the program.",
	Scalar: binary(func(e scalar.Emitter, x, y scalar.Ref) scalar.Ref {
		checkDivisor(e, y)
		return e.Div(x, y)
	}),
	VJP: func(t *Tape, op *Op, cts []*Value) {
		x, y := op.Args[0], op.Args[1]
		g := t.div(cts[0], y)
		t.Add(x, g)
		if t.Needs(y) {
			t.Add(y, t.neg(t.mul(g, op.Result())))
		}
	},
	Example: "[7, -7] / [2, 2] == [3, -3]",
}, numbers, like)

var OpRem = declare("rem")
var _ = pointwise(OpRem, OpDef{
	Surface: "%", Arity: 2, Traits: MayFail, Fails: integerDivides,
	Summary: "Remainder of the truncated quotient, with the dividend's sign; an integer divisor 0 stops the " +
		"program.",
	Scalar: binary(func(e scalar.Emitter, x, y scalar.Ref) scalar.Ref {
		checkDivisor(e, y)
		return e.Rem(x, y)
	}),
	VJP: func(t *Tape, op *Op, cts []*Value) {
		x, y := op.Args[0], op.Args[1]
		t.Add(x, cts[0])
		if t.Needs(y) {
			t.Add(y, t.neg(t.mul(cts[0], t.Emit(OpTrunc, nil, t.div(x, y)))))
		}
	},
	Example: "[7, -7] % [4, 4] == [3, -3]",
}, numbers, like)

// checkDivisor stops the program when an integer divisor is 0.
func checkDivisor(e scalar.Emitter, y scalar.Ref) {
	if t := e.TypeOf(y); t.IsInt() {
		e.Check(scalar.CheckDivideByZero, e.Ne(y, e.Int(t, 0)))
	}
}

// integerDivides reports a division of integers by something that may be 0.
func integerDivides(op *Op) bool {
	if !op.Args[0].Type.Elem.IsInt() {
		return false
	}
	c := constantOf(op.Args[1])
	if c == nil {
		return true
	}
	for _, b := range c.Bits {
		if b == 0 {
			return true
		}
	}
	return false
}

var OpNeg = declare("neg")
var _ = pointwise(OpNeg, OpDef{
	Surface: "neg", Arity: 1, Traits: Cheap,
	Summary: "Negation. Integers wrap; floats flip the sign bit.",
	Scalar:  unary(scalar.Emitter.Neg),
	VJP:     unaryRule(func(t *Tape, _, _, ct *Value) *Value { return t.neg(ct) }),
	Example: "neg([1.0, -2.0]) == [-1.0, 2.0]",
}, numbers, like)

var OpAbs = declare("abs")
var _ = pointwise(OpAbs, OpDef{
	Surface: "abs", Arity: 1, Traits: Cheap,
	Summary: "Absolute value. The least signed integer is its own.",
	Scalar:  unary(scalar.Emitter.Abs),
	VJP:     unaryRule(func(t *Tape, x, _, ct *Value) *Value { return t.mul(ct, t.Emit(OpSign, nil, x)) }),
	Example: "abs([1.0, -2.0]) == [1.0, 2.0]",
}, numbers, like)

// The functions of language.md section 6. Each is one expansion of ir/scalar, which states the accuracy.

var OpSign = declare("sign")
var _ = pointwise(OpSign, OpDef{
	Surface: "sign", Arity: 1, Traits: Cheap,
	Summary: "-1, 0 or 1; NaN and zeros are themselves.",
	Scalar:  unary(scalar.Sign),
	NoGrad:  piecewise,
	Example: "sign([-2, 0, 5]) == [-1, 0, 1]",
}, numbers, like)

var OpMin = declare("min")
var _ = pointwise(OpMin, OpDef{
	Surface: "min", Arity: 2, Traits: Commutative | Associative | Cheap,
	Summary: "The smaller. NaN if either is NaN; -0 is below +0.",
	Scalar:  binary(scalar.Emitter.Min),
	VJP:     extremes(OpLe),
	Example: "min([1, 5], [2, 4]) == [1, 4]",
}, numbers, like)

var OpMax = declare("max")
var _ = pointwise(OpMax, OpDef{
	Surface: "max", Arity: 2, Traits: Commutative | Associative | Cheap,
	Summary: "The larger. NaN if either is NaN; -0 is below +0.",
	Scalar:  binary(scalar.Emitter.Max),
	VJP:     extremes(OpGe),
	Example: "max([1, 5], [2, 4]) == [2, 5]",
}, numbers, like)

// extremes is the VJP of min and max: the first operand gets the cotangent where the comparison `first` holds.
func extremes(first *OpDef) func(t *Tape, op *Op, cts []*Value) {
	return func(t *Tape, op *Op, cts []*Value) {
		x, y := op.Args[0], op.Args[1]
		wins, zero := t.Emit(first, nil, x, y), t.Fill(x, 0)
		if t.Needs(x) {
			t.Add(x, t.where(wins, cts[0], zero))
		}
		if t.Needs(y) {
			t.Add(y, t.where(wins, zero, cts[0]))
		}
	}
}

var OpClamp = declare("clamp")
var _ = pointwise(OpClamp, OpDef{
	Surface: "clamp", Arity: 3, Operands: []string{"x", "lo", "hi"}, Traits: Cheap,
	Summary: "min(max(x, lo), hi).",
	Scalar:  ternary(scalar.Clamp),
	VJP: func(t *Tape, op *Op, cts []*Value) {
		x, lo, hi := op.Args[0], op.Args[1], op.Args[2]
		above := t.Emit(OpMax, nil, x, lo)
		inside, zero := t.Emit(OpLe, nil, above, hi), t.Fill(x, 0)
		g := t.where(inside, cts[0], zero)
		wins := t.Emit(OpGe, nil, x, lo)
		if t.Needs(x) {
			t.Add(x, t.where(wins, g, zero))
		}
		if t.Needs(lo) {
			t.Add(lo, t.where(wins, zero, g))
		}
		if t.Needs(hi) {
			t.Add(hi, t.where(inside, zero, cts[0]))
		}
	},
	Example: "clamp([-1, 5, 9], [0, 0, 0], [7, 7, 7]) == [0, 5, 7]",
}, numbers, like)

var OpFma = declare("fma")
var _ = pointwise(OpFma, OpDef{
	Surface: "fma", Arity: 3, Traits: Cheap,
	Summary: "x * y + z, rounded once.",
	Scalar:  ternary(scalar.Emitter.Fma),
	VJP: func(t *Tape, op *Op, cts []*Value) {
		x, y := op.Args[0], op.Args[1]
		if t.Needs(x) {
			t.Add(x, t.mul(cts[0], y))
		}
		if t.Needs(y) {
			t.Add(y, t.mul(cts[0], x))
		}
		t.Add(op.Args[2], cts[0])
	},
	Example: "fma(2.0, 3.0, 4.0) == 10.0",
}, floats, like)

// Comparisons. Every one with a NaN is false, but `!=` is true.

var OpEq = comparison("eq", "==", "equal to the second", Commutative, elements, scalar.Emitter.Eq, "[1, 2] == [1, 2]")

var OpNe = comparison("ne", "!=", "different from the second", Commutative, elements, scalar.Emitter.Ne,
	"([1, 2] != [1, 3]) == [false, true]")

var OpLt = comparison("lt", "<", "less than the second", 0, numbers, scalar.Emitter.Lt,
	"([1, 2] < [2, 2]) == [true, false]")

var OpLe = comparison("le", "<=", "less than or equal to the second", 0, numbers, scalar.Emitter.Le,
	"([1, 2] <= [1, 1]) == [true, false]")

var OpGt = comparison("gt", ">", "greater than the second", 0, numbers, scalar.Emitter.Gt,
	"([1, 2] > [1, 1]) == [false, true]")

var OpGe = comparison("ge", ">=", "greater than or equal to the second", 0, numbers, scalar.Emitter.Ge,
	"([1, 2] >= [2, 2]) == [false, true]")

func comparison(name, surface, word string, t Traits, set dtypeSet,
	f func(e scalar.Emitter, x, y scalar.Ref) scalar.Ref, example string) *OpDef {
	return pointwise(declare(name), OpDef{
		Surface: surface, Arity: 2, Traits: t | Cheap,
		Summary: "Whether the first is " + word + ".",
		Scalar:  binary(f), Example: example, NoGrad: "a comparison gives a bool",
	}, set, compared)
}

// Logic on bool, element by element: nothing is short-circuited.

var OpAnd = declare("and")
var _ = pointwise(OpAnd, OpDef{
	Surface: "&&", Arity: 2, Traits: Commutative | Associative | Cheap,
	Summary: "Whether both are true.",
	Scalar:  binary(scalar.Emitter.And), NoGrad: "bool has no gradient",
	Example: "([true, true] .&& [true, false]) == [true, false]",
}, bools, like)

var OpOr = declare("or")
var _ = pointwise(OpOr, OpDef{
	Surface: "||", Arity: 2, Traits: Commutative | Associative | Cheap,
	Summary: "Whether one of them, or both, is true.",
	Scalar:  binary(scalar.Emitter.Or), NoGrad: "bool has no gradient",
	Example: "([false, true] .|| [false, false]) == [false, true]",
}, bools, like)

var OpNot = declare("not")
var _ = pointwise(OpNot, OpDef{
	Surface: "!", Arity: 1, Traits: Cheap,
	Summary: "Whether it is false.",
	Scalar:  unary(scalar.Emitter.Not), NoGrad: "bool has no gradient",
	Example: "![true, false] == [false, true]",
}, bools, like)

// OpSelect chooses element by element; both operands are evaluated.
var OpSelect = declare("select")
var _ = define(OpSelect, OpDef{
	Class: Pointwise, Surface: "where", Arity: 3, Traits: Cheap, Operands: []string{"cond", "a", "b"},
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
	VJP: func(t *Tape, op *Op, cts []*Value) {
		c, x, y := op.Args[0], op.Args[1], op.Args[2]
		zero := t.Fill(x, 0)
		if t.Needs(x) {
			t.Add(x, t.where(c, cts[0], zero))
		}
		if t.Needs(y) {
			t.Add(y, t.where(c, zero, cts[0]))
		}
	},
	Constraints: []Constraint{
		{"C1", "the first operand is bool"},
		{"C2", "the other two share one element type"},
		{"C3", "all three share one shape"},
	},
	Example: "where([true, false], [1, 2], [3, 4]) == [1, 4]",
})

// OpCast converts by language.md section 2.
var OpCast = declare("cast")
var _ = define(OpCast, OpDef{
	Class: Pointwise, Surface: "as", Arity: 1, Traits: Cheap,
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
	VJP: func(t *Tape, op *Op, cts []*Value) {
		x := op.Args[0]
		if cut := t.broken[x]; cut != nil {
			brokenPath(cut, op)
		}
		t.Add(x, t.Emit(OpCast, A{"to": x.Type.Elem}, cts[0]))
	},
	Constraints: []Constraint{
		{"C1", "the operand holds numbers or bools"},
		{"C2", "the result holds numbers or bools"},
	},
	Example: "([1.9, -1.9] as i32) == [1, -1]",
})
