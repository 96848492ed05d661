package llvm

import (
	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/ir/kernel"
)

// axis binds a loop variable: to at, and for vectors to the elements from there on.
func (c *contractGen) axis(v kernel.Ref, at value.Value, width int) {
	c.env[v] = val{v: at, iota: width > 0}
}

// element computes an operand for the axes as they are bound; width is that of a vector, 0 for a scalar.
func (c *contractGen) element(o operand, width int) value.Value {
	c.w = width
	c.block(&kernel.Block{Stmts: o.stmts})
	v := c.env[o.val].v
	if width > 0 {
		v = c.spread(c.env[o.val])
	}
	c.w = 0
	return v
}

// put stores a vector or a scalar into a copy.
func (c *contractGen) put(x, mem, at value.Value) {
	p := value.Value(c.cur.NewGetElementPtr(regType(c.acc), mem, at))
	if _, ok := x.Type().(*lt.VectorType); ok {
		p = c.cur.NewBitCast(p, lt.NewPointer(x.Type()))
	}
	st := c.cur.NewStore(x, p)
	st.Align = lir.Align(regDType(c.acc).Bytes())
}

// copyAcross copies rows [from, to) of x, a whole band or less, which lie side by side in memory: each line of memory
// is read once. Steps are far from each other there, often pages, so that no processor sees them coming.
func (c *contractGen) copyAcross(k chain, from, to value.Value, whole bool) {
	c.count(ci(i64, 0), k.n, 1, nil, func(kk value.Value, _ []value.Value) []value.Value {
		c.env[c.row.Var], c.env[c.chains.Axis.Var] = val{v: from},
			val{v: c.plus(k.at, c.plus(kk, ci(i64, acrossAhead)))}
		main := c.x.main
		elem, line := memType(c.params[main.Param].DType), 64/int64(c.params[main.Param].DType.Bytes())
		p := c.addr(main.Param, c.place(main.At).base)
		for at := int64(0); at < c.band; at += line {
			c.fetch(toFirst, c.cur.NewGetElementPtr(elem, p, ci(i64, at)))
		}
		rows := func(i value.Value, h int) {
			to := c.plus(c.times(kk, ci(i64, c.far)), c.acrossAt(i, from))
			c.span(ci(i64, int64(h)), c.lanes, func(r value.Value, width int) {
				c.axis(c.row.Var, c.plus(i, r), width)
				c.w = width
				c.prologue(onRow)
				c.put(c.packed(c.x, c.plus(k.at, kk), width), c.xs, c.plus(to, r))
			})
		}
		if whole && !c.sideBySide {
			rows(from, int(c.band))
		} else {
			c.eachTile(from, to, rows)
		}
		return nil
	})
}

// acrossAt is where the copy of row i lies in that of the band from row from on.
func (c *contractGen) acrossAt(i, from value.Value) value.Value {
	row := c.plus(i, c.times(from, ci(i64, -1)))
	if !c.sideBySide {
		return row
	}
	inTile := value.Value(ci(i64, 0))
	if c.free { // rows that fill no tile are computed one by one
		inTile = c.cur.NewSRem(row, ci(i64, int64(c.rows)))
	}
	return c.plus(c.times(c.minus(row, inTile), ci(i64, c.piece)), inTile)
}

// copyX copies the h rows of x from row i on.
func (c *contractGen) copyX(k chain, i value.Value, h int) {
	c.count(ci(i64, 0), ci(i64, int64(h)), 1, nil, func(r value.Value, _ []value.Value) []value.Value {
		if c.row != nil {
			c.env[c.row.Var] = val{v: c.plus(i, r)}
		}
		c.prologue(onRow)
		to := c.times(r, ci(i64, c.far))
		whole := c.wholeSteps(k)
		c.span(whole, c.lanes, func(kk value.Value, width int) {
			c.put(c.packedAlong(c.x, c.plus(k.at, kk), width), c.xs, c.plus(to, kk))
		})
		c.count(whole, k.n, 1, nil, func(kk value.Value, _ []value.Value) []value.Value {
			c.put(c.packed(c.x, c.plus(k.at, kk), 0), c.xs, c.plus(to, kk))
			return nil
		})
		return nil
	})
}

// copyBeside copies the h rows of x from row i on with what a step needs side by side: squares are read along k and
// turned over in registers. What a vector has beyond the rows of a tile is overwritten by that of the next step.
func (c *contractGen) copyBeside(k chain, i value.Value, h int) {
	w := c.lanes
	bind := func(r int) {
		c.env[c.row.Var] = val{v: c.plus(i, ci(i64, int64(r)))}
		c.prologue(onRow)
	}
	squares := c.cur.NewAnd(c.wholeSteps(k), ci(i64, int64(-w)))
	c.count(ci(i64, 0), squares, int64(w), nil, func(kk value.Value, _ []value.Value) []value.Value {
		var turned [][]value.Value
		for from := 0; from < h; from += w {
			rows := make([]value.Value, w)
			for e := range rows {
				if from+e >= h { // any number will do
					rows[e] = rows[e-1]
					continue
				}
				bind(from + e)
				rows[e] = c.packedAlong(c.x, c.plus(k.at, kk), w)
			}
			turned = append(turned, c.turn(rows))
		}
		for u := range w {
			for g, rows := range turned {
				c.put(rows[u], c.xs, c.plus(c.times(kk, ci(i64, c.far)), ci(i64, int64(u)*c.far+int64(g*w))))
			}
		}
		return nil
	})
	c.count(squares, k.n, 1, nil, func(kk value.Value, _ []value.Value) []value.Value {
		for r := range h {
			bind(r)
			c.put(c.packed(c.x, c.plus(k.at, kk), 0), c.xs, c.plus(c.times(kk, ci(i64, c.far)), ci(i64, int64(r))))
		}
		return nil
	})
}

// copyY copies a block of y: for each panel, row after row of its columns.
func (c *contractGen) copyY(p panels, k chain) {
	if c.yAlong {
		c.count(ci(i64, 0), p.whole, 1, nil, func(n value.Value, _ []value.Value) []value.Value {
			c.turnPanel(p, k, n, c.panel)
			return nil
		})
		c.ifEdge(p, func() {
			if p.some == nil {
				c.turnPanel(p, k, p.whole, p.edge)
				return
			}
			c.count(ci(i64, 0), k.n, 1, nil, func(kk value.Value, _ []value.Value) []value.Value {
				c.copySome(p, k, kk)
				return nil
			})
		})
		return
	}
	c.count(ci(i64, 0), k.n, 1, nil, func(kk value.Value, _ []value.Value) []value.Value {
		c.count(ci(i64, 0), p.whole, 1, nil, func(n value.Value, _ []value.Value) []value.Value {
			c.copyRow(p, k, kk, n, 0, c.panel)
			return nil
		})
		c.ifEdge(p, func() {
			if p.some == nil {
				c.copyRow(p, k, kk, p.whole, 0, p.edge)
				return
			}
			c.copySome(p, k, kk)
		})
		return nil
	})
}

// panelAt is where row kk of panel n lies in the copy.
func (c *contractGen) panelAt(n, kk value.Value) value.Value {
	return c.plus(c.times(n, ci(i64, c.panel*c.piece)), c.times(kk, ci(i64, c.panel)))
}

// copyRow copies the elements [from, to) of row kk of panel n. The rest of the last vector becomes 0: it is
// computed with, and what lies there by chance could be slow.
func (c *contractGen) copyRow(p panels, k chain, kk, n value.Value, from, to int64) {
	w := int64(c.lanes)
	at := c.panelAt(n, kk)
	col := c.plus(p.at, c.times(n, ci(i64, c.panel)))
	if to%w != 0 && from <= to/w*w {
		zero := constant.NewZeroInitializer(vec(regType(c.acc), int(w)))
		c.put(zero, c.ys, c.plus(at, ci(i64, to/w*w)))
	}
	c.span(ci(i64, to-from), int(w), func(j value.Value, width int) {
		j = c.plus(j, ci(i64, from))
		c.axis(c.col.Var, c.plus(col, j), width)
		c.w = width
		c.prologue(onCol)
		c.put(c.packed(c.y, c.plus(k.at, kk), width), c.ys, c.plus(at, j))
	})
}

// copySome copies row kk of the panel at the edge, of which p.some columns are there, and zeros for the others.
func (c *contractGen) copySome(p panels, k chain, kk value.Value) {
	w := c.lanes
	at := c.panelAt(p.whole, kk)
	for v := range c.vecs {
		c.put(constant.NewZeroInitializer(vec(regType(c.acc), w)), c.ys, c.plus(at, ci(i64, int64(v*w))))
	}
	col := c.plus(p.at, c.times(p.whole, ci(i64, c.panel)))
	c.span(p.some, w, func(j value.Value, width int) {
		c.axis(c.col.Var, c.plus(col, j), width)
		c.w = width
		c.prologue(onCol)
		c.put(c.packed(c.y, c.plus(k.at, kk), width), c.ys, c.plus(at, j))
	})
}

// turnPanel copies panel n of an operand that lies in memory along k: squares are read along k and turned over
// in registers.
func (c *contractGen) turnPanel(p panels, k chain, n value.Value, cols int64) {
	w := int64(c.lanes)
	squares := c.cur.NewAnd(c.wholeSteps(k), ci(i64, -w))
	col := c.plus(p.at, c.times(n, ci(i64, c.panel)))
	whole := cols / w * w
	if whole > 0 {
		c.count(ci(i64, 0), ci(i64, whole), w, nil, func(j value.Value, _ []value.Value) []value.Value {
			c.count(ci(i64, 0), squares, w, nil, func(kk value.Value, _ []value.Value) []value.Value {
				rows := make([]value.Value, w)
				for i := range rows {
					c.env[c.col.Var] = val{v: c.plus(c.plus(col, j), ci(i64, int64(i)))}
					c.prologue(onCol)
					rows[i] = c.packedAlong(c.y, c.plus(k.at, kk), int(w))
				}
				for i, x := range c.turn(rows) {
					c.put(x, c.ys, c.plus(c.panelAt(n, c.plus(kk, ci(i64, int64(i)))), j))
				}
				return nil
			})
			return nil
		})
	}
	// What is left: the columns beside the squares, and the rows below.
	c.count(ci(i64, 0), squares, 1, nil, func(kk value.Value, _ []value.Value) []value.Value {
		if whole < cols {
			c.copyRow(p, k, kk, n, whole, cols)
		}
		return nil
	})
	c.count(squares, k.n, 1, nil, func(kk value.Value, _ []value.Value) []value.Value {
		c.copyRow(p, k, kk, n, 0, cols)
		return nil
	})
}
