package llvm

import (
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
	if c.free {
		g.contractFree(c, begin, end)
		return
	}
	parts, _ := c.k.Axes[0].Extent.Dim.Const()
	if c.planned {
		parts = c.tasks()
	}
	scale := func(x value.Value) value.Value {
		if c.units() == parts {
			return x
		}
		return g.cur.NewSDiv(g.cur.NewMul(x, ci(i64, parts)), ci(i64, c.units()))
	}
	begin, end = scale(begin), scale(end)
	if !c.planned {
		g.kernelLoops(c.k, begin, end)
		return
	}
	g.contractTasks(c, begin, end)
}

// newContract reserves the memory of the copies.
func (g *gen) newContract(c *contraction) *contractGen {
	cg := &contractGen{gen: g, contraction: c}
	reg := regType(c.acc)
	if c.byRows {
		cg.xs = g.stack(reg, int(c.blockCols))
	}
	if c.packX {
		n := c.chunk * c.far
		if c.xAcross {
			n = c.chunk / int64(c.rows) * c.piece * c.far
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
			left := cg.minInt(g.cur.NewSub(n, at), ci(i64, c.blockCols))
			p := panels{at: at, whole: g.cur.NewSDiv(left, ci(i64, c.panel)), edge: c.panel}
			p.some = g.cur.NewSub(left, g.cur.NewMul(p.whole, ci(i64, c.panel)))
			p.isLast = g.cur.NewICmp(enum.IPredSGT, p.some, ci(i64, 0))
			cg.rowsAndPieces(p, lo, hi)
			return nil
		})
	}
	nest(0)
}

// contractTasks writes the tasks [begin, end). Tasks that follow each other have other rows of the same columns,
// so that y is copied once for as many of them as one call does.
func (g *gen) contractTasks(c *contraction, begin, end value.Value) {
	cg := g.newContract(c)
	chunks, m := c.rowChunks(), ci(i64, c.m)
	none := g.newBlock()
	some := g.newBlock() // a part of units may have no task
	g.cur.NewCondBr(g.cur.NewICmp(enum.IPredSLT, begin, end), some, none)
	defer func() { g.cur.NewBr(none); g.cur = none }()
	g.cur = some
	if chunks == 1 {
		g.count(begin, end, 1, nil, func(t value.Value, _ []value.Value) []value.Value {
			cg.columns(t, ci(i64, 0), m)
			return nil
		})
		return
	}
	n := ci(i64, chunks)
	last := g.cur.NewSub(end, ci(i64, 1))
	lastBlock := g.cur.NewSDiv(last, n)
	g.count(g.cur.NewSDiv(begin, n), g.cur.NewAdd(lastBlock, ci(i64, 1)), 1, nil, func(t value.Value, _ []value.Value) []value.Value {
		first := g.cur.NewMul(t, n)
		from := cg.maxInt(g.cur.NewSub(begin, first), ci(i64, 0))
		to := cg.minInt(g.cur.NewSub(end, first), n)
		cg.columns(t, g.cur.NewMul(from, ci(i64, c.chunk)), cg.minInt(g.cur.NewMul(to, ci(i64, c.chunk)), m))
		return nil
	})
}

func (c *contractGen) minInt(x, y value.Value) value.Value {
	return c.cur.NewSelect(c.cur.NewICmp(enum.IPredSLT, x, y), x, y)
}

func (c *contractGen) maxInt(x, y value.Value) value.Value {
	return c.cur.NewSelect(c.cur.NewICmp(enum.IPredSGT, x, y), x, y)
}

// columns computes rows [r0, r1) of block number t of columns; blocks are numbered through the batch.
func (c *contractGen) columns(t, r0, r1 value.Value) {
	b := c.cur
	blocks := ci(i64, c.columnBlocks())
	at := value.Value(ci(i64, 0))
	rest := t
	if c.columnBlocks() > 1 {
		at = b.NewMul(b.NewSRem(t, blocks), ci(i64, c.blockCols))
		rest = b.NewSDiv(t, blocks)
	}
	for i := len(c.batches) - 1; i >= 0; i-- {
		e, _ := c.batches[i].Extent.Dim.Const()
		c.env[c.batches[i].Var] = val{v: rest}
		if i > 0 {
			c.env[c.batches[i].Var] = val{v: b.NewSRem(rest, ci(i64, e))}
			rest = b.NewSDiv(rest, ci(i64, e))
		}
	}
	c.prologue(0)
	if c.byRows {
		n := value.Value(ci(i64, c.blockCols))
		if c.n%c.blockCols != 0 {
			n = c.minInt(n, c.cur.NewSub(ci(i64, c.n), at))
		}
		c.stream(at, n)
		return
	}
	// Whole panels, and the one at the right edge that is not.
	p := panels{at: at, whole: ci(i64, c.n/c.panel), edge: c.n % c.panel}
	if c.columnBlocks() > 1 {
		left := c.cur.NewSub(ci(i64, c.n), at) // the prologue may have checks, and end in another block
		p.whole = c.cur.NewSDiv(c.minInt(left, ci(i64, c.blockCols)), ci(i64, c.panel))
		p.isLast = c.cur.NewICmp(enum.IPredSLE, left, ci(i64, c.blockCols))
	}
	c.rowsAndPieces(p, r0, r1)
}

// rowsAndPieces computes rows [r0, r1) of a block: piece by piece of the chains for all rows, or, when unfinished sums wait
// in memory for a chunk of rows, for one chunk after the other.
func (c *contractGen) rowsAndPieces(p panels, r0, r1 value.Value) {
	if !c.apart {
		c.pieces(p, r0, r1)
		return
	}
	c.count(r0, r1, c.chunk, nil, func(from value.Value, _ []value.Value) []value.Value {
		c.pieces(p, from, c.minInt(c.plus(from, ci(i64, c.chunk)), r1))
		return nil
	})
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
				k.n = c.minInt(k.n, c.cur.NewSub(kk, k.at))
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
		c.when(p.isLast, f)
	}
}

// when runs f under a condition; nil is true.
func (c *contractGen) when(cond value.Value, f func()) {
	if cond == nil {
		f()
		return
	}
	yes, done := c.newBlock(), c.newBlock()
	c.cur.NewCondBr(cond, yes, done)
	c.cur = yes
	f()
	c.cur.NewBr(done)
	c.cur = done
}

// allRows computes rows [r0, r1), in chunks of which x is copied. r0 is a multiple of the height of a tile.
func (c *contractGen) allRows(p panels, k chain, r0, r1 value.Value) {
	c.count(r0, r1, c.chunk, nil, func(from value.Value, _ []value.Value) []value.Value {
		to := c.minInt(c.plus(from, ci(i64, c.chunk)), r1)
		if c.packX {
			c.eachTile(from, to, func(i value.Value, h int) { c.copyX(k, i, c.copyAt(i, from), h) })
		}
		panel := func(n value.Value, cols int64, some value.Value) {
			c.eachTile(from, to, func(i value.Value, h int) { c.tile(k, i, from, h, p.at, n, cols, some) })
		}
		c.count(ci(i64, 0), p.whole, 1, nil, func(n value.Value, _ []value.Value) []value.Value {
			panel(n, c.panel, nil)
			return nil
		})
		c.ifEdge(p, func() { panel(p.whole, p.edge, p.some) })
		return nil
	})
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
		c.when(c.cur.NewICmp(enum.IPredSLT, stop, to), func() { f(stop, int(rest)) })
	}
}

// copyAt is where the copy of the tile from row i on lies.
func (c *contractGen) copyAt(i, from value.Value) value.Value {
	if !c.packX {
		return nil
	}
	at := c.cur.NewSub(i, from)
	if c.xAcross { // a tile has far elements for each step
		h := ci(i64, int64(c.rows))
		return c.plus(c.times(c.cur.NewSDiv(at, h), ci(i64, c.piece*c.far)), c.cur.NewSRem(at, h))
	}
	return c.times(at, ci(i64, c.far))
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
