package ir

import (
	"healc/ir/scalar"
	"healc/lang/diag"
	"healc/lang/types"
)

// Note [Rules of one's own]: `custom_vjp` and `checkpoint` hold a function as a region, and mean the function. They
// differ from a call of it in their VJP rules alone: the first takes the derivative that the program gives, the second
// computes again what the derivative needs of the function, so that nothing of it is kept until then.

// OpCustomVjp is a function with a derivative of the program's own.
var OpCustomVjp = declare("custom_vjp")
var _ = define(OpCustomVjp, OpDef{
	Class: Scope, Arity: Variadic, Regions: 2,
	Summary: "The values of the first region; the second gives their derivatives by the operands, weighted by " +
		"cotangents.",
	Infer:  inferCustomVjp,
	Expand: func(b *Builder, op *Op) []*Value { return inlined(b, op.Regions[0], op.Args) },
	VJP:    customRule,
	Constraints: []Constraint{
		{"C1", "the operands are the parameters of the first region, which yields floats"},
		{"C2", "the second region takes the operands and a cotangent for each yield of the first"},
		{"C3", "the second region yields a cotangent for each operand that holds floats"},
	},
	Example: "grad(custom_vjp(|x| x * x, |x, c| c * 10.0))(3.0) == 10.0",
})

func inferCustomVjp(args []types.Tensor, _ Attrs, regions []*Block) ([]types.Tensor, error) {
	f, back := regions[0], regions[1]
	if err := requireOperands("custom_vjp", args, ArgTypes(f.Params)); err != nil {
		return nil, err
	}
	yields := ArgTypes(f.Yields)
	if len(floatsOf(yields)) != len(yields) {
		return nil, broken("C1", "the function of `custom_vjp` gives floats")
	}
	for _, c := range []struct {
		name, what string
		got, want  []types.Tensor
	}{
		{"C2", "takes", ArgTypes(back.Params), append(append([]types.Tensor{}, args...), yields...)},
		{"C3", "gives", ArgTypes(back.Yields), floatsOf(args)},
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
func customRule(t *Tape, op *Op, cts []*Value) {
	if caps := t.variedCaptures(op.Regions[0]); len(caps) > 0 {
		noGradient(diag.Diagnostic{
			Code: diag.CodeRuleCaptures, Primary: diag.Label{Span: op.Span},
			Message: "the function of `custom_vjp` reads a value around it that is differentiated, and the rule " +
				"gives no gradient for it",
			Related: []diag.Label{{Span: caps[0].Span, Text: "this value"}},
			Help:    "make it a parameter of the function and of the rule, or wrap it in `stop_gradient`",
		})
	}
	grads := inlined(t.b, op.Regions[1], append(append([]*Value{}, op.Args...),
		t.cotangentsOf(t.b, op.Results, cts)...))
	for _, x := range op.Args {
		if x.Type.Elem.IsFloat() {
			t.Add(x, grads[0])
			grads = grads[1:]
		}
	}
}

// OpCheckpoint is a function whose derivative computes it again.
var OpCheckpoint = declare("checkpoint")
var _ = define(OpCheckpoint, OpDef{
	Class: Scope, Arity: Variadic, Regions: 1,
	Summary: "The values of the region; a derivative computes again what it needs of the region instead of keeping it.",
	Infer: func(args []types.Tensor, _ Attrs, regions []*Block) ([]types.Tensor, error) {
		return ArgTypes(regions[0].Yields), requireOperands("checkpoint", args, ArgTypes(regions[0].Params))
	},
	Expand:      func(b *Builder, op *Op) []*Value { return inlined(b, op.Regions[0], op.Args) },
	VJP:         checkpointRule,
	Constraints: []Constraint{{"C1", "the operands are the parameters of the region"}},
	Example:     "grad(checkpoint(|x| x * x))(3.0) == 6.0",
})

// checkpointRule differentiates a copy of the region that reads what it is computed from through barriers, so that the
// copy is not merged with the operations of the function itself. The gradients are added up in the order that they
// have without the checkpoint: it changes no bit.
func checkpointRule(t *Tape, op *Op, cts []*Value) {
	body := &Block{}
	body.Yields = inlined(&Builder{Block: body, Span: op.Span}, op.Regions[0], op.Args)
	with := map[*Value]*Value{}
	var args, cotangents, starts []*Value
	var wrt, which []int64
	caps := Captures(body)
	for _, v := range caps {
		if !elements.has(v.Type.Elem) {
			continue // a string, which nothing computes with
		}
		with[v] = t.Emit(OpBarrier, nil, v)
		if !t.varied[v] {
			continue
		}
		if sum := t.cotangents[v]; sum != nil {
			which, starts = append(which, int64(len(wrt))), append(starts, sum)
		}
		wrt = append(wrt, int64(len(args)))
		args, with[v] = append(args, with[v]), body.Param(v.Name, v.Type, v.Span)
	}
	Replace(body, with)
	cotangents = t.cotangentsOf(t.b, op.Results, cts)
	attrs := A{"wrt": wrt, "starts": which}
	grads := t.b.EmitOp(OpVjp, attrs, append(append(args, cotangents...), starts...),
		[]*Block{body}).Results[len(body.Yields):]
	for _, v := range caps {
		if t.varied[v] {
			t.cotangents[v], grads = grads[0], grads[1:]
		}
	}
}

// OpBarrier keeps values apart that are equal. The pass `barriers` removes it.
var OpBarrier = declare("barrier")
var _ = pointwise(OpBarrier, OpDef{
	Arity: 1, Traits: Cheap,
	Summary: "The operand, as a value that is not known to be equal to it: what is computed from it is computed again.",
	Scalar:  unary(func(_ scalar.Emitter, x scalar.Ref) scalar.Ref { return x }),
	VJP:     unaryRule(func(_ *Tape, _, _, ct *Value) *Value { return ct }),
	Example: "grad(checkpoint(|x| exp(x) * exp(x)))(0.0) == 2.0",
}, elements, like)

// inlined writes the operations of a region with its parameters bound to args, and gives its values.
func inlined(b *Builder, region *Block, args []*Value) []*Value {
	c := NewCloner()
	for i, p := range region.Params {
		c.Values[p] = args[i]
	}
	if err := c.Append(b.Block, region); err != nil {
		panic("BUG: copying without substitution: " + err.Error())
	}
	return c.ValueList(region.Yields)
}
