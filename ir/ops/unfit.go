package ops

import (
	"fmt"

	"healc/ir"
	"healc/lang/diag"
	"healc/lang/types"
)

// Note [Shapes that do not fit]: with the values of its shape parameters an operation can break a rule, such as a slice
// that leaves its axis. Its result has no type then, so nothing behind it in its block has a meaning, and what runs it
// stops there. Where it stands in a region, an arm or a lambda, that may never be. So the block ends there, in
// operations that stop with the message of the rule and have the types that the block has to give. Where a block gives
// nothing, or something that is no number, the error is that of what is around it.

// Unfit is an operation that breaks a rule.
type Unfit struct {
	At   int // in the block
	Span diag.Span
	Err  error // of the rule
}

// Recheck applies every type rule of a block again, whose shape parameters have got values. The result is the operation
// at which the block stops whenever it runs, nil when there is none; regions that would stop so do it when they run.
// message is the whole text of an error.
func Recheck(b *ir.Block, message func(error) string) *Unfit {
	for i, op := range b.Ops {
		for _, r := range op.Regions {
			if bad := Recheck(r, message); bad != nil && !StopAt(r, bad.At, bad.Span, message(bad.Err)) {
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

// StopAt lets a block end in place of its operation number i, with a message. It reports whether the block can: see
// Note [Shapes that do not fit].
func StopAt(b *ir.Block, i int, span diag.Span, message string) bool {
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
	yields := make([]*ir.Value, len(b.Yields))
	for k, y := range b.Yields {
		zero := func(e types.DType) *ir.Value { return emitZeros(at, types.Scalar(e)) }
		yields[k] = at.Emit(Require, ir.A{"says": message}, zero(y.Type.Elem), zero(types.Bool), zero(types.I64),
			zero(types.I64))
		if !y.Type.IsScalar() {
			yields[k] = at.Emit(Broadcast, ir.A{"shape": y.Type.Shape}, yields[k])
		}
	}
	b.Ops = append(b.Ops[:i:i], end.Ops...)
	b.Yields = yields
	return true
}
