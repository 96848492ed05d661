// Package sources makes random programs in the language itself, with inputs for them, runs them in the ways in which a
// program can run, and shrinks what differs. It is test code.
//
// An expression is drawn for a type that is wanted, so that types are right by construction: a program that the checker
// refuses is a defect of this package. A program is a tree of pieces of text (Node). All extents are names; some of
// them are shape parameters, the others are written as numbers.
//
// A check can fail in one place of a program at most (hazards.go), so that what is reported is the same everywhere,
// with its place.
package sources
