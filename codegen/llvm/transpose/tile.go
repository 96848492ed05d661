package transpose

import (
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/codegen/llvm/loops"
	"healc/codegen/schedule"
	"healc/ir/kernel"
	"healc/lang/types"
)

// transposition is the kernel with transposed operands, see package schedule.
type transposition = schedule.Transposition

// TranspositionLoops writes the loops of a kernel with transposed operands, as the directive d says; the outermost axis
// runs from begin to end.
func TranspositionLoops(g *emit.Func, t *transposition, d *kernel.Directive, begin, end value.Value) {
	lo, hi := make([]value.Value, len(t.Axes)), make([]value.Value, len(t.Axes))
	for i, a := range t.Axes {
		lo[i], hi[i] = build.Int(build.I64, a.Begin), g.Extent(a.Extent)
	}
	lo[0], hi[0] = begin, end
	g.Schedule = d.Sub
	tiles := stageLoads(g, t.Take(d))
	last := len(t.Axes) - 1
	var nest func(i int)
	nest = func(i int) {
		switch {
		case i == t.Across:
			nest(i + 1)
		case i < last:
			g.For(lo[i], hi[i], 1, nil, func(v value.Value, _ []value.Value) []value.Value {
				g.Env[t.Axes[i].Var] = emit.Val{V: v}
				nest(i + 1)
				return nil
			})
		default:
			g.For(lo[last], hi[last], t.Cols, nil, func(j value.Value, _ []value.Value) []value.Value {
				g.For(lo[t.Across], hi[t.Across], t.Rows, nil, func(r value.Value, _ []value.Value) []value.Value {
					tiles.tile(r, g.Min(g.Add(r, build.Int(build.I64, t.Rows)), hi[t.Across]), j,
						g.Min(g.Add(j, build.Int(build.I64, t.Cols)), hi[last]), lo[last], hi[last])
					return nil
				})
				return nil
			})
		}
	}
	nest(0)
}

// tileWriter writes the code of one tile.
type tileWriter struct {
	*emit.Func
	*transposition
	stages []stage
	body   *kernel.Block // that reads the transposed operands from their stages
}

// stage is the memory on the stack for the tile of one operand.
type stage struct {
	schedule.Stage
	mem value.Value
}

// stageLoads makes memory for the transposed operands.
func stageLoads(g *emit.Func, t *transposition) *tileWriter {
	tg := &tileWriter{Func: g, transposition: t}
	var stages []schedule.Stage
	stages, g.Params, tg.body = t.Stages(g.Params)
	for _, one := range stages {
		s := stage{Stage: one, mem: g.Stack(build.MemoryType(g.Params[one.Param].DType), int(one.Pitch*t.Rows))}
		g.Bufs = append(g.Bufs, s.mem)
		tg.stages = append(tg.stages, s)
	}
	for _, st := range tg.body.Stmts {
		if l, ok := st.(*kernel.Load); ok && l.Param < tg.stages[0].Param {
			tg.prefetchRow(l)
		}
	}
	return tg
}

// prefetchRow makes a load of such an operand ask for a row further on, where the schedule says so.
func (t *tileWriter) prefetchRow(l *kernel.Load) {
	d := t.Schedule.OfBuffer("prefetch", l.Param)
	if d == nil {
		return
	}
	for _, term := range l.At.Terms {
		if n, known := term.Coef.Const(); known && term.Var == t.Axes[t.Across].Var {
			emit.State[loops.Prefetching](t.Func).Ahead[l] = loops.RowOf(d, types.Lit(d.Get("row")*n))
		}
	}
}

// tile writes the code for the iterations [r, rEnd) of the axis across and [j, jEnd) of the last one, which goes from
// first to end.
func (t *tileWriter) tile(r, rEnd, j, jEnd, first, end value.Value) {
	from := j
	if t.Output != nil {
		from = t.Cur.NewSub(j, t.backAt(r, j, first))
	}
	for _, s := range t.stages {
		t.fill(s, r, rEnd, from, jEnd)
		// The body counts from the beginning of the axes.
		begin := t.Cur.NewSub(build.Int(build.I64, 0), t.Add(t.Mul(r, build.Int(build.I64, s.Pitch)), from))
		t.Bufs[s.Param] = t.Cur.NewGetElementPtr(build.MemoryType(t.Params[s.Param].DType), s.mem, begin)
	}
	if t.Output == nil {
		t.rowsOf(r, rEnd, func() (lo, hi value.Value) { return j, jEnd })
		return
	}
	ends := func() (lo, hi value.Value) {
		return t.lineAt(j, first), t.Cur.NewSelect(t.Cur.NewICmp(enum.IPredSLT, jEnd, end), t.lineAt(jEnd, first), jEnd)
	}
	w := t.lineWidth()
	if w == 0 {
		t.rowsOf(r, rEnd, ends)
		return
	}
	t.Branch(t.wholeLines(r, j, jEnd, first, end), func() {
		emit.State[loops.Streaming](t.Func).Fence = true
		t.eachRow(r, rEnd, func() {
			lo := t.lineAt(j, first)
			emit.State[loops.Streaming](t.Func).Streamed = map[*kernel.Store]bool{t.Output: true}
			t.InVectors(w, func() {
				for k := int64(0); k < t.Cols; k += int64(w) {
					t.Env[t.Axes[len(t.Axes)-1].Var] = emit.Val{V: t.Add(lo, build.Int(build.I64, k)), Iota: true}
					t.Block(t.body)
				}
			})
			emit.State[loops.Streaming](t.Func).Streamed = nil
		})
	}, func() { t.rowsOf(r, rEnd, ends) })
}

// eachRow runs body for the rows [r, rEnd) of a tile.
func (t *tileWriter) eachRow(r, rEnd value.Value, body func()) {
	t.For(r, rEnd, 1, nil, func(x value.Value, _ []value.Value) []value.Value {
		t.Env[t.Axes[t.Across].Var] = emit.Val{V: x}
		t.Block(&kernel.Block{Stmts: t.Before})
		body()
		return nil
	})
}

// rowsOf runs the body for the rows [r, rEnd) of a tile, each between the ends that it is told.
func (t *tileWriter) rowsOf(r, rEnd value.Value, ends func() (lo, hi value.Value)) {
	emit.State[loops.Nest](t.Func).Tiled = true
	t.eachRow(r, rEnd, func() {
		lo, hi := ends()
		loops.Parallel(t.Func, t.Axes[len(t.Axes)-1].Var, lo, hi, false, t.body)
	})
	emit.State[loops.Nest](t.Func).Tiled = false
}

// lineWidth is how many iterations write a line of the output; 0 when they are no vector, or when there are other
// outputs, whose lines may begin elsewhere.
func (t *tileWriter) lineWidth() int {
	for _, s := range t.body.Stmts {
		if st, ok := s.(*kernel.Store); ok && st != t.Output {
			return 0
		}
	}
	d := t.Schedule.Find("vector", t.Axes[len(t.Axes)-1].Var)
	if d == nil || kernel.Directives(d.Sub).OfBuffer("stream", t.Output.Param) == nil {
		return 0
	}
	return loops.LineBytes / t.Params[t.Output.Param].DType.Bytes()
}

// wholeLines reports that each row of a tile is t.Cols iterations from one line of the output to another, which are
// to go past the caches.
func (t *tileWriter) wholeLines(r, j, jEnd, first, end value.Value) value.Value {
	full := t.Cur.NewICmp(enum.IPredEQ, t.Cur.NewSub(jEnd, j), build.Int(build.I64, t.Cols))
	inner := t.Cur.NewAnd(t.Cur.NewICmp(enum.IPredSGT, j, first), t.Cur.NewICmp(enum.IPredSLT, jEnd, end))
	places := t.places(r, j)
	aligned := t.Cur.NewICmp(enum.IPredEQ, t.Cur.NewAnd(places, build.Int(build.I64, loops.LineBytes-1)),
		build.Int(build.I64, 0))
	element := int64(t.Params[t.Output.Param].DType.Bytes())
	whole := t.Cur.NewICmp(enum.IPredEQ, t.Cur.NewAnd(places, build.Int(build.I64, element-1)), build.Int(build.I64, 0))
	yes := t.Cur.NewAnd(t.Cur.NewAnd(full, whole), t.Cur.NewOr(inner, aligned))
	if big := loops.Pays(t.Func, t.Output.Param); big != nil {
		return t.Cur.NewAnd(yes, big)
	}
	return yes
}

// places is the address of the streamed output at (r, j), or'ed with the bytes from row to row: a power of two divides
// it if it divides the addresses in all rows.
func (t *tileWriter) places(r, j value.Value) value.Value {
	t.Env[t.Axes[t.Across].Var], t.Env[t.Axes[len(t.Axes)-1].Var] = emit.Val{V: r}, emit.Val{V: j}
	all := value.Value(t.Cur.NewPtrToInt(t.Addr(t.Output.Param, t.AddressOf(t.Output.At).Base), build.I64))
	bytes := build.Int(build.I64, int64(t.Params[t.Output.Param].DType.Bytes()))
	for _, term := range t.Output.At.Terms {
		if term.Var == t.Axes[t.Across].Var {
			all = t.Cur.NewOr(all, t.Mul(t.Dim(term.Coef), bytes))
		}
	}
	return all
}

// lineAt is the last index up to j of the row that is bound whose element begins a line of the streamed output, but
// none before first.
func (t *tileWriter) lineAt(j, first value.Value) value.Value {
	t.Env[t.Axes[len(t.Axes)-1].Var] = emit.Val{V: j}
	bytes := int64(t.Params[t.Output.Param].DType.Bytes())
	at := t.Cur.NewPtrToInt(t.Addr(t.Output.Param, t.AddressOf(t.Output.At).Base), build.I64)
	begin := t.Cur.NewSub(j, t.Cur.NewUDiv(t.Cur.NewAnd(at, build.Int(build.I64, loops.LineBytes-1)),
		build.Int(build.I64, bytes)))
	return t.Cur.NewSelect(t.Cur.NewICmp(enum.IPredSLT, begin, first), first, begin)
}

// backAt is how many columns before j the tile from row r on needs: none at the first strip, and where column j begins
// a line in every row.
func (t *tileWriter) backAt(r, j, first value.Value) value.Value {
	ragged := value.Value(t.Cur.NewICmp(enum.IPredNE, t.Cur.NewAnd(t.places(r, j),
		build.Int(build.I64, loops.LineBytes-1)), build.Int(build.I64, 0)))
	ragged = t.Cur.NewAnd(ragged, t.Cur.NewICmp(enum.IPredSGT, j, first))
	return t.Cur.NewSelect(ragged, build.Int(build.I64, t.Back), build.Int(build.I64, 0))
}

// backwards reports that the operand is read downwards along the axis across.
func (t *tileWriter) backwards(s stage) bool {
	for _, term := range s.Load.At.Terms {
		if term.Var == t.Axes[t.Across].Var {
			return term.Coef.IsConst(-1)
		}
	}
	return false
}

// fill copies the tile of an operand to its stage.
func (t *tileWriter) fill(s stage, r, rEnd, j, jEnd value.Value) {
	w := int64(square(t.Machine, t.Params[s.Param].DType))
	rows, cols := t.Cur.NewSub(rEnd, r), t.Cur.NewSub(jEnd, j)
	enough := t.Cur.NewAnd(t.Cur.NewICmp(enum.IPredSGE, rows, build.Int(build.I64, w)),
		t.Cur.NewICmp(enum.IPredSGE, cols, build.Int(build.I64, w)))
	t.Branch(enough, func() {
		t.For(j, jEnd, w, nil, func(jj value.Value, _ []value.Value) []value.Value {
			jj = t.Min(jj, t.Add(jEnd, build.Int(build.I64, -w)))
			t.For(r, rEnd, w, nil, func(rr value.Value, _ []value.Value) []value.Value {
				rr = t.Min(rr, t.Add(rEnd, build.Int(build.I64, -w)))
				t.transposeSquare(s, rr, jj, r, j, int(w))
				return nil
			})
			return nil
		})
	}, func() {
		t.For(r, rEnd, 1, nil, func(rr value.Value, _ []value.Value) []value.Value {
			t.For(j, jEnd, 1, nil, func(jj value.Value, _ []value.Value) []value.Value {
				x := t.LoadScalar(s.Load.Param, t.sourceAt(s, rr, jj))
				st := t.Cur.NewStore(x, t.stageAddr(s, t.stageAt(s, rr, jj, r, j)))
				st.Align = t.Align(t.Params[s.Param].DType)
				return nil
			})
			return nil
		})
	})
}

// sourceAt is the place of an element of the operand.
func (t *tileWriter) sourceAt(s stage, r, j value.Value) value.Value {
	t.Env[t.Axes[t.Across].Var] = emit.Val{V: r}
	t.Env[t.Axes[len(t.Axes)-1].Var] = emit.Val{V: j}
	return t.AddressOf(s.Load.At).Base
}

// stageAt is the place of that element in the stage of the tile that begins at (r0, j0).
func (t *tileWriter) stageAt(s stage, r, j, r0, j0 value.Value) value.Value {
	return t.Add(t.Mul(t.Cur.NewSub(r, r0), build.Int(build.I64, s.Pitch)), t.Cur.NewSub(j, j0))
}

// stageAddr is the address of a place in a stage.
func (t *tileWriter) stageAddr(s stage, at value.Value) value.Value {
	return t.Cur.NewGetElementPtr(build.MemoryType(t.Params[s.Param].DType), s.mem, at)
}

// transposeSquare transposes the square of w iterations from (r, j) on.
func (t *tileWriter) transposeSquare(s stage, r, j, r0, j0 value.Value, w int) {
	d := t.Params[s.Param].DType
	mt := build.MemoryType(d)
	vt := build.Vector(mt, w)
	first := r
	if t.backwards(s) {
		first = t.Add(r, build.Int(build.I64, int64(w-1)))
	}
	ask := t.Schedule.OfBuffer("prefetch", s.Load.Param)
	rows := make([]value.Value, w)
	for i := range rows {
		at := t.Addr(s.Load.Param, t.sourceAt(s, first, t.Add(j, build.Int(build.I64, int64(i)))))
		l := t.Cur.NewLoad(vt, t.Cur.NewBitCast(at, lt.NewPointer(vt)))
		l.Align = t.Align(d)
		rows[i] = l
		if ask != nil {
			ahead := ask.Get("ahead") / int64(d.Bytes())
			if t.backwards(s) {
				ahead = -ahead
			}
			loops.PrefetchLinesTo(t.Func, loops.LevelOf(ask), s.Load.Param,
				t.sourceAt(s, t.Add(first, build.Int(build.I64, ahead)),
					t.Add(j, build.Int(build.I64, int64(i)))), 1)
		}
	}
	at := t.stageAt(s, r, j, r0, j0)
	for i, x := range t.TransposeSquare(rows) {
		if t.backwards(s) {
			i = w - 1 - i
		}
		p := t.stageAddr(s, t.Add(at, build.Int(build.I64, int64(i)*s.Pitch)))
		st := t.Cur.NewStore(x, t.Cur.NewBitCast(p, lt.NewPointer(vt)))
		st.Align = t.Align(d)
	}
}
