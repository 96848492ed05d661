package lower

import (
	"sort"

	"healc/ir/kernel"
	"healc/lang/types"
)

// An affine form is an integer as an affine combination of I64 scalars: off + sum(Coef * Var). It equals the scalar
// that it describes modulo 2^64, which is all that an address needs.
type affine struct {
	off   types.Dim
	terms []kernel.Term // sorted by Var; no zero coefficients
}

func constAffine(d types.Dim) *affine { return &affine{off: d} }

func varAffine(v kernel.Ref) *affine {
	return &affine{terms: []kernel.Term{{Coef: types.Lit(1), Var: v}}}
}

// constant returns the value of a form without variables.
func (f *affine) constant() (types.Dim, bool) {
	if f == nil || len(f.terms) > 0 {
		return types.Dim{}, false
	}
	return f.off, true
}

// single returns the variable when the form is just one variable.
func (f *affine) single() (kernel.Ref, bool) {
	if f != nil && len(f.terms) == 1 && f.off.IsConst(0) && f.terms[0].Coef.IsConst(1) {
		return f.terms[0].Var, true
	}
	return 0, false
}

// plus returns f + c*g, and nil when a coefficient overflows or a form is unknown.
func (f *affine) plus(g *affine, c types.Dim) *affine {
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
	out := &affine{off: off}
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
func (f *affine) times(c types.Dim) *affine { return constAffine(types.Dim{}).plus(f, c) }

// without returns f less the term of v.
func (f *affine) without(v kernel.Ref) *affine {
	out := &affine{off: f.off}
	for _, t := range f.terms {
		if t.Var != v {
			out.terms = append(out.terms, t)
		}
	}
	return out
}

// coef is the coefficient of v, 0 when it does not occur.
func (f *affine) coef(v kernel.Ref) types.Dim {
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
