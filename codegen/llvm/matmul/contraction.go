package matmul

import (
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
)

// Note [Matrix products]
//
// A matrix product reaches the generator as its definition, a loop over k in two parallel axes:
//
//	over %i in 0..M, %j in 0..N
//	  %c = loop %k in 0..K carry %acc = 0 { next fma(x(%i, %k), y(%k, %j), %acc) }
//	  ... the epilogue, which stores
//
// where x and y are any element-wise programs of their operands (the prologue: a cast, a scale, a transposed
// read) and the epilogue any of the result. Such a kernel says that it is one (Note [Contracts] in ir/kernel), and is
// scheduled anew:
//
//	for each block of columns, for some rows              (threads share these out, see Note [Units of products])
//	  for each piece of k                                 (sums wait in the result between pieces; see apart)
//	    copy the block of y into panels on the stack      (stays in the second-level cache)
//	    for each tile of rows
//	      copy the rows of x to the stack                 (stays in the first-level cache)
//	      for each panel: the tile in registers
//
// Every element is still one chain over k ascending from 0, so the bits are those of the plain loop. Copies are made
// only where reading in place would be slower, see Plan.
//
// Package analysis says what follows from the loops of a product, plan.go decides, loops.go has the loops, pack.go the
// copies, widening.go narrow integers, interleave.go the order of products, tile.go the tile in registers, store.go the
// epilogue, prefetch.go what is asked for ahead, gemv.go a matrix times a vector.

// Contraction is a matrix product with how it is cut up.
type Contraction struct {
	*analysis.Contraction
	Schedule
}

// ContractionOf is the product that a kernel says it is, before anything is decided; nil for any other kernel.
func ContractionOf(k *kernel.Kernel) *Contraction {
	c := analysis.ContractionOf(k)
	if c == nil {
		return nil
	}
	return &Contraction{Contraction: c}
}
