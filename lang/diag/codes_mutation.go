package diag

// The codes of variables, `match` and `return`. The checker gives all of them.

// CodeInPlace: an assignment would change the shape of its target.
var CodeInPlace = define(Entry{
	Code:  "E0225",
	Title: "an assignment would change the shape of its target",
	Text: "`x .+= e` and `x[i] = e` keep the shape of what they change: `e` may broadcast to it, but not the other " +
		"way round. " +
		"A result of another shape needs a variable of its own.",
	Example: "fn f(y: f32[2, 3]) -> f32[3] = {\n    let mut x = [1.0, 2.0, 3.0];\n    x .+= y;\n    x\n}\n",
	Fixed:   "fn f(y: f32[2, 3]) -> f32[2, 3] = {\n    let x = [1.0, 2.0, 3.0];\n    x .+ y\n}\n",
})

// CodeCoverage: a match has no arm for some values.
var CodeCoverage = define(Entry{
	Code:  "E0226",
	Title: "a `match` has no arm for some values",
	Text: "Every value of the type has to reach an arm. An arm with a guard (`n if n > 3`) may be passed over, so it " +
		"covers nothing. " +
		"The pattern `_`, or a name, covers all that is left.",
	Example: "fn f(n: i32) -> i32 = match n {\n" +
		"    0 => 10,\n" +
		"    1 => 20,\n" +
		"}\n",
	Fixed: "fn f(n: i32) -> i32 = match n {\n" +
		"    0 => 10,\n" +
		"    1 => 20,\n" +
		"    _ => 0,\n" +
		"}\n",
})

// CodePlace: tensors that are in different places meet.
var CodePlace = define(Entry{
	Code:  "E0227",
	Title: "a place does not fit",
	Text: "The operands of an operation are all on the host, all on a device or all in unified memory; nothing is " +
		"copied unasked. " +
		"`to_device(x)`, `to_host(x)` and `to_unified(x)` copy. A scalar and a constant have no place.",
	Example: "fn f(x: f32[3] on device, y: f32[3]) -> f32[3] on device = x + y\n",
	Fixed:   "fn f(x: f32[3] on device, y: f32[3]) -> f32[3] on device = x + to_device(y)\n",
})

// CodeSharding: what cannot be cut into parts for ranks says that it is.
var CodeSharding = define(Entry{
	Code:  "E0229",
	Title: "a sharding does not fit",
	Text: "`sharded(axis)` cuts a tensor into blocks along one of its axes, one for each rank. What has no axes, " +
		"such as a scalar or a string, is whole on every rank.",
	Example: "fn f(n: i32 sharded(0)) -> i32 = n\n",
	Fixed:   "fn f(n: i32) -> i32 = n\n",
})

// CodeStored: an operation on elements that are only stored.
var CodeStored = define(Entry{
	Code:  "E0228",
	Title: "nothing computes with a type that is only stored",
	Text: "Elements are kept in f8e4m3, f8e5m2, e8m0, i4 and f4e2m1, moved and converted; arithmetic, comparisons " +
		"and sorting take other types. " +
		"`x as f32` is exact, and costs little: it becomes part of the kernel that reads x.",
	Example: "fn f(x: f8e4m3[3]) -> f8e4m3[3] = x + x\n",
	Fixed:   "fn f(x: f8e4m3[3]) -> f8e4m3[3] = (x as f32 + x as f32) as f8e4m3\n",
})

// CodeImmutable: an assignment to a name that was not declared with mut.
var CodeImmutable = define(Entry{
	Code:  "E0313",
	Title: "a name that is not `mut` is assigned",
	Text: "`let x = e;` gives a value a name for good. A variable is declared with `let mut`; a parameter whose " +
		"changes the caller " +
		"sees has the type `&mut T`.",
	Example: "fn f(n: i32) -> i32 = {\n    let x = n;\n    x += 1;\n    x\n}\n",
	Fixed:   "fn f(n: i32) -> i32 = {\n    let mut x = n;\n    x += 1;\n    x\n}\n",
})

// CodeCapture: a lambda changes a variable from outside of it.
var CodeCapture = define(Entry{
	Code:  "E0314",
	Title: "a lambda changes a variable from outside of it, or returns",
	Text: "The function of `tabulate`, of a fold or of a loop is evaluated in any order, or many times at once, so " +
		"it changes only " +
		"variables of its own and leaves nothing but itself. What a loop changes is its state.",
	Example: "fn f() -> i32[4] = {\n" +
		"    let mut n = 0;\n" +
		"    tabulate(4, |i| {\n" +
		"        n += i;\n" +
		"        n\n" +
		"    })\n" +
		"}\n",
	Fixed: "fn f() -> i32[4] = tabulate(4, |i| {\n" +
		"    let mut n = 0;\n" +
		"    n += i;\n" +
		"    n\n" +
		"})\n",
})

// CodeUnreachable: code that never runs.
var CodeUnreachable = define(Entry{
	Code:  "E0315",
	Title: "code is never reached",
	Text: "After a `return` nothing of its block runs; an arm of a `match` is never taken when those before it " +
		"cover its pattern.",
	Example: "fn f(n: i32) -> i32 = {\n    return n;\n    n + 1\n}\n",
	Fixed: "fn f(n: i32) -> i32 = {\n" +
		"    if n > 3 {\n" +
		"        return n;\n" +
		"    };\n" +
		"    n + 1\n" +
		"}\n",
})

// CodeMutArgument: the argument of a &mut parameter is no variable.
var CodeMutArgument = define(Entry{
	Code:  "E0316",
	Title: "the argument of a `&mut` parameter is no variable",
	Text: "A `&mut` parameter is changed, so its argument is the name of a `let mut` or of another `&mut` parameter, " +
		"each given once " +
		"in a call.",
	Example: "fn bump(x: &mut f32[3]) = {\n" +
		"    x += 1.0;\n" +
		"}\n" +
		"\n" +
		"fn f(y: f32[3]) -> f32[3] = {\n" +
		"    bump(y);\n" +
		"    y\n" +
		"}\n",
	Fixed: "fn bump(x: &mut f32[3]) = {\n" +
		"    x += 1.0;\n" +
		"}\n" +
		"\n" +
		"fn f(y: f32[3]) -> f32[3] = {\n" +
		"    let mut z = y;\n" +
		"    bump(z);\n" +
		"    z\n" +
		"}\n",
})
