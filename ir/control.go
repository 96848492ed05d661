package ir

import (
	"healc/ir/scalar"
	"healc/lang/diag"
	"healc/lang/types"
)

// OpIf evaluates one of two regions.
var OpIf = declare("if")
var _ = define(OpIf, OpDef{
	Class: Scope, Surface: "if", Arity: 1, Regions: 2,
	Reads:   readsForAny,
	Summary: "The values of the first region if the condition is true, else of the second; the other is not evaluated.",
	Infer: func(args []types.Tensor, _ Attrs, regions []*Block) ([]types.Tensor, error) {
		if args[0].Elem != types.Bool || !args[0].IsScalar() {
			return nil, broken("C1", "the condition of `if` is a bool, not %s", args[0])
		}
		then, els := ArgTypes(regions[0].Yields), ArgTypes(regions[1].Yields)
		if len(regions[0].Params)+len(regions[1].Params) > 0 {
			return nil, broken("C2", "the arms of `if` have no parameters")
		}
		if len(then) != len(els) {
			return nil, broken("C2", "the arms of `if` give %s and %s", types.Count(len(then), "value"),
				types.Count(len(els), "value"))
		}
		for i := range then {
			if !types.Equal(then[i], els[i]) {
				return nil, broken("C2", "the arms of `if` give %s and %s", then[i], els[i])
			}
		}
		return then, nil
	},
	Eval: func(c EvalContext, op *Op, args []*Array) ([]*Array, error) {
		if args[0].Bits[0] != 0 {
			return c.Region(op, 0)
		}
		return c.Region(op, 1)
	},
	Element: func(p Pull, op *Op, result int, at []scalar.Ref) scalar.Ref {
		arm := func(r int) func() scalar.Ref {
			return func() scalar.Ref { return p.Region(op, r, result, nil, at) }
		}
		return p.If(p.Arg(op, 0, nil), op.Results[result].Type.Elem, arm(0), arm(1))
	},
	VJP: func(t *Tape, op *Op, cts []*Value) {
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
	},
	Constraints: []Constraint{
		{"C1", "the condition is a bool scalar"},
		{"C2", "the regions have no parameters and yield values of the same types"},
	},
	Example: "(if 1 < 2 { 3 } else { 4 }) == 3",
})

// OpCall calls a function of the module. Whether it has an effect depends on the callee (Module.HasEffect).
var OpCall = declare("call")
var _ = define(OpCall, OpDef{
	Class: Host, Arity: Variadic, Traits: MayFail,
	Summary: "The results of a function of the module.",
	Attrs: []AttrDef{
		{Name: "callee", Kind: AttrStr, Doc: "the function"},
		{Name: "dims", Kind: AttrDims, Optional: true, Doc: "its shape parameters, in order"},
		{Name: "results", Kind: AttrTypes, Doc: "its result types, with these shape parameters"},
	},
	Infer: func(_ []types.Tensor, attrs Attrs, _ []*Block) ([]types.Tensor, error) {
		if attrs[0].(string) == "" {
			return nil, broken("C1", "a call names a function")
		}
		return attrs[2].([]types.Tensor), nil
	},
	Eval: func(c EvalContext, op *Op, args []*Array) ([]*Array, error) {
		dims := make([]int64, len(op.Dims("dims")))
		for i, d := range op.Dims("dims") {
			dims[i] = c.Dim(d)
		}
		return c.Call(op, op.Str("callee"), dims, args)
	},
	Element: func(p Pull, op *Op, result int, _ []scalar.Ref) scalar.Ref {
		args := make([]scalar.Ref, len(op.Args))
		for i := range args {
			args[i] = p.Arg(op, i, nil)
		}
		return p.Call(op, op.Str("callee"), args, result)
	},
	VJP: func(_ *Tape, op *Op, _ []*Value) { // all others have been inlined
		noGradient(diag.Diagnostic{
			Code: diag.CodeRecursiveGradient, Primary: diag.Label{Span: op.Span},
			Message: "`" + op.Str("callee") + "` calls itself, and a function that recurses has no derivative here",
			Help: "write the recursion as `iterate`, `iterate_until` or a fold, or give its derivative with " +
				"`custom_vjp`",
		})
	},
	Constraints: []Constraint{{"C1", "the callee has a name"}},
	Decls:       "fn power(x: i32, n: i32) -> i32 = if n < 1 { 1 } else { x * power(x, n - 1) }",
	Example:     "power(3, 4) == 81",
})

// OpFusion is a set of operations that become one kernel.
var OpFusion = declare("fusion")
var _ = define(OpFusion, OpDef{
	Class: Fused, Arity: Variadic, Regions: 1,
	Summary: "The values of a region that becomes one kernel; made by the fusion pass only.",
	Infer: func(args []types.Tensor, _ Attrs, regions []*Block) ([]types.Tensor, error) {
		body := regions[0]
		if len(body.Params) != len(args) {
			return nil, broken("C1", "a fusion of %s has %s", types.Count(len(args), "operand"),
				types.Count(len(body.Params), "parameter"))
		}
		for i, p := range body.Params {
			if !types.Equal(p.Type, args[i]) {
				return nil, broken("C1", "parameter %d of a fusion is %s, its operand %s", i, p.Type, args[i])
			}
		}
		return ArgTypes(body.Yields), nil
	},
	Eval:   func(c EvalContext, op *Op, args []*Array) ([]*Array, error) { return c.Region(op, 0, args...) },
	NoGrad: "it is made when derivatives are taken already",
	Constraints: []Constraint{
		{"C1", "the region's parameters have the types of the operands"},
	},
})
