package bufferize

import (
	"math"
	"math/bits"
	"sort"

	"healc/ir/kernel"
	"healc/lang/types"
)

// A form is an integer as an affine combination of I64 scalars: off + sum(Coef * Var). It equals the
// scalar it describes modulo 2^64, which is all that an address needs.
type form struct {
	off   types.Dim
	terms []kernel.Term // sorted by Var; no zero coefficients
}

func constForm(d types.Dim) *form { return &form{off: d} }

func varForm(v kernel.Ref) *form {
	return &form{terms: []kernel.Term{{Coef: types.Lit(1), Var: v}}}
}

// constant returns the value of a form without variables.
func (f *form) constant() (types.Dim, bool) {
	if f == nil || len(f.terms) > 0 {
		return types.Dim{}, false
	}
	return f.off, true
}

// single returns the variable when the form is just one variable.
func (f *form) single() (kernel.Ref, bool) {
	if f != nil && len(f.terms) == 1 && f.off.IsConst(0) && f.terms[0].Coef.IsConst(1) {
		return f.terms[0].Var, true
	}
	return 0, false
}

// plus returns f + c*g, and nil when a coefficient overflows or a form is unknown.
func (f *form) plus(g *form, c types.Dim) *form {
	if f == nil || g == nil {
		return nil
	}
	off, err := g.off.Mul(c)
	if err != nil {
		return nil
	}
	if off, err = f.off.Add(off); err != nil {
		return nil
	}
	out := &form{off: off}
	i, j := 0, 0
	for i < len(f.terms) || j < len(g.terms) {
		switch {
		case j == len(g.terms) || i < len(f.terms) && f.terms[i].Var < g.terms[j].Var:
			out.terms = append(out.terms, f.terms[i])
			i++
		default:
			coef, err := g.terms[j].Coef.Mul(c)
			if err != nil {
				return nil
			}
			if i < len(f.terms) && f.terms[i].Var == g.terms[j].Var {
				if coef, err = coef.Add(f.terms[i].Coef); err != nil {
					return nil
				}
				i++
			}
			if !coef.IsConst(0) {
				out.terms = append(out.terms, kernel.Term{Coef: coef, Var: g.terms[j].Var})
			}
			j++
		}
	}
	return out
}

// times returns c*f, and nil when a coefficient overflows.
func (f *form) times(c types.Dim) *form { return constForm(types.Dim{}).plus(f, c) }

// without returns f less the term of v.
func (f *form) without(v kernel.Ref) *form {
	out := &form{off: f.off}
	for _, t := range f.terms {
		if t.Var != v {
			out.terms = append(out.terms, t)
		}
	}
	return out
}

// coef is the coefficient of v, 0 when it does not occur.
func (f *form) coef(v kernel.Ref) types.Dim {
	i := sort.Search(len(f.terms), func(i int) bool { return f.terms[i].Var >= v })
	if i < len(f.terms) && f.terms[i].Var == v {
		return f.terms[i].Coef
	}
	return types.Dim{}
}

// nonNegative reports that d is at least 0 whatever the shape parameters are (they are never negative).
func nonNegative(d types.Dim) bool {
	for _, t := range d.Terms() {
		if t.Coef < 0 {
			return false
		}
	}
	return true
}

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
