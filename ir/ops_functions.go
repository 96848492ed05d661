package ir

import "healc/ir/scalar"

// The functions of language.md section 6. Each is one expansion of ir/scalar, which states the accuracy.
var (
	OpSign = pointwise(OpDef{
		Name: "sign", Surface: "sign", Arity: 1, Traits: Cheap,
		Summary: "-1, 0 or 1; NaN and zeros are themselves.",
		Scalar:  unary(scalar.Sign),
		Example: "sign([-2, 0, 5]) == [-1, 0, 1]",
	}, numbers, like)

	OpExp = pointwise(OpDef{
		Name: "exp", Surface: "exp", Arity: 1,
		Summary: "e to the power x.",
		Scalar:  unary(scalar.Exp),
		Example: "exp([0.0, 1.0]) == [1.0, 2.7182817]",
	}, floats, like)

	OpExp2 = pointwise(OpDef{
		Name: "exp2", Surface: "exp2", Arity: 1,
		Summary: "2 to the power x, exact for whole x.",
		Scalar:  unary(scalar.Exp2),
		Example: "exp2([3.0, -1.0]) == [8.0, 0.5]",
	}, floats, like)

	OpExpm1 = pointwise(OpDef{
		Name: "expm1", Surface: "expm1", Arity: 1,
		Summary: "e to the power x less 1, accurate near 0.",
		Scalar:  unary(scalar.Expm1),
		Example: "expm1([0.0, 1e-10]) == [0.0, 1e-10]",
	}, floats, like)

	OpLog = pointwise(OpDef{
		Name: "log", Surface: "log", Arity: 1,
		Summary: "Natural logarithm; NaN below 0, -inf at 0.",
		Scalar:  unary(scalar.Log),
		Example: "log([1.0, 4.0]) == [0.0, 1.3862944]",
	}, floats, like)

	OpLog2 = pointwise(OpDef{
		Name: "log2", Surface: "log2", Arity: 1,
		Summary: "Logarithm to base 2, exact for powers of 2; NaN below 0, -inf at 0.",
		Scalar:  unary(scalar.Log2),
		Example: "log2([8.0, 0.25]) == [3.0, -2.0]",
	}, floats, like)

	OpLog10 = pointwise(OpDef{
		Name: "log10", Surface: "log10", Arity: 1,
		Summary: "Logarithm to base 10; NaN below 0, -inf at 0.",
		Scalar:  unary(scalar.Log10),
		Example: "log10([1000.0, 1.0]) == [3.0, 0.0]",
	}, floats, like)

	OpLog1p = pointwise(OpDef{
		Name: "log1p", Surface: "log1p", Arity: 1,
		Summary: "Natural logarithm of 1 + x, accurate near 0; NaN below -1, -inf at -1.",
		Scalar:  unary(scalar.Log1p),
		Example: "log1p([0.0, 1e-10]) == [0.0, 1e-10]",
	}, floats, like)

	OpSqrt = pointwise(OpDef{
		Name: "sqrt", Surface: "sqrt", Arity: 1,
		Summary: "Square root, correctly rounded; NaN below 0.",
		Scalar:  unary(scalar.Emitter.Sqrt),
		Example: "sqrt([4.0, 2.25]) == [2.0, 1.5]",
	}, floats, like)

	OpRsqrt = pointwise(OpDef{
		Name: "rsqrt", Surface: "rsqrt", Arity: 1,
		Summary: "1 / sqrt(x).",
		Scalar:  unary(scalar.Rsqrt),
		Example: "rsqrt([4.0, 0.25]) == [0.5, 2.0]",
	}, floats, like)

	OpCbrt = pointwise(OpDef{
		Name: "cbrt", Surface: "cbrt", Arity: 1,
		Summary: "Cube root, of negative x too.",
		Scalar:  unary(scalar.Cbrt),
		Example: "cbrt([8.0, -27.0]) == [2.0, -3.0]",
	}, floats, like)

	OpTanh = pointwise(OpDef{
		Name: "tanh", Surface: "tanh", Arity: 1,
		Summary: "Hyperbolic tangent.",
		Scalar:  unary(scalar.Tanh),
		Example: "tanh([0.0, 30.0]) == [0.0, 1.0]",
	}, floats, like)

	OpSigmoid = pointwise(OpDef{
		Name: "sigmoid", Surface: "sigmoid", Arity: 1,
		Summary: "1 / (1 + exp(-x)).",
		Scalar:  unary(scalar.Sigmoid),
		Example: "sigmoid([0.0, 50.0]) == [0.5, 1.0]",
	}, floats, like)

	OpSilu = pointwise(OpDef{
		Name: "silu", Surface: "silu", Arity: 1,
		Summary: "x * sigmoid(x), also called swish; -0 at -inf.",
		Scalar:  unary(scalar.Silu),
		Example: "silu([0.0, 50.0]) == [0.0, 50.0]",
	}, floats, like)

	OpGelu = pointwise(OpDef{
		Name: "gelu", Surface: "gelu", Arity: 1,
		Summary: "x * (1 + erf(x / sqrt(2))) / 2: the exact form, not the approximation by tanh; -0 at -inf.",
		Scalar:  unary(scalar.Gelu),
		Example: "gelu([0.0, 50.0]) == [0.0, 50.0]",
	}, floats, like)

	OpSoftplus = pointwise(OpDef{
		Name: "softplus", Surface: "softplus", Arity: 1,
		Summary: "log(1 + exp(x)), without overflow.",
		Scalar:  unary(scalar.Softplus),
		Example: "softplus([-200.0, 200.0]) == [0.0, 200.0]",
	}, floats, like)

	OpErf = pointwise(OpDef{
		Name: "erf", Surface: "erf", Arity: 1,
		Summary: "The error function, 2/sqrt(pi) times the integral of exp(-s*s) from 0 to x.",
		Scalar:  unary(scalar.Erf),
		Example: "erf([0.0, 9.0]) == [0.0, 1.0]",
	}, floats, like)

	OpSin = pointwise(OpDef{
		Name: "sin", Surface: "sin", Arity: 1,
		Summary: "Sine of an angle in radians, exact range reduction for every magnitude.",
		Scalar:  unary(scalar.Sin),
		Example: "sin([0.0, -0.0]) == [0.0, -0.0]",
	}, floats, like)

	OpCos = pointwise(OpDef{
		Name: "cos", Surface: "cos", Arity: 1,
		Summary: "Cosine of an angle in radians, exact range reduction for every magnitude.",
		Scalar:  unary(scalar.Cos),
		Example: "cos(0.0) == 1.0",
	}, floats, like)

	OpTan = pointwise(OpDef{
		Name: "tan", Surface: "tan", Arity: 1,
		Summary: "Tangent of an angle in radians, exact range reduction for every magnitude.",
		Scalar:  unary(scalar.Tan),
		Example: "tan([0.0, -0.0]) == [0.0, -0.0]",
	}, floats, like)

	OpAsin = pointwise(OpDef{
		Name: "asin", Surface: "asin", Arity: 1,
		Summary: "The angle from -pi/2 to pi/2 whose sine is x; NaN beyond -1 and 1.",
		Scalar:  unary(scalar.Asin),
		Example: "asin([0.0, 1.0]) == [0.0, 1.5707964]",
	}, floats, like)

	OpAcos = pointwise(OpDef{
		Name: "acos", Surface: "acos", Arity: 1,
		Summary: "The angle from 0 to pi whose cosine is x; NaN beyond -1 and 1.",
		Scalar:  unary(scalar.Acos),
		Example: "acos([1.0, 0.0]) == [0.0, 1.5707964]",
	}, floats, like)

	OpAtan = pointwise(OpDef{
		Name: "atan", Surface: "atan", Arity: 1,
		Summary: "The angle from -pi/2 to pi/2 whose tangent is x.",
		Scalar:  unary(scalar.Atan),
		Example: "atan([0.0, 1e30]) == [0.0, 1.5707964]",
	}, floats, like)

	OpAtan2 = pointwise(OpDef{
		Name: "atan2", Surface: "atan2", Arity: 2, Operands: []string{"y", "x"},
		Summary: "The angle from -pi to pi of the point (x, y), given y first; the sign is that of y, also of a zero.",
		Scalar:  binary(scalar.Atan2),
		Example: "atan2([0.0, 1.0], [-1.0, 0.0]) == [3.1415927, 1.5707964]",
	}, floats, like)

	OpSinh = pointwise(OpDef{
		Name: "sinh", Surface: "sinh", Arity: 1,
		Summary: "Hyperbolic sine.",
		Scalar:  unary(scalar.Sinh),
		Example: "sinh([0.0, -0.0]) == [0.0, -0.0]",
	}, floats, like)

	OpCosh = pointwise(OpDef{
		Name: "cosh", Surface: "cosh", Arity: 1,
		Summary: "Hyperbolic cosine.",
		Scalar:  unary(scalar.Cosh),
		Example: "cosh(0.0) == 1.0",
	}, floats, like)

	OpRelu = pointwise(OpDef{
		Name: "relu", Surface: "relu", Arity: 1, Traits: Cheap,
		Summary: "x where it is positive, else 0; NaN stays NaN.",
		Scalar:  unary(scalar.Relu),
		Example: "relu([-1.0, 2.0]) == [0.0, 2.0]",
	}, numbers, like)

	OpFloor = pointwise(OpDef{
		Name: "floor", Surface: "floor", Arity: 1, Traits: Cheap,
		Summary: "The largest whole number that is not above x; integers stay.",
		Scalar:  unary(wholeFloat(scalar.Emitter.Floor)),
		Example: "floor([1.5, -1.5]) == [1.0, -2.0]",
	}, numbers, like)

	OpCeil = pointwise(OpDef{
		Name: "ceil", Surface: "ceil", Arity: 1, Traits: Cheap,
		Summary: "The least whole number that is not below x; integers stay.",
		Scalar:  unary(wholeFloat(scalar.Emitter.Ceil)),
		Example: "ceil([1.5, -1.5]) == [2.0, -1.0]",
	}, numbers, like)

	OpRound = pointwise(OpDef{
		Name: "round", Surface: "round", Arity: 1, Traits: Cheap,
		Summary: "The nearest whole number, ties to even; integers stay.",
		Scalar:  unary(wholeFloat(scalar.Emitter.Round)),
		Example: "round([0.5, 1.5]) == [0.0, 2.0]",
	}, numbers, like)

	OpTrunc = pointwise(OpDef{
		Name: "trunc", Surface: "trunc", Arity: 1, Traits: Cheap,
		Summary: "The whole number next to x toward zero; integers stay.",
		Scalar:  unary(wholeFloat(scalar.Emitter.Trunc)),
		Example: "trunc([1.5, -1.5]) == [1.0, -1.0]",
	}, numbers, like)

	OpPow = pointwise(OpDef{
		Name: "pow", Surface: "pow", Arity: 2, Traits: MayFail, Fails: integerPower,
		Summary: "x to the power y. Integers wrap; a negative integer exponent stops the program.",
		Scalar:  binary(scalar.Pow),
		Example: "pow([2, 3], [10, 2]) == [1024, 9]",
	}, numbers, like)

	OpClamp = pointwise(OpDef{
		Name: "clamp", Surface: "clamp", Arity: 3, Operands: []string{"x", "lo", "hi"}, Traits: Cheap,
		Summary: "min(max(x, lo), hi).",
		Scalar:  ternary(scalar.Clamp),
		Example: "clamp([-1, 5, 9], [0, 0, 0], [7, 7, 7]) == [0, 5, 7]",
	}, numbers, like)

	OpIsNan = pointwise(OpDef{
		Name: "is_nan", Surface: "is_nan", Arity: 1, Traits: Cheap,
		Summary: "Whether x is NaN.",
		Scalar:  unary(scalar.IsNaN), NoGrad: "the result is a bool",
		Example: "is_nan([0.0 / 0.0, 1.0]) == [true, false]",
	}, floats, compared)

	OpIsInf = pointwise(OpDef{
		Name: "is_inf", Surface: "is_inf", Arity: 1, Traits: Cheap,
		Summary: "Whether x is an infinity.",
		Scalar:  unary(scalar.IsInf), NoGrad: "the result is a bool",
		Example: "is_inf([1.0 / 0.0, 1.0]) == [true, false]",
	}, floats, compared)

	OpIsFinite = pointwise(OpDef{
		Name: "is_finite", Surface: "is_finite", Arity: 1, Traits: Cheap,
		Summary: "Whether x is neither NaN nor an infinity.",
		Scalar:  unary(scalar.IsFinite), NoGrad: "the result is a bool",
		Example: "is_finite([1.0 / 0.0, 1.0]) == [false, true]",
	}, floats, compared)
)

// wholeFloat applies f to floats; integers are whole already.
func wholeFloat(f func(e scalar.Emitter, x scalar.Ref) scalar.Ref) func(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	return func(e scalar.Emitter, x scalar.Ref) scalar.Ref {
		if e.TypeOf(x).IsFloat() {
			return f(e, x)
		}
		return x
	}
}
