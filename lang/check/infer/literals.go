package infer

import (
	"fmt"

	"healc/ir"
	"healc/ir/ops"
	"healc/lang/ast"
	"healc/lang/check/literal"
	"healc/lang/check/report"
	"healc/lang/check/scope"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// Note [Untyped literals]
//
// A literal without a suffix takes its type from its context, in both directions: in `2 * x` and in
// `x * 2` it is of x's type. Typing goes top down with the type that is wanted (expr's want), and where
// several operands share one type, LiteralKindOf finds those that consist of such literals alone. The others are
// typed first, and what they turn out to be is wanted of the literals. When all are literals, the type
// wanted from outside decides, and without one i32, or f32 if any of them is a float.

// LiteralKindOf classifies e. Results for compound expressions are kept, so that all questions together
// take time linear in the tree.
func (c *Checker) LiteralKindOf(e ast.Expr) literal.Kind {
	switch e := e.(type) {
	case *ast.Lit:
		switch {
		case e.Suffix != "":
		case e.Kind == ast.IntLit:
			return literal.Ints
		case e.Kind == ast.FloatLit:
			return literal.Floats
		}
		return literal.Typed
	case *ast.Paren:
		return c.LiteralKindOf(e.X)
	case *ast.Unary:
		if e.Op == "-" {
			return c.LiteralKindOf(e.X)
		}
		return literal.Typed
	case *ast.Block:
		if e == nil || len(e.Stmts) > 0 || e.Value == nil {
			return literal.Typed
		}
		return c.LiteralKindOf(e.Value)
	case *ast.Binary, *ast.Array, *ast.If, *ast.Match, *ast.Reduce, *ast.Call:
	default:
		return literal.Typed
	}
	if k, ok := c.kinds[e]; ok {
		return k
	}
	k := literal.Typed
	switch e := e.(type) {
	case *ast.Binary:
		if c.Language.Arithmetic(e.Op) {
			k = c.allLiterals(e.X, e.Y)
		}
	case *ast.Array:
		if k = c.allLiterals(e.Elems...); len(e.Elems) == 0 {
			k = literal.Ints
		}
	case *ast.If:
		if e.Else != nil && e.Then != nil {
			k = c.allLiterals(e.Then, e.Else)
		}
	case *ast.Match:
		if len(e.Arms) > 0 {
			k = c.allLiterals(armBodies(e)...)
		}
	case *ast.Reduce:
		switch e.Op {
		case "+", "-", "*", "/":
			k = c.LiteralKindOf(e.X)
		}
	case *ast.Call:
		if n, ok := e.Fun.(*ast.Name); ok && len(e.Args) > 0 && c.takesLiteralType(n.Name) {
			args := make([]ast.Expr, len(e.Args))
			for i, a := range e.Args {
				args[i] = a.Value
			}
			k = c.allLiterals(args...)
		}
	}
	c.kinds[e] = k
	return k
}

// allLiterals is the kind of several expressions that share one type.
func (c *Checker) allLiterals(es ...ast.Expr) literal.Kind {
	k := literal.Typed
	for _, e := range es {
		kind := c.LiteralKindOf(e)
		if kind == literal.Typed {
			return literal.Typed
		}
		k = max(k, kind)
	}
	return k
}

// Together types operands that share one element type; see Note [Untyped literals].
func (c *Checker) Together(es []ast.Expr, want types.DType) []tree.Expr {
	out := make([]tree.Expr, len(es))
	elem := types.Invalid
	kind := literal.Typed
	for i, e := range es {
		if k := c.LiteralKindOf(e); k != literal.Typed {
			kind = max(kind, k)
			continue
		}
		hint := want
		if elem != types.Invalid {
			hint = elem
		}
		out[i] = c.Expr(e, literal.Want(hint))
		if d := types.ElemOf(out[i].Type()); elem == types.Invalid {
			elem = d
		}
	}
	if kind == literal.Typed {
		return out
	}
	if elem == types.Invalid {
		elem = literal.Default(kind, want)
	}
	for i, e := range es {
		if out[i] == nil {
			out[i] = c.Expr(e, literal.Want(elem))
		}
	}
	return out
}

// Literal types a literal; neg is set when a minus stands directly before it, and at covers both.
func (c *Checker) Literal(e *ast.Lit, neg bool, want types.Type, at diag.Span) tree.Expr {
	switch e.Kind {
	case ast.StringLit:
		return tree.StringConst(e.Value, at)
	case ast.BoolLit:
		bits := uint64(0)
		if e.Value == "true" {
			bits = 1
		}
		return tree.ScalarConst(types.Bool, bits, at)
	}
	elem, bits, ok := c.number(e, neg, types.ElemOf(want), at)
	if !ok {
		return tree.Bad(at)
	}
	return tree.ScalarConst(elem, bits, at)
}

// number gives the type and the bits of a number or char literal.
func (c *Checker) number(e *ast.Lit, neg bool, want types.DType, at diag.Span) (types.DType, uint64, bool) {
	kind, elem := literal.Ints, types.Invalid
	if e.Kind == ast.FloatLit {
		kind = literal.Floats
	}
	switch {
	case e.Suffix != "":
		elem, _ = types.ParseDType(e.Suffix)
		if !elem.IsNumber() {
			c.Errorf(diag.CodeUnknownType, at, "unknown suffix %s of a literal", report.Quote(e.Suffix))
			return elem, 0, false
		}
	case e.Kind == ast.CharLit:
		elem = types.I32
	default:
		elem = literal.Default(kind, want)
	}
	if elem.IsFloat() {
		bits, ok := literal.FloatBits(elem, e.Value, neg)
		if !ok {
			c.Errorf(diag.CodeLiteral, at, "%s is too large for %s", digits(at), elem)
		}
		return elem, bits, ok
	}
	n, err := literal.ParseInt(e.Value)
	bits, fits := literal.IntBits(elem, n, neg)
	if err == nil && fits {
		return elem, bits, true
	}
	r := c.Errorf(diag.CodeLiteral, at, "%s does not fit %s", digits(at), elem)
	lo, hi := literal.IntRange(elem)
	r.Label("%s holds %s to %s", elem, lo, hi)
	if err == nil && e.Suffix == "" && !want.IsNumber() {
		if _, ok := literal.IntBits(types.I64, n, neg); ok {
			r.Help("with no context a literal is i32: write `%s_i64`", at.Text())
		}
	}
	return elem, 0, false
}

// mostDigits is how much of a literal a message shows.
const mostDigits = 60

// digits is the text of a literal, or how long it is.
func digits(at diag.Span) string {
	text := at.Text()
	if len(text) > mostDigits {
		return fmt.Sprintf("%s... (%d characters)", text[:mostDigits/2], len(text))
	}
	return text
}

// array types an array literal. One whose elements are constants is one constant.
func (c *Checker) array(e *ast.Array, want types.Type) tree.Expr {
	if len(e.Elems) == 0 {
		elem := types.ElemOf(want)
		if !elem.Converts() {
			c.Errorf(diag.CodeRagged, e.Loc, "the element type of `[]` is not known").Help(
				"give it: `let x: f32[0] = [];` or `zeros[f32, 0]()`")
			return tree.Bad(e.Loc)
		}
		return tree.ConstArray(elem, []int64{0}, nil, e.Loc)
	}
	elem := types.Invalid
	switch k := c.LiteralKindOf(e); {
	case k != literal.Typed:
		elem = literal.Default(k, types.ElemOf(want))
	default:
		elem = types.ElemOf(want)
	}
	if out, done := c.numbers(e, elem); done {
		return out
	}
	elems := c.Together(e.Elems, elem)
	return c.stackElems(e, elems)
}

// numbers types an array of literals and nested arrays of them without an expression for each. It is
// not done when something else is among them.
func (c *Checker) numbers(e *ast.Array, elem types.DType) (tree.Expr, bool) {
	if c.LiteralKindOf(e) == literal.Typed || c.general[e] {
		return nil, false
	}
	a := &ir.Array{DType: elem}
	ok := true
	var walk func(e *ast.Array, depth int) bool
	walk = func(e *ast.Array, depth int) (plain bool) {
		defer func() { c.general[e] = !plain }() // so that its rows are not tried again from every level
		if depth >= scope.MaxRank {
			return false
		}
		if depth == len(a.Shape) {
			a.Shape = append(a.Shape, int64(len(e.Elems)))
		} else if a.Shape[depth] != int64(len(e.Elems)) {
			return false
		}
		for _, x := range e.Elems {
			l, neg := literal.Number(x)
			switch x := x.(type) {
			case *ast.Array:
				if depth+1 >= len(a.Shape) && len(a.Bits) > 0 || len(x.Elems) == 0 || !walk(x, depth+1) {
					return false
				}
			default:
				if l == nil || depth != len(a.Shape)-1 || l.Kind == ast.FloatLit && !elem.IsFloat() {
					return false
				}
				_, bits, fits := c.number(l, neg, elem, x.Span())
				ok = ok && fits
				a.Bits = append(a.Bits, bits)
			}
		}
		return true
	}
	if !walk(e, 0) {
		return nil, false // ragged, or more than literals: the general way says what
	}
	if !ok {
		return tree.Bad(e.Loc), true
	}
	if !c.Extents(e.Loc, a.Type()) {
		return tree.Bad(e.Loc), true
	}
	return tree.NewConst(a, e.Loc), true
}

// stackElems joins the elements of an array literal along a new first axis.
func (c *Checker) stackElems(e *ast.Array, elems []tree.Expr) tree.Expr {
	for _, x := range elems {
		if tree.IsBad(x) {
			return tree.Bad(e.Loc)
		}
	}
	first, ok := elems[0].Type().(types.Tensor)
	if !ok || !first.Elem.Converts() {
		what := "a tuple"
		if ok {
			what = "a " + first.Elem.String()
		} else if types.Equal(elems[0].Type(), types.Unit) {
			what = "unit"
		}
		c.Errorf(diag.CodeRagged, elems[0].Span(), "an array holds numbers or bools, not %s", what).Label("%s",
			elems[0].Type())
		return tree.Bad(e.Loc)
	}
	constant := true
	for _, x := range elems {
		if !types.Equal(x.Type(), first) {
			r := c.Errorf(diag.CodeRagged, x.Span(), "the elements of an array are of one type: %s and %s differ",
				first, x.Type()).
				Label("%s", x.Type()).Related(elems[0].Span(), "%s", first)
			if t, ok := x.Type().(types.Tensor); ok && t.Elem == first.Elem && t.Rank() > 0 && first.Rank() > 0 {
				r.Note("a row of %s stands beside one of %s", first.Shape, t.Shape)
			} else {
				r.Explain(x.Span(), first, x.Type())
			}
			return tree.Bad(e.Loc)
		}
		_, isConst := x.(*tree.Const)
		constant = constant && isConst
	}
	shape := append(types.Shape{types.Lit(1)}, first.Shape...)
	if constant {
		if !c.Extents(e.Loc, types.Tensor{Elem: first.Elem, Shape: shape}) {
			return tree.Bad(e.Loc)
		}
		dims, _ := first.Shape.Ints()
		bits := make([]uint64, 0, len(elems))
		for _, x := range elems {
			bits = append(bits, x.(*tree.Const).Value.Bits...)
		}
		return tree.ConstArray(first.Elem, append([]int64{int64(len(elems))}, dims...), bits, e.Loc)
	}
	rows := make([]tree.Expr, len(elems))
	for i, x := range elems {
		rows[i] = c.Reshape(x.Span(), x, shape)
	}
	if len(rows) == 1 {
		return rows[0]
	}
	return c.Apply(e.Loc, ops.Concat, ir.A{"axis": int64(0)}, rows...)
}

// takesLiteralType reports whether name is a function whose literals take their type from outside.
func (c *Checker) takesLiteralType(name string) bool {
	b := c.Language.Functions[name]
	return b != nil && b.Literal && c.Funcs[name] == nil && !c.IsValue(name)
}
