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
// elements are done in shared memory, stage by stage, with a barrier between stages. A longer row is R such parts. Its
// outer stages, which connect the parts, are one pass over memory: a thread loads the R elements that are a part's
// length apart into registers and does all outer stages with them. So the data is read and written once, or twice.
//
// Residues are kept in [0, p). A product is reduced with a constant of the modulus (Barrett): with b the bits of p <
// 2^60 and m = floor(2^(62+b) / p), the quotient of z = x*y is q = mulhi(z >> (b-2), m) or one more, since z >> (b-2)
// drops less than 1/2 of the quotient, m less than 1/4, and mulhi less than 1: z - q*p is in [0, 2p).
//
// Where the modulus or an element is out of range, nothing is done, and the kernel goes on with its plain loops.

const (
	sharedTransformSize = 4096 // elements of a part
	maxTransformParts   = 32   // the most parts that one thread connects
	leastModulus        = 1 << 8
)

// transforms reports whether groups do t.
func transforms(t *kernel.Transform) bool { return t.Size <= sharedTransformSize*maxTransformParts }

// ring is arithmetic modulo p.
type ring struct {
	*group
	p, m      value.Value
	low, high value.Value // shifts of a product
	factors   value.Value // that the elements of the next pass are multiplied by, or nil
}

// transform translates s.
func (g *group) transform(s *kernel.Transform) {
	p := g.Value(s.P)
	words := func(l kernel.Line) value.Value { return g.Address(l.Param, l.At) }
	data, source, table := words(s.Data), words(s.Source), words(s.Table)
	lines := []value.Value{source, table}
	var times value.Value
	if s.Times != nil {
		times = words(*s.Times)
		lines = append(lines, times)
	}
	// bad: an element is no residue. fits: the modulus is neither too large nor too small.
	member, threads := g.zext(g.member), ci(i64, int64(g.plan.size))
	bad := g.Count(member, ci(i64, s.Size), threads, []value.Value{constant.False},
		func(i value.Value, state []value.Value) []value.Value {
			b := g.Block()
			out := state[0]
			for _, from := range lines {
				x := b.NewLoad(i64, b.NewGetElementPtr(i64, from, i))
				out = b.NewOr(out, b.NewICmp(enum.IPredUGE, x, p))
			}
			return []value.Value{out}
		})[0]
	fits := g.Block().NewICmp(enum.IPredULT, g.Plus(p, ci(i64, -leastModulus)),
		ci(i64, kernel.TransformLimit-leastModulus))
	ok := g.Block().NewAnd(fits, g.Block().NewXor(g.voteAny(bad), constant.True))
	g.when(ok, func() {
		r := g.ring(p)
		r.factors = times
		part := min(s.Size, sharedTransformSize)
		parts := s.Size / part
		switch {
		case parts == 1:
			r.innerStages(s, source, data, table, part, ci(i64, 0), ci(i64, 1))
		case s.Inverse:
			r.allInnerStages(s, source, data, table, part, parts)
			r.factors = nil
			r.outerStages(s, data, data, table, part, parts)
		default:
			r.outerStages(s, source, data, table, part, parts)
			r.factors = nil
			r.allInnerStages(s, data, data, table, part, parts)
		}
	})
	g.barrier()
	g.Define(s.ID, ok)
}

// ring prepares arithmetic modulo p: m is found by long division, a bit at a time.
func (g *group) ring(p value.Value) *ring {
	ctlz := g.Intrinsic("llvm.ctlz.i64", i64, i64, i1)
	zeros := g.Block().NewCall(ctlz, p, constant.True)
	b := g.minus(ci(i64, 64), zeros)
	// 2^b - p is the first remainder below p, of 2^b / p = 1; 62 more bits follow.
	first := g.minus(g.Block().NewShl(ci(i64, 1), b), p)
	out := g.Count(ci(i64, 0), ci(i64, 62), ci(i64, 1), []value.Value{first, ci(i64, 1)},
		func(_ value.Value, state []value.Value) []value.Value {
			blk := g.Block()
			rest := blk.NewShl(state[0], ci(i64, 1))
			over := blk.NewICmp(enum.IPredUGE, rest, p)
			less := blk.NewSelect(over, blk.NewSub(rest, p), rest)
			return []value.Value{less, blk.NewOr(blk.NewShl(state[1], ci(i64, 1)), blk.NewZExt(over, i64))}
		})
	return &ring{group: g, p: p, m: out[1], low: g.minus(b, ci(i64, 2)), high: g.minus(ci(i64, 66), b)}
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

// element is element i of the input of a pass, times its factor in the first pass.
func (r *ring) element(from, i value.Value) value.Value {
	x := value.Value(r.Block().NewLoad(i64, r.Block().NewGetElementPtr(i64, from, i)))
	if r.factors != nil {
		x = r.mul(x, r.Block().NewLoad(i64, r.Block().NewGetElementPtr(i64, r.factors, i)))
	}
	return x
}

// butterfly does one butterfly of a stage.
func (r *ring) butterfly(inverse bool, x, y, w value.Value) (value.Value, value.Value) {
	if inverse {
		return r.add(x, y), r.mul(r.sub(x, y), w)
	}
	y = r.mul(y, w)
	return r.add(x, y), r.sub(x, y)
}

// allInnerStages does the inner stages of all parts, one after the other.
func (r *ring) allInnerStages(s *kernel.Transform, from, to, table value.Value, part, parts int64) {
	r.Count(ci(i64, 0), ci(i64, parts), ci(i64, 1), nil, func(q value.Value, _ []value.Value) []value.Value {
		r.innerStages(s, from, to, table, part, q, ci(i64, parts))
		return nil
	})
}

// innerStages does the stages of part q, of parts, in shared memory.
func (r *ring) innerStages(s *kernel.Transform, from, to, table value.Value, part int64, q, parts value.Value) {
	member, threads := r.zext(r.member), ci(i64, int64(r.plan.size))
	at := func(base, i value.Value) value.Value { return r.Block().NewGetElementPtr(i64, base, i) }
	begin := r.Times(q, ci(i64, part))
	each := func(n int64, f func(i value.Value)) {
		r.Count(member, ci(i64, n), threads, nil, func(i value.Value, _ []value.Value) []value.Value {
			f(i)
			return nil
		})
	}
	each(part, func(i value.Value) {
		r.Block().NewStore(r.element(from, r.Plus(begin, i)), at(r.group.transformed, i))
	})
	r.barrier()
	// Stage n has 2^n groups in a part. The number of the stage is uniform, so it is a loop.
	last := int64(bits.Len64(uint64(part)) - 2)
	r.Count(ci(i64, 0), ci(i64, last+1), ci(i64, 1), nil, func(n value.Value, _ []value.Value) []value.Value {
		stage := n
		if s.Inverse {
			stage = r.minus(ci(i64, last), n)
		}
		groups := r.Block().NewShl(ci(i64, 1), stage)
		shift := r.minus(ci(i64, last), stage) // the two elements of a butterfly are 2^shift apart
		distance := r.Block().NewShl(ci(i64, 1), shift)
		// The table has the factors of the stage for all parts; these are the ones of part q.
		factors := at(table, r.Plus(r.Times(groups, parts), r.Times(groups, q)))
		each(part/2, func(i value.Value) {
			group := r.Block().NewLShr(i, shift)
			inside := r.Block().NewAnd(i, r.minus(distance, ci(i64, 1)))
			first := r.Plus(r.Block().NewShl(group, r.Plus(shift, ci(i64, 1))), inside)
			px := at(r.group.transformed, first)
			py := at(r.group.transformed, r.Plus(first, distance))
			w := r.Block().NewLoad(i64, at(factors, group))
			x, y := r.butterfly(s.Inverse, r.Block().NewLoad(i64, px), r.Block().NewLoad(i64, py), w)
			r.Block().NewStore(x, px)
			r.Block().NewStore(y, py)
		})
		r.barrier()
		return nil
	})
	each(part, func(i value.Value) {
		x := value.Value(r.Block().NewLoad(i64, at(r.group.transformed, i)))
		if s.Inverse && s.Size == part {
			x = r.mul(x, r.Value(s.Scale))
		}
		r.Block().NewStore(x, at(to, r.Plus(begin, i)))
	})
	r.barrier() // before the shared memory is used again, and the stores are read
}

// outerStages does the stages that connect the parts, in registers: a thread for each index into a part.
func (r *ring) outerStages(s *kernel.Transform, from, to, table value.Value, part, parts int64) {
	at := func(base, i value.Value) value.Value { return r.Block().NewGetElementPtr(i64, base, i) }
	r.Count(r.zext(r.member), ci(i64, part), ci(i64, int64(r.plan.size)), nil,
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
						x[i], x[i+distance] = r.butterfly(s.Inverse, x[i], x[i+distance], w)
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
	r.barrier()
}
