package check

import (
	"errors"
	"fmt"

	"healc/lang/check/report"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// maxErrors bounds the diagnostics of one run: beyond it nobody reads on, and suggestions cost time.
const maxErrors = 200

// errorf reports an error and marks the current declaration as failed.
func (c *checker) errorf(code diag.Code, at diag.Span, format string, args ...any) *report.Report {
	c.cur.failed = true
	r := report.New(code, at, fmt.Sprintf(format, args...))
	if len(c.list.Items) < maxErrors {
		c.list.Add(r.Diagnostic())
	}
	return r
}

// full reports that further errors are not shown.
func (c *checker) full() bool { return len(c.list.Items) >= maxErrors }

// unsupported reports a construct that is legal but not compiled yet; what is its name with an article.
func (c *checker) unsupported(at diag.Span, what string) tree.Expr {
	c.errorf(diag.CodeUnsupported, at, "%s is not supported yet", what)
	return tree.Bad(at)
}

// rule reports a broken rule of an operation. err is a *types.RuleError, or an overflow of an extent.
func (c *checker) rule(code diag.Code, at diag.Span, err error) *report.Report {
	var overflow *types.OverflowError
	if errors.As(err, &overflow) {
		return c.errorf(diag.CodeExtent, at, "%s", overflow)
	}
	var broken *types.RuleError
	if !errors.As(err, &broken) {
		return c.errorf(code, at, "%v", err)
	}
	if broken.Constraint == "G2" || broken.Constraint == "G3" {
		code = diag.CodeExtent // the limits that hold for every operation
	}
	r := c.errorf(code, at, "%s", broken.Msg)
	r.Align(broken)
	r.Help("%s", broken.Help)
	return r
}

// mismatch reports that a value of type got stands where want is needed; what says where: "argument 1".
func (c *checker) mismatch(at diag.Span, what string, want, got types.Type) *report.Report {
	r := c.errorf(diag.CodeMismatch, at, "%s has to be %s, not %s", what, want, got).Label("%s", got)
	r.Explain(at, want, got)
	return r
}
