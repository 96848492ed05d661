// Package emit writes the LLVM IR of what stands in kernel IR for one iteration, or for a vector of them: scalar
// instructions, casts, checks, calls, loads and stores, loops that end early.
//
// A Func is a function under construction. A scalar (Val) is uniform, one value, or wide, a vector with a value for
// each iteration of the vectorised axis, and an instruction is wide as soon as one operand is.
//
// Statements go through a Registry, accesses to memory through Access, and loops through Forms: packages that import
// this one register what they write there, and emit knows none of them. What a feature keeps of a function is a struct
// of its own (State).
package emit
