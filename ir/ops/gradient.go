package ops

import (
	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/diag"
	"healc/lang/types"
)

// Note [Gradients]: `vjp` and `jvp` hold the function that is differentiated as their region. They are defined by
// simpler operations (Expand): the operations of the region, followed by those of its derivative, which the VJP rules
// of the table write (Tape). So no stage behind the pass `expand` knows of gradients, and the interpreter evaluates
// the same operations as every kernel.
//
// Nothing but the region's own parameters is differentiated: what it captures is constant. Nested ones expand from
// the inside out, so that the derivative of a derivative is the derivative of plain operations.

// Vjp is reverse mode.
var Vjp = ir.Declare("vjp")
var _ = ir.Define(Vjp, ir.OpDef{
	Class: ir.Scope, Arity: ir.Variadic, Regions: 1,
	Summary: "The values of a function at a point, and the sums of their derivatives by some of its operands, " +
		"weighted by cotangents.",
	Attrs: []ir.AttrDef{
		{Name: "wrt", Kind: ir.AttrInts, Doc: "the parameters of the region by which it is differentiated, ascending"},
		{Name: "starts", Kind: ir.AttrInts, Optional: true,
			Doc: "which of these, by position in wrt, have an operand that their gradient is added to"},
	},
	Infer:  inferVjp,
	Expand: expandVjp,
	Constraints: []ir.Constraint{
		{Name: "C1",
			Text: "the operands are the region's parameters, a cotangent for each float that it yields, and the " +
				"starts"},
		{Name: "C2", Text: "the parameters that are differentiated exist, ascending, and hold floats"},
	},
	Decls:   "fn area(x: f32, y: f32) -> f32 = x * y",
	Example: "{ let (a, b) = grad(area)(2.0, 3.0); [a, b] } == [3.0, 2.0]",
})

// Jvp is forward mode.
var Jvp = ir.Declare("jvp")
var _ = ir.Define(Jvp, ir.OpDef{
	Class: ir.Scope, Arity: ir.Variadic, Regions: 1,
	Summary: "The values of a function at a point, and how the floats among them change along a direction.",
	Attrs: []ir.AttrDef{
		{Name: "wrt", Kind: ir.AttrInts, Doc: "the parameters of the region that have a direction, ascending"},
	},
	Infer:  inferJvp,
	Expand: expandJvp,
	Constraints: []ir.Constraint{
		{Name: "C1", Text: "the operands are the region's parameters and a direction for each of those in wrt"},
		{Name: "C2", Text: "the parameters that have a direction exist, ascending, and hold floats"},
	},
	Decls:   "fn area(x: f32, y: f32) -> f32 = x * y",
	Example: "jvp(area)(2.0, 3.0, 1.0, 0.0) == 3.0",
})

// StopGradient is a constant to derivatives.
var StopGradient = ir.Declare("stop_gradient")
var _ = pointwise(StopGradient, ir.OpDef{
	Surface: "stop_gradient", Arity: 1, Traits: ir.Cheap,
	Summary: "The operand, which derivatives take for a constant.",
	Scalar:  unary(func(_ scalar.Emitter, x scalar.Ref) scalar.Ref { return x }),
	NoGrad:  "it is what cuts a gradient",
	Example: "stop_gradient([1.0, 2.0]) == [1.0, 2.0]",
}, numbers, like)

// requireWrt checks the parameters that are differentiated and gives their types.
func requireWrt(what string, body *ir.Block, wrt []int64) ([]types.Tensor, error) {
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

func inferVjp(args []types.Tensor, attrs ir.Attrs, regions []*ir.Block) ([]types.Tensor, error) {
	body, wrt := regions[0], attrs[0].([]int64)
	starts, _ := attrs[1].([]int64)
	by, err := requireWrt("vjp", body, wrt)
	if err != nil {
		return nil, err
	}
	yields := ir.ArgTypes(body.Yields)
	want := append(ir.ArgTypes(body.Params), floatsOf(yields)...)
	for i, s := range starts {
		if s < 0 || s >= int64(len(by)) || i > 0 && s <= starts[i-1] {
			return nil, broken("C1", "`vjp` has starts %v of %d gradients", starts, len(by))
		}
		want = append(want, by[s])
	}
	return append(yields, by...), requireOperands("vjp", args, want)
}

func inferJvp(args []types.Tensor, attrs ir.Attrs, regions []*ir.Block) ([]types.Tensor, error) {
	body := regions[0]
	by, err := requireWrt("jvp", body, attrs[0].([]int64))
	if err != nil {
		return nil, err
	}
	yields := ir.ArgTypes(body.Yields)
	return append(yields, floatsOf(yields)...), requireOperands("jvp", args, append(ir.ArgTypes(body.Params), by...))
}

// expandVjp writes the region and then, backwards, its derivative.
func expandVjp(b *ir.Builder, op *ir.Op) []*ir.Value {
	body := op.Regions[0]
	n := len(body.Params)
	t := newTape(b.Span)
	c := ir.NewCloner()
	for i, p := range body.Params {
		c.Values[p] = op.Args[i]
	}
	wrt := make([]*ir.Value, len(op.Ints("wrt")))
	for k, w := range op.Ints("wrt") {
		// A value of its own: the same operand may also be captured, or be given for another parameter.
		wrt[k] = &ir.Value{Type: body.Params[w].Type, Span: body.Params[w].Span, Name: body.Params[w].Name}
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
	out := append([]*ir.Value{}, yields...)
	for _, w := range wrt {
		g := t.cotangents[w]
		if g == nil {
			g = t.Zeros(w.Type)
		}
		out = append(out, g)
	}
	t.b.Block.Yields = out
	ir.Replace(t.b.Block, t.with)
	b.Block.Ops = append(b.Block.Ops, t.b.Block.Ops...)
	return t.b.Block.Yields
}

// expandJvp derives forward mode from reverse mode: the gradient is linear in the cotangent, and the transpose of
// that linear map, which is its own gradient by the cotangent, takes a direction to the change of the values. The
// cotangent's value is never used. Source: J. Townsend, "A new trick for calculating Jacobian vector products", 2017.
func expandJvp(b *ir.Builder, op *ir.Op) []*ir.Value {
	body, n := op.Regions[0], len(op.Regions[0].Params)
	c := ir.NewCloner()
	for i, p := range body.Params {
		c.Values[p] = op.Args[i]
	}
	if err := c.Append(b.Block, body); err != nil {
		panic("BUG: copying without substitution: " + err.Error())
	}
	out := c.ValueList(body.Yields)
	inner := &ir.Builder{Block: &ir.Block{}, Span: b.Span}
	args := append([]*ir.Value{}, op.Args[:n]...)
	var zeros []*ir.Value
	var wrt []int64
	for _, y := range body.Yields {
		if y.Type.Elem.IsFloat() {
			wrt = append(wrt, int64(len(zeros)))
			args = append(args, inner.Block.Param("", y.Type, b.Span))
			zeros = append(zeros, emitZeros(b, y.Type))
		}
	}
	region, err := ir.NewCloner().Block(body)
	if err != nil {
		panic("BUG: copying without substitution: " + err.Error())
	}
	vjp := inner.EmitOp(Vjp, ir.A{"wrt": op.Ints("wrt")}, args, []*ir.Block{region})
	inner.Block.Yields = append([]*ir.Value{}, vjp.Results[len(body.Yields):]...)
	outer := b.EmitOp(Vjp, ir.A{"wrt": wrt}, append(zeros, op.Args[n:]...), []*ir.Block{inner.Block})
	return append(out, outer.Results[len(inner.Block.Yields):]...)
}

// The derivatives of operations with regions. A region is a function of its parameters and of what it captures: its
// derivative is a `vjp` of it, which stands in a region of the derivative.

// variedCaptures lists what the regions capture and what is differentiated.
func (t *tape) variedCaptures(regions ...*ir.Block) []*ir.Value {
	var out []*ir.Value
	seen := map[*ir.Value]bool{}
	for _, r := range regions {
		for _, v := range ir.Captures(r) {
			if t.varied[v] && !seen[v] {
				seen[v] = true
				out = append(out, v)
			}
		}
	}
	return out
}

// cotangentsOf are the cotangents of the floats among some values, zeros where there are none; b writes the zeros.
func (t *tape) cotangentsOf(b *ir.Builder, of, cts []*ir.Value) []*ir.Value {
	var out []*ir.Value
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
func closureVjp(b *ir.Builder, region *ir.Block, args []*ir.Value, by []int64, caps, cts,
	starts []*ir.Value) []*ir.Value {
	c := ir.NewCloner()
	body, err := c.Block(region)
	if err != nil {
		panic("BUG: copying without substitution: " + err.Error())
	}
	args = append([]*ir.Value{}, args...)
	wrt := append([]int64{}, by...)
	with := map[*ir.Value]*ir.Value{}
	for _, v := range caps {
		wrt = append(wrt, int64(len(body.Params)))
		with[v] = body.Param("", v.Type, v.Span)
		args = append(args, v)
	}
	ir.Replace(body, with)
	args = append(args, cts...)
	attrs := ir.A{"wrt": wrt}
	if starts != nil {
		var which []int64
		for i := range caps {
			which = append(which, int64(len(by)+i))
		}
		attrs["starts"] = which
		args = append(args, starts...)
	}
	return append([]*ir.Value{}, b.EmitOp(Vjp, attrs, args, []*ir.Block{body}).Results[len(body.Yields):]...)
}

// Note [Rules of one's own]: `custom_vjp` and `checkpoint` hold a function as a region, and mean the function. They
// differ from a call of it in their VJP rules alone: the first takes the derivative that the program gives, the second
// computes again what the derivative needs of the function, so that nothing of it is kept until then.

// CustomVjp is a function with a derivative of the program's own.
var CustomVjp = ir.Declare("custom_vjp")
var _ = ir.Define(CustomVjp, ir.OpDef{
	Class: ir.Scope, Arity: ir.Variadic, Regions: 2,
	Summary: "The values of the first region; the second gives their derivatives by the operands, weighted by " +
		"cotangents.",
	Infer:  inferCustomVjp,
	Expand: func(b *ir.Builder, op *ir.Op) []*ir.Value { return inlined(b, op.Regions[0], op.Args) },
	VJP:    vjp(customRule),
	Constraints: []ir.Constraint{
		{Name: "C1", Text: "the operands are the parameters of the first region, which yields floats"},
		{Name: "C2", Text: "the second region takes the operands and a cotangent for each yield of the first"},
		{Name: "C3", Text: "the second region yields a cotangent for each operand that holds floats"},
	},
	Example: "grad(custom_vjp(|x| x * x, |x, c| c * 10.0))(3.0) == 10.0",
})

func inferCustomVjp(args []types.Tensor, _ ir.Attrs, regions []*ir.Block) ([]types.Tensor, error) {
	f, back := regions[0], regions[1]
	if err := requireOperands("custom_vjp", args, ir.ArgTypes(f.Params)); err != nil {
		return nil, err
	}
	yields := ir.ArgTypes(f.Yields)
	if len(floatsOf(yields)) != len(yields) {
		return nil, broken("C1", "the function of `custom_vjp` gives floats")
	}
	for _, c := range []struct {
		name, what string
		got, want  []types.Tensor
	}{
		{"C2", "takes", ir.ArgTypes(back.Params), append(append([]types.Tensor{}, args...), yields...)},
		{"C3", "gives", ir.ArgTypes(back.Yields), floatsOf(args)},
	} {
		if len(c.got) != len(c.want) {
			return nil, broken(c.name, "the rule of `custom_vjp` %s %s, not %d", c.what,
				types.Count(len(c.want), "value"), len(c.got))
		}
		for i, t := range c.want {
			if !types.Equal(c.got[i], t) {
				return nil, broken(c.name, "the rule of `custom_vjp` %s %s here, not %s", c.what, t, c.got[i])
			}
		}
	}
	return yields, nil
}

// customRule writes the operations of the rule that the program gives.
func customRule(t *tape, op *ir.Op, cts []*ir.Value) {
	if caps := t.variedCaptures(op.Regions[0]); len(caps) > 0 {
		noGradient(diag.Diagnostic{
			Code: diag.CodeRuleCaptures, Primary: diag.Label{Span: op.Span},
			Message: "the function of `custom_vjp` reads a value around it that is differentiated, and the rule " +
				"gives no gradient for it",
			Related: []diag.Label{{Span: caps[0].Span, Text: "this value"}},
			Help:    "make it a parameter of the function and of the rule, or wrap it in `stop_gradient`",
		})
	}
	grads := inlined(t.b, op.Regions[1], append(append([]*ir.Value{}, op.Args...),
		t.cotangentsOf(t.b, op.Results, cts)...))
	for _, x := range op.Args {
		if x.Type.Elem.IsFloat() {
			t.Add(x, grads[0])
			grads = grads[1:]
		}
	}
}

// Checkpoint is a function whose derivative computes it again.
var Checkpoint = ir.Declare("checkpoint")
var _ = ir.Define(Checkpoint, ir.OpDef{
	Class: ir.Scope, Arity: ir.Variadic, Regions: 1,
	Summary: "The values of the region; a derivative computes again what it needs of the region instead of keeping it.",
	Infer: func(args []types.Tensor, _ ir.Attrs, regions []*ir.Block) ([]types.Tensor, error) {
		return ir.ArgTypes(regions[0].Yields), requireOperands("checkpoint", args, ir.ArgTypes(regions[0].Params))
	},
	Expand:      func(b *ir.Builder, op *ir.Op) []*ir.Value { return inlined(b, op.Regions[0], op.Args) },
	VJP:         vjp(checkpointRule),
	Constraints: []ir.Constraint{{Name: "C1", Text: "the operands are the parameters of the region"}},
	Example:     "grad(checkpoint(|x| x * x))(3.0) == 6.0",
})

// checkpointRule differentiates a copy of the region that reads what it is computed from through barriers, so that the
// copy is not merged with the operations of the function itself. The gradients are added up in the order that they
// have without the checkpoint: it changes no bit.
func checkpointRule(t *tape, op *ir.Op, cts []*ir.Value) {
	body := &ir.Block{}
	body.Yields = inlined(&ir.Builder{Block: body, Span: op.Span}, op.Regions[0], op.Args)
	with := map[*ir.Value]*ir.Value{}
	var args, cotangents, starts []*ir.Value
	var wrt, which []int64
	caps := ir.Captures(body)
	for _, v := range caps {
		if !elements.has(v.Type.Elem) {
			continue // a string, which nothing computes with
		}
		with[v] = t.Emit(Barrier, nil, v)
		if !t.varied[v] {
			continue
		}
		if sum := t.cotangents[v]; sum != nil {
			which, starts = append(which, int64(len(wrt))), append(starts, sum)
		}
		wrt = append(wrt, int64(len(args)))
		args, with[v] = append(args, with[v]), body.Param(v.Name, v.Type, v.Span)
	}
	ir.Replace(body, with)
	cotangents = t.cotangentsOf(t.b, op.Results, cts)
	attrs := ir.A{"wrt": wrt, "starts": which}
	grads := t.b.EmitOp(Vjp, attrs, append(append(args, cotangents...), starts...),
		[]*ir.Block{body}).Results[len(body.Yields):]
	for _, v := range caps {
		if t.varied[v] {
			t.cotangents[v], grads = grads[0], grads[1:]
		}
	}
}

// Barrier keeps values apart that are equal. The pass `barriers` removes it.
var Barrier = ir.Declare("barrier")
var _ = pointwise(Barrier, ir.OpDef{
	Arity: 1, Traits: ir.Cheap,
	Summary: "The operand, as a value that is not known to be equal to it: what is computed from it is computed again.",
	Scalar:  unary(func(_ scalar.Emitter, x scalar.Ref) scalar.Ref { return x }),
	VJP:     unaryRule(func(_ *tape, _, _, ct *ir.Value) *ir.Value { return ct }),
	Example: "grad(checkpoint(|x| exp(x) * exp(x)))(0.0) == 2.0",
}, elements, like)

// inlined writes the operations of a region with its parameters bound to args, and gives its values.
func inlined(b *ir.Builder, region *ir.Block, args []*ir.Value) []*ir.Value {
	c := ir.NewCloner()
	for i, p := range region.Params {
		c.Values[p] = args[i]
	}
	if err := c.Append(b.Block, region); err != nil {
		panic("BUG: copying without substitution: " + err.Error())
	}
	return c.ValueList(region.Yields)
}
