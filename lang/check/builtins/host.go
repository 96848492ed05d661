package builtins

import (
	"healc/ir"
	"healc/ir/ops"
	"healc/lang/ast"
	"healc/lang/check/infer"
	"healc/lang/check/scope"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// printCall is `print(x)`. The values of a tuple are the operands of one operation, so that nothing comes
// between them.
func printCall(c *infer.Checker, e *ast.Call, args []ast.Expr, _ types.Type) tree.Expr {
	x := c.Expr(args[0], nil)
	if t, ok := x.Type().(types.Tuple); ok && !tree.IsBad(x) {
		if !c.Effect(e.Loc, scope.Spelled(ops.Print)) {
			return tree.Bad(e.Loc)
		}
		return &tree.Apply{Info: tree.Of(types.Unit, e.Loc), Op: ops.Print, Attrs: ir.A{"form": types.TupleForm(t)},
			Args: []tree.Expr{x}}
	}
	return c.Apply(e.Loc, ops.Print, nil, x)
}

// loadCall is `load_npy[T, d1, d2](path)`.
func loadCall(c *infer.Checker, e *ast.Call, args []ast.Expr, _ types.Type) tree.Expr {
	t, ok := typeAndShape(c, e, "load_npy")
	path := c.ScalarOf(args[0], types.String, "the path")
	if !ok {
		return tree.Bad(e.Loc)
	}
	if t.Shape == nil {
		t.Shape = types.Shape{}
	}
	return c.Apply(e.Loc, ops.LoadNpy, ir.A{"dtype": t.Elem, "shape": t.Shape}, path)
}

// saveCall is a call such as `save_npy(path, x)`.
func saveCall(d *ir.OpDef) func(c *infer.Checker, e *ast.Call, args []ast.Expr, _ types.Type) tree.Expr {
	return func(c *infer.Checker, e *ast.Call, args []ast.Expr, _ types.Type) tree.Expr {
		path := c.ScalarOf(args[0], types.String, "the path")
		x := c.Expr(args[1], nil)
		if tree.IsBad(path) || tree.IsBad(x) {
			return tree.Bad(e.Loc)
		}
		if t, ok := x.Type().(types.Tensor); !ok || !t.Elem.Converts() {
			c.Errorf(diag.CodeMismatch, x.Span(), "`%s` writes a tensor or a scalar, not %s", d.Surface, x.Type()).
				Label("%s", x.Type())
			return tree.Bad(e.Loc)
		}
		return c.Apply(e.Loc, d, nil, path, x)
	}
}
