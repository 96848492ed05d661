package ops

import (
	"math"

	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Const is a tensor that the compiler knows.
var Const = ir.Declare("const")
var _ = ir.Define(Const, ir.OpDef{
	Class: ir.Source, Traits: ir.Cheap,
	Sharding: ir.ShardSource,
	Summary:  "The tensor, or the string, that is given as an attribute.",
	Attrs:    []ir.AttrDef{{Name: "value", Kind: ir.AttrArray, Doc: "the elements"}},
	Infer: func(_ []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		a := attrs[0].(*ir.Array)
		if !a.DType.Converts() && a.DType != types.String {
			return nil, broken("C1", "a constant has an element type")
		}
		n := int64(1)
		for _, s := range a.Shape {
			if s < 0 || s > types.MaxExtent {
				return nil, ir.CheckExtents(a.Type())
			}
			if s != 0 && n > math.MaxInt64/s {
				return nil, broken("C1", "a constant of type %s cannot have that many elements", a.Type())
			}
			n *= s
		}
		if a.DType == types.String && len(a.Shape) > 0 {
			return nil, broken("C1", "a string is a scalar")
		}
		if a.DType != types.String && n != a.Len() {
			return nil, broken("C1", "a constant of type %s has %d elements, not %d", a.Type(), n, a.Len())
		}
		return []types.Tensor{a.Type()}, nil
	},
	Eval:        evalConst,
	Element:     elementConst,
	NoGrad:      "a constant depends on nothing",
	Constraints: []ir.Constraint{{Name: "C1", Text: "the value has as many elements as its shape says"}},
	Example:     "[1, 2, 3] == [1, 2, 3]",
})

func evalConst(_ ir.EvalContext, op *ir.Op, _ []*ir.Array) ([]*ir.Array, error) {
	return one(op.Array("value"))
}

// elementConst gives scalars, and tensors whose elements are all the same. Other constants are data that
// the lowering gives a buffer, so they are never pulled.
func elementConst(p ir.Pull, op *ir.Op, _ int, _ []scalar.Ref) scalar.Ref {
	a := op.Array("value")
	if len(a.Bits) == 0 {
		return p.E().Bits(a.DType, 0) // an empty tensor: nothing runs this
	}
	for _, b := range a.Bits {
		if b != a.Bits[0] {
			panic("BUG: a constant tensor is pulled element by element")
		}
	}
	return p.E().Bits(a.DType, a.Bits[0])
}

// Dim is the value of a shape expression.
var Dim = ir.Declare("dim")
var _ = ir.Define(Dim, ir.OpDef{
	Class: ir.Source, Traits: ir.Cheap,
	Sharding: ir.ShardSource,
	Summary:  "The value of a shape expression, an i32.",
	Attrs:    []ir.AttrDef{{Name: "dim", Kind: ir.AttrDim, Doc: "the expression"}},
	Infer: func(_ []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		if n, ok := attrs[0].(types.Dim).Const(); ok && n != int64(int32(n)) {
			return nil, broken("C1", "the value %d of a shape expression does not fit i32", n)
		}
		return []types.Tensor{types.Scalar(types.I32)}, nil
	},
	Eval: evalDim,
	Element: func(p ir.Pull, op *ir.Op, _ int, _ []scalar.Ref) scalar.Ref {
		return p.E().Cast(types.I32, p.Extent(op.Dim("dim")))
	},
	NoGrad:      "an extent is an integer",
	Constraints: []ir.Constraint{{Name: "C1", Text: "the value fits i32"}},
	Decls:       "fn length[N](x: f32[N]) -> i32 = N",
	Example:     "length([1.0, 2.0, 3.0]) == 3",
})

func evalDim(c ir.EvalContext, op *ir.Op, _ []*ir.Array) ([]*ir.Array, error) {
	return one(ir.NewScalar(types.I32, scalar.IntBits(types.I32, c.Dim(op.Dim("dim")))))
}

// Iota counts.
var Iota = ir.Declare("iota")
var _ = ir.Define(Iota, ir.OpDef{
	Class: ir.Source, Traits: ir.Cheap, Surface: "..",
	Sharding: ir.ShardSource,
	Function: "iota", Brackets: "type",
	Params: []ir.Param{
		{Name: "n", Kind: ir.ParamValue, Attr: "extent"},
	},
	Summary: "The i32 vector start, start+1, ... of the given extent.",
	Attrs: []ir.AttrDef{
		{Name: "start", Kind: ir.AttrDim, Doc: "the first element"},
		{Name: "extent", Kind: ir.AttrDim, Doc: "how many elements"},
	},
	Infer: func(_ []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		start, extent := attrs[0].(types.Dim), attrs[1].(types.Dim)
		lo, ok := start.Const()
		n, known := extent.Const()
		if ok && known && n > 0 && n <= types.MaxExtent && (lo < math.MinInt32 || lo > math.MaxInt32-(n-1)) {
			return nil, broken("C1", "the range from %d of length %d does not fit i32", lo, n)
		}
		return []types.Tensor{{Elem: types.I32, Shape: types.Shape{extent}}}, nil
	},
	Eval: evalIota,
	Element: func(p ir.Pull, op *ir.Op, _ int, at []scalar.Ref) scalar.Ref {
		e := p.E()
		if op.Dim("start").IsConst(0) {
			return e.Cast(types.I32, at[0])
		}
		return e.Cast(types.I32, e.Add(p.Extent(op.Dim("start")), at[0]))
	},
	NoGrad:      "integers have no gradient",
	Constraints: []ir.Constraint{{Name: "C1", Text: "every element fits i32"}},
	Example:     "2..5 == [2, 3, 4]",
})

func evalIota(c ir.EvalContext, op *ir.Op, _ []*ir.Array) ([]*ir.Array, error) {
	start := c.Dim(op.Dim("start"))
	out := ir.NewArray(types.I32, c.Dim(op.Dim("extent")))
	for i := range out.Bits {
		out.Bits[i] = scalar.IntBits(types.I32, start+int64(i))
	}
	return one(out)
}
