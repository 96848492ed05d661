package unify

import (
	"healc/lang/check/tree"
	"healc/lang/types"
)

// Note [Solving extents]
//
// A parameter of type f32[2*N+1] says what N is: half of one less than the argument's extent. An extent in
// which one shape parameter is unknown, and only to the first power, is such an equation. It is solved as a
// polynomial, so that the solution holds whatever the caller's own shape parameters are: 2*N is K for no N
// when nothing says that K is even. Parameters that stand alone are bound first, as messages about these
// are simpler; then equations are solved as long as one has a solution, since each can leave another with
// one unknown. What the equations do not use is compared afterwards, like every extent.

// Unifier finds the shape parameters of a call. An extent that is just a parameter binds it, at the first
// place; what is left is solved for (Note [Solving extents]). Every other extent is compared afterwards.
type Unifier struct {
	Bind map[string]types.Dim
	From map[string]int // the argument that bound it; -1 for the brackets
}

// NewUnifier has no parameter bound.
func NewUnifier() *Unifier {
	return &Unifier{Bind: map[string]types.Dim{}, From: map[string]int{}}
}

// Collect binds the parameters that stand alone in the type of a parameter, by the type of argument i.
func (u *Unifier) Collect(param, arg types.Type, i int) {
	switch p := param.(type) {
	case types.Tensor:
		a, ok := arg.(types.Tensor)
		if !ok || len(a.Shape) != len(p.Shape) {
			return
		}
		for k, d := range p.Shape {
			if name, ok := d.AsParam(); ok {
				if _, bound := u.Bind[name]; !bound {
					u.Bind[name], u.From[name] = a.Shape[k], i
				}
			}
		}
	case types.Tuple:
		a, ok := arg.(types.Tuple)
		if !ok || len(a.Elems) != len(p.Elems) {
			return
		}
		for k := range p.Elems {
			u.Collect(p.Elems[k], a.Elems[k], i)
		}
	}
}

// Mentions reports whether a type has the shape parameter in it.
func Mentions(t types.Type, name string) bool {
	for _, x := range types.Flatten(t) {
		for _, d := range x.Shape {
			for _, p := range d.Params() {
				if p == name {
					return true
				}
			}
		}
	}
	return false
}

// SameKind reports whether two types agree but for extents.
func SameKind(a, b types.Type) bool {
	x, y := types.Flatten(a), types.Flatten(b)
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i].Elem != y[i].Elem || x[i].Rank() != y[i].Rank() {
			return false
		}
	}
	return true
}

// Solve binds what the extents of the parameters determine that are no lone shape parameter.
func (u *Unifier) Solve(params []*tree.Local, args []tree.Expr) {
	for again := true; again; {
		again = false
		for i, p := range params {
			EachExtent(p.T, args[i].Type(), func(d, got types.Dim) {
				name, value, ok := u.Solution(d, got)
				if ok && name != "" {
					u.Bind[name], u.From[name] = value, i
					again = true
				}
			})
		}
	}
}

// Solution solves d = got for the one shape parameter of d that is not bound. The name is "" where d is no
// equation in one unknown of the first power; ok is false where it is one without a solution that is
// surely an extent.
func (u *Unifier) Solution(d, got types.Dim) (name string, value types.Dim, ok bool) {
	var coef, rest types.Dim
	for _, t := range d.Terms() {
		product, unknowns := types.Lit(t.Coef), 0
		for _, v := range t.Vars {
			factor, bound := u.Bind[v]
			if !bound {
				if name != "" && name != v {
					return "", value, false
				}
				name = v
				unknowns++
				continue
			}
			var err error
			if product, err = product.Mul(factor); err != nil {
				return "", value, false
			}
		}
		sum := &rest
		switch unknowns {
		case 0:
		case 1:
			sum = &coef
		default:
			return "", value, false
		}
		var err error
		if *sum, err = sum.Add(product); err != nil {
			return "", value, false
		}
	}
	if name == "" || coef.IsConst(0) {
		return "", value, false
	}
	left, err := got.Sub(rest)
	if err != nil {
		return name, value, false
	}
	value, ok = left.Div(coef)
	return name, value, ok && !AlwaysNegative(value)
}

// EachExtent calls f with every extent of a parameter's type and that of the argument at the same place.
func EachExtent(param, arg types.Type, f func(d, got types.Dim)) {
	ps, as := types.Flatten(param), types.Flatten(arg)
	if !SameKind(param, arg) {
		return
	}
	for i, p := range ps {
		for k, d := range p.Shape {
			f(d, as[i].Shape[k])
		}
	}
}
