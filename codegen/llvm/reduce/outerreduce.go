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
	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/ir/kernel/transform"
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

const (
	StripBytes = 16 << 10  // of the running sums of one reduction
	lanesBytes = 128 << 10 // of chunk results, on the stack
	stripRows  = 4
	nearRows   = 8        // of a matrix that is near
	secondRows = 2        // of one in the second-level cache, where there are rare arms
	nearBytes  = 16 << 20 // held by the caches
)

// Several sums of one matrix, such as those of the halves of its elements, go down its columns together, each with
// running sums of its own; the matrix is read once.

// strip is a parallel loop over columns whose body is reductions across rows, which wait for nothing of each other, and
// what follows them.
type strip struct {
	g      *emit.Func
	v      kernel.Ref // the column
	before []kernel.Stmt
	after  []kernel.Stmt
	sums   []*stripSum
	W      int                 // columns of one vector
	rest   int                 // columns of one vector in the epilogue
	cols   int64               // columns of a strip, at most
	lanes  int64               // chunk results kept; 0 when the kernel finds out how many
	slots  int64               // that it has for them then, in all columns of a strip
	bytes  int64               // bytes that the running sums of a column take
	rows   int64               // that are added at once
	ask    bool                // for the rows after them
	rare   map[*kernel.If]bool // branches in the reductions, see Note [Speculation]
}

// stripSum is one of the reductions.
type stripSum struct {
	s    *kernel.Reduce
	r    *Reduction
	size int64      // of a running sum, in bytes
	slot int64      // of a column, in bytes, that those before it take
	high *narrowSum // the sum as a narrowed one, or nil
}

// vectors are the types of its running sums: one, or the best element and its position.
func (s *stripSum) vectors(w int) []lt.Type {
	switch {
	case s.high != nil:
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
	case s.high != nil:
		return []value.Value{g.ConstOf(build.Int(build.I32, 0), w)}
	case s.r.isArgument():
		return []value.Value{g.ConstOf(s.r.worst(), w), g.ConstOf(build.Int(s.positions(), 0), w)}
	}
	return []value.Value{s.r.identity(w)}
}

// element computes the elements that the sum takes from a row.
func (s *stripSum) element(row value.Value, w int) value.Value {
	x := s.r.at(row)
	if s.high != nil {
		return s.high.term(s.r.G, w)
	}
	return x
}

// add is acc and elements of the rows from row on.
func (s *stripSum) add(acc []value.Value, row value.Value, xs []value.Value, w int) []value.Value {
	g := s.r.G
	switch {
	case s.high != nil:
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
		c := ColumnStrip(g, v, body)
		if c == nil || g.Shorter(lo, hi, c.W) && !g.Machine.Masks() {
			return nil, false // a mask takes the few columns that are no vector of a strip
		}
		// All in strips, but for fewer columns than a vector and, in a kernel in place, an incomplete vector.
		n := value.Value(g.Cur.NewSub(hi, lo))
		some := value.Value(g.Cur.NewICmp(enum.IPredSGE, n, build.Int(build.I64, int64(c.W))))
		if g.InPlace() {
			n = g.RoundDown(n, int64(c.W))
		}
		if fits := c.fits(); fits != nil {
			some = g.Cur.NewAnd(fits, some)
		}
		stop := g.Cur.NewAdd(lo, g.Cur.NewSelect(some, n, build.Int(build.I64, 0)))
		c.run(lo, stop)
		return stop, true
	},
}

// ColumnStrip recognises such a body; it returns nil for any other, and where the generic code does as well.
func ColumnStrip(g *emit.Func, v kernel.Ref, body *kernel.Block) *strip {
	if g.Width != 0 || g.Machine.Narrow {
		return nil
	}
	sh, ok := analysis.CanVectorise(g.Types, v, body)
	if !ok || sh.Long || !sh.Columns {
		return nil
	}
	c := &strip{g: g, v: v, rare: map[*kernel.If]bool{}}
	last := -1
	for i, st := range body.Stmts {
		switch st := st.(type) {
		case *kernel.Reduce:
			if last = i; !addsNothing(g, st) {
				c.sums = append(c.sums, &stripSum{s: st})
			}
		case *kernel.Loop, *kernel.Iterate, *kernel.Call:
			return nil
		case *kernel.If:
			if !analysis.Pure(st.Then) || !analysis.Pure(st.Else) {
				return nil
			}
		}
	}
	if len(c.sums) == 0 {
		return nil
	}
	results := map[kernel.Ref]bool{}
	for _, st := range body.Stmts[:last+1] {
		switch st := st.(type) {
		case *kernel.Reduce:
			if addsNothing(g, st) {
				nothing := scalar.Instr{Op: scalar.Const, Type: st.Type,
					Args: [3]kernel.Ref{scalar.None, scalar.None, scalar.None}}
				c.before = append(c.before, &kernel.Let{ID: st.ID, In: nothing, Site: -1})
				continue
			}
			if analysis.Reads(st, results) {
				return nil
			}
			analysis.Define(results, st)
		case *kernel.Let, *kernel.Load, *kernel.DimValue:
			if analysis.ReadsAny(st, results) {
				analysis.Define(results, st)
				c.after = append(c.after, st)
			} else {
				c.before = append(c.before, st)
			}
		case *kernel.If:
			analysis.Define(results, st)
			c.after = append(c.after, st)
		default:
			return nil
		}
	}
	c.after = append(c.after, body.Stmts[last+1:]...)
	s, size := c.sums[0].s, int64(1)
	n, known := analysis.ReduceCount(s)
	if !known {
		n = math.MaxInt64 - kernel.Columns.Chunk()
	}
	if n == 0 {
		return nil
	}
	c.lanes = 1
	var reduces []*kernel.Reduce
	for _, one := range c.sums {
		o := one.s
		if len(o.Axes) != 1 || o.Order == kernel.Lanes ||
			o.Order != s.Order || !analysis.SameSpace(s, o) {
			return nil
		}
		size = max(size, int64(analysis.ArithmeticType(o.Type).Bytes()))
		if analysis.IsArgument(o) {
			size = max(size, 4)
		}
		if _, ok := analysis.HotWork(o.Body, map[*kernel.If]bool{}); !ok {
			return nil
		}
		reduces = append(reduces, o)
	}
	reduces = transform.MergeBodies(reduces)
	for i, o := range reduces {
		c.sums[i].s = o
	}
	work, _ := analysis.HotWork(reduces[0].Body, c.rare)
	if work > 12*len(c.sums) || len(c.sums) > maxStripSums {
		return nil
	}
	if s.Order == kernel.Columns && s.Chunk == scalar.None {
		pieces := (n + kernel.Columns.Chunk() - 1) / kernel.Columns.Chunk()
		c.lanes = min(pieces, kernel.NumLanes)
		if !known {
			c.lanes = 0
		} else if pieces > kernel.Lanes.Chunk() {
			return nil // more than one level of chunk results
		}
	}
	registers := 4
	if len(c.sums) > 1 || len(c.rare) > 0 || analysis.IsArgument(s) && s.Type.IsFloat() {
		registers = 2
	}
	c.W = registers * g.Machine.VectorBits / 8 / int(size)
	c.rest = c.W
	if len(c.after) > analysis.LongBody {
		c.rest = min(c.W, max(int(64/size), 4))
	}
	for _, o := range c.sums {
		o.slot, o.size = c.bytes, size
		if c.lanes == 1 && c.rest == c.W && c.W%8 == 0 && len(c.rare) == 0 {
			if o.high = narrowSumOf(g, o.s, reduces[0].Body, n); o.high != nil {
				o.size = 4
			}
		}
		c.bytes += o.size
		if analysis.IsArgument(o.s) {
			c.bytes += o.size
		}
	}
	c.cols = min(StripBytes/size, lanesBytes/c.bytes/max(c.lanes, 1)) / int64(c.W) * int64(c.W)
	c.slots = lanesBytes / c.bytes
	if c.lanes == 0 && c.slots/kernel.NumLanes < int64(c.W) {
		return nil
	}
	c.rows, c.ask = stripRows, true
	switch few := g.Machine.Registers <= 16; {
	case len(c.rare) == 0 && c.near(nearBytes):
		c.rows, c.ask = nearRows, false
	case len(c.rare) > 0 && few && c.near(int64(g.Machine.L2)):
		c.rows, c.ask = secondRows, false
	case len(c.rare) > 0 && few:
		c.ask = false
	}
	if n < 2*stripRows && len(c.rare) == 0 || c.cols < int64(c.W) {
		return nil
	}
	return c
}

// near reports that caches of so many bytes hold what the reductions read.
func (c *strip) near(most int64) bool {
	bytes, seen := int64(0), map[int]bool{}
	for _, s := range c.sums {
		kernel.Each(s.s.Body, func(l *kernel.Load) {
			n, known := c.g.SizeOf(l.Param)
			if !known {
				n = most + 1
			}
			if !seen[l.Param] {
				bytes, seen[l.Param] = bytes+min(n, most+1), true
			}
		})
	}
	return bytes <= most
}

// addsNothing reports that s adds zeros, as the third sum of products that have two parts.
func addsNothing(g *emit.Func, s *kernel.Reduce) bool {
	lets, taken := map[kernel.Ref]*scalar.Instr{}, map[kernel.Ref]kernel.Ref{} // of a branch that is settled
	kernel.Each(s.Body, func(st *kernel.Let) { lets[st.ID] = &st.In })
	kernel.Each(s.Body, func(st *kernel.If) {
		for i, id := range st.IDs {
			if st.ThenVals[i] == st.ElseVals[i] {
				taken[id] = st.ThenVals[i]
			}
		}
	})
	r := s.Val
	for {
		in := lets[r]
		if in == nil {
			in = g.Lets[r]
		}
		if to, ok := taken[r]; ok {
			r = to
		} else if in != nil && in.Op == scalar.Bitcast {
			r = in.Args[0]
		} else {
			return in != nil && in.Op == scalar.Const && in.Imm == 0 && s.Kind == ir.ReduceSum && s.Type.IsInt()
		}
	}
}

// maxStripSums is how many reductions go together.
const maxStripSums = 4

// each runs body for vectors of w of the strip's n columns; j counts their running sums from 0.
func (c *strip) each(n value.Value, w int, body func(j value.Value)) {
	g := c.g
	if w < c.W { // all of the last vector, whose columns may be some of the one before
		n = g.RoundDown(g.Add(n, build.Int(build.I64, int64(c.W-1))), int64(c.W))
	}
	g.For(build.Int(build.I64, 0), n, int64(w), nil, func(j value.Value, _ []value.Value) []value.Value {
		g.Width = w
		body(j)
		g.Width = 0
		return nil
	})
}

// at is the place in mem of sum s of the vector of columns from j on, of the part of it that is of type t: all sums of
// c.W columns stand together.
func (c *strip) at(s *stripSum, part int, t lt.Type, mem, j value.Value) value.Value {
	g := c.g
	inside := value.Value(build.Int(build.I64, 0)) // the columns before j that stand with it
	if g.Width != c.W {
		inside = g.Cur.NewAnd(j, build.Int(build.I64, int64(c.W-1)))
		j = g.RoundDown(j, int64(c.W))
	}
	bytes := int64(s.r.slotBytes())
	if part > 0 {
		bytes = int64(s.positions().BitSize / 8)
	}
	place := g.Add(g.Cur.NewMul(j, build.Int(build.I64, c.bytes)),
		build.Int(build.I64, (s.slot+int64(part)*s.size)*int64(c.W)))
	place = g.Add(place, g.Cur.NewMul(inside, build.Int(build.I64, bytes)))
	return g.Cur.NewBitCast(g.Cur.NewGetElementPtr(build.I8, mem, place), lt.NewPointer(t))
}

func (c *strip) load(s *stripSum, mem, j value.Value) []value.Value {
	var out []value.Value
	for i, t := range s.vectors(c.g.Width) {
		l := c.g.Cur.NewLoad(t, c.at(s, i, t, mem, j))
		l.Align = lir.Align(min(s.r.slotBytes(), int(s.size)))
		out = append(out, l)
	}
	return out
}

func (c *strip) store(s *stripSum, x []value.Value, mem, j value.Value) {
	for i, t := range s.vectors(c.g.Width) {
		st := c.g.Cur.NewStore(x[i], c.at(s, i, t, mem, j))
		st.Align = lir.Align(min(s.r.slotBytes(), int(s.size)))
	}
}

// join is the sum of two running sums of a whole vector, of which only sums of floats have several.
func (c *strip) join(s *stripSum, x, y []value.Value) []value.Value {
	return []value.Value{s.r.Combine(x[0], y[0], c.W)}
}

// column is the first column of the running sums from j on, of the strip of n that begins with c0. The last vector ends
// with the strip: it has sums of its own for columns that the one before has, too.
func (c *strip) column(c0, n, j value.Value) value.Value {
	g := c.g
	first := g.RoundDown(j, int64(c.W))
	return g.Cur.NewAdd(g.Add(c0, g.Min(first, g.Sub(n, build.Int(build.I64, int64(c.W))))), g.Sub(j, first))
}

// run reduces the columns [lo, hi), none or at least c.W; of kernels that work in place whole vectors of them.
func (c *strip) run(lo, hi value.Value) {
	g := c.g
	slots := c.cols * c.lanes
	if c.lanes == 0 {
		slots = c.slots
	}
	for _, s := range c.sums {
		s.r = newReduction(g, s.s)
	}
	sums, results := g.Stack(build.I8, int(c.cols*c.bytes)), value.Value(nil) // those of chunks
	if c.lanes != 1 {
		results = g.Stack(build.I8, int(slots*c.bytes))
	}
	r := c.sums[0].r
	order := c.sums[0].s.Order
	lanes, cols := value.Value(build.Int(build.I64, c.lanes)), value.Value(build.Int(build.I64, c.cols))
	var some value.Value // that there are several lanes, where nobody knows yet
	if c.lanes == 0 {
		size := kernel.Columns.Chunk()
		some = g.Cur.NewICmp(enum.IPredSGT, r.n, build.Int(build.I64, size))
		lanes = r.minInt(g.Cur.NewSDiv(g.Add(r.n, build.Int(build.I64, size-1)), build.Int(build.I64, size)),
			build.Int(build.I64, kernel.NumLanes))
		fit := g.RoundDown(g.Cur.NewUDiv(build.Int(build.I64, slots),
			g.Cur.NewSelect(some, lanes, build.Int(build.I64, 1))), int64(c.W))
		cols = r.minInt(fit, cols)
	}
	several := func(f func()) {
		if c.lanes != 1 {
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
				g.Cur.NewMul(l, g.Cur.NewMul(cols, build.Int(build.I64, c.bytes))))
		}
		first, last := r.bounds()
		size := kernel.Columns.Chunk()
		if order == kernel.Any {
			size = math.MaxInt32 // one piece
		}
		// all does f for each vector of each sum.
		all := func(f func(s *stripSum, j value.Value)) {
			c.each(n, c.W, func(j value.Value) {
				for _, s := range c.sums {
					f(s, j)
				}
			})
		}
		several(func() {
			g.For(build.Int(build.I64, 0), lanes, 1, nil, func(l value.Value, _ []value.Value) []value.Value {
				all(func(s *stripSum, j value.Value) { c.store(s, s.identity(c.W), lane(l), j) })
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
		several(func() {
			for w := int64(kernel.NumLanes / 2); w >= 1; w /= 2 {
				g.For(build.Int(build.I64, 0), g.Min(g.Sub(lanes, build.Int(build.I64, w)), build.Int(build.I64, w)), 1,
					nil,
					func(l value.Value, _ []value.Value) []value.Value {
						all(func(s *stripSum, j value.Value) {
							near, far := lane(l), lane(g.Cur.NewAdd(l, build.Int(build.I64, w)))
							c.store(s, c.join(s, c.load(s, near, j), c.load(s, far, j)), near, j)
						})
						return nil
					})
			}
		})
		c.each(n, c.rest, func(j value.Value) {
			column(j)
			g.Block(&kernel.Block{Stmts: c.before})
			result := sums
			if some != nil {
				result = g.Cur.NewSelect(some, results, sums)
			} else if c.lanes > 1 {
				result = results
			}
			for _, s := range c.sums {
				x := c.load(s, result, j)[0]
				switch {
				case s.high != nil:
					x = s.high.sum(g, x, g.Width)
				case s.r.isArgument():
					if x = c.load(s, result, j)[1]; s.positions() != build.I64 {
						x = g.Cur.NewSExt(x, build.Vector(build.I64, g.Width))
					}
					g.Set(s.s.ID, x, true)
					continue
				}
				g.Set(s.s.ID, s.r.orNothing(x), true) // without rows nothing was stored
			}
			g.Block(&kernel.Block{Stmts: c.after})
		})
		return nil
	})
}

// fits reports, where nobody knows how many rows there are, that their chunk results are no more than one level; nil
// where it is known.
func (c *strip) fits() value.Value {
	if c.lanes > 0 {
		return nil
	}
	return c.g.Cur.NewICmp(enum.IPredSLE, newReduction(c.g, c.sums[0].s).n,
		build.Int(build.I64, kernel.Columns.Chunk()*kernel.Lanes.Chunk()))
}

// piece adds the rows [p, end) into the running sums, which it starts anew.
func (c *strip) piece(sums, p, end, n value.Value, column func(j value.Value)) {
	g := c.g
	rows, known := build.ConstantInt(c.sums[0].r.n)
	// with the sums of the first rows, which are stored as they are and not added to zero
	begins := known && rows >= c.rows && c.lanes == 1 && c.sums[0].s.Chunk == scalar.None
	anew := func() {
		c.each(n, c.W, func(j value.Value) {
			for _, s := range c.sums {
				c.store(s, s.identity(c.W), sums, j)
			}
		})
	}
	if !begins {
		anew()
	}
	f := emit.State[loops.Prefetching](g)
	ahead := f.Ahead
	defer func() { f.Ahead, f.Below = ahead, false }()
	var rareArms *loops.HotPath
	if len(c.rare) > 0 {
		rareArms = &loops.HotPath{Ifs: c.rare, Of: map[kernel.Ref]*loops.Guard{}, Start: g.Cur}
	}
	add := func(row value.Value, rows int64, begins bool) {
		f.Ahead, f.Below = c.nextRows(rows), true
		c.each(n, c.W, func(j value.Value) {
			column(j)
			g.Block(&kernel.Block{Stmts: c.before})
			emit.State[loops.Speculation](g).Path = rareArms
			acc := make([][]value.Value, len(c.sums))
			for i, s := range c.sums {
				if begins {
					acc[i] = s.identity(c.W)
				} else {
					acc[i] = c.load(s, sums, j)
				}
			}
			xs := make([][]value.Value, len(c.sums))
			for u := range rows {
				for i, s := range c.sums {
					at := g.Add(row, build.Int(build.I64, u))
					xs[i] = append(xs[i], s.element(at, c.W))
					if !s.r.putsOff() {
						acc[i], xs[i] = s.add(acc[i], at, xs[i], c.W), nil
					}
				}
			}
			for i, s := range c.sums {
				acc[i] = s.add(acc[i], row, xs[i], c.W)
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
	full := g.Cur.NewAnd(g.Cur.NewSub(end, p), build.Int(build.I64, -c.rows))
	stop, next := g.Cur.NewAdd(p, full), p
	if begins {
		add(p, c.rows, true)
		next = g.Add(p, build.Int(build.I64, c.rows))
	}
	g.For(next, stop, c.rows, nil, func(row value.Value, _ []value.Value) []value.Value {
		add(row, c.rows, false)
		return nil
	})
	one := func(row value.Value, _ []value.Value) []value.Value { add(row, 1, false); return nil }
	g.For(stop, end, 1, nil, one)
	if rareArms == nil {
		return
	}
	g.Width = c.W
	some := rareArms.Ever(g)
	g.Width = 0
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
func (c *strip) nextRows(rows int64) map[*kernel.Load]types.Dim {
	if !c.ask || rows == 1 {
		return nil
	}
	out := map[*kernel.Load]types.Dim{}
	asked := map[int]bool{} // by a sum before
	for _, s := range c.sums {
		mine := map[int]bool{}
		kernel.Each(s.s.Body, func(l *kernel.Load) {
			far, ok := loops.RowDistance(l.At, s.s.Axes[0].Var, c.v)
			if !ok || asked[l.Param] {
				return
			}
			if further, err := far.Mul(types.Lit(rows)); err == nil {
				out[l], mine[l.Param] = further, true
			}
		})
		maps.Copy(asked, mine)
	}
	return out
}
