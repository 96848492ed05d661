package plan

import (
	"slices"

	"healc/ir"
	"healc/ir/ops"
	"healc/ir/scalar"
	"healc/lang/diag"
	"healc/lang/types"
	"healc/passes/bufferize/lower"
	"healc/runtime/abi"
)

// A function is one function of the plan under construction. It assigns buffers: it has those of the function, and
// where each value is.
type function struct {
	u      *unit
	src    *ir.Func
	plan   *abi.Function
	steps  *[]abi.Step // the list that is being written
	places []diag.Span // of all steps, as kernel.Module.Steps has them
	views  map[*ir.Value]abi.View
	target map[*ir.Value]int // buffers chosen for values before they are computed
	datas  map[*ir.Array]int
	guards []types.Dim // extents that the function stops at where they are too large

	uses    *valueUses
	held    map[int]holder // of buffers that a result may take; see Note [In place]
	current *ir.Block      // the block that is lowered, and the position in it
	at      int
	updates map[*ir.Value]int // the parameters' buffers that values are the new contents of
}

// Site implements lower.Unit.
func (fn *function) Site(kind scalar.CheckKind, op *ir.Op) int { return fn.u.Site(kind, op) }

// ScalarFunc implements lower.Unit.
func (fn *function) ScalarFunc(op *ir.Op, callee string) string { return fn.u.ScalarFunc(op, callee) }

// Teams implements lower.Unit.
func (fn *function) Teams() bool { return fn.u.Teams() }

// Buffer implements lower.Plan.
func (fn *function) Buffer(i int) *abi.Buffer { return &fn.plan.Buffers[i] }

// step appends a step, whose place is that of the operation that is lowered.
func (fn *function) step(s abi.Step) {
	at := fn.src.Span
	if fn.current != nil && fn.at < len(fn.current.Ops) {
		at = fn.current.Ops[fn.at].Span
	}
	fn.stepFor(s, at)
}

// stepFor appends a step for what stands at a place.
func (fn *function) stepFor(s abi.Step, at diag.Span) {
	*fn.steps, fn.places = append(*fn.steps, s), append(fn.places, at)
}

// NewBuffer implements lower.Plan.
func (fn *function) NewBuffer(b abi.Buffer) int {
	fn.plan.Buffers = append(fn.plan.Buffers, b)
	return len(fn.plan.Buffers) - 1
}

// allocate gives v its buffer: the one that was chosen for it, or a new one in the arena.
func (fn *function) allocate(v *ir.Value) int {
	i, ok := fn.target[v]
	if !ok {
		i = fn.newBuffer(abi.Temp, v.Type)
	}
	fn.views[v] = lower.Whole(i, v.Type.Shape)
	return i
}

func (fn *function) newBuffer(kind abi.BufferKind, t types.Tensor) int {
	shape := lower.Extents(t.Shape) // what kernels have beside values may be larger than these
	for k := range shape {
		shape[k].Guarded = slices.ContainsFunc(fn.guards, shape[k].Dim.Equal)
	}
	return fn.NewBuffer(abi.Buffer{Kind: kind, DType: t.Elem, Shape: shape})
}

// Data implements lower.Plan.
func (fn *function) Data(a *ir.Array) int {
	if i, ok := fn.datas[a]; ok {
		return i
	}
	b := abi.Buffer{Kind: abi.Data, DType: a.DType, Shape: lower.Extents(a.Type().Shape), Str: a.Str}
	if a.DType != types.String {
		size := a.DType.Bytes()
		b.Bytes = make([]byte, 0, size*len(a.Bits))
		for _, bits := range a.Bits {
			for k := 0; k < size; k++ { // little-endian, as on every target
				b.Bytes = append(b.Bytes, byte(bits>>(8*k)))
			}
		}
	}
	fn.datas[a] = fn.NewBuffer(b)
	return fn.datas[a]
}

// View implements lower.Plan: it says where v is, when it is in a buffer, perhaps seen through views. Views that
// strides cannot express, such as the reshape of a transpose, are in no buffer.
func (fn *function) View(v *ir.Value) (abi.View, bool) {
	if w, ok := fn.views[v]; ok {
		return w, true
	}
	if v.Def == nil {
		return abi.View{}, false
	}
	op := v.Def
	var w abi.View
	switch {
	case op.Def == ops.Const:
		w = lower.Whole(fn.Data(op.Array("value")), v.Type.Shape)
	case op.Def == ops.Stop: // it went on
		yes := ir.NewArray(types.Bool)
		yes.Bits[0] = 1
		w = lower.Whole(fn.Data(yes), v.Type.Shape)
	case op.Def.Traits.Has(ir.View):
		from, ok := fn.View(op.Args[0])
		if !ok {
			return from, false
		}
		if w, ok = viewThrough(op, from); !ok {
			return w, false
		}
	default:
		return w, false
	}
	fn.views[v] = w
	return w, true
}

// viewThrough applies a view operation to a view.
func viewThrough(op *ir.Op, from abi.View) (abi.View, bool) {
	shape := op.Type().Shape
	out := abi.View{Buffer: from.Buffer, Shape: shape, Offset: from.Offset, Strides: make([]types.Dim, len(shape))}
	switch op.Def {
	case ops.Broadcast:
		skip := len(shape) - len(from.Shape)
		for k := range from.Shape {
			if from.Shape[k].Equal(shape[skip+k]) {
				out.Strides[skip+k] = from.Strides[k]
			}
		}
	case ops.Permute:
		for k, a := range op.Ints("perm") {
			out.Strides[k] = from.Strides[a]
		}
	case ops.Slice:
		starts, steps := op.Dims("starts"), op.Ints("steps")
		for k := range shape {
			p, err := starts[k].Mul(from.Strides[k])
			if err == nil {
				out.Offset, err = out.Offset.Add(p)
			}
			if err == nil {
				out.Strides[k], err = from.Strides[k].Mul(types.Lit(steps[k]))
			}
			if err != nil {
				return out, false
			}
		}
	case ops.Reshape:
		return reshapeView(from, out)
	default:
		return out, false
	}
	return out, true
}

// reshapeView finds the strides of a reshaped view. Axes that are contiguous with each other form runs;
// every new axis must lie inside one run.
func reshapeView(from, out abi.View) (abi.View, bool) {
	if lower.Empty(from.Shape) {
		return out, true // nothing is read, by whatever strides
	}
	type run struct{ size, stride types.Dim }
	var runs []run // innermost first
	for k := len(from.Shape) - 1; k >= 0; k-- {
		if from.Shape[k].IsConst(1) {
			continue
		}
		if n := len(runs); n > 0 {
			last := &runs[n-1]
			if p, err := last.size.Mul(last.stride); err == nil && p.Equal(from.Strides[k]) {
				last.size = lower.MustMul(last.size, from.Shape[k])
				continue
			}
		}
		runs = append(runs, run{from.Shape[k], from.Strides[k]})
	}
	for k := len(out.Shape) - 1; k >= 0; k-- {
		d := out.Shape[k]
		if d.IsConst(1) {
			out.Strides[k] = types.Lit(1)
			continue
		}
		for len(runs) > 0 && runs[0].size.IsConst(1) {
			runs = runs[1:]
		}
		if len(runs) == 0 {
			return out, false
		}
		q, ok := runs[0].size.Div(d)
		if !ok {
			return out, false
		}
		out.Strides[k] = runs[0].stride
		runs[0] = run{q, lower.MustMul(runs[0].stride, d)}
	}
	for _, r := range runs {
		if !r.size.IsConst(1) {
			return out, false
		}
	}
	return out, true
}

// buffered returns a view of v, which is copied into a buffer when there is none.
func (fn *function) buffered(v *ir.Value) abi.View {
	if w, ok := fn.View(v); ok {
		return w
	}
	i := fn.newBuffer(abi.Temp, v.Type)
	fn.materialise(v, i)
	fn.views[v] = lower.Whole(i, v.Type.Shape)
	return fn.views[v]
}

// isWhole reports that w is all of its buffer in row-major order.
func (fn *function) isWhole(w abi.View) bool {
	b := fn.plan.Buffers[w.Buffer]
	if !w.Offset.IsConst(0) || b.Strides != nil || len(b.Shape) != len(w.Shape) {
		return false
	}
	dense := lower.RowMajor(w.Shape)
	for k := range w.Shape {
		if b.Shape[k].Div > 1 || !b.Shape[k].Dim.Equal(w.Shape[k]) || !w.Strides[k].Equal(dense[k]) {
			return false
		}
	}
	return true
}
