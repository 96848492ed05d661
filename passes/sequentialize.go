package passes

import (
	"math"
	"slices"

	"healc/ir"
	"healc/ir/ops"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Sequentialize makes loops of the tabulates, folds and scans whose functions cannot be part of a kernel
// (ir.Steps): a loop in them has a large state, or they work on strings. The loop computes one
// element in each step, in the same order, and puts it into the result; its steps are kernels.
//
// Requires: inline. Establishes: no tabulate, fold or scan has an operation in its region that needs steps,
// unless it has more elements than an i32 counts.
//
//	%0: i32[3] = tabulate {shape = [3]} ^(%i: i32) {
//	  %1: i32[100] = iterate %n, %v ^(%k: i32, %s: i32[100]) { ... }
//	  %2: i32 = reduce_sum %1 {axes = [0]}
//	  yield %2
//	}
//
// becomes, with %z a tensor of zeros,
//
//	%0: i32[3] = iterate 3, %z ^(%i: i32, %r: i32[3]) {
//	  %1: i32[100] = iterate %n, %v ^(%k: i32, %s: i32[100]) { ... }
//	  %2: i32 = reduce_sum %1 {axes = [0]}
//	  %3: i32[1] = reshape %2 {shape = [1]}
//	  %4: i32[3] = update %r, %3, %i {...}
//	  yield %4
//	}
func Sequentialize(m *ir.Module, remark Remark) error {
	steps := ir.NewSteps(m)
	for _, f := range m.Funcs {
		s := &sequencer{steps: steps, remark: remark}
		s.block(f.Body)
		if s.err != nil {
			return s.err
		}
	}
	return nil
}

type sequencer struct {
	steps  *ir.Steps
	remark Remark
	err    error // of copying a region
}

func (s *sequencer) block(b *ir.Block) {
	with := map[*ir.Value]*ir.Value{}
	var out []*ir.Op
	for _, op := range b.Ops {
		for _, r := range op.Regions { // inner ones first
			s.block(r)
		}
		n := &nest{Builder: ir.Builder{Block: &ir.Block{}, Span: op.Span}, s: s}
		results := n.replaced(op)
		if results == nil {
			out = append(out, op)
			continue
		}
		s.remark("made a loop of %s, whose function has steps", op.Def.Name)
		for i, r := range op.Results {
			with[r] = results[i]
		}
		out = append(out, n.Block.Ops...)
	}
	b.Ops = out
	ir.Replace(b, with)
}

// A nest builds one loop, or what it consists of.
type nest struct {
	ir.Builder
	s *sequencer
}

// replaced builds what stands for op, and gives its values; nil when op stays as it is.
func (n *nest) replaced(op *ir.Op) []*ir.Value {
	switch op.Def {
	case ops.Tabulate, ops.Fold, ops.Scan:
	default:
		return nil
	}
	if !n.s.steps.Needs(op) || !countable(op) {
		return nil
	}
	switch op.Def {
	case ops.Tabulate:
		return []*ir.Value{n.tabulate(op.Dims("shape"), op.Type(), func(in *nest, at []*ir.Value) *ir.Value {
			return in.call(op.Regions[0], at...)[0]
		})}
	case ops.Fold:
		return []*ir.Value{n.fold(op)}
	}
	return n.scan(op)
}

// countable reports that an i32 counts the steps of the loop that stands for op.
func countable(op *ir.Op) bool {
	for _, t := range append(ir.ArgTypes(op.Args), ir.ArgTypes(op.Results)...) {
		d, err := t.Shape.Elems()
		if err != nil {
			return false
		}
		if c, ok := d.Const(); ok && c > math.MaxInt32 {
			return false
		}
	}
	return true
}

// call puts a copy of a region here.
func (n *nest) call(region *ir.Block, args ...*ir.Value) []*ir.Value {
	c := ir.NewCloner()
	for i, p := range region.Params {
		c.Values[p] = args[i]
	}
	if err := c.Append(n.Block, region); err != nil {
		n.s.err = err
	}
	return c.ValueList(region.Yields)
}

func (n *nest) i32(v int64) *ir.Value {
	a := ir.NewArray(types.I32)
	a.Bits[0] = scalar.IntBits(types.I32, v)
	return n.Emit(ops.Const, ir.A{"value": a})
}

// extent is the value of an extent.
func (n *nest) extent(d types.Dim) *ir.Value {
	if c, ok := d.Const(); ok {
		return n.i32(c)
	}
	return n.Emit(ops.Dim, ir.A{"dim": d})
}

func (n *nest) zeros(t types.Tensor) *ir.Value {
	zero := n.Emit(ops.Const, ir.A{"value": ir.NewArray(t.Elem)})
	return n.Emit(ops.Broadcast, ir.A{"shape": t.Shape}, zero)
}

func (n *nest) reshape(v *ir.Value, shape types.Shape) *ir.Value {
	if v.Type.Shape.Equal(shape) {
		return v
	}
	return n.Emit(ops.Reshape, ir.A{"shape": shape}, v)
}

// iterate is a loop over count steps.
func (n *nest) iterate(count types.Dim, state []*ir.Value, step func(in *nest, k *ir.Value,
	state []*ir.Value) []*ir.Value) []*ir.Value {
	region := &ir.Block{}
	k := region.Param("i", types.Scalar(types.I32), n.Span)
	var params []*ir.Value
	for _, v := range state {
		params = append(params, region.Param("s", v.Type, n.Span))
	}
	in := &nest{Builder: ir.Builder{Block: region, Span: n.Span}, s: n.s}
	region.Yields = step(in, k, params)
	args := append([]*ir.Value{n.extent(count)}, state...)
	return n.EmitOp(ops.Iterate, nil, args, []*ir.Block{region}).Results
}

// put is x, whose first axis counts steps, with v as its part k.
func (n *nest) put(x, v, k *ir.Value) *ir.Value {
	shape := append(types.Shape{types.Lit(1)}, x.Type.Shape[1:]...)
	steps := make([]int64, len(shape))
	for i := range steps {
		steps[i] = 1
	}
	return n.Emit(ops.Update, ir.A{
		"axes": []int64{0}, "sizes": types.Shape{types.Lit(1)}, "starts": make(types.Shape, len(shape)), "steps": steps,
		"shape": shape,
	}, x, n.reshape(v, shape), k)
}

// part is element or sub-tensor k of x.
func (n *nest) part(x, k *ir.Value) *ir.Value {
	return n.Emit(ops.Index, ir.A{"axes": []int64{0}}, x, k)
}

// elems is the number of elements of a shape that is known to have one (countable).
func elems(shape types.Shape) types.Dim {
	d, err := shape.Elems()
	if err != nil {
		panic("BUG: the size of a tensor overflows: " + err.Error())
	}
	return d
}

// tabulate makes a tensor of type t, whose first axes are those of shape, from its values at each index.
func (n *nest) tabulate(shape types.Shape, t types.Tensor, value func(in *nest, at []*ir.Value) *ir.Value) *ir.Value {
	if len(shape) == 0 {
		return value(n, nil)
	}
	count := elems(shape)
	flat := types.Tensor{Elem: t.Elem, Shape: append(types.Shape{count}, t.Shape[len(shape):]...)}
	out := n.iterate(count, []*ir.Value{n.zeros(flat)}, func(in *nest, k *ir.Value, state []*ir.Value) []*ir.Value {
		at := make([]*ir.Value, len(shape))
		rest := k
		for i := len(shape) - 1; i > 0; i-- { // not 0: a step has an index
			d := in.extent(shape[i])
			at[i] = in.Emit(ops.Rem, nil, rest, d)
			rest = in.Emit(ops.Div, nil, rest, d)
		}
		at[0] = rest
		return []*ir.Value{in.put(state[0], value(in, at), k)}
	})
	return n.reshape(out[0], t.Shape)
}

// fold is one loop for each element of the result.
func (n *nest) fold(op *ir.Op) *ir.Value {
	x := op.Args[len(op.Args)-1]
	var perm []int64
	var rest, folded types.Shape
	for k, d := range x.Type.Shape {
		if !slices.Contains(op.Ints("axes"), int64(k)) {
			perm, rest = append(perm, int64(k)), append(rest, d)
		}
	}
	for _, k := range op.Ints("axes") {
		perm, folded = append(perm, k), append(folded, x.Type.Shape[k])
	}
	rows := n.Emit(ops.Permute, ir.A{"perm": perm}, x)
	rows = n.reshape(rows, append(append(types.Shape{}, rest...), elems(folded)))
	axes := make([]int64, len(rest))
	for k := range axes {
		axes[k] = int64(k)
	}
	t := types.Tensor{Elem: op.Type().Elem, Shape: rest}
	starts := slices.Clone(op.Args[:ops.Starts(op)])
	for i, v := range starts {
		if !v.Type.IsScalar() {
			starts[i] = n.reshape(v, rest)
		}
	}
	out := n.tabulate(rest, t, func(in *nest, at []*ir.Value) *ir.Value {
		of := func(v *ir.Value) *ir.Value {
			if len(at) == 0 {
				return v
			}
			return in.Emit(ops.Index, ir.A{"axes": axes}, append([]*ir.Value{v}, at...)...)
		}
		var start *ir.Value
		if len(starts) > 0 {
			if start = starts[0]; !start.Type.IsScalar() {
				start = of(start)
			}
		}
		return in.foldRow(op, start, of(rows))
	})
	return n.reshape(out, op.Type().Shape)
}

// foldRow is the fold over a vector. Without a start, nil, the first element is it, and the first step does
// nothing; the fold that gives the first element stops the program where there is none.
func (n *nest) foldRow(op *ir.Op, init, row *ir.Value) *ir.Value {
	begins := init == nil
	if begins {
		first := &ir.Block{}
		first.Yields = []*ir.Value{first.Param("acc", types.Scalar(row.Type.Elem), op.Span)}
		first.Param("x", types.Scalar(row.Type.Elem), op.Span)
		init = n.EmitOp(ops.Fold, ir.A{"axes": []int64{0}}, []*ir.Value{row}, []*ir.Block{first}).Result()
	}
	return n.iterate(row.Type.Shape[0], []*ir.Value{init}, func(in *nest, k *ir.Value, state []*ir.Value) []*ir.Value {
		next := func(in *nest) []*ir.Value { return in.call(op.Regions[0], state[0], in.part(row, k)) }
		if !begins {
			return next(in)
		}
		return in.either(in.Emit(ops.Eq, nil, k, in.i32(0)), func(*nest) []*ir.Value { return state }, next)
	})[0]
}

// either is an `if`.
func (n *nest) either(cond *ir.Value, then, els func(in *nest) []*ir.Value) []*ir.Value {
	arm := func(f func(in *nest) []*ir.Value) *ir.Block {
		b := &ir.Block{}
		b.Yields = f(&nest{Builder: ir.Builder{Block: b, Span: n.Span}, s: n.s})
		return b
	}
	return n.EmitOp(ops.If, nil, []*ir.Value{cond}, []*ir.Block{arm(then), arm(els)}).Results
}

// scan is one loop over all rows, which carries the accumulators and the results.
func (n *nest) scan(op *ir.Op) []*ir.Value {
	starts, shape := op.Args[:ops.Starts(op)], op.Results[0].Type.Shape
	count, length := elems(shape), shape[len(shape)-1]
	var flat, state []*ir.Value
	for _, x := range op.Args[len(starts):] {
		flat = append(flat, n.reshape(x, types.Shape{count}))
	}
	for k, r := range op.Results {
		if k < len(starts) && starts[k].Type.IsScalar() {
			state = append(state, starts[k])
		} else { // replaced by that of the row, or by the first element
			state = append(state, n.Emit(ops.Const, ir.A{"value": ir.NewArray(r.Type.Elem)}))
		}
	}
	for _, r := range op.Results {
		state = append(state, n.zeros(types.Tensor{Elem: r.Type.Elem, Shape: types.Shape{count}}))
	}
	accumulators := len(op.Results)
	out := n.iterate(count, state, func(in *nest, k *ir.Value, state []*ir.Value) []*ir.Value {
		accs, results := state[:accumulators], state[accumulators:]
		var elements []*ir.Value
		for _, x := range flat {
			elements = append(elements, in.part(x, k))
		}
		first := in.Emit(ops.Eq, nil, in.Emit(ops.Rem, nil, k, in.extent(length)), in.i32(0))
		var next []*ir.Value
		if len(starts) == 0 {
			next = in.either(first, func(*nest) []*ir.Value { return elements }, func(in *nest) []*ir.Value {
				return in.call(op.Regions[0], accs[0], elements[0])
			})
		} else {
			now := in.either(first, func(in *nest) []*ir.Value { return in.startsOf(starts, k, length) },
				func(*nest) []*ir.Value { return accs })
			next = in.call(op.Regions[0], append(now, elements...)...)
		}
		all := append([]*ir.Value{}, next...)
		for i, r := range results {
			all = append(all, in.put(r, next[i], k))
		}
		return all
	})
	results := make([]*ir.Value, len(op.Results))
	for i, r := range op.Results {
		results[i] = n.reshape(out[accumulators+i], r.Type.Shape)
	}
	return results
}

// startsOf is the starts of the row of a scan whose rows have this length and of which k is the first element.
func (n *nest) startsOf(starts []*ir.Value, k *ir.Value, length types.Dim) []*ir.Value {
	out := slices.Clone(starts)
	for i, v := range starts {
		if !v.Type.IsScalar() {
			row := n.Emit(ops.Div, nil, k, n.extent(length))
			out[i] = n.part(n.reshape(v, types.Shape{elems(v.Type.Shape)}), row)
		}
	}
	return out
}
