package ops

import (
	"fmt"

	"healc/ir"
	"healc/ir/scalar"
	"healc/ir/scalar/elementary"
	"healc/lang/types"
)

// pointwise fills in what all pointwise operations share: the type rule "operands share one dtype of the
// set (C1) and one shape (C2); the result is like them", and the constraints. to, when it is not Invalid,
// is the element type of the result.
func pointwise(op *ir.OpDef, d ir.OpDef, set dtypeSet, to types.DType) *ir.OpDef {
	d.Name, d.Class = op.Name, ir.Pointwise
	what := d.Quoted()
	d.Infer = func(args []types.Tensor, _ ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
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
		d.Constraints = []ir.Constraint{{Name: "C1", Text: fmt.Sprintf("the elements are of type %s", set.name)}}
	} else {
		d.Constraints = []ir.Constraint{
			{Name: "C1", Text: fmt.Sprintf("the operands share one element type, %s", set.name)},
			{Name: "C2", Text: "the operands share one shape"},
		}
	}
	return ir.Define(op, d)
}

// like keeps the operands' element type; compared gives bool.
const (
	like     = types.Invalid
	compared = types.Bool
)

func unary(f func(e scalar.Emitter, x scalar.Ref) scalar.Ref) func(scalar.Emitter, *ir.Op, []scalar.Ref) scalar.Ref {
	return func(e scalar.Emitter, _ *ir.Op, x []scalar.Ref) scalar.Ref { return f(e, x[0]) }
}

func binary(f func(e scalar.Emitter, x, y scalar.Ref) scalar.Ref) func(scalar.Emitter, *ir.Op,
	[]scalar.Ref) scalar.Ref {
	return func(e scalar.Emitter, _ *ir.Op, x []scalar.Ref) scalar.Ref { return f(e, x[0], x[1]) }
}

func ternary(f func(e scalar.Emitter, x, y, z scalar.Ref) scalar.Ref) func(scalar.Emitter, *ir.Op,
	[]scalar.Ref) scalar.Ref {
	return func(e scalar.Emitter, _ *ir.Op, x []scalar.Ref) scalar.Ref { return f(e, x[0], x[1], x[2]) }
}

// unaryRule is the VJP of a function y of one operand x: f gives the operand's cotangent from ct, that of the result.
// Where a function has no derivative at a point, the value is that of one side, as language.md says: relu' is 0 at 0,
// the first operand of max and min gets the gradient of a tie.
func unaryRule(f func(t *tape, x, y, ct *ir.Value) *ir.Value) func(t ir.Tape, op *ir.Op, cts []*ir.Value) {
	return vjp(func(t *tape, op *ir.Op, cts []*ir.Value) { t.Add(op.Args[0], f(t, op.Args[0], op.Result(), cts[0])) })
}

// piecewise is the NoGrad of functions whose derivative is 0 wherever there is one.
const piecewise = "it is constant between its steps, so that its derivative is 0"

// Arithmetic.

var Add = ir.Declare("add")
var _ = pointwise(Add, ir.OpDef{
	Surface: "+", Arity: 2, Traits: ir.Commutative | ir.Cheap,
	Summary: "Sum. Integers wrap.",
	Scalar:  binary(scalar.Emitter.Add),
	VJP: vjp(func(t *tape, op *ir.Op, cts []*ir.Value) {
		t.Add(op.Args[0], cts[0])
		t.Add(op.Args[1], cts[0])
	}),
	Example: "[1.0, 2.0] + [0.5, 0.5] == [1.5, 2.5]",
}, numbers, like)

var Sub = ir.Declare("sub")
var _ = pointwise(Sub, ir.OpDef{
	Surface: "-", Arity: 2, Traits: ir.Cheap,
	Summary: "Difference. Integers wrap.",
	Scalar:  binary(scalar.Emitter.Sub),
	VJP: vjp(func(t *tape, op *ir.Op, cts []*ir.Value) {
		t.Add(op.Args[0], cts[0])
		if t.Needs(op.Args[1]) {
			t.Add(op.Args[1], t.neg(cts[0]))
		}
	}),
	Example: "[1.0, 2.0] - [0.5, 0.5] == [0.5, 1.5]",
}, numbers, like)

var Mul = ir.Declare("mul")
var _ = pointwise(Mul, ir.OpDef{
	Surface: "*", Arity: 2, Traits: ir.Commutative | ir.Cheap,
	Summary: "Product. Integers wrap.",
	Scalar:  binary(scalar.Emitter.Mul),
	VJP: vjp(func(t *tape, op *ir.Op, cts []*ir.Value) {
		x, y := op.Args[0], op.Args[1]
		if t.Needs(x) {
			t.Add(x, t.mul(cts[0], y))
		}
		if t.Needs(y) {
			t.Add(y, t.mul(cts[0], x))
		}
	}),
	Example: "[1.0, 2.0] * [3.0, 4.0] == [3.0, 8.0]",
}, numbers, like)

var Div = ir.Declare("div")
var _ = pointwise(Div, ir.OpDef{
	Surface: "/", Arity: 2, Traits: ir.MayFail, Fails: integerDivides,
	Summary: "Quotient. Integers truncate toward zero; an integer divisor 0 stops the program.",
	Scalar: binary(func(e scalar.Emitter, x, y scalar.Ref) scalar.Ref {
		checkDivisor(e, y)
		return e.Div(x, y)
	}),
	VJP: vjp(func(t *tape, op *ir.Op, cts []*ir.Value) {
		x, y := op.Args[0], op.Args[1]
		g := t.div(cts[0], y)
		t.Add(x, g)
		if t.Needs(y) {
			t.Add(y, t.neg(t.mul(g, op.Result())))
		}
	}),
	Example: "[7, -7] / [2, 2] == [3, -3]",
}, numbers, like)

var Rem = ir.Declare("rem")
var _ = pointwise(Rem, ir.OpDef{
	Surface: "%", Arity: 2, Traits: ir.MayFail, Fails: integerDivides,
	Summary: "Remainder of the truncated quotient, with the dividend's sign; an integer divisor 0 stops the " +
		"program.",
	Scalar: binary(func(e scalar.Emitter, x, y scalar.Ref) scalar.Ref {
		checkDivisor(e, y)
		return e.Rem(x, y)
	}),
	VJP: vjp(func(t *tape, op *ir.Op, cts []*ir.Value) {
		x, y := op.Args[0], op.Args[1]
		t.Add(x, cts[0])
		if t.Needs(y) {
			t.Add(y, t.neg(t.mul(cts[0], t.Emit(Trunc, nil, t.div(x, y)))))
		}
	}),
	Example: "[7, -7] % [4, 4] == [3, -3]",
}, numbers, like)

// checkDivisor stops the program when an integer divisor is 0.
func checkDivisor(e scalar.Emitter, y scalar.Ref) {
	if t := e.TypeOf(y); t.IsInt() {
		e.Check(scalar.CheckDivideByZero, e.Ne(y, e.Int(t, 0)))
	}
}

// integerDivides reports a division of integers by something that may be 0.
func integerDivides(op *ir.Op) bool {
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

var Neg = ir.Declare("neg")
var _ = pointwise(Neg, ir.OpDef{
	Surface: "neg", Arity: 1, Traits: ir.Cheap,
	Summary: "Negation. Integers wrap; floats flip the sign bit.",
	Scalar:  unary(scalar.Emitter.Neg),
	VJP:     unaryRule(func(t *tape, _, _, ct *ir.Value) *ir.Value { return t.neg(ct) }),
	Example: "neg([1.0, -2.0]) == [-1.0, 2.0]",
}, numbers, like)

var Abs = ir.Declare("abs")
var _ = pointwise(Abs, ir.OpDef{
	Surface: "abs", Arity: 1, Traits: ir.Cheap,
	Summary: "Absolute value. The least signed integer is its own.",
	Scalar:  unary(scalar.Emitter.Abs),
	VJP:     unaryRule(func(t *tape, x, _, ct *ir.Value) *ir.Value { return t.mul(ct, t.Emit(Sign, nil, x)) }),
	Example: "abs([1.0, -2.0]) == [1.0, 2.0]",
}, numbers, like)

// The functions of language.md section 6. Each is one expansion of ir/scalar, which states the accuracy.

var Sign = ir.Declare("sign")
var _ = pointwise(Sign, ir.OpDef{
	Surface: "sign", Arity: 1, Traits: ir.Cheap,
	Summary: "-1, 0 or 1; NaN and zeros are themselves.",
	Scalar:  unary(elementary.Sign),
	NoGrad:  piecewise,
	Example: "sign([-2, 0, 5]) == [-1, 0, 1]",
}, numbers, like)

var Min = ir.Declare("min")
var _ = pointwise(Min, ir.OpDef{
	Surface: "min", Arity: 2, Traits: ir.Commutative | ir.Associative | ir.Cheap,
	Summary: "The smaller. NaN if either is NaN; -0 is below +0.",
	Scalar:  binary(scalar.Emitter.Min),
	VJP:     extremes(Le),
	Example: "min([1, 5], [2, 4]) == [1, 4]",
}, numbers, like)

var Max = ir.Declare("max")
var _ = pointwise(Max, ir.OpDef{
	Surface: "max", Arity: 2, Traits: ir.Commutative | ir.Associative | ir.Cheap,
	Summary: "The larger. NaN if either is NaN; -0 is below +0.",
	Scalar:  binary(scalar.Emitter.Max),
	VJP:     extremes(Ge),
	Example: "max([1, 5], [2, 4]) == [2, 5]",
}, numbers, like)

// extremes is the VJP of min and max: the first operand gets the cotangent where the comparison `first` holds.
func extremes(first *ir.OpDef) func(t ir.Tape, op *ir.Op, cts []*ir.Value) {
	return vjp(func(t *tape, op *ir.Op, cts []*ir.Value) {
		x, y := op.Args[0], op.Args[1]
		wins, zero := t.Emit(first, nil, x, y), t.Fill(x, 0)
		if t.Needs(x) {
			t.Add(x, t.where(wins, cts[0], zero))
		}
		if t.Needs(y) {
			t.Add(y, t.where(wins, zero, cts[0]))
		}
	})
}

var Clamp = ir.Declare("clamp")
var _ = pointwise(Clamp, ir.OpDef{
	Surface: "clamp", Arity: 3, Params: ir.Operands("x", "lo", "hi"), Traits: ir.Cheap,
	Summary: "min(max(x, lo), hi).",
	Scalar:  ternary(elementary.Clamp),
	VJP: vjp(func(t *tape, op *ir.Op, cts []*ir.Value) {
		x, lo, hi := op.Args[0], op.Args[1], op.Args[2]
		above := t.Emit(Max, nil, x, lo)
		inside, zero := t.Emit(Le, nil, above, hi), t.Fill(x, 0)
		g := t.where(inside, cts[0], zero)
		wins := t.Emit(Ge, nil, x, lo)
		if t.Needs(x) {
			t.Add(x, t.where(wins, g, zero))
		}
		if t.Needs(lo) {
			t.Add(lo, t.where(wins, zero, g))
		}
		if t.Needs(hi) {
			t.Add(hi, t.where(inside, zero, cts[0]))
		}
	}),
	Example: "clamp([-1, 5, 9], [0, 0, 0], [7, 7, 7]) == [0, 5, 7]",
}, numbers, like)

var Fma = ir.Declare("fma")
var _ = pointwise(Fma, ir.OpDef{
	Surface: "fma", Arity: 3, Traits: ir.Cheap,
	Summary: "Fused multiply and add: x * y + z, rounded once.",
	Scalar:  ternary(scalar.Emitter.Fma),
	VJP: vjp(func(t *tape, op *ir.Op, cts []*ir.Value) {
		x, y := op.Args[0], op.Args[1]
		if t.Needs(x) {
			t.Add(x, t.mul(cts[0], y))
		}
		if t.Needs(y) {
			t.Add(y, t.mul(cts[0], x))
		}
		t.Add(op.Args[2], cts[0])
	}),
	Example: "fma(2.0, 3.0, 4.0) == 10.0",
}, floats, like)

// Comparisons. Every one with a NaN is false, but `!=` is true.

var Eq = comparison("eq", "==", "equal to the second", ir.Commutative, computed, scalar.Emitter.Eq, "[1, 2] == [1, 2]")

var Ne = comparison("ne", "!=", "different from the second", ir.Commutative, computed, scalar.Emitter.Ne,
	"([1, 2] != [1, 3]) == [false, true]")

var Lt = comparison("lt", "<", "less than the second", 0, numbers, scalar.Emitter.Lt,
	"([1, 2] < [2, 2]) == [true, false]")

var Le = comparison("le", "<=", "less than or equal to the second", 0, numbers, scalar.Emitter.Le,
	"([1, 2] <= [1, 1]) == [true, false]")

var Gt = comparison("gt", ">", "greater than the second", 0, numbers, scalar.Emitter.Gt,
	"([1, 2] > [1, 1]) == [false, true]")

var Ge = comparison("ge", ">=", "greater than or equal to the second", 0, numbers, scalar.Emitter.Ge,
	"([1, 2] >= [2, 2]) == [false, true]")

func comparison(name, surface, word string, t ir.Traits, set dtypeSet,
	f func(e scalar.Emitter, x, y scalar.Ref) scalar.Ref, example string) *ir.OpDef {
	return pointwise(ir.Declare(name), ir.OpDef{
		Surface: surface, Arity: 2, Traits: t | ir.Cheap,
		Summary: "Whether the first is " + word + ".",
		Scalar:  binary(f), Example: example, NoGrad: "a comparison gives a bool",
	}, set, compared)
}

// Logic on bool, element by element: nothing is short-circuited.

var And = ir.Declare("and")
var _ = pointwise(And, ir.OpDef{
	Surface: "&&", Arity: 2, Traits: ir.Commutative | ir.Associative | ir.Cheap,
	Summary: "Whether both are true.",
	Scalar:  binary(scalar.Emitter.And), NoGrad: "bool has no gradient",
	Example: "([true, true] .&& [true, false]) == [true, false]",
}, bools, like)

var Or = ir.Declare("or")
var _ = pointwise(Or, ir.OpDef{
	Surface: "||", Arity: 2, Traits: ir.Commutative | ir.Associative | ir.Cheap,
	Summary: "Whether one of them, or both, is true.",
	Scalar:  binary(scalar.Emitter.Or), NoGrad: "bool has no gradient",
	Example: "([false, true] .|| [false, false]) == [false, true]",
}, bools, like)

var Not = ir.Declare("not")
var _ = pointwise(Not, ir.OpDef{
	Surface: "!", Arity: 1, Traits: ir.Cheap,
	Summary: "Whether it is false.",
	Scalar:  unary(scalar.Emitter.Not), NoGrad: "bool has no gradient",
	Example: "![true, false] == [false, true]",
}, bools, like)

// Select chooses element by element; both operands are evaluated.
var Select = ir.Declare("select")
var _ = ir.Define(Select, ir.OpDef{
	Class: ir.Pointwise, Surface: "where", Arity: 3, Traits: ir.Cheap, Params: ir.Operands("cond", "a", "b"),
	Summary: "The second operand where the first is true, else the third.",
	Infer: func(args []types.Tensor, _ ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
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
	VJP: vjp(func(t *tape, op *ir.Op, cts []*ir.Value) {
		c, x, y := op.Args[0], op.Args[1], op.Args[2]
		zero := t.Fill(x, 0)
		if t.Needs(x) {
			t.Add(x, t.where(c, cts[0], zero))
		}
		if t.Needs(y) {
			t.Add(y, t.where(c, zero, cts[0]))
		}
	}),
	Constraints: []ir.Constraint{
		{Name: "C1", Text: "the first operand is bool"},
		{Name: "C2", Text: "the other two share one element type"},
		{Name: "C3", Text: "all three share one shape"},
	},
	Example: "where([true, false], [1, 2], [3, 4]) == [1, 4]",
})

// Cast converts by language.md section 2.
var Cast = ir.Declare("cast")
var _ = ir.Define(Cast, ir.OpDef{
	Class: ir.Pointwise, Surface: "as", Arity: 1, Traits: ir.Cheap,
	Summary: "Conversion: to an integer truncates and saturates, NaN gives 0; integers wrap; floats round once; a " +
		"number is true unless it is 0.",
	Attrs: []ir.AttrDef{{Name: "to", Kind: ir.AttrDType, Doc: "the element type of the result"}},
	Infer: func(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		to := attrs[0].(types.DType)
		if err := requireIn("C1", "`as`", elements, args[0]); err != nil {
			return nil, err
		}
		if !elements.has(to) {
			return nil, broken("C2", "%s cannot become %s", args[0], to)
		}
		return []types.Tensor{{Elem: to, Shape: args[0].Shape}}, nil
	},
	Scalar: func(e scalar.Emitter, op *ir.Op, x []scalar.Ref) scalar.Ref {
		return elementary.Convert(e, op.DType("to"), x[0])
	},
	VJP: vjp(func(t *tape, op *ir.Op, cts []*ir.Value) {
		x := op.Args[0]
		if cut := t.broken[x]; cut != nil {
			brokenPath(cut, op)
		}
		t.Add(x, t.Emit(Cast, ir.A{"to": x.Type.Elem}, cts[0]))
	}),
	Constraints: []ir.Constraint{
		{Name: "C1", Text: "the operand holds numbers or bools, or what is stored for numbers"},
		{Name: "C2", Text: "the result does, too"},
	},
	Example: "([1.9, -1.9] as i32) == [1, -1]",
})

// Bitcast is for formats: what a file or another program lays out as bytes. Which NaN a float is nobody promises, so
// that its bits are those of one of them.
var Bitcast = ir.Declare("bitcast")
var _ = ir.Define(Bitcast, ir.OpDef{
	Class: ir.Pointwise, Surface: "bitcast", Arity: 1, Traits: ir.Cheap,
	Brackets: "type", Params: []ir.Param{{Name: "x"}},
	Summary: "The elements of another type that have the same bits; every NaN of a float has those of one of them.",
	Attrs:   []ir.AttrDef{{Name: "to", Kind: ir.AttrDType, Doc: "the element type of the result"}},
	Infer: func(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		from, to := args[0].Elem, attrs[0].(types.DType)
		for _, d := range []types.DType{from, to} {
			if d == types.Bool || !elements.has(d) {
				return nil, broken("C1", "`bitcast` goes from one type of numbers to another, not from %s to %s",
					from, to)
			}
		}
		if from.Width() != to.Width() {
			err := broken("C2", "%s has %d bits and %s %d", from, from.Width(), to, to.Width())
			if from.IsNibble() || to.IsNibble() {
				err.Help = "`as i4` takes the lower 4 bits of an integer, and `bitcast` goes between i4 and f4e2m1"
			}
			return nil, err
		}
		return []types.Tensor{{Elem: to, Shape: args[0].Shape}}, nil
	},
	Scalar: func(e scalar.Emitter, op *ir.Op, x []scalar.Ref) scalar.Ref {
		from, to := e.TypeOf(x[0]), op.DType("to")
		r := elementary.Bitcast(e, to, x[0])
		if !from.IsFloat() || from == to {
			return r
		}
		nan := map[types.DType]uint64{types.F16: 0x7e00, types.BF16: 0x7fc0, types.F32: 0x7fc00000,
			types.F64: 0x7ff8 << 48}
		return e.Select(e.Eq(x[0], x[0]), r, e.Bits(to, nan[from]))
	},
	VJP: vjp(func(t *tape, op *ir.Op, cts []*ir.Value) {
		x := op.Args[0]
		if cut := t.broken[x]; cut != nil {
			brokenPath(cut, op)
		}
		if x.Type.Elem != op.DType("to") {
			brokenPath(op, op)
		}
		t.Add(x, cts[0])
	}),
	Constraints: []ir.Constraint{
		{Name: "C1", Text: "the operand and the result hold numbers, or what is stored for numbers"},
		{Name: "C2", Text: "both types have the same number of bits"},
	},
	Example: "bitcast[i32]([1.0, 2.0]) == [0x3f800000, 0x40000000]",
})

// Functions of the bits of integers, of every width. Both operands of a shift have one type, like all operands of
// pointwise operations; a shift count counts modulo the width, so that every count has a result, the same one
// everywhere.

var Popcount = bitwise("popcount", 1, 0, "How many bits of x are 1, of two's complement for a negative x.",
	unary(scalar.Emitter.Popcnt), "popcount([7, -1]) == [3, 32]")

var Clz = bitwise("clz", 1, 0, "How many bits of x are 0 above its highest 1; the width for 0.",
	unary(scalar.Emitter.Clz), "clz([1, 0]) == [31, 32]")

var Shl = bitwise("shl", 2, 0, "a shifted left by b bits; b counts modulo the width.",
	binary(scalar.Emitter.Shl), "shl([1, 1], [3, 33]) == [8, 2]")

var Shr = bitwise("shr", 2, 0,
	"a shifted right by b bits, filled with the sign bit of a signed type, else with 0; b counts modulo the width.",
	binary(scalar.Emitter.Shr), "shr([-8, 8], [1, 1]) == [-4, 4]")

var Band = bitwise("band", 2, ir.Commutative|ir.Associative, "Bits that are 1 in both.",
	binary(scalar.Emitter.And), "band([12, 10], [10, 6]) == [8, 2]")

var Bor = bitwise("bor", 2, ir.Commutative|ir.Associative, "Bits that are 1 in one of them, or both.",
	binary(scalar.Emitter.Or), "bor([12, 10], [10, 6]) == [14, 14]")

var Bxor = bitwise("bxor", 2, ir.Commutative|ir.Associative, "Bits that are 1 in exactly one of them.",
	binary(scalar.Emitter.Xor), "bxor([12, 10], [10, 6]) == [6, 12]")

var Bnot = bitwise("bnot", 1, 0, "Bits that are 0.",
	unary(scalar.Emitter.Not), "bnot([0, 5]) == [-1, -6]")

func bitwise(name string, arity int, t ir.Traits, summary string,
	rule func(scalar.Emitter, *ir.Op, []scalar.Ref) scalar.Ref,
	example string) *ir.OpDef {
	return pointwise(ir.Declare(name), ir.OpDef{
		Surface: name, Arity: arity, Traits: t | ir.Cheap,
		Summary: summary, Scalar: rule, Example: example, NoGrad: "integers have no gradient",
	}, integers, like)
}
