package infer

import (
	"healc/lang/check/report"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// Assignable reports whether the current place may change l; if not, it says why.
func (c *Checker) Assignable(at diag.Span, l *tree.Local) bool {
	v := c.Flow.Vars[l]
	switch {
	case types.IsError(l.T):
		c.Cur.Failed = true // its declaration has an error
		return false
	case v == nil:
		r := c.Errorf(diag.CodeImmutable, at, "%s cannot be assigned: it is not `mut`",
			report.Quote(l.Name)).Related(l.Loc, "declared here")
		if c.isParam(l) {
			r.Help("copy it, `let mut %s = %s;`, or let the caller see the change: `%s: &mut %s`", l.Name, l.Name,
				l.Name, l.T)
		} else {
			r.Help("declare it with `let mut %s`", l.Name)
		}
		return false
	case v.Lambda < c.Lambda:
		c.Errorf(diag.CodeCapture, at, "a lambda cannot change %s, which is declared outside of it",
			report.Quote(l.Name)).
			Related(l.Loc, "declared here").Help("what a loop changes is its state; `tabulate` gives a tensor at once")
		return false
	}
	return true
}

func (c *Checker) isParam(l *tree.Local) bool {
	if c.Cur.Fn == nil {
		return false
	}
	for _, p := range c.Cur.Fn.Tree.Params {
		if p == l {
			return true
		}
	}
	return false
}

// mutArguments checks the arguments of a call that its callee changes, and gives their variables.
func (c *Checker) mutArguments(fn *tree.Func, args []tree.Expr) ([]*tree.Local, bool) {
	var out []*tree.Local
	for _, i := range fn.Muts {
		use, ok := args[i].(*tree.Use)
		if !ok {
			c.Errorf(diag.CodeMutArgument, args[i].Span(),
				"argument %s of %s is `&mut`: it takes a variable, not a value", report.Quote(fn.Params[i].Name),
				report.Quote(fn.Name)).
				Help("name the value with `let mut` before")
			return nil, false
		}
		if c.Flow.Vars[use.Local] == nil && !types.IsError(use.T) {
			r := c.Errorf(diag.CodeMutArgument, use.Loc, "argument %s of %s is `&mut`, and %s is not `mut`",
				report.Quote(fn.Params[i].Name), report.Quote(fn.Name), report.Quote(use.Local.Name)).
				Related(use.Local.Loc, "declared here")
			r.Help("declare it with `let mut %s`", use.Local.Name)
			return nil, false
		}
		if !c.Assignable(use.Loc, use.Local) {
			return nil, false
		}
		for _, l := range out {
			if l == use.Local {
				c.Errorf(diag.CodeMutArgument, use.Loc, "%s stands for two `&mut` parameters of %s",
					report.Quote(l.Name), report.Quote(fn.Name)).
					Help("copy it: `let mut copy = %s;`", l.Name)
				return nil, false
			}
		}
		out = append(out, use.Local)
	}
	c.Flow.Changed = append(c.Flow.Changed, out...)
	return out, true
}
