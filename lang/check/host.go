package check

import (
	"healc/ir"
	"healc/ir/ops"
	"healc/lang/ast"
	"healc/lang/diag"
	"healc/lang/types"
)

// hostBuiltins are the functions for input and output.
func hostBuiltins() map[string]*builtin {
	one := func(build buildFunc) *builtin {
		return &builtin{params: []string{"x"}, required: 1, build: build}
	}
	number := func(op *ir.OpDef, d types.DType) *builtin {
		return one(func(c *checker, e *ast.Call, args []ast.Expr, _ types.Type) Expr {
			x := c.scalarOf(args[0], d, "the argument of "+spelled(op))
			return c.apply(e.Loc, op, nil, x)
		})
	}
	return map[string]*builtin{
		"print":     one((*checker).printCall),
		"print_str": number(ops.PrintStr, types.String),
		"print_i32": number(ops.PrintI32, types.I32),
		"print_i64": number(ops.PrintI64, types.I64),
		"print_f32": number(ops.PrintF32, types.F32),
		"print_f64": number(ops.PrintF64, types.F64),
		"load_npy": {
			params: []string{"path"}, required: 1, generic: true, brackets: "type, d1, d2, ...",
			build: (*checker).loadCall,
		},
		"save_npy": {params: []string{"path", "x"}, required: 2, build: (*checker).saveCall},
	}
}

// printCall is `print(x)`. The values of a tuple are the operands of one operation, so that nothing comes
// between them.
func (c *checker) printCall(e *ast.Call, args []ast.Expr, _ types.Type) Expr {
	x := c.expr(args[0], nil)
	if t, ok := x.Type().(types.Tuple); ok && !isBad(x) {
		if !c.effect(e.Loc, spelled(ops.Print)) {
			return bad(e.Loc)
		}
		return &Apply{Info: Info{types.Unit, e.Loc}, Op: ops.Print, Attrs: ir.A{"form": types.TupleForm(t)},
			Args: []Expr{x}}
	}
	return c.apply(e.Loc, ops.Print, nil, x)
}

// loadCall is `load_npy[T, d1, d2](path)`.
func (c *checker) loadCall(e *ast.Call, args []ast.Expr, _ types.Type) Expr {
	t, ok := c.typeAndShape(e, "load_npy")
	path := c.scalarOf(args[0], types.String, "the path")
	if !ok {
		return bad(e.Loc)
	}
	if t.Shape == nil {
		t.Shape = types.Shape{}
	}
	return c.apply(e.Loc, ops.LoadNpy, ir.A{"dtype": t.Elem, "shape": t.Shape}, path)
}

func (c *checker) saveCall(e *ast.Call, args []ast.Expr, _ types.Type) Expr {
	path := c.scalarOf(args[0], types.String, "the path")
	x := c.expr(args[1], nil)
	if isBad(path) || isBad(x) {
		return bad(e.Loc)
	}
	if t, ok := x.Type().(types.Tensor); !ok || !convertible(t.Elem) {
		c.errorf(diag.CodeMismatch, x.Span(), "`save_npy` writes a tensor or a scalar, not %s", x.Type()).label("%s",
			x.Type())
		return bad(e.Loc)
	}
	return c.apply(e.Loc, ops.SaveNpy, nil, path, x)
}
