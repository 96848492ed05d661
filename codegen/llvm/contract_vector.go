package llvm

import (
	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/ir/kernel"
)

// turnedChain is chain for one row and a y that lies in memory along k, as in a matrix times a vector: the elements
// of y that one step needs are far from each other. Squares, as many steps as a vector has elements for as many
// columns, are read along k and turned over in registers.
func (t *tileGen) turnedChain(k chain, sums []value.Value) []value.Value {
	w := int64(t.lanes)
	squares := t.cur.NewAnd(k.n, ci(i64, -w))
	lag := value.Value(ci(i64, 0))
	if t.vecs > 1 {
		lag = t.lag()
		if n, known := constantInt(lag); !known || n > 0 {
			lag = t.least(lag, squares)
		}
	}
	// What the first vector does alone, all of them, and what the others have left.
	one := func(v int, from, to value.Value) {
		sums[v] = t.count(from, to, w, sums[v:v+1], func(kk value.Value, s []value.Value) []value.Value {
			return []value.Value{t.square(k, kk, v, s[0])}
		})[0]
	}
	one(0, ci(i64, 0), lag)
	sums = t.count(lag, squares, w, sums, func(kk value.Value, s []value.Value) []value.Value {
		next := make([]value.Value, len(s))
		for v := range s {
			at := kk
			if v > 0 {
				at = t.minus(kk, lag)
			}
			next[v] = t.square(k, at, v, s[v])
		}
		return next
	})
	for v := range sums[1:] {
		one(v+1, t.minus(squares, lag), squares)
	}
	return t.count(squares, k.n, 1, sums, func(kk value.Value, s []value.Value) []value.Value {
		next := make([]value.Value, len(s))
		for v := range s {
			y := value.Value(constant.NewZeroInitializer(t.vectorType()))
			for e := range int(w) {
				if t.inside(v, e) {
					t.bindColumn(v, e)
					t.axis(t.chains.Axis.Var, t.plus(k.at, kk), 0)
					y = t.cur.NewInsertElement(y, t.element(t.contraction.y, 0), ci(i32, int64(e)))
				}
			}
			t.w = int(w)
			next[v] = t.mulAdd(t.broadcastX(kk, 0), y, s[v])
			t.w = 0
		}
		return next
	})
}

// square is the steps from number kk on that one square has, for vector v of the sums.
func (t *tileGen) square(k chain, kk value.Value, v int, sum value.Value) value.Value {
	w := t.lanes
	t.prefetchSquares(k, kk, int64(v))
	read := func(from, width int) []value.Value {
		rows := make([]value.Value, w)
		for e := range rows {
			if !t.inside(v, e) { // beyond the edge: any number will do
				rows[e] = rows[e-1]
				continue
			}
			t.bindColumn(v, e)
			t.axis(t.chains.Axis.Var, t.plus(k.at, t.plus(kk, ci(i64, int64(from)))), width)
			rows[e] = t.element(t.contraction.y, width)
		}
		return rows
	}
	add := func(from int, ys []value.Value) {
		t.w = w
		for u, y := range ys {
			sum = t.mulAdd(t.broadcastX(kk, int64(from+u)), y, sum)
		}
		t.w = 0
	}
	lane := 16 / regDType(t.acc).Bytes()
	if w != 2*lane {
		add(0, t.turnForChain(read(0, w)))
		if t.vecs > 1 {
			t.keepOrder()
		}
		return sum
	}
	// Of halves that are read into their places nothing is left but to interleave, and half a square takes half of the
	// registers.
	for from := 0; from < w; from += lane {
		rows := read(from, lane)
		for e := range lane {
			rows[e] = t.beside(rows[e], rows[e+lane])
		}
		add(from, t.interleave(rows[:lane], lane))
		t.keepOrder()
	}
	return sum
}

// Note [Squares behind]
//
// The chain of a square of 8 by 8 takes longer than turning it over, so two vectors of sums take turns. Where rows are
// pages apart, or half a page, their lines share a few sets of the first-level cache, which has room for those of one
// vector: then the second is some lines behind the first. One thread of a Zen 3, least times in turns with one vector
// at a time, of which whole squares were read (November 2026): f32 [192, 200] 5.69 us and 3.24, f32 [192, 1040] 31.0
// and 22.2, f64 [192, 520] 30.3 and 18.7, f32 [4000, 1040] 646 us and 459, f32 [4096, 1024] 660 and 606; without
// anything between the two vectors 1050, one line 727, 256 bytes 620, 1024 bytes 606.

// squaresBehind is by how many bytes.
const squaresBehind = 512

// lag is how many steps the second vector of sums is behind the first.
func (t *tileGen) lag() value.Value {
	main := t.contraction.y.main
	size := int64(t.params[main.Param].DType.Bytes())
	behind := ci(i64, max(squaresBehind/size, int64(t.lanes)))
	row := value.Value(ci(i64, 0))
	for _, term := range main.At.Terms {
		if term.Var == t.col.Var {
			row = t.plus(row, t.dim(term.Coef))
		}
	}
	const near = 2048
	if n, known := constantInt(row); known {
		if n*size%near != 0 {
			return ci(i64, 0)
		}
		return behind
	}
	rest := t.cur.NewAnd(t.times(row, ci(i64, size)), ci(i64, near-1))
	return t.cur.NewSelect(t.cur.NewICmp(enum.IPredEQ, rest, ci(i64, 0)), behind, ci(i64, 0))
}

// vectorFree writes the part [begin, end) of the outermost axis of a product of one row and any shape. Columns that
// fill no tile are computed one by one: a step of their chains takes as long.
func (c *contractGen) vectorFree(begin, end value.Value) {
	last := len(c.contraction.k.Axes) - 1
	var nest func(i int)
	nest = func(i int) {
		lo, hi := begin, end
		if i > 0 {
			lo, hi = ci(i64, 0), c.extent(c.contraction.k.Axes[i].Extent)
		}
		if i < last {
			c.count(lo, hi, 1, nil, func(x value.Value, _ []value.Value) []value.Value {
				c.env[c.contraction.k.Axes[i].Var] = val{v: x}
				nest(i + 1)
				return nil
			})
			return
		}
		c.prologue(0)
		if c.byRows {
			c.count(lo, hi, c.blockCols, nil, func(at value.Value, _ []value.Value) []value.Value {
				c.stream(at, c.least(c.cur.NewSub(hi, at), ci(i64, c.blockCols)))
				return nil
			})
			return
		}
		k := chain{at: ci(i64, 0), n: c.extent(c.chains.Axis.Extent)}
		row := value.Value(ci(i64, 0))
		if c.row != nil {
			row = c.env[c.row.Var].v
		}
		if c.packX {
			c.copyX(k, row, 1)
		}
		tiles := func(from, to value.Value, cols int64) {
			c.count(from, to, cols, nil, func(at value.Value, _ []value.Value) []value.Value {
				c.tile(k, panels{at: at}, tile{i: row, from: row, copied: ci(i64, 0), n: ci(i64, 0), h: 1, cols: cols})
				return nil
			})
		}
		stop := c.plus(lo, c.whole(c.minus(hi, lo), c.panel))
		tiles(lo, stop, c.panel)
		if w := int64(c.lanes); w < c.panel {
			some := c.plus(stop, c.whole(c.minus(hi, stop), w))
			tiles(stop, some, w)
			stop = some
		}
		tiles(stop, hi, 1)
	}
	nest(0)
}

// inside reports that column e of vector v is one of the tile's.
func (t *tileGen) inside(v, e int) bool { return int64(v*t.lanes+e) < t.cols }

func (t *tileGen) bindColumn(v, e int) {
	t.env[t.col.Var] = val{v: t.plus(t.j, ci(i64, int64(v*t.lanes+e)))}
	t.prologue(onCol)
}

// broadcastX is the element of x for step kk + u of the only row, in every element of a vector.
func (t *tileGen) broadcastX(kk value.Value, u int64) value.Value {
	reg := regType(t.acc)
	p := t.cur.NewGetElementPtr(reg, t.x.base, t.times(kk, ci(i64, t.x.along)))
	l := t.cur.NewLoad(reg, t.offset(p, u*t.x.along))
	l.Align = lir.Align(regDType(t.acc).Bytes())
	return t.splat(l)
}

// streamRows is how many rows of y are added to the sums at once, so that these are read and written the less.
const streamRows = 8

// stream computes the n columns from column at of one row: y is read as it lies in memory, row after row, as in
// a vector times a matrix. The sums are in memory that stays in the first-level cache (Note [Reductions across rows]).
func (c *contractGen) stream(at, n value.Value) {
	reg := regType(c.acc)
	cells := func(j value.Value, width int) value.Value {
		p := value.Value(c.cur.NewGetElementPtr(reg, c.xs, j))
		if width > 0 {
			p = c.cur.NewBitCast(p, lt.NewPointer(vec(reg, width)))
		}
		return p
	}
	load := func(j value.Value, width int) value.Value {
		l := c.cur.NewLoad(vec(reg, width), cells(j, width))
		l.Align = lir.Align(regDType(c.acc).Bytes())
		return l
	}
	kv := c.chains.Axis.Var
	add := func(kk value.Value, rows int64, first bool) {
		xs := make([]value.Value, rows)
		for u := range xs {
			c.env[kv] = val{v: c.plus(kk, ci(i64, int64(u)))}
			xs[u] = c.element(c.x, 0)
		}
		c.span(n, 2*c.lanes, func(j value.Value, width int) {
			c.w = width
			c.axis(c.col.Var, c.plus(at, j), width)
			c.prologue(onCol)
			var sum value.Value = constant.NewZeroInitializer(vec(reg, width))
			if width == 0 {
				sum = fromBits(reg, 0)
			}
			if !first {
				sum = load(j, width)
			}
			for u, x := range xs {
				c.env[kv] = val{v: c.plus(kk, ci(i64, int64(u)))}
				y := c.element(c.y, width)
				c.w = width
				sum = c.mulAdd(c.splat(x), y, sum)
			}
			st := c.cur.NewStore(sum, cells(j, width))
			st.Align = lir.Align(regDType(c.acc).Bytes())
			c.w = 0
		})
	}
	kk := c.extent(c.chains.Axis.Extent)
	if _, known := constantInt(kk); !known {
		c.span(n, 2*c.lanes, func(j value.Value, width int) {
			var zero value.Value = constant.NewZeroInitializer(vec(reg, width))
			if width == 0 {
				zero = fromBits(reg, 0)
			}
			st := c.cur.NewStore(zero, cells(j, width))
			st.Align = lir.Align(regDType(c.acc).Bytes())
		})
		full := c.cur.NewAnd(kk, ci(i64, -streamRows))
		c.count(ci(i64, 0), full, streamRows, nil, func(kk value.Value, _ []value.Value) []value.Value {
			add(kk, streamRows, false)
			return nil
		})
		c.count(full, kk, 1, nil, func(kk value.Value, _ []value.Value) []value.Value {
			add(kk, 1, false)
			return nil
		})
		c.streamDone(at, n, load)
		return
	}
	head := c.kk % streamRows
	if head == 0 {
		head = min(c.kk, streamRows)
	}
	add(ci(i64, 0), head, true)
	if head < c.kk {
		c.count(ci(i64, head), ci(i64, c.kk), streamRows, nil, func(kk value.Value, _ []value.Value) []value.Value {
			add(kk, streamRows, false)
			return nil
		})
	}
	c.streamDone(at, n, load)
}

// streamDone runs what follows the chains of columns that were streamed, whose sums load reads.
func (c *contractGen) streamDone(at, n value.Value, load func(j value.Value, width int) value.Value) {
	c.span(n, c.lanes, func(j value.Value, width int) {
		c.w = width
		c.axis(c.col.Var, c.plus(at, j), width)
		c.some(c.before, func(d dep) bool { return d != 0 })
		c.set(c.chains.IDs[0], load(j, width), width > 0)
		c.block(&kernel.Block{Stmts: c.after})
		c.w = 0
	})
}
