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

	OpLog = pointwise(OpDef{
		Name: "log", Surface: "log", Arity: 1,
		Summary: "Natural logarithm; NaN below 0, -inf at 0.",
		Scalar:  unary(scalar.Log),
		Example: "log([1.0, 4.0]) == [0.0, 1.3862944]",
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
		Name: "clamp", Surface: "clamp", Arity: 3, Traits: Cheap,
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
