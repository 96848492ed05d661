package llvm

import (
	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/value"

	"healc/ir/kernel"
)

// nest is where in the loops of a kernel the code that is being written stands.
type nest struct {
	outer   int64     // extent of the outermost axis, 0 when it is not known
	split   bool      // the vectorised range is a part of the outermost axis
	tiled   bool      // the loops go by tiles that fetch for themselves
	grouped *rowGroup // whose rows are being generated, see Note [Rows together]
}

// kernelLoops writes the loops over the parallel axes; the outermost runs from begin to end.
func (g *gen) kernelLoops(k *kernel.Kernel, begin, end value.Value) {
	if len(k.Axes) == 0 {
		g.block(k.Body)
		return
	}
	before, body := invariant(k)
	if readsOrChecks(before) { // only where there are iterations
		g.leaveUnless(g.cur.NewICmp(enum.IPredSLT, begin, end))
	}
	g.block(&kernel.Block{Stmts: before})
	var group *rowGroup
	var level func(i int)
	level = func(i int) {
		a := k.Axes[i]
		lo, hi := value.Value(ci(i64, a.Begin)), value.Value(nil)
		if i == 0 {
			lo, hi = begin, end
			if n, known := a.Extent.Dim.Const(); known {
				state[nest](g).outer = (n + max(a.Extent.Div, 1) - 1) / max(a.Extent.Div, 1)
			}
		} else {
			hi = g.extent(a.Extent)
		}
		run := func(lo, hi value.Value) {
			if i == len(k.Axes)-1 {
				g.parallel(a.Var, lo, hi, i == 0, body)
				return
			}
			g.count(lo, hi, 1, nil, func(v value.Value, _ []value.Value) []value.Value {
				g.env[a.Var] = val{v: v}
				level(i + 1)
				return nil
			})
		}
		if group != nil && group.row == i {
			g.groupLoop(group, a.Var, lo, hi, run)
			return
		}
		run(lo, hi)
	}
	known := map[kernel.Ref]bool{}
	for _, s := range before {
		define(known, s)
	}
	g.ways(body, known, func(way *kernel.Block) {
		body, group = way, g.rowGroupOf(k, way)
		level(0)
	})
}

// parallel runs body for independent iterations of v in [lo, hi): in vectors where they fit, else one
// by one. split says that the range is a part that the runtime chose, so that its length is not known.
func (g *gen) parallel(v kernel.Ref, lo, hi value.Value, split bool, body *kernel.Block) {
	if all := g.pieces(v, lo, hi, body); all != nil {
		for _, p := range all {
			g.parallel(v, p.lo, p.hi, split, p.body)
		}
		return
	}
	here := state[nest](g)
	here.split = split
	one := func(x value.Value, _ []value.Value) []value.Value {
		g.env[v] = val{v: x}
		g.block(body)
		return nil
	}
	narrow := false
	for _, f := range g.forms.Parallel {
		if rest, ok := f.Write(g, v, lo, hi, body); ok {
			lo, split, narrow = rest, true, true
		}
	}
	w := g.vectorWidth(v, body)
	if narrow {
		w = min(w, 16)
	}
	if w == 0 {
		for _, f := range g.forms.Scalar {
			if rest, ok := f.Write(g, v, lo, hi, body); ok {
				lo = rest
			}
		}
		g.count(lo, hi, 1, nil, one)
		return
	}
	for split && here.outer > 0 && int64(w) > here.outer && w > 4 {
		w /= 2
	}
	first, fixed := constantInt(lo)
	if n, known := constantInt(hi); known && fixed && !split {
		n -= first
		for ; int64(w) > n && w > 4; w /= 2 {
		}
		if n >= int64(w) {
			g.vectorLoop(v, lo, hi, w, body)
		} else {
			g.count(lo, hi, 1, nil, one)
		}
		return
	}
	g.either(g.cur.NewICmp(enum.IPredSGE, g.cur.NewSub(hi, lo), ci(i64, int64(w))),
		func() { g.vectorLoop(v, lo, hi, w, body) }, func() { g.short(v, lo, hi, w, body) })
}

// vectorWidth is the number of iterations of v that one vector holds, 0 when body is not vectorised over it.
func (g *gen) vectorWidth(v kernel.Ref, body *kernel.Block) int {
	if g.w != 0 || g.machine.Narrow {
		return 0
	}
	a := &analysis{types: g.types, wide: map[kernel.Ref]bool{v: true}}
	sh, ok := a.block(body)
	if !ok || sh.long || !a.stridedWork(g.params, v, body) || innerIsBetter(g.types, v, body) {
		return 0
	}
	here := state[nest](g)
	if here.grouped != nil {
		return here.grouped.width
	}
	if here.tiled {
		return max(min(sh.width(), lineBytes/max(sh.maxBytes, 1)), 4)
	}
	w := sh.width()
	for _, f := range g.forms.Sequential {
		if n := f.Width(g, v, body); n > 0 {
			return n
		}
	}
	switch {
	case sh.loops:
	case g.machine.VectorBits <= 128:
		w /= 2 // two or four registers, of 16 on most
	case sh.pairs(g.machine.VectorBits):
		w *= 2
	}
	return w
}

// vectorLoop runs at least w iterations as vectors of w. The last vector ends at hi and may repeat some
// of the one before it: iterations are independent and never read what the kernel writes.
func (g *gen) vectorLoop(v kernel.Ref, lo, hi value.Value, w int, body *kernel.Block) {
	if g.inPlace() {
		g.vectorsAndRest(v, lo, hi, w, body)
		return
	}
	if stores := g.streams(v, body); len(stores) > 0 && !g.shorter(lo, hi, g.leastStreamed()*w) {
		g.streamLoop(v, lo, hi, w, stores, body)
		return
	}
	last := g.plus(hi, ci(i64, int64(-w)))
	n, known := constantInt(hi)
	if m, fromZero := constantInt(lo); known && fromZero && (n-m)%int64(w) == 0 {
		last = nil
	}
	g.w = w
	f := state[prefetching](g)
	if state[nest](g).grouped == nil {
		f.fetched = g.fetches(v, body, true)
	}
	g.vectors(v, lo, hi, last, w, body)
	g.w, f.fetched = 0, nil
}

// shorter reports that [lo, hi) is known to have fewer than n elements.
func (g *gen) shorter(lo, hi value.Value, n int) bool {
	a, ok1 := constantInt(lo)
	b, ok2 := constantInt(hi)
	return ok1 && ok2 && b-a < int64(n)
}

// inPlace reports that the kernel reads an output: an iteration that is repeated would read what it wrote.
func (g *gen) inPlace() bool {
	for _, p := range g.params {
		if p.InPlace || p.Work {
			return true
		}
	}
	return false
}

// vectorsAndRest is vectorLoop for kernels that work in place: no iteration runs twice.
func (g *gen) vectorsAndRest(v kernel.Ref, lo, hi value.Value, w int, body *kernel.Block) {
	size := g.cur.NewSub(hi, lo)
	end := g.cur.NewSub(hi, g.cur.NewSRem(size, ci(i64, int64(w))))
	g.w = w
	f := state[prefetching](g)
	if state[nest](g).grouped == nil {
		f.fetched = g.fetches(v, body, false)
	}
	g.vectors(v, lo, end, nil, w, body)
	g.w, f.fetched = 0, nil
	g.short(v, end, hi, w, body)
}

// registerLoops registers loops and branches.
func registerLoops(r Registry) {
	register(r, (*gen).loop)
	register(r, (*gen).cond)
}

func (g *gen) loop(s *kernel.Loop) {
	lo, hi := value.Value(ci(i64, s.Axis.Begin)), g.extent(s.Axis.Extent)
	if s.Parallel {
		f := state[prefetching](g)
		if rows := f.gathered[s]; rows != nil && g.w == 0 {
			f.asked = g.askRows(rows)
		}
		g.parallel(s.Axis.Var, lo, hi, false, s.Body)
		f.asked = nil
		return
	}
	init := make([]value.Value, len(s.Init))
	for i, r := range s.Init {
		init[i] = g.spread(g.env[r])
	}
	step := func(x value.Value, state []value.Value) []value.Value {
		g.env[s.Axis.Var] = val{v: x}
		for i, r := range s.Vars {
			g.set(r, state[i], g.w != 0)
		}
		g.block(s.Body)
		next := make([]value.Value, len(s.Next))
		for i, r := range s.Next {
			next[i] = g.spread(g.env[r])
		}
		return next
	}
	var out []value.Value
	written := false
	for _, f := range g.forms.Sequential {
		if out, written = f.Write(g, s, init, lo, hi, step); written {
			break
		}
	}
	if !written {
		out = g.count(lo, hi, 1, init, step)
	}
	for i, r := range s.IDs {
		g.set(r, out[i], g.w != 0)
	}
}

// rareArm computes the second arm, and the first one for all iterations of a vector if one of them takes it.
func (g *gen) rareArm(s *kernel.If, c value.Value) {
	g.block(s.Else)
	one := &usual{of: map[kernel.Ref]*rareTest{}}
	one.note(g, s.Cond, c)
	some := one.any(g)
	usual := make([]value.Value, len(s.IDs))
	for i, r := range s.ElseVals {
		usual[i] = g.spread(g.env[r])
	}
	out := g.when(some, usual, func() []value.Value {
		g.block(s.Then)
		chosen := make([]value.Value, len(s.IDs))
		for i, r := range s.ThenVals {
			chosen[i] = g.cur.NewSelect(c, g.spread(g.env[r]), usual[i])
		}
		return chosen
	})
	for i, id := range s.IDs {
		g.set(id, out[i], true)
	}
}

// cond translates an If. Where the condition differs between the iterations of the vectorised axis both
// arms are pure and are computed.
func (g *gen) cond(s *kernel.If) {
	c := g.env[s.Cond]
	if arm, vals, known := g.taken(s); known {
		g.block(arm)
		for i, id := range s.IDs {
			g.env[id] = g.env[vals[i]]
		}
		return
	}
	of, agreed := state[collapse](g).agreed[s.Cond]
	if c.wide && !agreed && g.puts(s, c.v) {
		return
	}
	// In the arms of a branch nothing is put off: what asks for it stands behind the branch.
	put := state[speculation](g)
	off := put.block
	put.block = nil
	defer func() { put.block = off }()
	if agreed && c.wide {
		g.agreedArms(s, c.v, of)
		return
	}
	if c.wide && len(s.Then.Stmts) >= kernel.RareArm {
		g.rareArm(s, c.v)
		return
	}
	if c.wide {
		g.block(s.Then)
		g.block(s.Else)
		for i, id := range s.IDs {
			g.set(id, g.cur.NewSelect(c.v, g.spread(g.env[s.ThenVals[i]]), g.spread(g.env[s.ElseVals[i]])), true)
		}
		return
	}
	yes, no, join := g.newBlock(), g.newBlock(), g.newBlock()
	g.cur.NewCondBr(c.v, yes, no)
	arm := func(blk *lir.Block, b *kernel.Block, vals []kernel.Ref) ([]val, *lir.Block) {
		g.cur = blk
		g.block(b)
		out := make([]val, len(vals))
		for i, r := range vals {
			out[i] = g.env[r]
		}
		return out, g.cur
	}
	a, aEnd := arm(yes, s.Then, s.ThenVals)
	b, bEnd := arm(no, s.Else, s.ElseVals)
	wide := make([]bool, len(s.IDs))
	values := func(end *lir.Block, vs []val) []value.Value {
		g.cur = end
		out := make([]value.Value, len(vs))
		for i, v := range vs {
			wide[i] = a[i].wide || a[i].iota || b[i].wide || b[i].iota
			if wide[i] {
				out[i] = g.spread(v)
			} else {
				out[i] = v.v
			}
		}
		g.cur.NewBr(join)
		return out
	}
	av, bv := values(aEnd, a), values(bEnd, b)
	g.cur = join
	for i, id := range s.IDs {
		g.set(id, join.NewPhi(lir.NewIncoming(av[i], aEnd), lir.NewIncoming(bv[i], bEnd)), wide[i])
	}
}
