package reduce

import (
	"maps"
	"math"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/codegen/llvm/loops"
	"healc/codegen/schedule"
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Outer-axis reductions]
//
// Column sums read a matrix along its rows while they add down its columns. Going down a few columns at a time would
// touch a new page for every row, and the prefetcher would fetch ahead in rows that nobody reads on. So the loops are
// interchanged: a strip of columns is summed row by row, with the running sums in memory that stays in the caches.
// Several rows go at once, so that the running sums are read and written less often. Each column still adds its
// elements in their order.
//
// A strip is as wide as the first-level cache lets one sum be, because memory is read best from end to end. The same
// columns of the next rows are asked for in the second-level cache, unless the caches hold the matrix (nearBytes).
// The numbers of rows and of registers are measured: docs/tuning/column-reductions.md.
//
// Several sums of a vector of columns lie side by side. Apart, a store to one would hold up the loads of a row that
// lies some lines behind it modulo the size of the first-level cache's sets. A sum that stays zero has no place.
//
// Sums whose operands may be no residues (Note [Speculation]) ask for that once, behind the last row. Where one was
// none, all rows of the strip are added again with the branch. So LLVM keeps nothing for the rare arm in the loop.
// With 16 registers they do not ask for the next rows, and go down two rows at a time where the second-level cache
// holds the matrix, because rows a multiple of 4 KiB apart share the sets of the first-level cache.
//
// The rules of NaN and of zeros for a maximum or minimum of floats (Note [Extremes in vectors]) are put off until the
// end of the rows that are taken at once. The position of one is a second running value beside the best element.
//
// The last vector of a strip ends with the strip, and has running sums of its own for columns that the vector before
// has, too. Fewer columns than a vector has are vectors of another loop, if they are known to be so few.
//
// With float sums a column has a result for each 256 rows, up to 128 of them, in memory of a fixed size. So strips
// are narrower the longer the columns are. Code for any shape finds that out when it runs.

// Several sums of one matrix, such as those of the halves of its elements, go down its columns together, each with
// running sums of its own; the matrix is read once.

// strip is the code of a parallel loop over columns.
type strip struct {
	*schedule.Strip
	g    *emit.Func
	v    kernel.Ref // the column
	sums []*stripSum
}

// stripSum is one of the reductions.
type stripSum struct {
	schedule.StripSum
	r      *Reduction
	narrow *narrowSum // the sum as a narrowed one, or nil
}

// vectors are the types of its running sums: one, or the best element and its position.
func (s *stripSum) vectors(w int) []lt.Type {
	switch {
	case s.narrow != nil:
		return []lt.Type{build.Vector(build.I32, w)}
	case s.r.isArgument():
		return []lt.Type{build.Vector(build.RegisterType(s.r.D), w), build.Vector(s.positions(), w)}
	}
	return []lt.Type{build.Vector(build.RegisterType(s.r.D), w)}
}

// positions is the type of the positions of an extreme: an axis is shorter than 2^31, but masks are as wide as the
// elements.
func (s *stripSum) positions() *lt.IntType {
	if s.r.bitsType().BitSize == 64 {
		return build.I64
	}
	return build.I32
}

// identity of w running sums. At the first position there is the worst element, as no other may be better.
func (s *stripSum) identity(w int) []value.Value {
	g := s.r.G
	switch {
	case s.narrow != nil:
		return []value.Value{g.ConstOf(build.Int(build.I32, 0), w)}
	case s.r.isArgument():
		return []value.Value{g.ConstOf(s.r.worst(), w), g.ConstOf(build.Int(s.positions(), 0), w)}
	}
	return []value.Value{s.r.identity(w)}
}

// element computes the elements that the sum takes from a row.
func (s *stripSum) element(row value.Value, w int) value.Value {
	x := s.r.at(row)
	if s.narrow != nil {
		return s.narrow.term(s.r.G, w)
	}
	return x
}

// add is acc and elements of the rows from row on.
func (s *stripSum) add(acc []value.Value, row value.Value, xs []value.Value, w int) []value.Value {
	g := s.r.G
	switch {
	case s.narrow != nil:
		for _, x := range xs {
			acc = []value.Value{g.Cur.NewAdd(acc[0], x)}
		}
		return acc
	case s.r.isArgument():
		for u, x := range xs {
			at := g.Add(row, build.Int(build.I64, int64(u)))
			if s.positions() != build.I64 {
				at = g.Cur.NewTrunc(at, s.positions())
			}
			better := s.r.Better(x, acc[0])
			acc = []value.Value{g.Cur.NewSelect(better, x, acc[0]), g.Cur.NewSelect(better, g.Splat(at), acc[1])}
		}
		return acc
	}
	return []value.Value{s.r.combineMany(acc[0], xs, w)}
}

// ColumnForm has reductions across rows go by strips of columns.
var ColumnForm = emit.ParallelForm{
	Name: "outer reduction strips",
	For:  "loops over columns, along which elements are neighbours, with reductions down each of them",
	Why:  "plain vectors would keep every accumulator of a column in registers, and read memory a vector a row",
	Write: func(g *emit.Func, v kernel.Ref, lo, hi value.Value, body *kernel.Block) (value.Value, bool) {
		c := columnStrip(g, v, body)
		if c == nil {
			return nil, false
		}
		// All in strips, but for fewer columns than a vector and, in a kernel in place, an incomplete vector.
		n := value.Value(g.Cur.NewSub(hi, lo))
		some := value.Value(g.Cur.NewICmp(enum.IPredSGE, n, build.Int(build.I64, int64(c.Width))))
		if g.InPlace() {
			n = g.RoundDown(n, int64(c.Width))
		}
		if fits := c.fits(); fits != nil {
			some = g.Cur.NewAnd(fits, some)
		}
		stop := g.Cur.NewAdd(lo, g.Cur.NewSelect(some, n, build.Int(build.I64, 0)))
		c.run(lo, stop)
		return stop, true
	},
}

// columnStrip is the loop as the schedule has it; nil where it does not go by strips.
func columnStrip(g *emit.Func, v kernel.Ref, body *kernel.Block) *strip {
	d := g.Schedule.Find("strip", v)
	if d == nil || g.Width != 0 {
		return nil
	}
	t, _ := g.Code().StripOf(v, body, d)
	c := &strip{Strip: t, g: g, v: v}
	for _, s := range t.Sums {
		one := &stripSum{StripSum: s}
		if s.Narrow != nil {
			one.narrow = (*narrowSum)(s.Narrow)
		}
		c.sums = append(c.sums, one)
	}
	return c
}

// each runs body for vectors of w of the strip's n columns; j counts their running sums from 0.
func (c *strip) each(n value.Value, w int, body func(j value.Value)) {
	g := c.g
	if w < c.Width { // all of the last vector, whose columns may be some of the one before
		n = g.RoundDown(g.Add(n, build.Int(build.I64, int64(c.Width-1))), int64(c.Width))
	}
	g.For(build.Int(build.I64, 0), n, int64(w), nil, func(j value.Value, _ []value.Value) []value.Value {
		g.InVectors(w, func() { body(j) })
		return nil
	})
}

// at is the place in mem of sum s of the vector of columns from j on, of the part of it that is of type t: all sums of
// c.Width columns stand together.
func (c *strip) at(s *stripSum, part int, t lt.Type, mem, j value.Value) value.Value {
	g := c.g
	inside := value.Value(build.Int(build.I64, 0)) // the columns before j that stand with it
	if g.Width != c.Width {
		inside = g.Cur.NewAnd(j, build.Int(build.I64, int64(c.Width-1)))
		j = g.RoundDown(j, int64(c.Width))
	}
	bytes := int64(s.r.slotBytes())
	if part > 0 {
		bytes = int64(s.positions().BitSize / 8)
	}
	place := g.Add(g.Cur.NewMul(j, build.Int(build.I64, c.Bytes)),
		build.Int(build.I64, (s.Slot+int64(part)*s.Size)*int64(c.Width)))
	place = g.Add(place, g.Cur.NewMul(inside, build.Int(build.I64, bytes)))
	return g.Cur.NewBitCast(g.Cur.NewGetElementPtr(build.I8, mem, place), lt.NewPointer(t))
}

func (c *strip) load(s *stripSum, mem, j value.Value) []value.Value {
	var out []value.Value
	for i, t := range s.vectors(c.g.Width) {
		l := c.g.Cur.NewLoad(t, c.at(s, i, t, mem, j))
		l.Align = lir.Align(min(s.r.slotBytes(), int(s.Size)))
		out = append(out, l)
	}
	return out
}

func (c *strip) store(s *stripSum, x []value.Value, mem, j value.Value) {
	for i, t := range s.vectors(c.g.Width) {
		st := c.g.Cur.NewStore(x[i], c.at(s, i, t, mem, j))
		st.Align = lir.Align(min(s.r.slotBytes(), int(s.Size)))
	}
}

// join is the sum of two running sums of a whole vector, of which only sums of floats have several.
func (c *strip) join(s *stripSum, x, y []value.Value) []value.Value {
	return []value.Value{s.r.Combine(x[0], y[0], c.Width)}
}

// column is the first column of the running sums from j on, of the strip of n that begins with c0. The last vector ends
// with the strip: it has sums of its own for columns that the one before has, too.
func (c *strip) column(c0, n, j value.Value) value.Value {
	g := c.g
	first := g.RoundDown(j, int64(c.Width))
	return g.Cur.NewAdd(g.Add(c0, g.Min(first, g.Sub(n, build.Int(build.I64, int64(c.Width))))), g.Sub(j, first))
}

// run reduces the columns [lo, hi), none or at least c.Width; of kernels that work in place whole vectors of them.
func (c *strip) run(lo, hi value.Value) {
	g := c.g
	slots := c.Columns * c.Lanes
	if c.Lanes == 0 {
		slots = c.Slots
	}
	for _, s := range c.sums {
		s.r = newReduction(g, s.Reduce)
	}
	sums, results := g.Stack(build.I8, int(c.Columns*c.Bytes)), value.Value(nil) // those of chunks
	if c.Lanes != 1 {
		results = g.Stack(build.I8, int(slots*c.Bytes))
	}
	r := c.sums[0].r
	order := c.sums[0].Reduce.Order
	lanes, cols := value.Value(build.Int(build.I64, c.Lanes)), value.Value(build.Int(build.I64, c.Columns))
	var some value.Value // that there are several lanes, where nobody knows yet
	if c.Lanes == 0 {
		size := kernel.Columns.Chunk()
		some = g.Cur.NewICmp(enum.IPredSGT, r.n, build.Int(build.I64, size))
		lanes = r.minInt(g.Cur.NewSDiv(g.Add(r.n, build.Int(build.I64, size-1)), build.Int(build.I64, size)),
			build.Int(build.I64, kernel.NumLanes))
		fit := g.RoundDown(g.Cur.NewUDiv(build.Int(build.I64, slots),
			g.Cur.NewSelect(some, lanes, build.Int(build.I64, 1))), int64(c.Width))
		cols = r.minInt(fit, cols)
	}
	several := func(f func()) {
		if c.Lanes != 1 {
			g.If(some, nil, func() []value.Value {
				f()
				return nil
			})
		}
	}
	g.ForStep(lo, hi, cols, nil, func(c0 value.Value, _ []value.Value) []value.Value {
		n := r.minInt(g.Cur.NewSub(hi, c0), cols)
		column := func(j value.Value) { g.Env[c.v] = emit.Val{V: c.column(c0, n, j), Iota: true} }
		lane := func(l value.Value) value.Value {
			return g.Cur.NewGetElementPtr(build.I8, results,
				g.Cur.NewMul(l, g.Cur.NewMul(cols, build.Int(build.I64, c.Bytes))))
		}
		first, last := r.bounds()
		size := kernel.Columns.Chunk()
		if order == kernel.Any {
			size = math.MaxInt32 // one piece
		}
		// all does f for each vector of each sum.
		all := func(f func(s *stripSum, j value.Value)) {
			c.each(n, c.Width, func(j value.Value) {
				for _, s := range c.sums {
					f(s, j)
				}
			})
		}
		several(func() {
			g.For(build.Int(build.I64, 0), lanes, 1, nil, func(l value.Value, _ []value.Value) []value.Value {
				all(func(s *stripSum, j value.Value) { c.store(s, s.identity(c.Width), lane(l), j) })
				return nil
			})
		})
		g.For(first, last, size, []value.Value{build.Int(build.I64, 0)},
			func(p value.Value, state []value.Value) []value.Value {
				end := r.minInt(g.Cur.NewAdd(p, build.Int(build.I64, size)), last)
				c.piece(sums, p, end, n, column)
				several(func() {
					l := g.Cur.NewAnd(state[0], build.Int(build.I64, kernel.NumLanes-1))
					all(func(s *stripSum, j value.Value) {
						m := lane(l)
						c.store(s, c.join(s, c.load(s, m, j), c.load(s, sums, j)), m, j)
					})
				})
				return []value.Value{g.Cur.NewAdd(state[0], build.Int(build.I64, 1))}
			})
		several(func() { c.foldLanes(lanes, lane, all) })
		c.finish(n, sums, results, some, column)
		return nil
	})
}

// foldLanes folds the chunk results of all columns in halves.
func (c *strip) foldLanes(lanes value.Value, lane func(l value.Value) value.Value,
	all func(f func(s *stripSum, j value.Value))) {
	g := c.g
	for w := int64(kernel.NumLanes / 2); w >= 1; w /= 2 {
		far := build.Int(build.I64, w)
		g.For(build.Int(build.I64, 0), g.Min(g.Sub(lanes, far), far), 1, nil,
			func(l value.Value, _ []value.Value) []value.Value {
				all(func(s *stripSum, j value.Value) {
					x, y := lane(l), lane(g.Cur.NewAdd(l, far))
					c.store(s, c.join(s, c.load(s, x, j), c.load(s, y, j)), x, j)
				})
				return nil
			})
	}
}

// finish writes the epilogue of the columns of a strip, whose sums are in sums, or in results where there are some
// chunk results; where nobody knows that, some tells.
func (c *strip) finish(n, sums, results, some value.Value, column func(j value.Value)) {
	g := c.g
	c.each(n, c.Rest, func(j value.Value) {
		column(j)
		g.Block(&kernel.Block{Stmts: c.Before})
		result := sums
		if some != nil {
			result = g.Cur.NewSelect(some, results, sums)
		} else if c.Lanes > 1 {
			result = results
		}
		for _, s := range c.sums {
			x := c.load(s, result, j)[0]
			switch {
			case s.narrow != nil:
				x = s.narrow.sum(g, x, g.Width)
			case s.r.isArgument():
				if x = c.load(s, result, j)[1]; s.positions() != build.I64 {
					x = g.Cur.NewSExt(x, build.Vector(build.I64, g.Width))
				}
				g.Set(s.Reduce.ID, x, true)
				continue
			}
			g.Set(s.Reduce.ID, s.r.orNothing(x), true) // without rows nothing was stored
		}
		g.Block(&kernel.Block{Stmts: c.After})
	})
}

// fits reports, where nobody knows how many rows there are, that their chunk results are no more than one level; nil
// where it is known.
func (c *strip) fits() value.Value {
	if c.Lanes > 0 {
		return nil
	}
	return c.g.Cur.NewICmp(enum.IPredSLE, newReduction(c.g, c.sums[0].Reduce).n,
		build.Int(build.I64, kernel.Columns.Chunk()*kernel.Lanes.Chunk()))
}

// piece adds the rows [p, end) into the running sums, which it starts anew.
// Its parts share the running sums and what is put off.
func (c *strip) piece(sums, p, end, n value.Value, column func(j value.Value)) {
	g := c.g
	rows, known := build.ConstantInt(c.sums[0].r.n)
	// with the sums of the first rows, which are stored as they are and not added to zero
	begins := known && rows >= c.Rows && c.Lanes == 1 && c.sums[0].Reduce.Chunk == scalar.None
	anew := func() {
		c.each(n, c.Width, func(j value.Value) {
			for _, s := range c.sums {
				c.store(s, s.identity(c.Width), sums, j)
			}
		})
	}
	if !begins {
		anew()
	}
	f := emit.State[loops.Prefetching](g)
	ahead := f.Ahead
	defer func() { f.Ahead = ahead }()
	var rareArms *loops.HotPath
	if len(c.Rare) > 0 {
		rareArms = &loops.HotPath{Ifs: c.Rare, Of: map[kernel.Ref]*loops.Guard{}, Start: g.Cur}
	}
	add := func(row value.Value, rows int64, begins bool) {
		f.Ahead = c.nextRows(rows)
		c.each(n, c.Width, func(j value.Value) {
			column(j)
			g.Block(&kernel.Block{Stmts: c.Before})
			emit.State[loops.Speculation](g).Path = rareArms
			acc := make([][]value.Value, len(c.sums))
			for i, s := range c.sums {
				if begins {
					acc[i] = s.identity(c.Width)
				} else {
					acc[i] = c.load(s, sums, j)
				}
			}
			xs := make([][]value.Value, len(c.sums))
			for u := range rows {
				for i, s := range c.sums {
					at := g.Add(row, build.Int(build.I64, u))
					xs[i] = append(xs[i], s.element(at, c.Width))
					if !s.r.putsOff() {
						acc[i], xs[i] = s.add(acc[i], at, xs[i], c.Width), nil
					}
				}
			}
			for i, s := range c.sums {
				acc[i] = s.add(acc[i], row, xs[i], c.Width)
			}
			emit.State[loops.Speculation](g).Path = nil
			if rareArms != nil {
				rareArms.Keep(g)
			}
			for i, s := range c.sums {
				c.store(s, acc[i], sums, j)
			}
		})
	}
	full := g.Cur.NewAnd(g.Cur.NewSub(end, p), build.Int(build.I64, -c.Rows))
	stop, next := g.Cur.NewAdd(p, full), p
	if begins {
		add(p, c.Rows, true)
		next = g.Add(p, build.Int(build.I64, c.Rows))
	}
	g.For(next, stop, c.Rows, nil, func(row value.Value, _ []value.Value) []value.Value {
		add(row, c.Rows, false)
		return nil
	})
	one := func(row value.Value, _ []value.Value) []value.Value { add(row, 1, false); return nil }
	g.For(stop, end, 1, nil, one)
	if rareArms == nil {
		return
	}
	var some value.Value
	g.InVectors(c.Width, func() { some = rareArms.Ever(g) })
	if rareArms = nil; some == nil {
		return
	}
	g.If(some, nil, func() []value.Value {
		anew()
		g.For(p, end, 1, nil, one)
		return nil
	})
}

// nextRows lets the loads of so many rows ask for the same columns of the rows after them: in each row the processor's
// own fetching would begin anew.
func (c *strip) nextRows(rows int64) map[*kernel.Load]loops.Row {
	if c.Ahead == 0 || rows == 1 {
		return nil
	}
	out := map[*kernel.Load]loops.Row{}
	asked := map[int]bool{} // by a sum before
	for _, s := range c.sums {
		mine := map[int]bool{}
		kernel.Each(s.Reduce.Body, func(l *kernel.Load) {
			far, ok := schedule.RowDistance(l.At, s.Reduce.Axes[0].Var, c.v)
			if !ok || asked[l.Param] {
				return
			}
			if further, err := far.Mul(types.Lit(rows * c.Ahead)); err == nil {
				out[l], mine[l.Param] = loops.Row{Far: further, Level: loops.ToL2}, true
			}
		})
		maps.Copy(asked, mine)
	}
	return out
}
