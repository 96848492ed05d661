package plan

import (
	"slices"

	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/ops"
	"healc/lang/diag"
	"healc/lang/types"
	"healc/passes/bufferize/lower"
	"healc/runtime/abi"
)

// Note [In place]
//
// A result may take the buffer of an operand that nothing reads afterwards. For kernels it happens in five ways, the
// first four decided on the finished one:
//
//   - The kernel reads the operand only at the index that it writes, before it writes there: both are one
//     buffer, marked InPlace. `x .+= y` is the example.
//   - The kernel does not read the operand, and the result is the new value of the `&mut` parameter that
//     the operand is: the kernel writes there at once.
//   - The result is an `update` of the operand, smaller than it: a kernel over the replaced elements alone
//     writes them.
//   - The kernel works on rows of the result that it first copies from the operand, as scatter_add does, and
//     reads the operand nowhere else: the copy is left out (reuseRows).
//   - The kernel reads panels of rows before it writes them (beneath). If the result has a buffer that was chosen
//     for it, as that of a function has, the operand is computed there.
//
// And the state of a loop begins in the buffer of what it starts with, and ends there or in one that changes
// places with it (hostLoop), so that loops within loops, and one after the other, hand a tensor on without a copy. A
// buffer that changes places with none is that of the function's result where the tensor is one (result).
//
// An operand's buffer is free when its value was computed by the block in which the result is, or is a
// `&mut` parameter, and no later operation of that block, nor what it yields, uses the value or a view
// of it. Values of outer blocks are left alone: a loop reads them again.

// valueUses says how long values are needed.
type valueUses struct {
	last  map[*ir.Value]int // the position of the last operation that uses it, in the block that defines it
	block map[*ir.Value]*ir.Block
}

// usesOfValues walks f. A use of a view is a use of what it looks at.
func usesOfValues(f *ir.Func) *valueUses {
	u := &valueUses{last: map[*ir.Value]int{}, block: map[*ir.Value]*ir.Block{}}
	position := map[*ir.Block]int{} // of the blocks that are open
	use := func(v *ir.Value) {
		v = viewed(v)
		u.last[v] = max(u.last[v], position[u.block[v]])
	}
	var walk func(b *ir.Block)
	walk = func(b *ir.Block) {
		for _, p := range b.Params {
			u.block[p] = b
		}
		for i, op := range b.Ops {
			position[b] = i
			for _, a := range op.Args {
				use(a)
			}
			for _, r := range op.Regions {
				walk(r)
			}
			for _, r := range op.Results {
				u.block[r] = b
			}
		}
		position[b] = len(b.Ops)
		for _, y := range b.Yields {
			use(y)
		}
	}
	walk(f.Body)
	return u
}

// viewed is the value whose elements v has, seen through views.
func viewed(v *ir.Value) *ir.Value {
	for v.Def != nil && (v.Def.Def.Traits.Has(ir.View) || v.Def.Def.Class == ir.Host && returnsOperand(v.Def)) {
		v = v.Def.Args[len(v.Def.Args)-1]
	}
	return v
}

// holder is the block whose value a buffer holds, and how long it is needed there.
type holder struct {
	block *ir.Block
	last  int
}

// holds notes that buffer has the value v, which the current block computes.
func (fn *function) holds(v *ir.Value, buffer int) {
	fn.held[buffer] = holder{fn.uses.block[v], fn.uses.last[v]}
}

// free reports that nothing reads buffer after the current operation.
func (fn *function) free(buffer int) bool {
	h, ok := fn.held[buffer]
	return ok && h.block == fn.current && h.last <= fn.at
}

// fuseInPlace lowers a computing operation and then lets its results take the buffers of operands.
func (fn *function) fuseInPlace(op *ir.Op) {
	if fn.updateInPlace(op) {
		return
	}
	begin := len(*fn.steps)
	fn.fuse(op)
	for i := len(*fn.steps) - 1; i >= begin; i-- {
		if l := (*fn.steps)[i].Launch; l != nil {
			fn.reuse(op, l, (*fn.steps)[i+1:])
		}
	}
	for _, r := range op.Results {
		if w, ok := fn.views[r]; ok && fn.plan.Buffers[w.Buffer].Kind == abi.Temp {
			if _, chosen := fn.target[r]; !chosen {
				fn.holds(r, w.Buffer)
			}
		}
	}
}

// reuse finds buffers for the outputs of one kernel of op; later are the steps of op after it.
func (fn *function) reuse(op *ir.Op, l *abi.Launch, later []abi.Step) {
	k := fn.kernel(l.Kernel)
	for o := 0; o < k.Buffers(); o++ {
		if !k.Params[o].Out || k.Params[o].InPlace {
			continue
		}
		for _, r := range op.Results {
			w, ok := fn.views[r]
			_, chosen := fn.target[r]
			if !ok || chosen || w.Buffer != l.Args[o] || fn.plan.Buffers[w.Buffer].Kind != abi.Temp {
				continue
			}
			if k.Params[o].Work && fn.reuseRows(r, l, k, o, later) || !k.Params[o].Work && fn.take(r, l, k, o, later) {
				o = -1 // the parameters have moved
			}
			break
		}
	}
}

func (fn *function) kernel(name string) *kernel.Kernel {
	for i := len(fn.u.out.Kernels) - 1; i >= 0; i-- {
		if k := fn.u.out.Kernels[i]; k.Name == name {
			return k
		}
	}
	panic("BUG: a step launches kernel " + name + ", which does not exist")
}

// endsIn notes that y, the last value of a variable, has to end in buffer p, and so do the values before it
// that y changes in a part only: each `x[i] = e` of several then writes that part of p alone.
func (fn *function) endsIn(y *ir.Value, p int) {
	block := fn.uses.block[y]
	for y != nil && y.Def != nil && fn.uses.block[y] == block && viewed(y) == y {
		if _, more := fn.updates[y]; more {
			return
		}
		fn.updates[y] = p
		y = updatedBy(y)
	}
}

// updatedBy is the value that y is an `update` of, or nil.
func updatedBy(y *ir.Value) *ir.Value {
	op := y.Def
	if op.Def == ops.Update {
		return op.Args[0]
	}
	if op.Def != ops.Fusion || len(op.Results) != 1 {
		return nil
	}
	up := op.Regions[0].Yields[0].Def
	if up == nil || up.Def != ops.Update {
		return nil
	}
	if at := slices.Index(op.Regions[0].Params, up.Args[0]); at >= 0 {
		return op.Args[at]
	}
	return nil
}

// take lets output o, which is r, have the buffer of a parameter that is free.
func (fn *function) take(r *ir.Value, l *abi.Launch, k *kernel.Kernel, o int, later []abi.Step) bool {
	old := l.Args[o]
	if p, ok := fn.updates[r]; ok && fn.free(p) && !slices.Contains(l.Args, p) && fn.dense(p, r) &&
		!mentioned(later, p) {
		l.Args[o] = p
		k.Params[o].Name = lower.BufferName(p)
		fn.moved(r, old, p)
		return true
	}
	for i, in := range k.Params[:k.Buffers()] {
		buffer := l.Args[i]
		if in.Out || !fn.free(buffer) || !fn.dense(buffer, r) || mentioned(later, buffer) {
			continue
		}
		if p, ok := fn.updates[r]; ok && p != buffer { // it has to end there
			continue
		}
		if fn.plan.Buffers[buffer].Kind == abi.Input && fn.updates[r] != buffer {
			continue // the caller would see it
		}
		if !readsBeforeWriting(k, i, o) {
			continue
		}
		merge(k, l, i, o)
		part := changedPart(k)
		l.Work, l.Bytes = int64(part*float64(l.Work)), int64(part*float64(l.Bytes))
		fn.moved(r, old, buffer)
		return true
	}
	return false
}

// moved notes that r is in buffer to, and drops the buffer that was made for it.
func (fn *function) moved(r *ir.Value, from, to int) {
	fn.views[r] = lower.Whole(to, r.Type.Shape)
	fn.held[to] = holder{fn.uses.block[r], fn.uses.last[r]}
	if from == len(fn.plan.Buffers)-1 {
		fn.plan.Buffers = fn.plan.Buffers[:from]
	} else {
		fn.plan.Buffers[from].Shape = []abi.Extent{{Dim: types.Dim{}}} // of no size
	}
}

// dense reports that a buffer is row-major, of the type of r.
func (fn *function) dense(buffer int, r *ir.Value) bool {
	b := fn.plan.Buffers[buffer]
	if b.DType != r.Type.Elem || len(b.Shape) != len(r.Type.Shape) {
		return false
	}
	if b.Kind != abi.Temp && b.Kind != abi.Input {
		return false
	}
	for k, d := range lower.RowMajor(r.Type.Shape) {
		if b.Shape[k].Div > 1 || !b.Shape[k].Dim.Equal(r.Type.Shape[k]) || b.Strides != nil && !b.Strides[k].Equal(d) {
			return false
		}
	}
	return true
}

// mentioned reports that a step uses a buffer.
func mentioned(steps []abi.Step, buffer int) bool {
	for _, s := range steps {
		if s.Launch == nil || slices.Contains(s.Launch.Args, buffer) {
			return true // a step of another kind is not looked into
		}
	}
	return false
}

// readsBeforeWriting reports that the kernel reads parameter i only at the index where it then writes output o,
// and writes once.
func readsBeforeWriting(k *kernel.Kernel, i, o int) bool {
	var store *kernel.Store
	var loads []*kernel.Load
	ok := true
	var walk func(b *kernel.Block, again bool)
	walk = func(b *kernel.Block, again bool) {
		for _, st := range b.Stmts {
			repeats := again
			switch st := st.(type) {
			case *kernel.Load:
				if st.Param == i {
					ok = ok && store == nil
					loads = append(loads, st)
				}
			case *kernel.Store:
				if st.Param == o {
					ok = ok && store == nil && !again
					store = st
				}
			case *kernel.Loop:
				repeats = again || !st.Parallel
			case *kernel.If:
			case *kernel.Transform:
				for _, l := range st.Lines() {
					ok = ok && l.Param != i && l.Param != o
				}
			case *kernel.Sort:
				for _, l := range st.Lines() {
					ok = ok && l.Param != i && l.Param != o
				}
			default:
				repeats = true
			}
			kernel.Visitor{Block: func(b *kernel.Block) { walk(b, repeats) }}.Stmt(st)
		}
	}
	walk(k.Body, false)
	if !ok || store == nil {
		return false
	}
	for _, l := range loads {
		if lower.AccessKey(l.At) != lower.AccessKey(store.At) {
			return false
		}
	}
	return true
}

// merge lets output o be parameter i, too.
func merge(k *kernel.Kernel, l *abi.Launch, i, o int) {
	k.Body.EachParam(func(p *int) {
		if *p == o {
			*p = i
		}
		if *p > o {
			*p--
		}
	})
	k.Params[i].Out, k.Params[i].InPlace = true, true
	k.Params = slices.Delete(k.Params, o, o+1)
	l.Args = slices.Delete(l.Args, o, o+1)
}

// updateInPlace lowers an update whose operand is free, and larger than what is replaced, as a kernel over
// the replaced elements. It reports false, and leaves nothing behind, when that cannot be done.
func (fn *function) updateInPlace(op *ir.Op) bool {
	if len(op.Results) != 1 {
		return false
	}
	n := fn.nestOf(op)
	if lower.RowOp(n.Block) != nil {
		return false
	}
	up := n.Block.Yields[0].Def
	if up == nil || up.Def != ops.Update || up.Type().Shape.Equal(up.Dims("shape")) {
		return false
	}
	x := up.Args[0]
	if op.Def == ops.Fusion {
		at := slices.Index(n.Block.Params, x)
		if at < 0 {
			return false // computed by the kernel
		}
		x = op.Args[at]
	}
	r := op.Result()
	w, ok := fn.views[x]
	if _, chosen := fn.target[r]; !ok || chosen || !fn.free(w.Buffer) || !fn.dense(w.Buffer, r) {
		return false
	}
	p, must := fn.updates[r]
	if must && p != w.Buffer || !must && fn.plan.Buffers[w.Buffer].Kind == abi.Input {
		return false
	}
	if lower.Empty(up.Dims("shape")) {
		return false
	}
	saved := *fn.u.out
	buffers, steps, places := len(fn.plan.Buffers), len(*fn.steps), len(fn.places)
	out := fn.allocate(r)
	n.Update(up, out).Emit(fn)
	if l := fn.lastLaunch(steps); l != nil {
		k := fn.kernel(l.Kernel)
		o, i := slices.Index(l.Args, out), slices.Index(l.Args, w.Buffer)
		switch {
		case o < 0:
		case i < 0:
			l.Args[o] = w.Buffer
			k.Params[o].Name = lower.BufferName(w.Buffer)
			fn.moved(r, out, w.Buffer)
			return true
		case !k.Params[i].Out && readsBeforeWriting(k, i, o):
			merge(k, l, i, o)
			fn.moved(r, out, w.Buffer)
			return true
		}
	}
	// Not in place after all: what was made is forgotten, but for buffers that other values now have.
	fn.u.out.Kernels = saved.Kernels
	*fn.steps, fn.places = (*fn.steps)[:steps], fn.places[:places]
	for v, w := range fn.views {
		if w.Buffer >= buffers {
			delete(fn.views, v)
		}
	}
	for a, buffer := range fn.datas {
		if buffer >= buffers {
			delete(fn.datas, a)
		}
	}
	fn.plan.Buffers = fn.plan.Buffers[:buffers]
	return false
}

// lastLaunch is the launch that is the only step since position begin, or the last of several.
func (fn *function) lastLaunch(begin int) *abi.Launch {
	if n := len(*fn.steps); n > begin {
		return (*fn.steps)[n-1].Launch
	}
	return nil
}

// finish writes the new values of the `&mut` parameters to where they belong. A value that lies in another
// of these parameters is copied aside first.
func (fn *function) finish(ys []*ir.Value) {
	type pending struct {
		from abi.View
		to   int
		at   diag.Span
	}
	var list []pending
	mine := map[int]bool{}
	for _, k := range fn.src.Updates {
		mine[fn.plan.Params[k]] = true
	}
	for i, y := range ys {
		to := fn.plan.Params[fn.src.Updates[i]]
		from := fn.buffered(y)
		if from.Buffer == to && fn.asBefore(from, to) {
			continue
		}
		if mine[from.Buffer] {
			t := fn.newBuffer(abi.Temp, y.Type)
			fn.stepFor(abi.Step{Copy: &abi.Copy{From: from, To: t}}, y.Span)
			from = lower.Whole(t, y.Type.Shape)
		}
		list = append(list, pending{from, to, y.Span})
	}
	for _, c := range list {
		fn.stepFor(abi.Step{Copy: &abi.Copy{From: c.from, To: c.to}}, c.at)
	}
}

// asBefore reports that a view of a parameter's buffer is the parameter itself.
func (fn *function) asBefore(w abi.View, buffer int) bool {
	b := fn.plan.Buffers[buffer]
	if !w.Offset.IsConst(0) || len(w.Shape) != len(b.Shape) {
		return false
	}
	strides := b.Strides
	if strides == nil {
		strides = lower.RowMajor(w.Shape)
	}
	for k := range w.Shape {
		if !w.Shape[k].Equal(b.Shape[k].Dim) || !w.Strides[k].Equal(strides[k]) {
			return false
		}
	}
	return true
}
