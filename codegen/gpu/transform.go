package gpu

import (
	"math/bits"

	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/ir/kernel"
)

// Note [Transforms on devices]: a block of threads does the stages of a number theoretic transform. Parts of up to 4096
// elements are done in shared memory, stage by stage, the threads meeting between stages. A longer row is R such parts,
// and its outer stages, which connect them, are one pass over memory: a thread takes the R elements that are a part's
// length apart into registers and does all outer stages with them. So the data is read and written once, or twice.
//
// Residues are kept in [0, p). A product is reduced with a constant of the modulus (Barrett): with b the bits of p <
// 2^60 and m = floor(2^(62+b) / p), the quotient of z = x*y is q = mulhi(z >> (b-2), m) or one more, since z >> (b-2)
// drops less than 1/2 of the quotient, m less than 1/4, and mulhi less than 1: z - q*p is in [0, 2p).
//
// Where the modulus or an element does not fit, nothing is done, and the kernel goes the plain way.

const (
	sharedTransform = 4096 // elements of a part
	outerTransform  = 32   // parts that one thread can connect
	leastModulus    = 1 << 8
)

// transforms reports whether t is done by teams.
func transforms(t *kernel.Transform) bool { return t.Size <= sharedTransform*outerTransform }

// ring is arithmetic modulo p.
type ring struct {
	*team
	p, m      value.Value
	low, high value.Value // shifts of a product
	times     value.Value // what the elements of the next pass are multiplied by, or nil
}

// transform translates s.
func (t *team) transform(s *kernel.Transform) {
	p := t.Value(s.P)
	words := func(l kernel.Line) value.Value { return t.Address(l.Param, l.At) }
	data, source, table := words(s.Data), words(s.Source), words(s.Table)
	lines := []value.Value{source, table}
	var times value.Value
	if s.Times != nil {
		times = words(*s.Times)
		lines = append(lines, times)
	}
	// Elements that are no residues, or a modulus that is too large or too small.
	member, threads := t.wide(t.member), ci(i64, int64(t.plan.size))
	bad := t.Count(member, ci(i64, s.Size), threads, []value.Value{constant.False},
		func(i value.Value, state []value.Value) []value.Value {
			b := t.Block()
			out := state[0]
			for _, from := range lines {
				x := b.NewLoad(i64, b.NewGetElementPtr(i64, from, i))
				out = b.NewOr(out, b.NewICmp(enum.IPredUGE, x, p))
			}
			return []value.Value{out}
		})[0]
	fits := t.Block().NewICmp(enum.IPredULT, t.Plus(p, ci(i64, -leastModulus)),
		ci(i64, kernel.TransformLimit-leastModulus))
	ok := t.Block().NewAnd(fits, t.Block().NewXor(t.anyone(bad), constant.True))
	t.when(ok, func() {
		r := t.ring(p)
		r.times = times
		part := min(s.Size, sharedTransform)
		parts := s.Size / part
		switch {
		case parts == 1:
			r.inner(s, source, data, table, part, ci(i64, 0), ci(i64, 1))
		case s.Inverse:
			r.parts(s, source, data, table, part, parts)
			r.times = nil
			r.outer(s, data, data, table, part, parts)
		default:
			r.outer(s, source, data, table, part, parts)
			r.times = nil
			r.parts(s, data, data, table, part, parts)
		}
	})
	t.meet()
	t.Define(s.ID, ok)
}

// ring prepares arithmetic modulo p: m is found by long division, a bit at a time.
func (t *team) ring(p value.Value) *ring {
	ctlz := t.Intrinsic("llvm.ctlz.i64", i64, i64, i1)
	zeros := t.Block().NewCall(ctlz, p, constant.True)
	b := t.minus(ci(i64, 64), zeros)
	// 2^b - p is the first remainder below p, of 2^b / p = 1; 62 more bits follow.
	first := t.minus(t.Block().NewShl(ci(i64, 1), b), p)
	out := t.Count(ci(i64, 0), ci(i64, 62), ci(i64, 1), []value.Value{first, ci(i64, 1)},
		func(_ value.Value, state []value.Value) []value.Value {
			blk := t.Block()
			rest := blk.NewShl(state[0], ci(i64, 1))
			over := blk.NewICmp(enum.IPredUGE, rest, p)
			less := blk.NewSelect(over, blk.NewSub(rest, p), rest)
			return []value.Value{less, blk.NewOr(blk.NewShl(state[1], ci(i64, 1)), blk.NewZExt(over, i64))}
		})
	return &ring{team: t, p: p, m: out[1], low: t.minus(b, ci(i64, 2)), high: t.minus(ci(i64, 66), b)}
}

// minus is x - y.
func (t *thread) minus(x, y value.Value) value.Value { return t.Block().NewSub(x, y) }

// canonical is x, which is below 2p, reduced.
func (r *ring) canonical(x value.Value) value.Value {
	b := r.Block()
	return b.NewSelect(b.NewICmp(enum.IPredUGE, x, r.p), b.NewSub(x, r.p), x)
}

func (r *ring) add(x, y value.Value) value.Value { return r.canonical(r.Block().NewAdd(x, y)) }

func (r *ring) sub(x, y value.Value) value.Value {
	b := r.Block()
	d := b.NewSub(x, y)
	return b.NewSelect(b.NewICmp(enum.IPredULT, x, y), b.NewAdd(d, r.p), d)
}

func (r *ring) mul(x, y value.Value) value.Value {
	b := r.Block()
	low, high := b.NewMul(x, y), r.mulHigh(x, y)
	top := b.NewOr(b.NewShl(high, r.high), b.NewLShr(low, r.low))
	return r.canonical(b.NewSub(low, b.NewMul(r.mulHigh(top, r.m), r.p)))
}

// mulHigh is the upper half of a product of unsigned numbers: one instruction, mul.hi.u64.
func (r *ring) mulHigh(x, y value.Value) value.Value {
	b := r.Block()
	product := b.NewMul(b.NewZExt(x, lt.I128), b.NewZExt(y, lt.I128))
	return b.NewTrunc(b.NewLShr(product, constant.NewInt(lt.I128, 64)), i64)
}

// element is element i of what a pass begins with, times its factor in the first pass.
func (r *ring) element(from, i value.Value) value.Value {
	x := value.Value(r.Block().NewLoad(i64, r.Block().NewGetElementPtr(i64, from, i)))
	if r.times != nil {
		x = r.mul(x, r.Block().NewLoad(i64, r.Block().NewGetElementPtr(i64, r.times, i)))
	}
	return x
}

// pair is a butterfly of a stage.
func (r *ring) pair(inverse bool, x, y, w value.Value) (value.Value, value.Value) {
	if inverse {
		return r.add(x, y), r.mul(r.sub(x, y), w)
	}
	y = r.mul(y, w)
	return r.add(x, y), r.sub(x, y)
}

// parts does the inner stages of all parts, one after the other.
func (r *ring) parts(s *kernel.Transform, from, to, table value.Value, part, parts int64) {
	r.Count(ci(i64, 0), ci(i64, parts), ci(i64, 1), nil, func(q value.Value, _ []value.Value) []value.Value {
		r.inner(s, from, to, table, part, q, ci(i64, parts))
		return nil
	})
}

// inner does the stages of part q, of parts, in shared memory.
func (r *ring) inner(s *kernel.Transform, from, to, table value.Value, part int64, q, parts value.Value) {
	member, threads := r.wide(r.member), ci(i64, int64(r.plan.size))
	at := func(base, i value.Value) value.Value { return r.Block().NewGetElementPtr(i64, base, i) }
	begin := r.Times(q, ci(i64, part))
	each := func(n int64, f func(i value.Value)) {
		r.Count(member, ci(i64, n), threads, nil, func(i value.Value, _ []value.Value) []value.Value {
			f(i)
			return nil
		})
	}
	each(part, func(i value.Value) {
		r.Block().NewStore(r.element(from, r.Plus(begin, i)), at(r.team.row, i))
	})
	r.meet()
	// Stage n has 2^n groups in a part. The number of the stage is uniform, so it is a loop.
	last := int64(bits.Len64(uint64(part)) - 2)
	r.Count(ci(i64, 0), ci(i64, last+1), ci(i64, 1), nil, func(n value.Value, _ []value.Value) []value.Value {
		stage := n
		if s.Inverse {
			stage = r.minus(ci(i64, last), n)
		}
		groups := r.Block().NewShl(ci(i64, 1), stage)
		shift := r.minus(ci(i64, last), stage) // 2^shift elements are between the two of a pair
		distance := r.Block().NewShl(ci(i64, 1), shift)
		// Of all parts: groups before this one, and those of this part.
		factors := at(table, r.Plus(r.Times(groups, parts), r.Times(groups, q)))
		each(part/2, func(i value.Value) {
			group := r.Block().NewLShr(i, shift)
			inside := r.Block().NewAnd(i, r.minus(distance, ci(i64, 1)))
			first := r.Plus(r.Block().NewShl(group, r.Plus(shift, ci(i64, 1))), inside)
			px := at(r.team.row, first)
			py := at(r.team.row, r.Plus(first, distance))
			w := r.Block().NewLoad(i64, at(factors, group))
			x, y := r.pair(s.Inverse, r.Block().NewLoad(i64, px), r.Block().NewLoad(i64, py), w)
			r.Block().NewStore(x, px)
			r.Block().NewStore(y, py)
		})
		r.meet()
		return nil
	})
	each(part, func(i value.Value) {
		x := value.Value(r.Block().NewLoad(i64, at(r.team.row, i)))
		if s.Inverse && s.Size == part {
			x = r.mul(x, r.Value(s.Scale))
		}
		r.Block().NewStore(x, at(to, r.Plus(begin, i)))
	})
	r.meet() // before the shared memory is used again, and for what comes next
}

// outer does the stages that connect the parts: in registers, a thread for each place in a part.
func (r *ring) outer(s *kernel.Transform, from, to, table value.Value, part, parts int64) {
	at := func(base, i value.Value) value.Value { return r.Block().NewGetElementPtr(i64, base, i) }
	r.Count(r.wide(r.member), ci(i64, part), ci(i64, int64(r.plan.size)), nil,
		func(j value.Value, _ []value.Value) []value.Value {
			x := make([]value.Value, parts)
			for i := range x {
				x[i] = r.element(from, r.Plus(j, ci(i64, int64(i)*part)))
			}
			for h := int64(1); h < parts; h *= 2 {
				groups := h
				if s.Inverse {
					groups = parts / (2 * h)
				}
				distance := parts / (2 * groups)
				for g := range groups {
					w := r.Block().NewLoad(i64, at(table, ci(i64, groups+g)))
					for i := 2 * g * distance; i < (2*g+1)*distance; i++ {
						x[i], x[i+distance] = r.pair(s.Inverse, x[i], x[i+distance], w)
					}
				}
			}
			for i := range x {
				if s.Inverse {
					x[i] = r.mul(x[i], r.Value(s.Scale))
				}
				r.Block().NewStore(x[i], at(to, r.Plus(j, ci(i64, int64(i)*part))))
			}
			return nil
		})
	r.meet()
}
