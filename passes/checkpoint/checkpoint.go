// Package checkpoint lets the loops of a program be gone on with by another run. A loop of n steps becomes a loop of
// runs of a loop of a few steps, after each of which the state is kept; it begins where the file says that another run
// has come to.
//
// In: a module before any pass, and the function that is run. Out: the same function with the operations resume_loop
// and keep_loop around its loops, which computes the same: step i is step i of the loop that it was.
package checkpoint

import (
	"fmt"

	"healc/ir"
	"healc/ir/exchange"
	"healc/ir/ops"
	"healc/lang/diag"
	"healc/lang/types"
)

// Insert writes checkpoints into the loops of a function, those of its body that are in no other loop, no choice and no
// function that it calls: the state is kept every so many steps, and at the end. The error is a *diag.List.
func Insert(m *ir.Module, entry string, every int32) error {
	f := m.Func(entry)
	if f == nil {
		return nil // which is said elsewhere
	}
	called := false
	for _, g := range m.Funcs {
		ir.Walk(g.Body, func(op *ir.Op) { called = called || op.Def == ops.Call && op.Str("callee") == entry })
	}
	if called {
		return unsupported(f.Span, "`%s` is called by a function, and its loops have no place in the run", entry)
	}
	w := &writer{every: every, with: map[*ir.Value]*ir.Value{}}
	body := f.Body.Ops
	f.Body.Ops = nil
	for _, op := range body {
		if op.Def != ops.Iterate && op.Def != ops.IterateUntil {
			f.Body.Ops = append(f.Body.Ops, op)
			continue
		}
		if err := w.loop(f.Body, op); err != nil {
			return err
		}
	}
	if w.loops == 0 {
		return unsupported(f.Span, "`%s` has no loop at its top level: an `iterate`, `iterate_until`, `each`, or a "+
			"`fold` of a state, that is in no other loop, no choice, and no function that it calls", entry)
	}
	ir.Replace(f.Body, w.with)
	f.IO = true
	return nil
}

func unsupported(at diag.Span, format string, args ...any) error {
	return (&diag.List{Items: []*diag.Diagnostic{{Code: diag.CodeUnsupported, Primary: diag.Label{Span: at},
		Message: "unsupported: --checkpoint: " + fmt.Sprintf(format, args...)}}}).Err()
}

type writer struct {
	every int32
	loops int64
	with  map[*ir.Value]*ir.Value // what became of the results of loops
}

func constant(b *ir.Builder, n int32) *ir.Value {
	return b.Emit(ops.Const, ir.A{"value": &ir.Array{DType: types.I32, Bits: []uint64{uint64(uint32(n))}}})
}

// loop writes a loop with checkpoints into a block.
func (w *writer) loop(to *ir.Block, op *ir.Op) error {
	n, start, step := op.Args[0], op.Args[1:], op.Regions[0]
	for _, v := range start {
		if v.Type.Elem == types.String || v.Type.Elem.IsStored() {
			return unsupported(op.Span, "the state of this loop has %s, which no checkpoint holds", v.Type)
		}
	}
	attrs := ir.A{"loop": w.loops}
	w.loops++
	b := &ir.Builder{Block: to, Span: op.Span}
	begin := b.EmitOp(exchange.Resume, attrs, start, nil).Results
	left := b.Emit(ops.Sub, nil, n, begin[0])

	// A run of steps: its state is how many are done, and the state of the loop.
	many := &ir.Builder{Block: &ir.Block{}, Span: op.Span}
	many.Block.Param("run", types.Scalar(types.I32), op.Span)
	var state []*ir.Value
	done := many.Block.Param("done", types.Scalar(types.I32), op.Span)
	for _, v := range step.Params[1:] {
		state = append(state, many.Block.Param(v.Name, v.Type, v.Span))
	}
	count := many.Emit(ops.Min, nil, constant(many, w.every), many.Emit(ops.Sub, nil, n, done))
	inner := &ir.Builder{Block: &ir.Block{}, Span: op.Span}
	number := inner.Block.Param(step.Params[0].Name, types.Scalar(types.I32), step.Params[0].Span)
	clone := ir.NewCloner()
	if op.Stops() { // whether it is to stop is a part of the state, so that it is known behind the loop
		no := many.Emit(ops.Const, ir.A{"value": &ir.Array{DType: types.Bool, Bits: []uint64{0}}})
		state = append([]*ir.Value{no}, state...)
		inner.Block.Param("stop", types.Scalar(types.Bool), op.Span)
	}
	for _, v := range step.Params[1:] {
		clone.Values[v] = inner.Block.Param(v.Name, v.Type, v.Span)
	}
	clone.Values[step.Params[0]] = inner.Emit(ops.Add, nil, done, number)
	if err := clone.Append(inner.Block, step); err != nil {
		panic("BUG: copying without substitution: " + err.Error())
	}
	inner.Block.Yields = clone.ValueList(step.Yields)
	if op.Stops() {
		last := len(step.Yields) - 1
		inner.Block.Yields = append([]*ir.Value{inner.Block.Yields[last]}, inner.Block.Yields...)
	}
	next := many.EmitOp(op.Def, nil, append([]*ir.Value{count}, state...), []*ir.Block{inner.Block}).Results
	total := many.Emit(ops.Add, nil, done, count)
	if op.Stops() { // then as if all steps were done
		total = many.Emit(ops.Select, nil, next[0], n, total)
		next = next[1:]
	}
	kept := append([]*ir.Value{total}, next...)
	many.EmitOp(exchange.Keep, attrs, kept, nil)
	many.Block.Yields = append(append([]*ir.Value{}, kept...), many.Emit(ops.Le, nil, n, total))
	out := b.EmitOp(ops.IterateUntil, nil, append([]*ir.Value{left}, begin...), []*ir.Block{many.Block}).Results
	for i, r := range op.Results {
		out[i+1].Name, out[i+1].Span = r.Name, r.Span
		w.with[r] = out[i+1]
	}
	return nil
}
