package ops

import (
	"fmt"

	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Broadcast repeats a tensor along new and unit axes.
var Broadcast = ir.Declare("broadcast")
var _ = ir.Define(Broadcast, ir.OpDef{
	Class: ir.Reindex, Surface: "expand", Arity: 1, Traits: ir.View | ir.Cheap,
	Sharding: ir.ShardBroadcast,
	Reads:    readsBroadcast,
	Params: []ir.Param{
		{Name: "x"},
		{Name: "shape", Kind: ir.ParamShape},
	},
	Summary: "The operand repeated along axes of extent 1 and along new leading axes.",
	Attrs:   []ir.AttrDef{{Name: "shape", Kind: ir.AttrDims, Doc: "the shape of the result"}},
	Infer: func(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		from, to := args[0].Shape, attrs[0].(types.Shape)
		if err := requireIn("C1", "`expand`", elements, args[0]); err != nil {
			return nil, err
		}
		if len(from) > len(to) {
			return nil, &types.RuleError{
				Constraint: "C2", Msg: "the result has fewer axes than the operand", Shapes: []types.Shape{from, to},
				Axis: len(to) + 1, Why: fmt.Sprintf("the ranks are %d and %d", len(from), len(to)),
			}
		}
		for i := 1; i <= len(from); i++ {
			if x, y := from[len(from)-i], to[len(to)-i]; !x.Equal(y) && !x.IsConst(1) {
				return nil, &types.RuleError{
					Constraint: "C2", Msg: "the operand does not expand to that shape", Shapes: []types.Shape{from, to},
					Axis: i,
					Why:  fmt.Sprintf("%s is neither %s nor 1", x, y),
				}
			}
		}
		return []types.Tensor{{Elem: args[0].Elem, Shape: to}}, nil
	},
	Eval:    evalBroadcast,
	Element: elementBroadcast,
	VJP: vjp(func(t *tape, op *ir.Op, cts []*ir.Value) {
		t.Add(op.Args[0], t.unbroadcast(cts[0], op.Args[0].Type.Shape))
	}),
	Constraints: []ir.Constraint{
		{Name: "C1", Text: "the operand holds numbers or bools"},
		{Name: "C2",
			Text: "aligned at the last axis, every extent of the operand is that of the result or the literal 1"},
	},
	Example: "expand([1, 2], [2, 2]) == [[1, 2], [1, 2]]",
})

func readsBroadcast(op *ir.Op, _ int) bool {
	from, to := op.Args[0].Type.Shape, op.Type().Shape
	for k, d := range to {
		j := k - (len(to) - len(from))
		if (j < 0 || !from[j].Equal(d)) && !d.AlwaysPositive() {
			return false
		}
	}
	return true
}

func evalBroadcast(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
	x, shape := args[0], extents(c, op.Dims("shape"))
	strides := make([]int64, len(shape))
	lead := len(shape) - len(x.Shape)
	for k, s := range rowMajor(x.Shape) {
		if x.Shape[k] != 1 {
			strides[lead+k] = s
		}
	}
	return one(gather(x, shape, 0, strides))
}

func elementBroadcast(p ir.Pull, op *ir.Op, _ int, at []scalar.Ref) scalar.Ref {
	x := op.Args[0].Type
	from := make([]scalar.Ref, x.Rank())
	for k, d := range x.Shape {
		if d.IsConst(1) {
			from[k] = p.E().Int(types.I64, 0)
		} else {
			from[k] = at[len(at)-len(from)+k]
		}
	}
	return p.Arg(op, 0, from)
}

// unbroadcast sums g, of a shape to which from broadcasts, over what broadcasting repeated.
func (t *tape) unbroadcast(g *ir.Value, from types.Shape) *ir.Value {
	to := g.Type.Shape
	var axes []int64
	for k, d := range to {
		if j := k - (len(to) - len(from)); j < 0 || !from[j].Equal(d) {
			axes = append(axes, int64(k))
		}
	}
	if len(axes) > 0 {
		g = t.Emit(ReduceSum, ir.A{"axes": axes}, g)
	}
	return t.reshape(g, from)
}

func (t *tape) broadcast(x *ir.Value, to types.Shape) *ir.Value {
	if x.Type.Shape.Equal(to) {
		return x
	}
	return t.Emit(Broadcast, ir.A{"shape": to}, x)
}

// Reshape reads the same elements in row-major order with other axes.
var Reshape = ir.Declare("reshape")
var _ = ir.Define(Reshape, ir.OpDef{
	Class: ir.Reindex, Surface: "reshape", Arity: 1, Traits: ir.View | ir.Cheap,
	Sharding: ir.ShardReshape,
	Reads:    readsAll,
	Params: []ir.Param{
		{Name: "x"},
		{Name: "shape", Kind: ir.ParamShape},
	},
	Summary: "The same elements in row-major order, in another shape.",
	Attrs:   []ir.AttrDef{{Name: "shape", Kind: ir.AttrDims, Doc: "the shape of the result"}},
	Infer: func(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		if err := requireIn("C1", "`reshape`", elements, args[0]); err != nil {
			return nil, err
		}
		to := attrs[0].(types.Shape)
		x, err := args[0].Shape.Elems()
		if err != nil {
			return nil, broken("C2", "%v", err)
		}
		y, err := to.Elems()
		if err != nil {
			return nil, broken("C2", "%v", err)
		}
		if !x.Equal(y) {
			return nil, &types.RuleError{
				Constraint: "C2", Msg: "reshape changes the number of elements",
				Shapes: []types.Shape{args[0].Shape, to},
				Why:    fmt.Sprintf("%s elements become %s", x, y),
			}
		}
		return []types.Tensor{{Elem: args[0].Elem, Shape: to}}, nil
	},
	Eval:    evalReshape,
	Element: elementReshape,
	VJP: vjp(func(t *tape, op *ir.Op, cts []*ir.Value) {
		t.Add(op.Args[0], t.reshape(cts[0], op.Args[0].Type.Shape))
	}),
	Constraints: []ir.Constraint{
		{Name: "C1", Text: "the operand holds numbers or bools"},
		{Name: "C2", Text: "both shapes have the same number of elements, as polynomials"},
	},
	Example: "reshape([1, 2, 3, 4], [2, 2]) == [[1, 2], [3, 4]]",
})

// evalReshape shares the elements: arrays do not change.
func evalReshape(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
	x := args[0]
	return one(&ir.Array{DType: x.DType, Shape: extents(c, op.Dims("shape")), Bits: x.Bits})
}

// elementReshape cuts both shapes into the smallest groups of neighbouring axes with equally many elements.
// A group of one axis on both sides keeps its index; others go through the linear index in the group.
func elementReshape(p ir.Pull, op *ir.Op, _ int, at []scalar.Ref) scalar.Ref {
	from, to := op.Args[0].Type.Shape, op.Type().Shape
	index := make([]scalar.Ref, len(from))
	for k := range from {
		index[k] = p.E().Int(types.I64, 0) // right for unit axes, which are in no group
	}
	for _, g := range reshapeGroups(from, to) {
		linear := linearIndex(p, to, g.to, at)
		splitIndex(p, from, g.from, linear, index)
	}
	return p.Arg(op, 0, index)
}

// A reshapeGroup lists axes of both shapes, none of extent 1, that hold the same elements.
type reshapeGroup struct{ from, to []int }

func reshapeGroups(from, to types.Shape) []reshapeGroup {
	a, b := wideAxes(from), wideAxes(to)
	var groups []reshapeGroup
	for len(a) > 0 || len(b) > 0 {
		i, j := smallestGroup(from, to, a, b)
		groups = append(groups, reshapeGroup{a[:i], b[:j]})
		a, b = a[i:], b[j:]
	}
	return groups
}

// wideAxes lists the axes whose extent is not the literal 1.
func wideAxes(s types.Shape) []int {
	var axes []int
	for k, d := range s {
		if !d.IsConst(1) {
			axes = append(axes, k)
		}
	}
	return axes
}

// smallestGroup finds how many of the leading axes a of from, and b of to, have the same number of
// elements: the fewest together, and all of them at the latest. What follows has then the same number too,
// because none of the products is 0: an empty tensor has no element to ask for.
func smallestGroup(from, to types.Shape, a, b []int) (i, j int) {
	for total := 2; total < len(a)+len(b); total++ {
		for i := max(1, total-len(b)); i <= min(len(a), total-1); i++ {
			if sameElems(from, a[:i], to, b[:total-i]) {
				return i, total - i
			}
		}
	}
	return len(a), len(b)
}

func sameElems(s types.Shape, a []int, t types.Shape, b []int) bool {
	x, errX := pick(s, a).Elems()
	y, errY := pick(t, b).Elems()
	return errX == nil && errY == nil && x.Equal(y)
}

func pick(s types.Shape, axes []int) types.Shape {
	out := make(types.Shape, len(axes))
	for i, a := range axes {
		out[i] = s[a]
	}
	return out
}

// linearIndex is the row-major position of index at among the listed axes of shape.
func linearIndex(p ir.Pull, shape types.Shape, axes []int, at []scalar.Ref) scalar.Ref {
	linear := scalar.None
	for _, k := range axes {
		if linear == scalar.None {
			linear = at[k]
			continue
		}
		linear = p.E().Add(p.E().Mul(linear, p.Extent(shape[k])), at[k])
	}
	if linear == scalar.None {
		return p.E().Int(types.I64, 0)
	}
	return linear
}

// splitIndex puts the index of position linear on the listed axes of shape into index.
func splitIndex(p ir.Pull, shape types.Shape, axes []int, linear scalar.Ref, index []scalar.Ref) {
	for n := len(axes) - 1; n > 0; n-- {
		extent := p.Extent(shape[axes[n]])
		index[axes[n]] = p.E().Rem(linear, extent)
		linear = p.E().Div(linear, extent)
	}
	if len(axes) > 0 {
		index[axes[0]] = linear
	}
}

func (t *tape) reshape(x *ir.Value, to types.Shape) *ir.Value {
	if x.Type.Shape.Equal(to) {
		return x
	}
	return t.Emit(Reshape, ir.A{"shape": to}, x)
}

// Permute reorders axes.
var Permute = ir.Declare("permute")
var _ = ir.Define(Permute, ir.OpDef{
	Class: ir.Reindex, Surface: "permute_axes", Arity: 1, Traits: ir.View | ir.Cheap,
	Sharding: ir.ShardPermute,
	Reads:    readsAll,
	Params: []ir.Param{
		{Name: "x"},
		{Name: "axes", Kind: ir.ParamValue, Attr: "perm"},
	},
	Summary: "Axis k of the result is axis perm[k] of the operand.",
	Attrs:   []ir.AttrDef{{Name: "perm", Kind: ir.AttrInts, Doc: "a permutation of the axes"}},
	Infer: func(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		perm, x := attrs[0].([]int64), args[0]
		if err := requireIn("C1", "`permute_axes`", elements, x); err != nil {
			return nil, err
		}
		if len(perm) != x.Rank() {
			return nil, broken("C2", "%d axes are listed for %s, which has %d", len(perm), x, x.Rank())
		}
		seen := make([]bool, len(perm))
		shape := make(types.Shape, len(perm))
		for k, a := range perm {
			if a < 0 || a >= int64(len(perm)) || seen[a] {
				return nil, broken("C2", "%v is no permutation of the %d axes of %s", perm, len(perm), x)
			}
			seen[a] = true
			shape[k] = x.Shape[a]
		}
		return []types.Tensor{{Elem: x.Elem, Shape: shape}}, nil
	},
	Eval:    evalPermute,
	Element: elementPermute,
	VJP: vjp(func(t *tape, op *ir.Op, cts []*ir.Value) {
		t.Add(op.Args[0], t.permute(cts[0], inverse(op.Ints("perm"))))
	}),
	Constraints: []ir.Constraint{
		{Name: "C1", Text: "the operand holds numbers or bools"},
		{Name: "C2", Text: "perm names every axis of the operand once"},
	},
	Example: "permute_axes([[1, 2], [3, 4]], [1, 0]) == [[1, 3], [2, 4]]",
})

func evalPermute(_ ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
	x, perm := args[0], op.Ints("perm")
	from := rowMajor(x.Shape)
	shape, strides := make([]int64, len(perm)), make([]int64, len(perm))
	for k, a := range perm {
		shape[k], strides[k] = x.Shape[a], from[a]
	}
	return one(gather(x, shape, 0, strides))
}

func elementPermute(p ir.Pull, op *ir.Op, _ int, at []scalar.Ref) scalar.Ref {
	from := make([]scalar.Ref, len(at))
	for k, a := range op.Ints("perm") {
		from[a] = at[k]
	}
	return p.Arg(op, 0, from)
}

// permute reorders axes; the identity costs nothing.
func (t *tape) permute(x *ir.Value, perm []int64) *ir.Value {
	for k, a := range perm {
		if int64(k) != a {
			return t.Emit(Permute, ir.A{"perm": perm}, x)
		}
	}
	return x
}

func inverse(perm []int64) []int64 {
	out := make([]int64, len(perm))
	for k, a := range perm {
		out[a] = int64(k)
	}
	return out
}

// Slice takes evenly spaced elements along every axis.
var Slice = ir.Declare("slice")
var _ = ir.Define(Slice, ir.OpDef{
	Class: ir.Reindex, Arity: 1, Traits: ir.View | ir.Cheap,
	Sharding: ir.ShardSlice,
	Reads:    readsSlice,
	Summary:  "Element i of the result is, on axis k, element starts[k] + i * steps[k] of the operand.",
	Attrs: []ir.AttrDef{
		{Name: "starts", Kind: ir.AttrDims, Doc: "the first index of each axis"},
		{Name: "steps", Kind: ir.AttrInts, Doc: "the distance of neighbours, negative to walk backwards"},
		{Name: "shape", Kind: ir.AttrDims, Doc: "the shape of the result"},
	},
	Infer:   inferSlice,
	Eval:    evalSlice,
	Element: elementSlice,
	VJP: vjp(func(t *tape, op *ir.Op, cts []*ir.Value) {
		attrs := ir.A{"starts": op.Dims("starts"), "steps": op.Ints("steps"), "shape": op.Dims("shape")}
		t.addAt(op.Args[0], cts[0], attrs, func(x *ir.Value) *ir.Value { return t.Emit(Slice, attrs, x) })
	}),
	Constraints: []ir.Constraint{
		{Name: "C1", Text: "the operand holds numbers or bools"},
		{Name: "C2", Text: "start, step and extent are given for each axis, and no step is 0"},
		{Name: "C3", Text: "no element lies outside the operand"},
	},
	Example: "[1, 2, 3, 4][0..4 by 2] == [1, 3]",
})

func inferSlice(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
	x, starts, steps, shape := args[0], attrs[0].(types.Shape), attrs[1].([]int64), attrs[2].(types.Shape)
	if err := requireIn("C1", "a slice", elements, x); err != nil {
		return nil, err
	}
	if len(starts) != x.Rank() || len(steps) != x.Rank() || len(shape) != x.Rank() {
		return nil, broken("C2", "a slice of %s needs start, step and extent of each of its %d axes", x, x.Rank())
	}
	for k, extent := range x.Shape {
		if steps[k] == 0 {
			return nil, broken("C2", "the step of axis %d is 0", k)
		}
		if !shape[k].AlwaysPositive() {
			continue // it may be empty, and then every start is fine
		}
		last, err := lastIndex(starts[k], steps[k], shape[k])
		if err != nil {
			return nil, broken("C3", "%v", err)
		}
		for _, at := range []types.Dim{starts[k], last} {
			if outside(at, extent) {
				return nil, &types.RuleError{
					Constraint: "C3", Msg: "slice is out of range", Shapes: []types.Shape{x.Shape}, Axis: x.Rank() - k,
					Why: fmt.Sprintf("index %s is outside of an axis of extent %s", at, extent),
				}
			}
		}
	}
	return []types.Tensor{{Elem: x.Elem, Shape: shape}}, nil
}

// lastIndex is start + (n-1)*step.
func lastIndex(start types.Dim, step int64, n types.Dim) (types.Dim, error) {
	d, err := n.Sub(types.Lit(1))
	if err == nil {
		d, err = d.Mul(types.Lit(step))
	}
	if err == nil {
		d, err = start.Add(d)
	}
	return d, err
}

// outside reports that index at is outside [0, extent) whatever the parameters are.
func outside(at, extent types.Dim) bool {
	if n, ok := at.Const(); ok && n < 0 {
		return true
	}
	over, err := at.Sub(extent)
	if err != nil {
		return false
	}
	n, ok := over.Const()
	return ok && n >= 0
}

func readsSlice(op *ir.Op, _ int) bool {
	for k, step := range op.Ints("steps") {
		if step != 1 && step != -1 || !op.Type().Shape[k].Equal(op.Args[0].Type.Shape[k]) {
			return false
		}
	}
	return true
}

func evalSlice(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
	x, starts, steps := args[0], extents(c, op.Dims("starts")), op.Ints("steps")
	strides, offset := rowMajor(x.Shape), int64(0)
	for k := range strides {
		offset += starts[k] * strides[k]
		strides[k] *= steps[k]
	}
	return one(gather(x, extents(c, op.Dims("shape")), offset, strides))
}

func elementSlice(p ir.Pull, op *ir.Op, _ int, at []scalar.Ref) scalar.Ref {
	return p.Arg(op, 0, InSlice(p, op, at))
}

// InSlice is the index, in the tensor that op slices or updates a slice of, of the element that has the index at in the
// slice.
func InSlice(p ir.Pull, op *ir.Op, at []scalar.Ref) []scalar.Ref {
	e := p.E()
	starts, steps := op.Dims("starts"), op.Ints("steps")
	from := make([]scalar.Ref, len(at))
	for k := range at {
		from[k] = at[k]
		if steps[k] != 1 {
			from[k] = e.Mul(from[k], e.Int(types.I64, steps[k]))
		}
		if !starts[k].IsConst(0) {
			from[k] = e.Add(p.Extent(starts[k]), from[k])
		}
	}
	return from
}

func lits(rank int, n int64) types.Shape {
	out := make(types.Shape, rank)
	for i := range out {
		out[i] = types.Lit(n)
	}
	return out
}

func ones(n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = 1
	}
	return out
}

// Concat joins tensors along an axis.
var Concat = ir.Declare("concat")
var _ = ir.Define(Concat, ir.OpDef{
	Class: ir.Reindex, Surface: "concat", Arity: ir.Variadic, Traits: ir.Cheap,
	Sharding: ir.ShardConcat,
	Reads:    readsAll,
	Params: []ir.Param{
		{Name: "tensors", Kind: ir.ParamOperands},
		{Name: "axis", Kind: ir.ParamAxis, Optional: true},
	},
	Summary: "The operands one after another along an axis.",
	Attrs:   []ir.AttrDef{{Name: "axis", Kind: ir.AttrInt, Doc: "the axis along which they are joined"}},
	Infer: func(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		if len(args) == 0 {
			return nil, broken("C1", "concat needs at least one operand")
		}
		x, axis := args[0], attrs[0].(int64)
		if err := requireIn("C1", "`concat`", elements, x); err != nil {
			return nil, err
		}
		if err := requireSameDType("C1", "`concat`", args...); err != nil {
			return nil, err
		}
		if axis < 0 || axis >= int64(x.Rank()) {
			return nil, broken("C2", "axis %d is out of range for %s of rank %d", axis, x, x.Rank())
		}
		shape := append(types.Shape{}, x.Shape...)
		for _, y := range args[1:] {
			like := append(types.Shape{}, x.Shape...)
			if y.Rank() == x.Rank() {
				like[axis] = y.Shape[axis]
			}
			if sameShape("C3", "", like, y.Shape) != nil {
				err := sameShape("C3", fmt.Sprintf("operands of `concat` differ outside of axis %d", axis), like,
					y.Shape).(*types.RuleError)
				err.Shapes = []types.Shape{x.Shape, y.Shape}
				return nil, err
			}
			var err error
			if shape[axis], err = shape[axis].Add(y.Shape[axis]); err != nil {
				return nil, broken("C3", "%v", err)
			}
		}
		return []types.Tensor{{Elem: x.Elem, Shape: shape}}, nil
	},
	Eval:    evalConcat,
	Element: elementConcat,
	VJP: vjp(func(t *tape, op *ir.Op, cts []*ir.Value) {
		axis := op.Int("axis")
		begin := types.Lit(0)
		for _, x := range op.Args {
			starts := lits(x.Type.Rank(), 0)
			starts[axis] = begin
			var err error
			if begin, err = begin.Add(x.Type.Shape[axis]); err != nil {
				panic("BUG: the extent of a tensor overflows: " + err.Error())
			}
			if t.Needs(x) {
				t.Add(x, t.Emit(Slice, ir.A{"starts": starts, "steps": ones(x.Type.Rank()), "shape": x.Type.Shape},
					cts[0]))
			}
		}
	}),
	Constraints: []ir.Constraint{
		{Name: "C1", Text: "there is at least one operand, and all share one element type, number or bool"},
		{Name: "C2", Text: "the axis exists"},
		{Name: "C3", Text: "the shapes agree on every other axis"},
	},
	Example: "concat(([1, 2], [3]), 0) == [1, 2, 3]",
})

func evalConcat(_ ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
	axis := op.Int("axis")
	shape := append([]int64{}, args[0].Shape...)
	shape[axis] = 0
	for _, x := range args {
		shape[axis] += x.Shape[axis]
	}
	out := ir.NewArray(args[0].DType, shape...)
	// Everything from the axis on is one run of elements in each operand.
	inner := rowMajor(shape)[axis]
	at := 0
	for block := 0; at < len(out.Bits); block++ {
		for _, x := range args {
			run := int(x.Shape[axis] * inner)
			at += copy(out.Bits[at:], x.Bits[block*run:(block+1)*run])
		}
	}
	return one(out)
}

// elementConcat chooses the operand that holds the index on the axis.
func elementConcat(p ir.Pull, op *ir.Op, _ int, at []scalar.Ref) scalar.Ref {
	axis := op.Int("axis")
	var from func(i int, begin types.Dim) scalar.Ref
	from = func(i int, begin types.Dim) scalar.Ref {
		index := append([]scalar.Ref{}, at...)
		pull := func() scalar.Ref {
			if !begin.IsConst(0) {
				index[axis] = p.E().Sub(at[axis], p.Extent(begin))
			}
			return p.Arg(op, i, index)
		}
		if i == len(op.Args)-1 {
			return pull()
		}
		end, err := begin.Add(op.Args[i].Type.Shape[axis])
		if err != nil {
			panic("BUG: the extent of a concat overflows: " + err.Error())
		}
		here := p.E().Lt(at[axis], p.Extent(end))
		return p.If(here, op.Type().Elem, pull, func() scalar.Ref { return from(i+1, end) })
	}
	return from(0, types.Dim{})
}

// Shard cuts a tensor into blocks for ranks. To a program that runs on one rank, and to the interpreter, it is nothing.
var Shard = ir.Declare("shard")
var _ = ir.Define(Shard, ir.OpDef{
	Class: ir.Reindex, Surface: "reshard", Arity: 1, Traits: ir.View | ir.Cheap,
	Sharding: ir.ShardMark,
	Reads:    readsAll,
	Params: []ir.Param{
		{Name: "x"},
		{Name: "axis", Kind: ir.ParamAxis},
	},
	Summary: "The operand, of which each rank has a block along an axis.",
	Attrs: []ir.AttrDef{
		{Name: "axis", Kind: ir.AttrInt, Doc: "the axis that is cut"},
		{Name: "declared", Kind: ir.AttrFlag, Optional: true,
			Doc: "a type says so: an operand that is sharded otherwise is an error"},
	},
	Infer: func(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		x, axis := args[0], attrs[0].(int64)
		if err := requireIn("C1", "`reshard`", elements, x); err != nil {
			return nil, err
		}
		if axis < 0 || axis >= int64(x.Rank()) {
			return nil, broken("C2", "axis %d is out of range for %s of rank %d", axis, x, x.Rank())
		}
		return []types.Tensor{x}, nil
	},
	Eval:    evalWhole,
	Element: elementWhole,
	VJP: vjp(func(t *tape, op *ir.Op, cts []*ir.Value) {
		t.Add(op.Args[0], t.Emit(ShardAs, nil, cts[0], op.Args[0]))
	}),
	Constraints: []ir.Constraint{
		{Name: "C1", Text: "the operand holds numbers or bools"},
		{Name: "C2", Text: "the axis exists"},
	},
	Example: "reshard([[1, 2], [3, 4]], 1) == [[1, 2], [3, 4]]",
})

// Replicate gives every rank the whole tensor. On one rank it is nothing, as Shard is.
var Replicate = ir.Declare("replicate")
var _ = ir.Define(Replicate, ir.OpDef{
	Class: ir.Reindex, Surface: "replicate", Arity: 1, Traits: ir.View | ir.Cheap,
	Sharding: ir.ShardWithout,
	Reads:    readsAll,
	Params:   []ir.Param{{Name: "x"}},
	Summary:  "The operand, which each rank has, whole.",
	Infer: func(args []types.Tensor, _ ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		if err := requireIn("C1", "`replicate`", elements, args[0]); err != nil {
			return nil, err
		}
		return []types.Tensor{args[0]}, nil
	},
	Eval:    evalWhole,
	Element: elementWhole,
	VJP: vjp(func(t *tape, op *ir.Op, cts []*ir.Value) {
		t.Add(op.Args[0], t.Emit(ShardAs, nil, cts[0], op.Args[0]))
	}),
	Constraints: []ir.Constraint{{Name: "C1", Text: "the operand holds numbers or bools"}},
	Example:     "replicate([1, 2]) == [1, 2]",
})

// ShardAs cuts a cotangent as its primal is cut, which Shard and Replicate may have cut in another way. On one rank it
// is nothing, as they are.
var ShardAs = ir.Declare("shard_as")
var _ = ir.Define(ShardAs, ir.OpDef{
	Class: ir.Reindex, Arity: 2, Traits: ir.View | ir.Cheap, Sharding: ir.ShardAs,
	Reads:   func(_ *ir.Op, i int) bool { return i == 0 },
	Summary: "The first operand, of which each rank has the same part as of the second.",
	Infer: func(args []types.Tensor, _ ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		if err := requireIn("C1", "`shard_as`", elements, args[0]); err != nil {
			return nil, err
		}
		if err := requireSameShape("C2", "`shard_as`", args...); err != nil {
			return nil, err
		}
		return []types.Tensor{args[0]}, nil
	},
	Eval:    evalWhole,
	Element: elementWhole,
	VJP: vjp(func(t *tape, op *ir.Op, cts []*ir.Value) {
		t.Add(op.Args[0], t.Emit(ShardAs, nil, cts[0], op.Args[0]))
	}),
	Constraints: []ir.Constraint{
		{Name: "C1", Text: "the operands hold numbers or bools"},
		{Name: "C2", Text: "both have one shape"},
	},
	Example: "{ let f = 2.0; grad(|x| +/(reshard(x * x, 0)))([1.0, f]) } == [2.0, 4.0]",
})

func evalWhole(_ ir.EvalContext, _ *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
	return one(args[0])
}

func elementWhole(p ir.Pull, op *ir.Op, _ int, at []scalar.Ref) scalar.Ref { return p.Arg(op, 0, at) }
