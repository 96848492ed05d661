package rows

import (
	"math/bits"

	"healc/ir"
	"healc/ir/scalar"
	"healc/ir/scalar/modular"
	"healc/lang/types"
)

// The transforms as kernels: a row in memory goes through the stages in place. See Note [Number theoretic transform].

// ChannelAxis is the axis of the channels, one for each modulus, of a tensor whose given axis is transformed.
func ChannelAxis(rank int, axis int64) int {
	if axis == int64(rank-1) {
		return rank - 2
	}
	return rank - 1
}

// nttRow has what the rules of both transforms share.
type nttRow struct {
	p       ir.Pull
	op      *ir.Op
	e       scalar.Emitter
	mod     modular.Modulus
	length  types.Dim
	channel scalar.Ref
}

// newNttRow prepares the line of op at the index at, whose element on the axis is not looked at.
func newNttRow(p ir.Pull, op *ir.Op, at []scalar.Ref) nttRow {
	x, axis := op.Args[0].Type, op.Int("axis")
	r := nttRow{p: p, op: op, e: p.E(), length: x.Shape[axis], channel: at[ChannelAxis(x.Rank(), axis)]}
	modulus := p.Arg(op, 1, []scalar.Ref{r.channel})
	modular.RequireModulus(p.E(), modulus)
	if _, ok := r.length.Const(); !ok {
		m := p.Extent(r.length)
		p.E().Check(scalar.CheckPowerOfTwo, r.e.Eq(r.e.And(m, r.e.Sub(m, r.int(1))), r.int(0)), m)
	}
	r.mod = modular.NewModulus(p.E(), modulus)
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
	pos, _ := ir.CheckedPosition(r.p, r.op, n, []scalar.Ref{i}, r.length)
	return pos
}

// nttLine is the memory in which a row is transformed. Where the stages are a Transform its elements are of type I64,
// which holds the residues of an I32, too.
type nttLine struct {
	nttRow
	p     ir.RowPull
	mem   ir.Memory
	word  types.DType
	whole bool // the stages are a Transform
}

// line is the memory for a row: that of the result, if it may be and is fit for it.
func (r nttRow) line(p ir.RowPull, inResult bool) nttLine {
	m, known := r.length.Const()
	l := nttLine{nttRow: r, p: p, mem: ir.ResultRow, word: r.op.Type().Elem, whole: known && m >= ir.MinTransform}
	if l.whole {
		inResult = inResult && l.word == types.I64 && p.Adjacent(ir.ResultRow)
		l.word = types.I64
	}
	if !inResult {
		l.mem = p.Work(l.word, r.length, false)
	}
	return l
}

// get is element i, a residue; put sets it.
func (l nttLine) get(i scalar.Ref) scalar.Ref {
	return l.mod.FromNumber(l.e.Cast(l.op.Type().Elem, l.p.Read(l.mem, i)))
}

func (l nttLine) put(i, x scalar.Ref) {
	l.p.Write(l.mem, i, l.e.Cast(l.word, l.mod.Number(x)))
}

// fill sets every element to a number of the operation's type, modulo p.
func (l nttLine) fill(number func(i scalar.Ref) scalar.Ref) {
	l.p.Fill(l.mem, l.length, func(i scalar.Ref) scalar.Ref {
		return l.e.Cast(l.word, l.mod.Number(l.mod.Residue(number(i))))
	})
}

// result stores the elements of the row's result, if they are not in its memory.
func (l nttLine) result(from func(i scalar.Ref) scalar.Ref) {
	l.p.Fill(ir.ResultRow, l.length, func(i scalar.Ref) scalar.Ref {
		return l.e.Cast(l.op.Type().Elem, l.p.Read(l.mem, from(i)))
	})
}

// straight reports that operand n is the permutation that changes nothing.
func (l nttLine) straight(n int) scalar.Ref {
	return l.p.All(l.length, func(p ir.Pull, i scalar.Ref) scalar.Ref {
		return p.E().Eq(p.E().Cast(types.I64, p.Arg(l.op, n, []scalar.Ref{i})), i)
	})
}

// nttInput is what a row is transformed from.
type nttInput struct {
	source ir.Memory // its elements, or NoMemory where they have to be moved
	times  ir.Memory // what they are multiplied by, or NoMemory
	number func(i scalar.Ref) scalar.Ref
}

// input finds the operand for the row at the given index. What has to be computed is written once, since more than one
// way leads from it, but a product of two rows modulo p is part of the Transform, which multiplies where it loads.
func (l nttLine) input(at []scalar.Ref) nttInput {
	p, axis, elem := l.p, l.op.Int("axis"), l.op.Type().Elem
	line := func(i scalar.Ref) []scalar.Ref { return ir.Moved(at, axis, i) }
	in := nttInput{source: ir.NoMemory, times: ir.NoMemory, number: func(i scalar.Ref) scalar.Ref {
		return p.Arg(l.op, 0, line(i))
	}}
	if !l.whole {
		return in
	}
	m, loaded := p.Operand(l.op, 0, line)
	if loaded {
		if elem == types.I64 {
			in.source = m
		}
		return in
	}
	if elem == types.I64 {
		if x, y, ok := p.Product(l.op, 0, line, p.Arg(l.op, 1, []scalar.Ref{l.channel})); ok {
			in.source, in.times = x, y
			return in
		}
	}
	return l.written(in.number)
}

// written computes all elements of a row.
func (l nttLine) written(number func(i scalar.Ref) scalar.Ref) nttInput {
	p, e, elem := l.p, l.e, l.op.Type().Elem
	in := nttInput{source: p.Work(l.word, l.length, false), times: ir.NoMemory}
	p.Fill(in.source, l.length, func(i scalar.Ref) scalar.Ref { return e.Cast(l.word, number(i)) })
	in.number = func(i scalar.Ref) scalar.Ref { return e.Cast(elem, p.Read(in.source, i)) }
	return in
}

// run transforms a row and multiplies the result by scale unless that is None.
// Where the stages are a Transform, it finds out whether the elements and the table are residues; if not, and
// for a modulus that is too large for it, the elements are reduced and the stages run one by one.
func (l nttLine) run(in nttInput, inverse bool, scale scalar.Ref) {
	p, e := l.p, l.e
	if !l.whole {
		l.fill(in.number)
		l.each(inverse, scale)
		return
	}
	if in.source == ir.NoMemory {
		in.source = l.mem
		p.Fill(l.mem, l.length, func(i scalar.Ref) scalar.Ref { return e.Cast(l.word, in.number(i)) })
	}
	p.When(e.Not(l.transform(in.source, in.times, inverse, scale)), func() {
		if in.times != ir.NoMemory { // in the least code, as it is seldom run
			in.number = func(i scalar.Ref) scalar.Ref {
				return l.mod.Number(l.mod.Mul(l.mod.Residue(p.Read(in.source, i)), l.mod.Residue(p.Read(in.times, i))))
			}
		}
		l.fill(in.number)
		l.each(inverse, scale)
	})
}

// transform is the Transform of a line, times another unless that is NoMemory.
func (l nttLine) transform(source, times ir.Memory, inverse bool, scale scalar.Ref) scalar.Ref {
	p, e := l.p, l.e
	m, _ := l.length.Const()
	factor := func(i scalar.Ref) []scalar.Ref { return []scalar.Ref{l.channel, i} }
	table, ok := p.Operand(l.op, 2, factor)
	if !ok || table == ir.NoMemory || l.op.Type().Elem != types.I64 {
		table = p.Work(types.I64, l.length, false)
		p.Fill(table, l.length, func(i scalar.Ref) scalar.Ref { return e.Cast(types.I64, p.Arg(l.op, 2, factor(i))) })
	}
	t := ir.Transform{Data: l.mem, Source: source, Times: times, Table: table, Size: m, Inverse: inverse,
		Scale: scalar.None,
		P:     e.Cast(types.I64, l.mod.Number(l.mod.P()))}
	if inverse {
		t.Scale = e.Cast(types.I64, l.mod.Number(scale))
	}
	return p.Transform(t)
}

// each runs the stages one by one in memory.
func (l nttLine) each(inverse bool, scale scalar.Ref) {
	p, e := l.p, l.e
	stages, exact := l.nttRow.stages()
	shift, step := e.Sub(l.logLength(), l.int(1)), l.int(-1)
	if inverse {
		shift, step = l.int(0), l.int(1)
	}
	p.Each(stages, []scalar.Ref{shift}, func(_ scalar.Ref, state []scalar.Ref) []scalar.Ref {
		log := state[0] // of the distance between the elements of a pair
		if exact {
			l.stage(log, inverse)
		} else {
			inside := e.And(e.Le(l.int(0), log), e.Lt(e.Shl(l.int(1), log), p.Extent(l.length)))
			p.When(inside, func() { l.stage(log, inverse) })
		}
		return []scalar.Ref{e.Add(log, step)}
	})
	if scale != scalar.None {
		p.Each(l.length, nil, func(i scalar.Ref, _ []scalar.Ref) []scalar.Ref {
			l.put(i, l.mod.Mul(l.get(i), scale))
			return nil
		})
	}
}

// stage makes all pairs at the distance 2^log.
func (l nttLine) stage(log scalar.Ref, inverse bool) {
	p, e := l.p, l.e
	t := e.Shl(l.int(1), log)
	pairs, exact := l.half()
	h := e.Shr(p.Extent(l.length), e.Add(log, l.int(1)))
	p.Each(pairs, nil, func(n scalar.Ref, _ []scalar.Ref) []scalar.Ref {
		pair := func() {
			group := e.Shr(n, log)
			lo := e.Add(e.Shl(group, e.Add(log, l.int(1))), e.And(n, e.Sub(t, l.int(1))))
			hi := e.Add(lo, t)
			x, y, s := l.get(lo), l.get(hi), l.twiddle(e.Add(h, group))
			if inverse {
				x, y = l.mod.Add(x, y), l.mod.Mul(l.mod.Sub(x, y), s)
			} else {
				y = l.mod.Mul(y, s)
				x, y = l.mod.Add(x, y), l.mod.Sub(x, y)
			}
			l.put(lo, x)
			l.put(hi, y)
		}
		if exact {
			pair()
		} else {
			p.When(e.Lt(e.Add(n, n), p.Extent(l.length)), pair)
		}
		return nil
	})
}

// logLength is log2 of the length.
func (r nttRow) logLength() scalar.Ref {
	return r.e.Sub(r.int(63), r.e.Clz(r.p.Extent(r.length)))
}

func Ntt(p ir.RowPull, op *ir.Op, at []scalar.Ref) {
	l := newNttRow(p, op, at).line(p, op.Flag("skip_perm"))
	l.run(l.input(at), false, scalar.None)
	same := func(i scalar.Ref) scalar.Ref { return i }
	switch {
	case op.Flag("skip_perm") && l.mem == ir.ResultRow:
	case op.Flag("skip_perm"):
		l.result(same)
	case p.Shared(): // the elements go through memory once more either way, and threads wait for the permutation
		l.result(func(i scalar.Ref) scalar.Ref { return l.position(3, i) })
	default:
		straight := l.straight(3)
		p.When(straight, func() { l.result(same) })
		p.When(l.e.Not(straight), func() {
			l.result(func(i scalar.Ref) scalar.Ref { return l.position(3, i) })
		})
	}
}

func Intt(p ir.RowPull, op *ir.Op, at []scalar.Ref) {
	l := newNttRow(p, op, at).line(p, true)
	scale := l.mod.Residue(p.Arg(op, 3, []scalar.Ref{l.channel}))
	straight := l.straight(4)
	in := l.input(at)
	p.When(straight, func() { l.run(in, true, scale) })
	p.When(l.e.Not(straight), func() {
		if in.times != ir.NoMemory {
			in = l.written(in.number)
		}
		scatter := func() {
			zero := l.e.Int(l.word, 0)
			p.Fill(l.mem, l.length, func(scalar.Ref) scalar.Ref { return zero })
			p.Each(l.length, nil, func(i scalar.Ref, _ []scalar.Ref) []scalar.Ref {
				to := l.position(4, i)
				l.put(to, l.mod.Add(l.get(to), l.mod.Residue(in.number(i))))
				return nil
			})
		}
		scatter()
		if !l.whole {
			l.each(true, scale)
			return
		}
		p.When(l.e.Not(l.transform(l.mem, ir.NoMemory, true, scale)), func() {
			scatter()
			l.each(true, scale)
		})
	})
	if l.mem != ir.ResultRow {
		l.result(func(i scalar.Ref) scalar.Ref { return i })
	}
}

// unfolded is the sum of all elements of the operand with their factors: factor gives that of element j of
// what the stages begin with, when q is the element of what they end with.
func (r nttRow) unfolded(at []scalar.Ref, position func(i scalar.Ref) scalar.Ref,
	stage func(log, j scalar.Ref) (used, negative, group scalar.Ref)) scalar.Ref {
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
		x := r.mod.Residue(p.Arg(r.op, 0, ir.Moved(at, axis, i[0])))
		return []scalar.Ref{r.mod.Add(sum[0], r.mod.Mul(x, factor))}
	})[0]
}

// bit reports that bit number log of x is set.
func (r nttRow) bit(x, log scalar.Ref) scalar.Ref {
	return r.e.Ne(r.e.And(r.e.Shr(x, log), r.int(1)), r.int(0))
}

func NttElement(p ir.Pull, op *ir.Op, _ int, at []scalar.Ref) scalar.Ref {
	r := newNttRow(p, op, at)
	q := at[op.Int("axis")]
	if !op.Flag("skip_perm") {
		q = r.position(3, q)
	}
	sum := r.unfolded(at, func(i scalar.Ref) scalar.Ref {
		return i
	}, func(log, j scalar.Ref) (used, negative, group scalar.Ref) {
		return r.bit(j, log), r.bit(q, log), r.e.Shr(q, r.e.Add(log, r.int(1)))
	})
	return r.mod.Number(sum)
}

func InttElement(p ir.Pull, op *ir.Op, _ int, at []scalar.Ref) scalar.Ref {
	r := newNttRow(p, op, at)
	q := at[op.Int("axis")]
	sum := r.unfolded(at, func(i scalar.Ref) scalar.Ref {
		return r.position(4, i)
	}, func(log, j scalar.Ref) (used, negative, group scalar.Ref) {
		return r.bit(q, log), r.bit(j, log), r.e.Shr(j, r.e.Add(log, r.int(1)))
	})
	return r.mod.Number(r.mod.Mul(sum, r.mod.Residue(p.Arg(op, 3, []scalar.Ref{r.channel}))))
}
