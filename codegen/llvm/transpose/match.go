package transpose

import (
	"healc/codegen/target"
	"healc/lang/types"
)

// Note [Tiled transposition]
//
// An element-wise kernel that reads an operand along another axis than the one along which it writes, such as
// transpose(x) .* 2.0 .+ y, has no good order of plain loops: along one axis every load is a line of its own, along the
// other one every store. So it goes by tiles of those two axes, `across`, along which the operand lies in memory, and
// `last`, along which the output does:
//
//	for each strip of `last`                     (64 columns of f32)
//	  for each piece of `across`                 (64 rows of f32)
//	    copy the operand's tile to the stack, transposed by squares in registers
//	    for each row of the tile
//	      the body, in vectors over the strip, with the operand read from the stack
//
// So lines of the operand are read once and whole, 4 of them in a row, and the output is written in pieces that can go
// past the caches (Note [Streaming stores]); the body is any that the generator knows. The tile stays in the
// second-level cache.
//
// The tile is copied by squares of the width of a vector, along `across` first. Each asks for the lines that come
// transposeAhead bytes later along `across`, in the second-level cache: the first has no room for what all rows of a
// tile ask for. With AVX2 a tile takes one line of each row of the operand and narrowColBytes of the output's, because
// rows that are a power of two apart have room for few lines in a smaller second-level cache. The sizes are measured:
// docs/tuning/transposition.md.
//
// Where a row of the output does not begin at a line, pieces of it that do not either would share lines with their
// neighbours, and a processor completes such lines one by one when they go past the caches. So each row of a tile
// begins and ends at a line of its own row, and a tile has a line's worth of columns more than it writes, which the
// strip before had, too (docs/tuning/streaming-stores.md).
//
// Where the tile ends, the last square overlaps the one before; fewer elements than a square go one by one.

// square is the side of the squares that are transposed in registers.
func square(m target.Machine, d types.DType) int {
	switch d.Bytes() {
	case 1:
		return 16
	case 2:
		if m.VectorBits >= 256 {
			return 16
		}
		return 8
	case 4:
		return m.VectorBits / 32
	}
	return m.VectorBits / 64
}
