// Package parser turns a source file into its syntax tree.
//
// A file is cut into declarations first, so that an error in one leaves the others alone; each is then
// parsed by a participle grammar (grammar.go) in which expressions, types and blocks are custom
// productions over participle's token stream: precedence climbing (expr.go), the same way for types
// (types.go) and statements (block.go). Parsing takes linear time and bounded stack for every input.
//
// The parser takes the whole language, also what the checker does not know yet, and resolves no names,
// with one exception:
//
// # Fold or division
//
// `max/v` is a fold, `a/b` a division, and they bind differently: `2 * max/v` is `2 * (max/v)`. A name
// directly before `/` is the function of a fold unless it is bound as a value there: by a parameter, a
// shape parameter, a `let`, a lambda, a pattern of a match, or a `const` anywhere in the file. So the
// parser builds
//
//	x / y        with x bound      Binary{Op: "/"}
//	max/v        max not bound     Reduce{Fun: max, X: v}
//	max/[init=0.0](v)            Reduce{Fun: max, Init: 0.0, X: v}
//	(|a, x| e)/v always            Reduce{Fun: lambda, X: v}
//	m.f/v        always            Binary{Op: "/"} with a Member on the left
//
// A name that is declared nowhere, a slip of the pen, stands as Fun too: the checker reports it as
// unknown. Operands of a fold are of the tightness of a prefix operator, so `max/v + 1` adds one to the
// maximum, and `max/v / n` divides it, as `+/v / n` divides a sum.
//
// # Explicit shape arguments
//
// `f[f32, N](x)`, a name or a module member with brackets directly followed by a call, is a Call with
// Generics; the dimensions are expressions and the types Names. Without the call it is an Index.
package parser
