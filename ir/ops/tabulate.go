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
	Sharding: ir.ShardTabulate,
	Space:    func(op *ir.Op) types.Shape { return op.Dims("shape") },
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
			params[k] = ir.NewScalar(types.I32, scalar.IntBits(types.I32, i))
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
	g := &tabulateGradient{t: t, op: op}
	caps := t.variedCaptures(op.Regions[0])
	var err error
	if g.body, err = ir.NewCloner().Block(op.Regions[0]); err != nil {
		panic("BUG: copying without substitution: " + err.Error())
	}
	expandAll(g.body, op.Span)
	captured := map[*ir.Value]bool{}
	for _, v := range caps {
		captured[v] = true
	}
	for _, o := range g.body.Ops {
		if o.Def == Index && len(o.Args) > 1 && captured[o.Args[0]] {
			g.reads = append(g.reads, o)
		}
	}
	given := g.withoutReads()
	whole := t.variedCaptures(given)
	var by []int64
	for i := range g.reads {
		by = append(by, int64(len(g.body.Params)+i))
	}
	axes := firstAxes(len(op.Dims("shape")))
	// gradient is number k of the derivatives by the reads and then by the rest.
	gradient := func(k int) *ir.Value {
		return g.each(func(b *ir.Builder, c *ir.Cloner, index []*ir.Value) *ir.Value {
			args := append([]*ir.Value{}, index...)
			for _, o := range g.reads {
				args = append(args, c.Value(o.Result()))
			}
			ct := b.Emit(Index, ir.A{"axes": axes}, append([]*ir.Value{cts[0]}, index...)...)
			return closureVjp(b, given, args, by, whole, []*ir.Value{ct}, nil)[k]
		})
	}
	for k, o := range g.reads {
		x, d := o.Args[0], gradient(k)
		if atIndex(g.body, o, op.Dims("shape")) {
			t.Add(x, d)
			continue
		}
		t.scatter(x, o.Ints("axes"), g.positions(o), d)
	}
	for k, v := range whole {
		t.Add(v, t.Emit(ReduceSum, ir.A{"axes": axes}, gradient(len(g.reads)+k)))
	}
}

// tabulateGradient is what the derivative of a tabulate is made of.
type tabulateGradient struct {
	t     *tape
	op    *ir.Op
	body  *ir.Block // its function, of simple operations
	reads []*ir.Op  // of elements of what is captured
}

// each is the tensor of what value gives at every index, after the operations of the body.
func (g *tabulateGradient) each(value func(b *ir.Builder, c *ir.Cloner, index []*ir.Value) *ir.Value) *ir.Value {
	r := &ir.Block{}
	c := ir.NewCloner()
	for _, p := range g.body.Params {
		c.Values[p] = r.Param(p.Name, p.Type, p.Span)
	}
	if err := c.Append(r, g.body); err != nil {
		panic("BUG: copying without substitution: " + err.Error())
	}
	r.Yields = []*ir.Value{value(&ir.Builder{Block: r, Span: g.op.Span}, c, r.Params)}
	tidy(r, g.op.Span)
	return g.t.b.EmitOp(Tabulate, ir.A{"shape": g.op.Dims("shape")}, nil, []*ir.Block{r}).Results[0]
}

// withoutReads is the function of the index and of what is read, which captures the rest.
func (g *tabulateGradient) withoutReads() *ir.Block {
	c := ir.NewCloner()
	given := &ir.Block{}
	for _, p := range g.body.Params {
		c.Values[p] = given.Param(p.Name, p.Type, p.Span)
	}
	isRead := map[*ir.Op]bool{}
	for _, o := range g.reads {
		isRead[o] = true
		c.Values[o.Result()] = given.Param("", o.Type(), o.Span)
	}
	for _, o := range g.body.Ops {
		if isRead[o] {
			continue
		}
		cp, err := c.Op(o)
		if err != nil {
			panic("BUG: copying without substitution: " + err.Error())
		}
		given.Ops = append(given.Ops, cp)
	}
	given.Yields = c.ValueList(g.body.Yields)
	return given
}

// positions are where a read is at each index, counted in row-major order through the axes that it indexes.
func (g *tabulateGradient) positions(read *ir.Op) *ir.Value {
	return g.each(func(b *ir.Builder, c *ir.Cloner, _ []*ir.Value) *ir.Value {
		var at *ir.Value
		for i, p := range read.Args[1:] {
			p = b.Emit(Cast, ir.A{"to": types.I64}, c.Value(p))
			if at != nil {
				extent := b.Emit(Dim, ir.A{"dim": read.Args[0].Type.Shape[read.Ints("axes")[i]]})
				p = b.Emit(Add, nil, b.Emit(Mul, nil, at, b.Emit(Cast, ir.A{"to": types.I64}, extent)), p)
			}
			at = p
		}
		return at
	})
}

// firstAxes are the first n axes.
func firstAxes(n int) []int64 {
	axes := make([]int64, n)
	for i := range axes {
		axes[i] = int64(i)
	}
	return axes
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
