package diag

// The codes of derivatives, E04xx.

// CodeNotScalar: a function that is differentiated gives something else than a float.
var CodeNotScalar = define(Entry{
	Code:  "E0401",
	Title: "the result of a function cannot be differentiated",
	Text: "`grad(f)` and `value_and_grad(f)` are for functions that give one float scalar, such as a loss: sum or " +
		"average what is larger. " +
		"`vjp(f)` and `jvp(f)` take any floats, and a weight or a direction.",
	Example: "fn f(x: f32[3]) -> f32[3] = x * x\nfn g(x: f32[3]) -> f32[3] = grad(f)(x)\n",
	Fixed:   "fn f(x: f32[3]) -> f32 = sum(x * x)\nfn g(x: f32[3]) -> f32[3] = grad(f)(x)\n",
})

// CodeWrt: what a function is differentiated by is no float parameter of it.
var CodeWrt = define(Entry{
	Code:  "E0402",
	Title: "a function is differentiated by something that is no float parameter",
	Text: "`grad(f)` differentiates by every float parameter of `f`, `grad(f, wrt = (w, b))` by those listed, in " +
		"their order. " +
		"Integers, bools and strings have no derivative.",
	Example: "fn f(n: i32, x: f32) -> f32 = x * (n as f32)\nfn g(n: i32, x: f32) -> f32 = grad(f, wrt = n)(n, x)\n",
	Fixed:   "fn f(n: i32, x: f32) -> f32 = x * (n as f32)\nfn g(n: i32, x: f32) -> f32 = grad(f, wrt = x)(n, x)\n",
})

// CodeIntegerPath: the result depends on the parameter through integers.
var CodeIntegerPath = define(Entry{
	Code:  "E0403",
	Title: "the path of a gradient breaks",
	Text: "What the function gives depends on the parameter by way of integers, which have no derivative, so that " +
		"the gradient would " +
		"silently be 0. Stay with floats (`floor`, `round` and `trunc` have the derivative 0), or say with " +
		"`stop_gradient` that the value is meant as a constant.",
	Example: "fn f(x: f32) -> f32 = x * ((x as i32) as f32)\nfn g(x: f32) -> f32 = grad(f)(x)\n",
	Fixed:   "fn f(x: f32) -> f32 = x * ((stop_gradient(x) as i32) as f32)\nfn g(x: f32) -> f32 = grad(f)(x)\n",
})

// CodeGradientRule: what custom_vjp is given does not fit together.
var CodeGradientRule = define(Entry{
	Code:  "E0404",
	Title: "the rule of a derivative does not fit its function",
	Text: "`custom_vjp(f, rule)` is `f`, with `rule` in the place of `vjp(f)`: the rule takes the arguments of `f` " +
		"and a weight for its result, of " +
		"the type of the result, and gives the weighted derivative by every parameter that holds floats, a tuple " +
		"where there is more than one. " +
		"`f` gives floats, and no parameter of it mixes floats with something else.",
	Example: "fn f(x: f32[3], y: f32) -> f32[3] = custom_vjp(|x, y| x * y, |x, y, c| c * y)(x, y)\n",
	Fixed:   "fn f(x: f32[3], y: f32) -> f32[3] = custom_vjp(|x, y| x * y, |x, y, c| (c * y, sum(c * x)))(x, y)\n",
})

// CodeRuleCaptures: the gradient by a captured value would be lost.
var CodeRuleCaptures = define(Entry{
	Code:  "E0405",
	Title: "a function with a rule of its own reads a value that is differentiated",
	Text: "The rule of `custom_vjp(f, rule)` gives the gradient by the parameters of `f`, and none by what `f` reads " +
		"around it: that part of the gradient " +
		"would silently be 0. Make the value a parameter, or say with `stop_gradient` that it is meant as a constant.",
	Example: "fn g(x: f32, w: f32) -> (f32, f32) = grad(|x, w| custom_vjp(|x| x * w, |x, c| c * w)(x))(x, w)\n",
	Fixed: "fn g(x: f32, w: f32) -> (f32, f32) =\n" +
		"    grad(|x, w| custom_vjp(|x, w| x * w, |x, w, c| (c * w, c * x))(x, w))(x, w)\n",
})

// CodeRecursiveGradient: a function that calls itself is differentiated.
var CodeRecursiveGradient = define(Entry{
	Code:  "E0406",
	Title: "a function that recurses is differentiated",
	Text: "A derivative is made of the operations of a function, and a function that calls itself has no end of them " +
		"before it runs. Write the recursion as " +
		"`iterate`, `iterate_until`, `fold` or `scan`, which have derivatives, or give its derivative with " +
		"`custom_vjp`.",
	Example: "fn power(x: f32, n: i32) -> f32 = if n == 0 { 1.0 } else { x * power(x, n - 1) }\n" +
		"fn g(x: f32) -> f32 = grad(|x| power(x, 3))(x)\n",
	Fixed: "fn power(x: f32, n: i32) -> f32 = iterate(n, 1.0, |p| p * x)\n" +
		"fn g(x: f32) -> f32 = grad(|x| power(x, 3))(x)\n",
})
