package check

import (
	"fmt"
	"strconv"
	"strings"

	"healc/lang/ast"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// Bounds of a shape expression. Products of sums grow exponentially in normal form.
const (
	maxTerms   = 256
	maxFactors = 32
)

// symbolPrefix starts the name of a local inside a slice bound; no shape parameter has such a name.
const symbolPrefix = "%"

// dimProblem says why an expression is no shape expression.
type dimProblem struct {
	code diag.Code
	at   diag.Span
	msg  string
	help string
	bad  bool // reported already
}

// missingDims are the shape parameters that the head of a function uses and does not declare: one report says which.
type missingDims struct {
	names  []string
	report *report
}

// dim evaluates a shape expression: a polynomial over integer literals, constants and shape parameters.
func (c *checker) dim(e ast.Expr) (types.Dim, bool) {
	d, p := c.tryDim(e, false)
	if p == nil {
		return d, true
	}
	if p.bad {
		c.cur.failed = true
		return types.Dim{}, false
	}
	r := c.errorf(p.code, p.at, "%s", p.msg)
	if p.help != "" {
		r.help("%s", p.help)
	}
	return types.Dim{}, false
}

// tryDim is dim without a report. With locals, an i32 or i64 local counts as an unknown of its own, a
// symbol: the two bounds of `i..i+4` then have a difference that is known.
func (c *checker) tryDim(e ast.Expr, locals bool) (types.Dim, *dimProblem) {
	switch e := e.(type) {
	case *ast.Paren:
		return c.tryDim(e.X, locals)
	case *ast.Lit:
		if e.Kind == ast.IntLit && e.Suffix == "" {
			n, err := parseInt(e.Value)
			if err == nil && n <= 1<<63-1 {
				return types.Lit(int64(n)), nil
			}
			return types.Dim{}, &dimProblem{code: diag.CodeExtent, at: e.Loc,
				msg: fmt.Sprintf("extent %s is out of range", e.Raw)}
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
			return c.dimOp(e.Loc, "-", types.Dim{}, x)
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
			return c.dimOp(e.Loc, e.Op, x, y)
		}
	case *ast.BadExpr, nil:
		return types.Dim{}, &dimProblem{bad: true}
	}
	return types.Dim{}, noShapeExpr(e.Span())
}

func noShapeExpr(at diag.Span) *dimProblem {
	return &dimProblem{
		code: diag.CodeShapeExpr, at: at, msg: "this is not a shape expression",
		help: "an extent is built from integer literals, shape parameters and constants with + - * and exact /",
	}
}

func (c *checker) tryDimName(e *ast.Name, locals bool) (types.Dim, *dimProblem) {
	problem := func(format string, args ...any) (types.Dim, *dimProblem) {
		return types.Dim{}, &dimProblem{code: diag.CodeShapeExpr, at: e.Loc, msg: fmt.Sprintf(format, args...)}
	}
	l := c.locals[e.Name]
	switch {
	case l != nil && locals && isIndex(l.T):
		return types.Param(c.symbol(l)), nil
	case l != nil:
		d, p := problem("%s is a value of the run, not a shape expression", quote(e.Name))
		p.help =
			"an extent is built from integer literals, shape parameters and constants; the length of a parameter `x: " +
				"f32[N]` is `N`"
		return d, p
	case c.isDim(e.Name):
		return types.Param(e.Name), nil
	case c.consts[e.Name] != nil:
		return c.tryDimConst(c.consts[e.Name], e.Name, e.Loc)
	case e.Name == "":
		return types.Dim{}, &dimProblem{bad: true}
	case c.isFunction(e.Name):
		return problem("%s is a function, not a shape expression", quote(e.Name))
	}
	p := &dimProblem{code: diag.CodeUnknownName, at: e.Loc, msg: "unknown shape parameter or constant " + quote(e.Name)}
	if c.full() {
		return types.Dim{}, p
	}
	if near := diag.Nearest(e.Name, c.visible()); near != "" {
		p.help = fmt.Sprintf("did you mean %s?", quote(near))
	} else if c.cur.missing != nil {
		return c.missingDim(p, e.Name)
	} else if c.cur.fn != nil {
		p.help = declareDims(c.cur.fn, e.Name)
	}
	return types.Dim{}, p
}

// missingDim reports a shape parameter that the head of a function does not declare, and then takes it for
// declared, so that each is reported once and what uses it is checked, too.
func (c *checker) missingDim(p *dimProblem, name string) (types.Dim, *dimProblem) {
	m, f := c.cur.missing, c.cur.fn
	m.names = append(m.names, name)
	if m.report == nil {
		m.report = c.errorf(p.code, p.at, "%s", p.msg)
	} else {
		c.cur.failed = true
		m.report.related(p.at, "%s is unknown, too", quote(name))
	}
	m.report.help("%s", declareDims(f, m.names...))
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

// dimOp combines two shape expressions.
func (c *checker) dimOp(at diag.Span, op string, x, y types.Dim) (types.Dim, *dimProblem) {
	if len(x.Terms())*len(y.Terms()) > maxTerms && op == "*" || len(x.Terms())+len(y.Terms()) > maxTerms {
		return types.Dim{}, &dimProblem{code: diag.CodeTooBig, at: at, msg: "this shape expression has too many terms"}
	}
	if op == "*" && factors(x)+factors(y) > maxFactors {
		return types.Dim{}, &dimProblem{code: diag.CodeTooBig, at: at,
			msg: fmt.Sprintf("a shape expression has at most %d factors in a term", maxFactors)}
	}
	var d types.Dim
	var err error
	switch op {
	case "+":
		d, err = x.Add(y)
	case "-":
		d, err = x.Sub(y)
	case "*":
		d, err = x.Mul(y)
	case "/":
		q, ok := x.Div(y)
		switch {
		case !ok && (hasSymbol(x) || hasSymbol(y)):
			// The value of a local is divided with a remainder, as an extent never is.
			return d, noShapeExpr(at)
		case !ok:
			why := fmt.Sprintf("%s is not a multiple of %s", x, y)
			if y.IsConst(0) {
				why = "division by zero"
			}
			return d, &dimProblem{
				code: diag.CodeShapeExpr, at: at, msg: "the division of extents leaves a remainder: " + why,
				help: "let the parameter count the parts, such as an extent 2*N instead of N/2",
			}
		}
		d = q
	}
	if err != nil {
		return d, &dimProblem{code: diag.CodeExtent, at: at, msg: err.Error()}
	}
	return d, nil
}

// factors is the largest number of factors in a term.
func factors(d types.Dim) int {
	n := 0
	for _, t := range d.Terms() {
		n = max(n, len(t.Vars))
	}
	return n
}

// symbol is the name under which a local stands in a slice bound.
func (c *checker) symbol(l *tree.Local) string {
	name, ok := c.symbols[l]
	if !ok {
		name = symbolPrefix + strconv.Itoa(len(c.symbols))
		c.symbols[l] = name
	}
	return name
}

// hasSymbol reports whether a dim depends on a local.
func hasSymbol(d types.Dim) bool {
	for _, p := range d.Params() {
		if strings.HasPrefix(p, symbolPrefix) {
			return true
		}
	}
	return false
}

// neverNegative reports that d >= 0 whatever its parameters are, as far as signs show it: extents are
// never negative.
func neverNegative(d types.Dim) bool {
	for _, t := range d.Terms() {
		if t.Coef < 0 || len(t.Vars) > 0 && strings.HasPrefix(t.Vars[0], symbolPrefix) {
			return false
		}
	}
	return true
}

// alwaysNegative reports that d < 0 whatever its parameters are, as far as signs show it.
func alwaysNegative(d types.Dim) bool {
	constant := int64(0)
	for _, t := range d.Terms() {
		if t.Coef > 0 || len(t.Vars) > 0 && strings.HasPrefix(t.Vars[0], symbolPrefix) {
			return false
		}
		if len(t.Vars) == 0 {
			constant = t.Coef
		}
	}
	return constant < 0
}

// isIndex reports an i32 or i64 scalar.
func isIndex(t types.Type) bool {
	x, ok := t.(types.Tensor)
	return ok && x.IsScalar() && (x.Elem == types.I32 || x.Elem == types.I64)
}
