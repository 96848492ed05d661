package infer

import (
	"fmt"
	"strconv"

	"healc/lang/ast"
	"healc/lang/check/literal"
	"healc/lang/check/report"
	"healc/lang/check/scope"
	"healc/lang/check/tree"
	"healc/lang/check/unify"
	"healc/lang/diag"
	"healc/lang/types"
)

// Dim evaluates a shape expression: a polynomial over integer literals, constants and shape parameters.
func (c *Checker) Dim(e ast.Expr) (types.Dim, bool) {
	d, p := c.TryDim(e, false)
	if p == nil {
		return d, true
	}
	if p.Bad {
		c.Cur.Failed = true
		return types.Dim{}, false
	}
	r := c.Errorf(p.Code, p.At, "%s", p.Msg)
	if p.Help != "" {
		r.Help("%s", p.Help)
	}
	return types.Dim{}, false
}

// TryDim is dim without a report. With locals, an i32 or i64 local counts as an unknown of its own, a
// symbol: the two bounds of `i..i+4` then have a difference that is known.
func (c *Checker) TryDim(e ast.Expr, locals bool) (types.Dim, *unify.Problem) {
	switch e := e.(type) {
	case *ast.Paren:
		return c.TryDim(e.X, locals)
	case *ast.Lit:
		if e.Kind == ast.IntLit && e.Suffix == "" {
			n, err := literal.ParseInt(e.Value)
			if err == nil && n <= 1<<63-1 {
				return types.Lit(int64(n)), nil
			}
			return types.Dim{}, &unify.Problem{Code: diag.CodeExtent, At: e.Loc,
				Msg: fmt.Sprintf("extent %s is out of range", e.Raw)}
		}
	case *ast.Name:
		return c.tryDimName(e, locals)
	case *ast.Member:
		return c.tryDimMember(e)
	case *ast.Unary:
		if e.Op == "-" {
			x, p := c.TryDim(e.X, locals)
			if p != nil {
				return x, p
			}
			return unify.Combine(e.Loc, "-", types.Dim{}, x)
		}
	case *ast.Binary:
		switch e.Op {
		case "+", "-", "*", "/":
			x, p := c.TryDim(e.X, locals)
			if p != nil {
				return x, p
			}
			y, p := c.TryDim(e.Y, locals)
			if p != nil {
				return y, p
			}
			return unify.Combine(e.Loc, e.Op, x, y)
		}
	case *ast.BadExpr, nil:
		return types.Dim{}, &unify.Problem{Bad: true}
	}
	return types.Dim{}, unify.NotShape(e.Span())
}

func (c *Checker) tryDimName(e *ast.Name, locals bool) (types.Dim, *unify.Problem) {
	problem := func(format string, args ...any) (types.Dim, *unify.Problem) {
		return types.Dim{}, &unify.Problem{Code: diag.CodeShapeExpr, At: e.Loc, Msg: fmt.Sprintf(format, args...)}
	}
	l := c.Locals[e.Name]
	switch {
	case l != nil && locals && IsIndex(l.T):
		return types.Param(c.symbol(l)), nil
	case l != nil:
		d, p := problem("%s is a value of the run, not a shape expression", report.Quote(e.Name))
		p.Help =
			"an extent is built from integer literals, shape parameters and constants; the length of a parameter `x: " +
				"f32[N]` is `N`"
		return d, p
	case c.IsDim(e.Name):
		return types.Param(e.Name), nil
	case c.Consts[e.Name] != nil:
		return c.tryDimConst(c.Consts[e.Name], e.Name, e.Loc)
	case e.Name == "":
		return types.Dim{}, &unify.Problem{Bad: true}
	case c.IsFunction(e.Name):
		return problem("%s is a function, not a shape expression", report.Quote(e.Name))
	}
	p := &unify.Problem{Code: diag.CodeUnknownName, At: e.Loc,
		Msg: "unknown shape parameter or constant " + report.Quote(e.Name)}
	if c.Full() {
		return types.Dim{}, p
	}
	if near := diag.Nearest(e.Name, c.Visible()); near != "" {
		p.Help = fmt.Sprintf("did you mean %s?", report.Quote(near))
	} else if c.Cur.Missing != nil {
		return c.missingDim(p, e.Name)
	} else if c.Cur.Fn != nil {
		p.Help = scope.DeclareDims(c.Cur.Fn, e.Name)
	}
	return types.Dim{}, p
}

// missingDim reports a shape parameter that the head of a function does not declare, and then takes it for
// declared, so that each is reported once and what uses it is checked, too.
func (c *Checker) missingDim(p *unify.Problem, name string) (types.Dim, *unify.Problem) {
	m, f := c.Cur.Missing, c.Cur.Fn
	m.Names = append(m.Names, name)
	if m.Report == nil {
		m.Report = c.Errorf(p.Code, p.At, "%s", p.Msg)
	} else {
		c.Cur.Failed = true
		m.Report.Related(p.At, "%s is unknown, too", report.Quote(name))
	}
	m.Report.Help("%s", scope.DeclareDims(f, m.Names...))
	f.Dims[name] = true
	return types.Param(name), nil
}

// symbol is the name under which a local stands in a slice bound.
func (c *Checker) symbol(l *tree.Local) string {
	name, ok := c.symbols[l]
	if !ok {
		name = unify.SymbolPrefix + strconv.Itoa(len(c.symbols))
		c.symbols[l] = name
	}
	return name
}

// IsIndex reports an i32 or i64 scalar.
func IsIndex(t types.Type) bool {
	x, ok := t.(types.Tensor)
	return ok && x.IsScalar() && (x.Elem == types.I32 || x.Elem == types.I64)
}

// ConstInt is an integer that is known now.
func (c *Checker) ConstInt(e ast.Expr, what string) (int64, bool) {
	d, p := c.TryDim(e, false)
	if p == nil {
		if n, ok := d.Const(); ok {
			return n, true
		}
	} else if p.Bad || p.Code != diag.CodeShapeExpr {
		c.Dim(e) // reports it
		return 0, false
	}
	c.Errorf(diag.CodeNotConstant, e.Span(), "%s has to be an integer that is known when the program is compiled", what)
	return 0, false
}

// Axis is one axis of a tensor of the given rank, counted from the front.
func (c *Checker) Axis(e ast.Expr, rank int) (int64, bool) {
	n, ok := c.ConstInt(e, "an axis")
	if !ok {
		return 0, false
	}
	if n < -int64(rank) || n >= int64(rank) {
		r := c.Errorf(diag.CodeAxis, e.Span(), "axis %d is out of range for a tensor of rank %d", n, rank)
		switch rank {
		case 0:
			r.Help("a scalar has no axes")
		case 1:
			r.Help("the only axis is 0, or -1")
		default:
			r.Help("the axes are 0 to %d, or -%d to -1", rank-1, rank)
		}
		return 0, false
	}
	if n < 0 {
		n += int64(rank)
	}
	return n, true
}
