// Package check resolves names, infers types and effects, and turns a syntax tree into a typed tree
// (lang/check/tree) or diagnostics. In the typed tree every decision is made: literals have their type,
// broadcasts are explicit, operators and prelude functions are operations of the table. lang/irgen
// then only writes it down.
//
// In: an *ast.File, also one that the parser repaired. Out: a *tree.Program and the diagnostics E02xx (types and
// shapes), E03xx (names and effects) and E05xx (what is not supported). A generic function is typed once,
// with its shape parameters symbolic; each call binds them.
//
// Where things are: check.go walks the declarations; expr.go dispatches on expressions; literals.go has
// the rules for literals without a suffix; operators.go, matmul.go, index.go, tabulate.go, reductions.go,
// shapes.go, host.go and control.go type one family of expressions each; calls.go binds arguments and
// shape parameters; builtins.go lists the functions of the language, the element-wise ones straight from
// the table of operations; dims.go evaluates shape expressions; build.go makes nodes, asks the table for
// their types and computes constants; report.go makes diagnostics.
//
// modules.go resolves imports and the names of other files, generics.go makes instances of functions with
// type parameters, testblocks.go and asserts.go are for tests, strings.go has the operations on strings.
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
// ranks; the extents stay shape parameters of the instance (tupleparams.go).
//
// Layouts and places stand in declared types only. places.go compares places after the bodies are typed; memory.go
// checks layouts where tensors enter and leave, and refuses what needs a device. The types in the tree and in the IR
// have neither.
package check
