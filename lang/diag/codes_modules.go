package diag

// The codes of modules, attributes that promise something, and type parameters.

// CodeImport: what an import names cannot be found.
var CodeImport = define(Entry{
	Code:  "E0309",
	Title: "there is nothing to import",
	Text: "`import nn` makes a module of the standard library visible, `import \"./layers\"` the file layers.heal " +
		"beside this " +
		"one. Paths start with `./` or `../` and are relative to the importing file.",
	Extern: "`import nosuch`, or a path at which there is no file",
})

// CodeOutside: an import leaves the folder of the program.
var CodeOutside = define(Entry{
	Code:  "E0317",
	Title: "an import leaves the folder of the program",
	Text: "The folder of a program is that of the file that healc is given. What it imports, and what that imports, " +
		"stays in this folder and below, by `..` and by links, so that a program from elsewhere reads no files " +
		"but its own. `--allow-import FOLDER` allows another folder and all below it, as often as it is given; in " +
		"Go it is `Options.AllowImport`. For `healc test FOLDER`, the folder of the programs is that one.",
	Extern: "`import \"../shared/layers\"` in the file that is compiled",
})

// CodeImportCycle: a file imports itself, perhaps through others.
var CodeImportCycle = define(Entry{
	Code:   "E0310",
	Title:  "a file imports itself",
	Text:   "The imports of files form no cycle: move what two files need of each other into a third.",
	Extern: "two files that import each other",
})

// CodePrivate: a name of a module is not public.
var CodePrivate = define(Entry{
	Code:   "E0311",
	Title:  "a name of a module is private",
	Text:   "Only functions and constants that are declared `pub` are visible to the files that import them.",
	Extern: "`layers.f(1.0)` where layers.heal declares `fn f` without `pub`",
})

// CodeBound: a type argument is not in the bound of its parameter.
var CodeBound = define(Entry{
	Code:  "E0312",
	Title: "a type is outside the bound of a type parameter",
	Text: "The bound of a type parameter says which element types it stands for: `int` the integers, `float` f16, " +
		"bf16, f32 " +
		"and f64, `num` both, `any` bool too. `tuple[T]` stands for a tensor of T or a tuple of such.",
	Example: "fn half[T: float](x: T) -> T = x * 0.5\n\nfn f(n: i32) -> i32 = half(n)\n",
	Fixed:   "fn half[T: float](x: T) -> T = x * 0.5\n\nfn f(n: f32) -> f32 = half(n)\n",
})

// CodeKernel: a function marked @kernel does not become one kernel.
var CodeKernel = define(Entry{
	Code:  "E0503",
	Title: "a function marked `@kernel` does not become exactly one kernel",
	Text: "`@kernel` promises that a function runs as one kernel: one pass over its data, without intermediate " +
		"tensors in " +
		"memory. The message says what it becomes instead; `healc explain` shows the kernels.",
	Extern: "`@kernel fn f(x: f32[4, 4]) -> f32[4] = { let y = x @ x; y @ sum(y, axis = 0) }`, compiled",
})
