package ir

import (
	"math/bits"

	"healc/ir/scalar"
	"healc/lang/types"
)

// The transforms as kernels: a row in memory goes through the stages in place. See Note [Number theoretic transform].

// nttRow has what the rules of both transforms share.
type nttRow struct {
	p       Pull
	op      *Op
	e       scalar.Emitter
	mod     scalar.Modulus
	length  types.Dim
	channel scalar.Ref
}

// newNttRow prepares the line of op at the index at, whose element on the axis is not looked at.
func newNttRow(p Pull, op *Op, at []scalar.Ref) nttRow {
	x, axis := op.Args[0].Type, op.Int("axis")
	r := nttRow{p: p, op: op, e: p.E(), length: x.Shape[axis], channel: at[channelAxis(x.Rank(), axis)]}
	modulus := p.Arg(op, 1, []scalar.Ref{r.channel})
	checkModulus(p.E(), modulus)
	if _, ok := r.length.Const(); !ok {
		m := p.Extent(r.length)
		p.E().Check(scalar.CheckPowerOfTwo, r.e.Eq(r.e.And(m, r.e.Sub(m, r.int(1))), r.int(0)), m)
	}
	r.mod = scalar.NewModulus(p.E(), modulus)
	return r
}

func (r nttRow) int(n int64) scalar.Ref { return r.e.Int(types.I64, n) }

// stages is the number of stages, as an extent that is large enough, and whether it is exact.
func (r nttRow) stages() (types.Dim, bool) {
	if m, ok := r.length.Const(); ok {
		return types.Lit(int64(bits.Len64(uint64(max(m, 1))) - 1)), true
	}
	return types.Lit(31), false // an extent is below 2^31
}

// half is half of the length, as an extent that is large enough, and whether it is exact.
func (r nttRow) half() (types.Dim, bool) {
	if m, ok := r.length.Const(); ok {
		return types.Lit(m / 2), true
	}
	return r.length, false
}

// twiddle is element i of the table, as a residue.
func (r nttRow) twiddle(i scalar.Ref) scalar.Ref {
	return r.mod.Residue(r.p.Arg(r.op, 2, []scalar.Ref{r.channel, i}))
}

// position is position i of the permutation, which is operand n.
func (r nttRow) position(n int, i scalar.Ref) scalar.Ref {
	pos, _ := checkedPosition(r.p, r.op, n, []scalar.Ref{i}, r.length)
	return pos
}

// transform runs the stages in memory: shift is log2 of t in the first, and step what is added to it from one to the
// next. butterfly gives the new elements at a distance of t.
func (r nttRow) transform(p RowPull, line Memory, shift, step scalar.Ref, butterfly func(x, y, s scalar.Ref) (scalar.Ref, scalar.Ref)) {
	e := p.E()
	stages, exact := r.stages()
	p.Each(stages, []scalar.Ref{shift}, func(_ scalar.Ref, state []scalar.Ref) []scalar.Ref {
		log := state[0]
		run := func() {
			t := e.Shl(r.int(1), log)
			pairs, exact := r.half()
			h := e.Shr(p.Extent(r.length), e.Add(log, r.int(1)))
			p.Each(pairs, nil, func(n scalar.Ref, _ []scalar.Ref) []scalar.Ref {
				pair := func() {
					group := e.Shr(n, log)
					lo := e.Add(e.Shl(group, e.Add(log, r.int(1))), e.And(n, e.Sub(t, r.int(1))))
					hi := e.Add(lo, t)
					word := func(i scalar.Ref) scalar.Ref { return r.mod.FromNumber(p.Read(line, i)) }
					x, y := butterfly(word(lo), word(hi), r.twiddle(e.Add(h, group)))
					p.Write(line, lo, r.mod.Number(x))
					p.Write(line, hi, r.mod.Number(y))
				}
				if exact {
					pair()
				} else {
					p.When(e.Lt(e.Add(n, n), p.Extent(r.length)), pair)
				}
				return nil
			})
		}
		if exact {
			run()
		} else {
			inside := e.And(e.Le(r.int(0), log), e.Lt(e.Shl(r.int(1), log), p.Extent(r.length)))
			p.When(inside, run)
		}
		return []scalar.Ref{e.Add(log, step)}
	})
}

// logLength is log2 of the length.
func (r nttRow) logLength() scalar.Ref {
	return r.e.Sub(r.int(63), r.e.Clz(r.p.Extent(r.length)))
}

func rowsNtt(p RowPull, op *Op, at []scalar.Ref) {
	axis := op.Int("axis")
	r := newNttRow(p, op, at)
	line := ResultRow
	if !op.Flag("skip_perm") {
		line = p.Work(op.Type().Elem, r.length, false)
	}
	p.Each(r.length, nil, func(i scalar.Ref, _ []scalar.Ref) []scalar.Ref {
		p.Write(line, i, r.mod.Number(r.mod.Residue(p.Arg(op, 0, moved(at, axis, i)))))
		return nil
	})
	r.transform(p, line, r.e.Sub(r.logLength(), r.int(1)), r.int(-1), func(x, y, s scalar.Ref) (scalar.Ref, scalar.Ref) {
		y = r.mod.Mul(y, s)
		return r.mod.Add(x, y), r.mod.Sub(x, y)
	})
	if op.Flag("skip_perm") {
		return
	}
	p.Each(r.length, nil, func(i scalar.Ref, _ []scalar.Ref) []scalar.Ref {
		p.Write(ResultRow, i, p.Read(line, r.position(3, i)))
		return nil
	})
}

func rowsIntt(p RowPull, op *Op, at []scalar.Ref) {
	axis := op.Int("axis")
	r := newNttRow(p, op, at)
	zero := r.e.Int(op.Type().Elem, 0)
	p.Each(r.length, nil, func(i scalar.Ref, _ []scalar.Ref) []scalar.Ref {
		p.Write(ResultRow, i, zero)
		return nil
	})
	p.Each(r.length, nil, func(i scalar.Ref, _ []scalar.Ref) []scalar.Ref {
		to := r.position(4, i)
		sum := r.mod.Add(r.mod.FromNumber(p.Read(ResultRow, to)), r.mod.Residue(p.Arg(op, 0, moved(at, axis, i))))
		p.Write(ResultRow, to, r.mod.Number(sum))
		return nil
	})
	r.transform(p, ResultRow, r.int(0), r.int(1), func(x, y, s scalar.Ref) (scalar.Ref, scalar.Ref) {
		return r.mod.Add(x, y), r.mod.Mul(r.mod.Sub(x, y), s)
	})
	scale := r.mod.Residue(p.Arg(op, 3, []scalar.Ref{r.channel}))
	p.Each(r.length, nil, func(i scalar.Ref, _ []scalar.Ref) []scalar.Ref {
		p.Write(ResultRow, i, r.mod.Number(r.mod.Mul(r.mod.FromNumber(p.Read(ResultRow, i)), scale)))
		return nil
	})
}

// unfolded is the sum of all elements of the operand with their factors: factor gives that of element j of
// what the stages begin with, when q is the element of what they end with.
func (r nttRow) unfolded(at []scalar.Ref, position func(i scalar.Ref) scalar.Ref, stage func(log, j scalar.Ref) (used, negative, group scalar.Ref)) scalar.Ref {
	p, e := r.p, r.e
	axis := r.op.Int("axis")
	word := r.mod.One()
	zero := e.Sub(word, word)
	stages, _ := r.stages()
	return p.Loop([]types.Dim{r.length}, 0, []scalar.Ref{zero}, func(i, sum []scalar.Ref) []scalar.Ref {
		j := position(i[0])
		factor := p.Loop([]types.Dim{stages}, 0, []scalar.Ref{word}, func(s, f []scalar.Ref) []scalar.Ref {
			m := p.Extent(r.length)
			log := s[0]
			inside := e.Lt(e.Shl(r.int(1), log), m)
			used, negative, group := stage(log, j)
			h := e.Shr(m, e.Add(log, r.int(1)))
			at := e.Select(inside, e.Add(h, group), r.int(0))
			next := r.mod.Mul(f[0], r.twiddle(at))
			next = e.Select(negative, r.mod.Neg(next), next)
			return []scalar.Ref{e.Select(e.And(inside, used), next, f[0])}
		})[0]
		x := r.mod.Residue(p.Arg(r.op, 0, moved(at, axis, i[0])))
		return []scalar.Ref{r.mod.Add(sum[0], r.mod.Mul(x, factor))}
	})[0]
}

// bit reports that bit number log of x is set.
func (r nttRow) bit(x, log scalar.Ref) scalar.Ref {
	return r.e.Ne(r.e.And(r.e.Shr(x, log), r.int(1)), r.int(0))
}

func elementNtt(p Pull, op *Op, _ int, at []scalar.Ref) scalar.Ref {
	r := newNttRow(p, op, at)
	q := at[op.Int("axis")]
	if !op.Flag("skip_perm") {
		q = r.position(3, q)
	}
	sum := r.unfolded(at, func(i scalar.Ref) scalar.Ref { return i }, func(log, j scalar.Ref) (used, negative, group scalar.Ref) {
		return r.bit(j, log), r.bit(q, log), r.e.Shr(q, r.e.Add(log, r.int(1)))
	})
	return r.mod.Number(sum)
}

func elementIntt(p Pull, op *Op, _ int, at []scalar.Ref) scalar.Ref {
	r := newNttRow(p, op, at)
	q := at[op.Int("axis")]
	sum := r.unfolded(at, func(i scalar.Ref) scalar.Ref { return r.position(4, i) }, func(log, j scalar.Ref) (used, negative, group scalar.Ref) {
		return r.bit(q, log), r.bit(j, log), r.e.Shr(j, r.e.Add(log, r.int(1)))
	})
	return r.mod.Number(r.mod.Mul(sum, r.mod.Residue(p.Arg(op, 3, []scalar.Ref{r.channel}))))
}
