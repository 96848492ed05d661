package scope

import (
	"errors"
	"fmt"

	"healc/lang/check/report"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// MaxErrors bounds the diagnostics of one run: beyond it nobody reads on, and suggestions cost time.
const MaxErrors = 200

// Errorf reports an error and marks the current declaration as failed.
func (c *Scope) Errorf(code diag.Code, at diag.Span, format string, args ...any) *report.Report {
	c.Cur.Failed = true
	r := report.New(code, at, fmt.Sprintf(format, args...))
	c.List.AddUpTo(MaxErrors, r.Diagnostic())
	return r
}

// Full reports that further errors are not shown.
func (c *Scope) Full() bool { return len(c.List.Items) >= MaxErrors }

// Unsupported reports a construct that is legal but not compiled yet; what is its name with an article.
func (c *Scope) Unsupported(at diag.Span, what string) tree.Expr {
	c.Errorf(diag.CodeUnsupported, at, "%s is not supported yet", what)
	return tree.Bad(at)
}

// Rule reports a broken rule of an operation. err is a *types.RuleError, or an overflow of an extent.
func (c *Scope) Rule(code diag.Code, at diag.Span, err error) *report.Report {
	var overflow *types.OverflowError
	if errors.As(err, &overflow) {
		return c.Errorf(diag.CodeExtent, at, "%s", overflow)
	}
	var broken *types.RuleError
	if !errors.As(err, &broken) {
		return c.Errorf(code, at, "%v", err)
	}
	if broken.Constraint == "G2" || broken.Constraint == "G3" {
		code = diag.CodeExtent // the limits that hold for every operation
	}
	if broken.Stored {
		code = diag.CodeStored
	}
	r := c.Errorf(code, at, "%s", broken.Msg)
	r.Align(broken)
	r.Help("%s", broken.Help)
	return r
}

// Mismatch reports that a value of type got stands where want is needed; what says where: "argument 1".
func (c *Scope) Mismatch(at diag.Span, what string, want, got types.Type) *report.Report {
	r := c.Errorf(diag.CodeMismatch, at, "%s has to be %s, not %s", what, want, got).Label("%s", got)
	r.Explain(at, want, got)
	return r
}

// Stored reports an operand x of what, of a type that nothing computes with. It is nil for any other.
func (c *Scope) Stored(what string, xs ...tree.Expr) *report.Report {
	for _, x := range xs {
		if d := types.ElemOf(x.Type()); d.IsStored() {
			return c.Errorf(diag.CodeStored, x.Span(), "%s does not compute with %s, in which elements are only stored",
				what, d).Label("%s", x.Type()).Help("convert it: `%s`", report.CastText(x.Span(), d.ComputesAs()))
		}
	}
	return nil
}

// Differ reports operands of two element types. Not nil, takes says which types of operands there can be.
func (c *Scope) Differ(at diag.Span, what string, x, y tree.Expr, takes func(types.DType) bool) *report.Report {
	a, b := types.ElemOf(x.Type()), types.ElemOf(y.Type())
	r := c.Errorf(diag.CodeOperands, at, "%s takes operands of one element type, not %s and %s", what, a, b)
	if !a.Converts() || !b.Converts() {
		return r
	}
	// Toward the type that loses less, if there is a choice.
	first := a.IsFloat() && !b.IsFloat() || b == types.Bool || a.IsFloat() == b.IsFloat() && a.Bits() > b.Bits()
	_, left := x.(*tree.Const)
	_, right := y.(*tree.Const)
	if left != right && a.IsFloat() == b.IsFloat() {
		first = right // a constant takes the type of what is computed, which has to keep its own
	}
	if takes != nil && (first && !takes(a) || !first && !takes(b)) {
		first = !first
	}
	switch {
	case first && (takes == nil || takes(a)):
		r.Cast(y.Span(), a)
	case !first && (takes == nil || takes(b)):
		r.Cast(x.Span(), b)
	}
	return r
}
