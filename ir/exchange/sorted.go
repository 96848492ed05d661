package exchange

import (
	"healc/ir"
	"healc/lang/types"
	"healc/runtime/exchange"
)

// Sorted is what belongs into this rank's block of rows that are sorted.
var Sorted = ir.Declare("exchange_sorted")
var _ = exchangeOp(Sorted, ir.OpDef{
	Example: "sort(reshard([3, 1, 2], 0)) == [1, 2, 3]",
	Arity:   ir.Variadic,
	Summary: "The elements that belong into this rank's block of rows that are sorted: of each row those of rank 0, " +
		"then those of rank 1, and so on. The rows are cut along the second axis, and each part is sorted by the " +
		"first operand; the others are moved as it is.",
	Attrs: []ir.AttrDef{attrExtent, attrBlock},
	Infer: func(args []types.Tensor, _ ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		if len(args) == 0 || args[0].Rank() != 2 || !args[0].Elem.Computes() {
			return nil, broken("C1", "`exchange_sorted` takes rows of numbers or bools, not %v", args)
		}
		for _, x := range args {
			if !x.Shape.Equal(args[0].Shape) {
				return nil, broken("C2", "what `exchange_sorted` moves, %s, has not the shape of %s", x, args[0])
			}
		}
		return args, nil
	},
	Eval: func(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
		var out []*ir.Array
		var columns []exchange.Column
		for i, x := range args {
			out = append(out, like(op, i))
			columns = append(columns, exchange.Column{Part: bytesOf(x), Out: bytesOf(out[i]),
				Bytes: int64(x.DType.Bytes())})
		}
		key := func(i int64) uint64 { return args[0].DType.SortKey(args[0].Bits[i]) }
		if err := exchange.Sorted(comm(c), args[0].Shape[0], blocks(op), key, columns); err != nil {
			return nil, err
		}
		for i, x := range out {
			setBytes(x, columns[i].Out)
		}
		return out, nil
	},
	Constraints: []ir.Constraint{{Name: "C1", Text: "the first operand is rows of numbers or bools"},
		{Name: "C2", Text: "all operands share one shape"}},
})
