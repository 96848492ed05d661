package plan

import (
	"maps"

	"healc/ir"
	"healc/lang/types"
	"healc/passes/bufferize/lower"
	"healc/runtime/abi"
)

// hostLoop lowers a loop over kernels: a step of the plan with steps in it. Every value of the state has two
// buffers. A run reads one and writes the other, and then they change places; a value that every step hands
// on as it is, and one that a step changes in place (Note [In place]), has one buffer.
// Nothing is allocated while the loop runs.
func (fn *function) hostLoop(op *ir.Op) {
	region := op.Regions[0]
	count := fn.scalarBuffer(op.Args[0])
	st := &abi.Loop{Count: count, Index: -1, Until: -1}
	now, next := make([]abi.View, len(op.Results)), make([]int, len(op.Results))
	for k, a := range op.Args[1:] {
		next[k] = -1
		now[k] = lower.Whole(fn.newBuffer(abi.Temp, a.Type), a.Type.Shape)
		fn.copyInto(a, now[k].Buffer)
	}
	outside := maps.Clone(fn.views)
	if isRead(region, region.Params[0]) {
		st.Index = fn.newBuffer(abi.Temp, types.Scalar(types.I32))
		fn.views[region.Params[0]] = lower.Whole(st.Index, nil)
	}
	for k, p := range region.Params[1:] {
		fn.views[p] = now[k]
	}
	mine := map[*ir.Op]bool{}
	for _, in := range region.Ops {
		mine[in] = true
	}
	// own gives a yield a new buffer, and lets what computes it write there when it can.
	own := func(y *ir.Value) int {
		i := fn.newBuffer(abi.Temp, y.Type)
		if _, there := fn.target[y]; !there && y.Def != nil && mine[y.Def] && fillsBuffer(y.Def) {
			fn.target[y] = i
		}
		return i
	}
	inPlace := map[int]bool{} // the values that a step may change where they are
	for k := range op.Results {
		y := region.Yields[k]
		_, chosen := fn.target[y]
		if _, other := fn.updates[y]; y.Type.Elem != types.String && y.Def != nil && mine[y.Def] &&
			fillsBuffer(y.Def) && viewed(y) == y && !chosen && !other {
			inPlace[k] = true
			fn.endsIn(y, now[k].Buffer)
			fn.holds(region.Params[k+1], now[k].Buffer)
			continue
		}
		if y != region.Params[k+1] {
			next[k] = own(y)
			st.Swap = append(st.Swap, [2]int{now[k].Buffer, next[k]})
		}
	}
	if op.Stops() {
		st.Until = own(region.Yields[len(op.Results)])
	}
	fn.step(abi.Step{Loop: st})
	steps := fn.steps
	fn.steps = &st.Body
	fn.block(region)
	// A buffer can change places with one other only, and the condition is read after the change.
	taken := map[int]bool{st.Until: true}
	for k := range now {
		taken[now[k].Buffer], taken[next[k]] = true, true
	}
	for k, y := range region.Yields {
		if inPlace[k] && k < len(next) {
			w, ok := fn.View(y)
			if ok && w.Buffer == now[k].Buffer {
				continue
			}
			if ok && fn.isWhole(w) && fn.plan.Buffers[w.Buffer].Kind == abi.Temp && !taken[w.Buffer] {
				taken[w.Buffer] = true
				st.Swap = append(st.Swap, [2]int{now[k].Buffer, w.Buffer})
				continue
			}
			next[k] = fn.newBuffer(abi.Temp, y.Type)
			st.Swap = append(st.Swap, [2]int{now[k].Buffer, next[k]})
		}
		to := st.Until
		if k < len(next) {
			to = next[k]
		}
		if to < 0 {
			continue
		}
		if w, ok := fn.View(y); !ok || w.Buffer != to {
			fn.copyInto(y, to)
		}
	}
	fn.steps = steps
	// What was put into memory inside of the loop is not there when the loop does not run.
	fn.views = outside
	for k, r := range op.Results {
		fn.views[r] = now[k]
		fn.holds(r, now[k].Buffer)
	}
}

// scalarBuffer is a buffer that holds just the scalar v.
func (fn *function) scalarBuffer(v *ir.Value) int {
	w := fn.buffered(v)
	if fn.isWhole(w) {
		return w.Buffer
	}
	i := fn.newBuffer(abi.Temp, v.Type)
	fn.copyInto(v, i)
	return i
}

// isRead reports that something in b reads v.
func isRead(b *ir.Block, v *ir.Value) bool {
	return len(ir.Uses(b)[v]) > 0
}
