// Package check resolves names, infers types and effects, and turns a syntax tree into a typed tree
// (lang/check/tree) or diagnostics. In the typed tree every decision is made: literals have their type,
// broadcasts are explicit, operators and functions of the language are operations of the table. lang/irgen
// then only writes it down.
//
// In: an *ast.File, also one that the parser repaired. Out: a *tree.Program and the diagnostics E02xx (types and
// shapes), E03xx (names and effects) and E05xx (what is not supported). A generic function is typed once,
// with its shape parameters symbolic; each call binds them.
//
// # Packages
//
// Each imports some of those below it, and of those in its row only what an arrow points to.
//
//	check      declares, types all bodies, then looks at the whole: recursion, places
//	grad       builtins -> indexing -> operators        (listed in frontend.go)
//	infer      declarations, statements, expressions    modules   reads imports
//	scope      what is known at a place; makes nodes of typed operands
//	unify      polynomials over shape parameters        literal   the bits of literals
//	tree       the typed tree                           report    the text of diagnostics
//
// What an expression with signs of its own is, which functions the language has, and which functions are made of
// functions, is listed in frontend.go: infer calls what is listed. A new function of the language is an entry of the
// table of operations, or a function of package builtins; a new kind of expression is a form.
//
// In this package, check.go walks the declarations, testblocks.go makes functions of tests, recursion.go and places.go
// check what only the whole program shows, entry.go is for values and for what runs first, functions.go for manuals.
// The checker reads no files: an Importer finds what is imported.
//
// Every subtree is typed once for each instance that it belongs to, so the time is linear in the source. The package
// never executes a program, and never changes the syntax tree.
//
// # Files and instances
//
// The checker sees one program, whatever the number of files: CheckWith asks an Importer for what is imported, and
// types each file with its own names. A function with type parameters is a template. Each combination of types that
// is used becomes a function of its own in the typed tree, norm.f32, as functions of modules are nn.softmax.f32.
// Behind the checker nothing knows of modules or type parameters, so the library costs nothing: what is called is
// inlined and fused like the program's own functions. The spans of what is inlined keep the calls from other files
// (diag.Span.Caller), which errors show. A recursive function, which is not inlined, is copied for each place that
// calls it from another file. A parameter that stands for a tuple of tensors fixes the form of the tuple and the
// ranks; the extents stay shape parameters of the instance (infer/tupleparams.go).
//
// Layouts and places stand in declared types only. places.go compares places after the bodies are typed;
// internal/residency checks layouts where tensors enter and leave. The types in the tree and in the IR have neither.
package check
