package ops

import (
	"fmt"

	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Update is `x[...] = v`: the tensor with some of its elements replaced.
//
// The replaced elements are those that a dynamic_slice of x (axes, sizes and the positions) followed by a
// slice of it (starts, steps, shape) would read: on axis k they stand at first + starts[k] + i * steps[k]
// for i below shape[k], where first is the axis's position, or 0 where it has none.
var Update = ir.Declare("update")
var _ = ir.Define(Update, ir.OpDef{
	Class: ir.Reindex, Arity: ir.Variadic, Traits: ir.MayFail | ir.Cheap,
	Sharding: ir.ShardUpdate,
	Reads:    readsUpdate,
	Fails:    func(op *ir.Op) bool { return len(op.Ints("axes")) > 0 },
	Positions: func(op *ir.Op) []ir.Position {
		return runsAt(op.Type().Shape, op.Ints("axes"), op.Dims("sizes"), 2)
	},
	Summary: "The first operand with the elements of a slice replaced by those of the second; a run that leaves its " +
		"axis stops the program.",
	Attrs: []ir.AttrDef{
		{Name: "axes", Kind: ir.AttrInts, Optional: true,
			Doc: "the axes whose run starts at a position, one for each, ascending"},
		{Name: "sizes", Kind: ir.AttrDims, Optional: true, Doc: "the length of the run in each of these axes"},
		{Name: "starts", Kind: ir.AttrDims, Doc: "the first index of each axis, in its run where it has one"},
		{Name: "steps", Kind: ir.AttrInts, Doc: "the distance of neighbours, negative to walk backwards"},
		{Name: "shape", Kind: ir.AttrDims, Doc: "the shape of the second operand"},
	},
	Infer: inferUpdate,
	Doomed: func(args []types.Tensor, attrs ir.Attrs) error {
		axes, _ := attrs[0].([]int64)
		sizes, _ := attrs[1].(types.Shape)
		var some []int64 // those of runs with elements
		for i, a := range axes {
			if sizes[i].AlwaysPositive() {
				some = append(some, a)
			}
		}
		return noEmptyAxis("C5", args[0], some)
	},
	Eval:    evalUpdate,
	Element: elementUpdate,
	VJP: vjp(func(t *tape, op *ir.Op, cts []*ir.Value) {
		x, v, positions := op.Args[0], op.Args[1], op.Args[2:]
		axes, sizes := op.Ints("axes"), op.Dims("sizes")
		attrs := ir.A{"starts": op.Dims("starts"), "steps": op.Ints("steps"), "shape": op.Dims("shape")}
		for _, a := range axes {
			if x.Type.Shape[a].IsConst(0) {
				return // no position is in range: the update stops the program
			}
		}
		if t.Needs(v) {
			g := cts[0]
			if len(axes) > 0 {
				g = t.Emit(DynamicSlice, ir.A{"axes": axes, "sizes": sizes}, append([]*ir.Value{g}, positions...)...)
			}
			t.Add(v, t.Emit(Slice, attrs, g))
		}
		if t.Needs(x) {
			if len(axes) > 0 {
				attrs["axes"], attrs["sizes"] = axes, sizes
			}
			t.Add(x, t.Emit(Update, attrs, append([]*ir.Value{cts[0], t.Zeros(v.Type)}, positions...)...))
		}
	}),
	Constraints: []ir.Constraint{
		{Name: "C1", Text: "both operands hold numbers or bools, of one type"},
		{Name: "C2",
			Text: "start, step and extent are given for each axis, no step is 0, and the second operand has these " +
				"extents"},
		{Name: "C3", Text: "no element lies outside the operand, or outside the run of its axis"},
		{Name: "C4",
			Text: "there is one i32 or i64 scalar and one size for each listed axis; the axes are ascending, and no " +
				"run exceeds its axis"},
		{Name: "C5", Text: "no listed axis is empty, unless its run is"},
	},
	Example: "{ let mut x = [1, 2, 3, 4]; x[1..3] = [8, 9]; x } == [1, 8, 9, 4]",
})

// runShape is the shape of x with the runs of an update cut out of it.
func runShape(x types.Shape, axes []int64, sizes types.Shape) types.Shape {
	out := append(types.Shape{}, x...)
	for i, a := range axes {
		out[a] = sizes[i]
	}
	return out
}

func inferUpdate(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
	axes, _ := attrs[0].([]int64)
	sizes, _ := attrs[1].(types.Shape)
	starts, steps, shape := attrs[2].(types.Shape), attrs[3].([]int64), attrs[4].(types.Shape)
	if len(args) < 2 {
		return nil, broken("C1", "an update takes two tensors, not %d", len(args))
	}
	x, v := args[0], args[1]
	if err := requireIn("C1", "an update", elements, x); err != nil {
		return nil, err
	}
	if err := requireSameDType("C1", "an update", x, v); err != nil {
		return nil, err
	}
	if err := requirePositions(append([]types.Tensor{x}, args[2:]...), axes, "an update"); err != nil {
		return nil, renamed(err, "C4")
	}
	if len(sizes) != len(axes) {
		return nil, broken("C4", "%d sizes are given for %d axes", len(sizes), len(axes))
	}
	for i, a := range axes {
		if over, err := sizes[i].Sub(x.Shape[a]); err == nil && !sizes[i].IsConst(1) { // one position: see Doomed
			if n, ok := over.Const(); ok && n > 0 {
				return nil, &types.RuleError{
					Constraint: "C4", Msg: "slice is longer than its axis", Shapes: []types.Shape{x.Shape},
					Axis: x.Rank() - int(a),
					Why:  fmt.Sprintf("%s elements of an axis of extent %s", sizes[i], x.Shape[a]),
				}
			}
		}
	}
	run := types.Tensor{Elem: x.Elem, Shape: runShape(x.Shape, axes, sizes)}
	if _, err := inferSlice([]types.Tensor{run}, ir.Attrs{starts, steps, shape}, nil); err != nil {
		return nil, err
	}
	if !v.Shape.Equal(shape) {
		return nil, broken("C2", "an update of %s elements is given %s", shape, v)
	}
	return []types.Tensor{x}, nil
}

// renamed is a rule error of another operation under the name that the constraint has here.
func renamed(err error, constraint string) error {
	if e, ok := err.(*types.RuleError); ok {
		c := *e
		c.Constraint = constraint
		return &c
	}
	return err
}

// readsUpdate: of the first operand, what is replaced is not read.
func readsUpdate(op *ir.Op, i int) bool {
	return i > 0 && (len(op.Ints("axes")) == 0 || op.Type().Shape.NeverEmpty()) &&
		(i == 1 || op.Dims("shape").NeverEmpty())
}

func evalUpdate(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
	x, v := args[0], args[1]
	axes := op.Ints("axes")
	sizes, starts, steps := extents(c, op.Dims("sizes")), extents(c, op.Dims("starts")), op.Ints("steps")
	out := &ir.Array{DType: x.DType, Shape: x.Shape, Bits: append([]uint64{}, x.Bits...)}
	strides, offset := rowMajor(x.Shape), int64(0)
	for i, a := range axes {
		first := signed(args[2+i])
		if err := checkRun(c, op, first, sizes[i], x.Shape[a]); err != nil {
			return nil, err
		}
		offset += first * strides[a]
	}
	if len(v.Bits) == 0 {
		return one(out)
	}
	for k := range strides {
		offset += starts[k] * strides[k]
		strides[k] *= steps[k]
	}
	index := make([]int64, len(v.Shape))
	for _, bits := range v.Bits {
		at := offset
		for k, i := range index {
			at += i * strides[k]
		}
		out.Bits[at] = bits
		for k := len(index) - 1; k >= 0; k-- {
			if index[k]++; index[k] < v.Shape[k] {
				break
			}
			index[k] = 0
		}
	}
	return one(out)
}

// UpdateFirsts checks the positions of an update, and gives the index on each axis at which its run starts,
// scalar.None where it starts at 0. The checks belong to the elements that are replaced.
func UpdateFirsts(p ir.Pull, op *ir.Op) []scalar.Ref {
	e := p.E()
	x, axes, sizes := op.Args[0].Type, op.Ints("axes"), op.Dims("sizes")
	out := make([]scalar.Ref, x.Rank())
	for k := range out {
		out[k] = scalar.None
	}
	zero := e.Int(types.I64, 0)
	for i, a := range axes {
		first := e.Cast(types.I64, p.Arg(op, 2+i, nil))
		bound := p.Extent(x.Shape[a])
		inside := e.And(e.Le(zero, first), e.Le(first, e.Sub(bound, p.Extent(sizes[i]))))
		firstInside := e.And(e.Le(zero, first), e.Lt(first, bound))
		e.Check(scalar.CheckIndex, inside, e.Select(firstInside, bound, first), bound)
		out[a] = first
	}
	return out
}

// elementUpdate asks whether the index is one of the replaced ones.
func elementUpdate(p ir.Pull, op *ir.Op, _ int, at []scalar.Ref) scalar.Ref {
	e := p.E()
	x, starts, steps, shape := op.Args[0].Type, op.Dims("starts"), op.Ints("steps"), op.Dims("shape")
	for _, d := range shape {
		if d.IsConst(0) {
			return p.Arg(op, 0, at)
		}
	}
	firsts := UpdateFirsts(p, op)
	zero := e.Int(types.I64, 0)
	in := scalar.None
	also := func(c scalar.Ref) {
		if in == scalar.None {
			in = c
		} else {
			in = e.And(in, c)
		}
	}
	from := make([]scalar.Ref, len(at))
	for k := range at {
		from[k] = at[k]
		if firsts[k] == scalar.None && steps[k] == 1 && starts[k].IsConst(0) && shape[k].Equal(x.Shape[k]) {
			continue
		}
		if firsts[k] != scalar.None {
			from[k] = e.Sub(from[k], firsts[k])
		}
		if !starts[k].IsConst(0) {
			from[k] = e.Sub(from[k], p.Extent(starts[k]))
		}
		if shape[k].IsConst(1) {
			also(e.Eq(from[k], zero))
			from[k] = zero
			continue
		}
		if steps[k] < 0 {
			from[k] = e.Sub(zero, from[k])
		}
		also(e.Le(zero, from[k]))
		if size := max(steps[k], -steps[k]); size != 1 {
			by := e.Int(types.I64, size)
			also(e.Eq(e.Rem(from[k], by), zero))
			from[k] = e.Div(from[k], by)
		}
		also(e.Lt(from[k], p.Extent(shape[k])))
	}
	replaced := func() scalar.Ref { return p.Arg(op, 1, from) }
	if in == scalar.None {
		return replaced()
	}
	return p.If(in, op.Type().Elem, replaced, func() scalar.Ref { return p.Arg(op, 0, at) })
}

var ScatterAdd = ir.Declare("scatter_add")
var _ = ir.Define(ScatterAdd, ir.OpDef{
	Class: ir.Rows, Surface: "scatter_add", Arity: 3, Traits: ir.MayFail,
	Sharding:  ir.ShardScatter,
	Reads:     func(op *ir.Op, i int) bool { return i == 0 || op.Type().Shape[op.Int("axis")].AlwaysPositive() },
	Positions: scatterPositions,
	Params: []ir.Param{
		{Name: "x"},
		{Name: "idx", Elem: types.I32, What: "the positions of `scatter_add`"},
		{Name: "v", Literals: ir.LiteralsOfFirst, What: "what is added"},
		{Name: "axis", Kind: ir.ParamAxis, Optional: true, Default: -1},
	},
	Summary: "The first operand with the elements of the third added at the positions of the second along an " +
		"axis, in row-major order; " +
		"a position out of range stops the program.",
	Attrs:   []ir.AttrDef{{Name: "axis", Kind: ir.AttrInt, Doc: "the axis that the positions count"}},
	Infer:   inferScatterAdd,
	Eval:    evalScatterAdd,
	Element: elementScatterAdd, Rows: rowsScatterAdd,
	RowWork: func(op *ir.Op, size func(types.Dim) float64) float64 {
		return 1 + 4*size(op.Args[1].Type.Shape[op.Int("axis")])
	},
	VJP: vjp(func(t *tape, op *ir.Op, cts []*ir.Value) {
		t.Add(op.Args[0], cts[0])
		if t.Needs(op.Args[2]) {
			t.Add(op.Args[2], t.Emit(TakeAlongAxis, ir.A{"axis": op.Int("axis"), "within": true}, cts[0],
				op.Args[1]))
		}
	}),
	Constraints: []ir.Constraint{
		{Name: "C1", Text: "the first and the third operand share one element type, number"},
		{Name: "C2", Text: "the axis exists"},
		{Name: "C3", Text: "every position is an i32 or i64"},
		{Name: "C4", Text: "the shapes agree on every other axis"},
		{Name: "C5", Text: "the positions and what is added share one shape"},
	},
	Example: "scatter_add([0, 0, 0], [2, 0, 2], [1, 10, 100], 0) == [10, 0, 101]",
})

// scatterPositions: the second operand has positions on the axis.
func scatterPositions(op *ir.Op) []ir.Position {
	return []ir.Position{{Arg: 1, Extent: op.Type().Shape[op.Int("axis")], Size: types.Lit(1)}}
}

func inferScatterAdd(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
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

func evalScatterAdd(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
	x, idx, v, axis := args[0], args[1], args[2], op.Int("axis")
	out := ir.NewArray(x.DType, x.Shape...)
	copy(out.Bits, x.Bits)
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

// elementScatterAdd goes through all additions along the axis and takes those that are for this element.
func elementScatterAdd(p ir.Pull, op *ir.Op, _ int, at []scalar.Ref) scalar.Ref {
	x, idx, axis := op.Args[0].Type, op.Args[1].Type, op.Int("axis")
	start := p.Arg(op, 0, at)
	return p.Loop([]types.Dim{idx.Shape[axis]}, 0, []scalar.Ref{start}, func(i, sum []scalar.Ref) []scalar.Ref {
		from := ir.Moved(at, axis, i[0])
		to, ok := ir.CheckedPosition(p, op, 1, from, x.Shape[axis])
		if !ok {
			return sum
		}
		e := p.E()
		added := e.Add(sum[0], p.Arg(op, 2, from))
		return []scalar.Ref{p.E().Select(p.E().Eq(to, at[axis]), added, sum[0])}
	})[0]
}

// rowsScatterAdd copies the row of the first operand and adds to it one by one.
func rowsScatterAdd(p ir.RowPull, op *ir.Op, at []scalar.Ref) {
	x, idx, axis := op.Args[0].Type, op.Args[1].Type, op.Int("axis")
	p.Fill(ir.ResultRow, x.Shape[axis], func(i scalar.Ref) scalar.Ref { return p.Arg(op, 0, ir.Moved(at, axis, i)) })
	add := func() {
		p.Each(idx.Shape[axis], nil, func(i scalar.Ref, _ []scalar.Ref) []scalar.Ref {
			from := ir.Moved(at, axis, i)
			to, _ := ir.CheckedPosition(p, op, 1, from, x.Shape[axis])
			p.Write(ir.ResultRow, to, p.E().Add(p.Read(ir.ResultRow, to), p.Arg(op, 2, from)))
			return nil
		})
	}
	if x.Shape[axis].AlwaysPositive() {
		add()
		return
	}
	// A result without elements has no place for any of them: see ir.OpDef.Positions.
	p.When(p.E().Lt(p.E().Int(types.I64, 0), p.Extent(x.Shape[axis])), add)
}
