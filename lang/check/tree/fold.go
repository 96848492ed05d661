package tree

import (
	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/types"
)

// maxFold bounds the elements of constants that are computed here.
const maxFold = 4096

// FoldConstant computes a pointwise operation on constants, so that the values of `const` declarations
// and the elements of array literals are data. It gives nil for everything else, and for what would
// fail: that fails when, and only if, it is evaluated.
func FoldConstant(n *Apply) Expr {
	if n.Op.Class != ir.Pointwise || n.Op.Scalar == nil || len(n.Args) == 0 {
		return nil
	}
	t := n.T.(types.Tensor)
	shape, ok := t.Shape.Ints()
	if !ok {
		return nil
	}
	ts := make([]types.DType, len(n.Args))
	cols := make([][]uint64, len(n.Args))
	for i, a := range n.Args {
		k, ok := a.(*Const)
		if !ok || len(k.Value.Bits) > maxFold {
			return nil
		}
		ts[i], cols[i] = k.Value.DType, k.Value.Bits
	}
	rec, params := scalar.NewRecorder(ts...)
	op := &ir.Op{Def: n.Op, Attrs: n.Op.MakeAttrs(n.Attrs), Span: n.Loc}
	op.SetResults([]types.Tensor{t})
	for _, a := range n.Args {
		op.Args = append(op.Args, &ir.Value{Type: a.Type().(types.Tensor)})
	}
	rec.Func.Results = []scalar.Ref{n.Op.Scalar(scalar.Emitter{Sink: rec}, op, params)}
	out := make([]uint64, len(cols[0]))
	if err := scalar.Compile(&rec.Func).Run(cols, [][]uint64{out}, len(out)); err != nil {
		return nil
	}
	return ConstArray(t.Elem, shape, out, n.Loc)
}
