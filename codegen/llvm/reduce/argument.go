package reduce

import (
	"math"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/ir"
	"healc/ir/kernel/analysis"
	"healc/ir/scalar"
)

// Note [Positions in vectors]
//
// The position of a maximum is found in the pass that finds it, because memory would rest during a search afterwards.
// Of some vectors that follow each other the largest elements are taken first, lane by lane, and only these are
// compared with the best that each lane has: so an element costs one instruction and its part of the rule of NaN, and
// not three. A lane keeps where the vectors began among which it found its best. Of the lanes whose best is the
// maximum the first place is the right one, and the element is looked for from there, in these vectors alone. A NaN
// that was seen is looked for from the beginning instead.
//
// Rows of few such vectors are taken vector by vector: then a place and a lane are the position.

// argumentBlock is the number of elements whose positions are kept in 32 bits.
const argumentBlock = 1 << 20

// argument finds the position of the first maximum (minimum); the first NaN beats every number.
func (r *Reduction) argument(lo, hi value.Value) value.Value {
	w, sh := r.alongWidth()
	slow := func() value.Value { return r.argumentByOne(lo, hi) }
	if w == 0 {
		return slow()
	}
	return r.whenLong(lo, hi, w, func() value.Value { return r.argumentByBlocks(lo, hi, w, r.together(w, sh)) }, slow)
}

// together is how many vectors are compared with the best at once.
func (r *Reduction) together(w int, sh analysis.Shape) int {
	p := r.G.Machine.Profile.Reduce
	if n, known := build.ConstantInt(r.n); known && n < int64(2*p.ArgumentVectors*w) || sh.Instrs >= p.LongBody {
		return 1
	}
	return p.ArgumentVectors
}

// argumentByBlocks takes blocks whose positions fit an i32.
func (r *Reduction) argumentByBlocks(lo, hi value.Value, w, together int) value.Value {
	g := r.G
	last := g.Sub(hi, build.Int(build.I64, int64(w)))
	out := g.For(lo, hi, argumentBlock, []value.Value{r.identityArg(), build.Int(build.I64, -1)},
		func(p value.Value, state []value.Value) []value.Value {
			end := r.minInt(g.Cur.NewAdd(p, build.Int(build.I64, argumentBlock)), hi)
			p = r.minInt(p, last) // the elements it repeats are never strictly better
			x, found := r.argumentInBlock(p, end, last, w, together)
			better := g.Cur.NewOr(r.Better(x, state[0]), g.Cur.NewICmp(enum.IPredSLT, state[1],
				build.Int(build.I64, 0)))
			return []value.Value{g.Cur.NewSelect(better, x, state[0]), g.Cur.NewSelect(better, found, state[1])}
		})
	return out[1]
}

// argumentInBlock gives the first extreme of [lo, hi), at least w elements, and its position.
func (r *Reduction) argumentInBlock(lo, hi, last value.Value, w, together int) (x, at value.Value) {
	var groups []int
	for n := together; n > 1; n /= 2 {
		groups = append(groups, n)
	}
	state := r.overlapped(lo, hi, w, groups, r.argumentInit(w),
		func(p value.Value, n int, state []value.Value) []value.Value {
			return r.argumentStep(r.G.Sub(p, lo), r.candidates(nil, r.vectorsAt(p, n, w)), state, w)
		})
	return r.argumentDone(state, lo, last, w, together > 1)
}

// argumentInit is the state of argumentInBlock: the best of each lane, and where the vectors began among which it was;
// the lanes that saw numbers alone.
func (r *Reduction) argumentInit(w int) []value.Value {
	return []value.Value{build.SplatConst(r.worst(), w), build.SplatConst(build.Int(build.I32, 0), w), r.numbers(w)}
}

// worst is an element that none is worse than.
func (r *Reduction) worst() constant.Constant {
	s := *r.S
	s.Kind = ir.ReduceMin
	if r.isMax() {
		s.Kind = ir.ReduceMax
	}
	return (&Reduction{G: r.G, S: &s, D: r.D}).IdentityConst()
}

// candidates is what vectors say that follow each other.
type candidates struct {
	best    value.Value // the best element of each lane
	ordered value.Value // the lanes that hold no NaN; nil for integers
}

// candidates is c, nil for none yet, and vectors that follow.
func (r *Reduction) candidates(c *candidates, xs []value.Value) *candidates {
	next := &candidates{}
	if r.D.IsFloat() {
		next.ordered = r.ordered(xs)
	}
	next.best, xs = xs[0], xs[1:]
	if c != nil {
		next.best = r.beyond(next.best, c.best)
		if c.ordered != nil {
			next.ordered = r.G.Cur.NewAnd(c.ordered, next.ordered)
		}
	}
	for _, x := range xs {
		next.best = r.beyond(x, next.best)
	}
	return next
}

// argumentStep takes in what vectors say that begin at offset, in elements from the beginning of the block.
func (r *Reduction) argumentStep(offset value.Value, c *candidates, state []value.Value, w int) []value.Value {
	g := r.G
	begin := g.SplatTo(g.Cur.NewTrunc(offset, build.I32), w)
	better := r.strictly(c.best, state[0])
	next := []value.Value{g.Cur.NewSelect(better, c.best, state[0]), g.Cur.NewSelect(better, begin, state[1]), state[2]}
	if c.ordered != nil {
		next[2] = r.stillNumbers(state[2], c.ordered, w)
	}
	return next
}

// argumentDone is the extreme of a state and its position; no vector may begin after last. Where several vectors were
// taken at once, the state tells where these began.
func (r *Reduction) argumentDone(state []value.Value, lo, last value.Value, w int, several bool) (x, at value.Value) {
	g := r.G
	best, places := state[0], state[1]
	for n := w; n > 1; n /= 2 {
		best = r.beyond(g.Extract(best, n/2, n/2), g.Extract(best, 0, n/2))
	}
	x = g.Cur.NewExtractElement(best, build.Int(build.I32, 0))
	all := g.SplatTo(x, w)
	if !several {
		places = g.Cur.NewAdd(places, build.IotaMask(0, w))
	}
	// Of the lanes that have it the first place. Where no element was better than the worst there is, all are equal,
	// and the places are still 0.
	first := value.Value(g.Cur.NewSelect(r.equal(state[0], all), places,
		build.SplatConst(build.Int(build.I32, math.MaxInt32), w)))
	for n := w; n > 1; n /= 2 {
		x, y := g.Extract(first, 0, n/2), g.Extract(first, n/2, n/2)
		first = g.Cur.NewSelect(g.Cur.NewICmp(enum.IPredSLT, y, x), y, x)
	}
	at = g.Cur.NewAdd(lo, g.Cur.NewSExt(g.Cur.NewExtractElement(first, build.Int(build.I32, 0)), build.I64))
	found := func() []value.Value {
		if !several {
			return []value.Value{x, at}
		}
		return []value.Value{x, r.find(at, last, w, func(v value.Value) value.Value { return r.equal(v, all) })}
	}
	if !r.D.IsFloat() {
		out := found()
		return out[0], out[1]
	}
	out := g.IfElse(r.sawNaN(state[2], w), func() []value.Value {
		return []value.Value{build.FromBits(build.RegisterType(r.D),
			scalar.FloatBits(analysis.ArithmeticType(r.D), math.NaN())),
			r.find(lo, last, w, func(v value.Value) value.Value { return g.Cur.NewFCmp(enum.FPredUNO, v, v) })}
	}, found)
	return out[0], out[1]
}

// find is the position of the first element from p on for which is holds. There is one; no vector begins after last.
func (r *Reduction) find(p, last value.Value, w int, is func(v value.Value) value.Value) value.Value {
	g := r.G
	mask := lt.NewInt(uint64(w))
	pre, head, exit := g.Cur, g.NewBlock(), g.NewBlock()
	pre.NewBr(head)
	i := head.NewPhi(lir.NewIncoming(p, pre))
	g.Cur = head
	at := r.minInt(i, last)
	bits := g.Cur.NewBitCast(is(r.vectorAt(at, w)), mask)
	g.Cur.NewCondBr(g.Cur.NewICmp(enum.IPredNE, bits, constant.NewInt(mask, 0)), exit, head)
	i.Incs = append(i.Incs, lir.NewIncoming(g.Cur.NewAdd(i, build.Int(build.I64, int64(w))), g.Cur))
	g.Cur = exit
	first := g.Cur.NewCall(g.Intrinsic("llvm.cttz."+build.TypeSuffix(mask), mask, mask, build.I1), bits, constant.True)
	lane := value.Value(first)
	switch {
	case mask.BitSize < 64:
		lane = g.Cur.NewZExt(first, build.I64)
	case mask.BitSize > 64:
		lane = g.Cur.NewTrunc(first, build.I64)
	}
	return g.Cur.NewAdd(at, lane)
}

// argumentByOne is argument one by one, for bodies that cannot be vectorised along the reduced axis, or whose outputs
// are vectors themselves.
func (r *Reduction) argumentByOne(lo, hi value.Value) value.Value {
	g := r.G
	none := g.ConstOf(build.Int(build.I64, -1), g.Width)
	out := g.For(lo, hi, 1, []value.Value{g.ConstOf(r.identityArg(), g.Width), none},
		func(p value.Value, state []value.Value) []value.Value {
			x := r.at(p)
			best, at := state[0], state[1]
			better := r.Better(x, best)
			better = g.Cur.NewOr(better, g.Cur.NewICmp(enum.IPredSLT, at, g.ConstOf(build.Int(build.I64, 0), g.Width)))
			if g.Width != 0 {
				p = g.Splat(p)
			}
			return []value.Value{g.Cur.NewSelect(better, x, best), g.Cur.NewSelect(better, p, at)}
		})
	return out[1]
}

func (r *Reduction) identityArg() constant.Constant {
	return build.FromBits(build.RegisterType(r.D), 0)
}
