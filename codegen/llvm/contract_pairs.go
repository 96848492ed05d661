package llvm

import (
	"fmt"

	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"
)

// Note [Pairs]: the product of two integers of 16 bits has 32, and x86 has an instruction, pmaddwd, that multiplies the
// 16-bit elements of two vectors and adds neighbouring products, so that it does two steps of the chains in each
// element of 32 bits: four times as much as a multiplication of 32 bits, which takes twice as long. (Processors with
// VNNI add the sum to the chain in the same instruction; LLVM finds that.) Where both operands are cast from integers
// that fit 16 bits, such as i8, the copies hold pairs: the elements for steps 2p and 2p + 1 in the halves of the 32-bit
// element p. A tile reads a pair of x as one element and meets it with a vector of pairs of y. The bits are the same
// because sums of integers wrap: any order gives them, and the one sum of two products that does not fit, 2^31, wraps
// in that instruction, too.
//
// From the copies on the code counts steps, not elements; a chain of odd length ends with half a pair.

// packed computes what the copies hold for step kk of the chains: an element of o, or a pair.
func (c *contractGen) packed(o operand, kk value.Value, width int) value.Value {
	kv := c.chains.Axis.Var
	if !c.pairs {
		c.env[kv] = val{v: kk}
		return c.element(o, width)
	}
	first := c.times(kk, ci(i64, 2))
	c.env[kv] = val{v: first}
	low := c.element(o, width)
	second := c.plus(first, ci(i64, 1))
	n := c.extent(c.chains.Axis.Extent)
	even := c.evenChains()
	if !even { // what lies beyond the end is not read
		c.env[kv] = val{v: c.least(second, c.plus(n, ci(i64, -1)))}
	} else {
		c.env[kv] = val{v: second}
	}
	high := c.element(o, width)
	c.w = width
	half := c.splat(ci(i32, 16))
	high = c.cur.NewShl(high, half)
	if !even {
		none := c.splat(ci(i32, 0))
		high = c.cur.NewSelect(c.cur.NewICmp(enum.IPredSLT, second, n), high, none)
	}
	out := c.cur.NewOr(c.cur.NewAnd(low, c.splat(ci(i32, 0xffff))), high)
	c.w = 0
	return out
}

// packedAlong computes what the copies hold for width steps from step kk on, one for 0, all of which are whole.
func (c *contractGen) packedAlong(o operand, kk value.Value, width int) value.Value {
	if width == 0 {
		return c.packed(o, kk, 0)
	}
	if !c.pairs {
		c.axis(c.chains.Axis.Var, kk, width)
		return c.element(o, width)
	}
	c.axis(c.chains.Axis.Var, c.times(kk, ci(i64, 2)), 2*width)
	x := c.element(o, 2*width)
	return c.cur.NewBitCast(c.cur.NewTrunc(x, vec(lt.I16, 2*width)), vec(i32, width))
}

// evenChains reports that chains are known to have no half of a pair.
func (c *contractGen) evenChains() bool {
	n, known := constantInt(c.extent(c.chains.Axis.Extent))
	return known && n%2 == 0
}

// wholeSteps is the number of steps of a piece that are no half of a pair.
func (c *contractGen) wholeSteps(k chain) value.Value {
	if !c.pairs || c.evenChains() {
		return k.n
	}
	pairs := c.half(c.extent(c.chains.Axis.Extent))
	return c.least(k.n, c.cur.NewSub(pairs, k.at))
}

// half is x / 2, rounded down, of what is not negative.
func (c *contractGen) half(x value.Value) value.Value {
	if n, ok := constantInt(x); ok {
		return ci(i64, n/2)
	}
	return c.cur.NewLShr(x, ci(i64, 1))
}

// pairSum multiplies the 16-bit halves of x and y and adds the two products of each element.
func (c *contractGen) pairSum(x, y value.Value) value.Value {
	name := map[int]string{4: "sse2.pmadd.wd", 8: "avx2.pmadd.wd", 16: "avx512.pmaddw.d.512"}[c.lanes]
	in, out := vec(lt.I16, 2*c.lanes), vec(i32, c.lanes)
	f := c.intrinsic(fmt.Sprint("llvm.x86.", name), out, in, in)
	return c.cur.NewCall(f, c.cur.NewBitCast(x, in), c.cur.NewBitCast(y, in))
}
