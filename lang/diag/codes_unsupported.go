package diag

// The codes of constructs and targets that are not handled, E05xx.

// CodeUnsupported: a construct of the language that this version of healc does not compile yet.
var CodeUnsupported = define(Entry{
	Code:  "E0501",
	Title: "a construct is not supported yet",
	Text: "The construct is part of the language, but this version of healc does not compile it. The message " +
		"names it.",
	Example: "fn f(names: string[3]) -> i32 = 0\n",
	Fixed:   "fn f(name: string) -> i32 = len(name)\n",
})

// CodeTooBig: an expression is legal but larger than the compiler handles.
var CodeTooBig = define(Entry{
	Code:  "E0502",
	Title: "a construct is larger than the compiler handles",
	Text: "A tensor has at most 64 axes, a tuple at most 256 values in all, and a shape expression at most 256 " +
		"terms of at most 32 factors.",
	Example: "fn f[N](x: f32[N*N*N*N*N*N*N*N*N*N*N*N*N*N*N*N*N*N*N*N*N*N*N*N*N*N*N*N*N*N*N*N*N]) -> i32 = 0\n",
	Fixed:   "fn f[N](x: f32[N * N * N]) -> i32 = 0\n",
})
