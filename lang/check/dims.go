package check

import (
	"fmt"
	"strconv"
	"strings"

	"healc/lang/ast"
	"healc/lang/check/literal"
	"healc/lang/check/report"
	"healc/lang/check/tree"
	"healc/lang/check/unify"
	"healc/lang/diag"
	"healc/lang/types"
)

// missingDims are the shape parameters that the head of a function uses and does not declare: one report says which.
type missingDims struct {
	names  []string
	report *report.Report
}

// dim evaluates a shape expression: a polynomial over integer literals, constants and shape parameters.
func (c *checker) dim(e ast.Expr) (types.Dim, bool) {
	d, p := c.tryDim(e, false)
	if p == nil {
		return d, true
	}
	if p.Bad {
		c.cur.failed = true
		return types.Dim{}, false
	}
	r := c.errorf(p.Code, p.At, "%s", p.Msg)
	if p.Help != "" {
		r.Help("%s", p.Help)
	}
	return types.Dim{}, false
}

// tryDim is dim without a report. With locals, an i32 or i64 local counts as an unknown of its own, a
// symbol: the two bounds of `i..i+4` then have a difference that is known.
func (c *checker) tryDim(e ast.Expr, locals bool) (types.Dim, *unify.Problem) {
	switch e := e.(type) {
	case *ast.Paren:
		return c.tryDim(e.X, locals)
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
			x, p := c.tryDim(e.X, locals)
			if p != nil {
				return x, p
			}
			return unify.Combine(e.Loc, "-", types.Dim{}, x)
		}
	case *ast.Binary:
		switch e.Op {
		case "+", "-", "*", "/":
			x, p := c.tryDim(e.X, locals)
			if p != nil {
				return x, p
			}
			y, p := c.tryDim(e.Y, locals)
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

func (c *checker) tryDimName(e *ast.Name, locals bool) (types.Dim, *unify.Problem) {
	problem := func(format string, args ...any) (types.Dim, *unify.Problem) {
		return types.Dim{}, &unify.Problem{Code: diag.CodeShapeExpr, At: e.Loc, Msg: fmt.Sprintf(format, args...)}
	}
	l := c.locals[e.Name]
	switch {
	case l != nil && locals && isIndex(l.T):
		return types.Param(c.symbol(l)), nil
	case l != nil:
		d, p := problem("%s is a value of the run, not a shape expression", report.Quote(e.Name))
		p.Help =
			"an extent is built from integer literals, shape parameters and constants; the length of a parameter `x: " +
				"f32[N]` is `N`"
		return d, p
	case c.isDim(e.Name):
		return types.Param(e.Name), nil
	case c.consts[e.Name] != nil:
		return c.tryDimConst(c.consts[e.Name], e.Name, e.Loc)
	case e.Name == "":
		return types.Dim{}, &unify.Problem{Bad: true}
	case c.isFunction(e.Name):
		return problem("%s is a function, not a shape expression", report.Quote(e.Name))
	}
	p := &unify.Problem{Code: diag.CodeUnknownName, At: e.Loc,
		Msg: "unknown shape parameter or constant " + report.Quote(e.Name)}
	if c.full() {
		return types.Dim{}, p
	}
	if near := diag.Nearest(e.Name, c.visible()); near != "" {
		p.Help = fmt.Sprintf("did you mean %s?", report.Quote(near))
	} else if c.cur.missing != nil {
		return c.missingDim(p, e.Name)
	} else if c.cur.fn != nil {
		p.Help = declareDims(c.cur.fn, e.Name)
	}
	return types.Dim{}, p
}

// missingDim reports a shape parameter that the head of a function does not declare, and then takes it for
// declared, so that each is reported once and what uses it is checked, too.
func (c *checker) missingDim(p *unify.Problem, name string) (types.Dim, *unify.Problem) {
	m, f := c.cur.missing, c.cur.fn
	m.names = append(m.names, name)
	if m.report == nil {
		m.report = c.errorf(p.Code, p.At, "%s", p.Msg)
	} else {
		c.cur.failed = true
		m.report.Related(p.At, "%s is unknown, too", report.Quote(name))
	}
	m.report.Help("%s", declareDims(f, m.names...))
	f.dims[name] = true
	return types.Param(name), nil
}

// declareDims is the advice to declare shape parameters of f.
func declareDims(f *funcInfo, names ...string) string {
	what := "it"
	if len(names) > 1 {
		what = "them"
	}
	return fmt.Sprintf("declare %s: `fn %s[%s](...)`", what, f.decl.Name.Name,
		strings.Join(append(append([]string{}, f.fn.Dims...), names...), ", "))
}

// symbol is the name under which a local stands in a slice bound.
func (c *checker) symbol(l *tree.Local) string {
	name, ok := c.symbols[l]
	if !ok {
		name = unify.SymbolPrefix + strconv.Itoa(len(c.symbols))
		c.symbols[l] = name
	}
	return name
}

// isIndex reports an i32 or i64 scalar.
func isIndex(t types.Type) bool {
	x, ok := t.(types.Tensor)
	return ok && x.IsScalar() && (x.Elem == types.I32 || x.Elem == types.I64)
}
