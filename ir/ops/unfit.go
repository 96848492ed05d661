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
