package passes

import (
	"slices"

	"healc/ir"
	"healc/ir/ops"
	"healc/lang/types"
)

// Batch takes operations that compute whole rows in memory (ir.Rows) out of the region of a tabulate: one of them for
// all indices, with a leading axis, stands for one at each index (as vmap batches). Inside of the region each element
// would be computed alone, which is slow; outside one kernel computes the rows of all indices.
//
// Requires: nothing. Establishes: no tabulate has such an operation directly in its region, unless the
// rows of all indices would be too large for a tensor, or a failure would come or go (failsAlike).
//
//	%0: f32[M, N] = tabulate {shape = [M]} ^(%i: i32) {
//	  %1: f32[N] = index %x, %i {axes = [0]}
//	  %2: f32[N] = sort %1 {axis = 0}
//	  yield %2
//	}
//
// becomes
//
//	%0: f32[M, N] = tabulate {shape = [M]} ^(%i: i32) {
//	  %1: f32[N] = index %x, %i {axes = [0]}
//	  yield %1
//	}
//	%2: f32[M, N] = sort %0 {axis = 1}
//	%3: f32[M, N] = tabulate {shape = [M]} ^(%i: i32) {
//	  %4: f32[N] = index %2, %i {axes = [0]}
//	  yield %4
//	}
//
// of which canonicalize leaves %2.
func Batch(m *ir.Module, remark Remark) error {
	for _, f := range m.Funcs {
		if err := batchBlock(f.Body, remark); err != nil {
			return err
		}
	}
	return nil
}

func batchBlock(b *ir.Block, remark Remark) error {
	var out []*ir.Op
	for _, op := range b.Ops {
		for _, r := range op.Regions { // inner ones first: what comes out of them may come out of this one
			if err := batchBlock(r, remark); err != nil {
				return err
			}
		}
		if op.Def == ops.Tabulate && len(op.Dims("shape")) > 0 {
			before, err := batchTabulate(op, remark)
			if err != nil {
				return err
			}
			out = append(out, before...)
		}
		out = append(out, op)
	}
	b.Ops = out
	return nil
}

// batchTabulate replaces the operations of the class Rows in the region of a tabulate by reads of what the
// operations that it returns compute. Those go before it.
func batchTabulate(op *ir.Op, remark Remark) ([]*ir.Op, error) {
	region := op.Regions[0]
	outside := &ir.Block{}
	var kept []*ir.Op
	with := map[*ir.Value]*ir.Value{}
	copied := 0 // so many of the kept ones are evaluated outside, at every index
	for _, in := range region.Ops {
		ir.Replace(&ir.Block{Ops: []*ir.Op{in}}, with)
		if in.Def.Class != ir.Rows || !fitsBatch(op, in) || !hasTables(region, kept, in) ||
			!failsAlike(region, kept, in) {
			kept = append(kept, in)
			continue
		}
		b := &ir.Builder{Block: outside, Span: in.Span}
		invariant := !in.MayFail()
		for i, a := range in.Args {
			invariant = invariant && (isTable(in, i) || !definedIn(region, kept, a))
		}
		if invariant {
			for i, a := range in.Args {
				if isTable(in, i) {
					in.Args[i] = tableOutside(b, kept, a)
				}
			}
			outside.Ops = append(outside.Ops, in)
			remark("moved %s out of a tabulate", in.Def.Name)
			continue
		}
		args := make([]*ir.Value, len(in.Args))
		for i, a := range in.Args {
			var err error
			var all bool
			if isTable(in, i) {
				args[i] = tableOutside(b, kept, a)
				continue
			}
			if args[i], all, err = batchOperand(b, op, kept, a); err != nil {
				return nil, err
			}
			if all {
				copied = len(kept)
			}
		}
		axes := make([]int64, len(region.Params))
		for i := range axes {
			axes[i] = int64(i)
		}
		rows := b.EmitOp(in.Def, batchAttrs(op, in), args, nil)
		here := &ir.Block{}
		for i, r := range in.Results {
			at := append([]*ir.Value{rows.Results[i]}, region.Params...)
			with[r] = (&ir.Builder{Block: here, Span: in.Span}).Emit(ops.Index, ir.A{"axes": axes}, at...)
		}
		kept = append(kept, here.Ops...)
		remark("took %s out of a tabulate", in.Def.Name)
	}
	if len(outside.Ops) == 0 {
		return nil, nil
	}
	region.Ops = kept
	ir.Replace(region, with)
	dropCopied(region, copied)
	return outside.Ops, nil
}

// batchAttrs are the attributes of in behind the axes of the tabulate op.
func batchAttrs(op, in *ir.Op) ir.A {
	named := ir.A{}
	for i, a := range in.Def.Attrs {
		named[a.Name] = in.Attrs[i]
	}
	named["axis"] = in.Int("axis") + int64(len(op.Dims("shape")))
	return named
}

// fitsBatch reports that the operands and the result of op can have the axes of shape in front, and that the operation
// takes such operands. Tables stay as they are.
func fitsBatch(tabulate *ir.Op, op *ir.Op) bool {
	shape := tabulate.Dims("shape")
	batched := make([]types.Tensor, len(op.Args))
	for i, a := range op.Args {
		batched[i] = a.Type
		if !isTable(op, i) {
			batched[i].Shape = append(append(types.Shape{}, shape...), a.Type.Shape...)
		}
	}
	if _, err := op.Def.Infer(batched, op.Def.MakeAttrs(batchAttrs(tabulate, op)), nil); err != nil {
		return false
	}
	for _, r := range op.Results {
		t := types.Tensor{Elem: r.Type.Elem, Shape: append(append(types.Shape{}, shape...), r.Type.Shape...)}
		batched = append(batched, t)
	}
	for _, t := range batched {
		if ir.CheckExtents(t) != nil {
			return false
		}
	}
	return true
}

// isTable reports that operand i of op is a table (OpDef.Tables).
func isTable(op *ir.Op, i int) bool { return op.Def.Tables > 0 && i >= op.Def.Tables }

// hasTables reports that the tables of op are the same at every index: constants, or from outside of the region.
func hasTables(region *ir.Block, before []*ir.Op, op *ir.Op) bool {
	for i, a := range op.Args {
		if isTable(op, i) && definedIn(region, before, a) && definedBy(a, ops.Const) == nil {
			return false
		}
	}
	return true
}

// tableOutside is such a table outside of the region.
func tableOutside(b *ir.Builder, before []*ir.Op, a *ir.Value) *ir.Value {
	if a.Def == nil || !slices.Contains(before, a.Def) {
		return a
	}
	return b.Emit(ops.Const, ir.A{"value": a.Def.Array("value")})
}

// failsAlike reports that op, and the operations before it in the region, fail outside when they do inside.
// A tabulate without elements evaluates nothing, so what is evaluated for an operand, or for op, must be empty
// just when the tabulate is.
func failsAlike(region *ir.Block, before []*ir.Op, op *ir.Op) bool {
	when := emptyWhen(region.Yields[0].Type.Shape)
	if op.MayFail() && !slices.Equal(emptyWhen(op.Type().Shape), when) {
		return false
	}
	for _, b := range before {
		if !b.MayFail() {
			continue
		}
		for _, a := range op.Args {
			if !slices.Equal(emptyWhen(a.Type.Shape), when) {
				return false
			}
		}
	}
	return true
}

// emptyWhen lists the extents of which any may be 0.
func emptyWhen(s types.Shape) []string {
	var out []string
	for _, d := range s {
		positive := false
		for _, t := range d.Terms() {
			if len(t.Vars) == 0 {
				positive = t.Coef > 0
			}
		}
		for _, t := range d.Terms() {
			positive = positive && t.Coef > 0
		}
		if !positive {
			out = append(out, d.String())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// dropCopied removes those of the first n operations of a region that nothing in it uses any more. They may be
// some that can fail, because their copies do so outside.
func dropCopied(region *ir.Block, n int) {
	used := map[*ir.Value]bool{}
	use := func(b *ir.Block) {
		for _, op := range b.Ops {
			for _, a := range op.Args {
				used[a] = true
			}
		}
		for _, y := range b.Yields {
			used[y] = true
		}
	}
	for _, y := range region.Yields {
		used[y] = true
	}
	var out []*ir.Op
	for i := len(region.Ops) - 1; i >= 0; i-- {
		op := region.Ops[i]
		wanted := i >= n
		for _, r := range op.Results {
			wanted = wanted || used[r]
		}
		if wanted {
			ir.WalkBlocks(&ir.Block{Ops: []*ir.Op{op}}, use)
			out = append(out, op)
		}
	}
	slices.Reverse(out)
	region.Ops = out
}

// definedIn reports that v is a parameter of the region, or a result of one of ops, which are in it.
func definedIn(region *ir.Block, before []*ir.Op, v *ir.Value) bool {
	return slices.Contains(region.Params, v) || v.Def != nil && slices.Contains(before, v.Def)
}

// batchOperand is a at every index of the tabulate: repeated when it comes from outside of the region, else
// another tabulate, of the operations that are before its use. It reports which of the two.
func batchOperand(b *ir.Builder, tabulate *ir.Op, before []*ir.Op, a *ir.Value) (v *ir.Value, inRegion bool,
	err error) {
	shape := tabulate.Dims("shape")
	if !definedIn(tabulate.Regions[0], before, a) {
		return b.Emit(ops.Broadcast, ir.A{"shape": append(append(types.Shape{}, shape...), a.Type.Shape...)}, a),
			false, nil
	}
	c := ir.NewCloner()
	copied, err := c.Block(&ir.Block{Params: tabulate.Regions[0].Params, Ops: before, Yields: []*ir.Value{a}})
	if err != nil {
		return nil, false, err
	}
	op := b.EmitOp(ops.Tabulate, ir.A{"shape": shape}, nil, []*ir.Block{copied})
	return op.Result(), true, nil
}

// ownIndexTabulate: each element is that of a tensor at its own index.
func ownIndexTabulate(_ *canonicalizer, op *ir.Op) []*ir.Value {
	region := op.Regions[0]
	if len(region.Ops) != 1 || region.Ops[0].Def != ops.Index || region.Yields[0] != region.Ops[0].Result() {
		return nil
	}
	in := region.Ops[0]
	x := in.Args[0]
	if !types.Equal(x.Type, op.Type()) || !slices.Equal(in.Args[1:], region.Params) {
		return nil
	}
	for i, a := range in.Ints("axes") {
		if a != int64(i) {
			return nil
		}
	}
	return one(x)
}
