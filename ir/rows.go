package ir

import (
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Rows]
//
// Sorting a row, or adding into positions of it, makes all elements of the row at once, in memory. Such an
// operation has, beside its Element rule, a Rows rule: the code that computes one row of its result along
// the axis of its attribute `axis`. It becomes a kernel of its own, parallel over the other axes, and what
// its operands are computed from is pulled into it. The Element rule, which computes an element alone and
// therefore slowly, stands in where there is no memory: inside of a tabulate, say.

// A Memory is a run of elements that a row has for itself.
type Memory int

const (
	ResultRow Memory = 0  // the memory of the row's result; of the others, if there are more, it is those behind it
	NoMemory  Memory = -1 // none
)

// RowPull is the Pull of a Rows rule. What it writes runs in the order in which it is written.
type RowPull interface {
	Pull
	// Work is fresh memory of n elements, or of 2*n when twice is set. Its elements are written before they are read.
	Work(t types.DType, n types.Dim, twice bool) Memory
	// Near is Work of n elements that stays in a cache of the processor from row to row, where n is known and small.
	Near(t types.DType, n types.Dim) Memory
	// Spare is Near where n may be as large as half of a second-level cache.
	Spare(t types.DType, n types.Dim) Memory
	// Read gives an element; Write sets one. The index is an I64 in range.
	Read(m Memory, i scalar.Ref) scalar.Ref
	Write(m Memory, i, value scalar.Ref)
	// Pitch is how far elements lie from each other in the memory of a result, where several rows are written together:
	// element i of row w is number i*along + w*across of it.
	Pitch(m Memory) (along, across int64)
	// Each runs body for i from 0 up to n and carries a state.
	Each(n types.Dim, init []scalar.Ref, body func(i scalar.Ref, state []scalar.Ref) []scalar.Ref) []scalar.Ref
	// Shared reports that threads share the work on one row, so that Apart is worth more work in all.
	Shared() bool
	// Apart runs body for i from 0 up to n/each, rounded up, in any order: what one writes no other reads or writes.
	Apart(n types.Dim, each int64, body func(i scalar.Ref))
	// When runs body if cond is true.
	When(cond scalar.Ref, body func())
	// Either runs yes if cond is true, and else no.
	Either(cond scalar.Ref, yes, no func())
	// All reports that f holds for all i below n. f computes with what it is given alone, the same for all rows.
	All(n types.Dim, f func(p Pull, i scalar.Ref) scalar.Ref) scalar.Ref
	// Fill sets the first n elements of m. value gives element i; it may read that element of m and no other.
	Fill(m Memory, n types.Dim, value func(i scalar.Ref) scalar.Ref)
	// Adjacent reports that the elements of m lie next to each other.
	Adjacent(m Memory) bool
	// Operand is the memory of a line of operand i of op, to be read; at gives the index of element i of the line. It
	// is NoMemory when the elements do not lie next to each other. It reports false when the operand is computed.
	Operand(op *Op, i int, at func(i scalar.Ref) []scalar.Ref) (Memory, bool)
	// Product is Operand for what is computed as a modmul, modulo p, of two such lines.
	Product(op *Op, i int, at func(i scalar.Ref) []scalar.Ref, p scalar.Ref) (x, y Memory, ok bool)
	// Sort sorts the first n elements of source into data, as kernel.Sort does: those that have some ranks, or all
	// where there are none. It needs the n elements of spare from number from on. All are neighbours in memory.
	Sort(data, source, spare Memory, from scalar.Ref, n types.Dim, ranks ...Ranks)
	// SortPositions is Sort for numbers of type U64 in source, of which data gets the positions.
	SortPositions(data, source, spare Memory, from scalar.Ref, n types.Dim, ranks ...Ranks)
	// Transform runs the stages of a number theoretic transform, and gives a bool: false if the modulus is not below
	// TransformLimit, or elements of the lines that it reads are no residues, unless it was as right for these. Then
	// the data has no meaning.
	Transform(t Transform) scalar.Ref
}

// Ranks are so many ranks of a sorted row from the one that First gives on, an I64; those that the row does not have
// are none.
type Ranks struct {
	First scalar.Ref
	Size  types.Dim
}

// Transform is a number theoretic transform of residues modulo P, from a table of factors below P. All are of type I64,
// and their memory holds neighbours next to each other. The source may be the memory of the result. What is transformed
// is the source, or unless Times is NoMemory its products with that, element by element.
type Transform struct {
	Data, Source, Times, Table Memory
	Size                       int64 // a power of two, from MinTransform on
	Inverse                    bool
	P                          scalar.Ref
	Scale                      scalar.Ref // of the inverse: what the result is multiplied by, below P
}

// The limits of Transform: what kernels need for whole vectors, and for sums that are not reduced at once.
const (
	MinTransform   = 64
	TransformLimit = 1 << 60
)
