package sorting

import (
	"math"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/ir/scalar"
)

// A part of the row: n elements that belong to the data from at on, with as many elements of the spare memory from
// spare on. where says where they lie. cuts is how many pivots may be guessed. No element is below the one whose bits
// least has.
type part struct{ at, n, spare, where, cuts, least value.Value }

// Where the elements of a part lie: in its place in the data, in the spare memory, or in the source.
const (
	inData = iota
	inSpare
	inSource
)

func (p part) values() []value.Value {
	return []value.Value{p.at, p.n, p.spare, p.where, p.cuts, p.least}
}

func partOf(v []value.Value) part { return part{v[0], v[1], v[2], v[3], v[4], v[5]} }

// partWords is how many values a part is, and pending how many parts may wait: of two the smaller one is done first.
const (
	partWords = 6
	pending   = 64
)

// glance is the binary logarithm of the part of a row that is looked at before it is cut.
const glance = 4

// row sorts a row.
func (c *code) row(r request) {
	long := c.Cur.NewICmp(enum.IPredSGT, r.n, c.int(c.fits()))
	ready := c.IfElse(long, func() []value.Value {
		return []value.Value{c.Cur.NewCall(c.arranged(), r.data, r.source, r.spare, r.n)}
	}, func() []value.Value { return []value.Value{constant.False} })[0]
	c.When(c.Cur.NewXor(ready, constant.True), func() { c.quicksort(r) })
}

// quicksort sorts a row by parts.
func (c *code) quicksort(r request) {
	zero, one := c.int(0), c.int(1)
	log := c.Cur.NewSub(c.int(64), c.Cur.NewCall(c.Intrinsic("llvm.ctlz.i64", build.I64, build.I64, build.I1), r.n,
		constant.False))
	whole := part{at: zero, n: r.n, spare: zero, where: c.int(inSource), cuts: c.Cur.NewShl(log, one),
		least: c.word(c.lowest())}
	waiting := c.Stack(build.I64, partWords*pending)
	push := func(top value.Value, p part) value.Value {
		base := c.Cur.NewMul(top, c.int(partWords))
		for i, x := range p.values() {
			c.Cur.NewStore(x, c.Cur.NewGetElementPtr(build.I64, waiting, c.Cur.NewAdd(base, c.int(int64(i)))))
		}
		return c.Cur.NewAdd(top, one)
	}
	// A part to sort and how many wait, and the same with a pivot and how many are below it.
	sort, split := c.join(partWords+1), c.join(partWords+3)
	wanted, leaf, cut, next, exit := c.NewBlock(), c.NewBlock(), c.NewBlock(), c.NewBlock(), c.NewBlock()
	again := func(p part, top value.Value) { sort.from(c, append(p.values(), top)...) }
	if c.d.IsFloat() {
		c.special(r, whole, again, split, func(p part) value.Value { return push(zero, p) })
	} else {
		again(whole, zero)
	}

	c.Cur = sort.block
	now := sort.values()
	p, depth := partOf(now), now[partWords]
	c.Cur.NewCondBr(c.wanted(r, p), wanted, next)

	c.Cur = wanted
	place := c.at(r.data, p.at)
	other := value.Value(c.at(r.spare, p.spare))
	is := func(where int64) value.Value { return c.Cur.NewICmp(enum.IPredEQ, p.where, c.int(where)) }
	from := c.Cur.NewSelect(is(inData), place, c.Cur.NewSelect(is(inSpare), other, r.source))
	c.Cur.NewCondBr(c.Cur.NewICmp(enum.IPredSLE, p.n, c.int(c.fits())), leaf, cut)

	c.Cur = leaf
	c.small(place, from, p.n)
	c.Cur.NewBr(next)

	c.Cur = cut
	guess := c.Cur.NewICmp(enum.IPredSGT, p.cuts, zero)
	chosen := c.IfElse(guess, func() []value.Value {
		pivot, lowest := c.pivot(from, p.n)
		return []value.Value{pivot, lowest}
	}, func() []value.Value {
		return []value.Value{c.Cur.NewCall(c.middle(), from, p.n), constant.False}
	})
	pivot, lowest := chosen[0], chosen[1]
	lows, equals := c.NewBlock(), c.NewBlock()
	least := c.Cur.NewICmp(enum.IPredEQ, c.word(pivot), p.least)
	c.Cur.NewCondBr(c.Cur.NewOr(least, c.Cur.NewCall(c.begins(), from, pivot)), equals, lows)

	c.Cur = equals // nothing is below the pivot, or the part may have no other elements
	run := c.Cur.NewCall(c.run(), from, p.n, pivot)
	all := c.Cur.NewICmp(enum.IPredEQ, run, p.n)
	taken, more := c.NewBlock(), c.NewBlock()
	c.Cur.NewCondBr(c.Cur.NewOr(least, all), taken, lows)
	c.Cur = taken
	c.When(c.Cur.NewXor(is(inData), constant.True), func() { c.Cur.NewCall(c.fill(), place, run, pivot) })
	c.Cur.NewCondBr(all, next, more)
	c.Cur = more
	others := c.Cur.NewSub(p.n, run)
	same := c.Cur.NewCall(c.partition(upto), c.at(place, run), other, c.at(from, run), others, pivot)
	again(c.above(p, pivot, c.Cur.NewAdd(run, same)), depth)

	c.Cur = lows
	found := c.IfElse(lowest, func() []value.Value {
		// Perhaps nothing is below it. If nothing is above, either, what equals it is.
		many := c.Cur.NewCall(c.partition(upto), place, other, from, p.n, pivot)
		return c.If(c.Cur.NewICmp(enum.IPredEQ, many, p.n), []value.Value{many}, func() []value.Value {
			return []value.Value{c.Cur.NewCall(c.partition(below), place, other, place, p.n, pivot)}
		})
	}, func() []value.Value {
		return []value.Value{c.Cur.NewCall(c.partition(below), place, other, from, p.n, pivot)}
	})[0]
	split.from(c, append(p.values(), depth, pivot, found)...)

	c.Cur = split.block
	now = split.values()
	p, depth, pivot = partOf(now), now[partWords], now[partWords+1]
	lower := now[partWords+2]
	some, none := c.NewBlock(), c.NewBlock()
	c.Cur.NewCondBr(c.Cur.NewICmp(enum.IPredSGT, lower, zero), some, none)

	c.Cur = none // the pivot is the least
	other = c.at(r.spare, p.spare)
	again(c.above(p, pivot, c.Cur.NewCall(c.partition(upto), c.at(r.data, p.at), other, other, p.n, pivot)), depth)

	c.Cur = some
	u := c.above(p, pivot, lower)
	l := part{p.at, lower, c.Cur.NewAdd(p.spare, u.n), c.int(inData), u.cuts, p.least}
	fewer := c.Cur.NewICmp(enum.IPredSLT, lower, u.n)
	var smaller, larger []value.Value
	for i := range l.values() {
		x, y := l.values()[i], u.values()[i]
		smaller, larger = append(smaller, c.Cur.NewSelect(fewer, x, y)), append(larger, c.Cur.NewSelect(fewer, y, x))
	}
	deeper := push(depth, partOf(larger))
	again(partOf(smaller), deeper)

	c.Cur = next
	last := c.Cur.NewSub(sort.values()[partWords], one)
	pop := c.NewBlock()
	c.Cur.NewCondBr(c.Cur.NewICmp(enum.IPredSGE, last, zero), pop, exit)
	c.Cur = pop
	base := c.Cur.NewMul(last, c.int(partWords))
	popped := make([]value.Value, partWords)
	for i := range popped {
		popped[i] = c.Cur.NewLoad(build.I64, c.Cur.NewGetElementPtr(build.I64, waiting,
			c.Cur.NewAdd(base, c.int(int64(i)))))
	}
	again(partOf(popped), last)
	c.Cur = exit
}

// above is what is left of a part in the spare memory, behind so many elements that are below a pivot or equal it.
func (c *code) above(p part, pivot, below value.Value) part {
	return part{c.Cur.NewAdd(p.at, below), c.Cur.NewSub(p.n, below), p.spare, c.int(inSpare),
		c.Cur.NewSub(p.cuts, c.int(1)), c.word(pivot)}
}

// join is a block with values that differ by where the code comes from.
type join struct {
	block *lir.Block
	phis  []*lir.InstPhi
	many  int
}

func (c *code) join(many int) *join { return &join{block: c.NewBlock(), many: many} }

// from goes there from the current block.
func (j *join) from(c *code, x ...value.Value) {
	if len(x) != j.many {
		panic("BUG: a join of other values")
	}
	if j.phis == nil {
		for _, x := range x {
			j.phis = append(j.phis, j.block.NewPhi(lir.NewIncoming(x, c.Cur)))
		}
	} else {
		for i, x := range x {
			j.phis[i].Incs = append(j.phis[i].Incs, lir.NewIncoming(x, c.Cur))
		}
	}
	c.Cur.NewBr(j.block)
}

// values are those of the join, which is entered already.
func (j *join) values() []value.Value {
	out := make([]value.Value, len(j.phis))
	for i, phi := range j.phis {
		out[i] = phi
	}
	return out
}

// wanted reports that a request asks for some rank of a part.
func (c *code) wanted(r request, p part) value.Value {
	all := c.Cur.NewICmp(enum.IPredEQ, r.many, c.int(0))
	return c.IfElse(all, func() []value.Value { return []value.Value{constant.True} }, func() []value.Value {
		return []value.Value{c.Cur.NewCall(c.meets(), r.ranks, r.many, p.at, c.Cur.NewAdd(p.at, p.n))}
	})[0]
}

// meets is the function that reports that there are numbers from first on and below end in one of some ranks.
func (c *code) meets() *lir.Func {
	ranks, many := lir.NewParam("ranks", lt.NewPointer(build.I64)), lir.NewParam("many", build.I64)
	first, end := lir.NewParam("first", build.I64), lir.NewParam("end", build.I64)
	params := []*lir.Param{ranks, many, first, end}
	return c.helper(c.Module, "meets", build.I1, params, func(c *code) value.Value {
		return c.For(c.int(0), many, 1, []value.Value{constant.False},
			func(i value.Value, s []value.Value) []value.Value {
				from, to := c.ranksAt(ranks, i)
				meet := c.Cur.NewAnd(c.Cur.NewICmp(enum.IPredSLT, from, end), c.Cur.NewICmp(enum.IPredSLT, first, to))
				return []value.Value{c.Cur.NewOr(s[0], meet)}
			})[0]
	})
}

// ranksAt are the first and the end of ranks number i.
func (c *code) ranksAt(ranks, i value.Value) (first, end value.Value) {
	at := c.Cur.NewShl(i, c.int(1))
	read := func(at value.Value) value.Value {
		return c.Cur.NewLoad(build.I64, c.Cur.NewGetElementPtr(build.I64, ranks, at))
	}
	return read(at), read(c.Cur.NewOr(at, c.int(1)))
}

// word is the bits of an element in a word.
func (c *code) word(x value.Value) value.Value {
	if c.d.IsFloat() {
		x = c.Cur.NewBitCast(x, build.IntType(c.d.Bits()))
	}
	if c.d.Bits() == 64 {
		return x
	}
	return c.Cur.NewZExt(x, build.I64)
}

// lowest is what no element comes before.
func (c *code) lowest() constant.Constant {
	switch {
	case c.d.IsFloat():
		return build.FromBits(c.t, scalar.FloatBits(c.d, math.Inf(-1)))
	case c.d.IsSigned():
		return build.FromBits(c.t, 1<<(c.d.Bits()-1))
	}
	return build.FromBits(c.t, 0)
}

// special takes NaNs out of a row of floats, and zeros if there are both, and goes on with what is left: by again, or
// where it is cut, by split. push has a part wait, and gives how many do.
//
// A row that is not sorted in its own memory is looked at while it is cut. If there are such numbers, the cut was for
// nothing; so it is not tried where they are at the beginning of the row.
func (c *code) special(r request, whole part, again func(p part, top value.Value), split *join,
	push func(p part) value.Value) {
	zero := c.int(0)
	apart := c.join(1)
	looked := func(found value.Value) value.Value { // that there is nothing to take out
		both := c.Cur.NewAnd(found, c.int(isZero|isMinusZero))
		return c.Cur.NewAnd(c.Cur.NewICmp(enum.IPredEQ, c.Cur.NewAnd(found, c.int(isNaN)), zero),
			c.Cur.NewICmp(enum.IPredNE, both, c.int(isZero|isMinusZero)))
	}
	here, begin, cuts, plain := c.NewBlock(), c.NewBlock(), c.NewBlock(), c.NewBlock()
	long := c.Cur.NewICmp(enum.IPredSGT, r.n, c.int(c.fits()))
	c.Cur.NewCondBr(c.Cur.NewAnd(long, c.Cur.NewICmp(enum.IPredNE, r.data, r.source)), begin, here)

	c.Cur = begin
	pivot, lowest := c.pivot(r.source, r.n)
	few := c.Cur.NewLShr(r.n, c.int(glance))
	clean := looked(c.Cur.NewCall(c.look(), r.source, few))
	c.Cur.NewCondBr(c.Cur.NewAnd(clean, c.Cur.NewXor(lowest, constant.True)), cuts, here)

	c.Cur = cuts
	result := c.Cur.NewCall(c.partition(first), r.data, r.spare, r.source, r.n, pivot)
	found := value.Value(c.Cur.NewLShr(result, c.int(foundAt)))
	done, failed := c.NewBlock(), c.NewBlock()
	c.Cur.NewCondBr(looked(found), done, failed)
	c.Cur = done
	split.from(c, append(whole.values(), zero, pivot, c.Cur.NewAnd(result, c.int(1<<foundAt-1)))...)
	c.Cur = failed
	apart.from(c, found)

	c.Cur = here
	found = c.Cur.NewCall(c.look(), r.source, r.n)
	some := c.NewBlock()
	c.Cur.NewCondBr(looked(found), plain, some)
	c.Cur = some
	apart.from(c, found)
	c.Cur = plain
	again(whole, zero)

	c.Cur = apart.block
	found = apart.values()[0]
	is := func(bits int64) value.Value {
		return c.Cur.NewICmp(enum.IPredEQ, c.Cur.NewAnd(found, c.int(bits)), c.int(bits))
	}
	numbers := c.If(is(isNaN), []value.Value{whole.n, whole.where, r.source}, func() []value.Value {
		inf := build.FromBits(c.t, scalar.FloatBits(c.d, math.Inf(1)))
		n := c.Cur.NewCall(c.partition(upto), r.data, r.spare, r.source, whole.n, inf)
		c.For(n, whole.n, 1, nil, func(i value.Value, _ []value.Value) []value.Value {
			x := c.Cur.NewLoad(c.t, c.at(r.spare, c.Cur.NewSub(i, n)))
			c.Cur.NewStore(x, c.at(r.data, i))
			return nil
		})
		return []value.Value{n, c.int(inData), r.data}
	})
	whole.n, whole.where = numbers[0], numbers[1]
	out := c.If(is(isZero|isMinusZero), append(whole.values(), zero), func() []value.Value {
		null := build.FromBits(c.t, 0)
		negative := c.Cur.NewCall(c.partition(below), r.data, r.spare, numbers[2], whole.n, null)
		others := c.Cur.NewSub(whole.n, negative)
		zeros := c.Cur.NewCall(c.partition(upto), c.at(r.data, negative), r.spare, r.spare, others, null)
		positive := c.Cur.NewSub(others, zeros)
		top := push(part{zero, negative, positive, c.int(inData), whole.cuts, whole.least})
		rest := part{c.Cur.NewAdd(negative, zeros), positive, zero, c.int(inSpare), whole.cuts, whole.least}
		return append(rest.values(), top)
	})
	again(partOf(out), out[partWords])
}
