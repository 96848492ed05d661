// Package emit writes the LLVM IR of the statements of one iteration, or of a vector of iterations: scalar
// instructions, casts, checks, calls, loads and stores, loops that end early.
//
// A Func is a function under construction. A scalar (Val) is uniform, one value, or wide, a vector with a value for
// each iteration of the vectorised axis, and an instruction is wide as soon as one operand is.
//
// Statements go through a Registry, accesses to memory through Access, and loops through Forms: packages that import
// this one register their parts there, and emit knows none of them. A feature keeps its data about a function in a
// struct of its own (State).
package emit
