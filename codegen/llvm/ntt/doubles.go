package ntt

import (
	"math"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
)

// NttDoubles is the arithmetic of transforms on vectors of doubles, see Note [Transforms]: numbers are whole and have
// either sign, and a fused multiply-add gives what a product rounds away. docs/modular-theory.md has the bounds, for p
// below 2^50. Their unit is the multiple of 2^32 from p on: only the upper halves of integers that come in are looked
// at, and an integer below that unit is as good as a residue.
//
// On AMD's processors two pipes multiply, and two others add and round: a pair takes four instructions of either kind.
type NttDoubles struct {
	*Ntt
	p, byP  value.Value // p and 1/p
	integer value.Value // p as an integer
	// where the largest of the upper halves of all integers seen is kept, for each place of a vector
	largest value.Value
	scale   Factor
	scaled  Factor // the factor of the last stage of the inverse, times scale
}

// NttOne is the unit of the bounds of doubles.
const NttOne = 256

// constants implements nttArith.
func (n *NttDoubles) constants(p, scale value.Value) {
	n.integer = n.splat(p)
	x := n.Cur.NewSIToFP(p, lt.Double)
	n.p, n.byP = n.splat(x), n.splat(n.Cur.NewFDiv(build.FromBits(lt.Double, math.Float64bits(1)), x))
	n.largest = n.notes(build.SplatConst(build.Int(build.I32, 0), 2*n.w))
	if n.inverse {
		n.scale = n.withQuotient(n.splat(scale), true)
		w := n.product(n.enter(n.all(n.table, build.Int(build.I64, 1))), n.scale)
		n.scaled = n.exactly(n.lessen(w, 0))
	}
}

// float is a constant.
func (n *NttDoubles) float(x float64) value.Value {
	return build.SplatConst(build.FromBits(lt.Double, math.Float64bits(x)), n.w)
}

func (n *NttDoubles) cast(x value.Value, t lt.Type) value.Value {
	return n.Cur.NewBitCast(x, build.Vector(t, n.w))
}

// seen implements nttArith: the upper halves of integers are looked at, of which there is a maximum in one instruction.
func (n *NttDoubles) seen(x value.Value) value.Value {
	n.note(n.largest, n.Cur.NewBitCast(x, build.Vector(build.I32, 2*n.w)), func(all, x value.Value) value.Value {
		return n.Call("llvm.umax", x.Type(), all, x)
	})
	return x
}

// fit implements nttArith.
func (n *NttDoubles) fit(p value.Value) value.Value {
	upper := n.Cur.NewLShr(n.Cur.NewBitCast(n.Cur.NewLoad(build.Vector(build.I32, 2*n.w), n.largest), n.vector()),
		n.num(32))
	return n.Cur.NewICmp(enum.IPredULE, n.joint("umax", upper, build.I64),
		n.Cur.NewLShr(n.Cur.NewSub(p, build.Int(build.I64, 1)), build.Int(build.I64, 32)))
}

// enter implements nttArith: below 2^52 an integer is the fraction of a double from 2^52 on.
func (n *NttDoubles) enter(x value.Value) number {
	const high = 1 << 52
	shifted := n.Cur.NewOr(x, n.num(int64(math.Float64bits(high))))
	y := n.Cur.NewFSub(n.cast(shifted, lt.Double), n.float(high))
	return number{y, 0, n.One}
}

// canonical implements nttArith.
func (n *NttDoubles) canonical(x number) number {
	if x.bound >= n.One {
		x = n.lessen(x, 0)
	}
	// Numbers of either sign are the fraction of a double around 3 * 2^51. None is -0, so that the sign says which are
	// below 0.
	const middle = 3 << 51
	bits := int64(math.Float64bits(middle))
	negative := n.Cur.NewICmp(enum.IPredSLT, n.cast(x.v, build.I64), n.num(0))
	up := n.Cur.NewSelect(negative, n.Cur.NewSub(n.integer, n.num(bits)), n.num(-bits))
	return number{n.Cur.NewAdd(n.cast(n.Cur.NewFAdd(x.v, n.float(middle)), build.I64), up), 0, n.One}
}

func (n *NttDoubles) mulAdd(x, y, z value.Value) value.Value {
	return n.Call("llvm.fma", x.Type(), x, y, z)
}

func (n *NttDoubles) round(x value.Value) value.Value { return n.Call("llvm.roundeven", x.Type(), x) }

// less is x - q*p.
func (n *NttDoubles) less(x, q value.Value) value.Value {
	minus := lir.NewFNeg(q)
	n.Cur.Insts = append(n.Cur.Insts, minus)
	return n.mulAdd(minus, n.p, x)
}

// signed is a number of either sign.
func (n *NttDoubles) signed(x value.Value, bound int) number { return number{x, -bound, bound} }

// lessen implements nttArith. It leaves p/2, or a little more, whatever is asked for.
func (n *NttDoubles) lessen(x number, bound int) number {
	if x.bound <= bound {
		return x
	}
	return n.signed(n.less(x.v, n.round(n.Cur.NewFMul(x.v, n.byP))), n.One/2+1)
}

// product is y*w modulo p.
func (n *NttDoubles) product(y number, f Factor) number {
	return n.products([]number{y}, []Factor{f})[0]
}

// products are products, with their instructions in turns: an instruction that waits for another then does so for a
// shorter time in the processor's schedulers.
func (n *NttDoubles) products(y []number, f []Factor) []number {
	q, high, low := make([]value.Value, len(y)), make([]value.Value, len(y)), make([]value.Value, len(y))
	for i, y := range y {
		q[i] = n.Cur.NewFMul(y.v, f[i].q)
	}
	for i, y := range y {
		high[i] = n.Cur.NewFMul(y.v, f[i].w)
	}
	for i := range y {
		q[i] = n.round(q[i])
	}
	for i, y := range y {
		minus := lir.NewFNeg(high[i])
		n.Cur.Insts = append(n.Cur.Insts, minus)
		low[i] = n.mulAdd(y.v, f[i].w, minus)
	}
	for i := range y {
		high[i] = n.less(high[i], q[i])
	}
	t := make([]number, len(y))
	for i, y := range y {
		t[i] = n.signed(n.Cur.NewFAdd(high[i], low[i]), n.Slack(f[i], y.bound))
	}
	return t
}

// multiplied implements nttArith.
func (n *NttDoubles) multiplied(x number, w Factor) number { return n.product(x, w) }

// Slack is the bound of a product: half of p and, for each unit in the last place of p/2^53 that the quotient may be
// wrong, as much as that is of y*w.
func (n *NttDoubles) Slack(f Factor, bound int) int {
	units := 3
	if f.Exact {
		units = 2
	}
	return n.One/2 + 1 + (units*bound*f.Most+8*n.One-1)/(8*n.One)
}

// forward implements nttArith.
func (n *NttDoubles) forward(pairs []nttPair) {
	var y []number
	var f []Factor
	for _, p := range pairs {
		y, f = append(y, *p.y), append(f, p.f)
	}
	t := n.products(y, f)
	for i, p := range pairs {
		x := *p.x
		if x.bound+t[i].bound > n.Grow {
			x = n.lessen(x, 0)
		}
		bound := x.bound + t[i].bound
		*p.x, *p.y = n.signed(n.Cur.NewFAdd(x.v, t[i].v), bound), n.signed(n.Cur.NewFSub(x.v, t[i].v), bound)
	}
}

// backward implements nttArith.
func (n *NttDoubles) backward(pairs []nttPair, last bool) {
	most := n.Grow
	if last { // their products are below p then, and need no further reduction
		for n.Slack(n.scaled, most) >= n.One {
			most--
		}
	}
	var sums, diffs []number
	var f []Factor
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
		sums, diffs = append(sums, n.signed(n.Cur.NewFAdd(x.v, y.v), bound)),
			append(diffs, n.signed(n.Cur.NewFSub(x.v, y.v), bound))
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
func (n *NttDoubles) withQuotient(w value.Value, exact bool) Factor {
	x := n.enter(w)
	if !exact {
		return Factor{w: x.v, q: n.Cur.NewFMul(x.v, n.byP), Most: n.One}
	}
	return n.exactly(n.lessen(x, 0))
}

// exactly is a factor with the quotient that is nearest, or next to it.
func (n *NttDoubles) exactly(w number) Factor {
	q := n.Cur.NewFMul(w.v, n.byP)
	return Factor{w: w.v, q: n.mulAdd(n.less(w.v, q), n.byP, q), Exact: true, Most: w.bound}
}

// keep implements nttArith.
func (n *NttDoubles) keep(i value.Value, f Factor) {
	n.store(n.spare, i, f.w)
	n.store(n.spare, n.Add(i, build.Int(build.I64, n.size/int64(n.w))), f.q)
}

// shared implements nttArith.
func (n *NttDoubles) shared(i value.Value) Factor {
	w := n.cast(n.all(n.spare, i), lt.Double)
	q := n.cast(n.all(n.spare, n.Add(i, build.Int(build.I64, n.size/int64(n.w)))), lt.Double)
	return Factor{w: w, q: q, Exact: true, Most: n.One/2 + 1}
}

// chosen implements nttArith.
func (n *NttDoubles) chosen(f Factor, places func(i int) int) Factor {
	f.w, f.q = n.places(f.w, places), n.places(f.q, places)
	return f
}
