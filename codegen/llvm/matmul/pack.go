package matmul

import (
	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
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

// axis binds a loop variable: to at, and for vectors to the elements from there on.
func (c *writer) axis(v kernel.Ref, at value.Value, width int) {
	c.Env[v] = emit.Val{V: at, Iota: width > 0}
}

// element computes an operand for the axes as they are bound; width is that of a vector, 0 for a scalar.
func (c *writer) element(o analysis.Operand, width int) value.Value {
	var v value.Value
	c.InVectors(width, func() {
		c.Block(&kernel.Block{Stmts: o.Stmts})
		if v = c.Env[o.Val].V; width > 0 {
			v = c.Spread(c.Env[o.Val])
		}
	})
	return v
}

// put stores a vector or a scalar into a copy.
func (c *writer) put(x, mem, at value.Value) {
	p := value.Value(c.Cur.NewGetElementPtr(build.RegisterType(c.Acc), mem, at))
	if _, ok := x.Type().(*lt.VectorType); ok {
		p = c.Cur.NewBitCast(p, lt.NewPointer(x.Type()))
	}
	st := c.Cur.NewStore(x, p)
	st.Align = lir.Align(analysis.ArithmeticType(c.Acc).Bytes())
}

// copyAcross copies rows [from, to) of x, a whole band or less, which lie side by side in memory: each line of memory
// is read once. Steps are far from each other there, often pages, so that no processor sees them coming.
func (c *writer) copyAcross(k chain, from, to value.Value, whole bool) {
	if c.AMX {
		c.copyTiles(k, from, to)
		return
	}
	c.For(build.Int(build.I64, 0), k.n, 1, nil, func(kk value.Value, _ []value.Value) []value.Value {
		if c.AheadSteps > 0 {
			c.prefetchAcross(c.Add(k.at, c.Add(kk, build.Int(build.I64, c.AheadSteps))), from)
		}
		rows := func(i value.Value, h int) {
			to := c.Add(c.Mul(kk, build.Int(build.I64, c.Far)), c.acrossAt(i, from))
			c.spanOf(int64(h), c.VecWidth, func(r value.Value, width int) {
				c.axis(c.Row.Var, c.Add(i, r), width)
				c.InVectors(width, func() { c.prologue(kernel.OnRow) })
				c.put(c.packed(&c.X, c.Add(k.at, kk), width), c.xs, c.Add(to, r))
			})
		}
		if whole && !c.SideBySide {
			rows(from, int(c.Band))
		} else {
			c.eachTile(from, to, rows)
		}
		return nil
	})
}

// copyTiles is copyAcross for tile registers, which read rows along the chains: squares of rows are transposed in
// vector registers. Where the chains end within one, its further steps are zero. Rows that fill no square are few.
func (c *writer) copyTiles(k chain, from, to value.Value) {
	w := int64(schedule.AMXRows)
	rows := c.Cur.NewSub(to, from)
	stop := c.Cur.NewSub(to, c.Cur.NewAnd(rows, build.Int(build.I64, w-1)))
	at := func(i, kk value.Value) value.Value {
		return c.Add(c.Mul(c.Sub(i, from), build.Int(build.I64, c.Far)), kk)
	}
	square := func(kk value.Value, whole bool) {
		c.For(from, stop, w, nil, func(i value.Value, _ []value.Value) []value.Value {
			steps := make([]value.Value, w)
			c.axis(c.Row.Var, i, int(w))
			c.InVectors(int(w), func() { c.prologue(kernel.OnRow) })
			for u := range steps {
				n := value.Value(c.Add(kk, build.Int(build.I64, int64(u))))
				if whole {
					steps[u] = c.packed(&c.X, c.Add(k.at, n), int(w))
					continue
				}
				there := c.Cur.NewICmp(enum.IPredSLT, n, k.n)
				n = c.Min(n, c.Cur.NewSub(k.n, build.Int(build.I64, 1)))
				x := c.packed(&c.X, c.Add(k.at, n), int(w))
				c.InVectors(int(w), func() {
					steps[u] = c.Cur.NewSelect(there, x, constant.NewZeroInitializer(x.Type()))
				})
			}
			for r, x := range c.TransposeSquare(steps) {
				c.put(x, c.xs, c.Add(at(i, kk), build.Int(build.I64, int64(r)*c.Far)))
			}
			return nil
		})
	}
	squares := c.Cur.NewAnd(k.n, build.Int(build.I64, -w))
	c.For(build.Int(build.I64, 0), squares, w, nil, func(kk value.Value, _ []value.Value) []value.Value {
		square(kk, true)
		return nil
	})
	if n, known := build.ConstantInt(k.n); !known || n%w != 0 {
		c.When(c.Cur.NewICmp(enum.IPredSLT, squares, k.n), func() { square(squares, false) })
	}
	if !c.Free && c.Size.M%w == 0 && int64(c.Rows)%w == 0 {
		return
	}
	c.For(stop, to, 1, nil, func(i value.Value, _ []value.Value) []value.Value {
		c.axis(c.Row.Var, i, 0)
		c.prologue(kernel.OnRow)
		c.zeroBeyond(k, at(i, build.Int(build.I64, 0)))
		c.For(build.Int(build.I64, 0), k.n, 1, nil, func(kk value.Value, _ []value.Value) []value.Value {
			c.put(c.packed(&c.X, c.Add(k.at, kk), 0), c.xs, at(i, kk))
			return nil
		})
		return nil
	})
}

// prefetchAcross asks for the lines of a band of rows from row from on, at step kk.
func (c *writer) prefetchAcross(kk, from value.Value) {
	c.Env[c.Row.Var], c.Env[c.Chains.Axis.Var] = emit.Val{V: from}, emit.Val{V: kk}
	main := c.X.Main
	elem, line := build.MemoryType(c.Params[main.Param].DType), 64/int64(c.Params[main.Param].DType.Bytes())
	p := c.Addr(main.Param, c.AddressOf(main.At).Base)
	for at := int64(0); at < c.Band; at += line {
		loops.PrefetchLine(c.Func, loops.ToL1, c.Cur.NewGetElementPtr(elem, p, build.Int(build.I64, at)))
	}
}

// acrossAt is where the copy of row i lies in that of the band from row from on.
func (c *writer) acrossAt(i, from value.Value) value.Value {
	row := c.Add(i, c.Mul(from, build.Int(build.I64, -1)))
	switch {
	case c.AMX:
		return c.Mul(row, build.Int(build.I64, c.Far))
	case !c.SideBySide:
		return row
	}
	inTile := value.Value(build.Int(build.I64, 0))
	if c.Free { // rows that fill no tile are computed one by one
		inTile = c.Cur.NewSRem(row, build.Int(build.I64, int64(c.Rows)))
	}
	return c.Add(c.Mul(c.Sub(row, inTile), build.Int(build.I64, c.Piece)), inTile)
}

// copyX copies the h rows of x from row i on.
func (c *writer) copyX(k chain, i value.Value, h int) {
	rows := c.rowsThere
	if rows == nil {
		rows = build.Int(build.I64, int64(h))
	}
	c.For(build.Int(build.I64, 0), rows, 1, nil,
		func(r value.Value, _ []value.Value) []value.Value {
			if c.Row != nil {
				c.Env[c.Row.Var] = emit.Val{V: c.Add(i, r)}
			}
			c.prologue(kernel.OnRow)
			to := c.Mul(r, build.Int(build.I64, c.Far))
			c.zeroBeyond(k, to)
			whole := c.wholeSteps(k)
			c.span(whole, c.VecWidth, func(kk value.Value, width int) {
				c.put(c.packedAlong(&c.X, c.Add(k.at, kk), width), c.xs, c.Add(to, kk))
			})
			c.For(whole, k.n, 1, nil, func(kk value.Value, _ []value.Value) []value.Value {
				c.put(c.packed(&c.X, c.Add(k.at, kk), 0), c.xs, c.Add(to, kk))
				return nil
			})
			return nil
		})
}

// zeroBeyond makes the steps zero that a row of the copy of x has for tile registers, beyond the end of a piece.
func (c *writer) zeroBeyond(k chain, row value.Value) {
	n, known := build.ConstantInt(k.n)
	if !c.AMX || known && n%schedule.AMXRows == 0 {
		return
	}
	zero := constant.NewZeroInitializer(build.Vector(build.RegisterType(c.Acc), schedule.AMXRows))
	whole := value.Value(build.Int(build.I64, n/schedule.AMXRows*schedule.AMXRows))
	if !known {
		whole = c.Cur.NewAnd(k.n, build.Int(build.I64, -schedule.AMXRows))
	}
	c.put(zero, c.xs, c.Add(row, whole))
}

// copyBeside copies the h rows of x from row i on with the elements of a step side by side: squares are read along k
// and transposed in registers. What a vector has beyond the rows of a tile is overwritten by that of the next step.
func (c *writer) copyBeside(k chain, i value.Value, h int) {
	w := c.VecWidth
	bind := func(r int) {
		c.Env[c.Row.Var] = emit.Val{V: c.Add(i, build.Int(build.I64, int64(r)))}
		c.prologue(kernel.OnRow)
	}
	squares := c.Cur.NewAnd(c.wholeSteps(k), build.Int(build.I64, int64(-w)))
	c.For(build.Int(build.I64, 0), squares, int64(w), nil, func(kk value.Value, _ []value.Value) []value.Value {
		var transposed [][]value.Value
		for from := 0; from < h; from += w {
			rows := make([]value.Value, w)
			for e := range rows {
				if from+e >= h { // any number will do
					rows[e] = rows[e-1]
					continue
				}
				bind(from + e)
				rows[e] = c.packedAlong(&c.X, c.Add(k.at, kk), w)
			}
			transposed = append(transposed, c.TransposeSquare(rows))
		}
		for u := range w {
			for g, rows := range transposed {
				c.put(rows[u], c.xs, c.Add(c.Mul(kk, build.Int(build.I64, c.Far)),
					build.Int(build.I64, int64(u)*c.Far+int64(g*w))))
			}
		}
		return nil
	})
	c.For(squares, k.n, 1, nil, func(kk value.Value, _ []value.Value) []value.Value {
		for r := range h {
			bind(r)
			c.put(c.packed(&c.X, c.Add(k.at, kk), 0), c.xs, c.Add(c.Mul(kk, build.Int(build.I64, c.Far)),
				build.Int(build.I64, int64(r))))
		}
		return nil
	})
}

// copyY copies a block of y: for each panel, row after row of its columns.
func (c *writer) copyY(p panels, k chain) {
	if c.YAlong {
		c.For(build.Int(build.I64, 0), p.whole, 1, nil, func(n value.Value, _ []value.Value) []value.Value {
			c.transposePanel(p, k, n, c.Panel)
			return nil
		})
		c.ifEdge(p, func() {
			if p.some == nil {
				c.transposePanel(p, k, p.whole, p.edge)
				return
			}
			c.For(build.Int(build.I64, 0), k.n, 1, nil, func(kk value.Value, _ []value.Value) []value.Value {
				c.copySome(p, k, kk)
				return nil
			})
		})
		return
	}
	c.For(build.Int(build.I64, 0), k.n, 1, nil, func(kk value.Value, _ []value.Value) []value.Value {
		c.For(build.Int(build.I64, 0), p.whole, 1, nil, func(n value.Value, _ []value.Value) []value.Value {
			c.copyRow(p, k, kk, n, 0, c.Panel)
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
func (c *writer) panelAt(n, kk value.Value) value.Value {
	return c.Add(c.Mul(n, build.Int(build.I64, c.Panel*c.Piece)), c.Mul(kk, build.Int(build.I64, c.Panel)))
}

// copyRow copies the elements [from, to) of row kk of panel n. The rest of the last vector becomes 0: it is
// computed with, and the numbers that lie there by chance could be slow.
func (c *writer) copyRow(p panels, k chain, kk, n value.Value, from, to int64) {
	w := int64(c.VecWidth)
	at := c.panelAt(n, kk)
	col := c.Add(p.at, c.Mul(n, build.Int(build.I64, c.Panel)))
	if to%w != 0 && from <= to/w*w {
		zero := constant.NewZeroInitializer(build.Vector(build.RegisterType(c.Acc), int(w)))
		c.put(zero, c.ys, c.Add(at, build.Int(build.I64, to/w*w)))
	}
	c.spanOf(to-from, int(w), func(j value.Value, width int) {
		j = c.Add(j, build.Int(build.I64, from))
		c.axis(c.Col.Var, c.Add(col, j), width)
		c.InVectors(width, func() { c.prologue(kernel.OnColumn) })
		x := c.packed(&c.Y, c.Add(k.at, kk), width)
		c.put(x, c.ys, c.Add(at, j))
		if width == c.VecWidth {
			c.noteLeast(n, x)
		}
	})
}

// copySome copies row kk of the panel at the edge, of which p.some columns are there, and zeros for the others.
func (c *writer) copySome(p panels, k chain, kk value.Value) {
	w := c.VecWidth
	at := c.panelAt(p.whole, kk)
	for v := range c.Vecs {
		c.put(constant.NewZeroInitializer(build.Vector(build.RegisterType(c.Acc), w)), c.ys,
			c.Add(at, build.Int(build.I64, int64(v*w))))
	}
	col := c.Add(p.at, c.Mul(p.whole, build.Int(build.I64, c.Panel)))
	c.spanTo(p.some, w, func(j value.Value, width int) {
		c.axis(c.Col.Var, c.Add(col, j), width)
		c.InVectors(width, func() { c.prologue(kernel.OnColumn) })
		c.put(c.packed(&c.Y, c.Add(k.at, kk), width), c.ys, c.Add(at, j))
	})
}

// transposePanel copies panel n of an operand that lies in memory along k: squares are read along k and transposed in
// registers.
func (c *writer) transposePanel(p panels, k chain, n value.Value, cols int64) {
	w := int64(c.VecWidth)
	squares := c.Cur.NewAnd(c.wholeSteps(k), build.Int(build.I64, -w))
	col := c.Add(p.at, c.Mul(n, build.Int(build.I64, c.Panel)))
	whole := cols / w * w
	if whole > 0 {
		c.For(build.Int(build.I64, 0), build.Int(build.I64, whole), w, nil,
			func(j value.Value, _ []value.Value) []value.Value {
				c.For(build.Int(build.I64, 0), squares, w, nil, func(kk value.Value, _ []value.Value) []value.Value {
					rows := make([]value.Value, w)
					for i := range rows {
						c.Env[c.Col.Var] = emit.Val{V: c.Add(c.Add(col, j), build.Int(build.I64, int64(i)))}
						c.prologue(kernel.OnColumn)
						rows[i] = c.packedAlong(&c.Y, c.Add(k.at, kk), int(w))
					}
					for i, x := range c.TransposeSquare(rows) {
						c.put(x, c.ys, c.Add(c.panelAt(n, c.Add(kk, build.Int(build.I64, int64(i)))), j))
						c.noteLeast(n, x)
					}
					return nil
				})
				return nil
			})
	}
	// What is left: the columns beside the squares, and the rows below.
	c.For(build.Int(build.I64, 0), squares, 1, nil, func(kk value.Value, _ []value.Value) []value.Value {
		if whole < cols {
			c.copyRow(p, k, kk, n, whole, cols)
		}
		return nil
	})
	c.For(squares, k.n, 1, nil, func(kk value.Value, _ []value.Value) []value.Value {
		c.copyRow(p, k, kk, n, 0, cols)
		return nil
	})
}
