package diag

// The codes of derivatives, E04xx.

// CodeNotScalar: a function that is differentiated gives something else than a float.
var CodeNotScalar = define(Entry{
	Code:  "E0401",
	Title: "the result of a function cannot be differentiated",
	Text: "`grad(f)` and `value_and_grad(f)` are for functions that give one float scalar, such as a loss: sum or average what is larger. " +
		"`vjp(f)` and `jvp(f)` take any floats, and a weight or a direction.",
	Example: "fn f(x: f32[3]) -> f32[3] = x * x\nfn g(x: f32[3]) -> f32[3] = grad(f)(x)\n",
	Fixed:   "fn f(x: f32[3]) -> f32 = sum(x * x)\nfn g(x: f32[3]) -> f32[3] = grad(f)(x)\n",
})

// CodeWrt: what a function is differentiated by is no float parameter of it.
var CodeWrt = define(Entry{
	Code:  "E0402",
	Title: "a function is differentiated by something that is no float parameter",
	Text: "`grad(f)` differentiates by every float parameter of `f`, `grad(f, wrt = (w, b))` by those listed, in their order. " +
		"Integers, bools and strings have no derivative.",
	Example: "fn f(n: i32, x: f32) -> f32 = x * (n as f32)\nfn g(n: i32, x: f32) -> f32 = grad(f, wrt = n)(n, x)\n",
	Fixed:   "fn f(n: i32, x: f32) -> f32 = x * (n as f32)\nfn g(n: i32, x: f32) -> f32 = grad(f, wrt = x)(n, x)\n",
})

// CodeIntegerPath: the result depends on the parameter through integers.
var CodeIntegerPath = define(Entry{
	Code:  "E0403",
	Title: "the path of a gradient breaks",
	Text: "What the function gives depends on the parameter by way of integers, which have no derivative, so that the gradient would " +
		"silently be 0. Stay with floats (`floor`, `round` and `trunc` have the derivative 0), or say with `stop_gradient` that the value is meant as a constant.",
	Example: "fn f(x: f32) -> f32 = x * ((x as i32) as f32)\nfn g(x: f32) -> f32 = grad(f)(x)\n",
	Fixed:   "fn f(x: f32) -> f32 = x * ((stop_gradient(x) as i32) as f32)\nfn g(x: f32) -> f32 = grad(f)(x)\n",
})
