package indexing

import (
	"fmt"
	"strings"

	"healc/ir"
	"healc/ir/ops"
	"healc/lang/ast"
	"healc/lang/check/infer"
	"healc/lang/check/literal"
	"healc/lang/check/operators"
	"healc/lang/check/report"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// Assign is `x = e;`, `x .+= e;`, `x[i, 2..4] = e;` and so on.
func Assign(c *infer.Checker, bs []tree.Binding, s *ast.AssignStmt) []tree.Binding {
	root := assignRoot(s.Target)
	if root == nil {
		c.Cur.Failed = true // the parser has reported it
		c.Expr(s.Value, nil)
		return bs
	}
	l := assigned(c, root)
	if l == nil {
		c.Expr(s.Value, nil) // it has errors of its own
		return bs
	}
	p, bs, ok := placeOf(c, bs, s.Target, l)
	if !ok {
		c.Expr(s.Value, nil)
		return bs
	}
	var v tree.Expr
	if op := strings.TrimSuffix(s.Op, "="); op == "" {
		v = plainAssign(c, s, p, l)
	} else {
		v = updated(c, s, op, p)
	}
	if tree.IsBad(v) {
		return bs
	}
	if p.index != nil { // before the rest of the variable is read: computing it may change that
		v, bs = once(c, bs, v)
	}
	if v = p.write(v); tree.IsBad(v) {
		return bs
	}
	return append(bs, tree.Binding{Value: change(c, s.Loc, l, v)})
}

// change gives a variable a value.
func change(c *infer.Checker, at diag.Span, l *tree.Local, v tree.Expr) tree.Expr {
	c.Flow.Changed = append(c.Flow.Changed, l)
	return &tree.Assign{Info: tree.Of(types.Unit, at), Local: l, Value: v}
}

// assignRoot is the name in `x`, `x[i]`, `x[i][j]`, nil when there is none.
func assignRoot(e ast.Expr) *ast.Name {
	for {
		switch t := e.(type) {
		case *ast.Name:
			return t
		case *ast.Index:
			e = t.X
		default:
			return nil
		}
	}
}

// assigned is the variable called like n; it reports why there is none.
func assigned(c *infer.Checker, n *ast.Name) *tree.Local {
	l := c.Locals[n.Name]
	switch {
	case l != nil:
		if c.Assignable(n.Loc, l) {
			return l
		}
	case c.IsDim(n.Name):
		c.Errorf(diag.CodeImmutable, n.Loc, "%s is a shape parameter and cannot be assigned", report.Quote(n.Name))
	case c.Consts[n.Name] != nil:
		c.Errorf(diag.CodeImmutable, n.Loc, "%s is a constant and cannot be assigned", report.Quote(n.Name))
	case c.IsFunction(n.Name):
		c.Name(n)
	default:
		undeclared(c, n)
	}
	return nil
}

// undeclared reports an assignment to a name that nothing declares, and then takes it for declared.
func undeclared(c *infer.Checker, n *ast.Name) {
	r := c.Errorf(diag.CodeUnknownName, n.Loc, "unknown name %s", report.Quote(n.Name))
	var vars []string
	for name, l := range c.Locals {
		if c.Flow.Vars[l] != nil {
			vars = append(vars, name)
		}
	}
	if near := diag.Nearest(n.Name, vars); near != "" {
		r.Help("did you mean %s?", report.Quote(near))
	} else {
		r.Help("declare it: `let %s = e;`, or `let mut %s = e;` if it changes", n.Name, n.Name)
	}
	c.Bind(&tree.Local{Name: n.Name, T: types.ErrorType, Loc: n.Loc})
}

// place is what an assignment changes: a variable, or a part of one.
type place struct {
	t     types.Type
	read  func() tree.Expr            // its value now
	write func(v tree.Expr) tree.Expr // the value of the whole variable after the place has the value v
	index *ast.Index                  // nil for the variable itself
}

// placeOf types the target of an assignment. Positions that are known at run time are evaluated once, into bs.
func placeOf(c *infer.Checker, bs []tree.Binding, target ast.Expr, l *tree.Local) (place, []tree.Binding, bool) {
	e, ok := ast.Unparen(target).(*ast.Index)
	if !ok {
		at := target.Span()
		return place{
			t:     l.T,
			read:  func() tree.Expr { return tree.NewUse(l, at) },
			write: func(v tree.Expr) tree.Expr { return v },
		}, bs, true
	}
	outer, bs, ok := placeOf(c, bs, e.X, l)
	if !ok {
		return place{}, bs, false
	}
	t, ok := outer.t.(types.Tensor)
	switch {
	case !ok || t.Elem == types.String:
		c.Errorf(diag.CodeIndex, e.Loc, "%s cannot be indexed", outer.t).Label("%s", outer.t)
		return place{}, bs, false
	case len(e.Indices) > t.Rank():
		tooMany(c, e, t)
		return place{}, bs, false
	}
	list := make([]axisIndex, t.Rank())
	part := types.Tensor{Elem: t.Elem, Shape: types.Shape{}}
	chooses := false
	for k := range list {
		list[k] = axisIndex{whole: true, n: t.Shape[k], step: 1}
		if k < len(e.Indices) {
			var fine bool
			if list[k], fine = indexOf(c, e.Indices[k], t.Shape[k], k); !fine {
				return place{}, bs, false
			}
			chooses = chooses || list[k].gather != nil
			list[k].gather, bs = once(c, bs, list[k].gather)
			list[k].pos, bs = once(c, bs, list[k].pos)
			list[k].first, bs = once(c, bs, list[k].first)
		}
		if list[k].pos == nil && !list[k].drop {
			part.Shape = append(part.Shape, list[k].n)
		}
	}
	if chooses {
		part, positions, ok := scatteredPart(c, e.Loc, t, list)
		return place{
			t:    part,
			read: func() tree.Expr { return buildIndex(c, e.Loc, outer.read(), t, list) },
			write: func(v tree.Expr) tree.Expr {
				return outer.write(scatter(c, e.Loc, outer.read(), v, list, positions))
			},
			index: e,
		}, bs, ok
	}
	return place{
		t:     part,
		read:  func() tree.Expr { return buildIndex(c, e.Loc, outer.read(), t, list) },
		write: func(v tree.Expr) tree.Expr { return outer.write(update(c, e.Loc, outer.read(), v, list)) },
		index: e,
	}, bs, true
}

// once binds e to a name, unless it is cheap to repeat or nil.
func once(c *infer.Checker, bs []tree.Binding, e tree.Expr) (tree.Expr, []tree.Binding) {
	switch e.(type) {
	case nil, *tree.Const:
		return e, bs
	}
	l := &tree.Local{Name: fmt.Sprintf("at%d", len(bs)), T: e.Type(), Loc: e.Span()}
	return tree.NewUse(l, e.Span()), append(bs, tree.Binding{Local: l, Value: e})
}

// plainAssign is the value of `x = e`: of the type of x, or for a part of x what broadcasts to that part.
func plainAssign(c *infer.Checker, s *ast.AssignStmt, p place, l *tree.Local) tree.Expr {
	if p.index == nil {
		v := c.Expr(s.Value, l.T)
		if !types.Equal(l.T, v.Type()) {
			c.Mismatch(v.Span(), "the value of "+report.Quote(l.Name), l.T, v.Type()).Related(l.Loc, "declared here")
			return tree.Bad(s.Loc)
		}
		return v
	}
	t := p.t.(types.Tensor)
	v := c.Expr(s.Value, literal.Want(t.Elem))
	got, ok := v.Type().(types.Tensor)
	switch {
	case tree.IsBad(v):
		return v
	case !ok || got.Elem != t.Elem:
		c.Mismatch(v.Span(), "the value", t, v.Type())
		return tree.Bad(s.Loc)
	}
	if !keepsShape(c, s, t, got) {
		return tree.Bad(s.Loc)
	}
	return c.Broadcast(v, t.Shape)
}

// updated is the value of `x op= e`.
func updated(c *infer.Checker, s *ast.AssignStmt, name string, p place) tree.Expr {
	o, ok := operators.Table[name]
	if !ok {
		return c.Unsupported(s.Loc, "assignment `"+s.Op+"`")
	}
	at := s.Target.Span().To(s.Value.Span())
	x := p.read()
	y := c.Expr(s.Value, literal.Want(types.ElemOf(p.t)))
	if tree.IsBad(x) || tree.IsBad(y) {
		return tree.Bad(at)
	}
	v := operators.Elementwise(c, at, name, o, x, y)
	t, ok1 := p.t.(types.Tensor)
	got, ok2 := v.Type().(types.Tensor)
	if tree.IsBad(v) {
		return v
	}
	if !ok1 || !ok2 {
		panic("BUG: an operator gives no tensor")
	}
	if !t.Shape.Equal(got.Shape) {
		keepsShape(c, s, t, y.Type().(types.Tensor))
		return tree.Bad(at)
	}
	return v
}

// keepsShape reports whether a value of type got broadcasts to the target's shape as it is.
func keepsShape(c *infer.Checker, s *ast.AssignStmt, target, got types.Tensor) bool {
	shape, err := types.Broadcast(target.Shape, got.Shape)
	if err == nil && shape.Equal(target.Shape) {
		return true
	}
	broken, ok := err.(*types.RuleError)
	if !ok {
		broken = &types.RuleError{Shapes: []types.Shape{target.Shape, got.Shape}}
		for i := 1; i <= len(got.Shape) && broken.Axis == 0; i++ {
			switch {
			case i > len(target.Shape):
				broken.Axis, broken.Why = i, fmt.Sprintf("the target has %s", report.Axes(len(target.Shape)))
			case !shape[len(shape)-i].Equal(target.Shape[len(target.Shape)-i]):
				broken.Axis, broken.Why = i, "the target does not expand"
			}
		}
	}
	at := s.Target.Span().To(s.Value.Span())
	r := c.Errorf(diag.CodeInPlace, at, "`%s` cannot change the shape of its target from %s to that of %s", s.Op,
		target, got).
		Label("%s %s %s", target, s.Op, got)
	r.Align(broken)
	if op := strings.TrimSuffix(s.Op, "="); op != "" {
		r.Help("an assignment keeps the shape: `let z = %s %s %s` makes a value of the other",
			s.Target.Span().Text(), op, s.Value.Span().Text())
	}
	return false
}

// update is x with the part that list chooses replaced by v, which has the shape of that part.
func update(c *infer.Checker, at diag.Span, x, v tree.Expr, list []axisIndex) tree.Expr {
	if tree.IsBad(x) || tree.IsBad(v) {
		return tree.Bad(at)
	}
	t := x.Type().(types.Tensor)
	var axes []int64
	var firsts []tree.Expr
	starts, sizes, shape := make(types.Shape, len(list)), types.Shape{}, make(types.Shape, len(list))
	steps := make([]int64, len(list))
	for k, i := range list {
		starts[k], shape[k], steps[k] = i.start, i.n, i.step
		switch {
		case i.whole:
			starts[k], shape[k], steps[k] = types.Dim{}, t.Shape[k], 1
		case i.pos != nil:
			axes, firsts, sizes = append(axes, int64(k)), append(firsts, i.pos), append(sizes, types.Lit(1))
			starts[k], shape[k], steps[k] = types.Dim{}, types.Lit(1), 1
		case i.first != nil:
			axes, firsts, sizes = append(axes, int64(k)), append(firsts, i.first), append(sizes, i.length)
		case i.drop:
			shape[k], steps[k] = types.Lit(1), 1
		}
	}
	v = c.Reshape(at, v, shape)
	all := len(axes) == 0
	for k := range list {
		all = all && starts[k].IsConst(0) && steps[k] == 1 && shape[k].Equal(t.Shape[k])
	}
	if all {
		return v
	}
	attrs := ir.A{"axes": axes, "sizes": sizes, "starts": starts, "steps": steps, "shape": shape}
	return c.ApplyCode(diag.CodeIndexRange, at, ops.Update, attrs, nil, append([]tree.Expr{x, v}, firsts...))
}
