package ir

import (
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Gradients]: `vjp` and `jvp` hold the function that is differentiated as their region. They are defined by
// simpler operations (Expand): the operations of the region, followed by those of its derivative, which the VJP rules
// of the table write (Tape). So no stage behind the pass `expand` knows of gradients, and the interpreter evaluates
// the same operations as every kernel.
//
// Nothing but the region's own parameters is differentiated: what it captures is constant. Nested ones expand from
// the inside out, so that the derivative of a derivative is the derivative of plain operations.

// OpVjp is reverse mode.
var OpVjp = declare("vjp")
var _ = define(OpVjp, OpDef{
	Class: Scope, Arity: Variadic, Regions: 1,
	Summary: "The values of a function at a point, and the sums of their derivatives by some of its operands, " +
		"weighted by cotangents.",
	Attrs: []AttrDef{
		{Name: "wrt", Kind: AttrInts, Doc: "the parameters of the region by which it is differentiated, ascending"},
		{Name: "starts", Kind: AttrInts, Optional: true,
			Doc: "which of these, by position in wrt, have an operand that their gradient is added to"},
	},
	Infer:  inferVjp,
	Expand: expandVjp,
	Constraints: []Constraint{
		{"C1", "the operands are the region's parameters, a cotangent for each float that it yields, and the starts"},
		{"C2", "the parameters that are differentiated exist, ascending, and hold floats"},
	},
	Decls:   "fn area(x: f32, y: f32) -> f32 = x * y",
	Example: "{ let (a, b) = grad(area)(2.0, 3.0); [a, b] } == [3.0, 2.0]",
})

// OpJvp is forward mode.
var OpJvp = declare("jvp")
var _ = define(OpJvp, OpDef{
	Class: Scope, Arity: Variadic, Regions: 1,
	Summary: "The values of a function at a point, and how the floats among them change along a direction.",
	Attrs: []AttrDef{
		{Name: "wrt", Kind: AttrInts, Doc: "the parameters of the region that have a direction, ascending"},
	},
	Infer:  inferJvp,
	Expand: expandJvp,
	Constraints: []Constraint{
		{"C1", "the operands are the region's parameters and a direction for each of those in wrt"},
		{"C2", "the parameters that have a direction exist, ascending, and hold floats"},
	},
	Decls:   "fn area(x: f32, y: f32) -> f32 = x * y",
	Example: "jvp(area)(2.0, 3.0, 1.0, 0.0) == 3.0",
})

// OpStopGradient is a constant to derivatives.
var OpStopGradient = declare("stop_gradient")
var _ = pointwise(OpStopGradient, OpDef{
	Surface: "stop_gradient", Arity: 1, Traits: Cheap,
	Summary: "The operand, which derivatives take for a constant.",
	Scalar:  unary(func(_ scalar.Emitter, x scalar.Ref) scalar.Ref { return x }),
	NoGrad:  "it is what cuts a gradient",
	Example: "stop_gradient([1.0, 2.0]) == [1.0, 2.0]",
}, numbers, like)

// requireWrt checks the parameters that are differentiated and gives their types.
func requireWrt(what string, body *Block, wrt []int64) ([]types.Tensor, error) {
	var out []types.Tensor
	for i, w := range wrt {
		if w < 0 || w >= int64(len(body.Params)) || i > 0 && w <= wrt[i-1] {
			return nil, broken("C2", "`%s` by the parameters %v of %d", what, wrt, len(body.Params))
		}
		t := body.Params[w].Type
		if !t.Elem.IsFloat() {
			return nil, broken("C2", "`%s` differentiates by floats, not %s", what, t)
		}
		out = append(out, t)
	}
	return out, nil
}

// requireOperands checks the operands of a derivative against the types that they have to have.
func requireOperands(what string, args, want []types.Tensor) error {
	if len(args) != len(want) {
		return broken("C1", "`%s` takes %s here, not %d", what, types.Count(len(want), "operand"), len(args))
	}
	for i, t := range want {
		if !types.Equal(args[i], t) {
			return broken("C1", "operand %d of `%s` is %s, not %s", i, what, args[i], t)
		}
	}
	return nil
}

// floatsOf are those of ts that hold floats.
func floatsOf(ts []types.Tensor) []types.Tensor {
	var out []types.Tensor
	for _, t := range ts {
		if t.Elem.IsFloat() {
			out = append(out, t)
		}
	}
	return out
}

func inferVjp(args []types.Tensor, attrs Attrs, regions []*Block) ([]types.Tensor, error) {
	body, wrt := regions[0], attrs[0].([]int64)
	starts, _ := attrs[1].([]int64)
	by, err := requireWrt("vjp", body, wrt)
	if err != nil {
		return nil, err
	}
	yields := ArgTypes(body.Yields)
	want := append(ArgTypes(body.Params), floatsOf(yields)...)
	for i, s := range starts {
		if s < 0 || s >= int64(len(by)) || i > 0 && s <= starts[i-1] {
			return nil, broken("C1", "`vjp` has starts %v of %d gradients", starts, len(by))
		}
		want = append(want, by[s])
	}
	return append(yields, by...), requireOperands("vjp", args, want)
}

func inferJvp(args []types.Tensor, attrs Attrs, regions []*Block) ([]types.Tensor, error) {
	body := regions[0]
	by, err := requireWrt("jvp", body, attrs[0].([]int64))
	if err != nil {
		return nil, err
	}
	yields := ArgTypes(body.Yields)
	return append(yields, floatsOf(yields)...), requireOperands("jvp", args, append(ArgTypes(body.Params), by...))
}

// expandVjp writes the region and then, backwards, its derivative.
func expandVjp(b *Builder, op *Op) []*Value {
	body := op.Regions[0]
	n := len(body.Params)
	t := newTape(b.Span)
	c := NewCloner()
	for i, p := range body.Params {
		c.Values[p] = op.Args[i]
	}
	wrt := make([]*Value, len(op.Ints("wrt")))
	for k, w := range op.Ints("wrt") {
		// A value of its own: the same operand may also be captured, or be given for another parameter.
		wrt[k] = &Value{Type: body.Params[w].Type, Span: body.Params[w].Span, Name: body.Params[w].Name}
		t.with[wrt[k]] = op.Args[w]
		c.Values[body.Params[w]] = wrt[k]
		t.varied[wrt[k]] = true
	}
	if err := c.Append(t.b.Block, body); err != nil {
		panic("BUG: copying without substitution: " + err.Error())
	}
	t.b.Block.Yields = c.ValueList(body.Yields)
	if !flatten(t.b.Block) {
		return nil
	}
	yields := t.b.Block.Yields
	args := op.Args[n:]
	t.flow.block(t.b.Block)
	for _, y := range yields {
		if y.Type.Elem.IsFloat() {
			t.Add(y, args[0])
			args = args[1:]
		}
	}
	for i, s := range op.Ints("starts") {
		t.Add(wrt[s], args[i])
	}
	t.backward()
	out := append([]*Value{}, yields...)
	for _, w := range wrt {
		g := t.cotangents[w]
		if g == nil {
			g = t.Zeros(w.Type)
		}
		out = append(out, g)
	}
	t.b.Block.Yields = out
	Replace(t.b.Block, t.with)
	b.Block.Ops = append(b.Block.Ops, t.b.Block.Ops...)
	return t.b.Block.Yields
}

// expandJvp derives forward mode from reverse mode: the gradient is linear in the cotangent, and the transpose of
// that linear map, which is its own gradient by the cotangent, takes a direction to the change of the values. The
// cotangent's value is never used. Source: J. Townsend, "A new trick for calculating Jacobian vector products", 2017.
func expandJvp(b *Builder, op *Op) []*Value {
	body, n := op.Regions[0], len(op.Regions[0].Params)
	c := NewCloner()
	for i, p := range body.Params {
		c.Values[p] = op.Args[i]
	}
	if err := c.Append(b.Block, body); err != nil {
		panic("BUG: copying without substitution: " + err.Error())
	}
	out := c.ValueList(body.Yields)
	inner := &Builder{Block: &Block{}, Span: b.Span}
	args := append([]*Value{}, op.Args[:n]...)
	var zeros []*Value
	var wrt []int64
	for _, y := range body.Yields {
		if y.Type.Elem.IsFloat() {
			wrt = append(wrt, int64(len(zeros)))
			args = append(args, inner.Block.Param("", y.Type, b.Span))
			zeros = append(zeros, emitZeros(b, y.Type))
		}
	}
	region, err := NewCloner().Block(body)
	if err != nil {
		panic("BUG: copying without substitution: " + err.Error())
	}
	vjp := inner.EmitOp(OpVjp, A{"wrt": op.Ints("wrt")}, args, []*Block{region})
	inner.Block.Yields = append([]*Value{}, vjp.Results[len(body.Yields):]...)
	outer := b.EmitOp(OpVjp, A{"wrt": wrt}, append(zeros, op.Args[n:]...), []*Block{inner.Block})
	return append(out, outer.Results[len(inner.Block.Yields):]...)
}

// The derivatives of operations with regions. A region is a function of its parameters and of what it captures: its
// derivative is a `vjp` of it, which stands in a region of the derivative.

// variedCaptures lists what the regions capture and what is differentiated.
func (t *Tape) variedCaptures(regions ...*Block) []*Value {
	var out []*Value
	seen := map[*Value]bool{}
	for _, r := range regions {
		for _, v := range Captures(r) {
			if t.varied[v] && !seen[v] {
				seen[v] = true
				out = append(out, v)
			}
		}
	}
	return out
}

// cotangentsOf are the cotangents of the floats among some values, zeros where there are none; b writes the zeros.
func (t *Tape) cotangentsOf(b *Builder, of, cts []*Value) []*Value {
	var out []*Value
	for i, y := range of {
		if !y.Type.Elem.IsFloat() {
			continue
		}
		if cts[i] != nil {
			out = append(out, cts[i])
		} else {
			out = append(out, emitZeros(b, y.Type))
		}
	}
	return out
}

// closureVjp writes the derivative of a region at the given arguments, by those of its parameters that by lists and
// by the captured values caps, in this order. cts has a cotangent for each float that it yields; starts, nil or as
// long as caps, what the gradients of these are added to.
func closureVjp(b *Builder, region *Block, args []*Value, by []int64, caps, cts, starts []*Value) []*Value {
	c := NewCloner()
	body, err := c.Block(region)
	if err != nil {
		panic("BUG: copying without substitution: " + err.Error())
	}
	args = append([]*Value{}, args...)
	wrt := append([]int64{}, by...)
	with := map[*Value]*Value{}
	for _, v := range caps {
		wrt = append(wrt, int64(len(body.Params)))
		with[v] = body.Param("", v.Type, v.Span)
		args = append(args, v)
	}
	Replace(body, with)
	args = append(args, cts...)
	attrs := A{"wrt": wrt}
	if starts != nil {
		var which []int64
		for i := range caps {
			which = append(which, int64(len(by)+i))
		}
		attrs["starts"] = which
		args = append(args, starts...)
	}
	return append([]*Value{}, b.EmitOp(OpVjp, attrs, args, []*Block{body}).Results[len(body.Yields):]...)
}
