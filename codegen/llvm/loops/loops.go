package loops

import (
	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/ir/kernel/transform"
)

// Nest is where in the loops of a kernel the code that is being written stands.
type Nest struct {
	split  bool // the vectorised range is a part of the outermost axis
	Tiled  bool // the loops go by tiles that fetch for themselves
	jammed bool // rows go side by side

	windows map[kernel.Ref]window // of loops that the schedule narrows
}

// KernelLoops writes the loops over the parallel axes; the outermost runs from begin to end.
func KernelLoops(g *emit.Func, k *kernel.Kernel, begin, end value.Value) {
	if len(k.Axes) == 0 {
		g.Block(k.Body)
		return
	}
	emit.State[Prefetching](g).Ahead = NextRows(g, k)
	before, body := transform.HoistInvariants(k)
	if analysis.ReadsOrChecks(before) { // only where there are iterations
		g.ReturnUnless(g.Cur.NewICmp(enum.IPredSLT, begin, end))
	}
	g.Block(&kernel.Block{Stmts: before})
	ranges := make([][2]value.Value, len(k.Axes))
	narrow := windows(g, k, before, body)
	emit.State[Nest](g).windows = narrow
	for i, a := range k.Axes {
		lo, hi := begin, end
		if i > 0 {
			lo, hi = build.Int(build.I64, a.Begin), g.Extent(a.Extent)
		}
		ranges[i][0], ranges[i][1] = narrowed(g, narrow[a.Var], lo, hi)
	}
	var group *jammedRows
	var level func(i int)
	level = func(i int) {
		a := k.Axes[i]
		lo, hi := ranges[i][0], ranges[i][1]
		run := func(lo, hi value.Value) {
			if i == len(k.Axes)-1 {
				Parallel(g, a.Var, lo, hi, i == 0, body)
				return
			}
			g.For(lo, hi, 1, nil, func(v value.Value, _ []value.Value) []value.Value {
				g.Env[a.Var] = emit.Val{V: v}
				level(i + 1)
				return nil
			})
		}
		if group != nil && group.Row == i {
			along := [2]value.Value{build.Int(build.I64, group.Axis.Begin), g.Extent(group.Axis.Extent)}
			if i+1 < len(k.Axes) {
				along = ranges[i+1]
			}
			jammedLoop(g, group, a.Var, lo, hi, along, run)
			return
		}
		run(lo, hi)
	}
	write := func() {
		unswitch(g, body, func(way *kernel.Block) {
			body, group = way, jammedRowsOf(g, k, way)
			level(0)
		})
	}
	for _, a := range k.Axes {
		if w, inside := narrow[a.Var], write; len(w.decided) > 0 {
			write = func() { inWindow(g, w, inside) }
		}
	}
	write()
}

// Parallel runs body for independent iterations of v in [lo, hi): in vectors where the schedule says so, else one by
// one. split says that the range is a part that the runtime chose, so that its length is not known.
func Parallel(g *emit.Func, v kernel.Ref, lo, hi value.Value, split bool, body *kernel.Block) {
	if d := g.Schedule.Find("split", v); d != nil && g.Width == 0 {
		for i, p := range splitIndexSet(g, d, lo, hi, body) {
			g.Within(d.Sub[i], func() { Parallel(g, v, p.lo, p.hi, split, p.body) })
		}
		return
	}
	emit.State[Nest](g).split = split
	one := func(x value.Value, _ []value.Value) []value.Value {
		g.Env[v] = emit.Val{V: x}
		g.Block(body)
		return nil
	}
	for _, f := range g.Forms.Parallel {
		if rest, ok := f.Write(g, v, lo, hi, body); ok {
			lo, split = rest, true
		}
	}
	d := g.Schedule.Find("vector", v)
	if d == nil || g.Width != 0 {
		for _, f := range g.Forms.Scalar {
			if rest, ok := f.Write(g, v, lo, hi, body); ok {
				lo = rest
			}
		}
		g.For(lo, hi, 1, nil, one)
		return
	}
	w := int(d.Get("width"))
	g.Within(d, func() {
		first, fixed := build.ConstantInt(lo)
		if n, known := build.ConstantInt(hi); known && fixed && !split {
			if n-first >= int64(w) {
				vectorLoop(g, v, lo, hi, w, body)
			} else {
				g.For(lo, hi, 1, nil, one)
			}
			return
		}
		g.Branch(g.Cur.NewICmp(enum.IPredSGE, g.Cur.NewSub(hi, lo), build.Int(build.I64, int64(w))),
			func() { vectorLoop(g, v, lo, hi, w, body) }, func() { shortRange(g, v, lo, hi, w, body) })
	})
}

// vectorLoop runs at least w iterations as vectors of w. The last vector ends at hi and may repeat some
// of the one before it: iterations are independent and never read what the kernel writes.
func vectorLoop(g *emit.Func, v kernel.Ref, lo, hi value.Value, w int, body *kernel.Block) {
	if g.InPlace() {
		vectorsAndRest(g, v, lo, hi, w, body)
		return
	}
	if stores := streamedStores(g, v, body); len(stores) > 0 {
		streamLoop(g, v, lo, hi, w, stores, body)
		return
	}
	last := g.Add(hi, build.Int(build.I64, int64(-w)))
	n, known := build.ConstantInt(hi)
	if m, fromZero := build.ConstantInt(lo); known && fromZero && (n-m)%int64(w) == 0 {
		last = nil
	}
	f := emit.State[Prefetching](g)
	f.fetched = prefetchedLoads(g, body)
	g.InVectors(w, func() { vectors(g, v, lo, hi, last, w, body) })
	f.fetched = nil
}

// vectorsAndRest is vectorLoop for kernels that work in place: no iteration runs twice.
func vectorsAndRest(g *emit.Func, v kernel.Ref, lo, hi value.Value, w int, body *kernel.Block) {
	size := g.Cur.NewSub(hi, lo)
	end := g.Cur.NewSub(hi, g.Cur.NewSRem(size, build.Int(build.I64, int64(w))))
	f := emit.State[Prefetching](g)
	f.fetched = prefetchedLoads(g, body)
	g.InVectors(w, func() { vectors(g, v, lo, end, nil, w, body) })
	f.fetched = nil
	shortRange(g, v, end, hi, w, body)
}

// RegisterLoops registers loops and branches.
func RegisterLoops(r emit.Registry) {
	emit.Register(r, loop)
	emit.Register(r, cond)
}

func loop(g *emit.Func, s *kernel.Loop) {
	lo, hi := value.Value(build.Int(build.I64, s.Axis.Begin)), g.Extent(s.Axis.Extent)
	if s.Parallel {
		f := emit.State[Prefetching](g)
		if rows := f.Gathered[s]; rows != nil && g.Width == 0 {
			f.asked = prefetchRows(g, rows)
		}
		if w, ok := emit.State[Nest](g).windows[s.Axis.Var]; ok && g.Width == 0 {
			lo, hi = narrowed(g, w, lo, hi)
			inWindow(g, w, func() { Parallel(g, s.Axis.Var, lo, hi, false, s.Body) })
		} else {
			Parallel(g, s.Axis.Var, lo, hi, false, s.Body)
		}
		f.asked = nil
		return
	}
	init := make([]value.Value, len(s.Init))
	for i, r := range s.Init {
		init[i] = g.Spread(g.Env[r])
	}
	step := func(x value.Value, state []value.Value) []value.Value {
		g.Env[s.Axis.Var] = emit.Val{V: x}
		for i, r := range s.Vars {
			g.Set(r, state[i], g.Width != 0)
		}
		g.Block(s.Body)
		next := make([]value.Value, len(s.Next))
		for i, r := range s.Next {
			next[i] = g.Spread(g.Env[r])
		}
		return next
	}
	var out []value.Value
	written := false
	for _, f := range g.Forms.Sequential {
		if out, written = f.Write(g, s, init, lo, hi, step); written {
			break
		}
	}
	if !written {
		out = g.For(lo, hi, 1, init, step)
	}
	for i, r := range s.IDs {
		g.Set(r, out[i], g.Width != 0)
	}
}

// arm writes an arm of s: the one of those iterations of a vector for which c is then, or of all where c is nil.
func arm(g *emit.Func, s *kernel.If, then bool, c value.Value) {
	b := s.Else
	if then {
		b = s.Then
	}
	g.InArm(s.Choices, then, c, func() { g.Block(b) })
}

// rareArm computes the second arm, and the first one for all iterations of a vector if one of them takes it.
func rareArm(g *emit.Func, s *kernel.If, c value.Value) {
	arm(g, s, false, c)
	one := &HotPath{Of: map[kernel.Ref]*Guard{}}
	one.note(g, s.Cond, c)
	some := one.any(g)
	likely := make([]value.Value, len(s.IDs))
	for i, r := range s.ElseVals {
		likely[i] = g.Spread(g.Env[r])
	}
	out := g.If(some, likely, func() []value.Value {
		arm(g, s, true, c)
		chosen := make([]value.Value, len(s.IDs))
		for i, r := range s.ThenVals {
			chosen[i] = g.Cur.NewSelect(c, g.Spread(g.Env[r]), likely[i])
		}
		return chosen
	})
	for i, id := range s.IDs {
		g.Set(id, out[i], true)
	}
}

// cond translates an If. Where the condition differs between the iterations of the vectorised axis both
// arms are pure and are computed.
func cond(g *emit.Func, s *kernel.If) {
	c := g.Env[s.Cond]
	if taken, vals, known := g.Taken(s); known {
		arm(g, s, taken, nil)
		for i, id := range s.IDs {
			g.Env[id] = g.Env[vals[i]]
		}
		return
	}
	of, agreed := emit.State[collapse](g).agreed[s.Cond]
	if c.Wide && !agreed && deferRareArm(g, s, c.V) {
		return
	}
	// In the arms of a branch nothing is put off, because the question would stand behind the branch.
	put := emit.State[Speculation](g)
	off := put.Path
	put.Path = nil
	defer func() { put.Path = off }()
	if agreed && c.Wide {
		agreedArms(g, s, c.V, of)
		return
	}
	if c.Wide && len(s.Then.Stmts) >= kernel.RareArm {
		rareArm(g, s, c.V)
		return
	}
	if c.Wide {
		arm(g, s, true, c.V)
		arm(g, s, false, c.V)
		for i, id := range s.IDs {
			g.Set(id, g.Cur.NewSelect(c.V, g.Spread(g.Env[s.ThenVals[i]]), g.Spread(g.Env[s.ElseVals[i]])), true)
		}
		return
	}
	yes, no, join := g.NewBlock(), g.NewBlock(), g.NewBlock()
	g.Cur.NewCondBr(c.V, yes, no)
	in := func(blk *lir.Block, then bool, vals []kernel.Ref) ([]emit.Val, *lir.Block) {
		g.Cur = blk
		arm(g, s, then, nil)
		out := make([]emit.Val, len(vals))
		for i, r := range vals {
			out[i] = g.Env[r]
		}
		return out, g.Cur
	}
	a, aEnd := in(yes, true, s.ThenVals)
	b, bEnd := in(no, false, s.ElseVals)
	wide := make([]bool, len(s.IDs))
	values := func(end *lir.Block, vs []emit.Val) []value.Value {
		g.Cur = end
		out := make([]value.Value, len(vs))
		for i, v := range vs {
			wide[i] = a[i].Wide || a[i].Iota || b[i].Wide || b[i].Iota
			if wide[i] {
				out[i] = g.Spread(v)
			} else {
				out[i] = v.V
			}
		}
		g.Cur.NewBr(join)
		return out
	}
	av, bv := values(aEnd, a), values(bEnd, b)
	g.Cur = join
	for i, id := range s.IDs {
		g.Set(id, join.NewPhi(lir.NewIncoming(av[i], aEnd), lir.NewIncoming(bv[i], bEnd)), wide[i])
	}
}
