package diag

// The codes of warnings, E07xx: the program compiles and runs all the same.

// CodeUnused: what is declared is never used.
var CodeUnused = define(Entry{
	Code:  "E0701",
	Title: "a warning: a name is never used",
	Text: "A variable that nothing reads, a function that no other declaration names and that is not `pub`, or " +
		"a module of which nothing is used is most often a slip. A name that begins with `_` is meant to be " +
		"unused. Parameters are part of what a function promises and may be unused; so may parts of a tuple " +
		"of which another is read, and the functions of a file that has neither a `pub fn` nor a `main`, " +
		"since `--entry` can name each.",
	Example: "fn f(x: f32) -> f32 = {\n    let y = x + 1.0;\n    x\n}\n",
	Fixed:   "fn f(x: f32) -> f32 = {\n    let y = x + 1.0;\n    y\n}\n",
	Warning: true,
})

// CodeNoKernel: a function of scalars is marked @kernel.
var CodeNoKernel = define(Entry{
	Code:  "E0702",
	Title: "a warning: a function of scalars marked `@kernel` becomes no kernel of its own",
	Text: "A function of scalars is computed where it is called, inside the kernel of its caller. That is one " +
		"pass as promised, so `@kernel` does no harm there, and says nothing.",
	Extern: "`@kernel fn f(x: f32) -> f32 = x`, compiled or run",
})
