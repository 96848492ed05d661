package emit

import (
	"math/bits"

	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
)

// TransposeSquare transposes a square of vectors. Those of up to 128 bits are interleaved, each with the one half a
// square away, as often as their number is a power of two: every processor has an instruction for that. In longer ones
// such instructions stay within 128 bits, so there vectors exchange halves of their elements instead, with a distance
// that halves.
func (g *Func) TransposeSquare(rows []value.Value) []value.Value {
	if lane := laneOf(rows); lane < len(rows) {
		return g.exchange(rows)
	}
	return g.Interleave(rows, len(rows))
}

// laneOf is how many elements the parts of 128 bits have within which x86 interleaves vectors.
func laneOf(rows []value.Value) int {
	bytes := 8
	switch e := rows[0].Type().(*lt.VectorType).ElemType.(type) {
	case *lt.IntType:
		bytes = int(e.BitSize) / 8
	case *lt.FloatType:
		if e.Kind != lt.FloatKindDouble {
			bytes = 4
		}
	}
	return min(len(rows), 16/bytes)
}

// TransposeForChain is TransposeSquare where the chain that takes the elements bounds the time, not the memory from
// which they come. Four times 128 bits are interleaved first, and then even elements are told from odd ones, twice:
// instructions that more pipes have than the permutations of exchange, and that need no registers for what they
// overwrite. Transposes from memory to memory lose by it (docs/tuning/transposition.md).
func (g *Func) TransposeForChain(rows []value.Value) []value.Value {
	w, lane := len(rows), laneOf(rows)
	if w != 4*lane {
		return g.TransposeSquare(rows)
	}
	rows = g.Interleave(rows, lane)
	for d := lane; d < w; d *= 2 {
		rows = g.separate(rows, lane, d)
	}
	return rows
}

// Interleave transposes the squares of lane elements that vectors consist of, each of those of as many vectors.
func (g *Func) Interleave(rows []value.Value, lane int) []value.Value {
	w := build.VectorLen(rows[0])
	for range log2(lane) {
		next := make([]value.Value, len(rows))
		for at := 0; at < len(rows); at += lane {
			for i := range lane / 2 {
				x, y := rows[at+i], rows[at+i+lane/2]
				for k := range 2 {
					next[at+2*i+k] = g.Shuffle(x, y, w, func(e int) int {
						return e/lane*lane + e%lane/2 + e%2*w + k*lane/2
					})
				}
			}
		}
		rows = next
	}
	return rows
}

// separate puts the lanes of even numbers of vectors d apart into one, and the others into the other.
func (g *Func) separate(rows []value.Value, lane, d int) []value.Value {
	w := len(rows)
	next := make([]value.Value, w)
	for i := range rows {
		if i&d != 0 {
			continue
		}
		for k := range 2 {
			next[i+k*d] = g.Shuffle(rows[i], rows[i+d], w, func(e int) int { return e/lane*2*lane + e%lane + k*lane })
		}
	}
	return next
}

func log2(n int) int { return bits.Len(uint(n)) - 1 }

// exchange is TransposeSquare for wide vectors.
func (g *Func) exchange(rows []value.Value) []value.Value {
	w := len(rows)
	for d := w / 2; d > 0; d /= 2 { // the halves first: where rows come from memory, these are reads
		next := make([]value.Value, w)
		for i := range rows {
			if i&d != 0 {
				continue
			}
			for k := range 2 {
				next[i+k*d] = g.Shuffle(rows[i], rows[i+d], w, func(e int) int {
					if e&d == 0 {
						return e + k*d
					}
					return w + e - d + k*d
				})
			}
		}
		rows = next
	}
	return rows
}
