package ntt

import (
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
)

// nttShort is the arithmetic with words of 52 bits for moduli from 2^49 to 2^50 on processors all of whose pipes
// multiply, and for the inverse on some others: there the fewest instructions are the fastest, and products of 52 bits
// take off multiples of p, double and add, too. Numbers are meant modulo 2^52, as in nttWords, whose constants these
// are. The upper word of x*parts, where parts is floor(2^52/p), is how often p is taken off x, and less than 2p are
// left: docs/modular-theory.md.
//
// A bound is 1 for what is below 2^50, and Grow for what is below 2^52, or in the inverse below 2p.
type nttShort struct {
	*nttWords
	parts, rest value.Value // the whole part of 2^52/p, and the 52 bits behind it
	two         value.Value
	elements    value.Value // where the bits of all elements seen are kept
	factors     value.Value // where those of all factors, and of their quotients, are
}

// constants implements nttArith. The reciprocal of p has 64 bits behind the 1 that is 2^52/p's 4.
func (n *nttShort) constants(p, scale value.Value) {
	n.nttWords.constants(p, scale)
	b, bits := n.Cur, func(x int64) value.Value { return build.Int(build.I64, x) }
	n.parts = n.splat(b.NewOr(b.NewLShr(n.reciprocal, bits(62)), bits(4)))
	n.rest = n.splat(b.NewLShr(b.NewShl(n.reciprocal, bits(2)), bits(12)))
	n.two = n.num(2)
	n.elements, n.factors = n.notes(n.num(0)), n.notes(n.num(0))
}

// noted keeps the bits of x in a place for notes.
func (n *nttShort) noted(where, x value.Value) {
	n.note(where, x, func(all, x value.Value) value.Value { return n.Cur.NewOr(all, x) })
}

// seen implements nttArith.
func (n *nttShort) seen(x value.Value) value.Value {
	n.noted(n.elements, x)
	return x
}

// fit implements nttArith. Elements below 2^50 need not be residues. Factors have to be, but for p itself.
func (n *nttShort) fit(value.Value) value.Value {
	below := func(where value.Value, bits int) value.Value {
		return n.Cur.NewICmp(enum.IPredULT, n.joint("or", n.Cur.NewLoad(n.vector(), where), build.I64),
			build.Int(build.I64, 1<<bits))
	}
	return n.Cur.NewAnd(below(n.elements, 50), below(n.factors, 52))
}

// lessen implements nttArith: no number is too large for the next stage.
func (n *nttShort) lessen(x number, _ int) number { return x }

// reduced takes as many p off a number below 2^52 as leave less than 2p.
func (n *nttShort) reduced(x value.Value) value.Value {
	return n.mulLow(x, n.mulHigh(n.num(0), x, n.parts), n.neg)
}

// forward implements nttArith: from 2p and a product below 3p come numbers below 6p, and where 2^52 is less than that,
// the reduction leaves less than 2^52 - 3p.
func (n *nttShort) forward(pairs []nttPair) {
	for _, p := range pairs {
		x := p.x.v
		if p.x.bound > 1 {
			x = n.reduced(x)
		}
		q := n.mulHigh(n.num(0), p.f.q, p.y.v)
		twice := n.mulLow(n.multiple[3], x, n.two)
		sum := n.mulLow(n.mulLow(x, p.f.w, p.y.v), q, n.neg)
		*p.x, *p.y = number{sum, 0, n.Grow}, number{n.Cur.NewSub(twice, sum), 0, n.Grow}
	}
}

// backward implements nttArith.
func (n *nttShort) backward(pairs []nttPair, last bool) {
	for _, p := range pairs {
		sum := n.Cur.NewAdd(p.x.v, p.y.v)
		diff := n.Cur.NewSub(n.Cur.NewAdd(p.x.v, n.multiple[2]), p.y.v)
		if last {
			*p.x, *p.y = n.canonical(n.product(sum, n.scale)), n.canonical(n.product(diff, n.scaled))
			continue
		}
		*p.x, *p.y = number{n.reduced(sum), 0, n.Grow}, n.product(diff, p.f)
	}
}

// product is y*w modulo p, for any y below 2^52.
func (n *nttShort) product(y value.Value, f Factor) number {
	q := n.mulHigh(n.num(0), f.q, y)
	return number{n.mulLow(n.lower(f.w, y), q, n.neg), 0, n.Grow}
}

// multiplied implements nttArith.
func (n *nttShort) multiplied(x number, w Factor) number { return n.product(x.v, w) }

// canonical implements nttArith.
func (n *nttShort) canonical(x number) number {
	y := x.v
	if !n.inverse {
		y = n.reduced(y)
	}
	y = n.Cur.NewAnd(y, n.num(1<<52-1))
	large := n.Cur.NewICmp(enum.IPredUGE, y, n.multiple[1])
	return number{n.Cur.NewSub(y, n.Cur.NewSelect(large, n.multiple[1], n.num(0))), 0, 1}
}

// withQuotient implements nttArith. Forward quotients are too small by less than 2. In the inverse those of the first
// stage are by less than 1 + 2^-52 w, and others by less than 1.
func (n *nttShort) withQuotient(w value.Value, exact bool) Factor {
	if n.inverse && !exact {
		q := n.mulHigh(n.lower(w, n.parts), w, n.rest)
		n.noted(n.factors, n.Cur.NewOr(w, n.Cur.NewSub(n.Cur.NewSub(n.multiple[1], n.num(1)), w)))
		return Factor{w: w, q: q}
	}
	up := n.Cur.NewShl(w, n.num(2))
	q := n.mulHigh(up, up, n.v)
	if n.inverse {
		one := n.num(1)
		left := n.mulLow(n.num(0), q, n.neg) // w*2^52 - q*p, below 2p
		q = n.Cur.NewSelect(n.Cur.NewICmp(enum.IPredUGE, left, n.multiple[1]), n.mulLow(q, one, one), q)
	}
	n.noted(n.factors, n.Cur.NewOr(w, q))
	return Factor{w: w, q: q, Exact: n.inverse}
}

// repeated is so many elements of memory, again and again.
func (n *Ntt) repeated(base, at value.Value, count int) value.Value {
	t := build.Vector(build.I64, count)
	l := n.Cur.NewLoad(t, n.Cur.NewBitCast(n.Cur.NewGetElementPtr(build.I64, base, at), lt.NewPointer(t)))
	l.Align = 8
	return n.Permute(l, n.w, func(i int) int { return i % count })
}
