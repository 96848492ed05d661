package lower

import (
	"fmt"
	"slices"

	"healc/codegen/target/profile"
	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/ops"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/abi"
)

// This file lowers operations that compute a row at a time in memory; see Note [Rows] in package ir. Their
// kernel is parallel over the other axes. What it writes is ordered: unlike the rest of a body, which is
// moved outwards as far as its operands allow (Note [Placement]), a read or write of a row's memory stays in
// the loop and in the place where the rule asked for it, and so does a loop that has one inside.

// RowOp returns the operation of a nest that a Rows rule computes alone, nil when there is none. Every value of the
// nest is a result of it, another one each.
func RowOp(block *ir.Block) *ir.Op {
	if len(block.Yields) == 0 {
		return nil
	}
	op := block.Yields[0].Def
	if op == nil || op.Def.Rows == nil || !slices.Contains(block.Ops, op) {
		return nil
	}
	seen := map[*ir.Value]bool{}
	for _, v := range block.Yields {
		if v.Def != op || seen[v] {
			return nil
		}
		seen[v] = true
	}
	return op
}

// EmitRows writes the kernel of op, the operation that RowOp gives, into the buffers of its results, and has the plan
// launch it. A result that nobody asks for has no buffer, which is -1. The buffer of one may be that of an operand.
func (n *Nest) EmitRows(p Plan, op *ir.Op, results []int) {
	shape, axis := op.Type().Shape, int(op.Int("axis"))
	if Empty(shape) {
		return
	}
	b := n.newBody(p)
	b.op, b.inPlace = op, results
	r := &rowBody{body: b, nest: n}
	at := make([]kernel.Ref, len(shape))
	var rows types.Shape // the parallel axes
	var index []kernel.Ref
	panel, last := int64(1), len(shape)-1
	if op.Def.Panel != nil {
		panel = op.Def.Panel(op)
	}
	across := last // the axis along which rows of a panel lie side by side
	if axis == last {
		across--
	}
	var steps []types.Dim // of the memory of the results, along the parallel axes
	strides := RowMajor(shape)
	for k, d := range shape {
		switch {
		case k == axis:
			at[k] = scalar.None
		case k == across && panel > 1:
			n, _ := d.Const()
			at[k] = b.E().Int(types.I64, 0)
			if n > panel {
				i := b.axis(axisScope, 0, d, panel)
				at[k] = b.E().Mul(i, b.E().Int(types.I64, panel))
				rows, index = append(rows, types.Lit((n+panel-1)/panel)), append(index, i)
				steps = append(steps, MustMul(types.Lit(panel), strides[across]))
			}
		case d.IsConst(1):
			at[k] = b.E().Int(types.I64, 0)
		default:
			at[k] = b.axis(axisScope, 0, d, 1)
			rows, index, steps = append(rows, d), append(index, at[k]), append(steps, strides[k])
		}
	}
	r.rows, r.index = rows, index
	for _, result := range results {
		out := &rowMemory{buffer: result, step: strides[axis], strides: steps}
		if panel > 1 {
			out.pitch, _ = strides[axis].Const()
			out.apart, _ = strides[across].Const()
			out.step = types.Lit(1)
		}
		r.memory = append(r.memory, out)
	}
	for i, result := range results {
		if result < 0 {
			r.memory[i] = r.memory[r.Near(op.Results[i].Type.Elem, MustMul(shape[axis], types.Lit(panel)))]
			r.memory[i].pitch, r.memory[i].apart = panel, 1
		}
	}
	op.Def.Rows(r, op, at)
	n.finish(b, true)
}

// rowMemory is where a Memory of the current row lies: a part of a buffer, or memory of the kernel itself.
type rowMemory struct {
	buffer  int
	near    bool
	param   int         // of what is near
	strides []types.Dim // along the parallel axes
	step    types.Dim   // between neighbours in the row
	pitch   int64       // of a panel of rows, between neighbours in one of them
	apart   int64       // and between those in two rows side by side
	operand *kernel.Line
}

// rowBody is the ir.RowPull of a kernel.
type rowBody struct {
	*body
	nest   *Nest
	rows   types.Shape
	index  []kernel.Ref
	memory []*rowMemory
}

// Work implements ir.RowPull: every row has its own part of a buffer in the arena, so that rows can be
// computed side by side.
func (r *rowBody) Work(t types.DType, n types.Dim, twice bool) ir.Memory {
	if twice {
		n = MustMul(n, types.Lit(2))
	}
	shape := append(append(types.Shape{}, r.rows...), n)
	strides := RowMajor(shape)
	r.memory = append(r.memory, &rowMemory{
		buffer:  r.plan.NewBuffer(abi.Buffer{Kind: abi.Temp, DType: t, Shape: Extents(shape)}),
		strides: strides[:len(r.rows)], step: types.Lit(1),
	})
	return ir.Memory(len(r.memory) - 1)
}

// Near implements ir.RowPull. On devices the threads that share a row would have to share it.
func (r *rowBody) Near(t types.DType, n types.Dim) ir.Memory {
	return r.nearUpTo(int64(profile.Base().Plan.NearBytes), t, n)
}

// Spare implements ir.RowPull.
func (r *rowBody) Spare(t types.DType, n types.Dim) ir.Memory { return r.nearUpTo(spareBytes, t, n) }

// spareBytes bounds the spare memory of a transform that lies on the stack: half a row of 65536.
const spareBytes = 256 << 10

// nearUpTo is Near for memory of up to so many bytes.
func (r *rowBody) nearUpTo(bytes int64, t types.DType, n types.Dim) ir.Memory {
	c, literal := n.Const()
	if r.Shared() || !literal || c*int64(t.Bytes()) > bytes {
		return r.Work(t, n, false)
	}
	r.memory = append(r.memory, &rowMemory{near: true, param: len(r.params), step: types.Lit(1)})
	r.params = append(r.params, kernel.Param{
		Name: fmt.Sprintf("row%d", len(r.params)), DType: t, Out: true, Work: true, Local: true,
		Shape: []abi.Extent{{Dim: n}},
	})
	r.bufferOf = append(r.bufferOf, -1)
	return ir.Memory(len(r.memory) - 1)
}

// Pitch implements ir.RowPull.
func (r *rowBody) Pitch(m ir.Memory) (along, across int64) {
	return r.memory[m].pitch, r.memory[m].apart
}

// address is the place of element i of a row's memory.
func (r *rowBody) address(m ir.Memory, i kernel.Ref) (*rowMemory, kernel.Access, []kernel.Ref) {
	w := r.memory[m]
	index := r.index
	if w.near { // the same for all rows
		index = nil
	}
	acc := r.access(types.Dim{}, append(slices.Clone(w.strides), w.step), append(slices.Clone(index), i))
	var vars []kernel.Ref
	for _, t := range acc.Terms {
		vars = append(vars, t.Var)
	}
	return w, acc, vars
}

// paramOfRow is the parameter for the buffer of a row's memory, which is written.
func (r *rowBody) paramOfRow(w *rowMemory) int {
	if w.near {
		return w.param
	}
	return r.param(w.buffer, true)
}

// Read implements ir.RowPull. The load is not shared with others: a store may lie between them.
func (r *rowBody) Read(m ir.Memory, i kernel.Ref) kernel.Ref {
	var p int
	var acc kernel.Access
	var vars []kernel.Ref
	if line := r.memory[m].operand; line != nil {
		var strides []types.Dim
		for _, t := range line.At.Terms {
			strides, vars = append(strides, t.Coef), append(vars, t.Var)
		}
		vars = append(vars, i)
		p, acc = line.Param, r.access(line.At.Offset, append(strides, types.Lit(1)), vars)
	} else {
		var w *rowMemory
		w, acc, vars = r.address(m, i)
		p = r.paramOfRow(w)
		r.params[p].Work = true
	}
	s := r.top()
	id := r.define(r.params[p].DType, s)
	r.add(s, &kernel.Load{ID: id, Param: p, At: acc}, vars...)
	return id
}

// Write implements ir.RowPull.
func (r *rowBody) Write(m ir.Memory, i, value kernel.Ref) {
	w, acc, vars := r.address(m, i)
	r.add(r.top(), &kernel.Store{Param: r.paramOfRow(w), At: acc, Val: value}, append(vars, value)...)
}

// Each implements ir.RowPull.
func (r *rowBody) Each(n types.Dim, init []kernel.Ref, f func(i kernel.Ref,
	state []kernel.Ref) []kernel.Ref) []kernel.Ref {
	if n.IsConst(0) {
		return init
	}
	b := r.body
	i := b.axis(loopScope, 0, n, 1)
	st := &kernel.Loop{Axis: b.top().axis, Init: slices.Clone(init)}
	for _, x := range init {
		st.Vars = append(st.Vars, b.define(b.types[x], b.top()))
	}
	st.Next = slices.Clone(f(i, slices.Clone(st.Vars)))
	in := b.close()
	st.Body = in.block
	s := r.here(append(slices.Clone(init), st.Next...), in)
	for _, x := range init {
		st.IDs = append(st.IDs, b.define(b.types[x], s))
	}
	b.add(s, st)
	return slices.Clone(st.IDs)
}

// Shared implements ir.RowPull.
func (r *rowBody) Shared() bool { return r.unit.Teams() }

// Apart implements ir.RowPull.
func (r *rowBody) Apart(n types.Dim, each int64, f func(i kernel.Ref)) {
	if n.IsConst(0) {
		return
	}
	i := r.axis(loopScope, 0, n, each)
	f(i)
	in := r.close()
	r.add(r.here(nil, in), &kernel.Loop{Axis: in.axis, Parallel: true, Body: in.block})
}

// When implements ir.RowPull.
func (r *rowBody) When(cond kernel.Ref, f func()) {
	b := r.body
	if yes, known := b.constBits(cond); known {
		if yes != 0 {
			f()
		}
		return
	}
	b.open(armScope, true)
	f()
	in := b.close()
	s := r.here([]kernel.Ref{cond}, in)
	b.add(s, &kernel.If{Cond: cond, Then: in.block, Else: &kernel.Block{}})
}

// Either implements ir.RowPull.
func (r *rowBody) Either(cond kernel.Ref, yes, no func()) {
	b := r.body
	saved := b.checkDepth
	b.open(armScope, true)
	yes()
	first := b.close()
	deep := b.checkDepth
	b.checkDepth = saved
	b.open(armScope, true)
	no()
	second := b.close()
	b.checkDepth = max(deep, b.checkDepth)
	s := b.closeAt(len(r.stack)-1, []kernel.Ref{cond}, first, second)
	b.add(s, &kernel.If{Cond: cond, Then: first.block, Else: second.block})
}

// All implements ir.RowPull. A loop that no row's index is needed for would stand around the parallel axes, which then
// are no axes of the kernel (Note [Parallel axes]): it becomes a kernel of its own. On a device the rows would be those
// of one team, and nothing but scalars may stand before a transform that is to be a grid; a long one is two kernels
// there, of which the first has pieces for as many teams.
func (r *rowBody) All(n types.Dim, f func(p ir.Pull, i kernel.Ref) kernel.Ref) kernel.Ref {
	all := func(b *body, n types.Dim, f func(i kernel.Ref) kernel.Ref) kernel.Ref {
		return b.Reduce(r.op, ir.ReduceAnd, types.Bool, true, []types.Dim{n}, func(i []kernel.Ref) kernel.Ref {
			return f(i[0])
		})
	}
	whole := func(b *body) kernel.Ref {
		return all(b, n, func(i kernel.Ref) kernel.Ref { return f(b, i) })
	}
	if !r.Shared() && (few(r.rows, 1) || few(r.op.Type().Shape, int64(profile.Base().Plan.OnceLeast)-1)) {
		return whole(r.body)
	}
	// What it is in a loop that is thrown away: a literal is no kernel.
	r.axis(loopScope, 0, types.Lit(1), 1)
	bits, literal := r.constBits(whole(r.body))
	if r.close(); literal {
		return r.E().Bits(types.Bool, bits)
	}
	piece := kernel.Lanes.Chunk()
	if c, known := n.Const(); known && r.Shared() && c > piece && c%piece == 0 {
		pieces := types.Lit(c / piece)
		parts := r.once("_parts", types.Shape{pieces}, func(b *body, at []kernel.Ref) kernel.Ref {
			begin := b.E().Mul(at[0], b.E().Int(types.I64, piece))
			return all(b, types.Lit(piece), func(i kernel.Ref) kernel.Ref { return f(b, b.E().Add(begin, i)) })
		})
		whole = func(b *body) kernel.Ref {
			return all(b, pieces, func(i kernel.Ref) kernel.Ref { return b.load(parts, types.Bool, []kernel.Ref{i}) })
		}
	}
	w := r.once("_once", nil, func(b *body, _ []kernel.Ref) kernel.Ref { return whole(b) })
	return r.load(w, types.Bool, nil)
}

// once is what a kernel of its own computes: bools of a shape.
func (r *rowBody) once(name string, shape types.Shape, elem func(b *body, at []kernel.Ref) kernel.Ref) abi.View {
	n := *r.nest
	n.Name += name
	n.Shape = shape
	w := abi.View{Buffer: r.plan.NewBuffer(abi.Buffer{Kind: abi.Temp, DType: types.Bool, Shape: Extents(shape)}),
		Shape: shape, Strides: RowMajor(shape)}
	n.Outs = []Output{{Buffer: w.Buffer, Rank: len(shape), elem: func(b *body, at []kernel.Ref) kernel.Ref {
		b.op = r.op
		return elem(b, at)
	}}}
	n.Emit(r.plan)
	return w
}

// few reports that a tensor is known to have no more than n elements.
func few(s types.Shape, n int64) bool {
	size, err := s.Elems()
	c, known := size.Const()
	return err == nil && known && c <= n
}

// Fill implements ir.RowPull.
func (r *rowBody) Fill(m ir.Memory, n types.Dim, value func(i kernel.Ref) kernel.Ref) {
	r.Apart(n, 1, func(i kernel.Ref) { r.Write(m, i, value(i)) })
}

// Adjacent implements ir.RowPull.
func (r *rowBody) Adjacent(m ir.Memory) bool { return r.memory[m].step.IsConst(1) }

// Operand implements ir.RowPull. It pulls an element in a loop that is thrown away, and looks at what that became.
func (r *rowBody) Operand(op *ir.Op, n int, at func(i kernel.Ref) []kernel.Ref) (ir.Memory, bool) {
	i := r.axis(loopScope, 0, types.Lit(ir.MinTransform), 1)
	x := r.Arg(op, n, at(i))
	in := r.close()
	loaded := slices.ContainsFunc(in.block.Stmts, func(st kernel.Stmt) bool {
		l, ok := st.(*kernel.Load)
		return ok && l.ID == x
	})
	return r.line(in, i, x), loaded
}

// Product implements ir.RowPull, as Operand does. The factors are what the operation was given that the element is the
// result of.
func (r *rowBody) Product(op *ir.Op, n int, at func(i kernel.Ref) []kernel.Ref, p kernel.Ref) (x, y ir.Memory,
	ok bool) {
	i := r.axis(loopScope, 0, types.Lit(ir.MinTransform), 1)
	factors := map[kernel.Ref][]kernel.Ref{}
	r.computed = func(by *ir.Op, args []kernel.Ref, x kernel.Ref) {
		if by.Def == ops.ModMul && args[2] == p {
			factors[x] = args[:2]
		}
	}
	f := factors[r.Arg(op, n, at(i))]
	r.computed = nil
	in := r.close()
	if f == nil {
		return ir.NoMemory, ir.NoMemory, false
	}
	x, y = r.line(in, i, f[0]), r.line(in, i, f[1])
	return x, y, x != ir.NoMemory && y != ir.NoMemory
}

// line is the memory that a scope of the loop variable i loads x from, if x is element i of a line there.
func (r *rowBody) line(in *scope, i, x kernel.Ref) ir.Memory {
	for _, st := range in.block.Stmts {
		l, ok := st.(*kernel.Load)
		if !ok || l.ID != x {
			continue
		}
		line := &kernel.Line{Param: l.Param, At: kernel.Access{Offset: l.At.Offset}}
		steps := false
		for _, t := range l.At.Terms {
			switch {
			case t.Var != i:
				line.At.Terms = append(line.At.Terms, t)
			case t.Coef.IsConst(1):
				steps = true
			default:
				return ir.NoMemory
			}
		}
		if steps {
			r.memory = append(r.memory, &rowMemory{operand: line})
			return ir.Memory(len(r.memory) - 1)
		}
	}
	return ir.NoMemory
}

// Transform implements ir.RowPull.
func (r *rowBody) Transform(t ir.Transform) kernel.Ref {
	st := &kernel.Transform{Size: t.Size, Inverse: t.Inverse, P: t.P, Scale: t.Scale}
	reads := []kernel.Ref{t.P, t.Scale}
	at := func(m ir.Memory) kernel.Line { return r.lineAt(m, r.E().Int(types.I64, 0), &reads) }
	st.Data, st.Source, st.Table = at(t.Data), at(t.Source), at(t.Table)
	if t.Times != ir.NoMemory {
		times := at(t.Times)
		st.Times = &times
	}
	st.Spare = at(r.nearUpTo(spareBytes, types.I64, types.Lit(t.Size/2))) // one row after the other uses the same
	st.ID = r.define(types.Bool, r.top())
	r.add(r.top(), st, reads...)
	return st.ID
}

// Sort implements ir.RowPull.
func (r *rowBody) Sort(data, source, spare ir.Memory, from kernel.Ref, n types.Dim, ranks ...ir.Ranks) {
	r.sort(&kernel.Sort{Size: n}, data, source, spare, from, ranks)
}

// SortPositions implements ir.RowPull.
func (r *rowBody) SortPositions(data, source, spare ir.Memory, from kernel.Ref, n types.Dim, ranks ...ir.Ranks) {
	r.sort(&kernel.Sort{Size: n, Positions: true}, data, source, spare, from, ranks)
}

func (r *rowBody) sort(st *kernel.Sort, data, source, spare ir.Memory, from kernel.Ref, ranks []ir.Ranks) {
	var reads []kernel.Ref
	for _, some := range ranks {
		end := r.E().Add(some.First, r.Extent(some.Size))
		st.Ranks = append(st.Ranks, kernel.Ranks{First: some.First, End: end})
		reads = append(reads, some.First, end)
	}
	first := r.E().Int(types.I64, 0)
	st.Data, st.Source = r.lineAt(data, first, &reads), r.lineAt(source, first, &reads)
	st.Spare = r.lineAt(spare, from, &reads)
	r.add(r.top(), st, reads...)
}

// lineAt is a row's memory from element i on, or a line of an operand; what its address is made of is added to reads.
func (r *rowBody) lineAt(m ir.Memory, i kernel.Ref, reads *[]kernel.Ref) (to kernel.Line) {
	if line := r.memory[m].operand; line != nil {
		to = kernel.Line{Param: line.Param, At: kernel.Access{Offset: line.At.Offset,
			Terms: slices.Clone(line.At.Terms)}}
	} else {
		w, acc, _ := r.address(m, i)
		to = kernel.Line{Param: r.paramOfRow(w), At: acc}
		r.params[to.Param].Work = true
	}
	for _, term := range to.At.Terms {
		*reads = append(*reads, term.Var)
	}
	return to
}

// here ends a compound statement that reads refs in the innermost scope.
func (r *rowBody) here(refs []kernel.Ref, closed *scope) *scope {
	return r.body.closeAt(len(r.stack)-1, refs, closed)
}
