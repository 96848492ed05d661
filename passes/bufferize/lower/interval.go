package lower

import (
	"math"
	"math/bits"

	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
)

// This file is the interval analysis: between which numbers each integer of a body lies.

// An interval bounds an integer from both sides.
type interval struct{ lo, hi int64 }

var (
	unbounded = interval{math.MinInt64, math.MaxInt64}
	extents   = interval{0, types.MaxExtent}
)

// typeRange is what an integer type can hold; u64 is only known not to be tracked.
func typeRange(t types.DType) (interval, bool) {
	switch {
	case t == types.U64 || !t.IsInt():
		return unbounded, false
	case t == types.I64:
		return unbounded, true
	case t.IsSigned():
		return interval{-1 << (t.Bits() - 1), 1<<(t.Bits()-1) - 1}, true
	}
	return interval{0, 1<<t.Bits() - 1}, true
}

func (x interval) within(y interval) bool { return y.lo <= x.lo && x.hi <= y.hi }

func (x interval) plus(y interval) (interval, bool) {
	lo, c1 := add64(x.lo, y.lo)
	hi, c2 := add64(x.hi, y.hi)
	return interval{lo, hi}, c1 && c2
}

func (x interval) minus(y interval) (interval, bool) {
	if y.lo == math.MinInt64 {
		return unbounded, false
	}
	return x.plus(interval{-y.hi, -y.lo})
}

func (x interval) times(y interval) (interval, bool) {
	out := interval{math.MaxInt64, math.MinInt64}
	for _, a := range []int64{x.lo, x.hi} {
		for _, b := range []int64{y.lo, y.hi} {
			p, ok := mul64(a, b)
			if !ok {
				return unbounded, false
			}
			out.lo, out.hi = min(out.lo, p), max(out.hi, p)
		}
	}
	return out, true
}

func add64(a, b int64) (int64, bool) {
	s := a + b
	return s, (s > a) == (b > 0)
}

func mul64(a, b int64) (int64, bool) {
	if a == 0 || b == 0 {
		return 0, true
	}
	if a == math.MinInt64 || b == math.MinInt64 {
		return 0, false
	}
	neg := (a < 0) != (b < 0)
	hi, lo := bits.Mul64(uint64(max(a, -a)), uint64(max(b, -b)))
	if hi != 0 || lo > math.MaxInt64 {
		return 0, false
	}
	if neg {
		return -int64(lo), true
	}
	return int64(lo), true
}

// dimRange bounds a dim: every shape parameter is between 0 and types.MaxExtent.
func dimRange(d types.Dim) (interval, bool) {
	sum := interval{}
	for _, t := range d.Terms() {
		p, ok := interval{t.Coef, t.Coef}, true
		for range t.Vars {
			if p, ok = p.times(extents); !ok {
				return unbounded, false
			}
		}
		if sum, ok = sum.plus(p); !ok {
			return unbounded, false
		}
	}
	return sum, true
}

// infer notes the affine form and the interval of a new integer.
func (b *body) infer(r kernel.Ref, in scalar.Instr) {
	if in.Op == scalar.Const {
		if v, ok := b.constInt(r); ok {
			b.refs[r].rng, b.refs[r].affine, b.refs[r].exact = interval{v, v}, constAffine(types.Lit(v)), true
		}
		return
	}
	limits, tracked := typeRange(in.Type)
	if !tracked {
		return
	}
	f, rng, exact := b.arithmetic(in)
	info := &b.refs[r]
	exact = exact && rng.within(limits)
	if exact {
		info.rng = rng
	}
	if f != nil && (exact || in.Type == types.I64) {
		info.affine, info.exact = f, exact
		if info.affine.overlaps(r) {
			panic("BUG: the form of a scalar mentions it")
		}
	}
}

func (f *affine) overlaps(r kernel.Ref) bool { return !f.coef(r).IsConst(0) }

// arithmetic gives the form and the interval of an integer instruction. exact says that nothing wraps, so
// that form (when there is one) and interval hold without a modulus.
func (b *body) arithmetic(in scalar.Instr) (f *affine, rng interval, exact bool) {
	x := in.Args[0]
	if x == scalar.None || !b.types[x].IsInt() || b.types[x] == types.U64 {
		return nil, unbounded, false
	}
	i := b.refs[x]
	var j refInfo
	if y := in.Args[1]; y != scalar.None {
		j = b.refs[y]
	}
	both := i.exact && j.exact
	switch in.Op {
	case scalar.Add:
		rng, ok := i.rng.plus(j.rng)
		return i.affine.plus(j.affine, types.Lit(1)), rng, ok && (both || i.affine == nil || j.affine == nil)
	case scalar.Sub:
		rng, ok := i.rng.minus(j.rng)
		return i.affine.plus(j.affine, types.Lit(-1)), rng, ok && (both || i.affine == nil || j.affine == nil)
	case scalar.Neg:
		rng, ok := interval{}.minus(i.rng)
		if i.affine != nil {
			f = i.affine.times(types.Lit(-1))
		}
		return f, rng, ok && (i.exact || i.affine == nil)
	case scalar.Mul:
		rng, ok := i.rng.times(j.rng)
		if c, isConst := j.affine.constant(); isConst && i.affine != nil {
			f = i.affine.times(c)
		} else if c, isConst := i.affine.constant(); isConst && j.affine != nil {
			f = j.affine.times(c)
		}
		return f, rng, ok && (f == nil || both)
	case scalar.Cast:
		return i.affine, i.rng, i.exact || i.affine == nil
	case scalar.Min:
		return nil, interval{min(i.rng.lo, j.rng.lo), min(i.rng.hi, j.rng.hi)}, true
	case scalar.Max:
		return nil, interval{max(i.rng.lo, j.rng.lo), max(i.rng.hi, j.rng.hi)}, true
	case scalar.Select:
		y, z := b.refs[in.Args[1]], b.refs[in.Args[2]]
		return nil, interval{min(y.rng.lo, z.rng.lo), max(y.rng.hi, z.rng.hi)}, b.types[in.Args[1]].IsInt()
	case scalar.Rem:
		if j.rng.lo > 0 {
			hi := j.rng.hi - 1
			lo := -hi
			if i.rng.lo >= 0 {
				lo, hi = 0, min(hi, i.rng.hi)
			}
			return nil, interval{lo, hi}, true
		}
	case scalar.Div:
		if j.rng.lo > 0 && i.rng.lo >= 0 {
			return nil, interval{i.rng.lo / j.rng.hi, i.rng.hi / j.rng.lo}, true
		}
	case scalar.And:
		if i.rng.lo >= 0 || j.rng.lo >= 0 {
			hi := i.rng.hi
			if i.rng.lo < 0 || j.rng.lo >= 0 && j.rng.hi < hi {
				hi = j.rng.hi
			}
			return nil, interval{0, hi}, true
		}
	case scalar.Shr:
		if n, ok := b.constInt(in.Args[1]); ok && n >= 0 && n < int64(in.Type.Bits()) {
			return nil, interval{i.rng.lo >> n, i.rng.hi >> n}, true
		}
	}
	return nil, unbounded, false
}

// difference bounds y - x from below and above as dims; ok is false when nothing is known.
func (b *body) difference(x, y kernel.Ref) (lo, hi types.Dim, okLo, okHi bool) {
	i, j := b.refs[x], b.refs[y]
	if !i.exact || !j.exact {
		return
	}
	d := j.affine.plus(i.affine, types.Lit(-1))
	if d == nil {
		return
	}
	return b.bounds(d)
}

// bounds gives dims between which a form lies.
func (b *body) bounds(f *affine) (lo, hi types.Dim, okLo, okHi bool) {
	lo, hi, okLo, okHi = f.off, f.off, true, true
	for _, t := range f.terms {
		info := b.refs[t.Var]
		first, last := types.Lit(info.rng.lo), types.Lit(info.rng.hi)
		if info.last != nil {
			last = *info.last
		}
		neg, _ := t.Coef.Mul(types.Lit(-1))
		switch {
		case nonNegative(t.Coef):
		case nonNegative(neg):
			first, last = last, first
		default:
			return lo, hi, false, false
		}
		okLo = okLo && addProduct(&lo, t.Coef, first)
		okHi = okHi && addProduct(&hi, t.Coef, last)
	}
	return lo, hi, okLo, okHi
}

func addProduct(sum *types.Dim, c, x types.Dim) bool {
	p, err := c.Mul(x)
	if err != nil {
		return false
	}
	s, err := sum.Add(p)
	*sum = s
	return err == nil
}

// less decides x < y + d for a literal d, when it can.
func (b *body) less(x, y kernel.Ref, d int64) (holds, known bool) {
	i, j := b.refs[x].rng, b.refs[y].rng
	if hi, ok := add64(j.lo, d); ok && i.hi < hi {
		return true, true
	}
	if hi, ok := add64(j.hi, d); ok && i.lo >= hi {
		return false, true
	}
	lo, hi, okLo, okHi := b.difference(x, y)
	if okLo {
		if m, err := lo.Add(types.Lit(d - 1)); err == nil && nonNegative(m) {
			return true, true
		}
	}
	if okHi {
		if m, err := types.Lit(-d).Sub(hi); err == nil && nonNegative(m) {
			return false, true
		}
	}
	return false, false
}
