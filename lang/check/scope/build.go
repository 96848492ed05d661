package scope

import (
	"fmt"
	"math"

	"healc/ir"
	"healc/ir/ops"
	"healc/ir/scalar"
	"healc/lang/check/report"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// This file builds nodes of the typed tree from typed operands.

// Apply is an operation on typed operands. A broken rule is reported at the given place.
func (c *Scope) Apply(at diag.Span, op *ir.OpDef, attrs ir.A, args ...tree.Expr) tree.Expr {
	return c.ApplyCode(diag.CodeRule, at, op, attrs, nil, args)
}

// ApplyCode is apply with lambdas, and with the code for a broken rule.
func (c *Scope) ApplyCode(code diag.Code, at diag.Span, op *ir.OpDef, attrs ir.A, lambdas []*tree.Lambda,
	args []tree.Expr) tree.Expr {
	ts := make([]types.Tensor, len(args))
	for i, a := range args {
		t, ok := a.Type().(types.Tensor)
		if tree.IsBad(a) {
			return tree.Bad(at)
		}
		if !ok {
			c.Errorf(code, a.Span(), "%s takes tensors, not %s", Spelled(op), a.Type()).Label("%s", a.Type())
			return tree.Bad(at)
		}
		if t.Elem == types.String && op.Class != ir.Host {
			return c.Unsupported(a.Span(), Spelled(op)+" on strings")
		}
		ts[i] = t
	}
	regions := make([]*ir.Block, len(lambdas))
	for i, l := range lambdas {
		if tree.IsBad(l.Body) {
			return tree.Bad(at)
		}
		regions[i] = tree.SignatureOf(l)
	}
	out, err := op.Infer(ts, op.MakeAttrs(attrs), regions)
	if err == nil && op.Doomed != nil && c.Idle == 0 {
		err = op.Doomed(ts, op.MakeAttrs(attrs))
	}
	if err != nil {
		r := c.Rule(code, at, err)
		if len(args) > 0 {
			r.Label("%s", TypeList(args))
		}
		return tree.Bad(at)
	}
	if op.Traits.Has(ir.Effect) && !c.Effect(at, Spelled(op)) {
		return tree.Bad(at)
	}
	node := &tree.Apply{Info: tree.Info{Loc: at}, Op: op, Attrs: attrs, Args: args, Lambdas: lambdas}
	switch len(out) {
	case 0:
		node.T = types.Unit
	case 1:
		node.T = out[0]
		if out[0].Rank() > MaxRank && !c.Extents(at, out[0]) {
			return tree.Bad(at)
		}
	default:
		panic("BUG: operation " + op.Name + " has several results")
	}
	if k := tree.FoldConstant(node); k != nil {
		return k
	}
	return node
}

// TypeList is "f32[3], i32".
func TypeList(args []tree.Expr) string {
	s := ""
	for i, a := range args {
		if i == 4 {
			return s + ", ..."
		}
		if i > 0 {
			s += ", "
		}
		s += a.Type().String()
	}
	return s
}

// Spelled is the operation as programs write it.
func Spelled(op *ir.OpDef) string {
	if op.Surface != "" {
		return report.Quote(op.Surface)
	}
	return op.Name
}

// DimValue is an extent as an i32.
func (c *Scope) DimValue(d types.Dim, at diag.Span) tree.Expr {
	n, ok := d.Const()
	if !ok {
		return c.Apply(at, ops.Dim, ir.A{"dim": d})
	}
	if n < math.MinInt32 || n > math.MaxInt32 {
		c.Errorf(diag.CodeExtent, at, "%d does not fit i32, the type of extents as values", n)
		return tree.Bad(at)
	}
	return tree.ScalarConst(types.I32, scalar.IntBits(types.I32, n), at)
}

// Broadcast expands x to a shape that it broadcasts to.
func (c *Scope) Broadcast(x tree.Expr, shape types.Shape) tree.Expr {
	if t, ok := x.Type().(types.Tensor); !ok || t.Shape.Equal(shape) {
		return x
	}
	return c.Apply(x.Span(), ops.Broadcast, ir.A{"shape": shape}, x)
}

// Reshape gives x another shape with the same number of elements.
func (c *Scope) Reshape(at diag.Span, x tree.Expr, shape types.Shape) tree.Expr {
	t, ok := x.Type().(types.Tensor)
	if ok && t.Shape.Equal(shape) && !tree.IsBad(x) {
		return x
	}
	if k, ok := x.(*tree.Const); ok && k.Value.DType != types.String {
		n, err1 := t.Shape.Elems()
		m, err2 := shape.Elems()
		if ints, ok := shape.Ints(); ok && err1 == nil && err2 == nil && n.Equal(m) {
			return tree.ConstArray(k.Value.DType, ints, k.Value.Bits, at)
		}
	}
	return c.ApplyCode(diag.CodeReshape, at, ops.Reshape, ir.A{"shape": shape}, nil, []tree.Expr{x})
}

// Effect checks that the current declaration may do input and output; what names what does it.
func (c *Scope) Effect(at diag.Span, what string) bool {
	switch {
	case c.Cur.Fn == nil:
		c.Errorf(diag.CodeNotConstant, at, "a constant cannot do input or output: %s is `@io`", what)
		return false
	case !c.Cur.Fn.Tree.IO:
		r := c.Errorf(diag.CodeEffect, at, "%s is not marked `@io`, but calls %s, which is", report.Quote(c.Cur.Name),
			what).
			Related(c.Cur.Fn.Tree.Loc, "pure, because it is not marked")
		if what == Spelled(ops.Assert) {
			r.Help("what a function asks of its arguments is `require(x, ok, \"message\")`, which has no effect")
		} else {
			r.Help("write `@io fn %s`, or leave out the input or output", c.Cur.Name)
		}
		return false
	case c.Lambda > c.ordered:
		where := "inside a lambda"
		if c.Derives != "" {
			where = "in the function of `" + c.Derives + "`"
		}
		c.Unsupported(at, "input or output "+where)
		return false
	}
	c.Cur.Effects++
	return true
}

// Let binds e to a new name for the rest that body builds, unless e is cheap to repeat.
func (c *Scope) Let(e tree.Expr, body func(x tree.Expr) tree.Expr) tree.Expr {
	switch e := e.(type) {
	case *tree.Const:
		return body(e)
	case *tree.Use:
		if c.Flow.Vars[e.Local] == nil { // a variable may change meanwhile
			return body(e)
		}
	}
	l := &tree.Local{Name: fmt.Sprintf("tmp%d", len(c.undo)), T: e.Type(), Loc: e.Span()}
	rest := body(tree.NewUse(l, e.Span()))
	return tree.NewLet(e.Span(), l, e, rest)
}

// LetAll binds every expression to a name, so that it is evaluated once, for the rest that body builds.
func (c *Scope) LetAll(xs []tree.Expr, body func(xs []tree.Expr) tree.Expr) tree.Expr {
	if len(xs) == 0 {
		return body(nil)
	}
	return c.Let(xs[0], func(x tree.Expr) tree.Expr {
		return c.LetAll(xs[1:], func(rest []tree.Expr) tree.Expr { return body(append([]tree.Expr{x}, rest...)) })
	})
}
