package llvm

import (
	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/value"

	"healc/ir/kernel"
)

// contractGen writes the code of a contraction.
type contractGen struct {
	*gen
	*contraction
	xs, ys  value.Value // copies of x and y; xs the sums when y is streamed
	tileMem value.Value // of the epilogue
	waiting value.Value // unfinished sums of a chunk of rows, block by block, when these wait apart
}

// contract writes the units [begin, end) of a contraction.
func (g *gen) contract(c *contraction, begin, end value.Value) {
	switch {
	case c.free:
		g.contractFree(c, begin, end)
	case c.planned:
		g.contractUnits(c, begin, end)
	default: // a part of units may be none of the axis
		n, _ := c.k.Axes[0].Extent.Dim.Const()
		scale := func(x value.Value) value.Value {
			if c.units() == n {
				return x
			}
			return g.cur.NewSDiv(g.cur.NewMul(x, ci(i64, n)), ci(i64, c.units()))
		}
		g.kernelLoops(c.k, scale(begin), scale(end))
	}
}

// newContract reserves the memory of the copies.
func (g *gen) newContract(c *contraction) *contractGen {
	cg := &contractGen{gen: g, contraction: c}
	reg := regType(c.acc)
	if c.byRows {
		cg.xs = g.stack(reg, int(c.blockCols))
	}
	if c.packX {
		n := int64(c.rows) * c.far
		switch {
		case c.xAcross:
			n = c.piece * c.band
		case c.sideBySide:
			n = c.piece*c.far + int64(c.lanes)
		}
		cg.xs = g.stack(reg, int(n))
	}
	if c.packY {
		cg.ys = g.stack(reg, int(c.blockCols*c.piece))
	}
	if c.apart {
		cg.waiting = g.stack(reg, int(c.chunk*c.blockCols))
	}
	return cg
}

// contractFree writes the part [begin, end) of the outermost axis of a contraction of any shape.
func (g *gen) contractFree(c *contraction, begin, end value.Value) {
	cg := g.newContract(c)
	if c.m == 1 {
		cg.vectorFree(begin, end)
		return
	}
	var nest func(i int)
	nest = func(i int) {
		lo, hi := value.Value(ci(i64, 0)), value.Value(nil)
		if i == 0 {
			lo, hi = begin, end
		} else {
			hi = g.extent(c.k.Axes[i].Extent)
		}
		if i < len(c.batches) {
			g.count(lo, hi, 1, nil, func(x value.Value, _ []value.Value) []value.Value {
				g.env[c.batches[i].Var] = val{v: x}
				nest(i + 1)
				return nil
			})
			return
		}
		n := g.extent(c.col.Extent)
		g.count(ci(i64, 0), n, c.blockCols, nil, func(at value.Value, _ []value.Value) []value.Value {
			cg.prologue(0)
			left := cg.least(g.cur.NewSub(n, at), ci(i64, c.blockCols))
			p := panels{at: at, whole: g.cur.NewSDiv(left, ci(i64, c.panel)), edge: c.panel}
			p.some = g.cur.NewSub(left, g.cur.NewMul(p.whole, ci(i64, c.panel)))
			p.isLast = g.cur.NewICmp(enum.IPredSGT, p.some, ci(i64, 0))
			cg.rowsAndPieces(p, lo, hi)
			return nil
		})
	}
	nest(0)
}

// contractUnits writes the units [begin, end), see Note [Units of products]: in each step those that are left of a part
// of the outer direction, or as many whole parts as there are.
func (g *gen) contractUnits(c *contraction, begin, end value.Value) {
	cg := g.newContract(c)
	outer, inner, byRows := c.grid()
	if outer*inner == 1 {
		g.count(begin, end, 1, nil, func(t value.Value, _ []value.Value) []value.Value {
			cg.matrix(t)
			cg.part(ci(i64, 0), ci(i64, c.n), ci(i64, 0), ci(i64, c.m))
			return nil
		})
		return
	}
	head, body, done := g.newBlock(), g.newBlock(), g.newBlock()
	from := g.cur
	from.NewBr(head)
	u := head.NewPhi(lir.NewIncoming(begin, from))
	head.NewCondBr(head.NewICmp(enum.IPredSLT, u, end), body, done)
	g.cur = body
	rest := value.Value(u)
	if c.batch() > 1 {
		cg.matrix(g.cur.NewSDiv(u, ci(i64, outer*inner)))
		rest = g.cur.NewSRem(u, ci(i64, outer*inner))
	}
	left := g.cur.NewSub(end, u)
	var next value.Value
	o0, o1 := rest, cg.least(g.cur.NewAdd(rest, left), ci(i64, outer))
	i0, i1 := value.Value(ci(i64, 0)), value.Value(ci(i64, inner))
	if next = g.cur.NewSub(o1, o0); inner > 1 {
		n := ci(i64, inner)
		o0, i0 = g.cur.NewSDiv(rest, n), g.cur.NewSRem(rest, n)
		parts := cg.least(g.cur.NewSDiv(left, n), g.cur.NewSub(ci(i64, outer), o0))
		some := cg.least(g.cur.NewSub(n, i0), left)
		whole := g.cur.NewICmp(enum.IPredEQ, some, n)
		o1 = g.cur.NewAdd(o0, g.cur.NewSelect(whole, parts, ci(i64, 1)))
		i1 = g.cur.NewAdd(i0, some)
		next = g.cur.NewSelect(whole, g.cur.NewMul(parts, n), some)
	}
	next = g.cur.NewAdd(u, next)
	if byRows {
		cg.part(cg.columnAt(i0, inner), cg.columnAt(i1, inner), cg.rowAt(o0, outer), cg.rowAt(o1, outer))
	} else {
		cg.part(cg.columnAt(o0, outer), cg.columnAt(o1, outer), cg.rowAt(i0, inner), cg.rowAt(i1, inner))
	}
	u.Incs = append(u.Incs, lir.NewIncoming(next, g.cur))
	g.cur.NewBr(head)
	g.cur = done
}

// columnAt is where part i of n parts of the columns begins, at a panel; rowAt the same of rows, at a tile.
func (c *contractGen) columnAt(i value.Value, n int64) value.Value {
	return c.boundary(i, n, c.n, c.granule())
}

func (c *contractGen) rowAt(i value.Value, n int64) value.Value {
	return c.boundary(i, n, c.m, int64(c.rows))
}

func (c *contractGen) boundary(i value.Value, n, extent, unit int64) value.Value {
	units := (extent + unit - 1) / unit
	if x, ok := constantInt(i); ok {
		return ci(i64, min(x*units/n*unit, extent))
	}
	at := i
	if units != n {
		at = c.cur.NewSDiv(c.cur.NewMul(i, ci(i64, units)), ci(i64, n))
	}
	at = c.cur.NewMul(at, ci(i64, unit))
	if extent%unit == 0 {
		return at
	}
	return c.least(at, ci(i64, extent))
}

func (c *contractGen) maxInt(x, y value.Value) value.Value {
	return c.cur.NewSelect(c.cur.NewICmp(enum.IPredSGT, x, y), x, y)
}

// matrix binds the axes of the batch for matrix t.
func (c *contractGen) matrix(t value.Value) {
	for i := len(c.batches) - 1; i >= 0; i-- {
		e, _ := c.batches[i].Extent.Dim.Const()
		c.env[c.batches[i].Var] = val{v: t}
		if i > 0 {
			c.env[c.batches[i].Var] = val{v: c.cur.NewSRem(t, ci(i64, e))}
			t = c.cur.NewSDiv(t, ci(i64, e))
		}
	}
}

// part computes columns [c0, c1) of rows [r0, r1), block by block. The columns begin at a panel, the rows at a tile. It
// may be none, when there are fewer panels or tiles than parts.
func (c *contractGen) part(c0, c1, r0, r1 value.Value) {
	var some value.Value
	for _, x := range [][2]value.Value{{c0, c1}, {r0, r1}} {
		_, known := constantInt(x[0])
		if _, too := constantInt(x[1]); known && too {
			continue
		}
		less := value.Value(c.cur.NewICmp(enum.IPredSLT, x[0], x[1]))
		if some != nil {
			less = c.cur.NewAnd(some, less)
		}
		some = less
	}
	c.only(some, func() {
		first, known := constantInt(c0)
		last, too := constantInt(c1)
		if known && too && last-first <= c.blockCols {
			c.columnBlock(c0, ci(i64, last-first), r0, r1)
			return
		}
		c.count(c0, c1, c.blockCols, nil, func(at value.Value, _ []value.Value) []value.Value {
			c.columnBlock(at, c.least(c.cur.NewSub(c1, at), ci(i64, c.blockCols)), r0, r1)
			return nil
		})
	})
}

// columnBlock computes rows [r0, r1) of n columns from column at on.
func (c *contractGen) columnBlock(at, n, r0, r1 value.Value) {
	c.prologue(0)
	if c.byRows {
		c.stream(at, n)
		return
	}
	// Whole panels, and the one at the right edge that is not.
	p := panels{at: at, edge: c.n % c.panel}
	if cols, ok := constantInt(n); ok {
		p.whole = ci(i64, cols/c.panel)
	} else {
		p.whole = c.cur.NewSDiv(n, ci(i64, c.panel))
		p.isLast = c.cur.NewICmp(enum.IPredEQ, c.cur.NewAdd(at, n), ci(i64, c.n))
	}
	c.rowsAndPieces(p, r0, r1)
}

// rowsAndPieces computes rows [r0, r1) of a block: piece by piece of the chains for all rows, or, when unfinished sums
// wait in memory for a chunk of rows, for one chunk after the other.
func (c *contractGen) rowsAndPieces(p panels, r0, r1 value.Value) {
	if !c.apart {
		c.pieces(p, r0, r1)
		return
	}
	step := c.evenChunk(r0, r1)
	c.countBy(r0, r1, step, nil, func(from value.Value, _ []value.Value) []value.Value {
		c.pieces(p, from, c.least(c.plus(from, step), r1))
		return nil
	})
}

// evenChunk is how many of the rows [r0, r1), of which there are some, wait at a time: as few chunks as possible, for
// each of which the right operand is copied, and these of equal size.
func (c *contractGen) evenChunk(r0, r1 value.Value) value.Value {
	from, known := constantInt(r0)
	to, too := constantInt(r1)
	tile := int64(c.rows)
	switch {
	case c.free:
		return ci(i64, c.chunk)
	case known && too:
		n := (to - from + c.chunk - 1) / c.chunk * tile
		return ci(i64, (to-from+n-1)/n*tile)
	}
	b, rows := c.cur, c.cur.NewSub(r1, r0)
	n := b.NewMul(b.NewSDiv(b.NewAdd(rows, ci(i64, c.chunk-1)), ci(i64, c.chunk)), ci(i64, tile))
	return b.NewMul(b.NewSDiv(b.NewAdd(rows, b.NewSub(n, ci(i64, 1))), n), ci(i64, tile))
}

// pieces runs the chains of rows [r0, r1) piece by piece.
func (c *contractGen) pieces(p panels, r0, r1 value.Value) {
	kk := c.extent(c.chains.Axis.Extent)
	if c.pairs {
		kk = c.half(c.plus(kk, ci(i64, 1)))
	}
	n := value.Value(ci(i64, (c.steps+c.piece-1)/c.piece))
	known, fixed := constantInt(kk)
	if !fixed { // of no steps there is one piece, too: it gives the zeros
		n = c.maxInt(c.cur.NewSDiv(c.cur.NewAdd(kk, ci(i64, c.piece-1)), ci(i64, c.piece)), ci(i64, 1))
	}
	c.count(ci(i64, 0), n, 1, nil, func(i value.Value, _ []value.Value) []value.Value {
		k := chain{at: ci(i64, 0), n: kk}
		if !fixed || known > c.piece {
			k.at = c.cur.NewMul(i, ci(i64, c.piece))
			k.n = ci(i64, c.piece)
			if !fixed || known%c.piece != 0 {
				k.n = c.least(k.n, c.cur.NewSub(kk, k.at))
			}
			k.first = c.cur.NewICmp(enum.IPredEQ, i, ci(i64, 0))
			k.last = c.cur.NewICmp(enum.IPredEQ, i, c.cur.NewSub(n, ci(i64, 1)))
		}
		if c.packY {
			c.copyY(p, k)
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
func (c *contractGen) ifEdge(p panels, f func()) {
	if p.edge > 0 {
		c.only(p.isLast, f)
	}
}

// allRows computes rows [r0, r1), tile by tile. The rows of a tile stay in the first-level cache while all panels of
// the block go past them. r0 is a multiple of the height of a tile.
func (c *contractGen) allRows(p panels, k chain, r0, r1 value.Value) {
	if !c.packX || !c.xAcross {
		c.eachTile(r0, r1, func(i value.Value, h int) {
			switch {
			case c.sideBySide:
				c.copyBeside(k, i, h)
			case c.packX:
				c.copyX(k, i, h)
			}
			c.eachPanel(p, k, tile{i: i, from: r0, copied: ci(i64, 0), h: h})
		})
		return
	}
	band := func(from, to value.Value, whole bool) {
		c.copyAcross(k, from, to, whole)
		c.eachTile(from, to, func(i value.Value, h int) {
			c.eachPanel(p, k, tile{i: i, from: r0, copied: c.acrossAt(i, from), h: h})
		})
	}
	stop := c.cur.NewSub(r1, c.cur.NewSRem(c.cur.NewSub(r1, r0), ci(i64, c.band)))
	c.count(r0, stop, c.band, nil, func(from value.Value, _ []value.Value) []value.Value {
		band(from, c.plus(from, ci(i64, c.band)), true)
		return nil
	})
	c.only(c.cur.NewICmp(enum.IPredSLT, stop, r1), func() { band(stop, r1, false) })
}

// eachPanel computes a tile of every panel of a block.
func (c *contractGen) eachPanel(p panels, k chain, t tile) {
	panel := func(n value.Value, cols int64, some value.Value) {
		t.n, t.cols, t.there = n, cols, some
		c.tile(k, p, t)
	}
	whole, known := constantInt(p.whole)
	t.alone = known && whole <= 1
	switch {
	case !t.alone:
		c.count(ci(i64, 0), p.whole, 1, nil, func(n value.Value, _ []value.Value) []value.Value {
			panel(n, c.panel, nil)
			return nil
		})
	case whole == 1:
		panel(ci(i64, 0), c.panel, nil)
	}
	c.ifEdge(p, func() { panel(p.whole, p.edge, p.some) })
}

// eachTile runs f for the tiles of rows [from, to): whole ones, and the one at the lower edge of the result.
func (c *contractGen) eachTile(from, to value.Value, f func(i value.Value, h int)) {
	h := int64(c.rows)
	if c.free { // rows that fill no tile are computed one by one
		stop := c.cur.NewSub(to, c.cur.NewSRem(c.cur.NewSub(to, from), ci(i64, h)))
		c.count(from, stop, h, nil, func(i value.Value, _ []value.Value) []value.Value { f(i, int(h)); return nil })
		c.count(stop, to, 1, nil, func(i value.Value, _ []value.Value) []value.Value { f(i, 1); return nil })
		return
	}
	rest := c.m % h
	stop := to
	if rest != 0 {
		stop = c.cur.NewSub(to, c.cur.NewSRem(to, ci(i64, h)))
	}
	c.count(from, stop, h, nil, func(i value.Value, _ []value.Value) []value.Value {
		f(i, int(h))
		return nil
	})
	if rest != 0 {
		c.only(c.cur.NewICmp(enum.IPredSLT, stop, to), func() { f(stop, int(rest)) })
	}
}

// prologue computes the scalars before the loop that depend on axis `of` alone, 0 for those that are the same
// for all elements of the result.
func (c *contractGen) prologue(of dep) {
	c.some(c.before, func(d dep) bool { return d == of })
}

// some translates those of stmts that depend on what is wanted.
func (c *contractGen) some(stmts []kernel.Stmt, want func(d dep) bool) {
	out := &kernel.Block{}
	for _, st := range stmts {
		if want(c.depOf(st)) {
			out.Stmts = append(out.Stmts, st)
		}
	}
	c.block(out)
}

// span covers [0, n) in vectors of w, then smaller ones; width 0 is a scalar.
func (c *contractGen) span(n value.Value, w int, body func(at value.Value, width int)) {
	known, isConst := constantInt(n)
	if isConst && known <= int64(2*w) {
		at := int64(0)
		for ; w > 1; w /= 2 {
			for ; at+int64(w) <= known; at += int64(w) {
				body(ci(i64, at), w)
			}
		}
		if at < known {
			body(ci(i64, at), 0)
		}
		return
	}
	var full value.Value
	if isConst {
		full = ci(i64, known/int64(w)*int64(w))
	} else {
		full = c.cur.NewAnd(n, ci(i64, int64(-w)))
	}
	c.count(ci(i64, 0), full, int64(w), nil, func(at value.Value, _ []value.Value) []value.Value {
		body(at, w)
		return nil
	})
	if isConst {
		at := known / int64(w) * int64(w)
		c.span(ci(i64, known-at), w/2, func(x value.Value, width int) { body(c.plus(x, ci(i64, at)), width) })
		return
	}
	c.count(full, n, 1, nil, func(at value.Value, _ []value.Value) []value.Value {
		body(at, 0)
		return nil
	})
}
