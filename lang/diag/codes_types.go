package diag

// The codes of types and shapes, E02xx. The checker gives all of them.

// CodeMismatch: a value of one type stands where another is needed.
var CodeMismatch = define(Entry{
	Code:  "E0201",
	Title: "a value of one type stands where another is needed",
	Text: "An argument, an annotated `let`, a condition or a fold needs a value of one type and gets another. " +
		"There is no implicit conversion between element types: write `x as T`.",
	Example: "fn f(x: i32) -> f32 = {\n    let y: f32 = x;\n    y\n}\n",
	Fixed:   "fn f(x: i32) -> f32 = {\n    let y: f32 = x as f32;\n    y\n}\n",
})

// CodeOperands: an operator or function does not take operands of these element types.
var CodeOperands = define(Entry{
	Code:  "E0202",
	Title: "the operands have types that do not go together",
	Text: "The operands of an operator, and the arguments of an element-wise function, have one element type. " +
		"Convert one of them with `x as T`.",
	Example: "fn f(x: f32, n: i32) -> f32 = x * n\n",
	Fixed:   "fn f(x: f32, n: i32) -> f32 = x * (n as f32)\n",
})

// CodeNotBroadcastable: operand shapes have an axis whose extents differ and neither is 1.
var CodeNotBroadcastable = define(Entry{
	Code:  "E0203",
	Title: "shapes do not broadcast",
	Text: "Shapes are aligned at the last axis; missing leading axes count as 1; two extents match when they are " +
		"the same or one is the literal 1. It is decided when the program is checked, so two different shape " +
		"parameters never match, even if their values are equal in every call.",
	Example: "fn f(a: f32[4], b: f32[3]) -> f32[4] = a .+ b\n",
	Fixed:   "fn f(a: f32[4], b: f32[1]) -> f32[4] = a .+ b\n",
})

// CodePlainShapes: a plain operator stands between tensors of different shapes.
var CodePlainShapes = define(Entry{
	Code:  "E0204",
	Title: "a plain operator takes operands of one shape",
	Text: "`a + b` says that the shapes agree: two scalars, two tensors of one shape, or a tensor and a scalar. " +
		"To broadcast, write the dotted operator: `a .+ b`.",
	Example: "fn f(a: f32[2, 3], b: f32[3]) -> f32[2, 3] = a + b\n",
	Fixed:   "fn f(a: f32[2, 3], b: f32[3]) -> f32[2, 3] = a .+ b\n",
})

// CodeResult: the body of a function has another type than the function promises.
var CodeResult = define(Entry{
	Code:  "E0205",
	Title: "the body does not have the type that the function returns",
	Text: "The type after `->` is the type of the body. Without `->` a function returns `unit`; a block that ends " +
		"in `;` has the value `unit`.",
	Example: "fn f(x: f32[3]) -> f32 = x\n",
	Fixed:   "fn f(x: f32[3]) -> f32 = +/(x)\n",
})

// CodeArms: the arms of an if have different types.
var CodeArms = define(Entry{
	Code:  "E0206",
	Title: "the arms of an `if` or a `match` have different types",
	Text: "An `if` is a value, so both arms have one type. Without `else` the value is `unit`, and so must the arm's " +
		"be: " +
		"end it with `;` or add an `else`.",
	Example: "fn f(c: bool) -> i32 = if c { 1 } else { true }\n",
	Fixed:   "fn f(c: bool) -> i32 = if c { 1 } else { 0 }\n",
})

// CodeLiteral: a literal does not fit its type.
var CodeLiteral = define(Entry{
	Code:  "E0207",
	Title: "a literal does not fit its type",
	Text: "A literal takes its type from its suffix, else from the place where it stands, else it is `i32` or `f32`. " +
		"Its value has to be one of that type.",
	Example: "fn f() -> u8 = 300\n",
	Fixed:   "fn f() -> u8 = 255\n",
})

// CodeRagged: the elements of an array literal have different types or shapes.
var CodeRagged = define(Entry{
	Code:    "E0208",
	Title:   "the elements of an array literal differ",
	Text:    "All elements of `[a, b, c]` have one element type and one shape.",
	Example: "fn f() -> i32[2, 2] = [[1, 2], [3]]\n",
	Fixed:   "fn f() -> i32[2, 2] = [[1, 2], [3, 4]]\n",
})

// CodeShapeParam: the arguments of a call give a shape parameter two values, or an extent differs from the parameter's.
var CodeShapeParam = define(Entry{
	Code:  "E0209",
	Title: "the arguments of a call disagree about an extent",
	Text: "A shape parameter is bound by the first argument in whose type it stands alone, or by an extent such as " +
		"`2*N + 1` that has one solution. Every other extent of the parameters' types then has to be what the " +
		"arguments have.",
	Example: "fn dot[N](x: f32[N], y: f32[N]) -> f32 = +/(x * y)\n\nfn f(a: f32[3], b: f32[4]) -> f32 = dot(a, b)\n",
	Fixed:   "fn dot[N](x: f32[N], y: f32[N]) -> f32 = +/(x * y)\n\nfn f(a: f32[4], b: f32[4]) -> f32 = dot(a, b)\n",
})

// CodeUnboundParam: nothing in a call says what a shape parameter is.
var CodeUnboundParam = define(Entry{
	Code:  "E0210",
	Title: "nothing says what a shape parameter is",
	Text: "A shape parameter is bound by an argument in whose type it stands alone, as in `f32[N]`, or in an extent " +
		"that " +
		"has one solution, as in `f32[2*N + 1]`. Where there is none, give it in the call: `f[8](...)`.",
	Example: "fn ones_of[N]() -> f32[N] = ones[f32, N]()\n\nfn f() -> f32[8] = ones_of()\n",
	Fixed:   "fn ones_of[N]() -> f32[N] = ones[f32, N]()\n\nfn f() -> f32[8] = ones_of[8]()\n",
})

// CodeAxis: an axis is out of range or named twice.
var CodeAxis = define(Entry{
	Code:    "E0211",
	Title:   "an axis is out of range or named twice",
	Text:    "A tensor of rank r has the axes 0 to r-1; -1 is the last one.",
	Example: "fn f(x: f32[2, 3]) -> f32[2] = +/[axis=2](x)\n",
	Fixed:   "fn f(x: f32[2, 3]) -> f32[2] = +/[axis=1](x)\n",
})

// CodeIndexRange: an index or a slice is out of range, whatever the values at run time.
var CodeIndexRange = define(Entry{
	Code:  "E0212",
	Title: "an index is out of range",
	Text: "An axis of extent n has the indices 0 to n-1, and a slice `lo..hi` needs 0 <= lo <= hi <= n. A negative " +
		"literal " +
		"counts from the end. What cannot be decided here is checked when the program runs.",
	Example: "fn f(x: f32[3]) -> f32 = x[3]\n",
	Fixed:   "fn f(x: f32[3]) -> f32 = x[2]\n",
})

// CodeIndex: a value cannot be indexed, or not like this.
var CodeIndex = define(Entry{
	Code:    "E0213",
	Title:   "a value cannot be indexed like this",
	Text:    "A tensor of rank r takes at most r indices, each an `i32` or `i64`, a range, or a tensor of those.",
	Example: "fn f(x: f32[3]) -> f32 = x[0, 1]\n",
	Fixed:   "fn f(x: f32[3]) -> f32 = x[0]\n",
})

// CodeExtent: an extent or a size overflows.
var CodeExtent = define(Entry{
	Code:    "E0214",
	Title:   "an extent or a size is out of range",
	Text:    "An extent is at least 0 and below 2^31; a tensor has fewer than 2^63 bytes.",
	Example: "fn f(x: f32[3000000000]) -> f32 = +/(x)\n",
	Fixed:   "fn f(x: f32[300000000]) -> f32 = +/(x)\n",
})

// CodeShapeExpr: an extent is not a shape expression.
var CodeShapeExpr = define(Entry{
	Code:  "E0215",
	Title: "an extent is not a shape expression",
	Text: "Extents are known when a function is called with given shapes. They are built from integer literals, " +
		"shape parameters and constants with `+ - *` and `/` where it leaves no remainder. A value computed at run " +
		"time cannot be one.",
	Example: "fn f(n: i32) -> f32 = +/(zeros[f32, n]())\n",
	Fixed:   "fn f[N](x: f32[N]) -> f32 = +/(zeros[f32, N]())\n",
})

// CodeArity: a call has the wrong number of arguments.
var CodeArity = define(Entry{
	Code:    "E0216",
	Title:   "a call has the wrong number of arguments",
	Text:    "The message shows what the function takes.",
	Example: "fn add3(a: i32, b: i32, c: i32) -> i32 = a + b + c\n\nfn f() -> i32 = add3(1, 2)\n",
	Fixed:   "fn add3(a: i32, b: i32, c: i32) -> i32 = a + b + c\n\nfn f() -> i32 = add3(1, 2, 3)\n",
})

// CodeArgName: an argument is named as no parameter is, or given twice.
var CodeArgName = define(Entry{
	Code:    "E0217",
	Title:   "an argument's name is wrong",
	Text:    "`name = value` gives the parameter of that name; each is given once, and named ones come last.",
	Example: "fn f(x: f32[2, 3]) -> f32[2] = sum(x, axes = 1)\n",
	Fixed:   "fn f(x: f32[2, 3]) -> f32[2] = sum(x, axis = 1)\n",
})

// CodeRule: the operands break a rule of the operation.
var CodeRule = define(Entry{
	Code:    "E0218",
	Title:   "the operands break a rule of the operation",
	Text:    "Each operation says which element types and shapes it takes; the message names the rule.",
	Example: "fn f(n: i32) -> i32 = exp(n)\n",
	Fixed:   "fn f(n: i32) -> f32 = exp(n as f32)\n",
})

// CodeMatmul: the shapes of a matrix product do not fit.
var CodeMatmul = define(Entry{
	Code:  "E0219",
	Title: "the shapes of a matrix product do not fit",
	Text: "`a @ b` needs `[..., M, K] @ [..., K, N]`: the last extent of `a` is the last but one of `b`, and leading " +
		"axes broadcast. Vectors are `[K] @ [K, N]` and `[M, K] @ [K]`.",
	Example: "fn f(a: f32[2, 3], b: f32[2, 3]) -> f32[2, 2] = a @ b\n",
	Fixed:   "fn f(a: f32[2, 3], b: f32[2, 3]) -> f32[2, 2] = a @ transpose(b)\n",
})

// CodeReshape: a reshape would change the number of elements.
var CodeReshape = define(Entry{
	Code:    "E0220",
	Title:   "a reshape changes the number of elements",
	Text:    "The product of the extents stays the same. One entry may be -1: it becomes what the others leave over.",
	Example: "fn f(x: f32[6]) -> f32[2, 2] = reshape(x, [2, 2])\n",
	Fixed:   "fn f(x: f32[6]) -> f32[2, 3] = reshape(x, [2, 3])\n",
})

// CodePattern: a pattern does not fit the value it takes apart.
var CodePattern = define(Entry{
	Code:    "E0221",
	Title:   "a pattern does not fit its value",
	Text:    "`let (a, b) = e` takes apart a tuple of two values.",
	Example: "fn f(t: (i32, i32)) -> i32 = {\n    let (a, b, c) = t;\n    a + b + c\n}\n",
	Fixed:   "fn f(t: (i32, i32)) -> i32 = {\n    let (a, b) = t;\n    a + b\n}\n",
})

// CodeFunctionValue: a function or a lambda stands where a value is needed, or the other way round.
var CodeFunctionValue = define(Entry{
	Code:  "E0222",
	Title: "functions and values are mixed up",
	Text: "Functions are no values: they are called, or stand as the argument of a fold or `tabulate`. A value " +
		"cannot be " +
		"called; `a[i]` indexes.",
	Example: "fn f(x: f32[3]) -> f32 = x(0)\n",
	Fixed:   "fn f(x: f32[3]) -> f32 = x[0]\n",
})

// CodeNotConstant: something has to be known when the program is compiled and is not.
var CodeNotConstant = define(Entry{
	Code:    "E0223",
	Title:   "a value has to be constant",
	Text:    "An axis, `keep`, a step and the value of a `const` are known when the program is compiled.",
	Example: "fn f(x: f32[2, 3], k: i32) -> f32[2] = +/[axis=k](x)\n",
	Fixed:   "fn f(x: f32[2, 3]) -> f32[2] = +/[axis=1](x)\n",
})

// CodeCast: a value cannot be converted.
var CodeCast = define(Entry{
	Code:    "E0224",
	Title:   "a value cannot be converted",
	Text:    "`x as T` converts elements of every type, element-wise on tensors, to the element type `T`.",
	Example: "fn f(s: string) -> i32 = s as i32\n",
	Fixed:   "fn f(s: bool) -> i32 = s as i32\n",
})
