package check

import (
	"fmt"

	"healc/lang/ast"
	"healc/lang/check/literal"
	"healc/lang/check/report"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// block is `{ ...; value }`.
func (c *checker) block(b *ast.Block, want types.Type) tree.Expr {
	if b == nil {
		c.cur.failed = true
		return tree.Bad(diag.Span{})
	}
	mark := c.enter()
	defer c.leave(mark)
	var bs []tree.Binding
	for _, s := range b.Stmts {
		if diverges(bs) {
			return c.left(bs, s)
		}
		bs = c.statement(bs, s)
	}
	if diverges(bs) {
		if b.Value == nil {
			return c.left(bs, nil)
		}
		return c.left(bs, b.Value)
	}
	if n := len(b.Stmts); b.Value == nil && n > 0 {
		if _, ok := b.Stmts[n-1].(*ast.ReturnStmt); ok {
			return tree.Bad(b.Loc) // its value has an error
		}
	}
	if b.Value == nil {
		return tree.Wrap(bs, tree.Unit(b.Loc))
	}
	return tree.Wrap(bs, c.expr(b.Value, want))
}

// statement types a statement and appends what it binds.
func (c *checker) statement(bs []tree.Binding, s ast.Stmt) []tree.Binding {
	switch s := s.(type) {
	case *ast.LetStmt:
		bs = c.letBinding(bs, s.Pattern, s.Type, s.Value)
		if s.Mut {
			c.variables(s.Pattern)
		}
		return bs
	case *ast.ReturnStmt:
		return append(bs, tree.Binding{Value: c.returnStmt(s)})
	case *ast.ExprStmt:
		return append(bs, tree.Binding{Value: c.expr(s.X, nil)})
	case *ast.AssignStmt:
		return c.assign(bs, s)
	}
	c.cur.failed = true // the parser has reported it
	return bs
}

// letBinding types a let and brings its names into scope.
func (c *checker) letBinding(bs []tree.Binding, p ast.Pattern, t ast.TypeExpr, value ast.Expr) []tree.Binding {
	var want, declared types.Type
	if t != nil {
		declared = c.typeOf(t)
		want = types.Bare(declared)
	}
	x := c.expr(value, want)
	got := x.Type()
	if t != nil && !types.Equal(want, got) {
		c.mismatch(x.Span(), "the value", want, got).Related(t.Span(), "the declared type")
	}
	if t != nil {
		got = want // also after an error: it is what the rest relies on
	}
	first := len(bs)
	bs = c.pattern(bs, p, x, got)
	if len(bs) > first && bs[first].Local != nil {
		bs[first].Local.Declared = declared
	}
	return bs
}

// variables lets the names of a pattern be assigned.
func (c *checker) variables(p ast.Pattern) {
	switch p := p.(type) {
	case *ast.NamePattern:
		if l := c.locals[p.Name]; l != nil && p.Name != "_" {
			c.variable(l, false)
		}
	case *ast.TuplePattern:
		for _, q := range p.Elems {
			c.variables(q)
		}
	}
}

// pattern binds the names of a pattern to a value of type t.
func (c *checker) pattern(bs []tree.Binding, p ast.Pattern, x tree.Expr, t types.Type) []tree.Binding {
	switch p := p.(type) {
	case *ast.NamePattern:
		if p.Name == "_" {
			return append(bs, tree.Binding{Value: x})
		}
		l := &tree.Local{Name: p.Name, T: t, Loc: p.Loc}
		c.bind(l)
		return append(bs, tree.Binding{Local: l, Value: x})
	case *ast.TuplePattern:
		tuple, ok := t.(types.Tuple)
		if !types.IsError(t) && (!ok || len(tuple.Elems) != len(p.Elems)) {
			c.errorf(diag.CodePattern, p.Loc, "a pattern of %d names takes a tuple of %d, not %s", len(p.Elems),
				len(p.Elems), t).
				Related(x.Span(), "%s", t)
			t = types.ErrorType
		}
		whole := &tree.Local{Name: fmt.Sprintf("tuple%d", len(bs)), T: t, Loc: p.Loc}
		bs = append(bs, tree.Binding{Local: whole, Value: x})
		seen := map[string]diag.Span{}
		for i, q := range p.Elems {
			elem := types.ErrorType
			if !types.IsError(t) {
				elem = tuple.Elems[i]
			}
			if n, ok := q.(*ast.NamePattern); ok && n.Name != "_" {
				if first, dup := seen[n.Name]; dup {
					c.errorf(diag.CodeDuplicate, n.Loc, "name %s is bound twice in one pattern",
						report.Quote(n.Name)).Related(first, "first bound here")
				}
				seen[n.Name] = n.Loc
			}
			if tree.IsBad(x) || types.IsError(t) {
				bs = c.pattern(bs, q, tree.Bad(p.Loc), elem)
				continue
			}
			bs = c.pattern(bs, q, tree.NewGet(tree.NewUse(whole, p.Loc), i, elem, q.Span()), elem)
		}
		return bs
	}
	c.cur.failed = true // the parser has reported it
	return append(bs, tree.Binding{Value: x})
}

// letIn is `let p = value in body`.
func (c *checker) letIn(e *ast.Let, want types.Type) tree.Expr {
	mark := c.enter()
	defer c.leave(mark)
	bs := c.letBinding(nil, e.Pattern, e.Type, e.Value)
	if diverges(bs) {
		return c.left(bs, e.Body)
	}
	return tree.Wrap(bs, c.expr(e.Body, want))
}

func (c *checker) condition(e ast.Expr) tree.Expr {
	x := c.expr(e, types.Scalar(types.Bool))
	if types.Equal(x.Type(), types.Scalar(types.Bool)) {
		return x
	}
	r := c.errorf(diag.CodeMismatch, x.Span(), "a condition has to be bool, not %s", x.Type()).Label("%s", x.Type())
	if t, ok := x.Type().(types.Tensor); ok {
		switch {
		case t.Elem == types.Bool:
			r.Help("reduce it with `&&/` or `||/`, or choose element by element with `where(c, a, b)`")
		case t.Elem.IsNumber() && t.IsScalar():
			r.Help("compare it: `!= 0`")
		}
	}
	return tree.Bad(x.Span())
}

// ifExpr is `if c { a } else { b }`.
func (c *checker) ifExpr(e *ast.If, want types.Type) tree.Expr {
	cond := c.condition(e.Cond)
	mark := c.mark()
	if e.Else == nil {
		then := c.block(e.Then, nil)
		if then.Type() != types.Never && !types.Equal(then.Type(), types.Unit) {
			c.errorf(diag.CodeArms, resultSpan(e.Then),
				"an `if` without `else` has the value unit, but this arm has %s", then.Type()).
				Label("%s", then.Type()).Help("end the arm with `;`, or add an `else`")
			return tree.Bad(e.Loc)
		}
		return c.ifOf(e.Loc, cond, then, tree.Unit(e.Loc), mark)
	}
	if e.Then != nil && !types.ElemOf(want).IsNumber() {
		if k := c.allLiterals(e.Then, e.Else); k != literal.Typed {
			want = literal.Want(literal.Default(k, types.Invalid))
		}
	}
	var then, els tree.Expr
	if want == nil && e.Then != nil && c.literalKindOf(e.Then) != literal.Typed &&
		c.literalKindOf(e.Else) == literal.Typed {
		els = c.expr(e.Else, nil)
		then = c.block(e.Then, els.Type())
	} else {
		then = c.block(e.Then, want)
		w := want
		if w == nil && then.Type() != types.Never {
			w = then.Type()
		}
		els = c.expr(e.Else, w)
	}
	if then.Type() != types.Never && els.Type() != types.Never && !types.Equal(then.Type(), els.Type()) {
		thenAt := resultSpan(e.Then)
		at := resultSpan(e.Else)
		r := c.errorf(diag.CodeArms, at, "the arms of an `if` are of one type: %s and %s differ", then.Type(),
			els.Type()).
			Label("%s", els.Type()).Related(thenAt, "%s", then.Type())
		r.Explain(at, then.Type(), els.Type())
		return tree.Bad(e.Loc)
	}
	return c.ifOf(e.Loc, cond, then, els, mark)
}

// ifOf is an `if` whose arms were checked since the mark.
func (c *checker) ifOf(at diag.Span, cond, then, els tree.Expr, m flowMark) tree.Expr {
	if tree.IsBad(cond) || tree.IsBad(then) || tree.IsBad(els) {
		return tree.Bad(at)
	}
	e := &tree.If{Info: tree.Of(armsType(then.Type(), els.Type()), at), Cond: cond, Then: then, Else: els}
	c.chooses(e, m)
	return e
}

// returned is the value of a return statement.
func (c *checker) returned(r *ast.ReturnStmt, result types.Type) tree.Expr {
	if r.Value == nil {
		if !types.Equal(result, types.Unit) {
			c.errorf(diag.CodeResult, r.Loc, "%s returns %s, and this `return` has no value", report.Quote(c.cur.name),
				result)
			return tree.Bad(r.Loc)
		}
		return tree.Unit(r.Loc)
	}
	x := c.expr(r.Value, result)
	if !types.Equal(x.Type(), result) {
		e := c.errorf(diag.CodeResult, x.Span(), "%s returns %s, not %s", report.Quote(c.cur.name), result,
			x.Type()).Label("%s", x.Type())
		e.Explain(x.Span(), result, x.Type())
		return tree.Bad(x.Span())
	}
	return x
}
