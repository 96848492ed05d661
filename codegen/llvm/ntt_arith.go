package llvm

import (
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/value"

	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
)

// The arithmetic of transforms on vectors, see Note [Transforms]. With IFMA, numbers are meant modulo 2^52: bits from
// 52 on are arbitrary, and nothing looks at them. A product reads the lower 52 bits of its factors. below compares a
// number whose upper bits are arbitrary with the small or wrapped difference that it may be replaced by: that
// is smaller when the difference is not negative, whatever those bits are, and larger than any number with bits 52 to 63
// not all set when it is negative; with all of them set it is larger, too, as the number is less than 2p above
// the difference and 2^52 is more. canonical removes them.

// after is the bound of the numbers after a stage of the forward transform, from that before it.
func (n *ntt) after(bound int) int {
	return n.reduced(bound) + n.slack
}

// reduced is the bound of the first number of a pair when the stage may add to it.
func (n *ntt) reduced(bound int) int {
	if m := n.takeOff(bound); m > 0 {
		return max(m, bound-m)
	}
	return bound
}

// takeOff is the multiple of p that is taken off before a stage, 0 when the sums fit without.
func (n *ntt) takeOff(bound int) int {
	if bound+n.slack <= n.grow {
		return 0
	}
	return n.grow / 2
}

// below takes m*p off where x is not below it.
func (n *ntt) below(x value.Value, m int) value.Value {
	if n.ifma {
		return n.umin(x, n.mulLow(n.minus[m], x, n.num(1)))
	}
	return n.umin(x, n.cur.NewSub(x, n.multiple[m]))
}

func (n *ntt) umin(x, y value.Value) value.Value { return n.call("llvm.umin", x.Type(), x, y) }

// forward is a pair of the forward transform: x + y*w and x - y*w. bound is that of x and y.
func (n *ntt) forward(x, y value.Value, f factor, bound int) (value.Value, value.Value) {
	if m := n.takeOff(bound); m > 0 {
		x = n.below(x, m)
	}
	q := n.quotient(y, f)
	if n.ifma {
		sum := n.mulLow(n.mulLow(x, f.w, y), q, n.neg)
		twice := n.mulLow(n.multiple[n.slack], x, n.num(2)) // both results are 2x + 2p
		return sum, n.cur.NewSub(twice, sum)
	}
	t := n.cur.NewAdd(n.cur.NewMul(f.w, y), n.cur.NewMul(q, n.neg))
	return n.cur.NewAdd(x, t), n.cur.NewSub(n.cur.NewAdd(x, n.multiple[n.slack]), t)
}

// backward is a pair of the inverse: x + y and (x - y)*w, all below slack*p. The last one is scaled and canonical.
func (n *ntt) backward(x, y value.Value, f factor, last bool) (value.Value, value.Value) {
	sum := n.cur.NewAdd(x, y)
	diff := n.cur.NewSub(n.cur.NewAdd(x, n.multiple[n.slack]), y)
	if last {
		return n.canonical(n.product(sum, n.scale), n.slack), n.canonical(n.product(diff, n.scaled), n.slack)
	}
	return n.below(sum, n.slack), n.product(diff, f)
}

// product is y*w modulo p, below slack*p.
func (n *ntt) product(y value.Value, f factor) value.Value {
	q := n.quotient(y, f)
	if n.ifma {
		return n.mulLow(n.mulLow(n.num(0), f.w, y), q, n.neg)
	}
	return n.cur.NewAdd(n.cur.NewMul(f.w, y), n.cur.NewMul(q, n.neg))
}

// quotient is y*w/p, or a little less.
func (n *ntt) quotient(y value.Value, f factor) value.Value {
	if n.ifma {
		return n.mulHigh(n.num(0), f.q, y)
	}
	return n.mulUpper(y, f.q, f.top)
}

// canonical takes a number below bound*p to [0, p).
func (n *ntt) canonical(x value.Value, bound int) value.Value {
	m := 1
	for 2*m < bound {
		m *= 2
	}
	for ; m >= 1; m /= 2 {
		x = n.below(x, m)
	}
	if n.ifma {
		return n.cur.NewAnd(x, n.num(1<<52-1))
	}
	return x
}

// withQuotient computes floor(w*2^k/p), or up to three less without IFMA, for residues w: w with its highest place at that
// of p, times the reciprocal (Möller and Granlund, see scalar.Modulus), is at most one too small.
func (n *ntt) withQuotient(w value.Value) factor {
	up := n.cur.NewShl(w, n.shift)
	if !n.ifma {
		q := n.cur.NewAdd(up, n.mulUpper(up, n.v, n.cur.NewLShr(n.v, n.num(32))))
		return n.upper(factor{w: w, q: q})
	}
	q := n.mulHigh(up, up, n.v)
	rest := n.mulLow(n.num(0), q, n.neg) // w*2^52 - q*p, below 2p
	more := n.cur.NewICmp(enum.IPredUGE, rest, n.multiple[1])
	return factor{w: w, q: n.cur.NewSelect(more, n.cur.NewAdd(q, n.num(1)), q)}
}

// upper sets the upper half of the quotients.
func (n *ntt) upper(f factor) factor {
	if !n.ifma {
		f.top = n.cur.NewLShr(f.q, n.num(32))
	}
	return f
}

// mulUpper is the upper word of x*y, or up to two less: the product of the lower halves and the carries between
// the others are left out. top is y >> 32.
func (n *ntt) mulUpper(x, y, top value.Value) value.Value {
	b := n.cur
	half, low := n.num(32), n.num(1<<32-1)
	xh := b.NewLShr(x, half)
	xl, yl := b.NewAnd(x, low), b.NewAnd(y, low)
	a := b.NewLShr(b.NewMul(xl, top), half)
	c := b.NewLShr(b.NewMul(xh, yl), half)
	return b.NewAdd(b.NewAdd(b.NewMul(xh, top), a), c)
}

// mulLow is z plus the lower 52 bits of the product of the lower 52 bits of x and y, mulHigh z plus the upper ones.
func (n *ntt) mulLow(z, x, y value.Value) value.Value  { return n.fma52("l", z, x, y) }
func (n *ntt) mulHigh(z, x, y value.Value) value.Value { return n.fma52("h", z, x, y) }

func (n *ntt) fma52(part string, z, x, y value.Value) value.Value {
	t := n.vector()
	f := n.intrinsic("llvm.x86.avx512.vpmadd52"+part+".uq.512", t, t, t, t)
	return n.cur.NewCall(f, z, x, y)
}

// genSink lets the expansions of package scalar write into a function.
type genSink struct{ g *gen }

func (s *genSink) TypeOf(r kernel.Ref) types.DType { return s.g.types[r] }

// Emit implements scalar.Sink.
func (s *genSink) Emit(in scalar.Instr) kernel.Ref {
	r := kernel.Ref(len(s.g.types))
	s.g.types, s.g.env = append(s.g.types, in.Type), append(s.g.env, val{})
	s.g.let(&kernel.Let{ID: r, In: in})
	return r
}

// param names a value.
func (s *genSink) param(t types.DType, v value.Value) kernel.Ref {
	r := kernel.Ref(len(s.g.types))
	s.g.types, s.g.env = append(s.g.types, t), append(s.g.env, val{v: v})
	return r
}
