package ops

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/diag"
	"healc/lang/types"
)

// If evaluates one of two regions.
var If = ir.Declare("if")
var _ = ir.Define(If, ir.OpDef{
	Class: ir.Scope, Surface: "if", Arity: 1, Regions: 2,
	Sharding: ir.ShardBranch,
	Reads:    readsForAny,
	Summary: "The values of the first region if the condition is true, else of the second; the other is not " +
		"evaluated.",
	Infer: func(args []types.Tensor, _ ir.Attrs, regions []*ir.Block) ([]types.Tensor, error) {
		if args[0].Elem != types.Bool || !args[0].IsScalar() {
			return nil, broken("C1", "the condition of `if` is a bool, not %s", args[0])
		}
		then, els := ir.ArgTypes(regions[0].Yields), ir.ArgTypes(regions[1].Yields)
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
	Eval: func(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
		if args[0].Bits[0] != 0 {
			return c.Region(op, 0)
		}
		return c.Region(op, 1)
	},
	Element: func(p ir.Pull, op *ir.Op, result int, at []scalar.Ref) scalar.Ref {
		arm := func(r int) func() scalar.Ref {
			return func() scalar.Ref { return p.Region(op, r, result, nil, at) }
		}
		return p.If(p.Arg(op, 0, nil), op.Results[result].Type.Elem, arm(0), arm(1))
	},
	VJP: vjp(func(t *tape, op *ir.Op, cts []*ir.Value) {
		caps := t.variedCaptures(op.Regions...)
		arms := make([]*ir.Block, 2)
		for k, r := range op.Regions {
			b := &ir.Builder{Block: &ir.Block{}, Span: op.Span}
			b.Block.Yields = closureVjp(b, r, nil, nil, caps, t.cotangentsOf(b, r.Yields, cts), nil)
			arms[k] = b.Block
		}
		for i, g := range t.b.EmitOp(If, nil, op.Args[:1:1], arms).Results {
			t.Add(caps[i], g)
		}
	}),
	Constraints: []ir.Constraint{
		{Name: "C1", Text: "the condition is a bool scalar"},
		{Name: "C2", Text: "the regions have no parameters and yield values of the same types"},
	},
	Example: "(if 1 < 2 { 3 } else { 4 }) == 3",
})

// Call calls a function of the module. Whether it has an effect depends on the callee (Module.HasEffect).
var Call = ir.Declare("call")
var _ = ir.Define(Call, ir.OpDef{
	Class: ir.Host, Arity: ir.Variadic, Traits: ir.MayFail,
	Sharding: ir.ShardWhole,
	Summary:  "The results of a function of the module.",
	Attrs: []ir.AttrDef{
		{Name: "callee", Kind: ir.AttrStr, Doc: "the function"},
		{Name: "dims", Kind: ir.AttrDims, Optional: true, Doc: "its shape parameters, in order"},
		{Name: "results", Kind: ir.AttrTypes, Doc: "its result types, with these shape parameters"},
	},
	Infer: func(_ []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		if attrs[0].(string) == "" {
			return nil, broken("C1", "a call names a function")
		}
		return attrs[2].([]types.Tensor), nil
	},
	Eval: func(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
		dims := make([]int64, len(op.Dims("dims")))
		for i, d := range op.Dims("dims") {
			dims[i] = c.Dim(d)
		}
		return c.Call(op, op.Str("callee"), dims, args)
	},
	Element: func(p ir.Pull, op *ir.Op, result int, _ []scalar.Ref) scalar.Ref {
		args := make([]scalar.Ref, len(op.Args))
		for i := range args {
			args[i] = p.Arg(op, i, nil)
		}
		return p.Call(op, op.Str("callee"), args, result)
	},
	VJP: vjp(func(_ *tape, op *ir.Op, _ []*ir.Value) { // all others have been inlined
		noGradient(diag.Diagnostic{
			Code: diag.CodeRecursiveGradient, Primary: diag.Label{Span: op.Span},
			Message: "`" + op.Str("callee") + "` calls itself, and a function that recurses has no derivative here",
			Help: "write the recursion as `iterate`, `iterate_until` or a fold, or give its derivative with " +
				"`custom_vjp`",
		})
	}),
	Constraints: []ir.Constraint{{Name: "C1", Text: "the callee has a name"}},
	Decls:       "fn power(x: i32, n: i32) -> i32 = if n < 1 { 1 } else { x * power(x, n - 1) }",
	Example:     "power(3, 4) == 81",
})

// Fusion is a set of operations that become one kernel.
var Fusion = ir.Declare("fusion")
var _ = ir.Define(Fusion, ir.OpDef{
	Class: ir.Fused, Arity: ir.Variadic, Regions: 1,
	Sharding: ir.ShardWhole,
	Summary:  "The values of a region that becomes one kernel; made by the fusion pass only.",
	Infer: func(args []types.Tensor, _ ir.Attrs, regions []*ir.Block) ([]types.Tensor, error) {
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
		return ir.ArgTypes(body.Yields), nil
	},
	Eval: func(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
		return c.Region(op, 0, args...)
	},
	NoGrad: "it is made when derivatives are taken already",
	Constraints: []ir.Constraint{
		{Name: "C1", Text: "the region's parameters have the types of the operands"},
	},
})

// Assert stops the program when its condition is false. The other operands are shown then: two of them
// are what was compared.
var Assert = ir.Declare("assert")
var _ = ir.Define(Assert, ir.OpDef{
	Class: ir.Host, Surface: "assert", Arity: ir.Variadic, Traits: ir.Effect,
	Sharding: ir.ShardWhole,
	Params: []ir.Param{
		{Name: "cond", Kind: ir.ParamValue},
	},
	Summary: "Stops the program unless a condition holds, and shows the values that were compared.",
	Attrs:   []ir.AttrDef{{Name: "what", Kind: ir.AttrStr, Doc: "the assertion as it is written"}},
	Infer: func(args []types.Tensor, _ ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		if len(args) != 1 && len(args) != 3 {
			return nil, broken("C1", "an assertion has a condition, and two values or none, not %d operands", len(args))
		}
		if !types.Equal(args[0], types.Scalar(types.Bool)) {
			return nil, broken("C2", "the condition of `assert` is a bool, not %s", args[0])
		}
		return nil, nil
	},
	Eval: func(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
		if args[0].Bits[0] != 0 {
			return nil, nil
		}
		var shown []string
		for _, a := range args[1:] {
			text, err := c.System().Format(a)
			if err != nil {
				return nil, err
			}
			shown = append(shown, text)
		}
		difference := ""
		if len(args) == 3 {
			x, y := args[1], args[2]
			value := func(bits uint64) float64 { return scalar.FloatValue(x.DType, bits) }
			var failed error
			show := func(bits uint64) string {
				text, err := c.System().Format(&ir.Array{DType: x.DType, Bits: []uint64{bits}})
				failed = errors.Join(failed, err)
				return text
			}
			difference = types.Difference(x.DType, x.Shape, x.Bits, y.Bits, value, show)
			if failed != nil {
				return nil, failed
			}
		}
		return nil, errors.New(types.AssertMessage(op.Str("what"), shown, difference))
	},
	NoGrad: "an assertion has no value",
	Constraints: []ir.Constraint{
		{Name: "C1", Text: "there is a condition, and two values or none"},
		{Name: "C2", Text: "the condition is a bool scalar"},
	},
	Example: "{ assert(1 < 2); 1 } == 1",
})

// Require is for what a function asks of its arguments: an operation like any other, which stands in kernels and in
// functions without effects, where an assertion cannot. Its details are two, as a kernel has room for (abi.Error);
// those not shown are 0.
var Require = ir.Declare("require")
var _ = ir.Define(Require, ir.OpDef{
	Class: ir.Pointwise, Surface: "require", Arity: 4, Traits: ir.MayFail,
	Params: []ir.Param{
		{Name: "x"}, {Name: "ok"}, {Name: "message", Kind: ir.ParamString, Attr: "says"},
		{Name: "a", Optional: true}, {Name: "b", Optional: true},
	},
	Summary: "The first operand where the second is true; elsewhere the program stops with the message, in which the " +
		"others stand for {}.",
	Attrs: []ir.AttrDef{{Name: "says", Kind: ir.AttrStr, Doc: "the message, with {} at most twice"}},
	Infer: func(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		if err := requireIn("C1", "`require`", elements, args[0]); err != nil {
			return nil, err
		}
		if err := requireIn("C2", "the condition of `require`", bools, args[1]); err != nil {
			return nil, err
		}
		for _, a := range args[2:] {
			if a.Elem != types.I64 {
				return nil, broken("C3", "the message of `require` shows an i64, not %s", a.Elem)
			}
		}
		if err := requireSameShape("C4", "`require`", args...); err != nil {
			return nil, err
		}
		if says, _ := attrs[0].(string); strings.Count(says, "{}") > 2 {
			return nil, broken("C5", "a message has room for two numbers")
		}
		return args[:1:1], nil
	},
	Scalar: func(e scalar.Emitter, op *ir.Op, x []scalar.Ref) scalar.Ref {
		e.Check(scalar.CheckRequire, x[1], x[2:2+strings.Count(op.Str("says"), "{}")]...)
		return x[0]
	},
	VJP: vjp(func(t *tape, op *ir.Op, cts []*ir.Value) { t.Add(op.Args[0], cts[0]) }),
	Constraints: []ir.Constraint{
		{Name: "C1", Text: "the first operand is of type number or bool"},
		{Name: "C2", Text: "the second is bool"},
		{Name: "C3", Text: "the others are i64"},
		{Name: "C4", Text: "the operands share one shape"},
		{Name: "C5", Text: "the message shows two numbers at most"},
	},
	Example: `require([1, 2], [1, 2] .> 0, "a size is at least 1, not {}", [1, 2]) == [1, 2]`,
})

// Subject is what the message of a failing check of op is about: the operation as programs write it, or the text that
// it has.
func Subject(o *ir.Op) string {
	switch o.Def {
	case Require:
		return o.Str("says")
	case Stop:
		return filled(o.Str("says"), o.Dims("shows"))
	}
	return o.Def.Spelling()
}

// Stop ends the program for some values of the shape parameters. It reads no tensor, so that it can stand before
// whatever has to be left out then: code for any shape has it before operations whose results cannot be.
var Stop = ir.Declare("stop")
var _ = ir.Define(Stop, ir.OpDef{
	Class: ir.Reindex, Traits: ir.MayFail,
	Sharding: ir.ShardWhole,
	Fails: func(o *ir.Op) bool {
		return !slices.ContainsFunc(o.Dims("where"), func(d types.Dim) bool {
			n, known := d.Const()
			return known && n < 1
		})
	},
	Summary: "True, or the program stops with the message, where each of the numbers is at least 1.",
	Attrs: []ir.AttrDef{
		{Name: "where", Kind: ir.AttrDims, Doc: "the numbers"},
		{Name: "says", Kind: ir.AttrStr, Doc: "the message"},
		{Name: "shows", Kind: ir.AttrDims, Doc: "what stands in the message for {}"},
	},
	Infer: func(_ []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		says, _ := attrs[1].(string)
		if shows, _ := attrs[2].(types.Shape); strings.Count(says, "{}") != len(shows) {
			return nil, broken("C1", "the message has %s, and %d to show",
				types.Count(strings.Count(says, "{}"), "place"), len(shows))
		}
		return []types.Tensor{types.Scalar(types.Bool)}, nil
	},
	Eval: func(c ir.EvalContext, op *ir.Op, _ []*ir.Array) ([]*ir.Array, error) {
		if !slices.ContainsFunc(extents(c, op.Dims("where")), func(n int64) bool { return n < 1 }) {
			return nil, c.Fail(op, scalar.CheckRequire)
		}
		return one(ir.NewScalar(types.Bool, 1))
	},
	Element: func(p ir.Pull, op *ir.Op, _ int, _ []scalar.Ref) scalar.Ref {
		e := p.E()
		goes := e.Bool(false)
		for _, d := range op.Dims("where") {
			goes = e.Or(goes, e.Lt(p.Extent(d), e.Int(types.I64, 1)))
		}
		e.Check(scalar.CheckRequire, goes)
		return e.Bool(true)
	},
	NoGrad:      "extents are integers",
	Constraints: []ir.Constraint{{Name: "C1", Text: "the message has a place for each number that it shows"}},
	Decls:       "fn tail[N](x: f32[N]) -> f32[N - 1] = x[1..]",
	Example:     "tail([1.0, 2.0]) == [2.0]",
})

// filled is a message with numbers in the place of each {}, as far as they are known.
func filled(says string, shows types.Shape) string {
	for _, d := range shows {
		n, known := d.Const()
		if !known {
			return says
		}
		says = strings.Replace(says, "{}", fmt.Sprint(n), 1)
	}
	return says
}

// Note [Shapes that do not fit]: with the values of its shape parameters an operation can break a rule, such as a slice
// that leaves its axis. Its result has no type then, so nothing behind it in its block has a meaning, and what runs it
// stops there. Where it stands in a region, an arm or a lambda, that may never be. So the block ends there, in
// an operation that stops with the message of the rule, and zeros of the types that the block has to give. Where a
// block gives nothing, or something that is no number, the error is that of what is around it.

// Unfit is an operation that breaks a rule.
type Unfit struct {
	At   int // in the block
	Span diag.Span
	Err  error // of the rule
}

// Recheck applies every type rule of a block again, whose shape parameters have got values. The result is the operation
// at which the block stops whenever it runs, nil when there is none; regions that would stop so do it when they run.
// message is the whole text of an error, with {} for what it shows.
func Recheck(b *ir.Block, message func(error) (string, types.Shape)) *Unfit {
	for i, op := range b.Ops {
		for _, r := range op.Regions {
			bad := Recheck(r, message)
			if bad == nil {
				continue
			}
			if says, shows := message(bad.Err); !StopAt(r, bad.At, bad.Span, says, shows) {
				bad.At = i
				return bad
			}
		}
		ts, err := op.Def.Infer(ir.ArgTypes(op.Args), op.Attrs, op.Regions)
		for k := range ts {
			if err == nil && !types.Equal(ts[k], op.Results[k].Type) {
				err = fmt.Errorf("%s gives %s and not %s", op.Def.Name, ts[k], op.Results[k].Type)
			}
		}
		if err != nil {
			return &Unfit{i, op.Span, err}
		}
	}
	return nil
}

// StopAt lets a block end in place of its operation number i, with a message that has shows in the places of {}. It
// reports whether the block can: see Note [Shapes that do not fit].
func StopAt(b *ir.Block, i int, span diag.Span, message string, shows types.Shape) bool {
	for _, y := range b.Yields {
		if y.Type.Elem == types.String || ir.CheckExtents(y.Type) != nil {
			return false
		}
	}
	if len(b.Yields) == 0 {
		return false
	}
	end := &ir.Block{}
	at := &ir.Builder{Block: end, Span: span}
	at.Emit(Stop, ir.A{"where": types.Shape{types.Lit(1)}, "says": message, "shows": append(types.Shape{}, shows...)})
	yields := make([]*ir.Value, len(b.Yields))
	for k, y := range b.Yields {
		yields[k] = emitZeros(at, y.Type)
	}
	b.Ops = append(b.Ops[:i:i], end.Ops...)
	b.Yields = yields
	return true
}
