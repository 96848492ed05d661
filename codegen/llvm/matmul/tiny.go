package matmul

import (
	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/schedule"
)

// Note [Tiny bf16]
//
// A tile register of bf16 has a block of 32 elements of the chains, and its instruction adds a block in the order of
// Note [Products by blocks] in ir/ops. But it takes subnormals for 0, operands and what each addition gives, and the
// language keeps them.
//
// A bf16 whose exponent is e is a multiple of 2^(e-7). So where the least exponents of the elements of x and of y are
// e and f, every product, every sum of such and what these are rounded to is a multiple of 2^(e+f-14). Where that is
// 2^-126 or more, none of them is subnormal, and the bits are the same. Elements that are 0 do not count.
//
// So the least magnitude of the copies is searched: of each panel of y, and of the rows of x. Where a product of the
// two may be subnormal, a tile computes the piece of its chains in vectors, from the same copies, and so does each tile
// in the pieces behind it, whose sums may begin with subnormals.

// leastNormal is the least sum of two exponents, as bf16 has them, of which no product or sum is subnormal.
const leastNormal = 142

// setTiny says whether the tiles of the pieces that follow compute in vectors.
func (c *writer) setTiny(is int64) {
	if c.Halves() {
		c.Cur.NewStore(build.Int(build.I32, is), c.leasts)
	}
}

// Vectors of bf16 whose least is searched: of each element the magnitude less one, so that 0 is above all.
const leastWidth = 2 * schedule.AMXRows

var leastType = build.Vector(lt.I16, leastWidth)

func (c *writer) lesser(x, least value.Value) value.Value {
	x = c.Cur.NewBitCast(x, leastType)
	x = c.Cur.NewAdd(c.Cur.NewAnd(x, leastSplat(0x7fff)), leastSplat(-1))
	return c.Cur.NewSelect(c.Cur.NewICmp(enum.IPredULT, x, least), x, least)
}

func leastSplat(x int64) value.Value { return build.SplatConst(constant.NewInt(lt.I16, x), leastWidth) }

// leastOf is the least exponent of the elements of rows of x that are not 0. A row is n steps, a multiple of those of a
// tile register, far steps from the one before.
func (c *writer) leastOf(mem, rows, n, far value.Value) value.Value {
	zero := build.Int(build.I64, 0)
	least := c.For(zero, rows, 1, []value.Value{leastSplat(-1)}, func(r value.Value, s []value.Value) []value.Value {
		row := c.Cur.NewGetElementPtr(lt.Float, mem, c.Mul(r, far))
		return c.For(zero, n, schedule.AMXRows, s, func(kk value.Value, s []value.Value) []value.Value {
			p := c.Cur.NewBitCast(c.Cur.NewGetElementPtr(lt.Float, row, kk), lt.NewPointer(leastType))
			l := c.Cur.NewLoad(leastType, p)
			l.Align = lir.Align(4)
			return []value.Value{c.lesser(l, s[0])}
		})
	})[0]
	return c.leastExponent(least)
}

// leastExponent is the least exponent of a vector of lesser: one far above all where all elements are 0, one far below
// all where one is subnormal.
func (c *writer) leastExponent(least value.Value) value.Value {
	f := c.Intrinsic("llvm.vector.reduce.umin.v32i16", lt.I16, leastType)
	x := c.Cur.NewZExt(c.Cur.NewCall(f, least), build.I32)
	e := c.Cur.NewLShr(c.Cur.NewAdd(x, build.Int(build.I32, 1)), build.Int(build.I32, 7))
	subnormal := c.Cur.NewICmp(enum.IPredEQ, e, build.Int(build.I32, 0))
	return c.Cur.NewSelect(subnormal, build.Int(build.I32, -1<<16), e)
}

// leastVector is where the vector is of which the least of panel n is made.
func (c *writer) leastVector(n value.Value) value.Value {
	p := c.Cur.NewGetElementPtr(build.I32, c.leastY, c.Mul(n, build.Int(build.I64, int64(c.VecWidth))))
	return c.Cur.NewBitCast(p, lt.NewPointer(leastType))
}

// beginLeasts prepares the search for the leasts of whole panels, which are noted while these are copied.
func (c *writer) beginLeasts(p panels) {
	c.For(build.Int(build.I64, 0), p.whole, 1, nil, func(n value.Value, _ []value.Value) []value.Value {
		c.Cur.NewStore(leastSplat(-1), c.leastVector(n)).Align = 64
		return nil
	})
}

// noteLeast is called for each vector of the copy of panel n.
func (c *writer) noteLeast(n, x value.Value) {
	if !c.Halves() {
		return
	}
	l := c.Cur.NewLoad(leastType, c.leastVector(n))
	l.Align = 64
	c.Cur.NewStore(c.lesser(x, l), c.leastVector(n)).Align = 64
}

// wholeTiles is how many steps the tile registers of a piece have.
func (c *writer) wholeTiles(k chain) value.Value {
	if n, known := build.ConstantInt(k.n); known {
		return build.Int(build.I64, (n+schedule.AMXRows-1)/schedule.AMXRows*schedule.AMXRows)
	}
	return c.Cur.NewAnd(c.Cur.NewAdd(k.n, build.Int(build.I64, schedule.AMXRows-1)),
		build.Int(build.I64, -schedule.AMXRows))
}

// withLeast is a tile with the least of its rows of x.
func (c *writer) withLeast(k chain, t tile) tile {
	if !c.Halves() {
		return t
	}
	rows := c.rowsThere
	if rows == nil {
		rows = build.Int(build.I64, int64(t.h))
	}
	var mem value.Value
	if c.PackX {
		mem = c.Cur.NewGetElementPtr(lt.Float, c.xs, t.copied)
	} else {
		mem = c.rowsInPlace(t.i, k)
	}
	t.leastX = c.leastOf(mem, rows, c.wholeTiles(k), build.Int(build.I64, c.Far))
	return t
}

// leastOfPanels finds the least of each panel, and makes those steps of the copy of y zeros that are beyond the end of
// a piece: 0 times what may lie there is not 0.
func (c *writer) leastOfPanels(p panels, k chain) {
	whole := c.wholeTiles(k)
	zeros := func(n value.Value) {
		c.For(k.n, whole, 1, nil, func(kk value.Value, _ []value.Value) []value.Value {
			for v := range c.Vecs {
				c.put(constant.NewZeroInitializer(build.Vector(lt.Float, c.VecWidth)), c.ys,
					c.Add(c.panelAt(n, kk), build.Int(build.I64, int64(v*c.VecWidth))))
			}
			return nil
		})
	}
	c.For(build.Int(build.I64, 0), p.whole, 1, nil, func(n value.Value, _ []value.Value) []value.Value {
		zeros(n)
		l := c.Cur.NewLoad(leastType, c.leastVector(n))
		l.Align = 64
		c.Cur.NewStore(c.leastExponent(l), c.leastAt(n))
		return nil
	})
	c.ifEdge(p, func() {
		zeros(p.whole)
		w := int64(c.VecWidth)
		vecs := build.Int(build.I64, (p.edge+w-1)/w*w)
		mem := c.Cur.NewGetElementPtr(lt.Float, c.ys, c.panelAt(p.whole, build.Int(build.I64, 0)))
		least := c.leastOf(mem, whole, vecs, build.Int(build.I64, c.Panel))
		c.Cur.NewStore(least, c.leastAt(p.whole))
	})
}

// leastAt is where the least of panel n is.
func (c *writer) leastAt(n value.Value) value.Value {
	return c.Cur.NewGetElementPtr(build.I32, c.leasts, c.Add(n, build.Int(build.I64, 1)))
}

// tiny reports that something that the tile computes may be subnormal.
func (t *tileGen) tiny() value.Value {
	both := t.Cur.NewAdd(t.leastX, t.Cur.NewLoad(build.I32, t.leastAt(t.n)))
	before := t.Cur.NewLoad(build.I32, t.leasts)
	return t.Cur.NewOr(t.Cur.NewICmp(enum.IPredSLT, both, build.Int(build.I32, leastNormal)),
		t.Cur.NewICmp(enum.IPredNE, before, build.Int(build.I32, 0)))
}

// tinyChains computes a piece of the chains in vectors. Sums go from the registers through memory of the thread and
// back.
func (t *tileGen) tinyChains(k chain) {
	t.setTiny(1)
	t.eachSum(func(n, r, v int) { t.scratchTile("tilestored64", n, r, v) })
	together := 4 // rows whose chains are in registers
	for t.h%together != 0 {
		together--
	}
	far := int64(t.vecs * t.VecWidth)
	t.For(build.Int(build.I64, 0), build.Int(build.I64, int64(t.h)), int64(together), nil,
		func(r value.Value, _ []value.Value) []value.Value {
			sums := make([]value.Value, together*t.vecs)
			at := func(i int) value.Value {
				row := t.Add(t.Mul(r, build.Int(build.I64, far)), build.Int(build.I64, int64(i/t.vecs)*far))
				return t.Cur.NewGetElementPtr(lt.Float, t.scratch(), row)
			}
			for i := range sums {
				sums[i] = t.loadVector(at(i), i%t.vecs, true)
			}
			t.InVectors(t.VecWidth, func() {
				sums = t.For(build.Int(build.I64, 0), k.n, schedule.AMXRows, sums,
					func(kk value.Value, s []value.Value) []value.Value { return t.tinyBlock(kk, r, s) })
			})
			for i, s := range sums {
				p := t.Cur.NewBitCast(t.offset(at(i), int64(i%t.vecs*t.VecWidth)), lt.NewPointer(t.vectorType()))
				t.Cur.NewStore(s, p).Align = lir.Align(4 * t.VecWidth)
			}
			return nil
		})
	t.eachSum(func(n, r, v int) { t.scratchTile("tileloadd64", n, r, v) })
}

// tinyBlock adds the block from step kk on to the sums of some rows from row r on.
func (t *tileGen) tinyBlock(kk, r value.Value, sums []value.Value) []value.Value {
	n := len(sums)
	words := build.Vector(build.I32, t.VecWidth)
	parts := func(x value.Value) (even, odd value.Value) {
		even = t.Cur.NewShl(x, t.Splat(build.Int(build.I32, 16)))
		odd = t.Cur.NewAnd(x, t.Splat(build.Int(build.I32, -1<<16)))
		return t.Cur.NewBitCast(even, t.vectorType()), t.Cur.NewBitCast(odd, t.vectorType())
	}
	x := t.Cur.NewGetElementPtr(lt.Float, t.x.base, t.Add(t.Mul(r, build.Int(build.I64, t.Far)), kk))
	y := t.Cur.NewGetElementPtr(lt.Float, t.y.base, t.Mul(kk, build.Int(build.I64, t.Panel)))
	chains := t.For(build.Int(build.I64, 0), build.Int(build.I64, schedule.AMXRows), 1, t.zeros(2*n),
		func(u value.Value, s []value.Value) []value.Value {
			next := make([]value.Value, 2*n)
			ys := make([][2]value.Value, t.vecs)
			row := t.Cur.NewGetElementPtr(lt.Float, y, t.Mul(u, build.Int(build.I64, t.Panel)))
			for v := range ys {
				even, odd := parts(t.Cur.NewBitCast(t.loadVector(row, v, true), words))
				ys[v] = [2]value.Value{even, odd}
			}
			for i := range n {
				p := t.offset(t.Cur.NewGetElementPtr(lt.Float, x, u), int64(i/t.vecs)*t.Far)
				l := t.Cur.NewLoad(build.I32, t.Cur.NewBitCast(p, lt.NewPointer(build.I32)))
				even, odd := parts(t.Splat(l))
				next[i] = t.mulAdd(even, ys[i%t.vecs][0], s[i])
				next[n+i] = t.mulAdd(odd, ys[i%t.vecs][1], s[n+i])
			}
			return next
		})
	return t.fold(sums, chains[:n], chains[n:])
}
