package matmul

import (
	"fmt"

	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/ir/kernel/analysis"
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

// packed computes the elements of the copies for step kk of the chains: an element of o, or a pair.
func (c *writer) packed(o analysis.Operand, kk value.Value, width int) value.Value {
	kv := c.Chains.Axis.Var
	if !c.Pairs {
		c.Env[kv] = emit.Val{V: kk}
		return c.element(o, width)
	}
	first := c.Mul(kk, build.Int(build.I64, 2))
	c.Env[kv] = emit.Val{V: first}
	low := c.element(o, width)
	second := c.Add(first, build.Int(build.I64, 1))
	n := c.Extent(c.Chains.Axis.Extent)
	even := c.evenChains()
	if !even { // nothing beyond the end is read
		c.Env[kv] = emit.Val{V: c.Min(second, c.Add(n, build.Int(build.I64, -1)))}
	} else {
		c.Env[kv] = emit.Val{V: second}
	}
	high := c.element(o, width)
	var out value.Value
	c.InVectors(width, func() {
		half := c.Splat(build.Int(build.I32, 16))
		high = c.Cur.NewShl(high, half)
		if !even {
			none := c.Splat(build.Int(build.I32, 0))
			high = c.Cur.NewSelect(c.Cur.NewICmp(enum.IPredSLT, second, n), high, none)
		}
		out = c.Cur.NewOr(c.Cur.NewAnd(low, c.Splat(build.Int(build.I32, 0xffff))), high)
	})
	return out
}

// packedAlong computes the elements of the copies for width steps from step kk on, one for 0, all of which are whole.
func (c *writer) packedAlong(o analysis.Operand, kk value.Value, width int) value.Value {
	if width == 0 {
		return c.packed(o, kk, 0)
	}
	if !c.Pairs {
		c.axis(c.Chains.Axis.Var, kk, width)
		return c.element(o, width)
	}
	c.axis(c.Chains.Axis.Var, c.Mul(kk, build.Int(build.I64, 2)), 2*width)
	x := c.element(o, 2*width)
	return c.Cur.NewBitCast(c.Cur.NewTrunc(x, build.Vector(lt.I16, 2*width)), build.Vector(build.I32, width))
}

// evenChains reports that chains are known to have no half of a pair.
func (c *writer) evenChains() bool {
	n, known := build.ConstantInt(c.Extent(c.Chains.Axis.Extent))
	return known && n%2 == 0
}

// wholeSteps is the number of steps of a piece that are no half of a pair.
func (c *writer) wholeSteps(k chain) value.Value {
	if !c.Pairs || c.evenChains() {
		return k.n
	}
	pairs := c.half(c.Extent(c.Chains.Axis.Extent))
	return c.Min(k.n, c.Cur.NewSub(pairs, k.at))
}

// half is x / 2, rounded down, for an x that is not negative.
func (c *writer) half(x value.Value) value.Value {
	if n, ok := build.ConstantInt(x); ok {
		return build.Int(build.I64, n/2)
	}
	return c.Cur.NewLShr(x, build.Int(build.I64, 1))
}

// pairSum multiplies the 16-bit halves of x and y and adds the two products of each element.
func (c *writer) pairSum(x, y value.Value) value.Value {
	name := map[int]string{4: "sse2.pmadd.wd", 8: "avx2.pmadd.wd", 16: "avx512.pmaddw.d.512"}[c.VecWidth]
	in, out := build.Vector(lt.I16, 2*c.VecWidth), build.Vector(build.I32, c.VecWidth)
	f := c.Intrinsic(fmt.Sprint("llvm.x86.", name), out, in, in)
	return c.Cur.NewCall(f, c.Cur.NewBitCast(x, in), c.Cur.NewBitCast(y, in))
}
