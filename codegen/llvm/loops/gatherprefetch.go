package loops

import (
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Gathered rows]
//
// A gather of rows reads one row after the other from places that stand in memory:
//
//	%3 = load at[i]; parallel j { y[i, j] = x[%3, j] }
//
// No processor fetches such rows ahead. So each row asks, a line at a time as it goes, for the row that comes
// gatherAhead bytes later, in the second-level cache: the first level has too few places for what is on its way
// (docs/tuning/prefetch.md). The number of that row is read where another iteration reads it, and is not checked: a
// prefetch never faults.

// gatherAhead is how many bytes of gathered rows lie between a row and the one that it asks for.
const gatherAhead = 16 << 10

// maxRowsAhead bounds how far ahead short rows are asked for.
const maxRowsAhead = 64

// gathered is a load along rows, the number of which stands in memory.
type gathered struct {
	load   *kernel.Load
	number *kernel.Load // reads it, from one place after the other along the axis
	value  kernel.Ref   // of number, as an I64
	size   int64        // elements of a row: what the number is multiplied by
	ahead  int64        // rows
}

// GatheredRows finds the loads in a parallel loop of the body of k that go along gathered rows of a large buffer.
func GatheredRows(g *emit.Func, k *kernel.Kernel) map[*kernel.Loop][]gathered {
	if len(k.Axes) == 0 || g.Machine.Narrow {
		return nil
	}
	axis := k.Axes[len(k.Axes)-1].Var
	numbers := map[kernel.Ref]*kernel.Load{}
	out := map[*kernel.Loop][]gathered{}
	for _, st := range k.Body.Stmts {
		switch st := st.(type) {
		case *kernel.Load:
			d := k.Params[st.Param].DType
			for _, t := range st.At.Terms {
				if t.Var == axis && t.Coef.IsConst(1) && !k.Params[st.Param].Out && (d == types.I32 || d == types.I64) {
					numbers[st.ID] = st
				}
			}
		case *kernel.Let:
			if n := numbers[st.In.Args[0]]; st.In.Op == scalar.Cast && st.In.Type == types.I64 && n != nil {
				numbers[st.ID] = n
			}
		case *kernel.Loop:
			if !st.Parallel {
				continue
			}
			for _, in := range st.Body.Stmts {
				if l, ok := in.(*kernel.Load); ok && !k.Params[l.Param].Out {
					if r, ok := gatheredAlong(g, l, st.Axis.Var, numbers); ok {
						out[st] = append(out[st], r)
					}
				}
			}
		}
	}
	return out
}

// gatheredAlong is one load of GatheredRows.
func gatheredAlong(g *emit.Func, l *kernel.Load, along kernel.Ref, numbers map[kernel.Ref]*kernel.Load) (gathered,
	bool) {
	out, next := gathered{load: l}, false
	for _, t := range l.At.Terms {
		c, known := t.Coef.Const()
		switch n := numbers[t.Var]; {
		case t.Var == along:
			next = c == 1 && known
		case n != nil && known && g.Types[t.Var] == types.I64 && out.number == nil:
			out.number, out.value, out.size = n, t.Var, c
		default:
			return out, false
		}
	}
	bytes := out.size * int64(g.Params[l.Param].DType.Bytes())
	buffer, known := g.SizeOf(l.Param)
	if !next || out.number == nil || bytes < 1 || bytes > aheadMost || known && buffer < LargeInput {
		return out, false
	}
	out.ahead = min(max(gatherAhead/bytes, 1), maxRowsAhead)
	return out, true
}

// prefetchRows computes how far the rows are that the loads of a loop ask for, for the row that is next to be read.
func prefetchRows(g *emit.Func, rows []gathered) map[*kernel.Load]value.Value {
	out := map[*kernel.Load]value.Value{}
	for _, r := range rows {
		last := emit.State[Prefetching](g).Last
		i := g.Env[last.Var].V
		more := g.Cur.NewICmp(enum.IPredSLT, g.Cur.NewAdd(i, build.Int(build.I64, r.ahead)), g.Extent(last.Extent))
		at := g.Add(g.AddressOf(r.number.At).Base, g.Cur.NewSelect(more, build.Int(build.I64, r.ahead),
			build.Int(build.I64, 0)))
		number := g.LoadScalar(r.number.Param, at)
		if g.Params[r.number.Param].DType == types.I32 {
			number = g.Cur.NewSExt(number, build.I64)
		}
		out[r.load] = g.Cur.NewMul(g.Cur.NewSub(number, g.Env[r.value].V), build.Int(build.I64, r.size))
	}
	return out
}
