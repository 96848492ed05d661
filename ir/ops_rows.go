package ir

import (
	"sort"

	"healc/ir/scalar"
	"healc/lang/types"
)

// The operations that compute whole rows; see Note [Rows].
var (
	OpSort = define(&OpDef{
		Name: "sort", Class: Rows, Surface: "sort", Arity: 1,
		Reads: readsAll,
		Summary: "The elements along an axis in ascending order, false before true and NaN last; equal ones, such as " +
			"-0 and +0, keep their order.",
		Attrs: []AttrDef{{Name: "axis", Kind: AttrInt, Doc: "the axis that is sorted"}},
		Infer: inferSort("`sort`", types.Invalid),
		Eval:  evalSort(false), Element: elementSort(false), Rows: rowsSort(false), RowWork: rowAgain,
		Constraints: []Constraint{{"C1", "the operand holds numbers or bools"}, {"C2", "the axis exists"}},
		Example:     "sort([3, 1, 2]) == [1, 2, 3]",
	})

	OpArgsort = define(&OpDef{
		Name: "argsort", Class: Rows, Surface: "argsort", Arity: 1,
		Reads:   readsAll,
		Summary: "The i32 positions that sort an axis: take_along_axis(x, argsort(x, axis), axis) is sort(x, axis).",
		Attrs:   []AttrDef{{Name: "axis", Kind: AttrInt, Doc: "the axis that is sorted"}},
		Infer:   inferSort("`argsort`", types.I32),
		Eval:    evalSort(true), Element: elementSort(true), Rows: rowsSort(true), RowWork: rowAgain,
		NoGrad:      "a position is an integer",
		Constraints: []Constraint{{"C1", "the operand holds numbers or bools"}, {"C2", "the axis exists"}},
		Example:     "argsort([3, 1, 2]) == [1, 2, 0]",
	})

	OpScatterAdd = define(&OpDef{
		Name: "scatter_add", Class: Rows, Surface: "scatter_add", Arity: 3, Traits: MayFail,
		Reads: func(op *Op, i int) bool { return i == 0 || provablyPositive(op.Type().Shape[op.Int("axis")]) },
		Summary: "The first operand with the elements of the third added at the positions of the second along an " +
			"axis, in row-major order; " +
			"a position out of range stops the program.",
		Attrs:   []AttrDef{{Name: "axis", Kind: AttrInt, Doc: "the axis that the positions count"}},
		Infer:   inferScatterAdd,
		Eval:    evalScatterAdd,
		Element: elementScatterAdd, Rows: rowsScatterAdd,
		RowWork: func(op *Op, size func(types.Dim) float64) float64 {
			return 1 + 4*size(op.Args[1].Type.Shape[op.Int("axis")])
		},
		Constraints: []Constraint{
			{"C1", "the first and the third operand share one element type, number"},
			{"C2", "the axis exists"},
			{"C3", "every position is an i32 or i64"},
			{"C4", "the shapes agree on every other axis"},
			{"C5", "the positions and what is added share one shape"},
		},
		Example: "scatter_add([0, 0, 0], [2, 0, 2], [1, 10, 100], 0) == [10, 0, 101]",
	})
)

// rowAgain is the RowWork of an Element rule that goes through the whole row, and for each of its elements again.
func rowAgain(op *Op, size func(types.Dim) float64) float64 {
	row := size(op.Type().Shape[op.Int("axis")])
	return row * (1 + 6*row)
}

func inferSort(what string, result types.DType) func(args []types.Tensor, attrs Attrs, _ []*Block) ([]types.Tensor,
	error) {
	return func(args []types.Tensor, attrs Attrs, _ []*Block) ([]types.Tensor, error) {
		x, axis := args[0], attrs[0].(int64)
		if err := requireIn("C1", what, elements, x); err != nil {
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

func inferScatterAdd(args []types.Tensor, attrs Attrs, _ []*Block) ([]types.Tensor, error) {
	x, idx, v, axis := args[0], args[1], args[2], attrs[0].(int64)
	if err := requireIn("C1", "`scatter_add`", numbers, x); err != nil {
		return nil, err
	}
	if err := requireSameDType("C1", "`scatter_add`", x, v); err != nil {
		return nil, err
	}
	if err := requireAlong("`scatter_add`", x, idx, axis); err != nil {
		return nil, err
	}
	if err := sameShape("C5", "the positions and what is added differ in shape", idx.Shape, v.Shape); err != nil {
		return nil, err
	}
	return []types.Tensor{x}, nil
}

// evalSort sorts each line with the library's stable sort.
func evalSort(positions bool) func(c EvalContext, op *Op, args []*Array) ([]*Array, error) {
	return func(_ EvalContext, op *Op, args []*Array) ([]*Array, error) {
		x, axis := args[0], op.Int("axis")
		out := NewArray(op.Type().Elem, x.Shape...)
		if len(out.Bits) == 0 {
			return one(out)
		}
		order := make([]int64, x.Shape[axis])
		_ = lines(x.Shape, axis, func(_ int, first, step int64) error {
			for i := range order {
				order[i] = int64(i)
			}
			at := func(i int) uint64 { return x.Bits[first+order[i]*step] }
			sort.SliceStable(order, func(i, j int) bool { return sortsBefore(x.DType, at(i), at(j)) })
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

func sortsBefore(t types.DType, x, y uint64) bool {
	if isNaN(t, x) || isNaN(t, y) {
		return !isNaN(t, x) && isNaN(t, y)
	}
	return less(t, x, y)
}

func evalScatterAdd(c EvalContext, op *Op, args []*Array) ([]*Array, error) {
	x, idx, v, axis := args[0], args[1], args[2], op.Int("axis")
	out := NewArray(x.DType, x.Shape...)
	copy(out.Bits, x.Bits)
	if len(out.Bits) == 0 {
		return one(out)
	}
	add := vectorOf(op.Def, x.DType, 2, func(e scalar.Emitter, x []scalar.Ref) scalar.Ref { return e.Add(x[0], x[1]) })
	step := rowMajor(x.Shape)[axis]
	m, n := idx.Shape[axis], x.Shape[axis]
	for i := range idx.Bits {
		at := signExtend(idx.DType, idx.Bits[i])
		if at < 0 || at >= n {
			return nil, c.Fail(op, scalar.CheckIndex, at, n)
		}
		to := int64(i)/(m*step)*(n*step) + at*step + int64(i)%step
		add.into(out.Bits[to:to+1], out.Bits[to:to+1], v.Bits[i:i+1])
	}
	return one(out)
}
