package llvm

import (
	"fmt"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/value"

	"healc/ir/kernel"
)

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
	var nest func(i int)
	nest = func(i int) {
		a := k.Axes[i]
		lo, hi := value.Value(ci(i64, a.Begin)), value.Value(nil)
		if i == 0 {
			lo, hi = begin, end
			if n, known := a.Extent.Dim.Const(); known {
				g.outer = (n + max(a.Extent.Div, 1) - 1) / max(a.Extent.Div, 1)
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
				nest(i + 1)
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
		nest(0)
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
	g.split = split
	one := func(x value.Value, _ []value.Value) []value.Value {
		g.env[v] = val{v: x}
		g.block(body)
		return nil
	}
	narrow := false
	// a mask takes the few columns that are no vector of a strip
	if c := g.columnStrip(v, body); c != nil && (!g.shorter(lo, hi, c.w) || g.machine.masks()) {
		// All in strips, but for fewer than a vector, and what is no whole one of a kernel that works in place.
		n := value.Value(g.cur.NewSub(hi, lo))
		some := value.Value(g.cur.NewICmp(enum.IPredSGE, n, ci(i64, int64(c.w))))
		if g.inPlace() {
			n = g.whole(n, int64(c.w))
		}
		if fits := c.fits(); fits != nil {
			some = g.cur.NewAnd(fits, some)
		}
		stop := g.cur.NewAdd(lo, g.cur.NewSelect(some, n, ci(i64, 0)))
		c.run(lo, stop)
		lo, split, narrow = stop, true, true
	}
	w := g.vectorWidth(v, body)
	if narrow {
		w = min(w, 16)
	}
	if w == 0 {
		if c := g.rowSumsOf(v, body); c != nil {
			stop := g.plus(lo, g.whole(g.minus(hi, lo), int64(c.w)))
			c.run(lo, stop)
			lo = stop
		}
		g.count(lo, hi, 1, nil, one)
		return
	}
	for split && g.outer > 0 && int64(w) > g.outer && w > 4 {
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
	if !ok || sh.long || !a.stridedWork(g.params, v, body) || g.innerIsBetter(v, body) {
		return 0
	}
	if g.grouped != nil {
		return g.grouped.width
	}
	if g.tiled {
		return max(min(sh.width(), lineBytes/max(sh.maxBytes, 1)), 4)
	}
	w := sh.width()
	if n := g.turnedWidth(v, body); n > 0 {
		return n
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
	if g.grouped == nil {
		g.fetched = g.fetches(v, body, true)
	}
	g.vectors(v, lo, hi, last, w, body)
	g.w, g.fetched = 0, nil
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
	if g.grouped == nil {
		g.fetched = g.fetches(v, body, false)
	}
	g.vectors(v, lo, end, nil, w, body)
	g.w, g.fetched = 0, nil
	g.short(v, end, hi, w, body)
}

// block translates statements in order.
func (g *gen) block(b *kernel.Block) {
	done := map[kernel.Stmt]bool{}
	if g.lined != nil {
		defer func(outer spot) {
			g.stamp()
			g.lined.now = outer
		}(g.lined.now)
	}
	for i, s := range b.Stmts {
		if g.lined != nil {
			g.atStatement(s)
		}
		if done[s] || g.statement != nil && g.statement(s) {
			continue
		}
		switch s := s.(type) {
		case *kernel.Let:
			g.let(s)
		case *kernel.DimValue:
			g.set(s.ID, g.dim(s.Dim), false)
		case *kernel.Load:
			g.load(s)
		case *kernel.Store:
			g.store(s)
		case *kernel.Loop:
			g.loop(s)
		case *kernel.Iterate:
			g.iterate(s)
		case *kernel.Reduce:
			for _, r := range g.joint(s, b.Stmts[i+1:]) {
				done[r] = true
			}
		case *kernel.If:
			g.cond(s)
		case *kernel.Call:
			g.scalarCall(s)
		case *kernel.Transform:
			g.transform(s)
		default:
			panic(fmt.Sprintf("BUG: no translation of %T", s))
		}
	}
}

func (g *gen) loop(s *kernel.Loop) {
	lo, hi := value.Value(ci(i64, s.Axis.Begin)), g.extent(s.Axis.Extent)
	if s.Parallel {
		if rows := g.gathered[s]; rows != nil && g.w == 0 {
			g.asked = g.askRows(rows)
		}
		g.parallel(s.Axis.Var, lo, hi, false, s.Body)
		g.asked = nil
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
	if t := g.turnedStepsOf(s, func(r kernel.Ref) bool { return g.env[r].iota }); t != nil {
		out = t.run(g, init, lo, hi, step)
	} else {
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
	of, agreed := g.agreed[s.Cond]
	if c.wide && !agreed && g.puts(s, c.v) {
		return
	}
	// In the arms of a branch nothing is put off: what asks for it stands behind the branch.
	off := g.usual
	g.usual = nil
	defer func() { g.usual = off }()
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
