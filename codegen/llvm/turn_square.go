package llvm

import (
	"math/bits"

	"github.com/llir/llvm/ir/constant"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"
)

// turn transposes a square of vectors. Those of up to 128 bits are interleaved, each with the one half a square away,
// as often as their number is a power of two: every processor has an instruction for that. In longer ones such
// instructions stay within 128 bits, so there vectors exchange halves of their elements instead, with a distance that halves.
func (g *gen) turn(rows []value.Value) []value.Value {
	w := len(rows)
	var bytes int
	switch e := rows[0].Type().(*lt.VectorType).ElemType.(type) {
	case *lt.IntType:
		bytes = int(e.BitSize) / 8
	case *lt.FloatType:
		bytes = 4
		if e.Kind == lt.FloatKindDouble {
			bytes = 8
		}
	}
	if w*bytes > 16 {
		return g.exchange(rows)
	}
	for range log2(w) {
		next := make([]value.Value, w)
		for i := range w / 2 {
			low, high := make([]constant.Constant, w), make([]constant.Constant, w)
			for e := range w {
				at := int64(e/2 + e%2*w)
				low[e], high[e] = ci(i32, at), ci(i32, at+int64(w/2))
			}
			next[2*i] = g.cur.NewShuffleVector(rows[i], rows[i+w/2], constant.NewVector(nil, low...))
			next[2*i+1] = g.cur.NewShuffleVector(rows[i], rows[i+w/2], constant.NewVector(nil, high...))
		}
		rows = next
	}
	return rows
}

func log2(n int) int { return bits.Len(uint(n)) - 1 }

// exchange is turn for wide vectors.
func (g *gen) exchange(rows []value.Value) []value.Value {
	w := len(rows)
	for d := w / 2; d > 0; d /= 2 { // the halves first: where rows come from memory, these are reads
		next := make([]value.Value, w)
		for i := range rows {
			if i&d != 0 {
				continue
			}
			low, high := make([]constant.Constant, w), make([]constant.Constant, w)
			for e := range w {
				if e&d == 0 {
					low[e], high[e] = ci(i32, int64(e)), ci(i32, int64(e+d))
				} else {
					low[e], high[e] = ci(i32, int64(w+e-d)), ci(i32, int64(w+e))
				}
			}
			next[i] = g.cur.NewShuffleVector(rows[i], rows[i+d], constant.NewVector(nil, low...))
			next[i+d] = g.cur.NewShuffleVector(rows[i], rows[i+d], constant.NewVector(nil, high...))
		}
		rows = next
	}
	return rows
}
