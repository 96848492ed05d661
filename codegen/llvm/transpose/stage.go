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

// Note [Stages]
//
// The axes of the reduction up to the one across are the rows of a matrix, those behind it are the columns. Where rows
// are no chunk and shorter than two, those of some chunks lie in a stage one right after the other, as the chunks need
// them.
//
// Longer rows go by bands of some rows, and by pieces of a chunk's length along the columns. A chunk begins anywhere in
// a row, at another column in each of them. So a stage has two pieces side by side: in each row one chunk begins in the
// first and ends in the second, which then moves to the place of the first. A chunk that goes on in the next row ends
// among the first columns of that, which follow the last ones in the stage.

// chunkElems are the elements of a chunk.
var chunkElems = kernel.Lanes.Chunk()

// stager writes a kernel whose operands go to stages.
type stager struct {
	*emit.Func
	*schedule.Staging
	chunk      kernel.Axis
	mems       []value.Value // of the operands
	total      value.Value   // elements of the reduction
	dims       []value.Value // of its axes
	rows       value.Value   // in all
	columns    value.Value
	behind     []value.Value // columns from one position of an axis behind the one across to the next
	begin, end value.Value   // the chunks
}

// StagedLoops writes the loop of a kernel over chunks, as the directive d says.
func StagedLoops(g *emit.Func, t *schedule.Staging, chunk kernel.Axis, d *kernel.Directive, begin, end value.Value) {
	s := &stager{Func: g, Staging: t, chunk: chunk, begin: begin, end: end}
	g.Schedule, g.Params = d.Sub, t.Params
	for i := range t.Operands {
		o := &t.Operands[i]
		mem := g.Stack(build.MemoryType(g.Params[o.Stage].DType), int(t.Rows*t.Pitch(o)))
		s.mems = append(s.mems, mem)
		g.Bufs = append(g.Bufs, mem)
	}
	one := value.Value(build.Int(build.I64, 1))
	s.total, s.rows, s.columns = one, one, one
	for i, n := range t.Extents {
		s.dims = append(s.dims, g.Dim(n))
		s.total = g.Mul(s.total, s.dims[i])
		if i <= t.Across {
			s.rows = g.Mul(s.rows, s.dims[i])
		} else {
			s.columns = g.Mul(s.columns, s.dims[i])
		}
	}
	s.behind = make([]value.Value, len(s.dims))
	for i, n := len(s.dims)-1, one; i > t.Across; i-- {
		s.behind[i], n = n, g.Mul(n, s.dims[i])
	}
	if n, known := build.ConstantInt(s.columns); known {
		if n < 2*chunkElems && n != chunkElems {
			s.shortRows()
		} else {
			s.longRows()
		}
		return
	}
	short := g.Cur.NewICmp(enum.IPredSLT, s.columns, s.int(2*chunkElems))
	other := g.Cur.NewICmp(enum.IPredNE, s.columns, s.int(chunkElems))
	g.Branch(g.Cur.NewAnd(short, other), s.shortRows, s.longRows)
}

func (s *stager) int(n int64) value.Value { return build.Int(build.I64, n) }

// element is the number of the first element of a row.
func (s *stager) element(row value.Value) value.Value { return s.Mul(row, s.columns) }

// reduce writes the body of a chunk; the element number zero, counted from the beginning of the reduction, would be at
// that place of each stage.
func (s *stager) reduce(c value.Value, zero func(o *schedule.StagedOperand) value.Value) {
	for i := range s.Operands {
		o := &s.Operands[i]
		s.Bufs[o.Stage] = s.Cur.NewGetElementPtr(build.MemoryType(s.Params[o.Stage].DType), s.mems[i], zero(o))
	}
	s.Env[s.chunk.Var] = emit.Val{V: c}
	s.Block(s.Body)
}

// shortRows goes by as many chunks as the stages have room for, with the rows that they begin and end in.
func (s *stager) shortRows() {
	room := s.Rows * schedule.StageRow
	some := s.Cur.NewSDiv(s.Sub(s.int(room), s.Mul(s.columns, s.int(2))), s.int(chunkElems))
	s.ForStep(s.begin, s.end, some, nil, func(c value.Value, _ []value.Value) []value.Value {
		stop := s.Min(s.Add(c, some), s.end)
		first := s.Cur.NewUDiv(s.Mul(c, s.int(chunkElems)), s.columns)
		last := s.Min(s.Mul(stop, s.int(chunkElems)), s.total)
		last = s.Cur.NewUDiv(s.Sub(s.Add(last, s.columns), s.int(1)), s.columns)
		origin := s.element(first)
		s.fill(first, last, s.int(0), s.columns, func(_ *schedule.StagedOperand, row, column value.Value) value.Value {
			return s.Add(s.Sub(s.element(row), origin), column)
		})
		s.For(c, stop, 1, nil, func(c value.Value, _ []value.Value) []value.Value {
			s.reduce(c, func(*schedule.StagedOperand) value.Value { return s.Sub(s.int(0), origin) })
			return nil
		})
		return nil
	})
}

// longRows goes by bands of rows, and in a band by pieces of the columns.
func (s *stager) longRows() {
	first := s.RoundDown(s.Cur.NewUDiv(s.Mul(s.begin, s.int(chunkElems)), s.columns), s.Rows)
	last := s.Min(s.Mul(s.end, s.int(chunkElems)), s.total)
	last = s.Cur.NewUDiv(s.Sub(s.Add(last, s.columns), s.int(1)), s.columns)
	// Where all chunks begin with a piece, one piece is enough. Else those columns follow behind the last one in which
	// chunks end that begin before them.
	whole := value.Value(s.Cur.NewICmp(enum.IPredEQ, s.Cur.NewAnd(s.columns, s.int(chunkElems-1)), s.int(0)))
	ragged := func(n int64) value.Value { return s.Cur.NewSelect(whole, s.int(0), s.int(n)) }
	lead, beyond := ragged(chunkElems), s.Add(s.columns, ragged(chunkElems-1))
	s.For(first, last, s.Rows, nil, func(row value.Value, _ []value.Value) []value.Value {
		end := s.Min(s.Add(row, s.int(s.Rows)), last)
		s.For(s.Sub(s.int(0), lead), s.columns, chunkElems, nil, func(from value.Value, _ []value.Value) []value.Value {
			second := s.Add(from, lead)
			s.piece(row, end, second, s.Min(s.Add(second, s.int(chunkElems)), beyond), from)
			s.When(s.Cur.NewICmp(enum.IPredSGE, from, s.int(0)), func() { s.chunksOf(row, end, from) })
			s.When(s.Cur.NewXor(whole, build.Int(build.I1, 1)), func() { s.move(row, end) })
			return nil
		})
		return nil
	})
}

// piece brings the columns [j, jEnd) of the rows [r, rEnd) to the stages, in which the column origin is the first. The
// columns from the number of all on are those of the row behind.
func (s *stager) piece(r, rEnd, j, jEnd, origin value.Value) {
	s.For(s.int(0), s.int(2), 1, nil, func(next value.Value, _ []value.Value) []value.Value {
		before := s.Mul(next, s.columns)
		lo := s.Cur.NewSub(s.max(before, j), before)
		hi := s.Min(s.Cur.NewSub(jEnd, before), s.columns)
		rows := s.Min(s.Add(rEnd, next), s.rows)
		first := s.Add(r, next)
		s.When(s.Cur.NewICmp(enum.IPredSLT, lo, hi), func() {
			s.fill(first, rows, lo, hi, func(o *schedule.StagedOperand, row, column value.Value) value.Value {
				at := s.Mul(s.Cur.NewSub(row, first), s.int(s.Pitch(o)))
				return s.Add(at, s.Cur.NewSub(s.Add(column, before), origin))
			})
		})
		return nil
	})
}

// chunksOf reduces the chunks that begin in the rows [r, rEnd) among the columns of a piece from the column origin on.
func (s *stager) chunksOf(r, rEnd, origin value.Value) {
	s.For(r, rEnd, 1, nil, func(row value.Value, _ []value.Value) []value.Value {
		at := s.Add(s.element(row), origin)
		c := s.Cur.NewUDiv(s.Add(at, s.int(chunkElems-1)), s.int(chunkElems))
		column := s.Cur.NewSub(s.Mul(c, s.int(chunkElems)), s.element(row))
		mine := s.Cur.NewAnd(s.Cur.NewICmp(enum.IPredSLT, column, s.columns),
			s.Cur.NewAnd(s.Cur.NewICmp(enum.IPredSGE, c, s.begin), s.Cur.NewICmp(enum.IPredSLT, c, s.end)))
		s.When(mine, func() {
			s.reduce(c, func(o *schedule.StagedOperand) value.Value {
				return s.Cur.NewSub(s.Mul(s.Cur.NewSub(row, r), s.int(s.Pitch(o))), at)
			})
		})
		return nil
	})
}

// move brings the second piece of each row of a stage to the place of the first.
func (s *stager) move(r, rEnd value.Value) {
	for i := range s.Operands {
		o := &s.Operands[i]
		t := build.MemoryType(s.Params[o.Stage].DType)
		w := int64(schedule.LineBytes / s.Params[o.Stage].DType.Bytes())
		p := lt.NewPointer(build.Vector(t, int(w)))
		s.For(r, rEnd, 1, nil, func(row value.Value, _ []value.Value) []value.Value {
			to := s.Cur.NewGetElementPtr(t, s.mems[i], s.Mul(s.Cur.NewSub(row, r), s.int(s.Pitch(o))))
			s.For(s.int(0), s.int(chunkElems), w, nil, func(j value.Value, _ []value.Value) []value.Value {
				from := s.Cur.NewGetElementPtr(t, to, s.Add(j, s.int(chunkElems)))
				x := s.Cur.NewLoad(build.Vector(t, int(w)), s.Cur.NewBitCast(from, p))
				x.Align = schedule.LineBytes
				st := s.Cur.NewStore(x, s.Cur.NewBitCast(s.Cur.NewGetElementPtr(t, to, j), p))
				st.Align = schedule.LineBytes
				return nil
			})
			return nil
		})
	}
}

// placeOf is the place of an element in the stage of an operand.
type placeOf func(o *schedule.StagedOperand, row, column value.Value) value.Value

// fill brings the columns [j, jEnd) of the rows [r, rEnd), some of each, of all operands to their stages.
func (s *stager) fill(r, rEnd, j, jEnd value.Value, at placeOf) {
	n := s.dims[s.Across]
	if s.Across == 0 {
		for i := range s.Operands {
			f := &filler{s, &s.Operands[i], s.mems[i], at, func(row value.Value) value.Value {
				return s.Mul(s.Dim(s.Operands[i].Coefs[0]), row)
			}}
			f.fill(r, rEnd, j, jEnd)
		}
		return
	}
	// Rows of different positions of an axis before the one across are no neighbours.
	last := s.Cur.NewUDiv(s.Sub(rEnd, s.int(1)), n)
	s.For(s.Cur.NewUDiv(r, n), s.Add(last, s.int(1)), 1, nil, func(outer value.Value, _ []value.Value) []value.Value {
		begin := s.Mul(outer, n)
		lo := s.max(begin, r)
		hi := s.Min(s.Add(begin, n), rEnd)
		for i := range s.Operands {
			o := &s.Operands[i]
			before, rest := value.Value(s.int(0)), outer
			for a := s.Across - 1; a >= 0; a-- {
				x := rest
				if a > 0 {
					x, rest = s.Cur.NewURem(rest, s.dims[a]), s.Cur.NewUDiv(rest, s.dims[a])
				}
				before = s.Add(before, s.Mul(s.Dim(o.Coefs[a]), x))
			}
			f := &filler{s, o, s.mems[i], at, func(row value.Value) value.Value {
				return s.Add(before, s.Mul(s.Dim(o.Coefs[s.Across]), s.Cur.NewSub(row, begin)))
			}}
			f.fill(lo, hi, j, jEnd)
		}
		return nil
	})
}

func (s *stager) max(x, y value.Value) value.Value {
	return s.Cur.NewSelect(s.Cur.NewICmp(enum.IPredSGT, x, y), x, y)
}

// filler brings elements of one operand to its stage.
type filler struct {
	*stager
	o   *schedule.StagedOperand
	mem value.Value
	at  placeOf
	row func(row value.Value) value.Value // the place of a row in the operand
}

// column is the place of a column in each row of the operand.
func (f *filler) column(j value.Value) value.Value {
	sum := f.Dim(f.o.Offset)
	for a := f.Across + 1; a < len(f.dims); a++ {
		x := j
		if a < len(f.dims)-1 {
			x = f.Cur.NewUDiv(j, f.behind[a])
			j = f.Cur.NewURem(j, f.behind[a])
		}
		sum = f.Add(sum, f.Mul(f.Dim(f.o.Coefs[a]), x))
	}
	return sum
}

// stageAt is the address of an element in the stage, of a vector of w there, or of one element where w is 0.
func (f *filler) stageAt(row, column value.Value, w int) value.Value {
	t := build.MemoryType(f.Params[f.o.Stage].DType)
	p := f.Cur.NewGetElementPtr(t, f.mem, f.at(f.o, row, column))
	return f.Cur.NewBitCast(p, lt.NewPointer(build.Vector(t, w)))
}

// fill brings the columns [j, jEnd) of the rows [r, rEnd) to the stage: by squares where rows are neighbours, by
// vectors where columns are.
func (f *filler) fill(r, rEnd, j, jEnd value.Value) {
	d := f.Params[f.o.Stage].DType
	side, line := square(f.Machine, d), schedule.LineBytes/d.Bytes()
	rows, columns := f.Cur.NewSub(rEnd, r), f.Cur.NewSub(jEnd, j)
	least := func(n value.Value, w int) value.Value { return f.Cur.NewICmp(enum.IPredSGE, n, f.int(int64(w))) }
	is := func(c types.Dim) (value.Value, bool) { // that a coefficient is 1; false where it never is
		n, known := c.Const()
		return f.Cur.NewICmp(enum.IPredEQ, f.Dim(c), f.int(1)), !known || n == 1
	}
	along, known := f.o.Along(f.Across)
	elements := func() { f.elements(r, rEnd, j, jEnd) }
	neighbours := elements
	if one, may := is(f.o.Coefs[len(f.dims)-1]); may && f.Across == len(f.dims)-2 && !along {
		neighbours = func() {
			f.Branch(f.Cur.NewAnd(one, least(columns, line)), func() { f.vectors(r, rEnd, j, jEnd, line) }, elements)
		}
	}
	if known && !along {
		neighbours()
		return
	}
	yes := value.Value(f.Cur.NewAnd(least(rows, side), least(columns, side)))
	if !known {
		one, _ := is(f.o.Coefs[f.Across])
		yes = f.Cur.NewAnd(yes, one)
	}
	f.Branch(yes, func() { f.squares(r, rEnd, j, jEnd, side) }, neighbours)
}

// elements is fill one by one, along the rows first where that goes the shorter way.
func (f *filler) elements(r, rEnd, j, jEnd value.Value) {
	one := func(row, column value.Value) {
		x := f.LoadScalar(f.o.Param, f.Add(f.row(row), f.column(column)))
		f.Cur.NewStore(x, f.stageAt(row, column, 0)).Align = f.Align(f.Params[f.o.Stage].DType)
	}
	x, y := f.o.Coefs[f.Across], f.o.Coefs[len(f.dims)-1]
	n, known1 := x.Const()
	m, known2 := y.Const()
	if known1 && known2 && max(m, -m) < max(n, -n) {
		f.For(r, rEnd, 1, nil, func(row value.Value, _ []value.Value) []value.Value {
			f.For(j, jEnd, 1, nil, func(column value.Value, _ []value.Value) []value.Value {
				one(row, column)
				return nil
			})
			return nil
		})
		return
	}
	f.For(j, jEnd, 1, nil, func(column value.Value, _ []value.Value) []value.Value {
		f.For(r, rEnd, 1, nil, func(row value.Value, _ []value.Value) []value.Value {
			one(row, column)
			return nil
		})
		return nil
	})
}

// vectors is fill in vectors of w along the columns, of which there are as many; the last one overlaps.
func (f *filler) vectors(r, rEnd, j, jEnd value.Value, w int) {
	d := f.Params[f.o.Stage].DType
	vt := build.Vector(build.MemoryType(d), w)
	f.For(r, rEnd, 1, nil, func(row value.Value, _ []value.Value) []value.Value {
		f.For(j, jEnd, int64(w), nil, func(column value.Value, _ []value.Value) []value.Value {
			column = f.Min(column, f.Add(jEnd, f.int(int64(-w))))
			from := f.Addr(f.o.Param, f.Add(f.row(row), f.column(column)))
			x := f.Cur.NewLoad(vt, f.Cur.NewBitCast(from, lt.NewPointer(vt)))
			x.Align = f.Align(d)
			f.Cur.NewStore(x, f.stageAt(row, column, w)).Align = f.Align(d)
			return nil
		})
		return nil
	})
}

// squares is fill by squares of w rows and columns, of which there are as many; the last ones overlap.
func (f *filler) squares(r, rEnd, j, jEnd value.Value, w int) {
	d := f.Params[f.o.Stage].DType
	vt := build.Vector(build.MemoryType(d), w)
	backwards := f.o.Coefs[f.Across].IsConst(-1)
	ask := f.Schedule.OfBuffer("prefetch", f.o.Param)
	if f.Across < len(f.dims)-2 {
		ask = nil // each place would be a division
	}
	f.For(j, jEnd, int64(w), nil, func(jj value.Value, _ []value.Value) []value.Value {
		jj = f.Min(jj, f.Add(jEnd, f.int(int64(-w))))
		places, asked := make([]value.Value, w), make([]value.Value, w)
		for i := range places {
			places[i] = f.column(f.Add(jj, f.int(int64(i))))
			if ask != nil {
				asked[i] = f.column(f.Add(jj, f.int(int64(i)+ask.Get("row"))))
			}
		}
		f.For(r, rEnd, int64(w), nil, func(rr value.Value, _ []value.Value) []value.Value {
			rr = f.Min(rr, f.Add(rEnd, f.int(int64(-w))))
			first := rr
			if backwards {
				first = f.Add(rr, f.int(int64(w-1)))
			}
			row := f.row(first)
			vs := make([]value.Value, w)
			for i := range vs {
				p := f.Addr(f.o.Param, f.Add(row, places[i]))
				l := f.Cur.NewLoad(vt, f.Cur.NewBitCast(p, lt.NewPointer(vt)))
				l.Align = f.Align(d)
				vs[i] = l
				if ask != nil {
					loops.PrefetchLinesTo(f.Func, loops.LevelOf(ask), f.o.Param, f.Add(row, asked[i]), 1)
				}
			}
			for i, x := range f.TransposeSquare(vs) {
				if backwards {
					i = w - 1 - i
				}
				f.Cur.NewStore(x, f.stageAt(f.Add(rr, f.int(int64(i))), jj, w)).Align = f.Align(d)
			}
			return nil
		})
		return nil
	})
}
