// Package interp is the reference evaluator of tensor IR: it runs a module plainly, one operation at a
// time, by the entries of the op table. It is the meaning of every program; each back end gives the same
// bits.
//
// In: a verified module, before or after any pass, and arrays. Out: arrays, or a *RuntimeError. It never
// rewrites a module, and it knows no operation by name, except for how their entries say they are
// evaluated.
package interp
