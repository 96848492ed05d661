package sorting

import (
	"fmt"
	"math"
	"math/bits"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/ir/scalar"
)

// Note [Networks]
//
// A power of two of vectors is sorted in registers. First each lane is, down the vectors, by Batcher's odd-even
// mergers, with a minimum and a maximum for each two vectors. Then lanes next to each other are merged, two, four and
// so on, by bitonic mergers, with the elements in the order of lanes that follow each other: element number p of the
// merged ones is in lane p/r of r vectors. So the elements that are compared are in other lanes log(lanes) times, and
// then in the same ones, where no shuffle is needed. At last the elements change places: vector number p/w has element
// number p. What is missing is padded with what comes last.

//
// Up to twice as many vectors as a network has are two sorted halves, which are merged: the lesser ones of each element
// of the first half and its opposite of the second one are the lesser half of all, and either half is merged in
// registers.

// small sorts up to 2*`rows` vectors from one memory into another, which may be the same.
func (c *code) small(to, from, n value.Value) {
	half := c.int(int64(rows * c.w))
	c.Branch(c.Cur.NewICmp(enum.IPredSLE, n, half), func() { c.registers(to, from, n) }, func() {
		c.Cur.NewCall(c.network(rows), to, from, half)
		c.registers(c.at(to, half), c.at(from, half), c.Cur.NewSub(n, half))
		c.Cur.NewCall(c.halves(), to, n)
	})
}

// halves is the function that merges the first `rows` vectors of n elements with the others, up to as many.
func (c *code) halves() *lir.Func {
	to, n := lir.NewParam("to", lt.NewPointer(c.t)), lir.NewParam("n", build.I64)
	return c.helper(c.Module, "halves", lt.Void, []*lir.Param{to, n}, func(c *code) value.Value {
		half := int64(rows * c.w)
		both := c.Cur.NewBitCast(c.Stack(c.vector(), 2*rows), lt.NewPointer(c.t))
		first := func(i int64) value.Value { return c.first(c.Cur.NewSub(n, c.int(i))) }
		for i := range int64(rows) {
			at := c.int(i * int64(c.w))
			opposite := 2*half - (i+1)*int64(c.w)
			x := c.load(to, at)
			y := c.loadFirst(to, c.int(opposite), first(opposite), c.splat(c.last()))
			y = c.Permute(y, c.w, func(j int) int { return c.w - 1 - j })
			c.store(c.least(x, y), both, at)
			c.store(c.most(x, y), both, c.int(half+i*int64(c.w)))
		}
		c.For(c.int(0), c.int(2*half), half, nil, func(begin value.Value, _ []value.Value) []value.Value {
			place := func(i int) value.Value { return c.Cur.NewAdd(begin, c.int(int64(i*c.w))) }
			x := make([]value.Value, rows)
			for i := range x {
				x[i] = c.load(both, place(i))
			}
			c.mergeColumns(x)
			for d := c.w / 2; d > 0; d /= 2 {
				c.across(x, d, d, func(i int) int { return i })
			}
			for i, x := range x {
				c.storeFirst(x, to, place(i), c.first(c.Cur.NewSub(n, place(i))))
			}
			return nil
		})
		return nil
	})
}

// registers sorts up to `rows` vectors from one memory into another, which may be the same.
func (c *code) registers(to, from, n value.Value) {
	done := c.NewBlock()
	for r := 1; r < rows; r *= 2 {
		fits, longer := c.NewBlock(), c.NewBlock()
		c.Cur.NewCondBr(c.Cur.NewICmp(enum.IPredSLE, n, c.int(int64(r*c.w))), fits, longer)
		fits.NewCall(c.network(r), to, from, n)
		fits.NewBr(done)
		c.Cur = longer
	}
	c.Cur.NewCall(c.network(rows), to, from, n)
	c.Cur.NewBr(done)
	c.Cur = done
}

// network is the function that sorts up to r vectors; of more than one there is at least one more than half.
func (c *code) network(r int) *lir.Func {
	p := lt.NewPointer(c.t)
	to, from, n := lir.NewParam("to", p), lir.NewParam("from", p), lir.NewParam("n", build.I64)
	name, params := fmt.Sprintf("network%d", r), []*lir.Param{to, from, n}
	return c.helper(c.Module, name, lt.Void, params, func(c *code) value.Value {
		x := make([]value.Value, r)
		masks := make([]value.Value, r) // nil for vectors that are whole
		for i := range x {
			at := c.int(int64(i * c.w))
			if i < r/2 {
				x[i] = c.load(from, at)
				continue
			}
			masks[i] = c.first(c.Cur.NewSub(n, at))
			x[i] = c.loadFirst(from, at, masks[i], c.splat(c.last()))
		}
		c.columns(x)
		for lanes := 2; lanes <= c.w; lanes *= 2 {
			c.mergeLanes(x, lanes)
		}
		for i, x := range c.inOrder(x) {
			at := c.int(int64(i * c.w))
			if masks[i] == nil {
				c.store(x, to, at)
			} else {
				c.storeFirst(x, to, at, masks[i])
			}
		}
		return nil
	})
}

// last is what no element comes behind.
func (c *code) last() constant.Constant {
	if c.d.IsFloat() {
		return build.FromBits(c.t, scalar.FloatBits(c.d, math.Inf(1)))
	}
	most := ^uint64(0) >> (64 - c.d.Bits())
	if c.d.IsSigned() {
		most /= 2
	}
	return build.FromBits(c.t, most)
}

// order has x[i] get the lesser of each two elements, x[j] the others.
func (c *code) order(x []value.Value, i, j int) {
	x[i], x[j] = c.least(x[i], x[j]), c.most(x[i], x[j])
}

// columns sorts each lane.
func (c *code) columns(x []value.Value) {
	n := len(x)
	for p := 1; p < n; p *= 2 {
		for k := p; k > 0; k /= 2 {
			for j := k % p; j < n-k; j += 2 * k {
				for i := 0; i < min(k, n-j-k); i++ {
					if (i+j)/(2*p) == (i+j+k)/(2*p) {
						c.order(x, i+j, i+j+k)
					}
				}
			}
		}
	}
}

// mergeLanes merges the halves of every so many lanes.
func (c *code) mergeLanes(x []value.Value, lanes int) {
	// The first halves are met by the second ones from their end.
	c.across(x, lanes-1, lanes/2, func(i int) int { return len(x) - 1 - i })
	for d := lanes / 4; d > 0; d /= 2 {
		c.across(x, d, d, func(i int) int { return i })
	}
	c.mergeColumns(x)
}

// mergeColumns merges each lane, of which a half ascends and the other descends.
func (c *code) mergeColumns(x []value.Value) {
	for d := len(x) / 2; d > 0; d /= 2 {
		for i := range x {
			if i&d == 0 {
				c.order(x, i, i+d)
			}
		}
	}
}

// across compares the elements of each vector with those of another one in the lanes whose numbers differ by a mask;
// the lesser ones go where the lane has not the bit high.
func (c *code) across(x []value.Value, mask, high int, other func(i int) int) {
	turned := make([]value.Value, len(x))
	for i := range x {
		turned[i] = c.Permute(x[i], c.w, func(j int) int { return j ^ mask })
	}
	for i := range x {
		y := turned[other(i)]
		low, most := c.least(x[i], y), c.most(x[i], y)
		x[i] = c.Shuffle(low, most, c.w, func(j int) int {
			if j&high != 0 {
				return c.w + j
			}
			return j
		})
	}
}

// inOrder brings the elements, of which number p is in lane p/r of vector p%r, to lane p%w of vector p/w.
func (c *code) inOrder(x []value.Value) []value.Value {
	r, w := len(x), c.w
	where := make([][]int, r) // the number of the element in each place
	for i := range where {
		where[i] = make([]int, w)
		for j := range where[i] {
			where[i][j] = j*r + i
		}
	}
	swaps := min(bits.Len(uint(r)), bits.Len(uint(w))) - 1
	for s := range swaps {
		row, lane := 1<<s, 1<<s
		if r < w {
			lane = w / r << s
		}
		final := s == swaps-1
		for i := range x {
			if i&row != 0 {
				continue
			}
			pair := append(append([]int{}, where[i]...), where[i+row]...)
			var takes [2][]int
			for j := range w {
				if j&lane == 0 {
					takes[0] = append(takes[0], j)
				} else {
					takes[0] = append(takes[0], w+j-lane)
				}
			}
			for j := range w {
				if j&lane == 0 {
					takes[1] = append(takes[1], j+lane)
				} else {
					takes[1] = append(takes[1], w+j)
				}
			}
			a, b := x[i], x[i+row]
			for h, take := range takes {
				if final { // the lanes as they are to be, too
					sorted := make([]int, w)
					for _, from := range take {
						sorted[pair[from]%w] = from
					}
					take = sorted
				}
				at := i + h*row
				x[at] = c.Shuffle(a, b, w, func(j int) int { return take[j] })
				for j, from := range take {
					where[at][j] = pair[from]
				}
			}
		}
	}
	out := make([]value.Value, r)
	for i := range x {
		out[where[i][0]/w] = x[i]
	}
	return out
}
