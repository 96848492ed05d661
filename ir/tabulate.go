package ir

import (
	"healc/ir/scalar"
	"healc/lang/types"
)

// OpTabulate computes a tensor from its indices.
var OpTabulate = declare("tabulate")
var _ = define(OpTabulate, OpDef{
	Class: Scope, Surface: "tabulate", Regions: 1,
	Space:   func(op *Op) types.Shape { return op.Dims("shape") },
	Summary: "The tensor whose element at an index is the value of the region there; tensor values add their axes.",
	Attrs:   []AttrDef{{Name: "shape", Kind: AttrDims, Doc: "the extents of the index axes"}},
	Infer: func(_ []types.Tensor, attrs Attrs, regions []*Block) ([]types.Tensor, error) {
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
	Element: func(p Pull, op *Op, _ int, at []scalar.Ref) scalar.Ref {
		n := len(op.Regions[0].Params)
		index := make([]scalar.Ref, n)
		for i := range index {
			index[i] = p.E().Cast(types.I32, at[i])
		}
		return p.Region(op, 0, 0, index, at[n:])
	},
	VJP: tabulateRule,
	Constraints: []Constraint{
		{"C1", "the region has one i32 parameter for each extent"},
		{"C2", "the region yields one tensor of numbers or bools"},
	},
	Example: "tabulate(2, 3, |i, j| 10 * i + j) == [[0, 1, 2], [10, 11, 12]]",
})

func evalTabulate(c EvalContext, op *Op, _ []*Array) ([]*Array, error) {
	shape := extents(c, op.Dims("shape"))
	out := NewArray(op.Type().Elem, extents(c, op.Type().Shape)...)
	index := make([]int64, len(shape))
	for at := 0; at < len(out.Bits); {
		params := make([]*Array, len(index))
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

func tabulateRule(t *Tape, op *Op, cts []*Value) {
	region := op.Regions[0]
	shape := op.Dims("shape")
	caps := t.variedCaptures(region)
	body, err := NewCloner().Block(region)
	if err != nil {
		panic("BUG: copying without substitution: " + err.Error())
	}
	expandAll(body, op.Span)
	captured := map[*Value]bool{}
	for _, v := range caps {
		captured[v] = true
	}
	var reads []*Op // of elements of what is captured
	for _, o := range body.Ops {
		if o.Def == OpIndex && len(o.Args) > 1 && captured[o.Args[0]] {
			reads = append(reads, o)
		}
	}
	// each is the tensor of what value gives at every index, after the operations of the body.
	each := func(value func(b *Builder, c *Cloner, index []*Value) *Value) *Value {
		r := &Block{}
		c := NewCloner()
		for _, p := range body.Params {
			c.Values[p] = r.Param(p.Name, p.Type, p.Span)
		}
		if err := c.Append(r, body); err != nil {
			panic("BUG: copying without substitution: " + err.Error())
		}
		r.Yields = []*Value{value(&Builder{Block: r, Span: op.Span}, c, r.Params)}
		tidy(r, op.Span)
		return t.b.EmitOp(OpTabulate, A{"shape": shape}, nil, []*Block{r}).Results[0]
	}
	// The function of the index and of what is read, which captures the rest.
	inner := NewCloner()
	given := &Block{}
	for _, p := range body.Params {
		inner.Values[p] = given.Param(p.Name, p.Type, p.Span)
	}
	for _, o := range reads {
		inner.Values[o.Result()] = given.Param("", o.Type(), o.Span)
	}
	isRead := map[*Op]bool{}
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
	gradient := func(k int) *Value {
		return each(func(b *Builder, c *Cloner, index []*Value) *Value {
			args := append([]*Value{}, index...)
			for _, o := range reads {
				args = append(args, c.Value(o.Result()))
			}
			axes := make([]int64, len(shape))
			for i := range axes {
				axes[i] = int64(i)
			}
			ct := b.Emit(OpIndex, A{"axes": axes}, append([]*Value{cts[0]}, index...)...)
			return closureVjp(b, given, args, by, whole, []*Value{ct}, nil)[k]
		})
	}
	for k, o := range reads {
		x, g := o.Args[0], gradient(k)
		if atIndex(body, o, shape) {
			t.Add(x, g)
			continue
		}
		at := each(func(b *Builder, c *Cloner, _ []*Value) *Value {
			var at *Value
			for i, p := range o.Args[1:] {
				p = b.Emit(OpCast, A{"to": types.I64}, c.Value(p))
				if at != nil {
					extent := b.Emit(OpDim, A{"dim": x.Type.Shape[o.Ints("axes")[i]]})
					p = b.Emit(OpAdd, nil, b.Emit(OpMul, nil, at, b.Emit(OpCast, A{"to": types.I64}, extent)), p)
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
		t.Add(v, t.Emit(OpReduceSum, A{"axes": axes}, gradient(len(reads)+k)))
	}
}

// atIndex reports that a read of a tabulate's function is of the element at the index, of a tensor of the same extents.
func atIndex(body *Block, read *Op, shape types.Shape) bool {
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
