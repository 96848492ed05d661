package ir

import "healc/lang/diag"

// The derivatives of operations with regions. A region is a function of its parameters and of what it captures: its
// derivative is a `vjp` of it, which stands in a region of the derivative.

func init() { // init: see rule
	rule(OpIf, func(t *Tape, op *Op, cts []*Value) {
		caps := t.variedCaptures(op.Regions...)
		arms := make([]*Block, 2)
		for k, r := range op.Regions {
			b := &Builder{Block: &Block{}, Span: op.Span}
			b.Block.Yields = closureVjp(b, r, nil, nil, caps, t.cotangentsOf(b, r.Yields, cts), nil)
			arms[k] = b.Block
		}
		for i, g := range t.b.EmitOp(OpIf, nil, op.Args[:1:1], arms).Results {
			t.Add(caps[i], g)
		}
	})
	rule(OpCall, func(_ *Tape, op *Op, _ []*Value) { // all others have been inlined
		noGradient(diag.Diagnostic{
			Code: diag.CodeRecursiveGradient, Primary: diag.Label{Span: op.Span},
			Message: "`" + op.Str("callee") + "` calls itself, and a function that recurses has no derivative here",
			Help: "write the recursion as `iterate`, `iterate_until` or a fold, or give its derivative with " +
				"`custom_vjp`",
		})
	})
	OpFusion.NoGrad = "it is made when derivatives are taken already"
	for _, d := range []*OpDef{OpPrintF32, OpPrintF64} {
		d.NoGrad = ""
		unaryRule(d, func(_ *Tape, _, _, ct *Value) *Value { return ct })
	}
}

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
