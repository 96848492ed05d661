// Package reduce writes reductions, in the order that the language fixes for floats: 128 lanes that are folded in
// halves, or chunks down columns. Several reductions over the same elements share one loop (fuse.go). Reductions
// across rows go by strips of columns (outerreduce.go), and long work behind the sums of rows is done in vectors
// (epilogue.go).
package reduce
