package diag

// The syntax errors, E01xx: what the lexer and the parser report.
var (
	// CodeUnexpected: a token stands where the grammar wants another one.
	CodeUnexpected = define(Entry{
		Code:  "E0101",
		Title: "unexpected token",
		Text: "The grammar wants something else at this place. The message names what was found and what was\n" +
			"expected; the help line knows the habits of other languages.",
		Example: "fn f(x: f32) -> f32 = x +\n",
		Fixed:   "fn f(x: f32) -> f32 = x + 1.0\n",
	})

	// CodeStrayChar: a character that no token starts with.
	CodeStrayChar = define(Entry{
		Code:  "E0102",
		Title: "character that is not part of the language",
		Text: "No token starts with this character. Names are made of the letters a to z and A to Z, digits and\n" +
			"underscores; typographic quotes and signs are not read as their plain forms.",
		Example: "fn f(x: f32) -> f32 = x ^ 2.0\n",
		Fixed:   "fn f(x: f32) -> f32 = x .^ 2.0\n",
	})

	// CodeBadUTF8: bytes that are not UTF-8.
	CodeBadUTF8 = define(Entry{
		Code:    "E0103",
		Title:   "source that is not UTF-8",
		Text:    "Sources are UTF-8 everywhere, comments and strings included. Save the file with that encoding.",
		Example: "# caf\xe9\nfn f(x: f32) -> f32 = x\n",
		Fixed:   "# café\nfn f(x: f32) -> f32 = x\n",
	})

	// CodeOpenComment: a block comment without its end.
	CodeOpenComment = define(Entry{
		Code:    "E0104",
		Title:   "block comment that is never closed",
		Text:    "A block comment ends with `*/`, and block comments nest: each `/*` needs its own `*/`.",
		Example: "fn f(x: f32) -> f32 = x /* the input /* itself */\n",
		Fixed:   "fn f(x: f32) -> f32 = x /* the input /* itself */ */\n",
	})

	// CodeOpenText: a string or char literal without its end.
	CodeOpenText = define(Entry{
		Code:  "E0105",
		Title: "string or char literal that is never closed",
		Text: "A literal ends on the line it starts on. A line break inside is written `\\n`, a quote `\\\"` or " +
			"`\\'`.",
		Example: "@io fn main() -> string = print_str(\"hello)\n",
		Fixed:   "@io fn main() -> string = print_str(\"hello\")\n",
	})

	// CodeBadNumber: a malformed number.
	CodeBadNumber = define(Entry{
		Code:  "E0106",
		Title: "malformed number",
		Text: "Integers are `42`, `1_000` and `0xFF`; floats have digits on both sides of the point or an " +
			"exponent:\n" +
			"`1.0`, `1e-3`. A suffix names the type: `_i8` to `_i64`, `_u8` to `_u64` for integers, `_f16`, `_bf16`, " +
			"`_f32`\nand `_f64` for floats.",
		Example: "fn f(x: f32) -> f32 = x * 2.\n",
		Fixed:   "fn f(x: f32) -> f32 = x * 2.0\n",
	})

	// CodeBadEscape: an escape that does not exist or names no character.
	CodeBadEscape = define(Entry{
		Code:  "E0107",
		Title: "unknown or malformed escape",
		Text: "The escapes are `\\n \\t \\r \\\\ \\' \\\" \\0`, `\\x41` with two hexadecimal digits, and " +
			"`\\u{1F600}` with one to six\nthat name a Unicode code point.",
		Example: "@io fn main() -> string = print_str(\"100\\%\")\n",
		Fixed:   "@io fn main() -> string = print_str(\"100%\")\n",
	})

	// CodeBadChar: a char literal that does not hold exactly one character.
	CodeBadChar = define(Entry{
		Code:    "E0108",
		Title:   "char literal without exactly one character",
		Text:    "A char literal is one code point between single quotes, an i32. Text stands between double quotes.",
		Example: "fn f() -> i32 = 'ab'\n",
		Fixed:   "fn f() -> i32 = 'a'\n",
	})

	// CodeTooDeep: brackets, blocks, operators, types or comments nested beyond the limit.
	CodeTooDeep = define(Entry{
		Code:  "E0109",
		Title: "nested too deeply",
		Text: "Brackets, blocks, prefix operators, lambdas, types and comments nest at most 1,000 levels. Name a " +
			"part\nof the expression with `let`, or move it to a function.",
		Extern: "an expression inside 1,001 pairs of parentheses",
	})

	// CodeTooLong: an expression that is a chain of too many operators.
	CodeTooLong = define(Entry{
		Code:  "E0110",
		Title: "expression with too many operators",
		Text: "One expression chains at most 10,000 operators, calls or indices. Sum an array literal with " +
			"`+/[...]`, or\nsplit the expression with `let`.",
		Extern: "a sum of 10,001 terms written with `+`",
	})

	// CodeNonAssoc: two comparisons or two ranges in a row.
	CodeNonAssoc = define(Entry{
		Code:  "E0111",
		Title: "comparison or range that needs parentheses",
		Text: "Comparisons do not associate, `a < b < c` would compare a bool with `c`; nor do ranges. Write\n" +
			"`a < b && b < c`, or parentheses.",
		Example: "fn f(a: i32, b: i32, c: i32) -> bool = a < b < c\n",
		Fixed:   "fn f(a: i32, b: i32, c: i32) -> bool = a < b && b < c\n",
	})

	// CodeMissingSemicolon: two statements without `;` between them.
	CodeMissingSemicolon = define(Entry{
		Code:  "E0112",
		Title: "missing `;`",
		Text: "Statements of a block end with `;`. Line breaks mean nothing, so the next line would continue " +
			"the\nexpression.",
		Example: "fn f(x: f32) -> f32 {\n    let y = x + 1.0\n    y * y\n}\n",
		Fixed:   "fn f(x: f32) -> f32 {\n    let y = x + 1.0;\n    y * y\n}\n",
	})

	// CodeUnclosed: an opening bracket whose partner is missing.
	CodeUnclosed = define(Entry{
		Code:  "E0113",
		Title: "bracket that is never closed",
		Text: "Every `(`, `[` and `{` is closed before the declaration ends. The place shown is the bracket that " +
			"was open\nwhen the declaration ended.",
		Example: "fn f(x: f32) -> f32 = (x + 1.0\n",
		Fixed:   "fn f(x: f32) -> f32 = (x + 1.0)\n",
	})

	// CodeAssignTarget: an assignment to something that is no variable.
	CodeAssignTarget = define(Entry{
		Code:  "E0114",
		Title: "assignment to something that cannot be assigned",
		Text: "The left of `=`, `+=` and the others is a `let mut` variable or `&mut` parameter, or an index of " +
			"one.",
		Example: "fn f(x: f32) -> f32 {\n    x + 1.0 = 2.0;\n    x\n}\n",
		Fixed:   "fn f(x: f32) -> f32 {\n    let y = x + 1.0;\n    y * 2.0\n}\n",
	})

	// CodeLetForm: a let that is neither a statement nor has `in`.
	CodeLetForm = define(Entry{
		Code:  "E0115",
		Title: "`let` in the wrong form",
		Text: "Inside a block `let x = e;` is a statement. Elsewhere the form is `let x = e in body`, where the " +
			"variable\ncannot be `mut`.",
		Example: "fn f(x: f32) -> f32 = let y = x + 1.0; y\n",
		Fixed:   "fn f(x: f32) -> f32 = let y = x + 1.0 in y\n",
	})

	// CodePipeTarget: the right of `|>` is no call.
	CodePipeTarget = define(Entry{
		Code:    "E0116",
		Title:   "`|>` into something that is no call",
		Text:    "`x |> f(y)` is `f(x, y)`, so a call or the name of a function stands on the right.",
		Example: "fn f(x: f32) -> f32 = x |> 1.0\n",
		Fixed:   "fn f(x: f32) -> f32 = x |> max(1.0)\n",
	})

	// CodeMisplaced: an attribute or `pub` before a declaration that takes none.
	CodeMisplaced = define(Entry{
		Code:    "E0117",
		Title:   "attribute or `pub` before the wrong declaration",
		Text:    "Attributes belong to functions; `pub` to functions and constants.",
		Example: "pub import nn\n",
		Fixed:   "pub const N: nat = 4\n",
	})

	// CodeReturnPlace: return used as an expression.
	CodeReturnPlace = define(Entry{
		Code:  "E0118",
		Title: "`return` outside a block",
		Text: "`return e;` is a statement of a block, not an expression. The value of an expression body needs " +
			"no\n`return`.",
		Example: "fn f(x: f32) -> f32 = return x\n",
		Fixed:   "fn f(x: f32) -> f32 = x\n",
	})

	// CodeTooLarge: a source file beyond the limit.
	CodeTooLarge = define(Entry{
		Code:   "E0119",
		Title:  "source file too large",
		Text:   "A source file has at most 1 GiB. Data belongs in `.npy` files, read with `load_npy`.",
		Extern: "a file above 1 GiB",
	})
)
