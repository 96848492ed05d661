// Package random makes random well-typed programs of tensor IR from the operation table, with inputs for
// them, runs them on two backends, and shrinks what differs. It is test code.
//
// Pointwise operations are drawn from the table without knowing any of them; every other operation has
// a maker in makers.go, and a test fails when one is missing.
//
// Source is a random function in the language itself: statements, loops, matches, generic functions, slices. What it
// gives is known without healc.
package random
