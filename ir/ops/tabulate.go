package ops

import (
	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Tabulate computes a tensor from its indices.
var Tabulate = ir.Declare("tabulate")
var _ = ir.Define(Tabulate, ir.OpDef{
	Class: ir.Scope, Surface: "tabulate", Regions: 1,
	Space: func(op *ir.Op) types.Shape { return op.Dims("shape") },
	Params: []ir.Param{
		{Name: "d1, d2, ..., |i1, i2, ...| e", Kind: ir.ParamRest, Default: 2},
	},
	Summary: "The tensor whose element at an index is the value of the region there; tensor values add their axes.",
	Attrs:   []ir.AttrDef{{Name: "shape", Kind: ir.AttrDims, Doc: "the extents of the index axes"}},
	Infer: func(_ []types.Tensor, attrs ir.Attrs, regions []*ir.Block) ([]types.Tensor, error) {
		shape, body := attrs[0].(types.Shape), regions[0]
		if len(body.Params) != len(shape) {
			return nil, broken("C1", "the function of `tabulate` takes %s, not %d",
				types.Count(len(shape), "parameter"), len(body.Params))
		}
		for _, p := range body.Params {
			if p.Type.Elem != types.I32 || !p.Type.IsScalar() {
				return nil, broken("C1", "an index of `tabulate` is an i32, not %s", p.Type)
			}
		}
		if len(body.Yields) != 1 || !elements.has(body.Yields[0].Type.Elem) {
			return nil, broken("C2", "the function of `tabulate` gives one tensor of numbers or bools")
		}
		t := body.Yields[0].Type
		out := types.Tensor{Elem: t.Elem, Shape: append(append(types.Shape{}, shape...), t.Shape...)}
		return []types.Tensor{out}, nil
	},
	Eval: evalTabulate,
	Element: func(p ir.Pull, op *ir.Op, _ int, at []scalar.Ref) scalar.Ref {
		n := len(op.Regions[0].Params)
		index := make([]scalar.Ref, n)
		for i := range index {
			index[i] = p.E().Cast(types.I32, at[i])
		}
		return p.Region(op, 0, 0, index, at[n:])
	},
	VJP: vjp(tabulateRule),
	Constraints: []ir.Constraint{
		{Name: "C1", Text: "the region has one i32 parameter for each extent"},
		{Name: "C2", Text: "the region yields one tensor of numbers or bools"},
	},
	Example: "tabulate(2, 3, |i, j| 10 * i + j) == [[0, 1, 2], [10, 11, 12]]",
})

func evalTabulate(c ir.EvalContext, op *ir.Op, _ []*ir.Array) ([]*ir.Array, error) {
	shape := extents(c, op.Dims("shape"))
	out := ir.NewArray(op.Type().Elem, extents(c, op.Type().Shape)...)
	index := make([]int64, len(shape))
	for at := 0; at < len(out.Bits); {
		params := make([]*ir.Array, len(index))
		for k, i := range index {
			params[k] = scalarArray(types.I32, scalar.IntBits(types.I32, i))
		}
		y, err := c.Region(op, 0, params...)
		if err != nil {
			return nil, err
		}
		at += copy(out.Bits[at:], y[0].Bits)
		next(index, shape)
	}
	return one(out)
}

// Note [Gradients of tabulate]: the function of a tabulate reads elements of what it captures, at positions that it
// computes. Its derivative by an element that is read is a tabulate again, of the derivative at each index; these
// are then added at the positions, in row-major order of the index. Where the positions are the index itself, as in
// a `map`, they are the gradient. Of what is captured and used as a whole, the gradients are summed over all indices.

func tabulateRule(t *tape, op *ir.Op, cts []*ir.Value) {
	region := op.Regions[0]
	shape := op.Dims("shape")
	caps := t.variedCaptures(region)
	body, err := ir.NewCloner().Block(region)
	if err != nil {
		panic("BUG: copying without substitution: " + err.Error())
	}
	expandAll(body, op.Span)
	captured := map[*ir.Value]bool{}
	for _, v := range caps {
		captured[v] = true
	}
	var reads []*ir.Op // of elements of what is captured
	for _, o := range body.Ops {
		if o.Def == Index && len(o.Args) > 1 && captured[o.Args[0]] {
			reads = append(reads, o)
		}
	}
	// each is the tensor of what value gives at every index, after the operations of the body.
	each := func(value func(b *ir.Builder, c *ir.Cloner, index []*ir.Value) *ir.Value) *ir.Value {
		r := &ir.Block{}
		c := ir.NewCloner()
		for _, p := range body.Params {
			c.Values[p] = r.Param(p.Name, p.Type, p.Span)
		}
		if err := c.Append(r, body); err != nil {
			panic("BUG: copying without substitution: " + err.Error())
		}
		r.Yields = []*ir.Value{value(&ir.Builder{Block: r, Span: op.Span}, c, r.Params)}
		tidy(r, op.Span)
		return t.b.EmitOp(Tabulate, ir.A{"shape": shape}, nil, []*ir.Block{r}).Results[0]
	}
	// The function of the index and of what is read, which captures the rest.
	inner := ir.NewCloner()
	given := &ir.Block{}
	for _, p := range body.Params {
		inner.Values[p] = given.Param(p.Name, p.Type, p.Span)
	}
	for _, o := range reads {
		inner.Values[o.Result()] = given.Param("", o.Type(), o.Span)
	}
	isRead := map[*ir.Op]bool{}
	for _, o := range reads {
		isRead[o] = true
	}
	for _, o := range body.Ops {
		if isRead[o] {
			continue
		}
		cp, err := inner.Op(o)
		if err != nil {
			panic("BUG: copying without substitution: " + err.Error())
		}
		given.Ops = append(given.Ops, cp)
	}
	given.Yields = inner.ValueList(body.Yields)
	whole := t.variedCaptures(given)
	var by []int64
	for i := range reads {
		by = append(by, int64(len(body.Params)+i))
	}
	// gradient is number k of the derivatives by the reads and then by the rest.
	gradient := func(k int) *ir.Value {
		return each(func(b *ir.Builder, c *ir.Cloner, index []*ir.Value) *ir.Value {
			args := append([]*ir.Value{}, index...)
			for _, o := range reads {
				args = append(args, c.Value(o.Result()))
			}
			axes := make([]int64, len(shape))
			for i := range axes {
				axes[i] = int64(i)
			}
			ct := b.Emit(Index, ir.A{"axes": axes}, append([]*ir.Value{cts[0]}, index...)...)
			return closureVjp(b, given, args, by, whole, []*ir.Value{ct}, nil)[k]
		})
	}
	for k, o := range reads {
		x, g := o.Args[0], gradient(k)
		if atIndex(body, o, shape) {
			t.Add(x, g)
			continue
		}
		at := each(func(b *ir.Builder, c *ir.Cloner, _ []*ir.Value) *ir.Value {
			var at *ir.Value
			for i, p := range o.Args[1:] {
				p = b.Emit(Cast, ir.A{"to": types.I64}, c.Value(p))
				if at != nil {
					extent := b.Emit(Dim, ir.A{"dim": x.Type.Shape[o.Ints("axes")[i]]})
					p = b.Emit(Add, nil, b.Emit(Mul, nil, at, b.Emit(Cast, ir.A{"to": types.I64}, extent)), p)
				}
				at = p
			}
			return at
		})
		t.scatter(x, o.Ints("axes"), at, g)
	}
	axes := make([]int64, len(shape))
	for i := range axes {
		axes[i] = int64(i)
	}
	for k, v := range whole {
		t.Add(v, t.Emit(ReduceSum, ir.A{"axes": axes}, gradient(len(reads)+k)))
	}
}

// atIndex reports that a read of a tabulate's function is of the element at the index, of a tensor of the same extents.
func atIndex(body *ir.Block, read *ir.Op, shape types.Shape) bool {
	if len(read.Args)-1 != len(shape) || !read.Args[0].Type.Shape.Equal(shape) {
		return false
	}
	for i, p := range read.Args[1:] {
		if p != body.Params[i] {
			return false
		}
	}
	return true
}
