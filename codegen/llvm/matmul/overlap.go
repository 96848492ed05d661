package matmul

import (
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/schedule"
	"healc/ir/kernel"
)

// Note [Tiles that overlap]
//
// A processor goes on past stores of registers whose sums are not ready for as many rows as its scheduler has room for,
// and no further: after a tile it waits for the last product before it reads what the next one needs. So a tile stores
// the sums of the one to its left, register by register, each before the first product that goes to that register.
// What follows the chains there comes after the first step, or, where sums are rounded, some rows after each of the
// next ones. The first tile of a row stores what nobody reads to memory of the thread, and behind the last one its sums
// are stored alone.

// overlapsTiles reports that the tiles of a row overlap.
func (c *writer) overlapsTiles() bool { return c.AMX && !c.Free && len(c.guards) == 0 }

// overlappedTiles computes a tile of each whole panel of a block.
func (c *writer) overlappedTiles(p panels, k chain, what tile) {
	all := func(epilogue bool) []value.Value {
		zero := build.Int(build.I64, 0)
		what.cols, what.there = c.Panel, nil
		c.For(zero, p.whole, 1, nil, func(n value.Value, _ []value.Value) []value.Value {
			what.n = n
			c.overlappedTile(p, k, what, epilogue)
			return nil
		})
		c.When(c.Cur.NewICmp(enum.IPredSGT, p.whole, zero), func() {
			what.n = c.Sub(p.whole, build.Int(build.I64, 1))
			t := c.newTile(k, p, what)
			if epilogue {
				t.amxEpilogue()
			} else {
				t.amxSums(k, "tilestored64")
			}
		})
		return nil
	}
	switch {
	case c.PlainStore:
		all(false)
	case k.last == nil:
		all(true)
	default:
		c.IfElse(k.last, func() []value.Value { return all(true) }, func() []value.Value { return all(false) })
	}
}

// overlappedTile computes the tile of one panel but for its end, and ends the one to the left.
func (c *writer) overlappedTile(p panels, k chain, what tile, epilogue bool) {
	t := c.newTile(k, p, what)
	for _, l := range t.ReadAtTile() {
		t.prefetchRead(l, k)
	}
	left := what
	left.n = c.Sub(what.n, build.Int(build.I64, 1))
	before := c.newTile(k, p, left)
	there := c.Cur.NewICmp(enum.IPredSGT, t.n, build.Int(build.I64, 0))
	to, far := t.scratch(), value.Value(build.Int(build.I64, int64(t.vecs*t.VecWidth)))
	if !epilogue {
		to = c.Cur.NewSelect(there, before.carryAt(k), to)
		far = c.Cur.NewSelect(there, t.carryStride(), far)
	}
	store := func(n, r, v int) { t.moveSum("tilestored64", n, r, v, to, far) }
	end := func() {
		if epilogue {
			c.When(there, before.amxEpilogueOfScratch)
		}
	}
	chains := func() []value.Value {
		t.eachBeginning(k, func(begin func(n, r, v int)) {
			t.amxStep(build.Int(build.I64, 0), func(n, r, v int) {
				store(n, r, v)
				begin(n, r, v)
			})
		})
		first := value.Value(build.Int(build.I64, schedule.AMXRows))
		if st := before.storesRounded(); epilogue && t.roundsSum() && st != nil {
			first = before.roundAmongSteps(st, k, there, t.amxStepAlone)
		} else {
			end()
		}
		c.For(first, k.n, schedule.AMXRows, nil, func(kk value.Value, _ []value.Value) []value.Value {
			t.amxStepAlone(kk)
			return nil
		})
		return nil
	}
	if !c.Halves() {
		chains()
		return
	}
	c.IfElse(t.tiny(), func() []value.Value {
		t.eachSum(store)
		end()
		t.eachBeginning(k, t.eachSum)
		t.tinyChains(k)
		return nil
	}, chains)
}

// eachBeginning writes f with what sums begin with: 0, or what the piece before left.
func (t *tileGen) eachBeginning(k chain, f func(begin func(n, r, v int))) {
	zero := func() []value.Value {
		f(func(n, _, _ int) { t.amx("tilezero", register(n)) })
		return nil
	}
	if k.first == nil {
		zero()
		return
	}
	p, far := t.carryAt(k), t.carryStride()
	t.IfElse(k.first, zero, func() []value.Value {
		f(func(n, r, v int) { t.moveSum("tileloadd64", n, r, v, p, far) })
		return nil
	})
}

// moveSum moves the register of sums n, of row r and vector v, from or to a tile at p.
func (t *tileGen) moveSum(name string, n, r, v int, p, far value.Value) {
	below := t.Mul(build.Int(build.I64, int64(r*schedule.AMXRows)), far)
	row := t.Cur.NewGetElementPtr(build.RegisterType(t.Acc), p, below)
	t.moveTile(name, n, t.offset(row, int64(v*t.VecWidth)), far)
}

// roundAmongSteps ends a tile, where it is there, whose sums are rounded: some rows after each step of the next one
// from the second on. It returns the step after those. Where this code runs no sum was subnormal.
func (t *tileGen) roundAmongSteps(st *kernel.Store, k chain, there value.Value,
	step func(kk value.Value)) value.Value {
	p, far := t.address(st.Param, st.At, chain{at: build.Int(build.I64, 0)}), t.rowStride(st.At)
	const w = schedule.AMXRows
	rowAt := func(kk value.Value) value.Value {
		return t.Cur.NewSDiv(t.Sub(kk, build.Int(build.I64, w)), build.Int(build.I64, w/roundedAtOnce))
	}
	stop := t.Min(t.wholeTiles(k), build.Int(build.I64, int64(t.h/roundedAtOnce+1)*w))
	t.For(build.Int(build.I64, w), stop, w, nil, func(kk value.Value, _ []value.Value) []value.Value {
		step(kk)
		t.When(there, func() {
			t.storeRoundedRows(rowAt(kk), p, far)
		})
		return nil
	})
	t.When(there, func() {
		rows := build.Int(build.I64, int64(t.h))
		t.For(rowAt(stop), rows, roundedAtOnce, nil, func(r value.Value, _ []value.Value) []value.Value {
			t.storeRoundedRows(r, p, far)
			return nil
		})
	})
	return stop
}
