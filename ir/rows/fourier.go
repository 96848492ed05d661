package rows

import (
	"healc/ir"
	"healc/ir/fourier"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Fourier transforms as kernels: see Note [Fourier transforms] in package fourier.
//
// Note [Passes of a Fourier transform]
//
// A pass over a row loads some numbers, takes them through one stage or two, and stores them elsewhere: the first pass
// reads the operands, the last one writes the result, and between them the row goes to and fro between the memory of
// the result and one of its own. Behind stages with the product s of their radices, with m numbers left of each of s
// transforms, number p of transform q lies either at q*m + p, so that neighbours in p are neighbours, or at p*s + q.
// Passes over short transforms go along q, those before along p; the first one that goes along q changes the order,
// in strips of q, so that what it fetches is used before it is gone: the numbers that it loads for one q lie next to
// each other where it leaves one of each transform, and else in lines that hold those for the next p, too.
const (
	// fourierRegisters is how many complex numbers a pass over two stages has at most.
	fourierRegisters = 16
	// fourierAlong is how many numbers are left at least where a pass goes along them: a vector and more.
	fourierAlong = 12
	// fourierStrip is how many transforms go side by side where the order changes.
	fourierStrip = 16
)

// fourierPass is one stage, or two of which the second one's Radix is not 0.
type fourierPass struct {
	first, second fourier.Stage
	along         bool // goes along q
	swap          bool // changes the order to that along q
}

// fourierPasses are the passes of stages. Where threads share a row, each is a stage.
func fourierPasses(stages []fourier.Stage, shared bool) []fourierPass {
	var out []fourierPass
	along := false
	for len(stages) > 0 {
		p := fourierPass{first: stages[0]}
		if len(stages) > 1 && !shared && stages[0].Radix*stages[1].Radix <= fourierRegisters {
			p.second = stages[1]
			stages = stages[1:]
		}
		stages = stages[1:]
		if p.swap = !along && p.first.Before > p.rest() && p.rest() < fourierAlong; p.swap {
			along = true
		}
		p.along = along
		out = append(out, p)
	}
	return out
}

// radix is how many numbers a pass loads at once.
func (f fourierPass) radix() int64 { return f.first.Radix * max(f.second.Radix, 1) }

// rest is how many numbers of each transform it leaves.
func (f fourierPass) rest() int64 { return f.first.Rest / max(f.second.Radix, 1) }

// fourierRow is a row that is transformed.
type fourierRow struct {
	p        ir.RowPull
	op       *ir.Op
	at       []scalar.Ref
	factors  factors
	from, to parts
}

// parts are where the parts of a row lie: in two memories, or one behind the other in one. The operands are no memory.
type parts struct {
	re, im ir.Memory
	behind int64 // where im begins
}

// arithmetic is that of an operation's elements where the code stands.
type arithmetic struct {
	scalar.Emitter
	t types.DType
}

func (a arithmetic) Real(x float64) scalar.Ref { return a.Float(a.t, x) }

type number = fourier.Complex[scalar.Ref]

// affine is the index sum(by[i]*of[i]) + plus.
type affine struct {
	p    ir.Pull
	plus int64
	by   []int64
	of   []scalar.Ref
}

func (a affine) and(by int64, of scalar.Ref) affine {
	a.by = append(a.by[:len(a.by):len(a.by)], by)
	a.of = append(a.of[:len(a.of):len(a.of)], of)
	return a
}

// times is a and b times by.
func (a affine) times(by int64, b affine) affine {
	a.plus += by * b.plus
	for i, x := range b.of {
		a = a.and(by*b.by[i], x)
	}
	return a
}

// moved is a and plus.
func (a affine) moved(plus int64) affine {
	a.plus += plus
	return a
}

func (a affine) ref(plus int64) scalar.Ref {
	e := a.p.E()
	sum := e.Int(types.I64, a.plus+plus)
	for i, x := range a.of {
		sum = e.Add(sum, e.Mul(x, e.Int(types.I64, a.by[i])))
	}
	return sum
}

// Fourier is the Rows rule of the transform of a line.
func Fourier(p ir.RowPull, op *ir.Op, at []scalar.Ref) {
	if FourierPanel(op) > 1 {
		fourierColumns(p, op, at)
		return
	}
	n, stages := fourierStages(op)
	r := &fourierRow{p: p, op: op, at: at, factors: fourierFactors(p, op, at), from: parts{re: ir.NoMemory}}
	result := parts{re: ir.ResultRow, im: ir.ResultRow + 1}
	passes := fourierPasses(stages, p.Shared())
	if n == 1 {
		x := r.load(affine{p: p}, 0)
		r.to = result
		r.store(affine{p: p}, 0, x)
		return
	}
	spare := parts{re: ir.NoMemory}
	for i, f := range passes {
		r.to = result
		if (len(passes)-1-i)%2 == 1 {
			if spare.re == ir.NoMemory {
				m := p.Near(op.Type().Elem, types.Lit(2*n))
				spare = parts{re: m, im: m, behind: n}
			}
			r.to = spare
		}
		r.pass(f)
		r.from = r.to
	}
}

// load is the number at an index.
func (r *fourierRow) load(i affine, plus int64) number {
	if r.from.re == ir.NoMemory {
		at := ir.Moved(r.at, r.op.Int("axis"), i.ref(plus))
		return number{Re: r.p.Arg(r.op, 0, at), Im: r.p.Arg(r.op, 1, at)}
	}
	return number{Re: r.p.Read(r.from.re, i.ref(plus)), Im: r.p.Read(r.from.im, i.ref(plus+r.from.behind))}
}

func (r *fourierRow) store(i affine, plus int64, x number) {
	r.p.Write(r.to.re, i.ref(plus), x.Re)
	r.p.Write(r.to.im, i.ref(plus+r.to.behind), x.Im)
}

// fourierStages are the extent of the lines of an operation and their stages.
func fourierStages(op *ir.Op) (int64, []fourier.Stage) {
	n, _ := op.Type().Shape[op.Int("axis")].Const()
	stages, _ := fourier.First(n, op.Int("rest"))
	return n, stages
}

// FourierBlocks is how the factors of an operation lie.
func FourierBlocks(op *ir.Op) fourier.Blocks {
	n, _ := op.Type().Shape[op.Int("axis")].Const()
	left := op.Int("rest")
	b := fourier.Blocks{Left: left, Width: left, Rows: fourier.Factors(n, left) / left}
	if w := op.Int("block"); w > 0 {
		b.Width = w
	}
	return b
}

// factors are those of the stages of an operation where the code stands: at says where the factor in a row of the table
// lies.
type factors struct {
	p  ir.Pull
	op *ir.Op
	at func(row affine) affine
}

// fourierFactors are the factors for the line at an index.
func fourierFactors(p ir.Pull, op *ir.Op, at []scalar.Ref) factors {
	b := FourierBlocks(op)
	return factors{p, op, func(row affine) affine {
		if b.Left == 1 {
			return row
		}
		column := at[op.Int("axis")-1]
		if b.Width == b.Left {
			return affine{p: p}.times(b.Left, row).and(1, column)
		}
		e := p.E()
		integer := func(x int64) scalar.Ref { return e.Int(types.I64, x) }
		lane := e.Rem(column, integer(b.Width))
		first := e.Sub(column, lane)
		width := integer(b.Width)
		if fewer := b.Left % b.Width; fewer > 0 {
			width = e.Select(e.Le(first, integer(b.Left-b.Width)), width, integer(fewer))
		}
		return affine{p: p}.and(b.Rows, first).and(1, e.Mul(row.ref(0), width)).and(1, lane)
	}}
}

// factor is factor k of number p, and plus, of a stage.
func (f factors) factor(s fourier.Stage, k int64, of affine, plus int64) number {
	e, index := f.p.E(), f.at(of.moved(s.Factor(k, plus)/s.Left)).ref(0)
	return number{Re: f.p.Arg(f.op, 2, []scalar.Ref{e.Int(types.I64, 0), index}),
		Im: f.p.Arg(f.op, 2, []scalar.Ref{e.Int(types.I64, 1), index})}
}

// pass writes the loops of a pass.
func (r *fourierRow) pass(f fourierPass) {
	p, before, rest := r.p, f.first.Before, f.rest()
	each := func(n int64, body func(i scalar.Ref)) {
		p.Each(types.Lit(n), nil, func(i scalar.Ref, _ []scalar.Ref) []scalar.Ref {
			body(i)
			return nil
		})
	}
	zero := affine{p: p}
	switch {
	case p.Shared():
		p.Apart(types.Lit(before*rest), 1, func(i scalar.Ref) {
			e, by := p.E(), p.E().Int(types.I64, rest)
			if f.along {
				by = e.Int(types.I64, before)
			}
			outer, inner := e.Div(i, by), e.Rem(i, by)
			if f.along {
				r.numbers(f, zero.and(1, inner), zero.and(1, outer))
				return
			}
			r.numbers(f, zero.and(1, outer), zero.and(1, inner))
		})
	case !f.along:
		each(before, func(q scalar.Ref) {
			p.Apart(types.Lit(rest), 1, func(i scalar.Ref) { r.numbers(f, zero.and(1, q), zero.and(1, i)) })
		})
	case f.swap && rest > 1 && before%fourierStrip == 0:
		each(before/fourierStrip, func(strip scalar.Ref) {
			each(rest, func(i scalar.Ref) {
				p.Apart(types.Lit(fourierStrip), 1, func(q scalar.Ref) {
					r.numbers(f, zero.and(fourierStrip, strip).and(1, q), zero.and(1, i))
				})
			})
		})
	default:
		each(rest, func(i scalar.Ref) {
			p.Apart(types.Lit(before), 1, func(q scalar.Ref) { r.numbers(f, zero.and(1, q), zero.and(1, i)) })
		})
	}
}

// numbers takes number p of what is left, for each part of the radix, of transform q through a pass.
func (r *fourierRow) numbers(f fourierPass, q, p affine) {
	before, rest, radix := f.first.Before, f.rest(), f.radix()
	both := func(byQ, byP int64) affine {
		i := affine{p: r.p}
		for k, x := range q.of {
			i = i.and(byQ*q.by[k], x)
		}
		for k, x := range p.of {
			i = i.and(byP*p.by[k], x)
		}
		return i
	}
	// Where number p + rest*j of transform q was, and where number p of transform q + before*k goes.
	from, step := both(rest*radix, 1), rest
	if f.along && !f.swap {
		from, step = both(1, before), rest*before
	}
	to, far := both(rest, 1), rest*before
	if f.along {
		to, far = both(1, before*radix), before
	}
	r.butterflies(f, p, func(j int64) number { return r.load(from, step*j) },
		func(k1, k2 int64, x number) { r.store(to, far*(k1+f.first.Radix*k2), x) })
}

// butterflies takes numbers through a pass that leaves number p: load gives number p + rest*j of a transform, and store
// has what becomes number p of result k1 of the first stage, and k2 of the second.
func (r *fourierRow) butterflies(f fourierPass, p affine, load func(j int64) number,
	store func(k1, k2 int64, x number)) {
	a := arithmetic{r.p.E(), r.op.Type().Elem}
	second := max(f.second.Radix, 1)
	// y[k1][j2]: the first stage goes over j1 of j = j2 + second*j1.
	y := make([][]number, f.first.Radix)
	for j2 := range second {
		x := make([]number, f.first.Radix)
		for j1 := range x {
			x[j1] = load(j2 + second*int64(j1))
		}
		for k1, v := range fourier.Butterfly(a, x) {
			if k1 > 0 && f.first.Turns() {
				v = fourier.Times(a, v, r.factors.factor(f.first, int64(k1), p, f.rest()*j2))
			}
			y[k1] = append(y[k1], v)
		}
	}
	for k1, x := range y {
		if f.second.Radix == 0 {
			store(int64(k1), 0, x[0])
			continue
		}
		for k2, v := range fourier.Butterfly(a, x) {
			if k2 > 0 && f.second.Turns() {
				v = fourier.Times(a, v, r.factors.factor(f.second, int64(k2), p, 0))
			}
			store(int64(k1), int64(k2), v)
		}
	}
}

// FourierElement is an element by itself. The numbers of the line are taken in the order in which they are needed, and
// go through as many stages as have all of their numbers then; those before wait in the state of the loop.
func FourierElement(p ir.Pull, op *ir.Op, result int, at []scalar.Ref) scalar.Ref {
	axis := op.Int("axis")
	t := op.Type().Elem
	n, stages := fourierStages(op)
	e := p.E()
	integer := func(x int64) scalar.Ref { return p.E().Int(types.I64, x) }
	left := at[axis]
	k := make([]scalar.Ref, len(stages)) // which result of the butterfly of each stage leads to the element
	waiting := []scalar.Ref{}
	for i, s := range stages {
		k[i], left = e.Rem(left, integer(s.Radix)), e.Div(left, integer(s.Radix))
		for range 2 * (s.Radix - 1) {
			waiting = append(waiting, e.Float(t, 0))
		}
	}
	waiting = append(waiting, e.Float(t, 0), e.Float(t, 0)) // what came last out of the last stage
	z := p.Loop([]types.Dim{types.Lit(n)}, 0, waiting, func(i, state []scalar.Ref) []scalar.Ref {
		e := p.E()
		a := arithmetic{e, t}
		j, left := make([]scalar.Ref, len(stages)), i[0]
		place := integer(0)
		for l, s := range stages {
			j[l], left = e.Rem(left, integer(s.Radix)), e.Div(left, integer(s.Radix))
			place = e.Add(place, e.Mul(j[l], integer(s.Rest)))
		}
		line := ir.Moved(at, axis, place)
		v := number{Re: p.Arg(op, 0, line), Im: p.Arg(op, 1, line)}
		next := []scalar.Ref{}
		ready, rest := e.Bool(true), place // whether v has come this far, and the place within what is left
		chosen := func(c scalar.Ref, x, y number) number {
			return number{Re: e.Select(c, x.Re, y.Re), Im: e.Select(c, x.Im, y.Im)}
		}
		for l, s := range stages {
			x := make([]number, s.Radix)
			for m := range x[:s.Radix-1] {
				x[m] = number{Re: state[0], Im: state[1]}
				state = state[2:]
				now := chosen(e.And(ready, e.Eq(j[l], integer(int64(m)))), v, x[m])
				next = append(next, now.Re, now.Im)
			}
			x[s.Radix-1] = v
			rest = e.Sub(rest, e.Mul(j[l], integer(s.Rest)))
			for m, y := range fourier.Butterfly(a, x) {
				if m > 0 && s.Turns() {
					y = fourier.Times(a, y, fourierFactors(p, op, at).factor(s, int64(m), affine{p: p}.and(1, rest), 0))
				}
				if m == 0 {
					v = y
				} else {
					v = chosen(e.Eq(k[l], integer(int64(m))), y, v)
				}
			}
			ready = e.And(ready, e.Eq(j[l], integer(s.Radix-1)))
		}
		return append(next, v.Re, v.Im)
	})
	return z[len(z)-2+result]
}
