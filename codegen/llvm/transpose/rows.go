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
	"healc/ir/kernel/analysis"
	"healc/ir/scalar"
)

// rowStager writes a kernel that goes along rows in stages: Note [Staged rows] in ir/kernel/transform.
type rowStager struct {
	*emit.Func
	*schedule.RowStaging
	mems    []value.Value // the stages
	pitch   []value.Value // of each, elements from a row to the next
	columns []value.Value // of each row
	count   value.Value   // rows at a time
	room    value.Value   // that they have room; nil where that is known
}

// StagedRowLoops writes the loops of such a kernel, as the directive d says. Where rows turn out to be too long for
// stages it is written by plain.
func StagedRowLoops(g *emit.Func, t *schedule.RowStaging, d *kernel.Directive, begin, end value.Value, plain func()) {
	s := &rowStager{Func: g, RowStaging: t}
	outer := g.Params
	g.Schedule = d.Sub
	s.memory()
	staged := func() {
		g.Params = t.Kernel.Params
		s.loops(begin, end)
		g.Params = outer
	}
	if s.room == nil {
		staged()
		return
	}
	g.Branch(s.room, staged, func() {
		g.Within(kernel.Directives(d.Sub).Find("else", scalar.None), plain)
	})
}

func (s *rowStager) int(n int64) value.Value { return build.Int(build.I64, n) }

// memory reserves the stages, and the memory that the code of a row has beside them.
func (s *rowStager) memory() {
	params := s.Kernel.Params
	row := value.Value(s.int(0)) // bytes of one row of all stages
	var before []value.Value     // of the stages before each
	for i := range s.Operands {
		o := &s.Operands[i]
		n := value.Value(s.int(1))
		for _, e := range o.Extents {
			n = s.Mul(n, s.Dim(e))
		}
		most := n
		if o.Chunk != scalar.None {
			most = s.int(kernel.Columns.Chunk())
		}
		size := int64(params[o.Stage].DType.Bytes())
		pitch := s.pitchOf(o, most, size)
		s.columns, s.pitch, before = append(s.columns, n), append(s.pitch, pitch), append(before, row)
		row = s.Add(row, s.Mul(pitch, s.int(size)))
	}
	bytes := s.Bytes
	counts := s.Counts()
	s.count = s.int(counts[0])
	if n, known := build.ConstantInt(row); known {
		most := counts[0]
		for _, c := range counts {
			if c*n <= s.Bytes {
				most = c
			}
		}
		s.count, bytes = s.int(most), most*n
	} else {
		fits := func(n int64) value.Value {
			return s.Cur.NewICmp(enum.IPredSLE, row, s.int(s.Bytes/n))
		}
		s.room = fits(counts[0])
		for _, c := range counts[1:] {
			s.count = s.Cur.NewSelect(fits(c), s.int(c), s.count)
		}
	}
	mem := s.Stack(build.I8, int(bytes))
	for i := range s.Operands {
		at := s.Cur.NewGetElementPtr(build.I8, mem, s.Mul(before[i], s.count))
		t := build.MemoryType(params[s.Operands[i].Stage].DType)
		s.mems = append(s.mems, s.Cur.NewBitCast(at, lt.NewPointer(t)))
	}
	s.Bufs = append(s.Bufs, s.mems...)
	for _, p := range params[len(s.Bufs):] {
		n, _ := p.Shape[0].Dim.Const()
		s.Bufs = append(s.Bufs, s.Stack(build.MemoryType(p.DType), int(n)))
	}
}

// pitchOf is how many elements lie from a row of so many columns to the next.
func (s *rowStager) pitchOf(o *schedule.RowOperand, columns value.Value, size int64) value.Value {
	if s.Down {
		return columns
	}
	if n, known := build.ConstantInt(columns); known {
		return s.int(s.RowBytes(o, n) / size)
	}
	line := schedule.LineBytes / size
	return s.Add(s.RoundDown(s.Add(columns, s.int(2*line-1)), 2*line), s.int(line))
}

// loops writes the loops over the axes. Those over the rows stand inside of all others, but for the axis that the
// runtime cuts.
func (s *rowStager) loops(begin, end value.Value) {
	if analysis.ReadsOrChecks(s.Before) { // only where there are iterations
		s.ReturnUnless(s.Cur.NewICmp(enum.IPredSLT, begin, end))
	}
	s.Block(&kernel.Block{Stmts: s.Before})
	axes := s.Kernel.Axes
	bounds := func(i int) (lo, hi value.Value) {
		if i == 0 {
			return begin, end
		}
		return s.int(axes[i].Begin), s.Extent(axes[i].Extent)
	}
	var others func(i int, inside func())
	others = func(i int, inside func()) {
		switch {
		case i == len(axes):
			inside()
		case i == s.Across:
			others(i+1, inside)
		default:
			lo, hi := bounds(i)
			s.For(lo, hi, 1, nil, func(v value.Value, _ []value.Value) []value.Value {
				s.Env[axes[i].Var] = emit.Val{V: v}
				others(i+1, inside)
				return nil
			})
		}
	}
	blocks := func(inside func(r, rEnd value.Value)) {
		lo, hi := bounds(s.Across)
		s.ForStep(lo, hi, s.count, nil, func(r value.Value, _ []value.Value) []value.Value {
			inside(r, s.Min(s.Add(r, s.count), hi))
			return nil
		})
	}
	if s.Across == 0 {
		blocks(func(r, rEnd value.Value) { others(0, func() { s.rows(r, rEnd) }) })
		return
	}
	others(0, func() { blocks(s.rows) })
}

// rows goes along the rows [r, rEnd). Rows before them are copied, too, where they would be no whole squares else.
func (s *rowStager) rows(r, rEnd value.Value) {
	axis := s.Kernel.Axes[s.Across]
	if s.Down {
		for i := range s.Operands {
			o := &s.Operands[i]
			lo, hi := value.Value(s.int(0)), s.columns[i]
			if o.Chunk != scalar.None {
				n := s.int(kernel.Columns.Chunk())
				lo = s.Mul(s.Env[o.Chunk].V, n)
				hi = s.Min(s.Add(lo, n), hi)
			}
			s.columnFiller(i, r, lo).fill(lo, hi, r, rEnd)
			first := s.Sub(s.Sub(s.int(0), r), s.Mul(lo, s.count))
			s.Bufs[o.Stage] = s.Cur.NewGetElementPtr(build.MemoryType(s.Params[o.Stage].DType), s.mems[i], first)
		}
		loops.Parallel(s.Func, axis.Var, r, rEnd, true, s.Kernel.Body)
		return
	}
	all := s.Extent(axis.Extent)
	first := s.Min(r, s.Sub(all, s.count))
	first = s.Cur.NewSelect(s.Cur.NewICmp(enum.IPredSLT, first, s.int(0)), s.int(0), first)
	for i := range s.Operands {
		s.filler(i, first).fill(first, rEnd, s.int(0), s.columns[i])
	}
	s.For(r, rEnd, 1, nil, func(row value.Value, _ []value.Value) []value.Value {
		s.Env[axis.Var] = emit.Val{V: row}
		for i := range s.Operands {
			o := &s.Operands[i]
			t := build.MemoryType(s.Params[o.Stage].DType)
			s.Bufs[o.Stage] = s.Cur.NewGetElementPtr(t, s.mems[i], s.Mul(s.Cur.NewSub(row, first), s.pitch[i]))
		}
		s.Block(s.Kernel.Body)
		return nil
	})
}

// begin is the place of row 0 of an operand.
func (s *rowStager) begin(o *schedule.RowOperand) value.Value {
	at := s.Dim(o.Row.Offset)
	for _, t := range o.Row.Terms {
		if t.Var != s.Kernel.Axes[s.Across].Var {
			at = s.Add(at, s.Mul(s.Dim(t.Coef), s.Env[t.Var].V))
		}
	}
	return at
}

// columnFiller brings rows of an operand to its stage, in which their elements are side by side, from row first and
// from column lo on. What it copies are the columns of these rows: they are as near in the operand as rows are
// elsewhere.
func (s *rowStager) columnFiller(i int, first, lo value.Value) *filler {
	o := &s.Operands[i]
	begin := s.begin(o)
	return &filler{Func: s.Func, param: o.Param, d: s.Params[o.Stage].DType, mem: s.mems[i], across: o.Coefs[0],
		columns: []fillerAxis{{o.Across, s.int(1)}},
		at: func(column, row value.Value) value.Value {
			return s.Add(s.Mul(s.Cur.NewSub(column, lo), s.count), s.Cur.NewSub(row, first))
		},
		row: func(column value.Value) value.Value { return s.Add(begin, s.Mul(s.Dim(o.Coefs[0]), column)) }}
}

// filler brings rows of an operand to its stage, where the row first is the first one.
func (s *rowStager) filler(i int, first value.Value) *filler {
	o := &s.Operands[i]
	other := s.begin(o)
	f := &filler{Func: s.Func, param: o.Param, d: s.Params[o.Stage].DType, mem: s.mems[i], across: o.Across,
		ask: s.Schedule.OfBuffer("prefetch", o.Param),
		at: func(row, column value.Value) value.Value {
			return s.Add(s.Mul(s.Cur.NewSub(row, first), s.pitch[i]), column)
		},
		row: func(row value.Value) value.Value { return s.Add(other, s.Mul(s.Dim(o.Across), row)) }}
	behind := value.Value(s.int(1))
	f.columns = make([]fillerAxis, len(o.Extents))
	for a := len(o.Extents) - 1; a >= 0; a-- {
		f.columns[a] = fillerAxis{o.Coefs[a], behind}
		behind = s.Mul(behind, s.Dim(o.Extents[a]))
	}
	return f
}
