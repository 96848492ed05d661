package transpose

import (
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/codegen/schedule"
	"healc/ir/kernel"
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
			s.filler(i, at, func(row value.Value) value.Value {
				return s.Mul(s.Dim(s.Operands[i].Coefs[0]), row)
			}).fill(r, rEnd, j, jEnd)
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
			s.filler(i, at, func(row value.Value) value.Value {
				return s.Add(before, s.Mul(s.Dim(o.Coefs[s.Across]), s.Cur.NewSub(row, begin)))
			}).fill(lo, hi, j, jEnd)
		}
		return nil
	})
}

// filler brings elements of an operand to its stage, where a row is at a place of the operand.
func (s *stager) filler(i int, at placeOf, row func(row value.Value) value.Value) *filler {
	o := &s.Operands[i]
	f := &filler{Func: s.Func, param: o.Param, d: s.Params[o.Stage].DType, mem: s.mems[i], row: row,
		at:     func(row, column value.Value) value.Value { return at(o, row, column) },
		across: o.Coefs[s.Across], offset: o.Offset, ask: s.Schedule.OfBuffer("prefetch", o.Param)}
	for a := s.Across + 1; a < len(s.dims); a++ {
		f.columns = append(f.columns, fillerAxis{o.Coefs[a], s.behind[a]})
	}
	return f
}

func (s *stager) max(x, y value.Value) value.Value {
	return s.Cur.NewSelect(s.Cur.NewICmp(enum.IPredSGT, x, y), x, y)
}
