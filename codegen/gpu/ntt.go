package gpu

import (
	"math/bits"
	"slices"

	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/ir/kernel"
	"healc/lang/types"
)

// Note [Transforms on devices]: the stages of a number theoretic transform are done several at a time: a thread loads
// the 2^s elements that s stages connect, a unit, does the stages in registers and stores the elements. Parts of up to
// 4096 elements go through their stages in shared memory, up to four of them between two barriers. The outer stages of
// a longer row, which connect its parts, are units in memory, whose neighbours neighbouring threads load.
//
// A factor w is multiplied with the help of its quotient (Shoup; docs/modular-theory.md): wq = floor(w 2^64 / p) or one
// less, q = mulhi(y, wq) and t = y w - q p. wq misses by e < 1 + 2^-4, so that t < (1 + (1 + 2^-4) y / 2^64) p, which
// is below 2p for y < 15p and p < 2^60. Numbers of a row grow from stage to stage, and multiples of p are taken off
// before one would reach 15p. The bound of each is known when the code is written.
//
// The quotient of w is w R + mulhi(w, r), where R is 2^64 / p and r are the 64 bits behind it, which doubles give 48
// and 16 bits at a time.
//
// That the modulus, an element or a factor is out of range turns out on the way, and then the kernel goes on with its
// plain loops.

const (
	partElements = 4096 // the most elements of a part
	partStages   = 4    // that are done between two barriers
	outerStages  = 5    // that are done between a load and a store
	mostBound    = 15   // numbers are below so many times p
	innerBound   = 4    // and those that a pass of the inverse leaves below so many
	partPadding  = 16   // a word is left out behind so many, so that the banks of neighbouring threads differ
)

// passes are stages that are done at once: count of them, and how many come before them in the forward transform.
type passes struct{ before, count int }

// transformPlan is how the stages of a transform are grouped.
type transformPlan struct {
	*kernel.Transform
	outer, inner []passes // of a row in memory, and of a part
	part, parts  int64    // the elements of a part, and the parts of a row
}

// planTransform groups stages evenly.
func planTransform(s *kernel.Transform) *transformPlan {
	all := bits.Len64(uint64(s.Size)) - 1
	outer := max(0, all-bits.Len(partElements)+1)
	if outer > 0 {
		outer = max(outer, partStages) // units of fewer elements are no less traffic
	}
	return &transformPlan{Transform: s, outer: evenly(outer, outerStages), inner: evenly(all-outer, partStages),
		part: s.Size >> outer, parts: 1 << outer}
}

// evenly cuts n stages into passes of at most so many.
func evenly(n, most int) (all []passes) {
	pieces := (n + most - 1) / most
	for i := range pieces {
		from, to := i*n/pieces, (i+1)*n/pieces
		all = append(all, passes{from, to - from})
	}
	return all
}

// sharedWords is the size of a part, or of several, in shared memory.
func sharedWords(n int64) int64 { return n + n/partPadding }

// number is a number below bound*p.
type number struct {
	v     value.Value
	bound int
}

// shoup is a factor with its quotient.
type shoup struct{ w, quotient value.Value }

// ring is arithmetic modulo p.
type ring struct {
	*thread
	p, minusP   value.Value
	whole, rest value.Value // of 2^64 / p
	fits        value.Value // whether p is in range; where it is not, the arithmetic is modulo 1
	odd         value.Value // i64*: is negative once an element or a factor was out of range
	scale       shoup       // of the inverse
}

// ring prepares arithmetic modulo p.
func (t *thread) ring(s *kernel.Transform) *ring {
	p := t.Value(s.P)
	b := t.Block()
	fits := b.NewICmp(enum.IPredULT, t.Plus(p, ci(i64, -1)), ci(i64, kernel.TransformLimit-1))
	r := &ring{thread: t, p: b.NewSelect(fits, p, ci(i64, 1)), fits: fits, odd: t.Stack(types.I64, 1)}
	b.NewStore(ci(i64, 0), r.odd)
	r.minusP = b.NewSub(ci(i64, 0), r.p)
	d := b.NewFDiv(constant.NewFloat(lt.Double, 1), b.NewUIToFP(r.p, lt.Double))
	r.whole, r.rest = r.digits(d, ci(i64, 1))
	r.rest, _ = r.digits(d, r.rest)
	if s.Inverse {
		r.scale = r.factor(t.Value(s.Scale))
	}
	return r
}

// digits is x 2^64 / p and its remainder, for an x that is no larger than p. d is 1 / p rounded. A step gives up to 48
// bits by doubles, whose relative errors are four of 2^-53, so that the quotient is right or misses by one.
func (r *ring) digits(d, x value.Value) (quotient, rest value.Value) {
	b := r.Block()
	quotient = ci(i64, 0)
	for _, n := range []int64{48, 16} {
		scaled := b.NewFMul(b.NewUIToFP(x, lt.Double), b.NewFMul(d, constant.NewFloat(lt.Double, float64(int64(1)<<n))))
		q := value.Value(b.NewFPToUI(scaled, i64))
		x = b.NewAdd(b.NewShl(x, ci(i64, n)), b.NewMul(q, r.minusP))
		less := b.NewICmp(enum.IPredSLT, x, ci(i64, 0))
		q = b.NewSelect(less, b.NewSub(q, ci(i64, 1)), q)
		x = b.NewSelect(less, b.NewAdd(x, r.p), x)
		more := b.NewICmp(enum.IPredUGE, x, r.p)
		q = b.NewSelect(more, b.NewAdd(q, ci(i64, 1)), q)
		x = b.NewSelect(more, b.NewSub(x, r.p), x)
		quotient = b.NewOr(b.NewShl(quotient, ci(i64, n)), q)
	}
	return quotient, x
}

// mulHigh is the upper half of a product of unsigned numbers: one instruction, mul.hi.u64.
func (r *ring) mulHigh(x, y value.Value) value.Value {
	b := r.Block()
	product := b.NewMul(b.NewZExt(x, lt.I128), b.NewZExt(y, lt.I128))
	return b.NewTrunc(b.NewLShr(product, constant.NewInt(lt.I128, 64)), i64)
}

// factor gives w its quotient.
func (r *ring) factor(w value.Value) shoup {
	return shoup{w, r.Block().NewAdd(r.Block().NewMul(w, r.whole), r.mulHigh(w, r.rest))}
}

// residue notes whether x is one, and returns it.
func (r *ring) residue(x value.Value) value.Value {
	b := r.Block()
	beyond := b.NewOr(x, b.NewSub(b.NewSub(r.p, ci(i64, 1)), x))
	b.NewStore(b.NewOr(b.NewLoad(i64, r.odd), beyond), r.odd)
	return x
}

// ok reports whether p is in range, and so was everything that this thread has loaded.
func (r *ring) ok() value.Value {
	b := r.Block()
	return b.NewAnd(r.fits, b.NewICmp(enum.IPredSGE, b.NewLoad(i64, r.odd), ci(i64, 0)))
}

// multiple is m*p.
func (r *ring) multiple(m int) value.Value { return r.Times(r.p, ci(i64, int64(m))) }

// lessen takes multiples of p off x until it is below bound*p. Each is below 2^63, so that the sign of the difference
// says whether x is as large.
func (r *ring) lessen(x number, bound int) number {
	for x.bound > bound {
		m := 1
		for 2*m < x.bound {
			m *= 2
		}
		b := r.Block()
		less := b.NewSub(x.v, r.multiple(m))
		x = number{b.NewSelect(b.NewICmp(enum.IPredSLT, less, ci(i64, 0)), x.v, less), max(m, x.bound-m)}
	}
	return x
}

// product is y times f, below 2p.
func (r *ring) product(y number, f shoup) number {
	b := r.Block()
	q := r.mulHigh(y.v, f.quotient)
	return number{b.NewAdd(b.NewMul(q, r.minusP), b.NewMul(y.v, f.w)), 2}
}

// forward does a butterfly of the forward transform.
func (r *ring) forward(x, y *number, f shoup) {
	t := r.product(r.lessen(*y, mostBound), f)
	from := *x
	if from.bound+t.bound > mostBound {
		from = r.lessen(from, mostBound-t.bound)
	}
	b, bound := r.Block(), from.bound+t.bound
	*x = number{b.NewAdd(from.v, t.v), bound}
	*y = number{b.NewSub(b.NewAdd(from.v, r.multiple(t.bound)), t.v), bound}
}

// backward does a butterfly of the inverse. In the last stage the sum has a factor, too.
func (r *ring) backward(x, y *number, f shoup, last bool) {
	for x.bound+y.bound > mostBound {
		if x.bound >= y.bound {
			*x = r.lessen(*x, x.bound-1)
		} else {
			*y = r.lessen(*y, y.bound-1)
		}
	}
	b, bound := r.Block(), x.bound+y.bound
	sum := number{b.NewAdd(x.v, y.v), bound}
	difference := number{b.NewSub(b.NewAdd(x.v, r.multiple(y.bound)), y.v), bound}
	if last {
		sum = r.product(sum, r.scale)
	}
	*x, *y = sum, r.product(difference, f)
}

// unit does the stages of a unit. Group g of its stage j has factor number first 2^j + g of the table.
func (r *ring) unit(s *transformPlan, n passes, x []number, table, first value.Value, whole bool) {
	for i := range n.count {
		stage := i
		if s.Inverse {
			stage = n.count - 1 - i
		}
		groups := 1 << stage
		distance := len(x) / (2 * groups)
		last := s.Inverse && whole && n.before+stage == 0
		from := r.Block().NewShl(first, ci(i64, int64(stage)))
		for g := range groups {
			w := r.residue(r.Block().NewLoad(i64, r.at(table, r.Plus(from, ci(i64, int64(g))))))
			f := r.factor(w)
			if last { // the stage has one factor
				f = r.factor(r.lessen(r.product(number{w, 1}, r.scale), 1).v)
			}
			for i := 2 * g * distance; i < (2*g+1)*distance; i++ {
				if s.Inverse {
					r.backward(&x[i], &x[i+distance], f, last)
				} else {
					r.forward(&x[i], &x[i+distance], f)
				}
			}
		}
	}
}

func (t *thread) at(base, i value.Value) value.Value { return t.Block().NewGetElementPtr(i64, base, i) }

// transformLines are the addresses of the lines of a transform.
type transformLines struct {
	source, data, table, times value.Value // times is nil where there is none
	bound                      int         // of the numbers in source; 0 for elements that nobody has looked at yet
}

// lines are those of s in the row of the axes.
func (t *thread) lines(s *kernel.Transform) transformLines {
	words := func(l kernel.Line) value.Value { return t.Address(l.Param, l.At) }
	l := transformLines{source: words(s.Source), data: words(s.Data), table: words(s.Table)}
	if s.Times != nil {
		l.times = words(*s.Times)
	}
	return l
}

// element is element i of the source, times its factor where there is one.
func (r *ring) element(l transformLines, i value.Value) number {
	x := value.Value(r.Block().NewLoad(i64, r.at(l.source, i)))
	if l.bound > 0 {
		return number{x, l.bound}
	}
	out := number{r.residue(x), 1}
	if l.times != nil {
		out = r.product(out, r.factor(r.residue(r.Block().NewLoad(i64, r.at(l.times, i)))))
	}
	return out
}

// settle brings the numbers that a pass leaves below one bound, which it returns: in the inverse some have grown more
// than others.
func (r *ring) settle(s *transformPlan, x []number, done bool) int {
	most, bound := mostBound, 0
	if s.Inverse {
		most = innerBound
	}
	if done {
		most = 1
	}
	for i := range x {
		x[i] = r.lessen(x[i], most)
		bound = max(bound, x[i].bound)
	}
	return bound
}

// outerUnit does a unit of outer stages in memory, from the source to the data. It returns the bound of the results.
func (r *ring) outerUnit(s *transformPlan, l transformLines, n passes, u value.Value) int {
	u0 := r.places(u, bits.Len64(uint64(s.Size))-1-n.before-n.count, n.count)
	x := make([]number, len(u0.offsets))
	for i, offset := range u0.offsets {
		x[i] = r.element(l, r.Plus(u0.first, ci(i64, offset)))
	}
	r.unit(s, n, x, l.table, r.Plus(u0.block, ci(i64, 1<<n.before)), true)
	bound := r.settle(s, x, s.Inverse && n.before == 0)
	for i, offset := range u0.offsets {
		r.Block().NewStore(x[i].v, r.at(l.data, r.Plus(u0.first, ci(i64, offset))))
	}
	return bound
}

// places are the elements of a unit: the first, how far the others are from it, in bits that the first has not, and the
// number of the block of units.
type places struct {
	block, first value.Value
	offsets      []int64
}

// places are those of unit u, whose elements are 2^distance apart.
func (r *ring) places(u value.Value, distance, stages int) (p places) {
	b := r.Block()
	p.block = b.NewLShr(u, ci(i64, int64(distance)))
	inside := b.NewAnd(u, ci(i64, 1<<distance-1))
	p.first = b.NewOr(b.NewShl(p.block, ci(i64, int64(distance+stages))), inside)
	for i := range int64(1) << stages {
		p.offsets = append(p.offsets, i<<distance)
	}
	return p
}

// team is the threads that do a part together.
type team struct {
	member  value.Value // i64: the thread's number
	threads int64
	memory  value.Value // i64*: shared memory
	base    value.Value // i64: the element of it where the part begins
	barrier func()
}

// innerStages does the stages of part q of a row. store is whether the results are wanted: a team whose part there is
// not takes part in the barriers.
func (r *ring) innerStages(s *transformPlan, l transformLines, q value.Value, m team, store value.Value) {
	begin := r.Times(q, ci(i64, s.part))
	shared := func(i value.Value, offset int64) value.Value { // of element i | offset
		i = r.Plus(m.base, i)
		i = r.Plus(i, r.Block().NewLShr(i, ci(i64, lowBits(partPadding))))
		return r.at(m.memory, r.Plus(i, ci(i64, sharedWords(offset))))
	}
	row := l.bound
	if s.Inverse {
		m.each(r.thread, s.part, func(i value.Value) {
			x := r.element(l, r.Plus(begin, i))
			row = x.bound
			r.Block().NewStore(x.v, shared(i, 0))
		})
		m.barrier()
	}
	order := slices.Clone(s.inner)
	if s.Inverse {
		slices.Reverse(order)
	}
	for k, n := range order {
		in, end := k == 0 && !s.Inverse, k == len(order)-1
		distance := bits.Len64(uint64(s.part)) - 1 - n.before - n.count
		bound := row
		m.each(r.thread, s.part>>n.count, func(u value.Value) {
			u0 := r.places(u, distance, n.count)
			at := r.Plus(begin, u0.first)
			x := make([]number, len(u0.offsets))
			for i, offset := range u0.offsets {
				if in {
					x[i] = r.element(l, r.Plus(at, ci(i64, offset)))
				} else {
					x[i] = number{r.Block().NewLoad(i64, shared(u0.first, offset)), row}
				}
			}
			first := r.Plus(r.Block().NewShl(r.Plus(q, ci(i64, s.parts)), ci(i64, int64(n.before))), u0.block)
			r.unit(s, n, x, l.table, first, s.parts == 1)
			bound = r.settle(s, x, end && (s.parts == 1 || !s.Inverse))
			if !(end && s.Inverse) {
				for i, offset := range u0.offsets {
					r.Block().NewStore(x[i].v, shared(u0.first, offset))
				}
				return
			}
			r.when(store, func() {
				for i, offset := range u0.offsets {
					r.Block().NewStore(x[i].v, r.at(l.data, r.Plus(at, ci(i64, offset))))
				}
			})
		})
		row = bound
		m.barrier()
	}
	if !s.Inverse {
		r.when(store, func() {
			m.each(r.thread, s.part, func(i value.Value) {
				r.Block().NewStore(r.Block().NewLoad(i64, shared(i, 0)), r.at(l.data, r.Plus(begin, i)))
			})
		})
		m.barrier() // before the shared memory is used again, and the stores are read
	}
}

// each calls f for the numbers below n of this thread, neighbours by neighbours.
func (m team) each(t *thread, n int64, f func(i value.Value)) {
	one := func(i value.Value, _ []value.Value) []value.Value {
		f(i)
		return nil
	}
	switch {
	case n == m.threads:
		f(m.member)
	case n%m.threads == 0:
		t.Count(ci(i64, 0), ci(i64, n), ci(i64, m.threads), nil, func(i value.Value, _ []value.Value) []value.Value {
			f(t.Plus(i, m.member))
			return nil
		})
	default:
		t.Count(m.member, ci(i64, n), ci(i64, m.threads), nil, one)
	}
}

// transform does s in one group, part by part, where it is not split (Note [Transforms as grids]).
func (g *group) transform(st *kernel.Transform) {
	s := planTransform(st)
	r, l := g.ring(st), g.lines(st)
	m := team{g.zext(g.member), int64(g.plan.size), g.transformed, ci(i64, 0), g.barrier}
	inner := func() {
		r.Count(ci(i64, 0), ci(i64, s.parts), ci(i64, 1), nil, func(q value.Value, _ []value.Value) []value.Value {
			r.innerStages(s, l, q, m, constant.True)
			return nil
		})
	}
	if s.Inverse {
		inner()
		if len(s.outer) > 0 {
			l = l.next(s, innerBound)
		}
	}
	outer := slices.Clone(s.outer)
	if s.Inverse {
		slices.Reverse(outer)
	}
	for _, n := range outer {
		bound := 0
		m.each(r.thread, s.Size>>n.count, func(u value.Value) { bound = r.outerUnit(s, l, n, u) })
		g.barrier()
		l = l.next(s, bound)
	}
	if !s.Inverse {
		inner()
	}
	g.Define(s.ID, g.Block().NewXor(g.voteAny(g.Block().NewXor(r.ok(), constant.True)), constant.True))
}

// next are the lines for the pass that reads what one has left.
func (l transformLines) next(s *transformPlan, bound int) transformLines {
	l.source, l.times, l.bound = l.data, nil, bound
	return l
}
