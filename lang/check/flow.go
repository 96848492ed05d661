package check

import (
	"healc/lang/ast"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// The typed tree changes variables by Assign, in the order of evaluation; lang/irgen turns that into values
// that never change. It needs to know which variables an `if` changes and whether it leaves the function:
// the checker keeps a log of assignments and a count of returns, and looks at what the arms added.

// variable is what the checker knows of a local that may be assigned.
type variable struct {
	ref    bool // a `&mut` parameter
	lambda int  // how many lambdas are around the declaration
	serial int  // variables are numbered as they are declared
}

// flow is the log of what was checked of the current declaration.
type flow struct {
	vars    map[*tree.Local]*variable
	changed []*tree.Local // assigned, each once since the innermost mark
	returns int
}

// flowMark is a place in the log.
type flowMark struct{ changed, returns, declared int }

func (c *checker) mark() flowMark {
	return flowMark{len(c.flow.changed), c.flow.returns, len(c.flow.vars)}
}

// variable declares l to be one that can be assigned.
func (c *checker) variable(l *tree.Local, ref bool) {
	if c.flow.vars == nil {
		c.flow.vars = map[*tree.Local]*variable{}
	}
	c.flow.vars[l] = &variable{ref, c.lambda, len(c.flow.vars)}
}

// chooses adds to an `if` what its arms, checked since the mark, change, and shortens the log to that.
func (c *checker) chooses(e *tree.If, m flowMark) {
	seen := map[*tree.Local]bool{}
	for _, l := range c.flow.changed[m.changed:] {
		if v := c.flow.vars[l]; v != nil && v.serial < m.declared && !seen[l] {
			seen[l] = true
			e.Assigns = append(e.Assigns, l)
		}
	}
	c.flow.changed = append(c.flow.changed[:m.changed], e.Assigns...)
	e.Returns = c.flow.returns > m.returns
}

// returnStmt is `return e;`.
func (c *checker) returnStmt(r *ast.ReturnStmt) tree.Expr {
	switch {
	case c.cur.fn == nil:
		c.errorf(diag.CodeNotConstant, r.Loc, "a constant cannot `return`")
	case c.lambda > 0:
		c.errorf(diag.CodeCapture, r.Loc, "a lambda cannot `return` from the function around it").
			Help("the value of a lambda is its last expression")
	default:
		c.flow.returns++
		v := c.returned(r, c.cur.fn.fn.Result)
		if tree.IsBad(v) {
			return tree.Bad(r.Loc)
		}
		return &tree.Return{Info: tree.Of(types.Never, r.Loc), Value: v}
	}
	if r.Value != nil {
		c.expr(r.Value, nil)
	}
	return tree.Bad(r.Loc)
}

// diverges reports that the last binding never gives a value.
func diverges(bs []tree.Binding) bool {
	return len(bs) > 0 && bs[len(bs)-1].Value.Type() == types.Never
}

// left ends a block at its last binding, which never gives a value. rest is what stands after it, if anything.
func (c *checker) left(bs []tree.Binding, rest ast.Node) tree.Expr {
	last := bs[len(bs)-1].Value
	if rest != nil {
		c.errorf(diag.CodeUnreachable, rest.Span(), "this is never reached").Related(last.Span(), "leaves the function")
		return tree.Bad(rest.Span())
	}
	return tree.Wrap(bs[:len(bs)-1], last)
}

// armsType is the type of an `if` or `match`: that of the arms that give a value.
func armsType(ts ...types.Type) types.Type {
	for _, t := range ts {
		if t != types.Never {
			return t
		}
	}
	return types.Never
}
