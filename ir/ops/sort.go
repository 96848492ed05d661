package ops

import (
	"sort"

	"healc/ir"
	"healc/ir/rows"
	"healc/ir/scalar"
	"healc/lang/types"
)

// The operations that compute whole rows; see Note [Rows].

var Sort = ir.Declare("sort")
var _ = ir.Define(Sort, ir.OpDef{
	Class: ir.Rows, Surface: "sort", Arity: 1,
	Sharding: ir.ShardSort,
	Reads:    readsAll,
	Params: []ir.Param{
		{Name: "x"},
		{Name: "axis", Kind: ir.ParamAxis, Optional: true, Default: -1},
	},
	Summary: "The elements along an axis in ascending order, false before true and NaN last; equal ones, such as " +
		"-0 and +0, keep their order.",
	Attrs: []ir.AttrDef{{Name: "axis", Kind: ir.AttrInt, Doc: "the axis that is sorted"}},
	Infer: inferSort("`sort`", types.Invalid),
	Eval:  evalSort(false), Element: elementSort(false), Rows: rowsSort(false), RowWork: sortWork,
	VJP: vjp(func(t *tape, op *ir.Op, cts []*ir.Value) {
		at := t.Emit(Argsort, ir.A{"axis": op.Int("axis")}, op.Args[0])
		t.AddInto(op.Args[0], func(sum *ir.Value) *ir.Value {
			return t.Emit(ScatterAdd, ir.A{"axis": op.Int("axis")}, sum, at, cts[0])
		})
	}),
	Constraints: []ir.Constraint{{Name: "C1", Text: "the operand holds numbers or bools"},
		{Name: "C2", Text: "the axis exists"}},
	Example: "sort([3, 1, 2]) == [1, 2, 3]",
})

var Argsort = ir.Declare("argsort")
var _ = ir.Define(Argsort, ir.OpDef{
	Class: ir.Rows, Surface: "argsort", Arity: 1,
	Sharding: ir.ShardSortPositions,
	Reads:    readsAll,
	Params: []ir.Param{
		{Name: "x", Literals: ir.LiteralsOwn},
		{Name: "axis", Kind: ir.ParamAxis, Optional: true, Default: -1},
	},
	Summary: "The i32 positions that sort an axis: take_along_axis(x, argsort(x, axis), axis) is sort(x, axis).",
	Attrs:   []ir.AttrDef{{Name: "axis", Kind: ir.AttrInt, Doc: "the axis that is sorted"}},
	Infer:   inferSort("`argsort`", types.I32),
	Eval:    evalSort(true), Element: elementSort(true), Rows: rowsSort(true), RowWork: sortWork,
	NoGrad: "a position is an integer",
	Constraints: []ir.Constraint{{Name: "C1", Text: "the operand holds numbers or bools"},
		{Name: "C2", Text: "the axis exists"}},
	Example: "argsort([3, 1, 2]) == [1, 2, 0]",
})

// Note [Partial sorts]
//
// Where only elements of some ranks are read of what is sorted, such as the first ten or the one in the middle, the
// pass ranks makes a partial_sort of a sort. Its result has the same shape, and what reads it stays as it is; only what
// nobody reads need not be there. So a back end may sort all of it, as those without kernel.Sort do, and so does the
// interpreter. The ranks may be known at run time only. They say what is read, and check nothing.

// partialAttrs are the attributes of a partial sort.
var partialAttrs = []ir.AttrDef{
	{Name: "axis", Kind: ir.AttrInt, Doc: "the axis that is sorted"},
	{Name: "starts", Kind: ir.AttrDims, Doc: "where ranks begin that are known; those of the others are operands"},
	{Name: "sizes", Kind: ir.AttrDims, Doc: "how many ranks there are from each start on"},
}

var partialConstraints = []ir.Constraint{
	{Name: "C1", Text: "the operand holds numbers or bools"},
	{Name: "C2", Text: "the axis exists"},
	{Name: "C3", Text: "the other operands are i32 or i64 scalars"},
	{Name: "C4", Text: "there is one size for each start"},
}

var PartialSort = ir.Declare("partial_sort")
var _ = ir.Define(PartialSort, ir.OpDef{
	Class: ir.Rows, Arity: ir.Variadic, Traits: ir.Partial, Tables: 1,
	Sharding: ir.ShardSort,
	Reads:    readsAll,
	Summary: "The elements of `sort` that have some ranks, in their places; the others are any. It stands for a sort " +
		"of which no others are read.",
	Attrs: partialAttrs,
	Infer: inferPartialSort("`sort`", types.Invalid),
	Eval:  evalSort(false), Element: elementSort(false), Rows: rowsSort(false), RowWork: sortWork,
	VJP: vjp(func(t *tape, op *ir.Op, cts []*ir.Value) {
		attrs := ir.A{"axis": op.Int("axis"), "starts": op.Dims("starts"), "sizes": op.Dims("sizes")}
		at := t.Emit(PartialArgsort, attrs, op.Args...)
		t.AddInto(op.Args[0], func(sum *ir.Value) *ir.Value {
			return t.Emit(ScatterAdd, ir.A{"axis": op.Int("axis")}, sum, at, cts[0])
		})
	}),
	Constraints: partialConstraints,
	Example:     "sort([3, 1, 2])[0..2] == [1, 2]",
})

var PartialArgsort = ir.Declare("partial_argsort")
var _ = ir.Define(PartialArgsort, ir.OpDef{
	Class: ir.Rows, Arity: ir.Variadic, Traits: ir.Partial, Tables: 1,
	Sharding: ir.ShardSortPositions,
	Reads:    readsAll,
	Summary: "The elements of `argsort` that have some ranks, in their places; the others are any. It stands for an " +
		"argsort of which no others are read.",
	Attrs: partialAttrs,
	Infer: inferPartialSort("`argsort`", types.I32),
	Eval:  evalSort(true), Element: elementSort(true), Rows: rowsSort(true), RowWork: sortWork,
	NoGrad:      "a position is an integer",
	Constraints: partialConstraints,
	Example:     "argsort([3, 1, 2])[0..2] == [1, 2]",
})

func inferPartialSort(what string, result types.DType) func(args []types.Tensor, attrs ir.Attrs,
	_ []*ir.Block) ([]types.Tensor, error) {
	whole := inferSort(what, result)
	return func(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		starts, sizes := attrs[1].(types.Shape), attrs[2].(types.Shape)
		if len(args) == 0 || len(sizes) != len(starts)+len(args)-1 {
			return nil, broken("C4", "%d sizes are given for %d starts", len(sizes), len(starts)+len(args)-1)
		}
		for _, i := range args[1:] {
			if err := requireIn("C3", "a rank", indices, i); err != nil {
				return nil, err
			}
			if !i.IsScalar() {
				return nil, broken("C3", "a rank is a scalar, not %s", i)
			}
		}
		return whole(args, attrs, nil)
	}
}

// ranksOf are the ranks that a partial sort is asked for; none for a sort of all.
func ranksOf(p ir.Pull, op *ir.Op) []ir.Ranks {
	if op.Def != PartialSort && op.Def != PartialArgsort {
		return nil
	}
	var out []ir.Ranks
	starts, sizes := op.Dims("starts"), op.Dims("sizes")
	for i, n := range sizes {
		var first scalar.Ref
		if i < len(starts) {
			first = p.Extent(starts[i])
		} else {
			first = p.E().Cast(types.I64, p.Arg(op, 1+i-len(starts), nil))
		}
		out = append(out, ir.Ranks{First: first, Size: n})
	}
	return out
}

func inferSort(what string, result types.DType) func(args []types.Tensor, attrs ir.Attrs,
	_ []*ir.Block) ([]types.Tensor,
	error) {
	return func(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		x, axis := args[0], attrs[0].(int64)
		if err := requireIn("C1", what, computed, x); err != nil {
			return nil, err
		}
		if axis < 0 || axis >= int64(x.Rank()) {
			return nil, broken("C2", "axis %d is out of range for %s of rank %d", axis, x, x.Rank())
		}
		if result != types.Invalid {
			x.Elem = result
		}
		return []types.Tensor{x}, nil
	}
}

// evalSort sorts each line with the library's stable sort.
func evalSort(positions bool) func(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
	return func(_ ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
		x, axis := args[0], op.Int("axis")
		out := ir.NewArray(op.Type().Elem, x.Shape...)
		if len(out.Bits) == 0 {
			return one(out)
		}
		order := make([]int64, x.Shape[axis])
		_ = lines(x.Shape, axis, func(_ int, first, step int64) error {
			for i := range order {
				order[i] = int64(i)
			}
			at := func(i int) uint64 { return x.Bits[first+order[i]*step] }
			sort.SliceStable(order, func(i, j int) bool { return SortsBefore(x.DType, at(i), at(j)) })
			for i, from := range order {
				bits := scalar.IntBits(types.I32, from)
				if !positions {
					bits = x.Bits[first+from*step]
				}
				out.Bits[first+int64(i)*step] = bits
			}
			return nil
		})
		return one(out)
	}
}

// SortsBefore reports that sort puts x, the bits of an element of type t, before y wherever they stand.
func SortsBefore(t types.DType, x, y uint64) bool {
	if isNaN(t, x) || isNaN(t, y) {
		return !isNaN(t, x) && isNaN(t, y)
	}
	return less(t, x, y)
}

// rowsSort sorts by merging where threads share a row (Note [Shared merges]), and by keys elsewhere (Note [Sorting by
// keys]).
func rowsSort(positions bool) func(p ir.RowPull, op *ir.Op, at []scalar.Ref) {
	return func(p ir.RowPull, op *ir.Op, at []scalar.Ref) {
		axis := op.Int("axis")
		arg := func(i scalar.Ref) scalar.Ref { return p.Arg(op, 0, ir.Moved(at, axis, i)) }
		x := op.Args[0].Type
		if p.Shared() {
			rows.SortByMerging(p, x.Elem, x.Shape[axis], positions, arg)
			return
		}
		source, loaded := p.Operand(op, 0, func(i scalar.Ref) []scalar.Ref { return ir.Moved(at, axis, i) })
		if !loaded {
			source = ir.NoMemory
		}
		rows.SortByKeys(p, x.Elem, x.Shape[axis], positions, source, arg, ranksOf(p, op))
	}
}

// elementSort is the element of rank at[axis] (Note [Sorted elements one by one]).
func elementSort(positions bool) func(p ir.Pull, op *ir.Op, result int, at []scalar.Ref) scalar.Ref {
	return func(p ir.Pull, op *ir.Op, _ int, at []scalar.Ref) scalar.Ref {
		x, axis := op.Args[0].Type, op.Int("axis")
		return rows.Picked(p, x.Elem, x.Shape[axis], positions, at[axis], func(i scalar.Ref) scalar.Ref {
			return p.Arg(op, 0, ir.Moved(at, axis, i))
		})
	}
}

// sortWork is the RowWork of elementSort, which goes through the row for each of its elements or for each bit of a key.
func sortWork(op *ir.Op, size func(types.Dim) float64) float64 {
	row := size(op.Type().Shape[op.Int("axis")])
	return row * (1 + 6*rows.Passes(op.Args[0].Type.Elem, row))
}

// rowAgain is the RowWork of an Element rule that goes through the whole row, and for each of its elements again.
func rowAgain(op *ir.Op, size func(types.Dim) float64) float64 {
	row := size(op.Type().Shape[op.Int("axis")])
	return row * (1 + 6*row)
}
