package ir

import (
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Loops]: a loop carries a state, any number of values of any shape. Its region computes the next
// state from the number of the step, an i32 that counts from 0, and the state; everything else that it
// reads is captured. Programs do not see the number of the step: `fold` over a state that is no scalar and
// `each` are loops whose region reads the element of that number, so that a kernel knows its index to be
// in range.
//
// A loop becomes one of two things. When its state is small and a step does little work, it is a loop
// inside of a kernel, whose state lives in registers. Else it is a step of the plan that runs kernels, and
// the states of two neighbouring steps change places in memory. passes/fusion decides which.

// OpIterate computes a state again and again.
var OpIterate = define(&OpDef{
	Name: "iterate", Class: Scope, Surface: "iterate", Arity: Variadic, Regions: 1,
	Reads:   readsForAny,
	Summary: "The state after so many steps; a count below 1 leaves the start as it is.",
	Infer: func(args []types.Tensor, _ Attrs, regions []*Block) ([]types.Tensor, error) {
		return inferLoop("iterate", args, regions[0], 0)
	},
	Eval:    evalIterate,
	Element: elementIterate,
	Constraints: []Constraint{
		{"C1",
			"the first operand, the number of steps, is an i32 scalar; the others, the start, hold numbers or bools, " +
				"or are strings"},
		{"C2", "the region takes the number of the step, an i32, and the state, of the types of the start"},
		{"C3", "the region yields the next state, of the types of the start"},
	},
	Example: "iterate(10, 1, |x| 2 * x) == 1024",
})

// OpIterateUntil computes a state until a condition holds.
var OpIterateUntil = define(&OpDef{
	Name: "iterate_until", Class: Scope, Surface: "iterate_until", Arity: Variadic, Regions: 1,
	Reads: readsForAny,
	Summary: "The state after the first step that makes the condition true, or after the greatest number of steps; " +
		"the start is not tested.",
	Infer: func(args []types.Tensor, _ Attrs, regions []*Block) ([]types.Tensor, error) {
		return inferLoop("iterate_until", args, regions[0], 1)
	},
	Eval:    evalIterate,
	Element: elementIterate,
	Constraints: []Constraint{
		{"C1",
			"the first operand, the greatest number of steps, is an i32 scalar; the others, the start, hold numbers " +
				"or bools, or are strings"},
		{"C2", "the region takes the number of the step, an i32, and the state, of the types of the start"},
		{"C3", "the region yields the next state, of the types of the start, and a bool that ends the loop"},
	},
	Example: "iterate_until(1, |x| 2 * x, |x| x > 100, 1000) == 128",
})

// inferLoop gives the types of the state; extra counts the bools that the region yields after it.
func inferLoop(name string, args []types.Tensor, body *Block, extra int) ([]types.Tensor, error) {
	if len(args) == 0 || !types.Equal(args[0], types.Scalar(types.I32)) {
		return nil, broken("C1", "the number of steps of `%s` is an i32", name)
	}
	state := args[1:]
	for _, t := range state {
		if t.Elem == types.String && t.IsScalar() {
			continue
		}
		if err := requireIn("C1", "the state of `"+name+"`", elements, t); err != nil {
			return nil, err
		}
	}
	want := append([]types.Tensor{types.Scalar(types.I32)}, state...)
	if len(body.Params) != len(want) {
		return nil, broken("C2", "the step of `%s` takes %s, not %d", name, types.Count(len(want), "value"),
			len(body.Params))
	}
	for i, t := range want {
		if !types.Equal(body.Params[i].Type, t) {
			return nil, broken("C2", "the step of `%s` takes %s here, not %s", name, t, body.Params[i].Type)
		}
	}
	want = append([]types.Tensor{}, state...)
	for range extra {
		want = append(want, types.Scalar(types.Bool))
	}
	if len(body.Yields) != len(want) {
		return nil, broken("C3", "the step of `%s` gives %s, not %d", name, types.Count(len(want), "value"),
			len(body.Yields))
	}
	for i, t := range want {
		if !types.Equal(body.Yields[i].Type, t) {
			return nil, broken("C3", "the step of `%s` makes %s of %s", name, body.Yields[i].Type, t)
		}
	}
	return state, nil
}

// Stops reports that o is a loop whose region yields, after the state, whether it ends.
func (o *Op) Stops() bool { return len(o.Regions[0].Yields) > len(o.Results) }

// IsLoop reports that o carries a state through steps.
func (o *Op) IsLoop() bool { return o.Def == OpIterate || o.Def == OpIterateUntil }

// evalIterate is the meaning of both loops.
func evalIterate(c EvalContext, op *Op, args []*Array) ([]*Array, error) {
	state := args[1:]
	for i := int64(0); i < signed(args[0]); i++ {
		in := append([]*Array{scalarArray(types.I32, scalar.IntBits(types.I32, i))}, state...)
		out, err := c.Region(op, 0, in...)
		if err != nil {
			return nil, err
		}
		state = out[:len(state)]
		if op.Stops() && out[len(state)].Bits[0] != 0 {
			break
		}
	}
	return state, nil
}

// elementIterate is a loop whose state is scalars; bufferize takes small tensors apart before it asks.
func elementIterate(p Pull, op *Op, result int, _ []scalar.Ref) scalar.Ref {
	n := p.Arg(op, 0, nil)
	init := make([]scalar.Ref, len(op.Args)-1)
	for k := range init {
		init[k] = p.Arg(op, k+1, nil)
	}
	return p.Iterate(n, init, func(i scalar.Ref, state []scalar.Ref) ([]scalar.Ref, scalar.Ref) {
		in := append([]scalar.Ref{p.E().Cast(types.I32, i)}, state...)
		next := make([]scalar.Ref, len(state))
		for k := range next {
			next[k] = p.Region(op, 0, k, in, nil)
		}
		stop := scalar.None
		if op.Stops() {
			stop = p.Region(op, 0, len(state), in, nil)
		}
		return next, stop
	})[result]
}

// OpScan keeps every accumulator of a fold.
var OpScan = define(&OpDef{
	Name: "scan", Class: Scope, Surface: "scan", Arity: Variadic, Regions: 1,
	Reads: readsLast,
	Space: func(op *Op) types.Shape { return op.Results[0].Type.Shape },
	Summary: "The accumulators of the left folds along the last axis, one after each element; without a start the " +
		"first element is the first of them.",
	Attrs: []AttrDef{
		{Name: "init", Kind: AttrFlag, Optional: true, Doc: "whether the operands before the last are the start"},
	},
	Infer:   inferScan,
	Eval:    evalScan,
	Element: elementScan,
	Constraints: []Constraint{
		{"C1",
			"the operands are the tensor, of numbers or bools and with an axis, and before it the scalar starts if " +
				"init is set"},
		{"C2", "the region takes the accumulators and an element, all scalars, and yields the accumulators"},
	},
	Example: "scan(0, |a, x| 10 * a + x, [1, 2, 3]) == [1, 12, 123]",
})

// accumulators are the types of what a scan carries.
func accumulators(args []types.Tensor, attrs Attrs) []types.Tensor {
	if init, _ := attrs[0].(bool); init {
		return args[:len(args)-1]
	}
	return []types.Tensor{types.Scalar(args[len(args)-1].Elem)}
}

func inferScan(args []types.Tensor, attrs Attrs, regions []*Block) ([]types.Tensor, error) {
	init, _ := attrs[0].(bool)
	if len(args) == 0 || !init && len(args) != 1 || init && len(args) < 2 {
		return nil, broken("C1", "scan takes the tensor, and the starts before it if there are any, not %s",
			types.Count(len(args), "operand"))
	}
	x := args[len(args)-1]
	if err := requireIn("C1", "a scan", elements, x); err != nil {
		return nil, err
	}
	if x.IsScalar() {
		return nil, broken("C1", "a scan goes along the last axis, and a scalar has none")
	}
	accs := accumulators(args, attrs)
	for _, t := range accs {
		if !t.IsScalar() || !elements.has(t.Elem) {
			return nil, broken("C1", "the start of a scan is made of scalars, not %s", t)
		}
	}
	want := append(append([]types.Tensor{}, accs...), types.Scalar(x.Elem))
	body := regions[0]
	if len(body.Params) != len(want) {
		return nil, broken("C2", "the function of a scan takes %s, not %d", types.Count(len(want), "value"),
			len(body.Params))
	}
	for i, t := range want {
		if !types.Equal(body.Params[i].Type, t) {
			return nil, broken("C2", "the function of a scan takes %s here, not %s", t, body.Params[i].Type)
		}
	}
	if len(body.Yields) != len(accs) {
		return nil, broken("C2", "the function of a scan gives %s, not %d", types.Count(len(accs), "value"),
			len(body.Yields))
	}
	out := make([]types.Tensor, len(accs))
	for i, t := range accs {
		if !types.Equal(body.Yields[i].Type, t) {
			return nil, broken("C2", "the function of a scan makes %s of %s", body.Yields[i].Type, t)
		}
		out[i] = types.Tensor{Elem: t.Elem, Shape: x.Shape}
	}
	return out, nil
}

func evalScan(c EvalContext, op *Op, args []*Array) ([]*Array, error) {
	x := args[len(args)-1]
	out := make([]*Array, len(op.Results))
	for k, r := range op.Results {
		out[k] = NewArray(r.Type.Elem, x.Shape...)
	}
	n := int(x.Shape[len(x.Shape)-1])
	for at := range x.Bits {
		elem := scalarArray(x.DType, x.Bits[at])
		first := at%n == 0
		if first && !op.Flag("init") {
			out[0].Bits[at] = elem.Bits[0]
			continue
		}
		in := make([]*Array, len(out), len(out)+1)
		for k := range in {
			if first {
				in[k] = args[k]
			} else {
				in[k] = scalarArray(out[k].DType, out[k].Bits[at-1])
			}
		}
		acc, err := c.Region(op, 0, append(in, elem)...)
		if err != nil {
			return nil, err
		}
		for k := range out {
			out[k].Bits[at] = acc[k].Bits[0]
		}
	}
	return out, nil
}

// elementScan folds up to the element that is wanted. A scan that is written to memory as a whole stores
// every accumulator on the way instead; bufferize does that with ScanStep.
func elementScan(p Pull, op *Op, result int, at []scalar.Ref) scalar.Ref {
	last := len(at) - 1
	e := p.E()
	start, skipped := ScanStart(p, op, at[:last])
	n := e.Add(at[last], e.Int(types.I64, 1-skipped))
	return p.Iterate(n, start, func(i scalar.Ref, acc []scalar.Ref) ([]scalar.Ref, scalar.Ref) {
		return ScanStep(p, op, at[:last], p.E().Add(i, p.E().Int(types.I64, skipped)), acc), scalar.None
	})[result]
}

// ScanStart gives the accumulators of a scan before its first step, for the row at, and the number of
// elements that they hold already: one when there is no start.
func ScanStart(p Pull, op *Op, row []scalar.Ref) (acc []scalar.Ref, skipped int64) {
	x := len(op.Args) - 1
	if !op.Flag("init") {
		shape, e := op.Args[x].Type.Shape, p.E()
		if d := shape[len(shape)-1]; !provablyPositive(d) {
			// It holds where there is an element to compute, and keeps the first one from being read where not.
			e.Check(scalar.CheckEmpty, e.Lt(e.Int(types.I64, 0), p.Extent(d)))
		}
		first := append(append([]scalar.Ref{}, row...), p.E().Int(types.I64, 0))
		return []scalar.Ref{p.Arg(op, x, first)}, 1
	}
	for k := range x {
		acc = append(acc, p.Arg(op, k, nil))
	}
	return acc, 0
}

// ScanStep gives the accumulators after element i of a row.
func ScanStep(p Pull, op *Op, row []scalar.Ref, i scalar.Ref, acc []scalar.Ref) []scalar.Ref {
	x := p.Arg(op, len(op.Args)-1, append(append([]scalar.Ref{}, row...), i))
	in := append(append([]scalar.Ref{}, acc...), x)
	next := make([]scalar.Ref, len(acc))
	for k := range next {
		next[k] = p.Region(op, 0, k, in, nil)
	}
	return next
}

// MaxSmallState is the number of scalars that the state of a loop may have when it is in a kernel.
const MaxSmallState = 32

// SmallState reports that the state of a loop is few scalars, so that registers can hold it: all its
// extents are literal, and there are at most MaxSmallState elements.
func (o *Op) SmallState() bool {
	total := int64(0)
	for _, r := range o.Results {
		n := int64(1)
		for _, d := range r.Type.Shape {
			c, ok := d.Const()
			if !ok || c > MaxSmallState {
				return false
			}
			if n *= c; n > MaxSmallState {
				return false
			}
		}
		total += n
	}
	return total <= MaxSmallState
}
