package ops

import (
	"math"

	"healc/ir"
	"healc/ir/scalar"
	"healc/ir/scalar/elementary"
)

var Exp = ir.Declare("exp")
var _ = pointwise(Exp, ir.OpDef{
	Surface: "exp", Arity: 1,
	Summary: "e to the power x.",
	Scalar:  unary(elementary.Exp),
	VJP:     unaryRule(func(t *tape, _, y, ct *ir.Value) *ir.Value { return t.mul(ct, y) }),
	Example: "exp([0.0, 1.0]) == [1.0, 2.7182817]",
}, floats, like)

var Exp2 = ir.Declare("exp2")
var _ = pointwise(Exp2, ir.OpDef{
	Surface: "exp2", Arity: 1,
	Summary: "2 to the power x, exact for whole x.",
	Scalar:  unary(elementary.Exp2),
	VJP:     unaryRule(func(t *tape, _, y, ct *ir.Value) *ir.Value { return t.mul(ct, t.scale(y, math.Ln2)) }),
	Example: "exp2([3.0, -1.0]) == [8.0, 0.5]",
}, floats, like)

var Expm1 = ir.Declare("expm1")
var _ = pointwise(Expm1, ir.OpDef{
	Surface: "expm1", Arity: 1,
	Summary: "e to the power x less 1, accurate near 0.",
	Scalar:  unary(elementary.Expm1),
	VJP:     unaryRule(func(t *tape, x, _, ct *ir.Value) *ir.Value { return t.mul(ct, t.Emit(Exp, nil, x)) }),
	Example: "expm1([0.0, 1e-10]) == [0.0, 1e-10]",
}, floats, like)

var Log = ir.Declare("log")
var _ = pointwise(Log, ir.OpDef{
	Surface: "log", Arity: 1,
	Summary: "Natural logarithm; NaN below 0, -inf at 0.",
	Scalar:  unary(elementary.Log),
	VJP:     unaryRule(func(t *tape, x, _, ct *ir.Value) *ir.Value { return t.div(ct, x) }),
	Example: "log([1.0, 4.0]) == [0.0, 1.3862944]",
}, floats, like)

var Log2 = ir.Declare("log2")
var _ = pointwise(Log2, ir.OpDef{
	Surface: "log2", Arity: 1,
	Summary: "Logarithm to base 2, exact for powers of 2; NaN below 0, -inf at 0.",
	Scalar:  unary(elementary.Log2),
	VJP:     unaryRule(func(t *tape, x, _, ct *ir.Value) *ir.Value { return t.div(ct, t.scale(x, math.Ln2)) }),
	Example: "log2([8.0, 0.25]) == [3.0, -2.0]",
}, floats, like)

var Log10 = ir.Declare("log10")
var _ = pointwise(Log10, ir.OpDef{
	Surface: "log10", Arity: 1,
	Summary: "Logarithm to base 10; NaN below 0, -inf at 0.",
	Scalar:  unary(elementary.Log10),
	VJP:     unaryRule(func(t *tape, x, _, ct *ir.Value) *ir.Value { return t.div(ct, t.scale(x, math.Ln10)) }),
	Example: "log10([1000.0, 1.0]) == [3.0, 0.0]",
}, floats, like)

var Log1p = ir.Declare("log1p")
var _ = pointwise(Log1p, ir.OpDef{
	Surface: "log1p", Arity: 1,
	Summary: "Natural logarithm of 1 + x, accurate near 0; NaN below -1, -inf at -1.",
	Scalar:  unary(elementary.Log1p),
	VJP:     unaryRule(func(t *tape, x, _, ct *ir.Value) *ir.Value { return t.div(ct, t.add(x, t.Fill(x, 1))) }),
	Example: "log1p([0.0, 1e-10]) == [0.0, 1e-10]",
}, floats, like)

var Sqrt = ir.Declare("sqrt")
var _ = pointwise(Sqrt, ir.OpDef{
	Surface: "sqrt", Arity: 1,
	Summary: "Square root, correctly rounded; NaN below 0.",
	Scalar:  unary(scalar.Emitter.Sqrt),
	VJP:     unaryRule(func(t *tape, _, y, ct *ir.Value) *ir.Value { return t.div(ct, t.scale(y, 2)) }),
	Example: "sqrt([4.0, 2.25]) == [2.0, 1.5]",
}, floats, like)

var Rsqrt = ir.Declare("rsqrt")
var _ = pointwise(Rsqrt, ir.OpDef{
	Surface: "rsqrt", Arity: 1,
	Summary: "1 / sqrt(x).",
	Scalar:  unary(elementary.Rsqrt),
	VJP: unaryRule(func(t *tape, x, y, ct *ir.Value) *ir.Value {
		return t.neg(t.mul(ct, t.div(y, t.scale(x, 2))))
	}),
	Example: "rsqrt([4.0, 0.25]) == [0.5, 2.0]",
}, floats, like)

var Cbrt = ir.Declare("cbrt")
var _ = pointwise(Cbrt, ir.OpDef{
	Surface: "cbrt", Arity: 1,
	Summary: "Cube root, of negative x too.",
	Scalar:  unary(elementary.Cbrt),
	VJP:     unaryRule(func(t *tape, _, y, ct *ir.Value) *ir.Value { return t.div(ct, t.scale(t.square(y), 3)) }),
	Example: "cbrt([8.0, -27.0]) == [2.0, -3.0]",
}, floats, like)

var Pow = ir.Declare("pow")
var _ = pointwise(Pow, ir.OpDef{
	Surface: "pow", Arity: 2, Traits: ir.MayFail, Fails: integerPower,
	Summary: "x to the power y. Integers wrap; a negative integer exponent stops the program.",
	Scalar:  binary(elementary.Pow),
	VJP: vjp(func(t *tape, op *ir.Op, cts []*ir.Value) {
		x, y, r := op.Args[0], op.Args[1], op.Result()
		zero := t.Fill(x, 0)
		if t.Needs(x) { // x^0 is 1 for every x
			flat := t.Emit(Eq, nil, y, zero)
			base := t.where(flat, t.Fill(x, 1), x) // 0^-1 is inf, and stands behind nothing that is read
			d := t.mul(y, t.Emit(Pow, nil, base, t.sub(y, t.Fill(y, 1))))
			t.Add(x, t.mul(cts[0], t.where(flat, zero, d)))
		}
		if t.Needs(y) { // 0^y is 0 for every positive y
			flat := t.Emit(And, nil, t.Emit(Eq, nil, x, zero), t.Emit(Ge, nil, y, zero))
			d := t.mul(r, t.Emit(Log, nil, t.where(flat, t.Fill(x, 1), x)))
			t.Add(y, t.mul(cts[0], t.where(flat, zero, d)))
		}
	}),
	Example: "pow([2, 3], [10, 2]) == [1024, 9]",
}, numbers, like)

// integerPower reports a power of integers whose exponent may be negative.
func integerPower(op *ir.Op) bool {
	t := op.Args[0].Type.Elem
	if !t.IsSigned() {
		return false
	}
	c := constantOf(op.Args[1])
	if c == nil {
		return true
	}
	for _, b := range c.Bits {
		if b>>(t.Bits()-1)&1 != 0 {
			return true
		}
	}
	return false
}

var Sin = ir.Declare("sin")
var _ = pointwise(Sin, ir.OpDef{
	Surface: "sin", Arity: 1,
	Summary: "Sine of an angle in radians, exact range reduction for every magnitude.",
	Scalar:  unary(elementary.Sin),
	VJP:     unaryRule(func(t *tape, x, _, ct *ir.Value) *ir.Value { return t.mul(ct, t.Emit(Cos, nil, x)) }),
	Example: "sin([0.0, -0.0]) == [0.0, -0.0]",
}, floats, like)

var Cos = ir.Declare("cos")
var _ = pointwise(Cos, ir.OpDef{
	Surface: "cos", Arity: 1,
	Summary: "Cosine of an angle in radians, exact range reduction for every magnitude.",
	Scalar:  unary(elementary.Cos),
	VJP:     unaryRule(func(t *tape, x, _, ct *ir.Value) *ir.Value { return t.neg(t.mul(ct, t.Emit(Sin, nil, x))) }),
	Example: "cos(0.0) == 1.0",
}, floats, like)

var Tan = ir.Declare("tan")
var _ = pointwise(Tan, ir.OpDef{
	Surface: "tan", Arity: 1,
	Summary: "Tangent of an angle in radians, exact range reduction for every magnitude.",
	Scalar:  unary(elementary.Tan),
	VJP: unaryRule(func(t *tape, _, y, ct *ir.Value) *ir.Value {
		return t.mul(ct, t.add(t.Fill(y, 1), t.square(y)))
	}),
	Example: "tan([0.0, -0.0]) == [0.0, -0.0]",
}, floats, like)

var Asin = ir.Declare("asin")
var _ = pointwise(Asin, ir.OpDef{
	Surface: "asin", Arity: 1,
	Summary: "The angle from -pi/2 to pi/2 whose sine is x; NaN beyond -1 and 1.",
	Scalar:  unary(elementary.Asin),
	VJP:     unaryRule(func(t *tape, x, _, ct *ir.Value) *ir.Value { return t.div(ct, legOf(t, x)) }),
	Example: "asin([0.0, 1.0]) == [0.0, 1.5707964]",
}, floats, like)

var Acos = ir.Declare("acos")
var _ = pointwise(Acos, ir.OpDef{
	Surface: "acos", Arity: 1,
	Summary: "The angle from 0 to pi whose cosine is x; NaN beyond -1 and 1.",
	Scalar:  unary(elementary.Acos),
	VJP:     unaryRule(func(t *tape, x, _, ct *ir.Value) *ir.Value { return t.neg(t.div(ct, legOf(t, x))) }),
	Example: "acos([1.0, 0.0]) == [0.0, 1.5707964]",
}, floats, like)

// legOf is sqrt(1 - x^2), accurate near 1.
func legOf(t *tape, x *ir.Value) *ir.Value {
	return t.Emit(Sqrt, nil, t.mul(t.sub(t.Fill(x, 1), x), t.add(t.Fill(x, 1), x)))
}

var Atan = ir.Declare("atan")
var _ = pointwise(Atan, ir.OpDef{
	Surface: "atan", Arity: 1,
	Summary: "The angle from -pi/2 to pi/2 whose tangent is x.",
	Scalar:  unary(elementary.Atan),
	VJP: unaryRule(func(t *tape, x, _, ct *ir.Value) *ir.Value {
		return t.div(ct, t.add(t.Fill(x, 1), t.square(x)))
	}),
	Example: "atan([0.0, 1e30]) == [0.0, 1.5707964]",
}, floats, like)

var Atan2 = ir.Declare("atan2")
var _ = pointwise(Atan2, ir.OpDef{
	Surface: "atan2", Arity: 2, Params: ir.Operands("y", "x"),
	Summary: "The angle from -pi to pi of the point (x, y), given y first; the sign is that of y, also of a zero.",
	Scalar:  binary(elementary.Atan2),
	VJP: vjp(func(t *tape, op *ir.Op, cts []*ir.Value) {
		y, x := op.Args[0], op.Args[1]
		g := t.div(cts[0], t.add(t.square(x), t.square(y)))
		if t.Needs(y) {
			t.Add(y, t.mul(g, x))
		}
		if t.Needs(x) {
			t.Add(x, t.neg(t.mul(g, y)))
		}
	}),
	Example: "atan2([0.0, 1.0], [-1.0, 0.0]) == [3.1415927, 1.5707964]",
}, floats, like)

var Sinh = ir.Declare("sinh")
var _ = pointwise(Sinh, ir.OpDef{
	Surface: "sinh", Arity: 1,
	Summary: "Hyperbolic sine.",
	Scalar:  unary(elementary.Sinh),
	VJP:     unaryRule(func(t *tape, x, _, ct *ir.Value) *ir.Value { return t.mul(ct, t.Emit(Cosh, nil, x)) }),
	Example: "sinh([0.0, -0.0]) == [0.0, -0.0]",
}, floats, like)

var Cosh = ir.Declare("cosh")
var _ = pointwise(Cosh, ir.OpDef{
	Surface: "cosh", Arity: 1,
	Summary: "Hyperbolic cosine.",
	Scalar:  unary(elementary.Cosh),
	VJP:     unaryRule(func(t *tape, x, _, ct *ir.Value) *ir.Value { return t.mul(ct, t.Emit(Sinh, nil, x)) }),
	Example: "cosh(0.0) == 1.0",
}, floats, like)

var Tanh = ir.Declare("tanh")
var _ = pointwise(Tanh, ir.OpDef{
	Surface: "tanh", Arity: 1,
	Summary: "Hyperbolic tangent.",
	Scalar:  unary(elementary.Tanh),
	VJP: unaryRule(func(t *tape, _, y, ct *ir.Value) *ir.Value {
		return t.mul(ct, t.sub(t.Fill(y, 1), t.square(y)))
	}),
	Example: "tanh([0.0, 30.0]) == [0.0, 1.0]",
}, floats, like)

var Erf = ir.Declare("erf")
var _ = pointwise(Erf, ir.OpDef{
	Surface: "erf", Arity: 1,
	Summary: "The error function, 2/sqrt(pi) times the integral of exp(-s*s) from 0 to x.",
	Scalar:  unary(elementary.Erf),
	VJP: unaryRule(func(t *tape, x, _, ct *ir.Value) *ir.Value {
		return t.mul(ct, gaussian(t, x, 1, 2/math.Sqrt(math.Pi)))
	}),
	Example: "erf([0.0, 9.0]) == [0.0, 1.0]",
}, floats, like)

// gaussian is exp(-s*x^2) * by.
func gaussian(t *tape, x *ir.Value, s, by float64) *ir.Value {
	return t.scale(t.Emit(Exp, nil, t.scale(t.square(x), -s)), by)
}

var Relu = ir.Declare("relu")
var _ = pointwise(Relu, ir.OpDef{
	Surface: "relu", Arity: 1, Traits: ir.Cheap,
	Summary: "x where it is positive, else 0; NaN stays NaN.",
	Scalar:  unary(elementary.Relu),
	VJP: unaryRule(func(t *tape, x, _, ct *ir.Value) *ir.Value {
		zero := t.Fill(x, 0)
		return t.where(t.Emit(Gt, nil, x, zero), ct, zero)
	}),
	Example: "relu([-1.0, 2.0]) == [0.0, 2.0]",
}, numbers, like)

var Sigmoid = ir.Declare("sigmoid")
var _ = pointwise(Sigmoid, ir.OpDef{
	Surface: "sigmoid", Arity: 1,
	Summary: "1 / (1 + exp(-x)).",
	Scalar:  unary(elementary.Sigmoid),
	VJP: unaryRule(func(t *tape, _, y, ct *ir.Value) *ir.Value {
		return t.mul(ct, t.mul(y, t.sub(t.Fill(y, 1), y)))
	}),
	Example: "sigmoid([0.0, 50.0]) == [0.5, 1.0]",
}, floats, like)

var Silu = ir.Declare("silu")
var _ = pointwise(Silu, ir.OpDef{
	Surface: "silu", Arity: 1,
	Summary: "x * sigmoid(x), also called swish; -0 at -inf.",
	Scalar:  unary(elementary.Silu),
	VJP: unaryRule(func(t *tape, x, _, ct *ir.Value) *ir.Value {
		s, one := t.Emit(Sigmoid, nil, x), t.Fill(x, 1)
		return t.mul(ct, t.mul(s, t.add(one, t.mul(x, t.sub(one, s)))))
	}),
	Example: "silu([0.0, 50.0]) == [0.0, 50.0]",
}, floats, like)

var Gelu = ir.Declare("gelu")
var _ = pointwise(Gelu, ir.OpDef{
	Surface: "gelu", Arity: 1,
	Summary: "x * (1 + erf(x / sqrt(2))) / 2: the exact form, not the approximation by tanh; -0 at -inf.",
	Scalar:  unary(elementary.Gelu),
	VJP: unaryRule(func(t *tape, x, _, ct *ir.Value) *ir.Value {
		below := t.scale(t.add(t.Fill(x, 1), t.Emit(Erf, nil, t.scale(x, math.Sqrt2/2))), 0.5)
		return t.mul(ct, t.add(below, t.mul(x, gaussian(t, x, 0.5, 1/math.Sqrt(2*math.Pi)))))
	}),
	Example: "gelu([0.0, 50.0]) == [0.0, 50.0]",
}, floats, like)

var Softplus = ir.Declare("softplus")
var _ = pointwise(Softplus, ir.OpDef{
	Surface: "softplus", Arity: 1,
	Summary: "log(1 + exp(x)), without overflow.",
	Scalar:  unary(elementary.Softplus),
	VJP:     unaryRule(func(t *tape, x, _, ct *ir.Value) *ir.Value { return t.mul(ct, t.Emit(Sigmoid, nil, x)) }),
	Example: "softplus([-200.0, 200.0]) == [0.0, 200.0]",
}, floats, like)

var Floor = ir.Declare("floor")
var _ = pointwise(Floor, ir.OpDef{
	Surface: "floor", Arity: 1, Traits: ir.Cheap,
	Summary: "The largest whole number that is not above x; integers stay.",
	Scalar:  unary(wholeFloat(scalar.Emitter.Floor)),
	NoGrad:  piecewise,
	Example: "floor([1.5, -1.5]) == [1.0, -2.0]",
}, numbers, like)

var Ceil = ir.Declare("ceil")
var _ = pointwise(Ceil, ir.OpDef{
	Surface: "ceil", Arity: 1, Traits: ir.Cheap,
	Summary: "The least whole number that is not below x; integers stay.",
	Scalar:  unary(wholeFloat(scalar.Emitter.Ceil)),
	NoGrad:  piecewise,
	Example: "ceil([1.5, -1.5]) == [2.0, -1.0]",
}, numbers, like)

var Round = ir.Declare("round")
var _ = pointwise(Round, ir.OpDef{
	Surface: "round", Arity: 1, Traits: ir.Cheap,
	Summary: "The nearest whole number, ties to even; integers stay.",
	Scalar:  unary(wholeFloat(scalar.Emitter.Round)),
	NoGrad:  piecewise,
	Example: "round([0.5, 1.5]) == [0.0, 2.0]",
}, numbers, like)

var Trunc = ir.Declare("trunc")
var _ = pointwise(Trunc, ir.OpDef{
	Surface: "trunc", Arity: 1, Traits: ir.Cheap,
	Summary: "The whole number next to x toward zero; integers stay.",
	Scalar:  unary(wholeFloat(scalar.Emitter.Trunc)),
	NoGrad:  piecewise,
	Example: "trunc([1.5, -1.5]) == [1.0, -1.0]",
}, numbers, like)

// wholeFloat applies f to floats; integers are whole already.
func wholeFloat(f func(e scalar.Emitter, x scalar.Ref) scalar.Ref) func(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	return func(e scalar.Emitter, x scalar.Ref) scalar.Ref {
		if e.TypeOf(x).IsFloat() {
			return f(e, x)
		}
		return x
	}
}

var IsNan = ir.Declare("is_nan")
var _ = pointwise(IsNan, ir.OpDef{
	Surface: "is_nan", Arity: 1, Traits: ir.Cheap,
	Summary: "Whether x is NaN.",
	Scalar:  unary(elementary.IsNaN), NoGrad: "the result is a bool",
	Example: "is_nan([0.0 / 0.0, 1.0]) == [true, false]",
}, floats, compared)

var IsInf = ir.Declare("is_inf")
var _ = pointwise(IsInf, ir.OpDef{
	Surface: "is_inf", Arity: 1, Traits: ir.Cheap,
	Summary: "Whether x is an infinity.",
	Scalar:  unary(elementary.IsInf), NoGrad: "the result is a bool",
	Example: "is_inf([1.0 / 0.0, 1.0]) == [true, false]",
}, floats, compared)

var IsFinite = ir.Declare("is_finite")
var _ = pointwise(IsFinite, ir.OpDef{
	Surface: "is_finite", Arity: 1, Traits: ir.Cheap,
	Summary: "Whether x is neither NaN nor an infinity.",
	Scalar:  unary(elementary.IsFinite), NoGrad: "the result is a bool",
	Example: "is_finite([1.0 / 0.0, 1.0]) == [false, true]",
}, floats, compared)
