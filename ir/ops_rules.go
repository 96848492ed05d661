package ir

import (
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Rules of one's own]: `custom_vjp` and `checkpoint` hold a function as a region, and mean the function. They
// differ from a call of it in their VJP rules alone: the first takes the derivative that the program gives, the second
// computes again what the derivative needs of the function, so that nothing of it is kept until then.

// OpCustomVjp is a function with a derivative of the program's own.
var OpCustomVjp = define(&OpDef{
	Name: "custom_vjp", Class: Scope, Arity: Variadic, Regions: 2,
	Summary: "The values of the first region; the second gives their derivatives by the operands, weighted by " +
		"cotangents.",
	Infer:  inferCustomVjp,
	Expand: func(b *Builder, op *Op) []*Value { return inlined(b, op.Regions[0], op.Args) },
	Constraints: []Constraint{
		{"C1", "the operands are the parameters of the first region, which yields floats"},
		{"C2", "the second region takes the operands and a cotangent for each yield of the first"},
		{"C3", "the second region yields a cotangent for each operand that holds floats"},
	},
	Example: "grad(custom_vjp(|x| x * x, |x, c| c * 10.0))(3.0) == 10.0",
})

// OpCheckpoint is a function whose derivative computes it again.
var OpCheckpoint = define(&OpDef{
	Name: "checkpoint", Class: Scope, Arity: Variadic, Regions: 1,
	Summary: "The values of the region; a derivative computes again what it needs of the region instead of keeping it.",
	Infer: func(args []types.Tensor, _ Attrs, regions []*Block) ([]types.Tensor, error) {
		return ArgTypes(regions[0].Yields), requireOperands("checkpoint", args, ArgTypes(regions[0].Params))
	},
	Expand:      func(b *Builder, op *Op) []*Value { return inlined(b, op.Regions[0], op.Args) },
	Constraints: []Constraint{{"C1", "the operands are the parameters of the region"}},
	Example:     "grad(checkpoint(|x| x * x))(3.0) == 6.0",
})

// OpBarrier keeps values apart that are equal. The pass `barriers` removes it.
var OpBarrier = pointwise(OpDef{
	Name: "barrier", Arity: 1, Traits: Cheap,
	Summary: "The operand, as a value that is not known to be equal to it: what is computed from it is computed again.",
	Scalar:  unary(func(_ scalar.Emitter, x scalar.Ref) scalar.Ref { return x }),
	Example: "grad(checkpoint(|x| exp(x) * exp(x)))(0.0) == 2.0",
}, elements, like)

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
