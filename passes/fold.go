package passes

import (
	"errors"

	"healc/ir"
	"healc/ir/ops"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/cluster"
)

// maxFoldElems bounds the constants that folding makes: larger ones are cheaper to compute where they are
// used than to keep in the program and read from memory.
const maxFoldElems = 1024

// maxFoldWork bounds the operands of folded operations, and with it the time of the compiler.
const maxFoldWork = 1 << 16

// addFoldRules registers constant folding. It uses the reference meaning of each operation, so that it
// cannot differ from what the program would compute; what would fail is left to fail when it runs.
func addFoldRules() {
	addRule("constant with equal elements", splatConstant, ops.Const)
	for _, d := range ir.Ops() {
		switch {
		case d == ops.Const || d == ops.Broadcast || d == ops.Iota:
			// These are constants already, and in their shortest form.
		case d.Regions != 0 || d.Traits.Has(ir.Effect) || d.Traits.Has(ir.Partial) || d.Class == ir.Host ||
			d.Class == ir.Fused:
		case d.Class == ir.Pointwise && d.Scalar != nil, d.Eval != nil:
			addRule("operands are constant", foldConstants, d)
		}
	}
}

// splatConstant: a tensor of two or more equal elements is a scalar, repeated.
func splatConstant(c *canonicalizer, op *ir.Op) []*ir.Value {
	a := op.Array("value")
	if len(a.Bits) < 2 {
		return nil
	}
	for _, b := range a.Bits {
		if b != a.Bits[0] {
			return nil
		}
	}
	return one(c.constant(op, op.Type(), a.Bits[0]))
}

// foldConstants evaluates an operation whose operands are constants.
func foldConstants(c *canonicalizer, op *ir.Op) []*ir.Value {
	if len(op.Results) != 1 || !small(op.Type(), maxFoldElems) {
		return nil
	}
	args := make([]*ir.Array, len(op.Args))
	for i, v := range op.Args {
		a, ok := array(v)
		if !ok || a.DType == types.String || len(a.Bits) > maxFoldWork {
			return nil
		}
		args[i] = a
	}
	var out *ir.Array
	if op.Def.Class == ir.Pointwise {
		out = evalPointwise(op, args)
	} else {
		ctx := &foldContext{}
		if res, err := op.Def.Eval(ctx, op, args); err == nil && !ctx.unknown {
			out = res[0]
		}
	}
	if out == nil || !types.Equal(out.Type(), op.Type()) {
		return nil
	}
	return one(c.emit(op, ops.Const, ir.A{"value": out}))
}

// small reports whether t has literal extents and at most n elements.
func small(t types.Tensor, n int64) bool {
	elems, err := t.Shape.Elems()
	if err != nil {
		return false
	}
	have, ok := elems.Const()
	_, literal := t.Shape.Ints()
	return ok && literal && have <= n
}

// evalPointwise runs the scalar program of op over its operands; nil when a check fails.
func evalPointwise(op *ir.Op, args []*ir.Array) *ir.Array {
	params := make([]types.DType, len(args))
	columns := make([][]uint64, len(args))
	for i, a := range args {
		params[i], columns[i] = a.DType, a.Bits
	}
	rec, refs := scalar.NewRecorder(params...)
	rec.Func.Results = []scalar.Ref{op.Def.Scalar(scalar.Emitter{Sink: rec}, op, refs)}
	shape, _ := op.Type().Shape.Ints()
	out := ir.NewArray(op.Type().Elem, shape...)
	if err := scalar.Compile(&rec.Func).Run(columns, [][]uint64{out.Bits}, len(out.Bits)); err != nil {
		return nil
	}
	return out
}

// foldContext is the interpreter as folding sees it: it knows literal extents only.
type foldContext struct{ unknown bool }

var errNotConstant = errors.New("not a constant")

// Dim implements ir.EvalContext.
func (c *foldContext) Dim(d types.Dim) int64 {
	n, ok := d.Const()
	if !ok {
		c.unknown = true
		return 0
	}
	return n
}

// Region implements ir.EvalContext.
func (*foldContext) Region(*ir.Op, int, ...*ir.Array) ([]*ir.Array, error) {
	return nil, errNotConstant
}

// Call implements ir.EvalContext.
func (*foldContext) Call(*ir.Op, string, []int64, []*ir.Array) ([]*ir.Array, error) {
	return nil, errNotConstant
}

// Fail implements ir.EvalContext.
func (*foldContext) Fail(*ir.Op, scalar.CheckKind, ...int64) error { return errNotConstant }

// System implements ir.EvalContext. No operation that is folded does input or output.
func (*foldContext) System() ir.System { return nil }

// Cluster implements ir.EvalContext. Nor is one folded that depends on the number of ranks.
func (*foldContext) Cluster() cluster.Comm { return nil }

func (*foldContext) Ended() error { return nil }
