package sorting

import (
	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
)

// Note [Rows in order]
//
// What a look at the elements can show needs no cuts: a row that ascends or descends, and a part of equal elements. In
// rows of other elements the looks end at the first vector.

// every reports that all bits of a mask are set.
func (c *code) every(mask value.Value) value.Value {
	return c.Cur.NewICmp(enum.IPredEQ, c.bits(mask), c.int(1<<c.w-1))
}

// same compares elements with a number by their bits.
func (c *code) same(x, limit value.Value) value.Value {
	if !c.d.IsFloat() {
		return c.Cur.NewICmp(enum.IPredEQ, x, limit)
	}
	t := build.Vector(build.IntType(c.d.Bits()), c.w)
	return c.Cur.NewICmp(enum.IPredEQ, c.Cur.NewBitCast(x, t), c.Cur.NewBitCast(limit, t))
}

// begins is the function that reports that the first elements of a part equal a number, as many as a vector has.
func (c *code) begins() *lir.Func {
	from, x := lir.NewParam("from", lt.NewPointer(c.t)), lir.NewParam("x", c.t)
	return c.helper(c.Module, "begins", build.I1, []*lir.Param{from, x}, func(c *code) value.Value {
		return c.every(c.same(c.load(from, c.int(0)), c.splat(x)))
	})
}

// firstNot is the number of the first vector of a part of n elements for which not all of them fulfil a condition, as
// a number of elements, or where the last whole vector ends.
func (c *code) firstNot(n value.Value, holds func(i value.Value) value.Value) value.Value {
	end := c.RoundDown(n, int64(c.w))
	head, body, exit := c.NewBlock(), c.NewBlock(), c.NewBlock()
	i := head.NewPhi(lir.NewIncoming(c.int(0), c.Cur))
	c.Cur.NewBr(head)
	head.NewCondBr(head.NewICmp(enum.IPredSLT, i, end), body, exit)
	c.Cur = body
	mask := c.every(holds(i))
	i.Incs = append(i.Incs, lir.NewIncoming(c.Cur.NewAdd(i, c.int(int64(c.w))), c.Cur))
	c.Cur.NewCondBr(mask, head, exit)
	c.Cur = exit
	return i
}

// run is the function that gives with how many elements that equal a number a part of n begins: whole vectors of them,
// or all.
func (c *code) run() *lir.Func {
	from, n, x := lir.NewParam("from", lt.NewPointer(c.t)), lir.NewParam("n", build.I64), lir.NewParam("x", c.t)
	return c.helper(c.Module, "run", build.I64, []*lir.Param{from, n, x}, func(c *code) value.Value {
		limit := c.splat(x)
		many := c.firstNot(n, func(i value.Value) value.Value { return c.same(c.load(from, i), limit) })
		rest := c.Cur.NewSub(n, many)
		all := c.every(c.same(c.loadFirst(from, many, c.first(rest), limit), limit))
		last := c.Cur.NewICmp(enum.IPredSLT, rest, c.int(int64(c.w)))
		return c.Cur.NewSelect(c.Cur.NewAnd(last, all), n, many)
	})
}

// fill is the function that makes n elements a number.
func (c *code) fill() *lir.Func {
	to, n, x := lir.NewParam("to", lt.NewPointer(c.t)), lir.NewParam("n", build.I64), lir.NewParam("x", c.t)
	return c.helper(c.Module, "fill", lt.Void, []*lir.Param{to, n, x}, func(c *code) value.Value {
		all := c.splat(x)
		c.each(n, func(i value.Value) { c.store(all, to, i) }, func(i, mask value.Value) {
			c.storeFirst(all, to, i, mask)
		})
		return nil
	})
}

// each goes through n elements by vectors, the last of which is under a mask.
func (c *code) each(n value.Value, whole func(i value.Value), last func(i, mask value.Value)) {
	end := c.RoundDown(n, int64(c.w))
	c.For(c.int(0), end, int64(c.w), nil, func(i value.Value, _ []value.Value) []value.Value {
		whole(i)
		return nil
	})
	last(end, c.first(c.Cur.NewSub(n, end)))
}

// move writes n elements to another memory.
func (c *code) move(to, from, n value.Value) {
	c.each(n, func(i value.Value) { c.store(c.load(from, i), to, i) }, func(i, mask value.Value) {
		zero := constant.NewZeroInitializer(c.vector())
		c.storeFirst(c.loadFirst(from, i, mask, zero), to, i, mask)
	})
}

// neighbours reports that each of n elements and the one behind it, of more than a vector, fulfil a condition.
func (c *code) neighbours(source, n value.Value, in func(x, y value.Value) value.Value) value.Value {
	pairs, w := c.Cur.NewSub(n, c.int(1)), int64(c.w)
	at := func(i value.Value) value.Value {
		return in(c.load(source, i), c.load(source, c.Cur.NewAdd(i, c.int(1))))
	}
	end := c.RoundDown(pairs, w)
	there := c.Cur.NewICmp(enum.IPredEQ, c.firstNot(pairs, at), end)
	// The last ones are looked at again.
	return c.Cur.NewAnd(there, c.every(at(c.Cur.NewSub(pairs, c.int(w)))))
}

// arranged is the function that sorts a row of at least a vector that ascends or descends, and reports that it did.
func (c *code) arranged() *lir.Func {
	p := lt.NewPointer(c.t)
	data, source, spare := lir.NewParam("data", p), lir.NewParam("source", p), lir.NewParam("spare", p)
	n := lir.NewParam("n", build.I64)
	params := []*lir.Param{data, source, spare, n}
	return c.helper(c.Module, "arranged", build.I1, params, func(c *code) value.Value {
		w := int64(c.w)
		return c.IfElse(c.neighbours(source, n, c.notAfter), func() []value.Value {
			c.When(c.Cur.NewICmp(enum.IPredNE, data, source), func() { c.move(data, source, n) })
			return []value.Value{constant.True}
		}, func() []value.Value {
			// Equal elements may change their places, but for zeros of both signs.
			falls := c.neighbours(source, n, func(x, y value.Value) value.Value {
				return c.Cur.NewOr(c.before(y, x), c.same(x, y))
			})
			c.When(falls, func() {
				here := c.Cur.NewICmp(enum.IPredEQ, data, source)
				to := c.Cur.NewSelect(here, spare, data)
				reversed := func(i value.Value) {
					x := c.load(source, c.Cur.NewSub(c.Cur.NewSub(n, c.int(w)), i))
					c.store(c.Permute(x, c.w, func(j int) int { return c.w - 1 - j }), to, i)
				}
				c.For(c.int(0), c.RoundDown(n, w), w, nil, func(i value.Value, _ []value.Value) []value.Value {
					reversed(i)
					return nil
				})
				reversed(c.Cur.NewSub(n, c.int(w)))
				c.When(here, func() { c.move(data, spare, n) })
			})
			return []value.Value{falls}
		})[0]
	})
}
