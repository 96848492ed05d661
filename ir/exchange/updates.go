package exchange

import (
	"healc/ir"
	"healc/lang/types"
	"healc/runtime/exchange"
)

var attrUpdates = ir.AttrDef{Name: "size", Kind: ir.AttrInt, Doc: "how many updates a rank gets in a round"}

const atAxis = "the positions are i64, along one axis"

// flatPositions checks positions along one axis, C1.
func flatPositions(what string, at types.Tensor) error {
	if at.Elem != types.I64 || at.Rank() != 1 {
		return broken("C1", "the positions of `%s` are i64 along one axis, not %s", what, at)
	}
	return nil
}

func ints(a *ir.Array) []int64 {
	out := make([]int64, len(a.Bits))
	for i, b := range a.Bits {
		out[i] = int64(b)
	}
	return out
}

// UpdateRounds is how many rounds of Updates there are.
var UpdateRounds = ir.Declare("exchange_update_rounds")
var _ = exchangeOp(UpdateRounds, ir.OpDef{
	Example: "{ let at = reshard([2, 0, 2], 0); scatter_add(reshard([0, 0, 0], 0), at, at, 0) } == [0, 0, 4]",
	Arity:   1,
	Summary: "How many rounds it takes to send what is added at positions of an axis to the ranks that have them.",
	Attrs:   []ir.AttrDef{attrExtent, attrBlock, attrUpdates},
	Infer: func(args []types.Tensor, _ ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		if err := flatPositions("exchange_update_rounds", args[0]); err != nil {
			return nil, err
		}
		return []types.Tensor{types.Scalar(types.I32)}, nil
	},
	Eval: func(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
		n, err := exchange.UpdateRounds(comm(c), blocks(op), ints(args[0]), op.Int("size"))
		if err != nil {
			return nil, err
		}
		return []*ir.Array{{DType: types.I32, Bits: []uint64{uint64(n)}}}, nil
	},
	Constraints: []ir.Constraint{{Name: "C1", Text: atAxis}},
})

// Updates is what is added to the part of this rank in one round.
var Updates = ir.Declare("exchange_updates")
var _ = exchangeOp(Updates, ir.OpDef{
	Example: "{ let at = reshard([2, 0, 2], 0); scatter_add(reshard([0, 0, 0], 0), at, at, 0) } == [0, 0, 4]",
	Arity:   3,
	Summary: "Those of a round of what all ranks add at positions of an axis, in the order of the ranks: where in " +
		"this rank's part, and what. Behind them are zeros, for the position behind its part.",
	Attrs: []ir.AttrDef{attrExtent, attrBlock, attrUpdates},
	Infer: func(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		at, v := args[0], args[1]
		if err := flatPositions("exchange_updates", at); err != nil {
			return nil, err
		}
		if !v.Shape.Equal(at.Shape) {
			return nil, broken("C2", "`exchange_updates` has %s for the positions %s", v, at)
		}
		if !types.Equal(args[2], types.Scalar(types.I32)) {
			return nil, broken("C3", "the round of `exchange_updates` is an i32, not %s", args[2])
		}
		size := attrs[2].(int64)
		return []types.Tensor{withExtent(at, 0, size), withExtent(v, 0, size)}, nil
	},
	Eval: func(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
		at, v := like(op, 0), like(op, 1)
		to, values := make([]int64, len(at.Bits)), bytesOf(v)
		round := int64(int32(args[2].Bits[0]))
		if err := exchange.Updates(comm(c), blocks(op), ints(args[0]), bytesOf(args[1]), int64(v.DType.Bytes()), round,
			to, values); err != nil {
			return nil, err
		}
		for i, p := range to {
			at.Bits[i] = uint64(p)
		}
		setBytes(v, values)
		return []*ir.Array{at, v}, nil
	},
	Constraints: []ir.Constraint{{Name: "C1", Text: atAxis},
		{Name: "C2", Text: "there is one value for each position"}, {Name: "C3", Text: "the round is an i32 scalar"}},
})
