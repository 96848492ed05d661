package check

import (
	"slices"
	"strings"
	"sync"

	"healc/ir"
	"healc/ir/ops"
	"healc/lang/ast"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// builtin is a function of the language: an operation of the table, or made of operations by code of the front end.
type builtin struct {
	params   []string
	required int    // how many of them have to be given
	brackets string // what stands in brackets before the arguments, for the signature; "" for nothing
	generic  bool   // takes arguments in brackets
	variadic string // set when it takes any number of arguments: those, for the signature
	build    func(c *checker, e *ast.Call, args []ast.Expr, want types.Type) tree.Expr

	op      *ir.OpDef // of an element-wise function
	floats  bool      // of an element-wise function: takes floats alone
	literal bool      // of an element-wise function: operands and result have one element type
}

func (b *builtin) signature(name string) string {
	s := name
	if b.brackets != "" {
		s += "[" + b.brackets + "]"
	}
	if b.variadic != "" {
		return s + "(" + b.variadic + ")"
	}
	params := append([]string{}, b.params...)
	for i := b.required; i < len(params); i++ {
		params[i] += " = ..."
	}
	return s + "(" + strings.Join(params, ", ") + ")"
}

// The functions of the language by name. They are made when they are asked for: the functions that make them look names
// up in the table, and not every command of healc checks a program.
var (
	functionTable map[string]*builtin
	functionsMade sync.Once
)

// builtins are the functions of the language by name.
func builtins() map[string]*builtin {
	functionsMade.Do(func() { functionTable = makeFunctions() })
	return functionTable
}

// makeFunctions lists the operations that are called as functions, and the functions that are made of operations.
func makeFunctions() map[string]*builtin {
	out := map[string]*builtin{}
	special, fit := specialCalls(), operandFits()
	for _, d := range ir.Ops() {
		name := d.FunctionName()
		switch {
		case name == "":
		case d.Class == ir.Pointwise && special[d] == nil:
			out[name] = elementwiseBuiltin(d)
		default:
			out[name] = operationBuiltin(d, special[d], fit[d])
		}
	}
	for _, group := range []map[string]*builtin{shapeFunctions(), movementFunctions(), assertFunctions(),
		loopFunctions(), placeFunctions(), modularFunctions(), gradFunctions()} {
		for name, b := range group {
			if out[name] != nil {
				panic("BUG: two functions are called " + name)
			}
			out[name] = b
		}
	}
	return out
}

// elementwiseBuiltin is the function of a pointwise operation.
func elementwiseBuiltin(d *ir.OpDef) *builtin {
	b := &builtin{op: d}
	for _, p := range d.Params {
		b.params = append(b.params, p.Name)
	}
	switch {
	case d.Params != nil:
	case d.Arity == 1:
		b.params = []string{"x"}
	default:
		b.params = []string{"a", "b", "c"}[:d.Arity]
	}
	b.required = len(b.params)
	result := func(elem types.DType) (types.DType, bool) {
		args := make([]types.Tensor, d.Arity)
		for i := range args {
			args[i] = types.Scalar(elem)
		}
		out, err := d.Infer(args, d.MakeAttrs(nil), nil)
		if err != nil {
			return types.Invalid, false
		}
		return out[0].Elem, true
	}
	_, ints := result(types.I32)
	float, floats := result(types.F32)
	b.floats = floats && !ints
	b.literal = floats && float == types.F32
	b.build = func(c *checker, e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
		if d == ops.Select {
			cond := c.expr(args[0], types.Scalar(types.Bool))
			arms := c.together(args[1:], types.ElemOf(want))
			return c.where(e.Loc, cond, arms[0], arms[1])
		}
		hint := types.Invalid
		if b.literal {
			hint = types.ElemOf(want)
		}
		if b.floats && !hint.IsFloat() {
			hint = types.F32 // what literals become: sqrt(2) is sqrt(2.0)
		}
		return c.pointwise(e.Loc, d, c.together(args, hint))
	}
	return b
}

// takesLiteralType reports whether name is a function whose literals take their type from outside.
func (c *checker) takesLiteralType(name string) bool {
	b := builtins()[name]
	return b != nil && b.literal && c.funcs[name] == nil && !c.isValue(name)
}

// pointwise is an element-wise function of typed arguments, which broadcast.
func (c *checker) pointwise(at diag.Span, op *ir.OpDef, args []tree.Expr) tree.Expr {
	shape := types.Shape{}
	for i, a := range args {
		if tree.IsBad(a) {
			return tree.Bad(at)
		}
		t, ok := a.Type().(types.Tensor)
		if !ok {
			c.errorf(diag.CodeOperands, a.Span(), "%s takes tensors or scalars, not %s", spelled(op),
				a.Type()).Label("%s", a.Type())
			return tree.Bad(at)
		}
		if first := types.ElemOf(args[0].Type()); t.Elem != first && op != ops.Select {
			c.differ(a.Span(), spelled(op), args[0], a, func(d types.DType) bool {
				_, err := op.Infer(slices.Repeat([]types.Tensor{types.Scalar(d)}, len(args)), nil, nil)
				return err == nil
			}).Label("%s", a.Type()).Related(args[0].Span(), "%s", args[0].Type())
			return tree.Bad(at)
		}
		next, err := types.Broadcast(shape, t.Shape)
		if err != nil {
			c.rule(diag.CodeNotBroadcastable, at, err).Label("%s", typeList(args[:i+1]))
			return tree.Bad(at)
		}
		shape = next
	}
	out := make([]tree.Expr, len(args))
	for i, a := range args {
		out[i] = c.broadcast(a, shape)
	}
	return c.apply(at, op, nil, out...)
}

// where is `where(cond, a, b)`.
func (c *checker) where(at diag.Span, cond, a, b tree.Expr) tree.Expr {
	if tree.IsBad(cond) || tree.IsBad(a) || tree.IsBad(b) {
		return tree.Bad(at)
	}
	if types.ElemOf(cond.Type()) != types.Bool {
		r := c.errorf(diag.CodeOperands, cond.Span(), "the condition of `where` is bool, not %s",
			cond.Type()).Label("%s", cond.Type())
		if types.ElemOf(cond.Type()).IsNumber() {
			r.Help("compare it: `.!= 0`")
		}
		return tree.Bad(at)
	}
	if x, y := types.ElemOf(a.Type()), types.ElemOf(b.Type()); x != y && x.Converts() && y.Converts() {
		c.differ(b.Span(), "`where`", a, b, nil).Label("%s", b.Type()).Related(a.Span(), "%s", a.Type())
		return tree.Bad(at)
	}
	return c.pointwise(at, ops.Select, []tree.Expr{cond, a, b})
}

// constInt is an integer that is known now.
func (c *checker) constInt(e ast.Expr, what string) (int64, bool) {
	d, p := c.tryDim(e, false)
	if p == nil {
		if n, ok := d.Const(); ok {
			return n, true
		}
	} else if p.Bad || p.Code != diag.CodeShapeExpr {
		c.dim(e) // reports it
		return 0, false
	}
	c.errorf(diag.CodeNotConstant, e.Span(), "%s has to be an integer that is known when the program is compiled", what)
	return 0, false
}

// constFlag is a bool that is known now; nil is false.
func (c *checker) constFlag(e ast.Expr, what string) (bool, bool) {
	if e == nil {
		return false, true
	}
	x := c.expr(e, types.Scalar(types.Bool))
	if k, ok := x.(*tree.Const); ok && types.Equal(k.T, types.Scalar(types.Bool)) {
		return k.Value.Bits[0] != 0, true
	}
	if !tree.IsBad(x) {
		c.errorf(diag.CodeNotConstant, e.Span(), "%s has to be true or false", what)
	}
	return false, false
}

// axis is one axis of a tensor of the given rank, counted from the front.
func (c *checker) axis(e ast.Expr, rank int) (int64, bool) {
	n, ok := c.constInt(e, "an axis")
	if !ok {
		return 0, false
	}
	if n < -int64(rank) || n >= int64(rank) {
		r := c.errorf(diag.CodeAxis, e.Span(), "axis %d is out of range for a tensor of rank %d", n, rank)
		switch rank {
		case 0:
			r.Help("a scalar has no axes")
		case 1:
			r.Help("the only axis is 0, or -1")
		default:
			r.Help("the axes are 0 to %d, or -%d to -1", rank-1, rank)
		}
		return 0, false
	}
	if n < 0 {
		n += int64(rank)
	}
	return n, true
}

// axes is an axis or a tuple of axes, sorted; nil means all.
func (c *checker) axes(e ast.Expr, rank int) ([]int64, bool) {
	out := []int64{}
	if e == nil {
		for k := range rank {
			out = append(out, int64(k))
		}
		return out, true
	}
	list := []ast.Expr{ast.Unparen(e)}
	switch l := list[0].(type) {
	case *ast.Tuple:
		list = l.Elems
	case *ast.Array:
		list = l.Elems
	}
	seen := make([]bool, rank)
	for _, x := range list {
		n, ok := c.axis(x, rank)
		if !ok {
			return nil, false
		}
		if seen[n] {
			c.errorf(diag.CodeAxis, x.Span(), "axis %d is named twice", n)
			return nil, false
		}
		seen[n] = true
	}
	for k, s := range seen {
		if s {
			out = append(out, int64(k))
		}
	}
	return out, true
}

// dimList is `[d1, d2]`, a list of shape expressions.
func (c *checker) dimList(e ast.Expr) (types.Shape, []ast.Expr, bool) {
	var elems []ast.Expr
	switch l := ast.Unparen(e).(type) {
	case *ast.Array:
		elems = l.Elems
	case *ast.Tuple:
		elems = l.Elems
	default:
		c.errorf(diag.CodeShapeExpr, e.Span(), "a shape is a list of extents").Help("write it as `[2, N]`")
		return nil, nil, false
	}
	shape := types.Shape{}
	for _, x := range elems {
		d, ok := c.dim(x)
		if !ok {
			return nil, nil, false
		}
		shape = append(shape, d)
	}
	return shape, elems, true
}
