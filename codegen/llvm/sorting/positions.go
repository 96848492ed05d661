package sorting

import (
	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
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
	params, r := c.params()
	return c.helper(c.Module, "words", lt.Void, params, func(c *code) value.Value {
		c.row(r)
		return nil
	})
}

// none are no ranks: all are asked for.
func (c *code) none() []value.Value {
	return []value.Value{constant.NewNull(lt.NewPointer(build.I64)), c.int(0)}
}

// positions writes the function.
func (c *code) positions(r request) {
	all := func() { c.Cur.NewCall(c.places(), r.data, r.source, r.spare, r.n) }
	long := c.Cur.NewICmp(enum.IPredSGT, r.n, c.int(c.fits()))
	ascends := c.IfElse(long, func() []value.Value {
		return []value.Value{c.neighbours(r.source, r.n, c.notAfter)}
	}, func() []value.Value { return []value.Value{constant.False} })[0]
	c.Branch(ascends, func() {
		c.For(c.int(0), r.n, 1, nil, func(i value.Value, _ []value.Value) []value.Value {
			c.Cur.NewStore(i, c.at(r.data, i))
			return nil
		})
	}, func() { c.unorderedPositions(r, all) })
}

// unorderedPositions gives the positions of keys that do not ascend; all finds all of them.
func (c *code) unorderedPositions(r request, all func()) {
	c.Branch(c.Cur.NewICmp(enum.IPredEQ, r.many, c.int(0)), all, func() {
		// All ranks from the first to the last that are asked for.
		lesser := func(x, y value.Value) value.Value {
			return c.Cur.NewSelect(c.Cur.NewICmp(enum.IPredSLT, x, y), x, y)
		}
		greater := func(x, y value.Value) value.Value {
			return c.Cur.NewSelect(c.Cur.NewICmp(enum.IPredSLT, x, y), y, x)
		}
		ends := c.For(c.int(0), r.many, 1, []value.Value{r.n, c.int(0)},
			func(i value.Value, s []value.Value) []value.Value {
				first, end := c.ranksAt(r.ranks, i)
				some := c.Cur.NewICmp(enum.IPredSLT, first, end)
				return []value.Value{c.Cur.NewSelect(some, lesser(s[0], first), s[0]),
					c.Cur.NewSelect(some, greater(s[1], end), s[1])}
			})
		first, end := greater(ends[0], c.int(0)), lesser(ends[1], r.n)
		c.When(c.Cur.NewICmp(enum.IPredSLT, first, end), func() {
			many := c.Cur.NewCall(c.between(), r.data, r.source, r.spare, r.n, first, end)
			c.When(c.Cur.NewICmp(enum.IPredEQ, many, c.int(0)), all)
		})
	})
}

// between is the function that gives the positions of the elements of some ranks and reports how many elements it
// sorted for that; 0 if these are too many, and the positions have to be found otherwise.
func (c *code) between() *lir.Func {
	p := lt.NewPointer(c.t)
	data, keys, spare := lir.NewParam("data", p), lir.NewParam("keys", p), lir.NewParam("spare", p)
	n, first, end := lir.NewParam("n", build.I64), lir.NewParam("first", build.I64), lir.NewParam("end", build.I64)
	params := []*lir.Param{data, keys, spare, n, first, end}
	return c.helper(c.Module, "between", build.I64, params, func(c *code) value.Value {
		one, w := c.int(1), int64(c.w)
		last := c.Cur.NewSub(end, one)
		ranks := c.Stack(build.I64, 4)
		for i, x := range []value.Value{first, c.Cur.NewAdd(first, one), last, end} {
			c.Cur.NewStore(x, c.Cur.NewGetElementPtr(build.I64, ranks, c.int(int64(i))))
		}
		c.Cur.NewCall(c.words(), data, keys, spare, n, ranks, c.int(2))
		read := func(p, i value.Value) value.Value { return c.Cur.NewLoad(c.t, c.at(p, i)) }
		low, high := c.splat(read(data, first)), c.splat(read(data, last))
		// Their keys go to the spare memory, their positions to the data.
		lanes := make([]constant.Constant, c.w)
		for i := range lanes {
			lanes[i] = c.int(int64(i))
		}
		chosen := func(x value.Value) (below, inside value.Value) {
			below = c.before(x, low)
			return below, c.Cur.NewXor(c.notAfter(x, high), below)
		}
		position := func(i value.Value) value.Value {
			return c.Cur.NewAdd(c.splat(i), constant.NewVector(nil, lanes...))
		}
		whole := c.RoundDown(n, w)
		zero := c.int(0)
		found := c.For(zero, whole, w, []value.Value{zero, zero}, func(i value.Value, s []value.Value) []value.Value {
			x := c.load(keys, i)
			below, inside := chosen(x)
			c.store(c.together(x, inside), spare, s[1])
			c.store(c.together(position(i), inside), data, s[1])
			return []value.Value{c.Cur.NewAdd(s[0], c.count(below)), c.Cur.NewAdd(s[1], c.count(inside))}
		})
		there := c.first(c.Cur.NewSub(n, whole))
		x := c.loadFirst(keys, whole, there, constant.NewZeroInitializer(c.vector()))
		below, inside := chosen(x)
		inside = c.Cur.NewAnd(inside, there)
		some := c.first(c.count(inside))
		c.storeFirst(c.together(x, inside), spare, found[1], some)
		c.storeFirst(c.together(position(whole), inside), data, found[1], some)
		before := c.Cur.NewAdd(found[0], c.count(c.Cur.NewAnd(below, there)))
		many := c.Cur.NewAdd(found[1], c.count(inside))
		// They are sorted in the memory behind them.
		fits := c.Cur.NewICmp(enum.IPredSLE, c.Cur.NewShl(many, one), n)
		return c.If(fits, []value.Value{zero}, func() []value.Value {
			order := c.at(data, many)
			c.Cur.NewCall(c.places(), order, spare, c.at(spare, many), many)
			c.For(zero, many, 1, nil, func(i value.Value, _ []value.Value) []value.Value {
				at := c.Cur.NewAnd(read(order, i), c.int(1<<32-1))
				c.Cur.NewStore(read(data, at), c.at(spare, i))
				return nil
			})
			c.For(first, end, 1, nil, func(i value.Value, _ []value.Value) []value.Value {
				c.Cur.NewStore(read(spare, c.Cur.NewSub(i, before)), c.at(data, i))
				return nil
			})
			return []value.Value{many}
		})[0]
	})
}

// places is the function that gives all positions.
func (c *code) places() *lir.Func {
	p := lt.NewPointer(c.t)
	data, keys, spare := lir.NewParam("data", p), lir.NewParam("keys", p), lir.NewParam("spare", p)
	n := lir.NewParam("n", build.I64)
	params := []*lir.Param{data, keys, spare, n}
	return c.helper(c.Module, "places", lt.Void, params, func(c *code) value.Value {
		c.allPositions(data, keys, spare, n)
		return nil
	})
}

// allPositions writes the function.
func (c *code) allPositions(data, keys, spare, n value.Value) {
	const half = 32
	low := build.Int(build.I64, 1<<half-1)
	one := c.int(1)
	read := func(p, i value.Value) value.Value { return c.Cur.NewLoad(build.I64, c.at(p, i)) }
	write := func(x, i value.Value) { c.Cur.NewStore(x, c.at(data, i)) }
	words := func(at, n value.Value) {
		p := c.at(data, at)
		c.Cur.NewCall(c.words(), append([]value.Value{p, p, spare, n}, c.none()...)...)
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
