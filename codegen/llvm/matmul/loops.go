package matmul

import (
	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/codegen/llvm/loops"
	"healc/codegen/schedule"
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
)

// Note [Matrix products]
//
// A matrix product reaches the generator as its definition, a loop over k in two parallel axes:
//
//	over %i in 0..M, %j in 0..N
//	  %c = loop %k in 0..K carry %acc = 0 { next fma(x(%i, %k), y(%k, %j), %acc) }
//	  ... the epilogue, which stores
//
// where x and y are any element-wise programs of their operands (the prologue: a cast, a scale, a transposed
// read) and the epilogue any of the result. Such a kernel says that it is one (Note [Contracts] in ir/kernel), and is
// scheduled anew:
//
//	for each block of columns, for some rows              (threads share these out, see Note [Units of products])
//	  for each piece of k                                 (sums wait in the result between pieces; see Apart)
//	    copy the block of y into panels on the stack      (stays in the second-level cache)
//	    for each tile of rows
//	      copy the rows of x to the stack                 (stays in the first-level cache)
//	      for each panel: the tile in registers
//
// Every element is still one chain over k ascending from 0, so the bits are those of the plain loop. Copies are made
// only where reading in place would be slower, see Matmul in
// package schedule.
//
// Package analysis says what follows from the loops of a product, and package schedule decides. Here loops.go has the
// loops, pack.go the copies, widening.go narrow integers, interleave.go the order of products, tile.go the tile in
// registers, store.go the epilogue, guard.go the tiles that are left out, prefetch.go what is asked for ahead, gemv.go
// a matrix times a vector.

// writer writes the code of a contraction.
type writer struct {
	*emit.Func
	*schedule.MatmulPlan
	xs, ys  value.Value // copies of x and y; xs the sums when y is streamed
	tileMem value.Value // of the epilogue
	waiting value.Value // unfinished sums of a chunk of rows, block by block, when these wait apart
	// Rows of a tile that there are, when they are not known; nil for all.
	rowsThere value.Value
	config    value.Value // how the tile registers are configured (Note [Tile registers])
	leasts    value.Value // of each panel, and whether sums may be subnormal (Note [Tiny bf16])
	leastY    value.Value // vectors of which leasts are made: one of each panel
	begins    value.Value // what the sums of each column begin with (Note [Fours of bytes])
	guards    []analysis.Guard
}

// Write writes the units [begin, end) of a contraction.
func Write(g *emit.Func, c *schedule.MatmulPlan, begin, end value.Value) {
	if c.AMX {
		release := func() { g.Cur.NewCall(g.Intrinsic("llvm.x86.tilerelease", lt.Void)) }
		fail := g.Fail
		g.Fail = func() {
			release()
			fail()
		}
		defer release()
	}
	switch {
	case c.Free:
		writeFree(g, c, begin, end)
	case c.Planned:
		writeUnits(g, c, begin, end)
	default: // a part of units may be none of the axis
		n, _ := c.Kernel.Axes[0].Extent.Dim.Const()
		scale := func(x value.Value) value.Value {
			if c.Units() == n {
				return x
			}
			return g.Cur.NewSDiv(g.Cur.NewMul(x, build.Int(build.I64, n)), build.Int(build.I64, c.Units()))
		}
		loops.KernelLoops(g, c.Kernel, scale(begin), scale(end))
	}
}

// newWriter reserves the memory of the copies.
func newWriter(g *emit.Func, c *schedule.MatmulPlan) *writer {
	cg := &writer{Func: g, MatmulPlan: c, guards: c.Guards()}
	reg := build.RegisterType(c.Acc)
	if c.ByRows {
		cg.xs = g.Stack(reg, int(c.BlockCols))
	}
	if c.PackX {
		cg.xs = g.Stack(reg, int(c.CopyXElements()))
	}
	if c.PackY {
		cg.ys = g.Stack(reg, int(c.CopyYElements()))
	}
	if c.Halves() {
		cg.leasts = g.Stack(build.I32, int(c.BlockCols/c.Panel)+1)
		cg.leastY = g.Stack(build.I32, int(c.BlockCols/c.Panel)*c.VecWidth)
	}
	if c.Moved() {
		cg.begins = g.Stack(reg, int(c.BlockCols))
	}
	if c.Apart {
		cg.waiting = g.Stack(reg, int(c.Chunk*c.BlockCols))
	}
	return cg
}

// writeFree writes the part [begin, end) of the outermost axis of a contraction of any shape.
func writeFree(g *emit.Func, c *schedule.MatmulPlan, begin, end value.Value) {
	cg := newWriter(g, c)
	if c.Size.M == 1 {
		cg.vectorFree(begin, end)
		return
	}
	var nest func(i int)
	nest = func(i int) {
		lo, hi := value.Value(build.Int(build.I64, 0)), value.Value(nil)
		if i == 0 {
			lo, hi = begin, end
		} else {
			hi = g.Extent(c.Kernel.Axes[i].Extent)
		}
		if i < len(c.Batches) {
			g.For(lo, hi, 1, nil, func(x value.Value, _ []value.Value) []value.Value {
				g.Env[c.Batches[i].Var] = emit.Val{V: x}
				nest(i + 1)
				return nil
			})
			return
		}
		n := g.Extent(c.Col.Extent)
		g.For(build.Int(build.I64, 0), n, c.BlockCols, nil, func(at value.Value, _ []value.Value) []value.Value {
			cg.prologue(0)
			left := cg.Min(g.Cur.NewSub(n, at), build.Int(build.I64, c.BlockCols))
			p := panels{at: at, whole: g.Cur.NewSDiv(left, build.Int(build.I64, c.Panel)), edge: c.Panel}
			p.some = g.Cur.NewSub(left, g.Cur.NewMul(p.whole, build.Int(build.I64, c.Panel)))
			p.isLast = g.Cur.NewICmp(enum.IPredSGT, p.some, build.Int(build.I64, 0))
			cg.rowsAndPieces(p, lo, hi)
			return nil
		})
	}
	nest(0)
}

// writeUnits writes the units [begin, end), see Note [Units of products]: in each step those that are left of a part
// of the outer direction, or as many whole parts as there are.
func writeUnits(g *emit.Func, c *schedule.MatmulPlan, begin, end value.Value) {
	cg := newWriter(g, c)
	outer, inner, byRows := c.Grid()
	if outer*inner == 1 {
		g.For(begin, end, 1, nil, func(t value.Value, _ []value.Value) []value.Value {
			cg.matrix(t)
			w := cg.changed()
			cg.part(w.c0, w.c1, w.r0, w.r1)
			return nil
		})
		return
	}
	head, body, done := g.NewBlock(), g.NewBlock(), g.NewBlock()
	from := g.Cur
	from.NewBr(head)
	u := head.NewPhi(lir.NewIncoming(begin, from))
	head.NewCondBr(head.NewICmp(enum.IPredSLT, u, end), body, done)
	g.Cur = body
	rest := value.Value(u)
	if c.Matrices() > 1 {
		cg.matrix(g.Cur.NewSDiv(u, build.Int(build.I64, outer*inner)))
		rest = g.Cur.NewSRem(u, build.Int(build.I64, outer*inner))
	}
	left := g.Cur.NewSub(end, u)
	var next value.Value
	o0, o1 := rest, cg.Min(g.Cur.NewAdd(rest, left), build.Int(build.I64, outer))
	i0, i1 := value.Value(build.Int(build.I64, 0)), value.Value(build.Int(build.I64, inner))
	if next = g.Cur.NewSub(o1, o0); inner > 1 {
		n := build.Int(build.I64, inner)
		o0, i0 = g.Cur.NewSDiv(rest, n), g.Cur.NewSRem(rest, n)
		parts := cg.Min(g.Cur.NewSDiv(left, n), g.Cur.NewSub(build.Int(build.I64, outer), o0))
		some := cg.Min(g.Cur.NewSub(n, i0), left)
		whole := g.Cur.NewICmp(enum.IPredEQ, some, n)
		o1 = g.Cur.NewAdd(o0, g.Cur.NewSelect(whole, parts, build.Int(build.I64, 1)))
		i1 = g.Cur.NewAdd(i0, some)
		next = g.Cur.NewSelect(whole, g.Cur.NewMul(parts, n), some)
	}
	next = g.Cur.NewAdd(u, next)
	w := cg.changed()
	column := func(i value.Value, n int64) value.Value { return cg.boundary(i, n, w.c0, w.c1, c.Size.N, c.Granule()) }
	row := func(i value.Value, n int64) value.Value {
		return cg.boundary(i, n, w.r0, w.r1, c.Size.M, int64(c.Rows))
	}
	if byRows {
		cg.part(column(i0, inner), column(i1, inner), row(o0, outer), row(o1, outer))
	} else {
		cg.part(column(o0, outer), column(o1, outer), row(i0, inner), row(i1, inner))
	}
	u.Incs = append(u.Incs, lir.NewIncoming(next, g.Cur))
	g.Cur.NewBr(head)
	g.Cur = done
}

// boundary is where part i of n parts of [from, to) begins, whole units but for the last: of columns a panel, of rows a
// tile. It is all of the extent where that is known.
func (c *writer) boundary(i value.Value, n int64, from, to value.Value, extent, unit int64) value.Value {
	first, known := build.ConstantInt(from)
	if last, too := build.ConstantInt(to); !known || !too || first != 0 || last != extent {
		units := c.Cur.NewSDiv(c.Add(c.Sub(to, from), build.Int(build.I64, unit-1)), build.Int(build.I64, unit))
		at := c.Cur.NewSDiv(c.Mul(i, c.maxInt(units, build.Int(build.I64, 0))), build.Int(build.I64, n))
		return c.Min(c.Add(from, c.Mul(at, build.Int(build.I64, unit))), to)
	}
	units := (extent + unit - 1) / unit
	if x, ok := build.ConstantInt(i); ok {
		return build.Int(build.I64, min(x*units/n*unit, extent))
	}
	at := i
	if units != n {
		at = c.Cur.NewSDiv(c.Cur.NewMul(i, build.Int(build.I64, units)), build.Int(build.I64, n))
	}
	at = c.Cur.NewMul(at, build.Int(build.I64, unit))
	if extent%unit == 0 {
		return at
	}
	return c.Min(at, build.Int(build.I64, extent))
}

func (c *writer) maxInt(x, y value.Value) value.Value {
	return c.Cur.NewSelect(c.Cur.NewICmp(enum.IPredSGT, x, y), x, y)
}

// matrix binds the axes of the batch for matrix t, but for an axis within rows (eachPart).
func (c *writer) matrix(t value.Value) {
	last := len(c.Batches) - 1
	if c.PartAxis() != nil {
		last--
	}
	for i := last; i >= 0; i-- {
		e, _ := c.Batches[i].Extent.Dim.Const()
		c.Env[c.Batches[i].Var] = emit.Val{V: t}
		if i > 0 {
			c.Env[c.Batches[i].Var] = emit.Val{V: c.Cur.NewSRem(t, build.Int(build.I64, e))}
			t = c.Cur.NewSDiv(t, build.Int(build.I64, e))
		}
	}
}

// part computes columns [c0, c1) of rows [r0, r1), block by block. The columns begin at a panel, the rows at a tile. It
// may be none, when there are fewer panels or tiles than parts.
func (c *writer) part(c0, c1, r0, r1 value.Value) {
	var some value.Value
	for _, x := range [][2]value.Value{{c0, c1}, {r0, r1}} {
		_, known := build.ConstantInt(x[0])
		if _, too := build.ConstantInt(x[1]); known && too {
			continue
		}
		less := value.Value(c.Cur.NewICmp(enum.IPredSLT, x[0], x[1]))
		if some != nil {
			less = c.Cur.NewAnd(some, less)
		}
		some = less
	}
	c.When(some, func() {
		first, known := build.ConstantInt(c0)
		last, too := build.ConstantInt(c1)
		if known && too && last-first <= c.BlockCols {
			c.eachPart(func() { c.columnBlock(c0, build.Int(build.I64, last-first), r0, r1) })
			return
		}
		c.For(c0, c1, c.BlockCols, nil, func(at value.Value, _ []value.Value) []value.Value {
			n := c.Min(c.Cur.NewSub(c1, at), build.Int(build.I64, c.BlockCols))
			c.eachPart(func() { c.columnBlock(at, n, r0, r1) })
			return nil
		})
	})
}

// eachPart does f for each of the matrices that are parts of the same rows.
func (c *writer) eachPart(f func()) {
	a := c.PartAxis()
	if a == nil {
		f()
		return
	}
	c.For(build.Int(build.I64, 0), build.Int(build.I64, c.Parts()), 1, nil,
		func(part value.Value, _ []value.Value) []value.Value {
			c.Env[a.Var] = emit.Val{V: part}
			f()
			return nil
		})
}

// columnBlock computes rows [r0, r1) of n columns from column at on.
func (c *writer) columnBlock(at, n, r0, r1 value.Value) {
	c.prologue(0)
	if c.ByRows {
		c.stream(at, n)
		return
	}
	// Whole panels, and the one at the right edge that is not.
	p := panels{at: at, edge: c.Size.N % c.Panel}
	if cols, ok := build.ConstantInt(n); ok {
		p.whole = build.Int(build.I64, cols/c.Panel)
	} else {
		p.whole = c.Cur.NewSDiv(n, build.Int(build.I64, c.Panel))
		p.isLast = c.Cur.NewICmp(enum.IPredEQ, c.Cur.NewAdd(at, n), build.Int(build.I64, c.Size.N))
	}
	c.rowsAndPieces(p, r0, r1)
}

// rowsAndPieces computes rows [r0, r1) of a block: piece by piece of the chains for all rows, or, when unfinished sums
// wait in memory for a chunk of rows, for one chunk after the other.
func (c *writer) rowsAndPieces(p panels, r0, r1 value.Value) {
	if !c.Apart {
		c.pieces(p, r0, r1)
		return
	}
	step := c.evenChunk(r0, r1)
	c.ForStep(r0, r1, step, nil, func(from value.Value, _ []value.Value) []value.Value {
		c.pieces(p, from, c.Min(c.Add(from, step), r1))
		return nil
	})
}

// evenChunk is how many of the rows [r0, r1), of which there are some, wait at a time: as few chunks as possible, for
// each of which the right operand is copied, and these of equal size.
func (c *writer) evenChunk(r0, r1 value.Value) value.Value {
	from, known := build.ConstantInt(r0)
	to, too := build.ConstantInt(r1)
	tile := int64(c.Rows)
	switch {
	case c.Free:
		return build.Int(build.I64, c.Chunk)
	case known && too:
		n := (to - from + c.Chunk - 1) / c.Chunk * tile
		return build.Int(build.I64, (to-from+n-1)/n*tile)
	}
	b, rows := c.Cur, c.Cur.NewSub(r1, r0)
	n := b.NewMul(b.NewSDiv(b.NewAdd(rows, build.Int(build.I64, c.Chunk-1)), build.Int(build.I64, c.Chunk)),
		build.Int(build.I64, tile))
	return b.NewMul(b.NewSDiv(b.NewAdd(rows, b.NewSub(n, build.Int(build.I64, 1))), n), build.Int(build.I64, tile))
}

// pieces runs the chains of rows [r0, r1) piece by piece.
func (c *writer) pieces(p panels, r0, r1 value.Value) {
	kk := c.Extent(c.Chains.Axis.Extent)
	if per := int64(c.PerStep()); per > 1 {
		kk = c.steps(c.Add(kk, build.Int(build.I64, per-1)))
	}
	n := value.Value(build.Int(build.I64, (c.Steps+c.Piece-1)/c.Piece))
	known, fixed := build.ConstantInt(kk)
	if !fixed { // of no steps there is one piece, too: it gives the zeros
		n = c.maxInt(c.Cur.NewSDiv(c.Cur.NewAdd(kk, build.Int(build.I64, c.Piece-1)), build.Int(build.I64, c.Piece)),
			build.Int(build.I64, 1))
	}
	c.setTiny(0)
	c.For(build.Int(build.I64, 0), n, 1, nil, func(i value.Value, _ []value.Value) []value.Value {
		k := chain{at: build.Int(build.I64, 0), n: kk}
		if !fixed || known > c.Piece {
			k.at = c.Cur.NewMul(i, build.Int(build.I64, c.Piece))
			k.n = build.Int(build.I64, c.Piece)
			if !fixed || known%c.Piece != 0 {
				k.n = c.Min(k.n, c.Cur.NewSub(kk, k.at))
			}
			k.first = c.Cur.NewICmp(enum.IPredEQ, i, build.Int(build.I64, 0))
			k.last = c.Cur.NewICmp(enum.IPredEQ, i, c.Cur.NewSub(n, build.Int(build.I64, 1)))
		}
		if c.PackY {
			if c.Halves() {
				c.beginLeasts(p)
			}
			c.copyY(p, k)
			if c.Moved() {
				c.sumColumns(p, k)
			}
			if c.Halves() {
				c.leastOfPanels(p, k)
			}
		}
		c.allRows(p, k, r0, r1)
		return nil
	})
}

// panels are the columns of a block.
type panels struct {
	at     value.Value // the first column
	whole  value.Value // number of whole panels
	edge   int64       // columns of the panel at the right edge of the result, 0 for none
	isLast value.Value // the block has that edge; nil when all blocks have
	some   value.Value // columns of that panel that there are; nil for edge
}

// chain is a piece of the chains over k, in steps.
type chain struct {
	at, n       value.Value
	first, last value.Value // nil when there is but one
}

// ifEdge runs f when the block has the panel at the edge.
func (c *writer) ifEdge(p panels, f func()) {
	if p.edge > 0 {
		c.When(p.isLast, f)
	}
}

// allRows computes rows [r0, r1), tile by tile. The rows of a tile stay in the first-level cache while all panels of
// the block go past them. r0 is a multiple of the height of a tile.
func (c *writer) allRows(p panels, k chain, r0, r1 value.Value) {
	if !c.PackX || !c.XAcross {
		c.eachTile(r0, r1, func(i value.Value, h int) {
			c.unlessKept(i, int64(h), nil, 0, func() {
				switch {
				case c.SideBySide:
					c.copyBeside(k, i, h)
				case c.PackX:
					c.copyX(k, i, h)
				}
				c.eachPanel(p, k, c.withLeast(k, tile{i: i, from: r0, copied: build.Int(build.I64, 0), h: h}))
			})
		})
		return
	}
	band := func(from, to value.Value, whole bool) {
		c.copyAcross(k, from, to, whole)
		c.eachTile(from, to, func(i value.Value, h int) {
			c.unlessKept(i, int64(h), nil, 0, func() {
				c.eachPanel(p, k, c.withLeast(k, tile{i: i, from: r0, copied: c.acrossAt(i, from), h: h}))
			})
		})
	}
	stop := c.Cur.NewSub(r1, c.Cur.NewSRem(c.Cur.NewSub(r1, r0), build.Int(build.I64, c.Band)))
	c.For(r0, stop, c.Band, nil, func(from value.Value, _ []value.Value) []value.Value {
		band(from, c.Add(from, build.Int(build.I64, c.Band)), true)
		return nil
	})
	c.When(c.Cur.NewICmp(enum.IPredSLT, stop, r1), func() { band(stop, r1, false) })
}

// eachPanel computes a tile of every panel of a block.
func (c *writer) eachPanel(p panels, k chain, t tile) {
	panel := func(n value.Value, cols int64, some value.Value) {
		t.n, t.cols, t.there = n, cols, some
		c.unlessKept(t.i, int64(t.h), c.columnOf(p, n), cols, func() { c.tile(k, p, t) })
	}
	whole, known := build.ConstantInt(p.whole)
	t.alone = known && whole <= 1
	switch {
	case !t.alone && c.overlapsTiles():
		c.overlappedTiles(p, k, t)
	case !t.alone:
		c.For(build.Int(build.I64, 0), p.whole, 1, nil, func(n value.Value, _ []value.Value) []value.Value {
			panel(n, c.Panel, nil)
			return nil
		})
	case whole == 1:
		panel(build.Int(build.I64, 0), c.Panel, nil)
	}
	c.ifEdge(p, func() { panel(p.whole, p.edge, p.some) })
}

// eachTile runs f for the tiles of rows [from, to): whole ones, and the one at the lower edge of the result.
func (c *writer) eachTile(from, to value.Value, f func(i value.Value, h int)) {
	h := int64(c.Rows)
	whole := func(stop value.Value) {
		c.configure(int(h))
		c.For(from, stop, h, nil, func(i value.Value, _ []value.Value) []value.Value { f(i, int(h)); return nil })
	}
	if c.Free { // rows that fill no tile are computed one by one
		stop := c.Cur.NewSub(to, c.Cur.NewSRem(c.Cur.NewSub(to, from), build.Int(build.I64, h)))
		whole(stop)
		if c.AMX { // or as a tile of which they are the first
			c.When(c.Cur.NewICmp(enum.IPredSLT, stop, to), func() {
				c.rowsThere = c.Cur.NewSub(to, stop)
				f(stop, int(h))
				c.rowsThere = nil
			})
			return
		}
		c.For(stop, to, 1, nil, func(i value.Value, _ []value.Value) []value.Value { f(i, 1); return nil })
		return
	}
	rest := c.Size.M % h
	stop := to
	if rest != 0 {
		stop = c.Cur.NewSub(to, c.Cur.NewSRem(to, build.Int(build.I64, h)))
	}
	whole(stop)
	if rest != 0 {
		c.When(c.Cur.NewICmp(enum.IPredSLT, stop, to), func() {
			c.configure(int(rest))
			f(stop, int(rest))
		})
	}
}

// prologue computes the scalars before the loop that depend on axis `of` alone, 0 for those that are the same
// for all elements of the result.
func (c *writer) prologue(of kernel.Dep) {
	c.some(c.Before, func(d kernel.Dep) bool { return d == of })
}

// some translates the statements that depend on the wanted axes.
func (c *writer) some(stmts []kernel.Stmt, want func(d kernel.Dep) bool) {
	out := &kernel.Block{}
	for _, st := range stmts {
		if want(c.Deps.Of(st)) {
			out.Stmts = append(out.Stmts, st)
		}
	}
	c.Block(out)
}

// span covers [0, n) in vectors of w, then smaller ones; width 0 is a scalar.
func (c *writer) span(n value.Value, w int, body func(at value.Value, width int)) {
	if known, ok := build.ConstantInt(n); ok {
		c.spanOf(known, w, body)
		return
	}
	c.spanTo(n, w, body)
}

// spanOf is span for an n that is known.
func (c *writer) spanOf(n int64, w int, body func(at value.Value, width int)) {
	if n <= int64(2*w) {
		at := int64(0)
		for ; w > 1; w /= 2 {
			for ; at+int64(w) <= n; at += int64(w) {
				body(build.Int(build.I64, at), w)
			}
		}
		if at < n {
			body(build.Int(build.I64, at), 0)
		}
		return
	}
	full := n / int64(w) * int64(w)
	c.For(build.Int(build.I64, 0), build.Int(build.I64, full), int64(w), nil,
		func(at value.Value, _ []value.Value) []value.Value {
			body(at, w)
			return nil
		})
	c.spanOf(n-full, w/2, func(at value.Value, width int) { body(c.Add(at, build.Int(build.I64, full)), width) })
}

// spanTo is span for an n that nobody knows: after the vectors of w come scalars.
func (c *writer) spanTo(n value.Value, w int, body func(at value.Value, width int)) {
	full := value.Value(build.Int(build.I64, 0))
	if w > 1 {
		full = c.Cur.NewAnd(n, build.Int(build.I64, int64(-w)))
		c.For(build.Int(build.I64, 0), full, int64(w), nil, func(at value.Value, _ []value.Value) []value.Value {
			body(at, w)
			return nil
		})
	}
	c.For(full, n, 1, nil, func(at value.Value, _ []value.Value) []value.Value {
		body(at, 0)
		return nil
	})
}
