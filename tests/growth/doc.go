// Package growth says that the work of the compiler grows with the size of programs no faster than n log n. A family
// is a program of any size, and work is how many blocks of statements of the compiler run: a build with the counters of
// `go build -cover` counts them (folder counted). Nothing here looks at a clock, nor depends on the machine.
//
// Some kernels are run as well, by the evaluator that tests have: what they compute grows no faster either.
//
// Where a family grows too fast, the failure has the lines that do.
//
//	go test ./tests/growth -run 'TestGrowth/branches' -v
package growth
