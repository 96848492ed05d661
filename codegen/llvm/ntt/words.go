package ntt

import (
	"math/bits"

	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/ir/scalar/modular"
	"healc/lang/types"
)

// nttWords is the arithmetic of transforms on vectors of integers, see Note [Transforms]. With words of 52 bits numbers
// are meant modulo 2^52: bits from 52 on are arbitrary, and nothing looks at them. A product reads the lower 52 bits of
// its factors, and the index of a table the four below bit 52 or lower ones. canonical removes them.

type nttWords struct {
	*Ntt
	multiple   []value.Value  // m*p
	minusP     value.Value    // -p
	table16    [2]value.Value // the multiples that take takes off
	centered   [2]value.Value // those that center does
	index      value.Value    // where the bits that choose one begin
	neg        value.Value    // 2^k - p
	reciprocal value.Value    // of p, a number of 64 bits
	v, shift   value.Value    // the reciprocal of p, and where p has its highest bit
	vTop, vLow value.Value    // the upper 52 bits of the reciprocal, and the others at the place of the highest
	scale      Factor
	scaled     Factor      // the factor of the last stage of the inverse, times scale
	largest    value.Value // where the largest number seen in each place of a vector is kept
}

// constants implements nttArith.
func (n *nttWords) constants(p, scale value.Value) {
	b := &genSink{g: n.Func}
	m := modular.NewModulus(scalar.Emitter{Sink: b}, b.param(types.I64, p))
	v, shift := n.Uniform(m.Reciprocal()), n.Uniform(m.Shift())
	n.reciprocal = v
	n.neg = n.splat(n.Cur.NewSub(build.Int(build.I64, 0), p))
	if n.k52 { // the reciprocal is that of p with bit 51 as the highest
		v, shift = n.Cur.NewLShr(v, build.Int(build.I64, 12)), n.Cur.NewSub(shift, build.Int(build.I64, 12))
		n.neg = n.splat(n.Cur.NewSub(build.Int(build.I64, 1<<52), p))
	}
	n.minusP = n.splat(n.Cur.NewSub(build.Int(build.I64, 0), p))
	n.v, n.shift = n.splat(v), n.splat(shift)
	top, low := n.cuts()
	n.vTop, n.vLow = n.splat(n.Cur.NewLShr(v, build.Int(build.I64, top))),
		n.splat(n.Cur.NewShl(v, build.Int(build.I64, low)))
	n.largest = n.notes(n.num(0))
	for m := range n.Grow + 1 {
		n.multiple = append(n.multiple, n.splat(n.Cur.NewMul(p, build.Int(build.I64, int64(m)))))
	}
	if n.ifma {
		n.multiples(p)
	}
	if n.inverse {
		n.scale = n.withQuotient(n.splat(scale), true)
		w := n.Cur.NewLoad(build.I64, n.Cur.NewGetElementPtr(build.I64, n.table, build.Int(build.I64, 1)))
		n.scaled = n.withQuotient(n.canonical(n.product(number{n.splat(w), 0, 1}, n.scale)).v, true)
	}
}

// wide says that quotients are two words.
func (n *nttWords) wide() bool { return n.ifma && !n.k52 }

// seen implements nttArith.
func (n *nttWords) seen(x value.Value) value.Value {
	n.note(n.largest, x, func(all, x value.Value) value.Value { return n.Call("llvm.umax", x.Type(), all, x) })
	return x
}

// fit implements nttArith.
func (n *nttWords) fit(p value.Value) value.Value {
	return n.Cur.NewICmp(enum.IPredULT, n.joint("umax", n.Cur.NewLoad(n.vector(), n.largest), build.I64), p)
}

// enter implements nttArith.
func (n *nttWords) enter(x value.Value) number { return number{x, 0, 1} }

// take takes multiples of p off a number that is too large to add to. With a table it is the multiple that the highest
// bits of the number choose: of the units of AMD that multiply, on which transforms wait, the minimum would
// take one.
func (n *nttWords) take(x number) number {
	if !n.ifma {
		return n.without(x, half(x.bound))
	}
	return n.look(x, n.table16, 0)
}

// look takes off the multiple in the table, which leaves low*p.
func (n *nttWords) look(x number, table [2]value.Value, low int) number {
	t := n.vector()
	f := n.Intrinsic("llvm.x86.avx512.vpermi2var.q.512", t, t, t, t)
	off := n.Cur.NewCall(f, table[0], n.Cur.NewLShr(x.v, n.index), table[1])
	return number{n.Cur.NewSub(x.v, off), low, low + n.taken()}
}

// center brings a number to where p can be added and taken off most often.
func (n *nttWords) center(x number) number {
	low := (n.Grow - n.taken()) / 2
	if x.bound-x.low <= n.taken() && x.low <= low {
		c := low - x.low
		return number{n.Cur.NewAdd(x.v, n.multiple[c]), low, x.bound + c}
	}
	return n.look(x, n.centered, low)
}

// taken is the bound of the result of take.
func (n *nttWords) taken() int { return 1 + max(1, n.Grow/8) }

// multiples makes the table of take: for i from 0 to 15 the multiple of p below i*g*2^b/16 that is nearest, where b is
// the number of bits of p and g is grow. What is left of a number between that and the next is below p + g*2^b/16.
func (n *nttWords) multiples(p value.Value) {
	bits := n.Cur.NewSub(build.Int(build.I64, 64-4+int64(bits.Len(uint(n.Grow)))-1),
		n.Cur.NewCall(n.Intrinsic("llvm.ctlz.i64", build.I64, build.I64, build.I1), p, constant.False))
	n.index = n.splat(bits)
	for h := range n.table16 {
		c := make([]constant.Constant, n.w)
		for i := range c {
			c[i] = build.Int(build.I64, int64(8*h+i))
		}
		x := n.Cur.NewShl(constant.NewVector(nil, c...), n.index)
		var rest value.Value = x
		for m := 16; m >= 1; m /= 2 {
			rest = n.umin(rest, n.Cur.NewSub(rest, n.splat(n.Cur.NewMul(p, build.Int(build.I64, int64(m))))))
		}
		n.table16[h] = n.Cur.NewSub(x, rest)
		n.centered[h] = n.Cur.NewSub(n.table16[h], n.multiple[(n.Grow-n.taken())/2])
	}
}

// lessen implements nttArith.
func (n *nttWords) lessen(x number, bound int) number {
	for x.bound > bound {
		x = n.take(x)
	}
	return x
}

// half is the power of two that leaves the lower bound when it is taken off.
func half(bound int) int {
	m := 1
	for 2*m < bound {
		m *= 2
	}
	return m
}

// without takes m*p off a number that is as large: m*p is below 2^63, so that the sign of the difference says whether
// it is. Only AVX-512 has minima of 64 bits.
func (n *nttWords) without(x number, m int) number {
	less := n.Cur.NewSub(x.v, n.multiple[m])
	bound := max(m, x.bound-m)
	if n.Machine.VectorBits >= 512 {
		return number{n.umin(x.v, less), 0, bound}
	}
	return number{n.Cur.NewSelect(n.Cur.NewICmp(enum.IPredSLT, less, n.num(0)), x.v, less), 0, bound}
}

func (n *nttWords) umin(x, y value.Value) value.Value { return n.Call("llvm.umin", n.vector(), x, y) }

// forward implements nttArith. With 52 bits the product less p, which costs nothing
// in a sum of products, is added and taken off: it is from -p to p, and nothing else has to be added.
func (n *nttWords) forward(pairs []nttPair) {
	for _, p := range pairs {
		*p.x, *p.y = n.forwardPair(*p.x, *p.y, p.f)
	}
}

func (n *nttWords) forwardPair(x, y number, f Factor) (number, number) {
	m := n.slack(f, y.bound)
	if n.k52 {
		t := n.lessP(y, f)
		if x.low < m-1 || x.bound+m-1 > n.Grow {
			x = n.center(x)
		}
		low, bound := x.low-m+1, x.bound+m-1
		return number{n.Cur.NewAdd(x.v, t), low, bound}, number{n.Cur.NewSub(x.v, t), low, bound}
	}
	q := n.quotient(y, f)
	for x.bound+m > n.Grow {
		x = n.take(x)
	}
	bound := x.bound + m
	t := n.Cur.NewAdd(n.Cur.NewMul(f.w, y.v), n.Cur.NewMul(q, n.neg))
	return number{n.Cur.NewAdd(x.v, t), 0, bound}, number{n.Cur.NewSub(n.Cur.NewAdd(x.v, n.multiple[m]), t), 0, bound}
}

// backward implements nttArith.
func (n *nttWords) backward(pairs []nttPair, last bool) {
	for _, p := range pairs {
		*p.x, *p.y = n.backwardPair(*p.x, *p.y, p.f, last)
	}
}

func (n *nttWords) backwardPair(x, y number, f Factor, last bool) (number, number) {
	for x.bound+y.bound > n.Grow {
		if x.bound >= y.bound {
			x = n.take(x)
		} else {
			y = n.take(y)
		}
	}
	bound := x.bound + y.bound
	sum := number{n.Cur.NewAdd(x.v, y.v), 0, bound}
	diff := number{n.Cur.NewSub(n.Cur.NewAdd(x.v, n.multiple[y.bound]), y.v), 0, bound}
	if last {
		return n.canonical(n.product(sum, n.scale)), n.canonical(n.product(diff, n.scaled))
	}
	return sum, n.product(diff, f)
}

// product is y*w modulo p.
func (n *nttWords) product(y number, f Factor) number {
	bound := n.slack(f, y.bound)
	q := n.quotient(y, f)
	if n.k52 {
		return number{n.mulLow(n.lower(f.w, y.v), q, n.neg), 0, bound}
	}
	return number{n.Cur.NewAdd(n.Cur.NewMul(f.w, y.v), n.Cur.NewMul(q, n.neg)), 0, bound}
}

// multiplied implements nttArith.
func (n *nttWords) multiplied(x number, w Factor) number { return n.product(x, w) }

// lessP is y*w - p modulo p, with 52 bits.
func (n *nttWords) lessP(y number, f Factor) value.Value {
	if n.Machine.Mul64 { // one more in the quotient is p less
		q := n.mulHigh(n.num(1), f.q, y.v)
		return n.mulLow(n.lower(f.w, y.v), q, n.neg)
	}
	q := n.quotient(y, f)
	return n.mulLow(n.mulLow(n.minusP, f.w, y.v), q, n.neg)
}

// lower is a number with the lower 52 bits of a product. A product that adds nothing leaves one of AMD's units alone:
// all instructions with three operands share one that reads the third, and stores of vectors need that for longer.
func (n *nttWords) lower(x, y value.Value) value.Value {
	if n.Machine.Mul64 {
		return n.Cur.NewMul(x, y)
	}
	return n.mulLow(n.num(0), x, y)
}

// slack is the bound of a product with a factor, for numbers below bound*p: see docs/modular-theory.md.
func (n *nttWords) slack(f Factor, bound int) int {
	switch {
	case n.k52 && (f.Exact || 2*bound <= n.Grow):
		return 2
	case n.k52:
		return 3
	case !n.ifma:
		return 8
	case f.Exact:
		return 4
	}
	return 4 + bound/4 // more than 3 + 3/4096 + 4*bound/16
}

// quotient is y*w/p, or a little less.
func (n *nttWords) quotient(y number, f Factor) value.Value {
	switch {
	case n.k52:
		return n.mulHigh(n.num(0), f.q, y.v)
	case n.ifma:
		return n.mulSplit(y.v, f.q, f.low)
	}
	return n.mulUpper(y.v, f.q, f.low)
}

// canonical implements nttArith.
func (n *nttWords) canonical(x number) number {
	if x.bound > n.taken() && n.ifma {
		x = n.take(x)
	}
	if n.k52 {
		x.v = n.Cur.NewAnd(x.v, n.num(1<<52-1))
	}
	for x.bound > 1 {
		x = n.without(x, half(x.bound))
	}
	return x
}

// withQuotient implements nttArith, with the quotient that the kind has: w with its highest place at that of p, times
// the reciprocal (Möller and Granlund, see modular.Modulus), is at most one too small. exact asks for no error where
// that can be had.
func (n *nttWords) withQuotient(w value.Value, exact bool) Factor {
	up := n.Cur.NewShl(w, n.shift)
	switch {
	case n.k52:
		q := n.mulHigh(up, up, n.v)
		if !exact && n.Grow >= 8 {
			return Factor{w: w, q: q}
		}
		rest := n.mulLow(n.num(0), q, n.neg) // w*2^52 - q*p, below 2p
		more := n.Cur.NewICmp(enum.IPredUGE, rest, n.multiple[1])
		return Factor{w: w, q: n.Cur.NewSelect(more, n.Cur.NewAdd(q, n.num(1)), q), Exact: true}
	case !n.ifma:
		q := n.Cur.NewAdd(up, n.mulUpper(up, n.v, n.Cur.NewLShr(n.v, n.num(32))))
		return n.parts(Factor{w: w, q: q})
	}
	divide := func(up value.Value) value.Value { // by p, times 2^64
		return n.Cur.NewAdd(up, n.mulSplit(up, n.vTop, n.vLow))
	}
	q := divide(up)
	if !exact {
		top, low := n.cuts()
		return Factor{w: w, q: n.Cur.NewLShr(q, n.num(top)), low: n.Cur.NewShl(q, n.num(low))}
	}
	q = n.Cur.NewLShr(q, n.num(12))
	rest := value.Value(n.Cur.NewAdd(n.Cur.NewShl(w, n.num(52)), n.Cur.NewMul(q, n.neg))) // w*2^52 - q*p, below 2p
	more := n.Cur.NewICmp(enum.IPredUGE, rest, n.multiple[1])
	q = n.Cur.NewSelect(more, n.Cur.NewAdd(q, n.num(1)), q)
	rest = n.umin(rest, n.Cur.NewSub(rest, n.multiple[1]))
	low := value.Value(n.Cur.NewLShr(divide(n.Cur.NewShl(rest, n.shift)), n.num(12)))
	if n.byHalves() {
		low = n.Cur.NewAdd(n.Cur.NewShl(q, n.num(32)), n.Cur.NewLShr(low, n.num(20)))
		q = n.Cur.NewLShr(q, n.num(20))
	}
	return Factor{w: w, q: q, low: low, Exact: true}
}

// parts sets the upper half of the quotients.
func (n *nttWords) parts(f Factor) Factor {
	if !n.ifma {
		f.low = n.Cur.NewLShr(f.q, n.num(32))
	}
	return f
}

// keep implements nttArith.
func (n *nttWords) keep(i value.Value, f Factor) {
	n.store(n.spare, i, f.q)
	if n.wide() {
		n.store(n.spare, n.Add(i, build.Int(build.I64, n.size/int64(n.w))), f.low)
	}
}

// shared implements nttArith.
func (n *nttWords) shared(i value.Value) Factor {
	f := Factor{w: n.all(n.table, i), q: n.all(n.spare, i), Exact: true}
	if n.wide() {
		f.low = n.all(n.spare, n.Add(i, build.Int(build.I64, n.size/int64(n.w))))
	}
	return n.parts(f)
}

// chosen implements nttArith.
func (n *nttWords) chosen(f Factor, places func(i int) int) Factor {
	f.w, f.q = n.places(f.w, places), n.places(f.q, places)
	if n.wide() {
		f.low = n.places(f.low, places)
	}
	return n.parts(f)
}

// mulSplit is the upper word of x times the number whose upper 52 bits are top and whose further ones are low, of which
// the first 12 count, or up to two less: three products, as x is cut at bit 52 and products of 52 bits take
// the lower part out of x by themselves.
//
// By halves, x is cut at bit 32, top has 32 bits and low the 52 behind them: the lower half of x, moved up, is what a
// product of 52 bits takes, and the product of the upper halves is one instruction instead of the three of a word's.
func (n *nttWords) mulSplit(x, top, low value.Value) value.Value {
	if n.byHalves() {
		high, half := n.Cur.NewLShr(x, n.num(32)), n.num(1<<32-1)
		product := n.Cur.NewMul(high, n.Cur.NewAnd(top, half))
		return n.mulHigh(n.mulHigh(product, high, low), n.Cur.NewShl(x, n.num(20)), top)
	}
	high := n.Cur.NewLShr(x, n.num(52))
	return n.mulHigh(n.mulHigh(n.Cur.NewMul(high, top), x, top), high, low)
}

// byHalves says that mulSplit cuts at bit 32.
func (n *nttWords) byHalves() bool { return n.wide() && n.Machine.Profile.NTT.Alike != 0 }

// cuts are how far a number of 64 bits is moved down and up to be both parts for mulSplit, of which products read no
// bits above the first 52.
func (n *nttWords) cuts() (top, low int64) {
	if n.byHalves() {
		return 32, 20
	}
	return 12, 40
}

// mulUpper is the upper word of x*y, or up to two less: the product of the lower halves and the carries between
// the others are left out. top is y >> 32.
func (n *nttWords) mulUpper(x, y, top value.Value) value.Value {
	b := n.Cur
	half, low := n.num(32), n.num(1<<32-1)
	xh := b.NewLShr(x, half)
	xl, yl := b.NewAnd(x, low), b.NewAnd(y, low)
	a := b.NewLShr(b.NewMul(xl, top), half)
	c := b.NewLShr(b.NewMul(xh, yl), half)
	return b.NewAdd(b.NewAdd(b.NewMul(xh, top), a), c)
}

// mulLow is z plus the lower 52 bits of the product of the lower 52 bits of x and y, mulHigh z plus the upper ones.
func (n *nttWords) mulLow(z, x, y value.Value) value.Value { return n.fma52("l", z, x, y) }

func (n *nttWords) mulHigh(z, x, y value.Value) value.Value { return n.fma52("h", z, x, y) }

func (n *nttWords) fma52(part string, z, x, y value.Value) value.Value {
	t := n.vector()
	f := n.Intrinsic("llvm.x86.avx512.vpmadd52"+part+".uq.512", t, t, t, t)
	return n.Cur.NewCall(f, z, x, y)
}

// genSink lets the expansions of package scalar write into a function.
type genSink struct{ g *emit.Func }

func (s *genSink) TypeOf(r kernel.Ref) types.DType { return s.g.Types[r] }

// Emit implements scalar.Sink.
func (s *genSink) Emit(in scalar.Instr) kernel.Ref {
	r := kernel.Ref(len(s.g.Types))
	s.g.Types, s.g.Env = append(s.g.Types, in.Type), append(s.g.Env, emit.Val{})
	s.g.Let(&kernel.Let{ID: r, In: in})
	return r
}

// param names a value.
func (s *genSink) param(t types.DType, v value.Value) kernel.Ref {
	r := kernel.Ref(len(s.g.Types))
	s.g.Types, s.g.Env = append(s.g.Types, t), append(s.g.Env, emit.Val{V: v})
	return r
}
