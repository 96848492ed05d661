// Package builtins types the calls of the functions of the language and the reductions. Most are operations of the
// table, which operations.go and elementwise.go read from their entries; the others are made of operations, one file
// for each kind. arguments.go reads what calls have in common: axes, flags, shapes.
package builtins
