package check

import (
	"healc/lang/check/tree"
	"healc/lang/diag"
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

// solve binds what the extents of the parameters determine that are no lone shape parameter.
func (u *unifier) solve(params []*tree.Local, args []tree.Expr) {
	for again := true; again; {
		again = false
		for i, p := range params {
			eachExtent(p.T, args[i].Type(), func(d, got types.Dim) {
				name, value, ok := u.solution(d, got)
				if ok && name != "" {
					u.bind[name], u.from[name] = value, i
					again = true
				}
			})
		}
	}
}

// solution solves d = got for the one shape parameter of d that is not bound. The name is "" where d is no
// equation in one unknown of the first power; ok is false where it is one without a solution that is
// surely an extent.
func (u *unifier) solution(d, got types.Dim) (name string, value types.Dim, ok bool) {
	var coef, rest types.Dim
	for _, t := range d.Terms() {
		product, unknowns := types.Lit(t.Coef), 0
		for _, v := range t.Vars {
			factor, bound := u.bind[v]
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
	return name, value, ok && !alwaysNegative(value)
}

// eachExtent calls f with every extent of a parameter's type and that of the argument at the same place.
func eachExtent(param, arg types.Type, f func(d, got types.Dim)) {
	ps, as := types.Flatten(param), types.Flatten(arg)
	if !sameKind(param, arg) {
		return
	}
	for i, p := range ps {
		for k, d := range p.Shape {
			f(d, as[i].Shape[k])
		}
	}
}

// unsolved reports that an extent of argument i would have to say what the shape parameter name is, and has
// no solution. It is false where no extent is an equation for name alone.
func (c *checker) unsolved(fn *tree.Func, u *unifier, args []tree.Expr, i int, name string) bool {
	told := false
	eachExtent(fn.Params[i].T, args[i].Type(), func(d, got types.Dim) {
		unknown, _, ok := u.solution(d, got)
		if told || unknown != name || ok {
			return
		}
		told = true
		r := c.errorf(diag.CodeShapeParam, args[i].Span(), "argument %s of %s has extent %s, which is %s for no %s",
			quote(fn.Params[i].Name), quote(fn.DisplayName()), got, d, name)
		r.label("%s", args[i].Type())
		if _, literal := got.Const(); !literal {
			r.help("write the argument's own extent in a form such as `%s`", d)
		}
		r.note("%s", tree.SignatureText(fn))
	})
	return told
}
