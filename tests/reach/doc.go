// Package reach says what of the compiler random programs reach: each pass and each rule of canonicalize, each
// directive of schedules with its arguments, each peephole, each arm of each choice of arithmetic modulo numbers, each
// form of kernels for devices, and each block of generated code, by the place of the emitters that writes it. It has
// tests alone.
//
// Nothing of this is listed by hand: the passes, rules, directives, peepholes, choices and forms are in tables, and the
// places where blocks are written are found in the source (sites_test.go). A block counts as reached when it has run: a
// byte is stored in it (observe_test.go). An arm counts when an iteration takes it: where a vector computes both, the
// condition of its elements says so. Of code for devices nobody knows what runs, so what stands in it counts.
//
// reached.txt names a program for everything; `go test ./tests/reach` runs these programs, compares them with the
// interpreter, and fails when something has none. What none can reach is in unreached.txt, with the proof.
package reach
