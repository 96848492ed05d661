package llvm

import (
	"math"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"
)

// nttDoubles is the arithmetic of transforms on vectors of doubles, see Note [Transforms]: numbers are whole and have
// either sign, and a fused multiply-add gives what a product rounds away. docs/modular.md has the bounds, for p below
// 2^50. Their unit is the multiple of 2^32 from p on: only the upper halves of what comes in are looked at, and what is
// below that unit is as good as a residue.
//
// On AMD's processors two pipes multiply, and two others add and round: a pair takes four instructions of either kind.
type nttDoubles struct {
	*ntt
	p, byP  value.Value // p and 1/p
	integer value.Value // p as an integer
	// where the largest of the upper halves of all integers seen is kept, for each place of a vector
	largest value.Value
	scale   factor
	scaled  factor // the factor of the last stage of the inverse, times scale
}

// nttOne is the unit of the bounds of doubles.
const nttOne = 256

// constants implements nttArith.
func (n *nttDoubles) constants(p, scale value.Value) {
	n.integer = n.splat(p)
	x := n.cur.NewSIToFP(p, lt.Double)
	n.p, n.byP = n.splat(x), n.splat(n.cur.NewFDiv(fromBits(lt.Double, math.Float64bits(1)), x))
	n.largest = n.notes(splatConst(ci(i32, 0), 2*n.w))
	if n.inverse {
		n.scale = n.withQuotient(n.splat(scale), true)
		w := n.product(n.enter(n.all(n.table, ci(i64, 1))), n.scale)
		n.scaled = n.exactly(n.lessen(w, 0))
	}
}

// float is a constant.
func (n *nttDoubles) float(x float64) value.Value {
	return splatConst(fromBits(lt.Double, math.Float64bits(x)), n.w)
}

func (n *nttDoubles) cast(x value.Value, t lt.Type) value.Value {
	return n.cur.NewBitCast(x, vec(t, n.w))
}

// seen implements nttArith: the upper halves of integers are looked at, of which there is a maximum in one instruction.
func (n *nttDoubles) seen(x value.Value) value.Value {
	n.note(n.largest, n.cur.NewBitCast(x, vec(i32, 2*n.w)), func(all, x value.Value) value.Value {
		return n.call("llvm.umax", x.Type(), all, x)
	})
	return x
}

// fit implements nttArith.
func (n *nttDoubles) fit(p value.Value) value.Value {
	upper := n.cur.NewLShr(n.cur.NewBitCast(n.cur.NewLoad(vec(i32, 2*n.w), n.largest), n.vector()), n.num(32))
	return n.cur.NewICmp(enum.IPredULE, n.joint("umax", upper, i64),
		n.cur.NewLShr(n.cur.NewSub(p, ci(i64, 1)), ci(i64, 32)))
}

// enter implements nttArith: below 2^52 an integer is the fraction of a double from 2^52 on.
func (n *nttDoubles) enter(x value.Value) number {
	const high = 1 << 52
	shifted := n.cur.NewOr(x, n.num(int64(math.Float64bits(high))))
	y := n.cur.NewFSub(n.cast(shifted, lt.Double), n.float(high))
	return number{y, 0, n.one}
}

// canonical implements nttArith.
func (n *nttDoubles) canonical(x number) number {
	if x.bound >= n.one {
		x = n.lessen(x, 0)
	}
	// Numbers of either sign are the fraction of a double around 3 * 2^51. None is -0, so that the sign says which are
	// below 0.
	const middle = 3 << 51
	bits := int64(math.Float64bits(middle))
	negative := n.cur.NewICmp(enum.IPredSLT, n.cast(x.v, i64), n.num(0))
	up := n.cur.NewSelect(negative, n.cur.NewSub(n.integer, n.num(bits)), n.num(-bits))
	return number{n.cur.NewAdd(n.cast(n.cur.NewFAdd(x.v, n.float(middle)), i64), up), 0, n.one}
}

func (n *nttDoubles) mulAdd(x, y, z value.Value) value.Value {
	return n.call("llvm.fma", x.Type(), x, y, z)
}

func (n *nttDoubles) round(x value.Value) value.Value { return n.call("llvm.roundeven", x.Type(), x) }

// less is x - q*p.
func (n *nttDoubles) less(x, q value.Value) value.Value {
	minus := lir.NewFNeg(q)
	n.cur.Insts = append(n.cur.Insts, minus)
	return n.mulAdd(minus, n.p, x)
}

// signed is a number of either sign.
func (n *nttDoubles) signed(x value.Value, bound int) number { return number{x, -bound, bound} }

// lessen implements nttArith. It leaves p/2, or a little more, whatever is asked for.
func (n *nttDoubles) lessen(x number, bound int) number {
	if x.bound <= bound {
		return x
	}
	return n.signed(n.less(x.v, n.round(n.cur.NewFMul(x.v, n.byP))), n.one/2+1)
}

// product is y*w modulo p.
func (n *nttDoubles) product(y number, f factor) number {
	return n.products([]number{y}, []factor{f})[0]
}

// products are products, an instruction of each in turns: what waits for another then does so for a shorter time in the
// processor's schedulers.
func (n *nttDoubles) products(y []number, f []factor) []number {
	q, high, low := make([]value.Value, len(y)), make([]value.Value, len(y)), make([]value.Value, len(y))
	for i, y := range y {
		q[i] = n.cur.NewFMul(y.v, f[i].q)
	}
	for i, y := range y {
		high[i] = n.cur.NewFMul(y.v, f[i].w)
	}
	for i := range y {
		q[i] = n.round(q[i])
	}
	for i, y := range y {
		minus := lir.NewFNeg(high[i])
		n.cur.Insts = append(n.cur.Insts, minus)
		low[i] = n.mulAdd(y.v, f[i].w, minus)
	}
	for i := range y {
		high[i] = n.less(high[i], q[i])
	}
	t := make([]number, len(y))
	for i, y := range y {
		t[i] = n.signed(n.cur.NewFAdd(high[i], low[i]), n.slack(f[i], y.bound))
	}
	return t
}

// multiplied implements nttArith.
func (n *nttDoubles) multiplied(x number, w factor) number { return n.product(x, w) }

// slack is the bound of a product: half of p and, for each unit in the last place of p/2^53 that the quotient may be
// wrong, as much as that is of y*w.
func (n *nttDoubles) slack(f factor, bound int) int {
	units := 3
	if f.exact {
		units = 2
	}
	return n.one/2 + 1 + (units*bound*f.most+8*n.one-1)/(8*n.one)
}

// forward implements nttArith.
func (n *nttDoubles) forward(pairs []nttPair) {
	var y []number
	var f []factor
	for _, p := range pairs {
		y, f = append(y, *p.y), append(f, p.f)
	}
	t := n.products(y, f)
	for i, p := range pairs {
		x := *p.x
		if x.bound+t[i].bound > n.grow {
			x = n.lessen(x, 0)
		}
		bound := x.bound + t[i].bound
		*p.x, *p.y = n.signed(n.cur.NewFAdd(x.v, t[i].v), bound), n.signed(n.cur.NewFSub(x.v, t[i].v), bound)
	}
}

// backward implements nttArith.
func (n *nttDoubles) backward(pairs []nttPair, last bool) {
	most := n.grow
	if last { // their products are below p then, and need no further reduction
		for n.slack(n.scaled, most) >= n.one {
			most--
		}
	}
	var sums, diffs []number
	var f []factor
	for _, p := range pairs {
		x, y := *p.x, *p.y
		for x.bound+y.bound > most {
			if x.bound >= y.bound {
				x = n.lessen(x, 0)
			} else {
				y = n.lessen(y, 0)
			}
		}
		bound := x.bound + y.bound
		sums, diffs = append(sums, n.signed(n.cur.NewFAdd(x.v, y.v), bound)),
			append(diffs, n.signed(n.cur.NewFSub(x.v, y.v), bound))
		f = append(f, p.f)
	}
	if !last {
		for i, t := range n.products(diffs, f) {
			*pairs[i].x, *pairs[i].y = sums[i], t
		}
		return
	}
	for i, p := range pairs {
		*p.x, *p.y = n.canonical(n.product(sums[i], n.scale)), n.canonical(n.product(diffs[i], n.scaled))
	}
}

// withQuotient implements nttArith.
func (n *nttDoubles) withQuotient(w value.Value, exact bool) factor {
	x := n.enter(w)
	if !exact {
		return factor{w: x.v, q: n.cur.NewFMul(x.v, n.byP), most: n.one}
	}
	return n.exactly(n.lessen(x, 0))
}

// exactly is a factor with the quotient that is nearest, or next to it.
func (n *nttDoubles) exactly(w number) factor {
	q := n.cur.NewFMul(w.v, n.byP)
	return factor{w: w.v, q: n.mulAdd(n.less(w.v, q), n.byP, q), exact: true, most: w.bound}
}

// keep implements nttArith.
func (n *nttDoubles) keep(i value.Value, f factor) {
	n.store(n.spare, i, f.w)
	n.store(n.spare, n.plus(i, ci(i64, n.size/int64(n.w))), f.q)
}

// shared implements nttArith.
func (n *nttDoubles) shared(i value.Value) factor {
	w := n.cast(n.all(n.spare, i), lt.Double)
	q := n.cast(n.all(n.spare, n.plus(i, ci(i64, n.size/int64(n.w)))), lt.Double)
	return factor{w: w, q: q, exact: true, most: n.one/2 + 1}
}

// chosen implements nttArith.
func (n *nttDoubles) chosen(f factor, places func(i int) int) factor {
	f.w, f.q = n.places(f.w, places), n.places(f.q, places)
	return f
}
