// Package check resolves names, infers types and effects, and turns a syntax tree into a typed tree
// (tree.go) or diagnostics. In the typed tree every decision is made: literals have their type,
// broadcasts are explicit, operators and prelude functions are operations of the table. lang/irgen
// then only writes it down.
package check
