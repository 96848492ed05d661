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
// The position of the maximum is kept in the same pass, because memory would rest during a search afterwards
// (docs/tuning/reductions.md). It is the begin of the vector in which each lane found its best; the lanes whose best is
// the maximum give the first position. A NaN that was seen is looked for at the end.
//
// Doing an element twice changes no extreme, so elements that do not fill a vector are done by one that overlaps the
// vector before it.

// argumentBlock is the number of elements whose positions are kept in 32 bits.
const argumentBlock = 1 << 20

// floatLimit gives the bits of the lowest value of d, -inf, or of the highest.
func floatLimit(d types.DType, lowest bool) uint64 {
	if lowest {
		return scalar.FloatBits(d, math.Inf(-1))
	}
	return scalar.FloatBits(d, math.Inf(1))
}

func (r *Reduction) isMax() bool { return r.S.Kind == ir.ReduceMax || r.S.Kind == ir.ReduceArgMax }

// putsOff reports that Note [Extremes in vectors] applies to r: extremes of floats.
func (r *Reduction) putsOff() bool {
	return r.D.IsFloat() && (r.S.Kind == ir.ReduceMax || r.S.Kind == ir.ReduceMin)
}

// whenLong chooses between long, for ranges of at least w elements, and short.
func (r *Reduction) whenLong(lo, hi value.Value, w int, long, short func() value.Value) value.Value {
	g := r.G
	a, ok1 := build.ConstantInt(lo)
	b, ok2 := build.ConstantInt(hi)
	if ok1 && ok2 {
		if b-a >= int64(w) {
			return long()
		}
		return short()
	}
	return g.IfElse(g.Cur.NewICmp(enum.IPredSGE, g.Cur.NewSub(hi, lo), build.Int(build.I64, int64(w))),
		func() []value.Value {
			return []value.Value{long()}
		}, func() []value.Value { return []value.Value{short()} })[0]
}

// beyond is the larger (smaller) of numbers; best when x is a NaN.
func (r *Reduction) beyond(x, best value.Value) value.Value {
	return r.G.Cur.NewSelect(r.strictly(x, best), x, best)
}

// overlapped runs body over [lo, hi), at least w elements, first n = groups vectors at a time and then one. The
// last vector ends at hi.
func (r *Reduction) overlapped(lo, hi value.Value, w, groups int, state []value.Value,
	body func(p value.Value, n int, state []value.Value) []value.Value) []value.Value {
	g := r.G
	step := int64(w * groups)
	stop := lo
	if groups > 1 {
		stop = g.Add(lo, g.RoundDown(g.Sub(hi, lo), step))
		state = g.For(lo, stop, step, state, func(p value.Value, state []value.Value) []value.Value {
			return body(p, groups, state)
		})
	}
	last := g.Sub(hi, build.Int(build.I64, int64(w)))
	return g.For(stop, hi, int64(w), state, func(p value.Value, state []value.Value) []value.Value {
		return body(r.minInt(p, last), 1, state)
	})
}

// vectorsAt evaluates the body for n neighbouring vectors of w.
func (r *Reduction) vectorsAt(p value.Value, n, w int) []value.Value {
	xs := make([]value.Value, n)
	for i := range xs {
		xs[i] = r.vectorAt(r.G.Add(p, build.Int(build.I64, int64(i*w))), w)
	}
	return xs
}

// extreme is the maximum (minimum) of the floats [lo, hi), at least w. It is any NaN when there is one.
func (r *Reduction) extreme(lo, hi value.Value, w, groups int) value.Value {
	state := r.overlapped(lo, hi, w, groups, r.extremeInit(w, groups),
		func(p value.Value, n int, state []value.Value) []value.Value {
			return r.extremeStep(r.vectorsAt(p, n, w), state, w, groups)
		})
	return r.extremeDone(state, w, groups)
}

// extremeInit is the state of extreme: a best number for each group, the lanes that saw a NaN, the signs.
func (r *Reduction) extremeInit(w, groups int) []value.Value {
	state := make([]value.Value, groups, groups+2)
	for i := range state {
		state[i] = build.SplatConst(build.FromBits(build.RegisterType(r.D),
			floatLimit(analysis.ArithmeticType(r.D), r.isMax())), w)
	}
	neutral := int64(0)
	if r.isMax() {
		neutral = -1
	}
	return append(state, r.seenNone(w), build.SplatConst(build.Int(r.bitsType(), neutral), w))
}

// combineMany is acc and all of xs, vectors of w: for extremes of floats a state of one group, which needs no end of
// its own for acc, whose NaN no number replaces.
func (r *Reduction) combineMany(acc value.Value, xs []value.Value, w int) value.Value {
	g := r.G
	if !r.putsOff() || len(xs) < 2 || g.Machine.Device {
		for _, x := range xs {
			acc = r.Combine(acc, x, w)
		}
		return acc
	}
	t, bits := build.RegisterType(r.D), r.bitsType()
	sign := value.Value(g.Cur.NewBitCast(acc, build.Vector(bits, w)))
	for _, x := range xs {
		acc = r.beyond(x, acc)
		sign = r.joinSigns(sign, g.Cur.NewBitCast(x, build.Vector(bits, w)))
	}
	top := g.Cur.NewAnd(sign, g.ConstOf(build.FromBits(bits, 1<<(bits.BitSize-1)), w))
	zero := g.Cur.NewFCmp(enum.FPredOEQ, acc, g.ConstOf(build.FromBits(t, 0), w))
	acc = g.Cur.NewSelect(zero, g.Cur.NewBitCast(top, build.Vector(t, w)), acc)
	return g.Cur.NewSelect(r.unordered(xs), g.ConstOf(build.FromBits(t,
		scalar.FloatBits(analysis.ArithmeticType(r.D), math.NaN())), w), acc)
}

func (r *Reduction) bitsType() *lt.IntType { return build.IntType(analysis.ArithmeticType(r.D).Bits()) }

// extremeStep takes vectors in; the groups take turns.
func (r *Reduction) extremeStep(xs, state []value.Value, w, groups int) []value.Value {
	g := r.G
	next := append([]value.Value{}, state...)
	for i, x := range xs {
		next[i%groups] = r.beyond(x, next[i%groups])
		next[groups+1] = r.joinSigns(next[groups+1], g.Cur.NewBitCast(x, build.Vector(r.bitsType(), w)))
	}
	next[groups] = r.see(state[groups], xs, w)
	return next
}

// extremeDone is the result of a state.
func (r *Reduction) extremeDone(state []value.Value, w, groups int) value.Value {
	g := r.G
	t, bits := build.RegisterType(r.D), r.bitsType()
	best, sign := state[0], state[groups+1]
	for _, x := range state[1:groups] {
		best = r.beyond(x, best)
	}
	for n := w; n > 1; n /= 2 {
		best = r.beyond(g.Extract(best, n/2, n/2), g.Extract(best, 0, n/2))
		sign = r.joinSigns(g.Extract(sign, n/2, n/2), g.Extract(sign, 0, n/2))
	}
	out := value.Value(g.Cur.NewExtractElement(best, build.Int(build.I32, 0)))
	top := g.Cur.NewAnd(g.Cur.NewExtractElement(sign, build.Int(build.I32, 0)),
		build.FromBits(bits, 1<<(bits.BitSize-1)))
	zero := g.Cur.NewFCmp(enum.FPredOEQ, out, build.FromBits(t, 0))
	out = g.Cur.NewSelect(zero, g.Cur.NewBitCast(top, t), out)
	return g.Cur.NewSelect(r.seen(state[groups], w), build.FromBits(t,
		scalar.FloatBits(analysis.ArithmeticType(r.D), math.NaN())), out)
}

func (r *Reduction) joinSigns(x, y value.Value) value.Value {
	if r.isMax() {
		return r.G.Cur.NewAnd(x, y)
	}
	return r.G.Cur.NewOr(x, y)
}

// argument finds the position of the first maximum (minimum); the first NaN beats every number.
func (r *Reduction) argument(lo, hi value.Value) value.Value {
	w, sh := r.alongWidth()
	slow := func() value.Value { return r.argumentByOne(lo, hi) }
	if w == 0 {
		return slow()
	}
	groups := r.groupsFor(sh)
	if m := r.G.Machine; m.Registers < 32 {
		bytes := max(4, analysis.ArithmeticType(r.D).Bytes())
		groups = max(1, min(groups, m.Registers/m.Profile.Reduce.ArgumentRegisters*m.VectorBits/(8*w*bytes)))
	}
	return r.whenLong(lo, hi, w, func() value.Value { return r.argumentByBlocks(lo, hi, w, groups) }, slow)
}

// argumentByBlocks takes blocks whose positions fit an i32.
func (r *Reduction) argumentByBlocks(lo, hi value.Value, w, groups int) value.Value {
	g := r.G
	last := g.Sub(hi, build.Int(build.I64, int64(w)))
	out := g.For(lo, hi, argumentBlock, []value.Value{r.identityArg(), build.Int(build.I64, -1)},
		func(p value.Value, state []value.Value) []value.Value {
			end := r.minInt(g.Cur.NewAdd(p, build.Int(build.I64, argumentBlock)), hi)
			p = r.minInt(p, last) // the elements it repeats are never strictly better
			x, found := r.argumentInBlock(p, end, last, w, groups)
			better := g.Cur.NewOr(r.Better(x, state[0]), g.Cur.NewICmp(enum.IPredSLT, state[1],
				build.Int(build.I64, 0)))
			return []value.Value{g.Cur.NewSelect(better, x, state[0]), g.Cur.NewSelect(better, found, state[1])}
		})
	return out[1]
}

// argumentInBlock gives the first extreme of [lo, hi), at least w elements, and its position.
func (r *Reduction) argumentInBlock(lo, hi, last value.Value, w, groups int) (x, at value.Value) {
	state := r.overlapped(lo, hi, w, groups, r.argumentInit(w, groups),
		func(p value.Value, n int, state []value.Value) []value.Value {
			return r.argumentStep(r.G.Cur.NewSub(p, lo), r.vectorsAt(p, n, w), state, w, groups)
		})
	return r.argumentDone(state, lo, last, w, groups)
}

// argumentInit is the state of argumentInBlock: for each group the best of each lane, and where the vector began in
// which it was, less the place of the group; the lanes that saw a NaN.
func (r *Reduction) argumentInit(w, groups int) []value.Value {
	worst := build.SplatConst(r.worst(), w)
	var state []value.Value
	for range groups {
		state = append(state, worst, build.SplatConst(build.Int(build.I32, 0), w))
	}
	return append(state, r.seenNone(w))
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

// argumentStep takes vectors in that begin at offset, in elements from the beginning of the block.
func (r *Reduction) argumentStep(offset value.Value, xs, state []value.Value, w, groups int) []value.Value {
	g := r.G
	next := append([]value.Value{}, state...)
	for i, x := range xs {
		at0 := g.Add(offset, build.Int(build.I64, int64(i/groups*groups*w)))
		begin := g.SplatTo(g.Cur.NewTrunc(at0, build.I32), w)
		best, at := 2*(i%groups), 2*(i%groups)+1
		better := r.strictly(x, next[best])
		next[best] = g.Cur.NewSelect(better, x, next[best])
		next[at] = g.Cur.NewSelect(better, begin, next[at])
	}
	if nan := 2 * groups; r.D.IsFloat() {
		next[nan] = r.see(state[nan], xs, w)
	}
	return next
}

// argumentDone is the extreme of a state and its position; no vector may begin after last.
func (r *Reduction) argumentDone(state []value.Value, lo, last value.Value, w, groups int) (x, at value.Value) {
	g := r.G
	nan := 2 * groups
	best := state[0]
	for i := 1; i < groups; i++ {
		best = r.beyond(state[2*i], best)
	}
	for n := w; n > 1; n /= 2 {
		x, y := g.Extract(best, 0, n/2), g.Extract(best, n/2, n/2)
		best = r.beyond(y, x)
	}
	x = g.Cur.NewExtractElement(best, build.Int(build.I32, 0))
	all := g.SplatTo(x, w)
	// Of the lanes that have it the first position. Where no element was better than the worst there is, all
	// are equal, and the positions are still 0.
	var first value.Value
	for i := 0; i < groups; i++ {
		pos := value.Value(g.Cur.NewAdd(state[2*i+1], build.IotaMask(i*w, w)))
		pos = g.Cur.NewSelect(r.equal(state[2*i], all), pos, build.SplatConst(build.Int(build.I32, math.MaxInt32), w))
		if first != nil {
			pos = g.Cur.NewSelect(g.Cur.NewICmp(enum.IPredSLT, pos, first), pos, first)
		}
		first = pos
	}
	for n := w; n > 1; n /= 2 {
		x, y := g.Extract(first, 0, n/2), g.Extract(first, n/2, n/2)
		first = g.Cur.NewSelect(g.Cur.NewICmp(enum.IPredSLT, y, x), y, x)
	}
	at = g.Cur.NewAdd(lo, g.Cur.NewSExt(g.Cur.NewExtractElement(first, build.Int(build.I32, 0)), build.I64))
	if !r.D.IsFloat() {
		return x, at
	}
	out := g.If(r.seen(state[nan], w), []value.Value{x, at}, func() []value.Value {
		return []value.Value{build.FromBits(build.RegisterType(r.D),
			scalar.FloatBits(analysis.ArithmeticType(r.D), math.NaN())),
			r.findNaN(lo, last, w)}
	})
	return out[0], out[1]
}

// strictly reports whether x is beyond best; a NaN never is.
func (r *Reduction) strictly(x, best value.Value) value.Value {
	if !r.D.IsFloat() {
		return r.G.Cur.NewICmp(r.betterInt(), x, best)
	}
	if r.isMax() {
		return r.G.Cur.NewFCmp(enum.FPredOGT, x, best)
	}
	return r.G.Cur.NewFCmp(enum.FPredOLT, x, best)
}

func (r *Reduction) equal(x, y value.Value) value.Value {
	if r.D.IsFloat() {
		return r.G.Cur.NewFCmp(enum.FPredOEQ, x, y)
	}
	return r.G.Cur.NewICmp(enum.IPredEQ, x, y)
}

// Which lanes saw a NaN is a bit for each lane where comparisons give bits, and else a word of all ones or zeros, as
// they give it. Packing those in every round would cost more than the rest of the loop (docs/tuning/reductions.md).

func (r *Reduction) seenNone(w int) value.Value {
	if r.G.Machine.Masks() {
		return constant.NewInt(lt.NewInt(uint64(w)), 0)
	}
	return build.SplatConst(build.Int(r.bitsType(), 0), w)
}

// see is seen and the lanes of xs that hold a NaN.
func (r *Reduction) see(seen value.Value, xs []value.Value, w int) value.Value {
	b, nans := r.G.Cur, r.unordered(xs)
	if r.G.Machine.Masks() {
		return b.NewOr(seen, b.NewBitCast(nans, lt.NewInt(uint64(w))))
	}
	return b.NewOr(seen, b.NewSExt(nans, build.Vector(r.bitsType(), w)))
}

// seen reports whether any lane saw one.
func (r *Reduction) seen(seen value.Value, w int) value.Value {
	b, bits := r.G.Cur, lt.NewInt(uint64(w))
	if !r.G.Machine.Masks() {
		seen = b.NewBitCast(b.NewICmp(enum.IPredNE, seen, r.seenNone(w)), bits)
	}
	return b.NewICmp(enum.IPredNE, seen, constant.NewInt(bits, 0))
}

// unordered says for each lane whether one of xs is a NaN; one comparison asks two of them.
func (r *Reduction) unordered(xs []value.Value) value.Value {
	var nans value.Value
	for i := 0; i < len(xs); i += 2 {
		n := value.Value(r.G.Cur.NewFCmp(enum.FPredUNO, xs[i], xs[min(i+1, len(xs)-1)]))
		if nans != nil {
			n = r.G.Cur.NewOr(nans, n)
		}
		nans = n
	}
	return nans
}

// findNaN is the position of the first NaN from p on. There is one; no vector begins after last.
func (r *Reduction) findNaN(p, last value.Value, w int) value.Value {
	g := r.G
	mask := lt.NewInt(uint64(w))
	pre, head, exit := g.Cur, g.NewBlock(), g.NewBlock()
	pre.NewBr(head)
	i := head.NewPhi(lir.NewIncoming(p, pre))
	g.Cur = head
	at := r.minInt(i, last)
	v := r.vectorAt(at, w)
	bits := g.Cur.NewBitCast(g.Cur.NewFCmp(enum.FPredUNO, v, v), mask)
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

// groupsFor is how many vectors of an extreme are under way at once.
func (r *Reduction) groupsFor(sh analysis.Shape) int {
	if sh.Instrs >= r.G.Machine.Profile.Reduce.LongBody {
		return 1
	}
	return 4
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

// Better reports whether x comes before best: strictly beyond it, or a NaN where best is none.
func (r *Reduction) Better(x, best value.Value) value.Value {
	g := r.G
	d := r.D
	if d.IsFloat() {
		p := enum.FPredULT
		if r.isMax() {
			p = enum.FPredUGT
		}
		return g.Cur.NewAnd(g.Cur.NewFCmp(p, x, best), g.Cur.NewFCmp(enum.FPredORD, best, best))
	}
	return g.Cur.NewICmp(r.betterInt(), x, best)
}

func (r *Reduction) betterInt() enum.IPred {
	signed := r.D.IsSigned()
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
