package matmul

import (
	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/codegen/llvm/reduce"
	"healc/codegen/schedule"
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
)

// dotChain is chain for one row and a y that lies in memory along k, as in a matrix times a vector: the elements
// of y that one step needs are far from each other. Squares, as many steps as a vector has elements for as many
// columns, are read along k and transposed in registers.
func (t *tileGen) dotChain(k chain, sums []value.Value) []value.Value {
	if t.BlockSteps > 0 {
		return t.dotBlocks(k, sums)
	}
	w := int64(t.VecWidth)
	head := t.head(k)
	inSquares := value.Value(t.Cur.NewAnd(t.Sub(k.n, head), build.Int(build.I64, -w)))
	squares := t.Add(head, inSquares)
	lag := value.Value(build.Int(build.I64, 0))
	if t.vecs > 1 {
		lag = t.lag()
		if n, known := build.ConstantInt(lag); !known || n > 0 {
			lag = t.Min(lag, inSquares)
		}
	}
	steps := func(from, to value.Value) {
		sums = t.For(from, to, 1, sums, func(kk value.Value, s []value.Value) []value.Value {
			next := make([]value.Value, len(s))
			for v := range s {
				next[v] = t.stepOfColumns(k, kk, v, s[v])
			}
			return next
		})
	}
	if n, known := build.ConstantInt(head); !known || n > 0 {
		steps(build.Int(build.I64, 0), head)
	}
	// The steps that the first vector does alone, those that all do, and those that are left for the others.
	one := func(v int, from, to value.Value) {
		sums[v] = t.For(from, to, w, sums[v:v+1], func(kk value.Value, s []value.Value) []value.Value {
			return []value.Value{t.square(k, kk, v, s[0])}
		})[0]
	}
	one(0, head, t.Add(head, lag))
	sums = t.For(t.Add(head, lag), squares, w, sums, func(kk value.Value, s []value.Value) []value.Value {
		next := make([]value.Value, len(s))
		for v := range s {
			at := kk
			if v > 0 {
				at = t.Sub(kk, lag)
			}
			next[v] = t.square(k, at, v, s[v])
		}
		return next
	})
	for v := range sums[1:] {
		one(v+1, t.Sub(squares, lag), squares)
	}
	steps(squares, k.n)
	return sums
}

// head is how many steps are left out of squares so that these have whole lines: where lines of all rows share a few
// sets of the first-level cache, a square that has parts of two lines of each row has too many.
func (t *tileGen) head(k chain) value.Value {
	main := t.Contraction.Y.Main
	size := int64(t.Params[main.Param].DType.Bytes())
	if none := build.Int(build.I64, 0); t.vecs == 1 || int64(t.VecWidth)*size != schedule.LineBytes {
		return none
	}
	t.bindColumn(0, 0)
	t.Env[t.Chains.Axis.Var] = emit.Val{V: k.at}
	at := t.Cur.NewPtrToInt(t.Addr(main.Param, t.AddressOf(main.At).Base), build.I64)
	beyond := t.Cur.NewAnd(t.Sub(build.Int(build.I64, 0), at), build.Int(build.I64, schedule.LineBytes-1))
	return t.Min(t.whereShared(t.Cur.NewUDiv(beyond, build.Int(build.I64, size))), k.n)
}

// stepOfColumns is step kk alone, for vector v of the sums.
func (t *tileGen) stepOfColumns(k chain, kk value.Value, v int, sum value.Value) (next value.Value) {
	y := value.Value(constant.NewZeroInitializer(t.vectorType()))
	for e := range t.VecWidth {
		if t.inside(v, e) {
			t.bindColumn(v, e)
			t.axis(t.Chains.Axis.Var, t.Add(k.at, kk), 0)
			y = t.Cur.NewInsertElement(y, t.element(t.Contraction.Y, 0), build.Int(build.I32, int64(e)))
		}
	}
	t.InVectors(t.VecWidth, func() {
		next = t.mulAdd(t.broadcastX(kk, 0), y, sum)
	})
	return next
}

// square is the steps from number kk on that one square has, for vector v of the sums.
func (t *tileGen) square(k chain, kk value.Value, v int, sum value.Value) value.Value {
	t.squareSteps(k, kk, v, func(_ int, x, y value.Value) { sum = t.mulAdd(x, y, sum) })
	return sum
}

// squareSteps gives the factors of each step of a square, the first of which is kk.
func (t *tileGen) squareSteps(k chain, kk value.Value, v int, step func(u int, x, y value.Value)) {
	w := t.VecWidth
	t.prefetchSquares(k, kk, int64(v))
	t.prefetchAlong(k, kk, v)
	read := func(from, width int) []value.Value {
		rows := make([]value.Value, w)
		for e := range rows {
			if !t.inside(v, e) { // beyond the edge: any number will do
				rows[e] = rows[e-1]
				continue
			}
			t.bindColumn(v, e)
			t.axis(t.Chains.Axis.Var, t.Add(k.at, t.Add(kk, build.Int(build.I64, int64(from)))), width)
			rows[e] = t.element(t.Contraction.Y, width)
		}
		return rows
	}
	add := func(from int, ys []value.Value) {
		t.InVectors(w, func() {
			for u, y := range ys {
				step(from+u, t.broadcastX(kk, int64(from+u)), y)
			}
		})
	}
	lane := 16 / analysis.ArithmeticType(t.Acc).Bytes()
	if w != 2*lane {
		add(0, t.TransposeForChain(read(0, w)))
		if t.vecs > 1 {
			reduce.KeepOrder(t.writer.Func)
		}
		return
	}
	// Halves that are read into their places only have to be interleaved, and half a square takes half of the
	// registers.
	for from := 0; from < w; from += lane {
		rows := read(from, lane)
		for e := range lane {
			rows[e] = t.Concat(rows[e], rows[e+lane])
		}
		add(from, t.Interleave(rows[:lane], lane))
		reduce.KeepOrder(t.writer.Func)
	}
}

// Note [Squares behind]
//
// Where the chain of a square takes longer than transposing it, two vectors of sums take turns. Where rows are pages or
// half pages apart, their lines share a few sets of the first-level cache, which has room for the lines of one vector.
// Then the second vector is some lines behind the first (docs/tuning/matrix-vector.md).

// lag is how many steps the second vector of sums is behind the first.
func (t *tileGen) lag() value.Value {
	main := t.Contraction.Y.Main
	size := int64(t.Params[main.Param].DType.Bytes())
	if t.Behind == 0 {
		return build.Int(build.I64, 0)
	}
	return t.whereShared(build.Int(build.I64, max(t.Behind/size, int64(t.VecWidth))))
}

// whereShared is n steps where rows are pages or half pages apart, and else none.
func (t *tileGen) whereShared(n value.Value) value.Value {
	main := t.Contraction.Y.Main
	size := int64(t.Params[main.Param].DType.Bytes())
	row := value.Value(build.Int(build.I64, 0))
	for _, term := range main.At.Terms {
		if term.Var == t.Col.Var {
			row = t.Add(row, t.Dim(term.Coef))
		}
	}
	const near = 2048
	if r, known := build.ConstantInt(row); known {
		if r*size%near != 0 {
			return build.Int(build.I64, 0)
		}
		return n
	}
	rest := t.Cur.NewAnd(t.Mul(row, build.Int(build.I64, size)), build.Int(build.I64, near-1))
	return t.Cur.NewSelect(t.Cur.NewICmp(enum.IPredEQ, rest, build.Int(build.I64, 0)), n, build.Int(build.I64, 0))
}

// vectorFree writes the part [begin, end) of the outermost axis of a product of one row and any shape. Columns that
// fill no tile are computed one by one: a step of their chains takes as long.
func (c *writer) vectorFree(begin, end value.Value) {
	last := len(c.Contraction.Kernel.Axes) - 1
	var nest func(i int)
	nest = func(i int) {
		lo, hi := begin, end
		if i > 0 {
			lo, hi = build.Int(build.I64, 0), c.Extent(c.Contraction.Kernel.Axes[i].Extent)
		}
		if i < last {
			c.For(lo, hi, 1, nil, func(x value.Value, _ []value.Value) []value.Value {
				c.Env[c.Contraction.Kernel.Axes[i].Var] = emit.Val{V: x}
				nest(i + 1)
				return nil
			})
			return
		}
		c.prologue(0)
		if c.ByRows {
			c.For(lo, hi, c.BlockCols, nil, func(at value.Value, _ []value.Value) []value.Value {
				c.stream(at, c.Min(c.Cur.NewSub(hi, at), build.Int(build.I64, c.BlockCols)))
				return nil
			})
			return
		}
		k := chain{at: build.Int(build.I64, 0), n: c.Extent(c.Chains.Axis.Extent)}
		row := value.Value(build.Int(build.I64, 0))
		if c.Row != nil {
			row = c.Env[c.Row.Var].V
		}
		if c.PackX {
			c.copyX(k, row, 1)
		}
		tiles := func(from, to value.Value, cols int64) {
			c.For(from, to, cols, nil, func(at value.Value, _ []value.Value) []value.Value {
				c.tile(k, panels{at: at}, tile{i: row, from: row, copied: build.Int(build.I64, 0),
					n: build.Int(build.I64, 0), h: 1, cols: cols})
				return nil
			})
		}
		stop := c.Add(lo, c.RoundDown(c.Sub(hi, lo), c.Panel))
		tiles(lo, stop, c.Panel)
		if w := int64(c.VecWidth); w < c.Panel {
			some := c.Add(stop, c.RoundDown(c.Sub(hi, stop), w))
			tiles(stop, some, w)
			stop = some
		}
		tiles(stop, hi, 1)
	}
	nest(0)
}

// inside reports that column e of vector v is one of the tile's.
func (t *tileGen) inside(v, e int) bool { return int64(v*t.VecWidth+e) < t.cols }

func (t *tileGen) bindColumn(v, e int) {
	t.Env[t.Col.Var] = emit.Val{V: t.Add(t.j, build.Int(build.I64, int64(v*t.VecWidth+e)))}
	t.prologue(kernel.OnColumn)
}

// broadcastX is the element of x for step kk + u of the only row, in every element of a vector.
func (t *tileGen) broadcastX(kk value.Value, u int64) value.Value {
	reg := build.RegisterType(t.Acc)
	p := t.Cur.NewGetElementPtr(reg, t.x.base, t.Mul(kk, build.Int(build.I64, t.x.along)))
	l := t.Cur.NewLoad(reg, t.offset(p, u*t.x.along))
	l.Align = lir.Align(analysis.ArithmeticType(t.Acc).Bytes())
	return t.Splat(l)
}

// stream computes the n columns from column at of one row: y is read as it lies in memory, row after row, as in
// a vector times a matrix. The sums are in memory that stays in the first-level cache (Note [Outer-axis reductions]).
func (c *writer) stream(at, n value.Value) {
	if c.BlockSteps > 0 {
		c.streamBlocks(at, n)
		return
	}
	rows := c.AtOnce
	kv := c.Chains.Axis.Var
	add := func(kk value.Value, rows int64, first bool) {
		xs := make([]value.Value, rows)
		for u := range xs {
			c.Env[kv] = emit.Val{V: c.Add(kk, build.Int(build.I64, int64(u)))}
			xs[u] = c.element(c.X, 0)
		}
		c.span(n, c.inBlock(2*c.VecWidth), func(j value.Value, width int) {
			c.InVectors(width, func() {
				c.axis(c.Col.Var, c.Add(at, j), width)
				c.prologue(kernel.OnColumn)
				sum := c.zeroSum(width)
				if !first {
					sum = c.loadSum(j, width)
				}
				for u, x := range xs {
					c.Env[kv] = emit.Val{V: c.Add(kk, build.Int(build.I64, int64(u)))}
					y := c.element(c.Y, width)
					sum = c.mulAdd(c.Splat(x), y, sum)
				}
				st := c.Cur.NewStore(sum, c.sumAt(j, width))
				st.Align = lir.Align(analysis.ArithmeticType(c.Acc).Bytes())
			})
		})
	}
	kk := c.Extent(c.Chains.Axis.Extent)
	if _, known := build.ConstantInt(kk); !known {
		c.spanTo(n, c.inBlock(2*c.VecWidth), func(j value.Value, width int) {
			st := c.Cur.NewStore(c.zeroSum(width), c.sumAt(j, width))
			st.Align = lir.Align(analysis.ArithmeticType(c.Acc).Bytes())
		})
		full := c.RoundDown(kk, rows)
		c.For(build.Int(build.I64, 0), full, rows, nil, func(kk value.Value, _ []value.Value) []value.Value {
			add(kk, rows, false)
			return nil
		})
		c.For(full, kk, 1, nil, func(kk value.Value, _ []value.Value) []value.Value {
			add(kk, 1, false)
			return nil
		})
		c.streamDone(at, n)
		return
	}
	head := c.Size.K % rows
	if head == 0 {
		head = min(c.Size.K, rows)
	}
	add(build.Int(build.I64, 0), head, true)
	if head < c.Size.K {
		c.For(build.Int(build.I64, head), build.Int(build.I64, c.Size.K), rows, nil,
			func(kk value.Value, _ []value.Value) []value.Value {
				add(kk, rows, false)
				return nil
			})
	}
	c.streamDone(at, n)
}

// inBlock is the width of vectors for the sums of a block, w unless the block has fewer columns. A loop over wider ones
// never runs, but libLLVM takes what it would load and store, beyond the end of the sums, for what the sums are.
func (c *writer) inBlock(w int) int {
	for int64(w) > c.BlockCols && w > 1 {
		w /= 2
	}
	return w
}

// sumAt is the place of the sums from column j of a stream on, which zeroSum and loadSum give.
func (c *writer) sumAt(j value.Value, width int) value.Value {
	reg := build.RegisterType(c.Acc)
	p := value.Value(c.Cur.NewGetElementPtr(reg, c.xs, j))
	if width > 0 {
		p = c.Cur.NewBitCast(p, lt.NewPointer(build.Vector(reg, width)))
	}
	return p
}

func (c *writer) loadSum(j value.Value, width int) value.Value {
	l := c.Cur.NewLoad(build.Vector(build.RegisterType(c.Acc), width), c.sumAt(j, width))
	l.Align = lir.Align(analysis.ArithmeticType(c.Acc).Bytes())
	return l
}

func (c *writer) zeroSum(width int) value.Value {
	reg := build.RegisterType(c.Acc)
	if width == 0 {
		return build.FromBits(reg, 0)
	}
	return constant.NewZeroInitializer(build.Vector(reg, width))
}

// streamDone runs the epilogue of columns that were streamed.
func (c *writer) streamDone(at, n value.Value) {
	c.span(n, c.inBlock(c.VecWidth), func(j value.Value, width int) {
		c.InVectors(width, func() {
			c.axis(c.Col.Var, c.Add(at, j), width)
			c.some(c.Before, func(d kernel.Dep) bool { return d != 0 })
			c.Set(c.Sum, c.loadSum(j, width), width > 0)
			c.Block(&kernel.Block{Stmts: c.After})
		})
	})
}
