package bufferize

import (
	"maps"

	"healc/ir"
	"healc/lang/types"
	"healc/runtime/abi"
)

// hostLoop lowers a loop over kernels: a step of the plan with steps in it. Every value of the state has two
// buffers. A run reads one and writes the other, and then they change places; a value that a step hands on
// as it is has one. Nothing is allocated while the loop runs.
func (fn *function) hostLoop(op *ir.Op) {
	region := op.Regions[0]
	count := fn.scalarBuffer(op.Args[0])
	st := &abi.Loop{Count: count, Index: -1, Until: -1}
	now, next := make([]int, len(op.Results)), make([]int, len(op.Results))
	for k, a := range op.Args[1:] {
		if a.Type.Elem == types.String {
			panic(failure{&Error{op.Span, "a string in the state of a loop"}})
		}
		now[k], next[k] = fn.newBuffer(abi.Temp, a.Type), -1
		fn.copyInto(a, now[k])
	}
	outside := maps.Clone(fn.views)
	if isRead(region, region.Params[0]) {
		st.Index = fn.newBuffer(abi.Temp, types.Scalar(types.I32))
		fn.views[region.Params[0]] = whole(st.Index, nil)
	}
	for k, p := range region.Params[1:] {
		fn.views[p] = whole(now[k], p.Type.Shape)
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
	for k := range op.Results {
		if y := region.Yields[k]; y != region.Params[k+1] {
			next[k] = own(y)
			st.Swap = append(st.Swap, [2]int{now[k], next[k]})
		}
	}
	if op.Stops() {
		st.Until = own(region.Yields[len(op.Results)])
	}
	fn.step(abi.Step{Loop: st})
	steps := fn.steps
	fn.steps = &st.Body
	fn.block(region)
	for k, y := range region.Yields {
		to := st.Until
		if k < len(next) {
			to = next[k]
		}
		if to < 0 {
			continue
		}
		if w, ok := fn.view(y); !ok || w.Buffer != to {
			fn.copyInto(y, to)
		}
	}
	fn.steps = steps
	// What was put into memory inside of the loop is not there when the loop does not run.
	fn.views = outside
	for k, r := range op.Results {
		fn.views[r] = whole(now[k], r.Type.Shape)
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
