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

// leastShuffled is the shortest vector that is put together from elements which are no neighbours.
const leastShuffled = 4

// filler brings elements of one operand to its stage, in which rows lie in order.
type filler struct {
	*emit.Func
	param   int
	d       types.DType
	mem     value.Value                               // the stage
	at      func(row, column value.Value) value.Value // the place of an element in the stage
	row     func(row value.Value) value.Value         // the place of a row in the operand
	across  types.Dim                                 // from a row to the next, in the operand
	offset  types.Dim                                 // of all elements of the operand
	columns []fillerAxis                              // outermost first
	ask     *kernel.Directive                         // for columns ahead; nil where none are asked for
}

// fillerAxis is an axis of the columns.
type fillerAxis struct {
	coef   types.Dim   // what the place in the operand moves by
	behind value.Value // columns from a position to the next
}

// column is the place of a column in each row of the operand.
func (f *filler) column(j value.Value) value.Value {
	sum := f.Dim(f.offset)
	for a, axis := range f.columns {
		x := j
		if a < len(f.columns)-1 {
			x = f.Cur.NewUDiv(j, axis.behind)
			j = f.Cur.NewURem(j, axis.behind)
		}
		sum = f.Add(sum, f.Mul(f.Dim(axis.coef), x))
	}
	return sum
}

// last is what the place moves by along the last axis of the columns.
func (f *filler) last() types.Dim { return f.columns[len(f.columns)-1].coef }

// stageAt is the address of an element in the stage, of a vector of w there, or of one element where w is 0.
func (f *filler) stageAt(row, column value.Value, w int) value.Value {
	t := build.MemoryType(f.d)
	p := f.Cur.NewGetElementPtr(t, f.mem, f.at(row, column))
	return f.Cur.NewBitCast(p, lt.NewPointer(build.Vector(t, w)))
}

// load and store are for what the filler copies, of type t.
func (f *filler) load(t lt.Type, from value.Value) value.Value {
	x := f.Cur.NewLoad(t, from)
	x.Align = f.Align(f.d)
	return x
}

func (f *filler) store(x, to value.Value) { f.Cur.NewStore(x, to).Align = f.Align(f.d) }

// fill brings the columns [j, jEnd) of the rows [r, rEnd) to the stage: by squares where rows are near each other, by
// vectors where columns are neighbours.
func (f *filler) fill(r, rEnd, j, jEnd value.Value) {
	side, line := square(f.Machine, f.d), schedule.LineBytes/f.d.Bytes()
	rows, columns := f.Cur.NewSub(rEnd, r), f.Cur.NewSub(jEnd, j)
	least := func(n value.Value, w int) value.Value {
		return f.Cur.NewICmp(enum.IPredSGE, n, build.Int(build.I64, int64(w)))
	}
	is := func(c types.Dim) (value.Value, bool) { // that a coefficient is 1; false where it never is
		n, known := c.Const()
		return f.Cur.NewICmp(enum.IPredEQ, f.Dim(c), build.Int(build.I64, 1)), !known || n == 1
	}
	n, known := f.across.Const()
	along := n == 1 || n == -1 || n != 0 && max(n, -n) <= schedule.MaxShuffled && side >= leastShuffled
	elements := func() { f.elements(r, rEnd, j, jEnd) }
	neighbours := elements
	if one, may := is(f.last()); may && len(f.columns) == 1 && !along {
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
		one, _ := is(f.across)
		yes = f.Cur.NewAnd(yes, one)
	}
	f.Branch(yes, func() { f.squares(r, rEnd, j, jEnd, side) }, neighbours)
}

// elements is fill one by one, along the rows first where that goes the shorter way.
func (f *filler) elements(r, rEnd, j, jEnd value.Value) {
	t := build.MemoryType(f.d)
	one := func(row, column value.Value) {
		x := f.load(t, f.Addr(f.param, f.Add(f.row(row), f.column(column))))
		f.store(x, f.stageAt(row, column, 0))
	}
	n, known1 := f.across.Const()
	m, known2 := f.last().Const()
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
	vt := build.Vector(build.MemoryType(f.d), w)
	f.For(r, rEnd, 1, nil, func(row value.Value, _ []value.Value) []value.Value {
		f.For(j, jEnd, int64(w), nil, func(column value.Value, _ []value.Value) []value.Value {
			column = f.Min(column, f.Add(jEnd, build.Int(build.I64, int64(-w))))
			at := f.Addr(f.param, f.Add(f.row(row), f.column(column)))
			f.store(f.load(vt, f.Cur.NewBitCast(at, lt.NewPointer(vt))), f.stageAt(row, column, w))
			return nil
		})
		return nil
	})
}

// squares is fill by squares of w rows and columns, of which there are as many; the last ones overlap. Rows are
// neighbours, or as near as vectors are put together from.
func (f *filler) squares(r, rEnd, j, jEnd value.Value, w int) {
	vt := build.Vector(build.MemoryType(f.d), w)
	step, known := f.across.Const()
	backwards, apart := step == -1, known && step != 1 && step != -1
	ask := f.ask
	if len(f.columns) > 1 {
		ask = nil // each place would be a division
	}
	f.For(j, jEnd, int64(w), nil, func(jj value.Value, _ []value.Value) []value.Value {
		jj = f.Min(jj, f.Add(jEnd, build.Int(build.I64, int64(-w))))
		places, asked := make([]value.Value, w), make([]value.Value, w)
		for i := range places {
			places[i] = f.column(f.Add(jj, build.Int(build.I64, int64(i))))
			if ask != nil {
				asked[i] = f.column(f.Add(jj, build.Int(build.I64, int64(i)+ask.Get("row"))))
			}
		}
		f.For(r, rEnd, int64(w), nil, func(rr value.Value, _ []value.Value) []value.Value {
			rr = f.Min(rr, f.Add(rEnd, build.Int(build.I64, int64(-w))))
			first := rr
			if backwards {
				first = f.Add(rr, build.Int(build.I64, int64(w-1)))
			}
			row := f.row(first)
			vs := make([]value.Value, w)
			for i := range vs {
				at := f.Add(row, places[i])
				if apart {
					f.InVectors(w, func() { vs[i] = f.Access.Strided(f.Func, f.param, f.d, at, step) })
				} else {
					vs[i] = f.load(vt, f.Cur.NewBitCast(f.Addr(f.param, at), lt.NewPointer(vt)))
				}
				if ask != nil {
					loops.PrefetchLinesTo(f.Func, loops.LevelOf(ask), f.param, f.Add(row, asked[i]), 1)
				}
			}
			for i, x := range f.TransposeSquare(vs) {
				if backwards {
					i = w - 1 - i
				}
				f.store(x, f.stageAt(f.Add(rr, build.Int(build.I64, int64(i))), jj, w))
			}
			return nil
		})
		return nil
	})
}
