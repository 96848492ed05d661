package ntt

import (
	"math"
	"slices"

	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
)

// nttHalves is the arithmetic of transforms on vectors of 64-bit integers for p from 2^50 to 2^60 where processors
// multiply 32 bits, see Note [Transforms]. With y = y1 2^32 + y0 a product is y1 w1 + y0 w, where w1 is w 2^32 modulo
// p: less than 2^93, so that the quotient by 2p has 32 bits and takes two products, and the multiple of 2p two more.
// What is left of it all is from -3p to 3p, both left out: docs/modular-theory.md.
//
// Modulo 2^64 of the upper halves of factors only a lower word counts, which belongs into the upper half of the result:
// products of 32-bit words where they stand, with factors whose lower halves are 0, put it there without a shift.
//
// y has to be from 0 to 15/16 of 2^64. So numbers of the forward transform, x + t and x - t, are in memory what they
// are and a multiple of p, middle, that is nearly 2^63: its highest bit says whether one is below or above. In the
// inverse, where x + y would count middle twice, numbers are around 0, and it is added before products.
// Bounds are the distance from 2^63 or from 0.
type nttHalves struct {
	*Ntt
	p             value.Value
	pTop          value.Value // p >> 32
	twoP          value.Value // 2p
	twoPTop       value.Value // its upper half, where it is
	middle        value.Value // the largest multiple of p that is at most 2^63
	begin         value.Value // added to integers below 2^52 makes doubles of them, from 2^52 on
	near, below   nttQuotient // near is x 2^40/p for such an integer x, rounded, below x 2^41/p, rounded down
	scale, scaled Factor      // of the last stage of the inverse
	wrong         value.Value // address of words whose highest bit is set where a number seen was no residue
	// address of words with NttUnits in their upper halves if all quotients of factors had 32 bits
	quotients value.Value
}

// nttQuotient is a factor for the double of an integer, and a summand for the product.
type nttQuotient struct{ by, end value.Value }

// NttUnits is where the last place of doubles is 1.
const NttUnits = 1 << 52

// nttUpper is the rest of a factor of nttHalves besides w, and q = w 2^31/p in its lower half: next = w 2^32 modulo p,
// its quotient, and the upper halves of w and next where they are.
type nttUpper struct{ next, q, top, nextTop value.Value }

// constants implements nttArith.
func (n *nttHalves) constants(p, scale value.Value) {
	b := n.Cur
	n.p, n.pTop = n.splat(p), n.splat(b.NewLShr(p, build.Int(build.I64, 32)))
	n.twoP = n.splat(b.NewShl(p, build.Int(build.I64, 1)))
	n.twoPTop = n.top(n.twoP)
	n.middle = n.splat(b.NewMul(p, b.NewUDiv(build.Int(build.I64, math.MinInt64), p)))
	float := func(x float64) value.Value { return build.FromBits(lt.Double, math.Float64bits(x)) }
	by := b.NewFDiv(float(1<<40-1.0/1024), b.NewUIToFP(p, lt.Double)) // 2^-51 to 2^-49 of it less than 2^40/p
	// The 2^52 of a double, and some more, times that are nearly a whole number, which is taken off again.
	units := b.NewFMul(by, float(NttUnits))
	whole := b.NewFAdd(n.Call("llvm.floor", lt.Double, units), float(2))
	more := b.NewSub(b.NewFPToSI(b.NewFDiv(b.NewFSub(whole, units), by), build.I64), build.Int(build.I64, 1))
	n.begin = n.splat(b.NewAdd(more, build.Int(build.I64, int64(math.Float64bits(NttUnits)))))
	quotient := func(times, units float64) nttQuotient {
		return nttQuotient{n.splat(b.NewFMul(by, float(times))),
			n.splat(b.NewFSub(float(units), b.NewFMul(whole, float(times))))}
	}
	n.near, n.below = quotient(1, NttUnits), quotient(2, NttUnits-0.5)
	n.quotients = n.notes(n.num(0))
	n.wrong = n.notes(n.num(0))
	if n.inverse {
		n.scale = n.withQuotient(n.splat(scale), true)
		w := n.product(n.enter(n.all(n.table, build.Int(build.I64, 1))), n.scale)
		n.scaled = n.withQuotient(n.canonical(w).v, true)
	}
}

// seen implements nttArith: from 0 to p-1 both x and p-1-x have the highest bit clear.
func (n *nttHalves) seen(x value.Value) value.Value {
	n.note(n.wrong, x, func(all, x value.Value) value.Value {
		return n.Cur.NewOr(n.Cur.NewOr(all, x), n.Cur.NewSub(n.Cur.NewSub(n.p, n.num(1)), x))
	})
	return x
}

// fit implements nttArith.
func (n *nttHalves) fit(value.Value) value.Value {
	residues := n.Cur.NewICmp(enum.IPredSGE, n.joint("or", n.Cur.NewLoad(n.vector(), n.wrong), build.I64),
		build.Int(build.I64, 0))
	quotients := n.Cur.NewLShr(n.joint("or", n.Cur.NewLoad(n.vector(), n.quotients), build.I64),
		build.Int(build.I64, 32))
	return n.Cur.NewAnd(residues, n.Cur.NewICmp(enum.IPredEQ, quotients,
		build.Int(build.I64, int64(math.Float64bits(NttUnits)>>32))))
}

// around is a number that is not so far from the middle.
func (n *nttHalves) around(x value.Value, bound int) number { return number{x, -bound, bound} }

// enter implements nttArith.
func (n *nttHalves) enter(x value.Value) number {
	if !n.inverse {
		x = n.Cur.NewAdd(x, n.middle)
	}
	return n.around(x, 1)
}

// toward adds up times p to a number below the middle, which is 0 or 2^63, and takes down times p off others, and less
// off all.
func (n *nttHalves) toward(x value.Value, at0 bool, up, down int, less value.Value) value.Value {
	c := func(m int) value.Value {
		y := value.Value(n.Cur.NewMul(n.p, n.num(int64(m))))
		if less != nil {
			y = n.Cur.NewSub(y, less)
		}
		return y
	}
	yes, no := c(up), c(-down)
	if !at0 {
		yes, no = no, yes
	}
	return n.Cur.NewAdd(x, n.Cur.NewSelect(n.Cur.NewICmp(enum.IPredSLT, x, n.num(0)), yes, no))
}

// lessen implements nttArith: half of the bound is left.
func (n *nttHalves) lessen(x number, bound int) number {
	for x.bound > max(bound, 1) {
		m := (x.bound + 1) / 2
		x = n.around(n.toward(x.v, n.inverse, m, m, nil), m)
	}
	return x
}

// canonical implements nttArith. In the forward transform the middle goes first, of which 2^63 is less than p above,
// and leaves no number below 0: then a difference is what says by its sign whether it is taken. LLVM would make a
// comparison of what adds p to a number below 0.
func (n *nttHalves) canonical(x number) number {
	if !n.inverse {
		x = number{n.toward(x.v, false, x.bound, 0, n.middle), 0, x.bound + 1}
		for x.bound > 1 {
			m := (x.bound + 1) / 2
			less := n.Cur.NewSub(x.v, n.Cur.NewMul(n.p, n.num(int64(m))))
			x = number{n.Cur.NewSelect(n.Cur.NewICmp(enum.IPredSLT, less, n.num(0)), x.v, less), 0, m}
		}
		return x
	}
	x = n.lessen(x, 1)
	negative := n.Cur.NewICmp(enum.IPredSLT, x.v, n.num(0))
	return number{n.Cur.NewSelect(negative, n.Cur.NewAdd(x.v, n.p), x.v), 0, 1}
}

// lower is the product of the lower halves.
func (n *nttHalves) lower(x, y value.Value) value.Value {
	low := n.num(1<<32 - 1)
	return n.Cur.NewMul(n.Cur.NewAnd(x, low), n.Cur.NewAnd(y, low))
}

// words are the halves of x.
func (n *nttHalves) words(x value.Value) value.Value {
	return n.Cur.NewBitCast(x, build.Vector(build.I32, 2*n.w))
}

// upper is the lower word of the product of the upper halves, where these are; y has nothing else.
func (n *nttHalves) upper(x, y value.Value) value.Value {
	return n.Cur.NewBitCast(n.Cur.NewMul(n.words(x), n.words(y)), n.vector())
}

// top is x without its lower half.
func (n *nttHalves) top(x value.Value) value.Value { return n.Cur.NewAnd(x, n.num(-1<<32)) }

// swapped is x with its halves in each other's place.
func (n *nttHalves) swapped(x value.Value) value.Value {
	return n.Cur.NewBitCast(n.Permute(n.words(x), 2*n.w, func(i int) int { return i ^ 1 }), n.vector())
}

// product is y*w modulo p.
func (n *nttHalves) product(y number, f Factor) number {
	b, low := n.Cur, y.v
	if n.inverse {
		low = b.NewAdd(low, n.middle)
	}
	high := n.swapped(low)
	q := b.NewAdd(n.lower(high, f.upper.q), n.lower(low, f.q))
	l := b.NewSub(b.NewAdd(n.lower(high, f.upper.next), n.lower(low, f.w)), n.lower(b.NewLShr(q, n.num(32)), n.twoP))
	h := b.NewSub(b.NewAdd(n.upper(low, f.upper.nextTop), n.upper(high, f.upper.top)), n.upper(q, n.twoPTop))
	return number{b.NewAdd(l, h), -NttHalvesProduct, NttHalvesProduct}
}

// multiplied implements nttArith.
func (n *nttHalves) multiplied(x number, w Factor) number {
	x = n.product(x, w)
	if !n.inverse {
		x.v = n.Cur.NewAdd(x.v, n.middle)
	}
	return x
}

// NttHalvesProduct is the bound of a product.
const NttHalvesProduct = 3

// forward implements nttArith.
func (n *nttHalves) forward(pairs []nttPair) {
	for _, p := range pairs {
		*p.x, *p.y = n.forwardPair(*p.x, *p.y, p.f)
	}
}

func (n *nttHalves) forwardPair(x, y number, f Factor) (number, number) {
	t := n.product(y, f)
	x = n.lessen(x, n.Grow-t.bound)
	bound := x.bound + t.bound
	return n.around(n.Cur.NewAdd(x.v, t.v), bound), n.around(n.Cur.NewSub(x.v, t.v), bound)
}

// backward implements nttArith.
func (n *nttHalves) backward(pairs []nttPair, last bool) {
	for _, p := range pairs {
		*p.x, *p.y = n.backwardPair(*p.x, *p.y, p.f, last)
	}
}

func (n *nttHalves) backwardPair(x, y number, f Factor, last bool) (number, number) {
	for x.bound+y.bound > n.Grow {
		if x.bound >= y.bound {
			x = n.lessen(x, x.bound-1)
		} else {
			y = n.lessen(y, y.bound-1)
		}
	}
	bound := x.bound + y.bound
	sum, diff := n.around(n.Cur.NewAdd(x.v, y.v), bound), n.around(n.Cur.NewSub(x.v, y.v), bound)
	if last {
		return n.canonical(n.product(sum, n.scale)), n.canonical(n.product(diff, n.scaled))
	}
	return sum, n.product(diff, f)
}

// withQuotient implements nttArith. The quotients come from doubles, of the first 52 bits of 60 or 61. w 2^32/p is
// rounded down, and never up, so that next is from 0 to p and a little more, and half of it up: docs/modular-theory.md.
func (n *nttHalves) withQuotient(w value.Value, _ bool) Factor {
	b := n.Cur
	units := build.SplatConst(build.FromBits(lt.Double, math.Float64bits(NttUnits)), n.w)
	down := n.quotient(w, n.below)
	down = b.NewSelect(b.NewFCmp(enum.FPredOGT, down, units), down, units) // below 2^52 the units are no last places
	q := b.NewBitCast(down, n.vector())
	n.note(n.quotients, q, func(all, x value.Value) value.Value { return n.Cur.NewOr(all, x) })
	next := b.NewSub(b.NewShl(b.NewSub(w, n.lower(q, n.pTop)), n.num(32)), n.lower(q, n.p))
	return n.parts(Factor{w: w, q: b.NewAdd(b.NewLShr(q, n.num(1)), n.num(1)), Exact: true,
		upper: nttUpper{next: next, q: b.NewBitCast(n.quotient(next, n.near), n.vector())}})
}

// quotient is the quotient by q of the first 52 bits of 61, in its lower half.
func (n *nttHalves) quotient(x value.Value, q nttQuotient) value.Value {
	t := build.Vector(lt.Double, n.w)
	d := n.Cur.NewBitCast(n.Cur.NewAdd(n.Cur.NewLShr(x, n.num(9)), n.begin), t)
	return n.Call("llvm.fma", t, d, q.by, q.end)
}

// parts sets the upper halves.
func (n *nttHalves) parts(f Factor) Factor {
	f.upper.top, f.upper.nextTop = n.top(f.w), n.top(f.upper.next)
	return f
}

// nttHalvesParts is how many vectors make a factor.
const nttHalvesParts = 4

// unpacked is what makes factors, and packed the factors again.
func (n *nttHalves) unpacked(factors []Factor) []value.Value {
	var parts []value.Value
	for _, f := range factors {
		parts = append(parts, f.w, f.q, f.upper.next, f.upper.q)
	}
	return parts
}

func (n *nttHalves) packed(parts []value.Value) []Factor {
	var factors []Factor
	for v := range slices.Chunk(parts, nttHalvesParts) {
		factors = append(factors, n.parts(Factor{w: v[0], q: v[1], Exact: true, upper: nttUpper{next: v[2], q: v[3]}}))
	}
	return factors
}

// second is where the second word of factor i is in the spare memory; its upper half is the quotient of next.
func (n *nttHalves) second(i value.Value) value.Value {
	return n.Add(i, build.Int(build.I64, n.size/int64(n.w)))
}

// keep implements nttArith.
func (n *nttHalves) keep(i value.Value, f Factor) {
	n.store(n.spare, i, f.upper.next)
	q := n.Cur.NewOr(n.Cur.NewShl(f.upper.q, n.num(32)), n.Cur.NewAnd(f.q, n.num(1<<32-1)))
	n.store(n.spare, n.second(i), q)
}

// shared implements nttArith. Only one half of a quotient counts, but it is spread to both: LLVM makes less of products
// of halves when it knows no longer that one is a number of 32 bits.
func (n *nttHalves) shared(i value.Value) Factor {
	quotients := n.Cur.NewBitCast(n.Cur.NewGetElementPtr(build.I64, n.spare, n.second(i)), lt.NewPointer(build.I32))
	half := func(i int64) value.Value {
		t := build.Vector(build.I32, 2*n.w)
		one := n.Cur.NewInsertElement(constant.NewUndef(t), n.Cur.NewLoad(build.I32,
			n.Cur.NewGetElementPtr(build.I32, quotients, build.Int(build.I64, i))), build.Int(build.I32, 0))
		return n.Cur.NewBitCast(n.Cur.NewShuffleVector(one, constant.NewUndef(t), constant.NewZeroInitializer(t)),
			n.vector())
	}
	return n.parts(Factor{w: n.all(n.table, i), q: half(0), Exact: true,
		upper: nttUpper{next: n.all(n.spare, i), q: half(1)}})
}

// chosen implements nttArith.
func (n *nttHalves) chosen(f Factor, places func(i int) int) Factor {
	for _, x := range []*value.Value{&f.w, &f.q, &f.upper.next, &f.upper.q} {
		*x = n.places(*x, places)
	}
	return n.parts(f)
}
