package diag

// The codes of names and effects, E03xx. The checker gives all of them.

// CodeUnknownName: a name is not declared.
var CodeUnknownName = define(Entry{
	Code:  "E0301",
	Title: "a name is not declared",
	Text: "A name is a `let` or parameter around the place, a shape parameter, a `const`, or a function of the " +
		"file or the language.",
	Example: "fn f(value: f32) -> f32 = valeu + 1.0\n",
	Fixed:   "fn f(value: f32) -> f32 = value + 1.0\n",
})

// CodeDuplicate: a name is declared twice.
var CodeDuplicate = define(Entry{
	Code:    "E0302",
	Title:   "a name is declared twice",
	Text:    "Functions and constants of a file have different names; so have the parameters of a function.",
	Example: "fn f() -> i32 = 1\n\nfn f() -> i32 = 2\n",
	Fixed:   "fn f() -> i32 = 1\n\nfn g() -> i32 = 2\n",
})

// CodeUnknownType: a type is not known.
var CodeUnknownType = define(Entry{
	Code:  "E0303",
	Title: "a type is not known",
	Text: "Element types are bool, i8 to i64, u8 to u64, f16, bf16, f32 and f64, and to store elements f8e4m3, " +
		"f8e5m2, e8m0, i4 and f4e2m1; beside them stand unit and string. " +
		"After `in` stands row_major, col_major or strided, after `on` host, device or unified.",
	Example: "fn f(x: float32) -> i32 = 0\n",
	Fixed:   "fn f(x: f32) -> i32 = 0\n",
})

// CodeUnknownAttr: an attribute is not known.
var CodeUnknownAttr = define(Entry{
	Code:    "E0304",
	Title:   "an attribute is not known, or given twice",
	Text:    "The attributes are `@io` and `@kernel`.",
	Example: "@oi fn main() -> i32 = 0\n",
	Fixed:   "@io fn main() -> i32 = 0\n",
})

// CodeEffect: a pure function does input or output.
var CodeEffect = define(Entry{
	Code:  "E0305",
	Title: "a pure function does input or output",
	Text: "A function that prints, reads or writes, itself or through others, is marked `@io`. All others are pure, " +
		"so the " +
		"compiler may reorder and fuse what they do.",
	Example: "fn report(x: f32) -> f32 = print_f32(x)\n",
	Fixed:   "@io fn report(x: f32) -> f32 = print_f32(x)\n",
})

// CodeRecursion: a recursive function is not on scalars.
var CodeRecursion = define(Entry{
	Code:  "E0306",
	Title: "recursion is on scalars only",
	Text: "A function that calls itself, perhaps through others, has no shape parameters, takes scalars and returns " +
		"a scalar or a tuple of scalars, or nothing if it is marked `@io`.",
	Example: "fn f(x: f32[2]) -> f32[2] = if x[0] > 1.0 { f(x * 0.5) } else { x }\n",
	Fixed:   "fn f(x: f32) -> f32 = if x > 1.0 { f(x * 0.5) } else { x }\n",
})

// CodeConstCycle: the value of a constant depends on itself.
var CodeConstCycle = define(Entry{
	Code:    "E0307",
	Title:   "a constant depends on itself",
	Text:    "The value of a `const` is made of literals and other constants.",
	Example: "const A: nat = B + 1\n\nconst B: nat = A + 1\n",
	Fixed:   "const A: nat = B + 1\n\nconst B: nat = 1\n",
})

// CodeMain: there is no main function to run, or it has the wrong type.
var CodeMain = define(Entry{
	Code:  "E0308",
	Title: "there is no `main` that can be run",
	Text: "`main()` takes nothing and returns an integer, `bool` or `unit`. Any other function runs with `--entry " +
		"NAME`.",
	Extern: "`healc run` of a file without a `main` function, when no `--entry` is given",
})
