package infer

import (
	"healc/lang/ast"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// returnStmt is `return e;`.
func (c *Checker) returnStmt(r *ast.ReturnStmt) tree.Expr {
	switch {
	case c.Cur.Fn == nil:
		c.Errorf(diag.CodeNotConstant, r.Loc, "a constant cannot `return`")
	case c.Lambda > 0:
		c.Errorf(diag.CodeCapture, r.Loc, "a lambda cannot `return` from the function around it").
			Help("the value of a lambda is its last expression")
	default:
		c.Flow.Returns++
		v := c.returned(r, c.Cur.Fn.Tree.Result)
		if tree.IsBad(v) {
			return tree.Bad(r.Loc)
		}
		return &tree.Return{Info: tree.Of(types.Never, r.Loc), Value: v}
	}
	if r.Value != nil {
		c.Expr(r.Value, nil)
	}
	return tree.Bad(r.Loc)
}

// diverges reports that the last binding never gives a value.
func diverges(bs []tree.Binding) bool {
	return len(bs) > 0 && bs[len(bs)-1].Value.Type() == types.Never
}

// left ends a block at its last binding, which never gives a value. rest is what stands after it, if anything.
func (c *Checker) left(bs []tree.Binding, rest ast.Node) tree.Expr {
	last := bs[len(bs)-1].Value
	if rest != nil {
		c.Errorf(diag.CodeUnreachable, rest.Span(), "this is never reached").Related(last.Span(), "leaves the function")
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

// ResultSpan is the part of a body that gives its value: the mark of a long block covers only that.
func ResultSpan(e ast.Expr) diag.Span {
	for {
		b, ok := e.(*ast.Block)
		if !ok || b == nil || b.Value == nil {
			break
		}
		e = b.Value
	}
	if e == nil {
		return diag.Span{}
	}
	s := e.Span()
	if b, ok := e.(*ast.Block); ok && b != nil {
		s.Start = max(s.Start, s.End-1) // the closing brace
	}
	return s
}
