// Package tree is the typed tree: a program with every decision made. Names are resolved, literals have their
// type, broadcasts are explicit, and operators and functions of the language are operations of the table. lang/check
// makes it of a syntax tree, and lang/irgen writes it down as tensor IR.
//
// tree.go has the nodes, nodes.go the functions that make them, fold.go computes operations on constants,
// signature.go prints heads of functions, and dump.go the whole tree.
package tree
