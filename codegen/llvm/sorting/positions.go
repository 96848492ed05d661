package sorting

import (
	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/lang/types"
)

// Note [Positions]
//
// A key of 64 bits has no room for a position beside it. So words with the upper half of a key above the position are
// sorted first. Runs of words with the same upper half, which are short unless the keys are close to each other, get
// the lower halves of their keys above the positions, and are sorted again. All words of a run are different, and the
// order of equal keys is that of their positions.

// positionsFunc is the function for positions, made once.
func positionsFunc(m *emit.Module) *lir.Func {
	k := kind{d: types.U64, t: build.I64, w: m.Machine.VectorBits / 64}
	return k.function(m, "sort.positions", func(m *emit.Module) { positionsFunc(m) }, (*code).positions)
}

// words is the function that sorts words. It is one of this module, where other kernels may have theirs in another.
func (c *code) words() *lir.Func {
	p := lt.NewPointer(c.t)
	data, source, spare := lir.NewParam("data", p), lir.NewParam("source", p), lir.NewParam("spare", p)
	n := lir.NewParam("n", build.I64)
	params := []*lir.Param{data, source, spare, n}
	return c.helper(c.Module, "words", lt.Void, params, func(c *code) value.Value {
		c.row(data, source, spare, n)
		return nil
	})
}

// positions writes the function.
func (c *code) positions(data, keys, spare, n value.Value) {
	const half = 32
	low := build.Int(build.I64, 1<<half-1)
	one := c.int(1)
	read := func(p, i value.Value) value.Value { return c.Cur.NewLoad(build.I64, c.at(p, i)) }
	write := func(x, i value.Value) { c.Cur.NewStore(x, c.at(data, i)) }
	words := func(at, n value.Value) {
		p := c.at(data, at)
		c.Cur.NewCall(c.words(), p, p, spare, n)
	}
	c.For(c.int(0), n, 1, nil, func(i value.Value, _ []value.Value) []value.Value {
		write(c.Cur.NewOr(c.Cur.NewAnd(read(keys, i), build.Int(build.I64, -1<<half)), i), i)
		return nil
	})
	words(c.int(0), n)
	last := c.Cur.NewSub(n, one)
	same := func(i, j value.Value) value.Value {
		return c.Cur.NewICmp(enum.IPredULT, c.Cur.NewXor(read(data, i), read(data, j)), build.Int(build.I64, 1<<half))
	}
	run := func(begin, end value.Value) { // of the same upper half
		c.For(begin, end, 1, nil, func(i value.Value, _ []value.Value) []value.Value {
			at := c.Cur.NewAnd(read(data, i), low)
			write(c.Cur.NewOr(c.Cur.NewShl(read(keys, at), c.int(half)), at), i)
			return nil
		})
		many := c.Cur.NewSub(end, begin)
		c.Branch(c.Cur.NewICmp(enum.IPredEQ, many, c.int(2)), func() {
			next := c.Cur.NewAdd(begin, one)
			x, y := read(data, begin), read(data, next)
			write(c.least(x, y), begin)
			write(c.most(x, y), next)
		}, func() { words(begin, many) })
	}
	// For each element the run that ends there, from where it began.
	begin := c.For(c.int(0), last, 1, []value.Value{c.int(0)}, func(i value.Value, s []value.Value) []value.Value {
		next := c.Cur.NewAdd(i, one)
		ends := c.Cur.NewXor(same(i, next), build.Int(build.I1, 1))
		return c.If(ends, []value.Value{s[0]}, func() []value.Value {
			c.When(c.Cur.NewICmp(enum.IPredSLT, s[0], i), func() { run(s[0], next) })
			return []value.Value{next}
		})
	})[0]
	c.When(c.Cur.NewICmp(enum.IPredSLT, begin, last), func() { run(begin, n) })
}
