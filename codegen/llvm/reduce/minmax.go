package reduce

import (
	"math"

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
// lane that saw no NaN (one comparison asks two vectors), and the conjunction of all sign bits. At the end a
// NaN seen is the result, and where the largest number is a zero, it is -0 exactly when no sign bit was clear. For
// the minimum it is the other way round: +0 when no sign bit was set.
//
// Doing an element twice changes no extreme, so elements that do not fill a vector are done by one that overlaps the
// vector before it.

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

// overlapped runs body over [lo, hi), at least w elements: as many vectors at a time as the first of groups says while
// there are so many, then as many as the next, and then one. The last vector ends at hi.
func (r *Reduction) overlapped(lo, hi value.Value, w int, groups []int, state []value.Value,
	body func(p value.Value, n int, state []value.Value) []value.Value) []value.Value {
	g := r.G
	last := g.Sub(hi, build.Int(build.I64, int64(w)))
	for _, n := range groups {
		if n == 1 {
			continue
		}
		stop := g.Add(lo, g.RoundDown(g.Sub(hi, lo), int64(w*n)))
		state = g.For(lo, stop, int64(w*n), state, func(p value.Value, state []value.Value) []value.Value {
			return body(p, n, state)
		})
		lo = stop
	}
	return g.For(lo, hi, int64(w), state, func(p value.Value, state []value.Value) []value.Value {
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
	state := r.overlapped(lo, hi, w, []int{groups}, r.extremeInit(w, groups),
		func(p value.Value, n int, state []value.Value) []value.Value {
			return r.extremeStep(r.vectorsAt(p, n, w), state, w, groups)
		})
	return r.extremeDone(state, w, groups)
}

// extremeInit is the state of extreme: a best number for each group, the lanes that saw numbers alone, the signs.
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
	return append(state, r.numbers(w), build.SplatConst(build.Int(r.bitsType(), neutral), w))
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
	return g.Cur.NewSelect(r.ordered(xs), acc, g.ConstOf(build.FromBits(t,
		scalar.FloatBits(analysis.ArithmeticType(r.D), math.NaN())), w))
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
	next[groups] = r.stillNumbers(state[groups], r.ordered(xs), w)
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
	return g.Cur.NewSelect(r.sawNaN(state[groups], w), build.FromBits(t,
		scalar.FloatBits(analysis.ArithmeticType(r.D), math.NaN())), out)
}

func (r *Reduction) joinSigns(x, y value.Value) value.Value {
	if r.isMax() {
		return r.G.Cur.NewAnd(x, y)
	}
	return r.G.Cur.NewOr(x, y)
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

// Which lanes saw numbers alone is a bit for each lane where comparisons give bits, and else a word of all ones or
// zeros, as they give it. Packing those in every round would cost more than the rest of the loop
// (docs/tuning/reductions.md).

// numbers is what is known before any element: no lane saw a NaN.
func (r *Reduction) numbers(w int) value.Value {
	if r.G.Machine.Masks() {
		return build.SplatConst(constant.True, w)
	}
	return build.SplatConst(build.Int(r.bitsType(), -1), w)
}

// stillNumbers is numbers without the lanes that are not ordered.
func (r *Reduction) stillNumbers(numbers, ordered value.Value, w int) value.Value {
	b := r.G.Cur
	if !r.G.Machine.Masks() {
		ordered = b.NewSExt(ordered, build.Vector(r.bitsType(), w))
	}
	return b.NewAnd(numbers, ordered)
}

// sawNaN reports whether any lane saw one.
func (r *Reduction) sawNaN(numbers value.Value, w int) value.Value {
	b, bits := r.G.Cur, lt.NewInt(uint64(w))
	if !r.G.Machine.Masks() {
		numbers = b.NewICmp(enum.IPredEQ, numbers, r.numbers(w))
	}
	return b.NewICmp(enum.IPredNE, b.NewBitCast(numbers, bits), constant.NewInt(bits, -1))
}

// ordered says for each lane whether none of xs is a NaN; one comparison asks two of them.
func (r *Reduction) ordered(xs []value.Value) value.Value {
	var all value.Value
	for i := 0; i < len(xs); i += 2 {
		two := value.Value(r.G.Cur.NewFCmp(enum.FPredORD, xs[i], xs[min(i+1, len(xs)-1)]))
		if all != nil {
			two = r.G.Cur.NewAnd(all, two)
		}
		all = two
	}
	return all
}

// groupsFor is how many vectors of an extreme are under way at once.
func (r *Reduction) groupsFor(sh analysis.Shape) int {
	if sh.Instrs >= r.G.Machine.Profile.Reduce.LongBody {
		return 1
	}
	return 4
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
