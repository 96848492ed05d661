package infer

import (
	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/ast"
	"healc/lang/check/report"
	"healc/lang/check/scope"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// Constant computes the value of k, once.
func (c *Checker) Constant(k *scope.Const) {
	switch k.State {
	case scope.ConstDone:
		return
	case scope.ConstActive:
		c.Errorf(diag.CodeConstCycle, k.Decl.Name.Loc, "constant %s depends on itself", report.Quote(k.Decl.Name.Name))
		return
	}
	k.State = scope.ConstActive
	c.InModule(k.Mod, func() {
		c.Cur = &scope.Owner{Name: k.Decl.Name.Name}
		k.Value = c.constValue(k.Decl)
	})
	k.State = scope.ConstDone
}

func (c *Checker) constValue(d *ast.ConstDecl) *ir.Array {
	t, _ := d.Type.(*ast.TensorType)
	if t != nil && t.Elem.Name == "nat" && !t.Square {
		n, ok := c.Dim(d.Value)
		if !ok {
			return nil
		}
		v, _ := n.Const()
		if v < 0 || v > types.MaxExtent {
			c.Errorf(diag.CodeExtent, d.Value.Span(), "constant %s is %d: a nat is at least 0 and at most %d",
				report.Quote(d.Name.Name), v, int64(types.MaxExtent))
			return nil
		}
		return &ir.Array{DType: types.I32, Bits: []uint64{uint64(v)}}
	}
	want := types.ErrorType
	if d.Type != nil {
		want = c.TypeOf(d.Type)
		if bare := types.Bare(want); !types.Equal(want, bare) {
			c.Errorf(diag.CodePlace, d.Type.Span(),
				"a constant has no layout, no place and no sharding: it is wherever it is needed").Label("%s", want).
				Help("write `%s`", bare).Fix(d.Type.Span(), bare.String())
			return nil
		}
	} else {
		c.Cur.Failed = true // the parser has reported it
	}
	x := c.Expr(d.Value, want)
	if tree.IsBad(x) || types.IsError(want) {
		return nil
	}
	if !types.Equal(x.Type(), want) {
		c.Mismatch(x.Span(), "constant "+report.Quote(d.Name.Name), want, x.Type())
		return nil
	}
	v, ok := x.(*tree.Const)
	if !ok {
		c.Errorf(diag.CodeNotConstant, x.Span(), "the value of constant %s is not known when the program is compiled",
			report.Quote(d.Name.Name)).
			Help("a constant is made of literals, other constants, operators and element-wise functions")
		return nil
	}
	return v.Value
}

// intValue is the value of an integer constant.
func intValue(a *ir.Array) (int64, bool) {
	if !a.DType.IsInt() || len(a.Shape) > 0 {
		return 0, false
	}
	n := scalar.EvalInstr(scalar.Cast, types.I64, a.DType, a.Bits[0])
	return int64(n), a.DType != types.U64 || n < 1<<63
}
