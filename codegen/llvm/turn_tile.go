package llvm

import (
	"slices"

	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/ir/kernel"
	"healc/lang/types"
)

// turnLoops writes the loops of a kernel that turns operands over; the outermost axis runs from begin to end.
func (g *gen) turnLoops(t *turned, begin, end value.Value) {
	lo, hi := make([]value.Value, len(t.axes)), make([]value.Value, len(t.axes))
	for i, a := range t.axes {
		lo[i], hi[i] = ci(i64, a.Begin), g.extent(a.Extent)
	}
	lo[0], hi[0] = begin, end
	tiles := g.stageLoads(t)
	last := len(t.axes) - 1
	var nest func(i int)
	nest = func(i int) {
		switch {
		case i == t.across:
			nest(i + 1)
		case i < last:
			g.count(lo[i], hi[i], 1, nil, func(v value.Value, _ []value.Value) []value.Value {
				g.env[t.axes[i].Var] = val{v: v}
				nest(i + 1)
				return nil
			})
		default:
			g.count(lo[last], hi[last], t.cols, nil, func(j value.Value, _ []value.Value) []value.Value {
				g.count(lo[t.across], hi[t.across], t.rows, nil, func(r value.Value, _ []value.Value) []value.Value {
					tiles.tile(r, g.least(g.plus(r, ci(i64, t.rows)), hi[t.across]), j,
						g.least(g.plus(j, ci(i64, t.cols)), hi[last]), lo[last], hi[last])
					return nil
				})
				return nil
			})
		}
	}
	nest(0)
}

// turnGen writes the code of one tile.
type turnGen struct {
	*gen
	*turned
	stages []stage
	body   *kernel.Block // that reads the turned operands from their stages
}

// stage is the memory on the stack for the tile of one operand: a parameter of the generator's own.
type stage struct {
	load  *kernel.Load
	param int
	mem   value.Value
	pitch int64 // elements from a row of the tile to the next
}

// stageLoads makes memory for the turned operands and a body that reads them there.
func (g *gen) stageLoads(t *turned) *turnGen {
	tg := &turnGen{gen: g, turned: t, body: &kernel.Block{Stmts: slices.Clone(t.body)}}
	g.params = slices.Clip(g.params)
	last := len(t.axes) - 1
	for _, l := range t.loads {
		d := g.params[l.Param].DType
		// An odd number of lines, so that those of a column lie in different sets of the first-level cache.
		line := int64(lineBytes / d.Bytes())
		s := stage{load: l, param: len(g.params), pitch: ((t.cols+t.back+line-1)/line | 1) * line}
		s.mem = g.stack(memType(d), int(s.pitch*t.rows))
		g.params = append(g.params, kernel.Param{Name: "turned", DType: d})
		g.bufs = append(g.bufs, s.mem)
		tg.stages = append(tg.stages, s)
		at := kernel.Access{Terms: []kernel.Term{
			{Coef: types.Lit(s.pitch), Var: t.axes[t.across].Var},
			{Coef: types.Lit(1), Var: t.axes[last].Var},
		}}
		tg.body.Stmts[slices.Index(tg.body.Stmts, kernel.Stmt(l))] = &kernel.Load{ID: l.ID, Param: s.param, At: at}
	}
	for _, st := range tg.body.Stmts {
		if l, ok := st.(*kernel.Load); ok && l.Param < tg.stages[0].param {
			tg.askForRows(l)
		}
	}
	return tg
}

// rowsAhead is how many rows of a tile ahead operands that are not turned are fetched: their pieces of a row are too
// short for the processor's own prefetcher.
const rowsAhead = 8

// askForRows makes a load of such an operand ask for a row further on.
func (t *turnGen) askForRows(l *kernel.Load) {
	if n, known := t.sizeOf(l.Param); known && n < largeInput {
		return
	}
	for _, term := range l.At.Terms {
		if n, known := term.Coef.Const(); known && term.Var == t.axes[t.across].Var {
			state[prefetching](t.gen).ahead[l] = types.Lit(rowsAhead * n)
		}
	}
}

// tile writes the code for the iterations [r, rEnd) of the axis across and [j, jEnd) of the last one, which goes from
// first to end.
func (t *turnGen) tile(r, rEnd, j, jEnd, first, end value.Value) {
	from := j
	if t.output != nil {
		from = t.cur.NewSub(j, t.backAt(r, j, first))
	}
	for _, s := range t.stages {
		t.fill(s, r, rEnd, from, jEnd)
		// The body counts from the beginning of the axes.
		begin := t.cur.NewSub(ci(i64, 0), t.plus(t.times(r, ci(i64, s.pitch)), from))
		t.bufs[s.param] = t.cur.NewGetElementPtr(memType(t.params[s.param].DType), s.mem, begin)
	}
	if t.output == nil {
		t.rowsOf(r, rEnd, func() (lo, hi value.Value) { return j, jEnd })
		return
	}
	ends := func() (lo, hi value.Value) {
		return t.lineAt(j, first), t.cur.NewSelect(t.cur.NewICmp(enum.IPredSLT, jEnd, end), t.lineAt(jEnd, first), jEnd)
	}
	w := t.lineWidth()
	if w == 0 {
		t.rowsOf(r, rEnd, ends)
		return
	}
	t.either(t.wholeLines(r, j, jEnd, first, end), func() {
		state[streaming](t.gen).fence = true
		t.eachRow(r, rEnd, func() {
			lo := t.lineAt(j, first)
			state[streaming](t.gen).streamed, t.w = map[*kernel.Store]bool{t.output: true}, w
			for k := int64(0); k < t.cols; k += int64(w) {
				t.env[t.axes[len(t.axes)-1].Var] = val{v: t.plus(lo, ci(i64, k)), iota: true}
				t.block(t.body)
			}
			state[streaming](t.gen).streamed, t.w = nil, 0
		})
	}, func() { t.rowsOf(r, rEnd, ends) })
}

// eachRow runs body for the rows [r, rEnd) of a tile.
func (t *turnGen) eachRow(r, rEnd value.Value, body func()) {
	t.count(r, rEnd, 1, nil, func(x value.Value, _ []value.Value) []value.Value {
		t.env[t.axes[t.across].Var] = val{v: x}
		t.block(&kernel.Block{Stmts: t.before})
		body()
		return nil
	})
}

// rowsOf runs the body for the rows [r, rEnd) of a tile, each between the ends that it is told.
func (t *turnGen) rowsOf(r, rEnd value.Value, ends func() (lo, hi value.Value)) {
	state[nest](t.gen).tiled = true
	t.eachRow(r, rEnd, func() {
		lo, hi := ends()
		t.parallel(t.axes[len(t.axes)-1].Var, lo, hi, false, t.body)
	})
	state[nest](t.gen).tiled = false
}

// lineWidth is how many iterations write a line of the output; 0 when they are no vector, or when there are other
// outputs, whose lines may begin elsewhere.
func (t *turnGen) lineWidth() int {
	for _, s := range t.body.Stmts {
		if st, ok := s.(*kernel.Store); ok && st != t.output {
			return 0
		}
	}
	state[nest](t.gen).tiled = true
	w := t.vectorWidth(t.axes[len(t.axes)-1].Var, t.body)
	state[nest](t.gen).tiled = false
	if w == 0 || len(t.streams(t.axes[len(t.axes)-1].Var, t.body)) == 0 {
		return 0
	}
	return lineBytes / t.params[t.output.Param].DType.Bytes()
}

// wholeLines reports that each row of a tile is t.cols iterations from one line of the output to another, which are
// to go past the caches.
func (t *turnGen) wholeLines(r, j, jEnd, first, end value.Value) value.Value {
	full := t.cur.NewICmp(enum.IPredEQ, t.cur.NewSub(jEnd, j), ci(i64, t.cols))
	inner := t.cur.NewAnd(t.cur.NewICmp(enum.IPredSGT, j, first), t.cur.NewICmp(enum.IPredSLT, jEnd, end))
	places := t.places(r, j)
	aligned := t.cur.NewICmp(enum.IPredEQ, t.cur.NewAnd(places, ci(i64, lineBytes-1)), ci(i64, 0))
	element := int64(t.params[t.output.Param].DType.Bytes())
	whole := t.cur.NewICmp(enum.IPredEQ, t.cur.NewAnd(places, ci(i64, element-1)), ci(i64, 0))
	yes := t.cur.NewAnd(t.cur.NewAnd(full, whole), t.cur.NewOr(inner, aligned))
	if big := t.pays(t.output.Param); big != nil {
		return t.cur.NewAnd(yes, big)
	}
	return yes
}

// places is the address of the streamed output at (r, j) and the bytes from row to row: what is a multiple of a power
// of two in all rows is one in both of them.
func (t *turnGen) places(r, j value.Value) value.Value {
	t.env[t.axes[t.across].Var], t.env[t.axes[len(t.axes)-1].Var] = val{v: r}, val{v: j}
	all := value.Value(t.cur.NewPtrToInt(t.addr(t.output.Param, t.place(t.output.At).base), i64))
	bytes := ci(i64, int64(t.params[t.output.Param].DType.Bytes()))
	for _, term := range t.output.At.Terms {
		if term.Var == t.axes[t.across].Var {
			all = t.cur.NewOr(all, t.times(t.dim(term.Coef), bytes))
		}
	}
	return all
}

// lineAt is the last index up to j of the row that is bound whose element begins a line of the streamed output, but
// none before first.
func (t *turnGen) lineAt(j, first value.Value) value.Value {
	t.env[t.axes[len(t.axes)-1].Var] = val{v: j}
	bytes := int64(t.params[t.output.Param].DType.Bytes())
	at := t.cur.NewPtrToInt(t.addr(t.output.Param, t.place(t.output.At).base), i64)
	begin := t.cur.NewSub(j, t.cur.NewUDiv(t.cur.NewAnd(at, ci(i64, lineBytes-1)), ci(i64, bytes)))
	return t.cur.NewSelect(t.cur.NewICmp(enum.IPredSLT, begin, first), first, begin)
}

// backAt is how many columns before j the tile from row r on needs: none at the first strip, and where column j begins
// a line in every row.
func (t *turnGen) backAt(r, j, first value.Value) value.Value {
	ragged := value.Value(t.cur.NewICmp(enum.IPredNE, t.cur.NewAnd(t.places(r, j), ci(i64, lineBytes-1)), ci(i64, 0)))
	ragged = t.cur.NewAnd(ragged, t.cur.NewICmp(enum.IPredSGT, j, first))
	return t.cur.NewSelect(ragged, ci(i64, t.back), ci(i64, 0))
}

// backwards reports that the operand is read downwards along the axis across.
func (t *turnGen) backwards(s stage) bool {
	for _, term := range s.load.At.Terms {
		if term.Var == t.axes[t.across].Var {
			return term.Coef.IsConst(-1)
		}
	}
	return false
}

// fill copies the tile of an operand to its stage.
func (t *turnGen) fill(s stage, r, rEnd, j, jEnd value.Value) {
	w := int64(t.machine.square(t.params[s.param].DType))
	rows, cols := t.cur.NewSub(rEnd, r), t.cur.NewSub(jEnd, j)
	enough := t.cur.NewAnd(t.cur.NewICmp(enum.IPredSGE, rows, ci(i64, w)),
		t.cur.NewICmp(enum.IPredSGE, cols, ci(i64, w)))
	t.either(enough, func() {
		t.count(j, jEnd, w, nil, func(jj value.Value, _ []value.Value) []value.Value {
			jj = t.least(jj, t.plus(jEnd, ci(i64, -w)))
			t.count(r, rEnd, w, nil, func(rr value.Value, _ []value.Value) []value.Value {
				rr = t.least(rr, t.plus(rEnd, ci(i64, -w)))
				t.turnSquare(s, rr, jj, r, j, int(w))
				return nil
			})
			return nil
		})
	}, func() {
		t.count(r, rEnd, 1, nil, func(rr value.Value, _ []value.Value) []value.Value {
			t.count(j, jEnd, 1, nil, func(jj value.Value, _ []value.Value) []value.Value {
				x := t.loadScalar(s.load.Param, t.sourceAt(s, rr, jj))
				st := t.cur.NewStore(x, t.stageAddr(s, t.stageAt(s, rr, jj, r, j)))
				st.Align = t.align(t.params[s.param].DType)
				return nil
			})
			return nil
		})
	})
}

// sourceAt is the place of an element of the operand.
func (t *turnGen) sourceAt(s stage, r, j value.Value) value.Value {
	t.env[t.axes[t.across].Var] = val{v: r}
	t.env[t.axes[len(t.axes)-1].Var] = val{v: j}
	return t.place(s.load.At).base
}

// stageAt is the place of that element in the stage of the tile that begins at (r0, j0).
func (t *turnGen) stageAt(s stage, r, j, r0, j0 value.Value) value.Value {
	return t.plus(t.times(t.cur.NewSub(r, r0), ci(i64, s.pitch)), t.cur.NewSub(j, j0))
}

// stageAddr is the address of a place in a stage.
func (t *turnGen) stageAddr(s stage, at value.Value) value.Value {
	return t.cur.NewGetElementPtr(memType(t.params[s.param].DType), s.mem, at)
}

// turnSquare turns over the square of w iterations from (r, j) on.
func (t *turnGen) turnSquare(s stage, r, j, r0, j0 value.Value, w int) {
	d := t.params[s.param].DType
	mt := memType(d)
	vt := vec(mt, w)
	first := r
	if t.backwards(s) {
		first = t.plus(r, ci(i64, int64(w-1)))
	}
	n, known := t.sizeOf(s.load.Param)
	ask := !known || n >= largeInput
	rows := make([]value.Value, w)
	for i := range rows {
		at := t.addr(s.load.Param, t.sourceAt(s, first, t.plus(j, ci(i64, int64(i)))))
		l := t.cur.NewLoad(vt, t.cur.NewBitCast(at, lt.NewPointer(vt)))
		l.Align = t.align(d)
		rows[i] = l
		if ask {
			ahead := t.turned.later / int64(d.Bytes())
			if t.backwards(s) {
				ahead = -ahead
			}
			t.askForIn(toSecond, s.load.Param, t.sourceAt(s, t.plus(first, ci(i64, ahead)),
				t.plus(j, ci(i64, int64(i)))), 1)
		}
	}
	at := t.stageAt(s, r, j, r0, j0)
	for i, x := range t.turn(rows) {
		if t.backwards(s) {
			i = w - 1 - i
		}
		p := t.stageAddr(s, t.plus(at, ci(i64, int64(i)*s.pitch)))
		st := t.cur.NewStore(x, t.cur.NewBitCast(p, lt.NewPointer(vt)))
		st.Align = t.align(d)
	}
}
