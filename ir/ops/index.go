package ops

import (
	"fmt"

	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Index picks one position of some axes, at run time.
var Index = ir.Declare("index")
var _ = ir.Define(Index, ir.OpDef{
	Class: ir.Reindex, Arity: ir.Variadic, Traits: ir.MayFail | ir.Cheap,
	Sharding: ir.ShardRead,
	Reads:    readsPositions,
	Positions: func(op *ir.Op) []ir.Position {
		return runsAt(op.Args[0].Type.Shape, op.Ints("axes"), nil, 1)
	},
	Summary: "The sub-tensor at the given positions of the listed axes, which are dropped; a position out of range " +
		"stops the program.",
	Attrs: []ir.AttrDef{{Name: "axes", Kind: ir.AttrInts, Doc: "one axis for each position, ascending"}},
	Infer: func(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		axes := attrs[0].([]int64)
		if err := requirePositions(args, axes, "an index"); err != nil {
			return nil, err
		}
		x := args[0]
		out := types.Tensor{Elem: x.Elem, Shape: types.Shape{}}
		for k, d := range x.Shape {
			if !hasAxis(axes, k) {
				out.Shape = append(out.Shape, d)
			}
		}
		return []types.Tensor{out}, nil
	},
	Doomed: func(args []types.Tensor, attrs ir.Attrs) error {
		return noEmptyAxis("C4", args[0], attrs[0].([]int64))
	},
	Eval:    evalIndex,
	Element: elementIndex,
	VJP: vjp(func(t *tape, op *ir.Op, cts []*ir.Value) {
		x, axes := op.Args[0], op.Ints("axes")
		shape := append(types.Shape{}, x.Type.Shape...)
		for _, a := range axes {
			shape[a] = types.Lit(1)
		}
		r := x.Type.Rank()
		attrs := ir.A{"axes": axes, "sizes": lits(len(axes), 1), "starts": lits(r, 0), "steps": ones(r), "shape": shape}
		read := func(sum *ir.Value) *ir.Value {
			return t.Emit(Index, ir.A{"axes": axes}, append([]*ir.Value{sum}, op.Args[1:]...)...)
		}
		t.addAt(x, cts[0], attrs, read, op.Args[1:]...)
	}),
	Constraints: []ir.Constraint{
		{Name: "C1", Text: "the operand holds numbers or bools"},
		{Name: "C2", Text: "there is one position for each listed axis, and the axes are ascending"},
		{Name: "C3", Text: "every position is an i32 or i64 scalar"},
		{Name: "C4", Text: "no listed axis is empty"},
	},
	Example: "[[1, 2], [3, 4]][1, 0] == 3",
})

func evalIndex(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
	x, axes := args[0], op.Ints("axes")
	from := rowMajor(x.Shape)
	shape, strides, offset := []int64{}, []int64{}, int64(0)
	for k, n := range x.Shape {
		if !hasAxis(axes, k) {
			shape, strides = append(shape, n), append(strides, from[k])
		}
	}
	for i, a := range axes {
		at := signed(args[1+i])
		if at < 0 || at >= x.Shape[a] {
			return nil, c.Fail(op, scalar.CheckIndex, at, x.Shape[a])
		}
		offset += at * from[a]
	}
	return one(gather(x, shape, offset, strides))
}

func elementIndex(p ir.Pull, op *ir.Op, _ int, at []scalar.Ref) scalar.Ref {
	e := p.E()
	x, axes := op.Args[0].Type, op.Ints("axes")
	from := make([]scalar.Ref, x.Rank())
	listed, rest := 0, 0
	for k := range from {
		if !hasAxis(axes, k) {
			from[k] = at[rest]
			rest++
			continue
		}
		listed++
		from[k] = e.Cast(types.I64, p.Arg(op, listed, nil))
		bound := p.Extent(x.Shape[k])
		inside := e.And(e.Le(e.Int(types.I64, 0), from[k]), e.Lt(from[k], bound))
		e.Check(scalar.CheckIndex, inside, from[k], bound)
		if x.Shape[k].IsConst(0) {
			return e.Int(x.Elem, 0) // the check fails: there is nothing to pull
		}
	}
	return p.Arg(op, 0, from)
}

// DynamicSlice takes a run of known length that starts at a run-time position.
var DynamicSlice = ir.Declare("dynamic_slice")
var _ = ir.Define(DynamicSlice, ir.OpDef{
	Class: ir.Reindex, Arity: ir.Variadic, Traits: ir.MayFail | ir.Cheap,
	Sharding: ir.ShardRead,
	Reads:    readsPositions,
	Positions: func(op *ir.Op) []ir.Position {
		return runsAt(op.Args[0].Type.Shape, op.Ints("axes"), op.Dims("sizes"), 1)
	},
	Summary: "The elements from a run-time start, in each listed axis; a run that leaves the axis stops the program.",
	Attrs: []ir.AttrDef{
		{Name: "axes", Kind: ir.AttrInts, Doc: "one axis for each start, ascending"},
		{Name: "sizes", Kind: ir.AttrDims, Doc: "the extent of the result in each of these axes"},
	},
	Infer: func(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		axes, sizes := attrs[0].([]int64), attrs[1].(types.Shape)
		if err := requirePositions(args, axes, "a slice"); err != nil {
			return nil, err
		}
		if len(sizes) != len(axes) {
			return nil, broken("C2", "%d sizes are given for %d axes", len(sizes), len(axes))
		}
		x := args[0]
		shape := append(types.Shape{}, x.Shape...)
		for i, a := range axes {
			if over, err := sizes[i].Sub(x.Shape[a]); err == nil {
				if n, ok := over.Const(); ok && n > 0 {
					return nil, &types.RuleError{
						Constraint: "C4", Msg: "slice is longer than its axis", Shapes: []types.Shape{x.Shape},
						Axis: x.Rank() - int(a),
						Why:  fmt.Sprintf("%s elements of an axis of extent %s", sizes[i], x.Shape[a]),
					}
				}
			}
			shape[a] = sizes[i]
		}
		return []types.Tensor{{Elem: x.Elem, Shape: shape}}, nil
	},
	Eval:    evalDynamicSlice,
	Element: elementDynamicSlice,
	VJP: vjp(func(t *tape, op *ir.Op, cts []*ir.Value) {
		x, axes, sizes := op.Args[0], op.Ints("axes"), op.Dims("sizes")
		r := x.Type.Rank()
		attrs := ir.A{"axes": axes, "sizes": sizes, "starts": lits(r, 0), "steps": ones(r), "shape": op.Type().Shape}
		read := func(sum *ir.Value) *ir.Value {
			return t.Emit(DynamicSlice, ir.A{"axes": axes, "sizes": sizes}, append([]*ir.Value{sum}, op.Args[1:]...)...)
		}
		t.addAt(x, cts[0], attrs, read, op.Args[1:]...)
	}),
	Constraints: []ir.Constraint{
		{Name: "C1", Text: "the operand holds numbers or bools"},
		{Name: "C2", Text: "there is one start and one size for each listed axis, and the axes are ascending"},
		{Name: "C3", Text: "every start is an i32 or i64 scalar"},
		{Name: "C4", Text: "no size exceeds its axis"},
	},
	Example: "{ let i = +/([1, 0]); [1, 2, 3, 4][i..i + 2] } == [2, 3]",
})

func evalDynamicSlice(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
	x, axes, sizes := args[0], op.Ints("axes"), extents(c, op.Dims("sizes"))
	strides := rowMajor(x.Shape)
	shape := append([]int64{}, x.Shape...)
	for i, a := range axes {
		shape[a] = sizes[i]
	}
	offset := int64(0)
	for i, a := range axes {
		start := signed(args[1+i])
		if err := checkRun(c, op, start, sizes[i], x.Shape[a]); err != nil {
			return nil, err
		}
		offset += start * strides[a]
	}
	for _, n := range shape {
		if n == 0 {
			return one(ir.NewArray(x.DType, shape...))
		}
	}
	return one(gather(x, shape, offset, strides))
}

// checkRun is the error of a run of elements of an axis of extent n that leaves it; nil for a run of none.
func checkRun(c ir.EvalContext, op *ir.Op, start, size, n int64) error {
	if size == 0 || start >= 0 && start <= n-size {
		return nil
	}
	outside := start // the first index that is not in the axis
	if start >= 0 && start < n {
		outside = n
	}
	return c.Fail(op, scalar.CheckIndex, outside, n)
}

// runsAt lists the positions on these axes of a shape, which are operands from the first on; one element is at each
// where there are no sizes.
func runsAt(x types.Shape, axes []int64, sizes types.Shape, first int) []ir.Position {
	var out []ir.Position
	for i, a := range axes {
		p := ir.Position{Arg: first + i, Extent: x[a], Size: types.Lit(1)}
		if sizes != nil {
			p.Size = sizes[i]
		}
		out = append(out, p)
	}
	return out
}

func elementDynamicSlice(p ir.Pull, op *ir.Op, _ int, at []scalar.Ref) scalar.Ref {
	e := p.E()
	x, axes, sizes := op.Args[0].Type, op.Ints("axes"), op.Dims("sizes")
	from := append([]scalar.Ref{}, at...)
	zero := e.Int(types.I64, 0)
	for i, a := range axes {
		start := e.Cast(types.I64, p.Arg(op, 1+i, nil))
		bound := p.Extent(x.Shape[a])
		inside := e.And(e.Le(zero, start), e.Le(start, e.Sub(bound, p.Extent(sizes[i]))))
		// The first index that is not in the axis is the start, or the bound when the start is in it.
		startInside := e.And(e.Le(zero, start), e.Lt(start, bound))
		e.Check(scalar.CheckIndex, inside, e.Select(startInside, bound, start), bound)
		from[a] = e.Add(start, at[a])
	}
	return p.Arg(op, 0, from)
}

// requirePositions checks the operands x, i... of an operation that takes a run-time position on some axes.
func requirePositions(args []types.Tensor, axes []int64, what string) error {
	if len(args) == 0 || len(args) != 1+len(axes) {
		return broken("C2", "%d positions are given for %d axes", max(len(args)-1, 0), len(axes))
	}
	if err := requireIn("C1", what, elements, args[0]); err != nil {
		return err
	}
	if err := requireAxes(what, axes, args[0].Rank()); err != nil {
		return err
	}
	for _, i := range args[1:] {
		if err := requireIn("C3", "a position", indices, i); err != nil {
			return err
		}
		if !i.IsScalar() {
			return broken("C3", "a position is a scalar, not %s", i)
		}
	}
	return nil
}

func hasAxis(axes []int64, k int) bool {
	for _, a := range axes {
		if a == int64(k) {
			return true
		}
	}
	return false
}

// addAt adds g to the elements of v's gradient that read gives and an update with these attributes, at these
// positions, replaces. Where there is no gradient yet, nothing is read.
func (t *tape) addAt(v, g *ir.Value, attrs ir.A, read func(x *ir.Value) *ir.Value, positions ...*ir.Value) {
	if !t.Needs(v) {
		return
	}
	sum := t.cotangents[v]
	if sum == nil {
		sum = t.Zeros(v.Type)
	} else {
		g = t.add(t.reshape(read(sum), g.Type.Shape), g)
	}
	g = t.reshape(g, attrs["shape"].(types.Shape))
	t.cotangents[v] = t.Emit(Update, attrs, append([]*ir.Value{sum, g}, positions...)...)
}

// Gather picks positions of some axes by tensors of positions.
var Gather = ir.Declare("gather")
var _ = ir.Define(Gather, ir.OpDef{
	Class: ir.Reindex, Arity: ir.Variadic, Traits: ir.MayFail | ir.Cheap,
	Sharding: ir.ShardRequests,
	Reads: func(op *ir.Op, i int) bool {
		return i > 0 && restOf(op.Args[0].Type.Shape, op.Ints("axes")).NeverEmpty()
	},
	Positions: func(op *ir.Op) []ir.Position {
		return runsAt(op.Args[0].Type.Shape, op.Ints("axes"), nil, 1)
	},
	Summary: "Element [i..., j...] is the operand's at the positions [i...] of the tensors on the listed axes, and " +
		"at j on the others; " +
		"a negative position counts from the end, and one out of range stops the program.",
	Attrs: []ir.AttrDef{{Name: "axes", Kind: ir.AttrInts, Doc: "one axis for each tensor of positions, ascending"}},
	Infer: inferGather,
	Doomed: func(args []types.Tensor, attrs ir.Attrs) error {
		x, axes := args[0], attrs[0].([]int64)
		if !args[1].Shape.NeverEmpty() {
			return nil // there may be no positions
		}
		return noEmptyAxis("C5", x, axes)
	},
	Eval:    evalGather,
	Element: elementGather,
	VJP:     vjp(gatherRule),
	Constraints: []ir.Constraint{
		{Name: "C1", Text: "the operand holds numbers or bools"},
		{Name: "C2",
			Text: "there is one tensor of positions for each listed axis, at least one, and the axes are ascending"},
		{Name: "C3", Text: "every position is an i32 or i64"},
		{Name: "C4", Text: "the tensors of positions share one shape"},
		{Name: "C5", Text: "no listed axis is empty, unless there are no positions"},
	},
	Example: "[[1, 2, 3], [4, 5, 6]][[1, 0, 1], [2, 2, 0]] == [6, 3, 4]",
})

func inferGather(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
	axes := attrs[0].([]int64)
	if len(axes) == 0 || len(args) != 1+len(axes) {
		return nil, broken("C2", "%d tensors of positions are given for %d axes", max(len(args)-1, 0), len(axes))
	}
	x := args[0]
	if err := requireIn("C1", "an index", elements, x); err != nil {
		return nil, err
	}
	if err := requireAxes("an index", axes, x.Rank()); err != nil {
		return nil, err
	}
	for _, i := range args[1:] {
		if err := requireIn("C3", "a position", indices, i); err != nil {
			return nil, err
		}
	}
	if err := requireSameShape("C4", "an index", args[1:]...); err != nil {
		return nil, err
	}
	shape := append(append(types.Shape{}, args[1].Shape...), restOf(x.Shape, axes)...)
	return []types.Tensor{{Elem: x.Elem, Shape: shape}}, nil
}

// restOf lists the extents of the axes of s that are not in axes.
func restOf(s types.Shape, axes []int64) types.Shape {
	out := types.Shape{}
	for k, d := range s {
		if !hasAxis(axes, k) {
			out = append(out, d)
		}
	}
	return out
}

// noEmptyAxis is the rule that none of the listed axes of x has the literal extent 0.
func noEmptyAxis(c string, x types.Tensor, axes []int64) error {
	for _, a := range axes {
		if x.Shape[a].IsConst(0) {
			return &types.RuleError{
				Constraint: c, Msg: "index into an empty axis", Shapes: []types.Shape{x.Shape}, Axis: x.Rank() - int(a),
				Why: "no index is in range",
			}
		}
	}
	return nil
}

func evalGather(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
	x, axes := args[0], op.Ints("axes")
	from := rowMajor(x.Shape)
	rest, strides := []int64{}, []int64{}
	for k, n := range x.Shape {
		if !hasAxis(axes, k) {
			rest, strides = append(rest, n), append(strides, from[k])
		}
	}
	out := ir.NewArray(x.DType, append(append([]int64{}, args[1].Shape...), rest...)...)
	if len(args[1].Bits) == 0 {
		return one(out)
	}
	run := len(out.Bits) / len(args[1].Bits)
	for i := range args[1].Bits {
		offset := int64(0)
		for k, a := range axes {
			at := signExtend(args[1+k].DType, args[1+k].Bits[i])
			if at < 0 || at >= x.Shape[a] {
				return nil, c.Fail(op, scalar.CheckIndex, at, x.Shape[a])
			}
			offset += at * from[a]
		}
		copy(out.Bits[i*run:], gather(x, rest, offset, strides).Bits)
	}
	return one(out)
}

func elementGather(p ir.Pull, op *ir.Op, _ int, at []scalar.Ref) scalar.Ref {
	x, axes, n := op.Args[0].Type, op.Ints("axes"), op.Args[1].Type.Rank()
	from := make([]scalar.Ref, x.Rank())
	listed, rest := 0, n
	for k, d := range x.Shape {
		if !hasAxis(axes, k) {
			from[k] = at[rest]
			rest++
			continue
		}
		listed++
		var ok bool
		if from[k], ok = ir.CheckedPosition(p, op, listed, at[:n:n], d); !ok {
			return p.E().Int(x.Elem, 0)
		}
	}
	return p.Arg(op, 0, from)
}

// gatherRule adds the cotangents at their positions, with the listed axes as one.
func gatherRule(t *tape, op *ir.Op, cts []*ir.Value) {
	x, axes := op.Args[0], op.Ints("axes")
	var at *ir.Value
	for k, p := range op.Args[1:] {
		p = t.Emit(Cast, ir.A{"to": types.I64}, p)
		if at == nil {
			at = p
			continue
		}
		extent := t.Emit(Cast, ir.A{"to": types.I64}, t.Emit(Dim, ir.A{"dim": x.Type.Shape[axes[k]]}))
		at = t.add(t.mul(at, t.broadcast(extent, p.Type.Shape)), p)
	}
	t.scatter(x, axes, at, cts[0])
}

// scatter adds g to the gradient of x at the positions at, which count the listed axes of x as one.
func (t *tape) scatter(x *ir.Value, axes []int64, at, g *ir.Value) {
	perm := append([]int64{}, axes...)
	listed := types.Shape{}
	for _, a := range axes {
		listed = append(listed, x.Type.Shape[a])
	}
	for k := range x.Type.Shape {
		if !hasAxis(axes, k) {
			perm = append(perm, int64(k))
		}
	}
	rows, n, width := elems(listed), elems(at.Type.Shape), elems(restOf(x.Type.Shape, axes))
	flat := t.broadcast(t.reshape(at, types.Shape{n, types.Lit(1)}), types.Shape{n, width})
	t.AddInto(x, func(sum *ir.Value) *ir.Value {
		moved := t.permute(sum, perm)
		out := t.Emit(ScatterAdd, ir.A{"axis": int64(0)}, t.reshape(moved, types.Shape{rows, width}), flat,
			t.reshape(g, types.Shape{n, width}))
		return t.permute(t.reshape(out, moved.Type.Shape), inverse(perm))
	})
}

func elems(s types.Shape) types.Dim {
	n, err := s.Elems()
	if err != nil {
		panic("BUG: the size of a tensor overflows: " + err.Error())
	}
	return n
}

// Position checks positions by themselves, where no element does.
var Position = ir.Declare("position")
var _ = ir.Define(Position, ir.OpDef{
	Class: ir.Reindex, Arity: 1, Traits: ir.MayFail,
	Sharding: ir.ShardWhole,
	Reads:    readsAll,
	Summary:  "The operand, positions at which runs begin; one that leaves its axis stops the program.",
	Attrs: []ir.AttrDef{
		{Name: "extent", Kind: ir.AttrDim, Doc: "the extent of the axis"},
		{Name: "size", Kind: ir.AttrDim, Doc: "the length of the runs"},
	},
	Infer: func(args []types.Tensor, _ ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		return args, requireIn("C1", "a position", indices, args[0])
	},
	Eval: func(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
		of := extents(c, types.Shape{op.Dim("extent"), op.Dim("size")})
		for _, bits := range args[0].Bits {
			if err := checkRun(c, op, signExtend(args[0].DType, bits), of[1], of[0]); err != nil {
				return nil, err
			}
		}
		return args, nil
	},
	Element: func(p ir.Pull, op *ir.Op, _ int, at []scalar.Ref) scalar.Ref {
		e, size := p.E(), op.Dim("size")
		x := p.Arg(op, 0, at)
		first, bound, zero := e.Cast(types.I64, x), p.Extent(op.Dim("extent")), e.Int(types.I64, 0)
		within := e.And(e.Le(zero, first), e.Lt(first, bound))
		inside, outside := within, first
		if !size.IsConst(1) {
			n := p.Extent(size)
			inside = e.And(e.Le(zero, first), e.Le(first, e.Sub(bound, n)))
			if !size.AlwaysPositive() {
				inside = e.Or(inside, e.Eq(n, zero))
			}
			outside = e.Select(within, bound, first)
		}
		e.Check(scalar.CheckIndex, inside, outside, bound)
		return x
	},
	NoGrad:      "positions are integers",
	Constraints: []ir.Constraint{{Name: "C1", Text: "the positions are i32 or i64"}},
	Decls:       "fn row[N](x: i32[2, N], i: i32) -> i32[N] = x[i]",
	Example:     "row([[1, 2], [3, 4]], 1) == [3, 4]",
})

// TakeAlongAxis picks by a position of its own for every element.
var TakeAlongAxis = ir.Declare("take_along_axis")
var _ = ir.Define(TakeAlongAxis, ir.OpDef{
	Class: ir.Reindex, Surface: "take_along_axis", Arity: 2, Traits: ir.MayFail | ir.Cheap,
	Sharding: ir.ShardAlong,
	Reads:    func(_ *ir.Op, i int) bool { return i == 1 },
	Params: []ir.Param{
		{Name: "x"},
		{Name: "idx", Elem: types.I32, What: "the positions of `take_along_axis`"},
		{Name: "axis", Kind: ir.ParamAxis, Optional: true, Default: -1},
	},
	Summary: "The operand's elements at the given positions along one axis, and at the element's own index on the " +
		"others; " +
		"a position out of range stops the program.",
	Attrs: []ir.AttrDef{
		{Name: "axis", Kind: ir.AttrInt, Doc: "the axis that the positions count"},
		{Name: "within", Kind: ir.AttrFlag, Optional: true, Doc: "whether a negative position is out of range, too"},
	},
	Infer: func(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		x, idx, axis := args[0], args[1], attrs[0].(int64)
		if err := requireAlong("`take_along_axis`", x, idx, axis); err != nil {
			return nil, err
		}
		return []types.Tensor{{Elem: x.Elem, Shape: idx.Shape}}, nil
	},
	Doomed: func(args []types.Tensor, attrs ir.Attrs) error {
		if !args[1].Shape.NeverEmpty() {
			return nil
		}
		return noEmptyAxis("C5", args[0], []int64{attrs[0].(int64)})
	},
	Eval:    evalTakeAlongAxis,
	Element: elementTakeAlongAxis,
	VJP: vjp(func(t *tape, op *ir.Op, cts []*ir.Value) {
		t.AddInto(op.Args[0], func(sum *ir.Value) *ir.Value {
			axis := op.Int("axis")
			at := op.Args[1]
			if !op.Flag("within") {
				at = t.fromStart(at, op.Args[0].Type.Shape[axis])
			}
			return t.Emit(ScatterAdd, ir.A{"axis": axis}, sum, at, cts[0])
		})
	}),
	Constraints: []ir.Constraint{
		{Name: "C1", Text: "the operand holds numbers or bools"},
		{Name: "C2", Text: "the axis exists"},
		{Name: "C3", Text: "every position is an i32 or i64"},
		{Name: "C4", Text: "the shapes agree on every other axis"},
		{Name: "C5", Text: "the axis is not empty, unless the result is"},
	},
	Example: "take_along_axis([[10, 20], [30, 40]], [[1], [0]], 1) == [[20], [30]]",
})

// requireAlong checks a tensor and the positions along one of its axes.
func requireAlong(what string, x, idx types.Tensor, axis int64) error {
	if err := requireIn("C1", what, elements, x); err != nil {
		return err
	}
	if axis < 0 || axis >= int64(x.Rank()) {
		return broken("C2", "axis %d is out of range for %s of rank %d", axis, x, x.Rank())
	}
	if err := requireIn("C3", "a position", indices, idx); err != nil {
		return err
	}
	return sameOutside("C4", fmt.Sprintf("operands of %s differ outside of axis %d", what, axis), x.Shape, idx.Shape,
		axis)
}

// sameOutside checks that two shapes agree on every axis but one.
func sameOutside(c, msg string, x, y types.Shape, axis int64) error {
	if len(x) != len(y) {
		return sameShape(c, msg, x, y)
	}
	like := append(types.Shape{}, x...)
	like[axis] = y[axis]
	err := sameShape(c, msg, like, y)
	if err == nil {
		return nil
	}
	err.(*types.RuleError).Shapes = []types.Shape{x, y}
	return err
}

func evalTakeAlongAxis(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
	x, idx, axis := args[0], args[1], op.Int("axis")
	out := ir.NewArray(x.DType, idx.Shape...)
	if len(out.Bits) == 0 {
		return one(out)
	}
	step := rowMajor(idx.Shape)[axis] // that of x, too: the axes after this one agree
	m, n := idx.Shape[axis], x.Shape[axis]
	least := -n
	if op.Flag("within") {
		least = 0
	}
	err := lines(idx.Shape, axis, func(line int, first, _ int64) error {
		base := first/(m*step)*(n*step) + first%step
		for i := range m {
			at := signExtend(idx.DType, idx.Bits[first+i*step])
			if at < least || at >= n {
				return c.Fail(op, scalar.CheckIndex, at, n)
			}
			out.Bits[first+i*step] = x.Bits[base+(at+n)%n*step]
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return one(out)
}

func elementTakeAlongAxis(p ir.Pull, op *ir.Op, _ int, at []scalar.Ref) scalar.Ref {
	x, axis, e := op.Args[0].Type, op.Int("axis"), p.E()
	if op.Flag("within") {
		pos, ok := ir.CheckedPosition(p, op, 1, at, x.Shape[axis])
		if !ok {
			return e.Int(x.Elem, 0)
		}
		return p.Arg(op, 0, ir.Moved(at, axis, pos))
	}
	pos := e.Cast(types.I64, p.Arg(op, 1, at))
	bound := p.Extent(x.Shape[axis])
	from := e.Select(e.Lt(pos, e.Int(types.I64, 0)), e.Add(pos, bound), pos)
	e.Check(scalar.CheckIndex, e.And(e.Le(e.Int(types.I64, 0), from), e.Lt(from, bound)), pos, bound)
	if x.Shape[axis].IsConst(0) {
		return e.Int(x.Elem, 0)
	}
	return p.Arg(op, 0, ir.Moved(at, axis, from))
}

// fromStart is a tensor of positions on an axis of the given extent with those that count from its end counted from its
// start.
func (t *tape) fromStart(at *ir.Value, extent types.Dim) *ir.Value {
	n := t.Emit(Dim, ir.A{"dim": extent})
	if at.Type.Elem != n.Type.Elem {
		n = t.Emit(Cast, ir.A{"to": at.Type.Elem}, n)
	}
	return t.where(t.Emit(Lt, nil, at, t.Fill(at, 0)), t.add(at, t.broadcast(n, at.Type.Shape)), at)
}

// lines calls f for every line of an array of the given shape along axis, with the position of the line's
// first element and the distance of neighbours.
func lines(shape []int64, axis int64, f func(line int, first, step int64) error) error {
	step := rowMajor(shape)[axis]
	outer := int64(1)
	for _, n := range shape[:axis] {
		outer *= n
	}
	for line := int64(0); line < outer*step; line++ {
		if err := f(int(line), line/step*step*shape[axis]+line%step, step); err != nil {
			return err
		}
	}
	return nil
}
