package plan

import (
	"maps"
	"slices"

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
	h := &hostLoop{fn: fn, op: op, own: map[*ir.Op]bool{}, inPlace: map[int]bool{},
		step: &abi.Loop{Index: -1, Until: -1}}
	h.step.Count = fn.scalarBuffer(op.Args[0])
	h.now, h.next = make([]abi.View, len(op.Results)), make([]int, len(op.Results))
	for k, a := range op.Args[1:] {
		h.next[k] = -1
		if w, ok := h.start(a, h.now[:k]); ok {
			h.now[k] = w
			continue
		}
		h.now[k] = lower.Whole(fn.newBuffer(abi.Temp, a.Type), a.Type.Shape)
		fn.copyInto(a, h.now[k].Buffer)
	}
	outside := maps.Clone(fn.views)
	if isRead(region, region.Params[0]) {
		h.step.Index = fn.newBuffer(abi.Temp, types.Scalar(types.I32))
		fn.views[region.Params[0]] = lower.Whole(h.step.Index, nil)
	}
	for k, p := range region.Params[1:] {
		fn.views[p] = h.now[k]
	}
	for _, in := range region.Ops {
		h.own[in] = true
	}
	h.choose()
	fn.step(abi.Step{Loop: h.step})
	steps := fn.steps
	fn.steps = &h.step.Body
	fn.block(region)
	h.handOn()
	fn.steps = steps
	// What was put into memory inside of the loop is not there when the loop does not run.
	fn.views = outside
	for k, r := range op.Results {
		fn.views[r] = h.now[k]
		fn.holds(r, h.now[k].Buffer)
	}
}

// A hostLoop is a loop over kernels under construction.
type hostLoop struct {
	fn      *function
	op      *ir.Op
	step    *abi.Loop
	own     map[*ir.Op]bool // the operations of its region
	now     []abi.View      // where a step finds each value of the state
	next    []int           // the buffer in which it leaves it, -1 where that is the same
	inPlace map[int]bool    // the values that a step may change where they are
}

// start says where the loop may have a value of its state that starts as a, beside those that are there already: in the
// buffer of a, where nothing reads a but the start of the loop (Note [In place]).
func (h *hostLoop) start(a *ir.Value, there []abi.View) (abi.View, bool) {
	fn := h.fn
	w, ok := fn.View(a)
	if !ok || a.Type.Elem == types.String || fn.plan.Buffers[w.Buffer].Kind != abi.Temp || w.Buffer == h.step.Count ||
		!fn.dense(w.Buffer, a) || !fn.isWhole(w) || !fn.free(w.Buffer) {
		return w, false
	}
	taken := slices.ContainsFunc(there, func(other abi.View) bool { return other.Buffer == w.Buffer })
	return w, !taken && !looksAt(h.op.Regions[0], viewed(a))
}

// looksAt reports that something in b, or in a region of it, uses v or a view of it.
func looksAt(b *ir.Block, v *ir.Value) bool {
	found := false
	ir.Walk(b, func(op *ir.Op) {
		for _, a := range op.Args {
			found = found || viewed(a) == v
		}
		for _, r := range op.Regions {
			for _, y := range r.Yields {
				found = found || viewed(y) == v
			}
		}
	})
	for _, y := range b.Yields {
		found = found || viewed(y) == v
	}
	return found
}

// choose chooses the buffers in which a step leaves the state.
func (h *hostLoop) choose() {
	fn, region := h.fn, h.op.Regions[0]
	for k := range h.op.Results {
		y := region.Yields[k]
		_, chosen := fn.target[y]
		if _, other := fn.updates[y]; y.Type.Elem != types.String && y.Def != nil && h.own[y.Def] &&
			fillsBuffer(y.Def) && viewed(y) == y && !chosen && !other {
			h.inPlace[k] = true
			fn.endsIn(y, h.now[k].Buffer)
			fn.holds(region.Params[k+1], h.now[k].Buffer)
			continue
		}
		if y.Type.Elem != types.String && y.Def != nil && h.own[y.Def] && y.Def.IsLoop() && !chosen {
			h.inPlace[k] = true // a loop ends where it started, which may be here
			fn.holds(region.Params[k+1], h.now[k].Buffer)
			continue
		}
		if y != region.Params[k+1] {
			h.next[k] = h.newBuffer(y)
			h.swap(k, h.next[k])
		}
	}
	if h.op.Stops() {
		h.step.Until = h.newBuffer(region.Yields[len(h.op.Results)])
	}
}

// newBuffer gives a yield a new buffer, and lets what computes it write there when it can.
func (h *hostLoop) newBuffer(y *ir.Value) int {
	i := h.fn.newBuffer(abi.Temp, y.Type)
	if _, there := h.fn.target[y]; !there && y.Def != nil && h.own[y.Def] && fillsBuffer(y.Def) {
		h.fn.target[y] = i
	}
	return i
}

// swap lets buffer change places with that of value k of the state after each step.
func (h *hostLoop) swap(k, buffer int) {
	h.step.Swap = append(h.step.Swap, [2]int{h.now[k].Buffer, buffer})
}

// handOn ends a step: each value of the state goes to where the next step looks for it.
func (h *hostLoop) handOn() {
	fn := h.fn
	// A buffer can change places with one other only, and the condition is read after the change.
	taken := map[int]bool{h.step.Until: true}
	for k := range h.now {
		taken[h.now[k].Buffer], taken[h.next[k]] = true, true
	}
	for k, y := range h.op.Regions[0].Yields {
		if h.inPlace[k] && k < len(h.next) {
			w, ok := fn.View(y)
			if ok && w.Buffer == h.now[k].Buffer {
				continue
			}
			if ok && fn.isWhole(w) && fn.plan.Buffers[w.Buffer].Kind == abi.Temp && !taken[w.Buffer] {
				taken[w.Buffer] = true
				h.swap(k, w.Buffer)
				continue
			}
			h.next[k] = fn.newBuffer(abi.Temp, y.Type)
			h.swap(k, h.next[k])
		}
		to := h.step.Until
		if k < len(h.next) {
			to = h.next[k]
		}
		if to < 0 {
			continue
		}
		if w, ok := fn.View(y); !ok || w.Buffer != to {
			fn.copyInto(y, to)
		}
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
