package llvm

import (
	"math"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Extremes in vectors]
//
// The maximum of floats has two rules that one instruction does not know: a NaN wins, and -0 is below +0.
// Taken for each pair they cost eight instructions. Over many elements they can be put off: the loop keeps
// the largest number by `x > best ? x : best`, which is one instruction and passes NaNs by, a bit for each
// lane that saw a NaN (one comparison asks two vectors), and the conjunction of all sign bits. At the end a
// NaN seen is the result, and where the largest number is a zero, it is -0 exactly when no sign bit was clear. For
// the minimum it is the other way round: +0 when no sign bit was set.
//
// The position of the maximum is kept in the same pass, as the begin of the vector in which each lane found
// its best; the lanes whose best is the maximum give the first position. A NaN that was seen is looked for at the end.
// (argmax of f32[2^24], one thread of a Sapphire Rapids, November 2026: one by one 58 ms; the
// maximum of blocks of 4096 and then a search in each 3.3 ms, because memory rests during the search; so 2.5 ms.)
//
// Doing an element twice changes no extreme, so what does not fill a vector is done by one that overlaps the
// vector before it.

// argumentRegisters is how many registers a vector takes of which the position is kept: its best, where that was, the
// element and what compares them. Where there are 16, more groups keep the former in memory.
const argumentRegisters = 4

// argumentBlock is the number of elements whose positions are kept in 32 bits.
const argumentBlock = 1 << 20

// floatLimit gives the bits of the lowest value of d, -inf, or of the highest.
func floatLimit(d types.DType, lowest bool) uint64 {
	if lowest {
		return scalar.FloatBits(d, math.Inf(-1))
	}
	return scalar.FloatBits(d, math.Inf(1))
}

func (r *reduction) isMax() bool { return r.s.Kind == ir.ReduceMax || r.s.Kind == ir.ReduceArgMax }

// putsOff reports that Note [Extremes in vectors] applies to r: extremes of floats.
func (r *reduction) putsOff() bool {
	return r.d.IsFloat() && (r.s.Kind == ir.ReduceMax || r.s.Kind == ir.ReduceMin)
}

// whenLong chooses between long, for ranges of at least w elements, and short.
func (r *reduction) whenLong(lo, hi value.Value, w int, long, short func() value.Value) value.Value {
	g := r.g
	a, ok1 := constantInt(lo)
	b, ok2 := constantInt(hi)
	if ok1 && ok2 {
		if b-a >= int64(w) {
			return long()
		}
		return short()
	}
	return g.choose(g.cur.NewICmp(enum.IPredSGE, g.cur.NewSub(hi, lo), ci(i64, int64(w))),
		func() []value.Value {
			return []value.Value{long()}
		}, func() []value.Value { return []value.Value{short()} })[0]
}

// beyond is the larger (smaller) of numbers; best when x is a NaN.
func (r *reduction) beyond(x, best value.Value) value.Value {
	return r.g.cur.NewSelect(r.strictly(x, best), x, best)
}

// overlapped runs body over [lo, hi), at least w elements, first n = groups vectors at a time and then one. The
// last vector ends at hi.
func (r *reduction) overlapped(lo, hi value.Value, w, groups int, state []value.Value,
	body func(p value.Value, n int, state []value.Value) []value.Value) []value.Value {
	g := r.g
	step := int64(w * groups)
	stop := lo
	if groups > 1 {
		stop = g.plus(lo, g.whole(g.minus(hi, lo), step))
		state = g.count(lo, stop, step, state, func(p value.Value, state []value.Value) []value.Value {
			return body(p, groups, state)
		})
	}
	last := g.minus(hi, ci(i64, int64(w)))
	return g.count(stop, hi, int64(w), state, func(p value.Value, state []value.Value) []value.Value {
		return body(r.minInt(p, last), 1, state)
	})
}

// vectorsAt evaluates the body for n neighbouring vectors of w.
func (r *reduction) vectorsAt(p value.Value, n, w int) []value.Value {
	xs := make([]value.Value, n)
	for i := range xs {
		xs[i] = r.vectorAt(r.g.plus(p, ci(i64, int64(i*w))), w)
	}
	return xs
}

// extreme is the maximum (minimum) of the floats [lo, hi), at least w. It is any NaN when there is one.
func (r *reduction) extreme(lo, hi value.Value, w, groups int) value.Value {
	state := r.overlapped(lo, hi, w, groups, r.extremeInit(w, groups),
		func(p value.Value, n int, state []value.Value) []value.Value {
			return r.extremeStep(r.vectorsAt(p, n, w), state, w, groups)
		})
	return r.extremeDone(state, w, groups)
}

// extremeInit is the state of extreme: a best number for each group, the lanes that saw a NaN, the signs.
func (r *reduction) extremeInit(w, groups int) []value.Value {
	state := make([]value.Value, groups, groups+2)
	for i := range state {
		state[i] = splatConst(fromBits(regType(r.d), floatLimit(regDType(r.d), r.isMax())), w)
	}
	neutral := int64(0)
	if r.isMax() {
		neutral = -1
	}
	return append(state, r.seenNone(w), splatConst(ci(r.bitsType(), neutral), w))
}

// combineMany is acc and all of xs, vectors of w: for extremes of floats a state of one group, which needs no end of
// its own for acc, whose NaN no number replaces.
func (r *reduction) combineMany(acc value.Value, xs []value.Value, w int) value.Value {
	g := r.g
	if !r.putsOff() || len(xs) < 2 || g.machine.Device {
		for _, x := range xs {
			acc = r.combine(acc, x, w)
		}
		return acc
	}
	t, bits := regType(r.d), r.bitsType()
	sign := value.Value(g.cur.NewBitCast(acc, vec(bits, w)))
	for _, x := range xs {
		acc = r.beyond(x, acc)
		sign = r.joinSigns(sign, g.cur.NewBitCast(x, vec(bits, w)))
	}
	top := g.cur.NewAnd(sign, g.k(fromBits(bits, 1<<(bits.BitSize-1)), w))
	zero := g.cur.NewFCmp(enum.FPredOEQ, acc, g.k(fromBits(t, 0), w))
	acc = g.cur.NewSelect(zero, g.cur.NewBitCast(top, vec(t, w)), acc)
	return g.cur.NewSelect(r.unordered(xs), g.k(fromBits(t, scalar.FloatBits(regDType(r.d), math.NaN())), w), acc)
}

func (r *reduction) bitsType() *lt.IntType { return intType(regDType(r.d).Bits()) }

// extremeStep takes vectors in; the groups take turns.
func (r *reduction) extremeStep(xs, state []value.Value, w, groups int) []value.Value {
	g := r.g
	next := append([]value.Value{}, state...)
	for i, x := range xs {
		next[i%groups] = r.beyond(x, next[i%groups])
		next[groups+1] = r.joinSigns(next[groups+1], g.cur.NewBitCast(x, vec(r.bitsType(), w)))
	}
	next[groups] = r.see(state[groups], xs, w)
	return next
}

// extremeDone is the result of a state.
func (r *reduction) extremeDone(state []value.Value, w, groups int) value.Value {
	g := r.g
	t, bits := regType(r.d), r.bitsType()
	best, sign := state[0], state[groups+1]
	for _, x := range state[1:groups] {
		best = r.beyond(x, best)
	}
	for n := w; n > 1; n /= 2 {
		best = r.beyond(g.part(best, n/2, n/2), g.part(best, 0, n/2))
		sign = r.joinSigns(g.part(sign, n/2, n/2), g.part(sign, 0, n/2))
	}
	out := value.Value(g.cur.NewExtractElement(best, ci(i32, 0)))
	top := g.cur.NewAnd(g.cur.NewExtractElement(sign, ci(i32, 0)), fromBits(bits, 1<<(bits.BitSize-1)))
	zero := g.cur.NewFCmp(enum.FPredOEQ, out, fromBits(t, 0))
	out = g.cur.NewSelect(zero, g.cur.NewBitCast(top, t), out)
	return g.cur.NewSelect(r.seen(state[groups], w), fromBits(t, scalar.FloatBits(regDType(r.d), math.NaN())), out)
}

func (r *reduction) joinSigns(x, y value.Value) value.Value {
	if r.isMax() {
		return r.g.cur.NewAnd(x, y)
	}
	return r.g.cur.NewOr(x, y)
}

// argument finds the position of the first maximum (minimum); the first NaN beats every number.
func (r *reduction) argument(lo, hi value.Value) value.Value {
	w, sh := r.alongWidth()
	slow := func() value.Value { return r.argumentByOne(lo, hi) }
	if w == 0 {
		return slow()
	}
	groups := groupsFor(sh)
	if m := r.g.machine; m.Registers < 32 {
		bytes := max(4, regDType(r.d).Bytes())
		groups = max(1, min(groups, m.Registers/argumentRegisters*m.VectorBits/(8*w*bytes)))
	}
	return r.whenLong(lo, hi, w, func() value.Value { return r.argumentByBlocks(lo, hi, w, groups) }, slow)
}

// argumentByBlocks takes blocks whose positions fit an i32.
func (r *reduction) argumentByBlocks(lo, hi value.Value, w, groups int) value.Value {
	g := r.g
	last := g.minus(hi, ci(i64, int64(w)))
	out := g.count(lo, hi, argumentBlock, []value.Value{r.identityArg(), ci(i64, -1)},
		func(p value.Value, state []value.Value) []value.Value {
			end := r.minInt(g.cur.NewAdd(p, ci(i64, argumentBlock)), hi)
			p = r.minInt(p, last) // what it repeats is never strictly better
			x, found := r.argumentInBlock(p, end, last, w, groups)
			better := g.cur.NewOr(r.better(x, state[0]), g.cur.NewICmp(enum.IPredSLT, state[1], ci(i64, 0)))
			return []value.Value{g.cur.NewSelect(better, x, state[0]), g.cur.NewSelect(better, found, state[1])}
		})
	return out[1]
}

// argumentInBlock gives the first extreme of [lo, hi), at least w elements, and its position.
func (r *reduction) argumentInBlock(lo, hi, last value.Value, w, groups int) (x, at value.Value) {
	state := r.overlapped(lo, hi, w, groups, r.argumentInit(w, groups),
		func(p value.Value, n int, state []value.Value) []value.Value {
			return r.argumentStep(r.g.cur.NewSub(p, lo), r.vectorsAt(p, n, w), state, w, groups)
		})
	return r.argumentDone(state, lo, last, w, groups)
}

// argumentInit is the state of argumentInBlock: for each group the best of each lane, and where the vector began in
// which it was, less the place of the group; the lanes that saw a NaN.
func (r *reduction) argumentInit(w, groups int) []value.Value {
	worst := splatConst(r.worst(), w)
	var state []value.Value
	for range groups {
		state = append(state, worst, splatConst(ci(i32, 0), w))
	}
	return append(state, r.seenNone(w))
}

// worst is an element that none is worse than.
func (r *reduction) worst() constant.Constant {
	s := *r.s
	s.Kind = ir.ReduceMin
	if r.isMax() {
		s.Kind = ir.ReduceMax
	}
	return (&reduction{g: r.g, s: &s, d: r.d}).identityConst()
}

// argumentStep takes vectors in that begin at offset, in elements from the beginning of the block.
func (r *reduction) argumentStep(offset value.Value, xs, state []value.Value, w, groups int) []value.Value {
	g := r.g
	next := append([]value.Value{}, state...)
	for i, x := range xs {
		g.w = w
		begin := g.splat(g.cur.NewTrunc(g.plus(offset, ci(i64, int64(i/groups*groups*w))), i32))
		g.w = 0
		best, at := 2*(i%groups), 2*(i%groups)+1
		better := r.strictly(x, next[best])
		next[best] = g.cur.NewSelect(better, x, next[best])
		next[at] = g.cur.NewSelect(better, begin, next[at])
	}
	if nan := 2 * groups; r.d.IsFloat() {
		next[nan] = r.see(state[nan], xs, w)
	}
	return next
}

// argumentDone is the extreme of a state and its position; no vector may begin after last.
func (r *reduction) argumentDone(state []value.Value, lo, last value.Value, w, groups int) (x, at value.Value) {
	g := r.g
	nan := 2 * groups
	best := state[0]
	for i := 1; i < groups; i++ {
		best = r.beyond(state[2*i], best)
	}
	for n := w; n > 1; n /= 2 {
		x, y := g.part(best, 0, n/2), g.part(best, n/2, n/2)
		best = r.beyond(y, x)
	}
	x = g.cur.NewExtractElement(best, ci(i32, 0))
	g.w = w
	all := g.splat(x)
	g.w = 0
	// Of the lanes that have it the first position. Where no element was better than the worst there is, all
	// are equal, and the positions are still 0.
	var first value.Value
	for i := 0; i < groups; i++ {
		pos := value.Value(g.cur.NewAdd(state[2*i+1], span(i*w, w)))
		pos = g.cur.NewSelect(r.equal(state[2*i], all), pos, splatConst(ci(i32, math.MaxInt32), w))
		if first != nil {
			pos = g.cur.NewSelect(g.cur.NewICmp(enum.IPredSLT, pos, first), pos, first)
		}
		first = pos
	}
	for n := w; n > 1; n /= 2 {
		x, y := g.part(first, 0, n/2), g.part(first, n/2, n/2)
		first = g.cur.NewSelect(g.cur.NewICmp(enum.IPredSLT, y, x), y, x)
	}
	at = g.cur.NewAdd(lo, g.cur.NewSExt(g.cur.NewExtractElement(first, ci(i32, 0)), i64))
	if !r.d.IsFloat() {
		return x, at
	}
	out := g.when(r.seen(state[nan], w), []value.Value{x, at}, func() []value.Value {
		return []value.Value{fromBits(regType(r.d), scalar.FloatBits(regDType(r.d), math.NaN())),
			r.findNaN(lo, last, w)}
	})
	return out[0], out[1]
}

// strictly reports whether x is beyond best; a NaN never is.
func (r *reduction) strictly(x, best value.Value) value.Value {
	if !r.d.IsFloat() {
		return r.g.cur.NewICmp(r.betterInt(), x, best)
	}
	if r.isMax() {
		return r.g.cur.NewFCmp(enum.FPredOGT, x, best)
	}
	return r.g.cur.NewFCmp(enum.FPredOLT, x, best)
}

func (r *reduction) equal(x, y value.Value) value.Value {
	if r.d.IsFloat() {
		return r.g.cur.NewFCmp(enum.FPredOEQ, x, y)
	}
	return r.g.cur.NewICmp(enum.IPredEQ, x, y)
}

// Which lanes saw a NaN is a bit for each where comparisons give bits, and else a word of all or no bits, as they give
// it: to pack those in every round took AVX2 longer than all the rest.

func (r *reduction) seenNone(w int) value.Value {
	if r.g.machine.masks() {
		return constant.NewInt(lt.NewInt(uint64(w)), 0)
	}
	return splatConst(ci(r.bitsType(), 0), w)
}

// see is seen and the lanes of xs that hold a NaN.
func (r *reduction) see(seen value.Value, xs []value.Value, w int) value.Value {
	b, nans := r.g.cur, r.unordered(xs)
	if r.g.machine.masks() {
		return b.NewOr(seen, b.NewBitCast(nans, lt.NewInt(uint64(w))))
	}
	return b.NewOr(seen, b.NewSExt(nans, vec(r.bitsType(), w)))
}

// seen reports whether any lane saw one.
func (r *reduction) seen(seen value.Value, w int) value.Value {
	b, bits := r.g.cur, lt.NewInt(uint64(w))
	if !r.g.machine.masks() {
		seen = b.NewBitCast(b.NewICmp(enum.IPredNE, seen, r.seenNone(w)), bits)
	}
	return b.NewICmp(enum.IPredNE, seen, constant.NewInt(bits, 0))
}

// unordered says for each lane whether one of xs is a NaN; one comparison asks two of them.
func (r *reduction) unordered(xs []value.Value) value.Value {
	var nans value.Value
	for i := 0; i < len(xs); i += 2 {
		n := value.Value(r.g.cur.NewFCmp(enum.FPredUNO, xs[i], xs[min(i+1, len(xs)-1)]))
		if nans != nil {
			n = r.g.cur.NewOr(nans, n)
		}
		nans = n
	}
	return nans
}

// findNaN is the position of the first NaN from p on. There is one; no vector begins after last.
func (r *reduction) findNaN(p, last value.Value, w int) value.Value {
	g := r.g
	mask := lt.NewInt(uint64(w))
	pre, head, exit := g.cur, g.newBlock(), g.newBlock()
	pre.NewBr(head)
	i := head.NewPhi(lir.NewIncoming(p, pre))
	g.cur = head
	at := r.minInt(i, last)
	v := r.vectorAt(at, w)
	bits := g.cur.NewBitCast(g.cur.NewFCmp(enum.FPredUNO, v, v), mask)
	g.cur.NewCondBr(g.cur.NewICmp(enum.IPredNE, bits, constant.NewInt(mask, 0)), exit, head)
	i.Incs = append(i.Incs, lir.NewIncoming(g.cur.NewAdd(i, ci(i64, int64(w))), g.cur))
	g.cur = exit
	first := g.cur.NewCall(g.intrinsic("llvm.cttz."+typeSuffix(mask), mask, mask, i1), bits, constant.True)
	return g.cur.NewAdd(at, g.cur.NewZExt(first, i64))
}

// groupsFor is how many vectors of an extreme are under way at once.
func groupsFor(sh shape) int {
	if sh.instrs >= longBody {
		return 1
	}
	return 4
}

// argumentByOne is argument one by one, for bodies that cannot be vectorised along the reduced axis, or whose outputs
// are vectors themselves.
func (r *reduction) argumentByOne(lo, hi value.Value) value.Value {
	g := r.g
	none := g.k(ci(i64, -1), g.w)
	out := g.count(lo, hi, 1, []value.Value{g.k(r.identityArg(), g.w), none},
		func(p value.Value, state []value.Value) []value.Value {
			x := r.at(p)
			best, at := state[0], state[1]
			better := r.better(x, best)
			better = g.cur.NewOr(better, g.cur.NewICmp(enum.IPredSLT, at, g.k(ci(i64, 0), g.w)))
			if g.w != 0 {
				p = g.splat(p)
			}
			return []value.Value{g.cur.NewSelect(better, x, best), g.cur.NewSelect(better, p, at)}
		})
	return out[1]
}

func (r *reduction) identityArg() constant.Constant { return fromBits(regType(r.d), 0) }

// better reports whether x comes before best: strictly beyond it, or a NaN where best is none.
func (r *reduction) better(x, best value.Value) value.Value {
	g := r.g
	d := r.d
	if d.IsFloat() {
		p := enum.FPredULT
		if r.isMax() {
			p = enum.FPredUGT
		}
		return g.cur.NewAnd(g.cur.NewFCmp(p, x, best), g.cur.NewFCmp(enum.FPredORD, best, best))
	}
	return g.cur.NewICmp(r.betterInt(), x, best)
}

func (r *reduction) betterInt() enum.IPred {
	signed := r.d.IsSigned()
	switch {
	case r.isMax() && signed:
		return enum.IPredSGT
	case r.isMax():
		return enum.IPredUGT
	case signed:
		return enum.IPredSLT
	}
	return enum.IPredULT
}
