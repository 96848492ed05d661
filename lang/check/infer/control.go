package infer

import (
	"fmt"

	"healc/lang/ast"
	"healc/lang/check/literal"
	"healc/lang/check/report"
	"healc/lang/check/scope"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// block is `{ ...; value }`.
func (c *Checker) block(b *ast.Block, want types.Type) tree.Expr {
	if b == nil {
		c.Cur.Failed = true
		return tree.Bad(diag.Span{})
	}
	mark := c.Enter()
	defer c.Leave(mark)
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
	return tree.Wrap(bs, c.Expr(b.Value, want))
}

// statement types a statement and appends what it binds.
func (c *Checker) statement(bs []tree.Binding, s ast.Stmt) []tree.Binding {
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
		return append(bs, tree.Binding{Value: c.Expr(s.X, nil)})
	case *ast.AssignStmt:
		return c.Language.Assign(c, bs, s)
	}
	c.Cur.Failed = true // the parser has reported it
	return bs
}

// letBinding types a let and brings its names into scope.
func (c *Checker) letBinding(bs []tree.Binding, p ast.Pattern, t ast.TypeExpr, value ast.Expr) []tree.Binding {
	var want, declared types.Type
	if t != nil {
		declared = c.TypeOf(t)
		want = types.Bare(declared)
	}
	x := c.Expr(value, want)
	got := x.Type()
	if t != nil && !types.Equal(want, got) {
		c.Mismatch(x.Span(), "the value", want, got).Related(t.Span(), "the declared type")
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
func (c *Checker) variables(p ast.Pattern) {
	switch p := p.(type) {
	case *ast.NamePattern:
		if l := c.Locals[p.Name]; l != nil && p.Name != "_" {
			c.Variable(l, false)
		}
	case *ast.TuplePattern:
		for _, q := range p.Elems {
			c.variables(q)
		}
	}
}

// pattern binds the names of a pattern to a value of type t.
func (c *Checker) pattern(bs []tree.Binding, p ast.Pattern, x tree.Expr, t types.Type) []tree.Binding {
	switch p := p.(type) {
	case *ast.NamePattern:
		if p.Name == "_" {
			return append(bs, tree.Binding{Value: x})
		}
		l := &tree.Local{Name: p.Name, T: t, Loc: p.Loc}
		c.Bind(l)
		return append(bs, tree.Binding{Local: l, Value: x})
	case *ast.TuplePattern:
		tuple, ok := t.(types.Tuple)
		if !types.IsError(t) && (!ok || len(tuple.Elems) != len(p.Elems)) {
			c.Errorf(diag.CodePattern, p.Loc, "a pattern of %d names takes a tuple of %d, not %s", len(p.Elems),
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
					c.Errorf(diag.CodeDuplicate, n.Loc, "name %s is bound twice in one pattern",
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
	c.Cur.Failed = true // the parser has reported it
	return append(bs, tree.Binding{Value: x})
}

// letIn is `let p = value in body`.
func (c *Checker) letIn(e *ast.Let, want types.Type) tree.Expr {
	mark := c.Enter()
	defer c.Leave(mark)
	bs := c.letBinding(nil, e.Pattern, e.Type, e.Value)
	if diverges(bs) {
		return c.left(bs, e.Body)
	}
	return tree.Wrap(bs, c.Expr(e.Body, want))
}

// Condition types what has to be a bool.
func (c *Checker) Condition(e ast.Expr) tree.Expr {
	x := c.Expr(e, types.Scalar(types.Bool))
	if types.Equal(x.Type(), types.Scalar(types.Bool)) {
		return x
	}
	r := c.Errorf(diag.CodeMismatch, x.Span(), "a condition has to be bool, not %s", x.Type()).Label("%s", x.Type())
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
func (c *Checker) ifExpr(e *ast.If, want types.Type) tree.Expr {
	cond := c.Condition(e.Cond)
	mark := c.Mark()
	if e.Else == nil {
		then := c.block(e.Then, nil)
		if then.Type() != types.Never && !types.Equal(then.Type(), types.Unit) {
			c.Errorf(diag.CodeArms, ResultSpan(e.Then),
				"an `if` without `else` has the value unit, but this arm has %s", then.Type()).
				Label("%s", then.Type()).Help("end the arm with `;`, or add an `else`")
			return tree.Bad(e.Loc)
		}
		return c.IfOf(e.Loc, cond, then, tree.Unit(e.Loc), mark)
	}
	if e.Then != nil && !types.ElemOf(want).IsNumber() {
		if k := c.allLiterals(e.Then, e.Else); k != literal.Typed {
			want = literal.Want(literal.Default(k, types.Invalid))
		}
	}
	var then, els tree.Expr
	if want == nil && e.Then != nil && c.LiteralKindOf(e.Then) != literal.Typed &&
		c.LiteralKindOf(e.Else) == literal.Typed {
		els = c.Expr(e.Else, nil)
		then = c.block(e.Then, els.Type())
	} else {
		then = c.block(e.Then, want)
		w := want
		if w == nil && then.Type() != types.Never {
			w = then.Type()
		}
		els = c.Expr(e.Else, w)
	}
	if then.Type() != types.Never && els.Type() != types.Never && !types.Equal(then.Type(), els.Type()) {
		thenAt := ResultSpan(e.Then)
		at := ResultSpan(e.Else)
		r := c.Errorf(diag.CodeArms, at, "the arms of an `if` are of one type: %s and %s differ", then.Type(),
			els.Type()).
			Label("%s", els.Type()).Related(thenAt, "%s", then.Type())
		r.Explain(at, then.Type(), els.Type())
		return tree.Bad(e.Loc)
	}
	return c.IfOf(e.Loc, cond, then, els, mark)
}

// IfOf is an `if` whose arms were checked since the mark.
func (c *Checker) IfOf(at diag.Span, cond, then, els tree.Expr, m scope.FlowMark) tree.Expr {
	if tree.IsBad(cond) || tree.IsBad(then) || tree.IsBad(els) {
		return tree.Bad(at)
	}
	e := &tree.If{Info: tree.Of(armsType(then.Type(), els.Type()), at), Cond: cond, Then: then, Else: els}
	c.Chooses(e, m)
	return e
}

// returned is the value of a return statement.
func (c *Checker) returned(r *ast.ReturnStmt, result types.Type) tree.Expr {
	if r.Value == nil {
		if !types.Equal(result, types.Unit) {
			c.Errorf(diag.CodeResult, r.Loc, "%s returns %s, and this `return` has no value", report.Quote(c.Cur.Name),
				result)
			return tree.Bad(r.Loc)
		}
		return tree.Unit(r.Loc)
	}
	x := c.Expr(r.Value, result)
	if !types.Equal(x.Type(), result) {
		e := c.Errorf(diag.CodeResult, x.Span(), "%s returns %s, not %s", report.Quote(c.Cur.Name), result,
			x.Type()).Label("%s", x.Type())
		e.Explain(x.Span(), result, x.Type())
		return tree.Bad(x.Span())
	}
	return x
}
