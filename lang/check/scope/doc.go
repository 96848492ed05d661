// Package scope has what is known at a place of the source: the declarations of all files, the names that are visible,
// the variables and what happens to them, and the errors that were reported. On that it makes the nodes of the typed
// tree whose operands are typed: it asks the table of operations for their types, and reports the rules that they
// break.
//
// scope.go has the state, declarations.go and templates.go what is declared, modules.go the files, names.go and
// members.go resolve names, flow.go is the log of assignments, errors.go reports, build.go and loops.go make nodes.
package scope
