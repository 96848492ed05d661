package unify

import (
	"fmt"
	"strings"

	"healc/lang/diag"
	"healc/lang/types"
)

// Bounds of a shape expression. Products of sums grow exponentially in normal form.
const (
	maxTerms   = 256
	maxFactors = 32
)

// SymbolPrefix starts the name of a local inside a slice bound; no shape parameter has such a name.
const SymbolPrefix = "%"

// Problem says why an expression is no shape expression.
type Problem struct {
	Code diag.Code
	At   diag.Span
	Msg  string
	Help string
	Bad  bool // reported already
}

// NotShape is the problem of what is no shape expression at all.
func NotShape(at diag.Span) *Problem {
	return &Problem{
		Code: diag.CodeShapeExpr, At: at, Msg: "this is not a shape expression",
		Help: "an extent is built from integer literals, shape parameters and constants with + - * and exact /",
	}
}

// Combine combines two shape expressions.
func Combine(at diag.Span, op string, x, y types.Dim) (types.Dim, *Problem) {
	if len(x.Terms())*len(y.Terms()) > maxTerms && op == "*" || len(x.Terms())+len(y.Terms()) > maxTerms {
		return types.Dim{}, &Problem{Code: diag.CodeTooBig, At: at, Msg: "this shape expression has too many terms"}
	}
	if op == "*" && factors(x)+factors(y) > maxFactors {
		return types.Dim{}, &Problem{Code: diag.CodeTooBig, At: at,
			Msg: fmt.Sprintf("a shape expression has at most %d factors in a term", maxFactors)}
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
		case !ok && (HasSymbol(x) || HasSymbol(y)):
			// The value of a local is divided with a remainder, as an extent never is.
			return d, NotShape(at)
		case !ok:
			why := fmt.Sprintf("%s is not a multiple of %s", x, y)
			if y.IsConst(0) {
				why = "division by zero"
			}
			return d, &Problem{
				Code: diag.CodeShapeExpr, At: at, Msg: "the division of extents leaves a remainder: " + why,
				Help: "let the parameter count the parts, such as an extent 2*N instead of N/2",
			}
		}
		d = q
	}
	if err != nil {
		return d, &Problem{Code: diag.CodeExtent, At: at, Msg: err.Error()}
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

// HasSymbol reports whether a dim depends on a local.
func HasSymbol(d types.Dim) bool {
	for _, p := range d.Params() {
		if strings.HasPrefix(p, SymbolPrefix) {
			return true
		}
	}
	return false
}

// NeverNegative reports that d >= 0 whatever its parameters are, as far as signs show it: extents are
// never negative.
func NeverNegative(d types.Dim) bool {
	for _, t := range d.Terms() {
		if t.Coef < 0 || len(t.Vars) > 0 && strings.HasPrefix(t.Vars[0], SymbolPrefix) {
			return false
		}
	}
	return true
}

// AlwaysNegative reports that d < 0 whatever its parameters are, as far as signs show it.
func AlwaysNegative(d types.Dim) bool {
	constant := int64(0)
	for _, t := range d.Terms() {
		if t.Coef > 0 || len(t.Vars) > 0 && strings.HasPrefix(t.Vars[0], SymbolPrefix) {
			return false
		}
		if len(t.Vars) == 0 {
			constant = t.Coef
		}
	}
	return constant < 0
}

// CeilDiv is the extent of every size-th element of n; false when it is no polynomial.
func CeilDiv(n types.Dim, size int64) (types.Dim, bool) {
	if size == 1 {
		return n, true
	}
	constant := int64(0)
	for _, t := range n.Terms() {
		if len(t.Vars) == 0 {
			constant = t.Coef
		}
	}
	rest, err := n.Sub(types.Lit(constant))
	if err != nil {
		return n, false
	}
	q, ok := rest.Div(types.Lit(size))
	if !ok {
		return n, false
	}
	up := constant / size // toward zero, which is up for a negative constant
	if constant > 0 && constant%size != 0 {
		up++
	}
	out, err := q.Add(types.Lit(up))
	return out, err == nil
}
