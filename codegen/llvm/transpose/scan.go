package transpose

import (
	"slices"

	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/codegen/llvm/loops"
	"healc/codegen/schedule"
	"healc/ir/kernel"
)

// Note [Transposed loops]
//
// A sequential loop along rows, in vectors over neighbouring rows, reads and writes an element of each row in a step:
//
//	for i { acc = acc + x[row, i]; y[row, i] = acc }
//
// That is a load and a store for each element, of lines as far apart as rows are, which share few places of the
// first-level cache where rows are a power of two long. So as many steps as a register has elements are done at once:
// their elements are loaded along the rows, transposed by squares in registers (TransposeSquare) and taken by the
// steps. The elements that these store are transposed back (docs/tuning/transposition.md).
//
// Two registers of each step are enough to wait for: the squares of the next steps depend on nothing.

// transposedLoop is such a loop.
type transposedLoop struct {
	*schedule.TransposedLoop
	count int // steps that are done at once
}

// TransposedForm has the elements of some steps read along the rows and transposed in registers.
var TransposedForm = emit.SequentialForm{
	Name: "transposed sequential loop",
	For:  "loops along rows in vectors over neighbouring rows, that read or write an element of each row in a step",
	Why:  "the only one",
	Write: func(g *emit.Func, l *kernel.Loop, init []value.Value, lo, hi value.Value,
		step emit.StepFunc) ([]value.Value, bool) {
		d := g.Schedule.Find("steps", l.Axis.Var)
		if d == nil || g.Width == 0 || g.Intercept != nil || emit.State[loops.Speculation](g).Path != nil ||
			g.Mask != nil {
			return nil, false
		}
		t := g.Code().TransposedLoopOf(l, func(r kernel.Ref) bool { return g.Env[r].Iota },
			func(r kernel.Ref) bool { return g.Env[r].Wide })
		if t == nil {
			return nil, false
		}
		return (&transposedLoop{t, min(int(d.Get("count")), g.Width)}).run(g, init, lo, hi, step), true
	},
}

// run does the loop from its state on.
func (t *transposedLoop) run(g *emit.Func, init []value.Value, lo, hi value.Value,
	one func(i value.Value, state []value.Value) []value.Value) []value.Value {
	n := t.count
	whole := g.Add(lo, g.RoundDown(g.Sub(hi, lo), int64(n)))
	state := g.For(lo, whole, int64(n), init, func(i value.Value, state []value.Value) []value.Value {
		g.Env[t.Loop.Axis.Var] = emit.Val{V: i}
		loaded := map[*kernel.Load][]value.Value{}
		for _, s := range t.Loop.Body.Stmts {
			if l, ok := s.(*kernel.Load); ok && t.Loads[l] {
				loaded[l] = t.columns(g, l, n)
			}
		}
		stored := map[*kernel.Store][]value.Value{}
		outer := g.Intercept
		for k := range n {
			g.Intercept = func(s kernel.Stmt) bool {
				switch s := s.(type) {
				case *kernel.Load:
					if t.Loads[s] {
						g.Set(s.ID, g.FromMem(g.Params[s.Param].DType, g.Width, loaded[s][k]), true)
						return true
					}
				case *kernel.Store:
					if t.Stores[s] {
						stored[s] = append(stored[s], g.ToMem(g.Params[s.Param].DType, g.Width, g.Spread(g.Env[s.Val])))
						return true
					}
				}
				return outer != nil && outer(s)
			}
			state = one(g.Add(i, build.Int(build.I64, int64(k))), state)
		}
		g.Intercept = outer
		g.Env[t.Loop.Axis.Var] = emit.Val{V: i}
		for _, s := range t.Loop.Body.Stmts {
			if s, ok := s.(*kernel.Store); ok && t.Stores[s] {
				t.rows(g, s, stored[s])
			}
		}
		return state
	})
	return g.For(whole, hi, 1, state, one)
}

// at calls do with the address of each row's elements for n steps, of type *<n x d>, and reports whether they lie
// backwards.
func (t *transposedLoop) at(g *emit.Func, param int, at kernel.Access, n int,
	do func(row int, p value.Value)) (backwards bool) {
	for _, term := range at.Terms {
		if c, _ := term.Coef.Const(); term.Var == t.Loop.Axis.Var {
			backwards = c < 0
		}
	}
	p := g.AddressOf(at)
	if backwards {
		p.Base = g.Add(p.Base, build.Int(build.I64, int64(1-n)))
	}
	to := lt.NewPointer(build.Vector(build.MemoryType(g.Params[param].DType), n))
	for r := range g.Width {
		do(r, g.Cur.NewBitCast(g.Addr(param, g.Lane(p, r)), to))
	}
	return backwards
}

// columns are the elements that a load reads in each of n steps.
func (t *transposedLoop) columns(g *emit.Func, l *kernel.Load, n int) []value.Value {
	d := g.Params[l.Param].DType
	var rows []value.Value
	backwards := t.at(g, l.Param, l.At, n, func(_ int, p value.Value) {
		x := g.Cur.NewLoad(build.Vector(build.MemoryType(d), n), p)
		x.Align = g.Align(d)
		rows = append(rows, x)
	})
	parts := make([][]value.Value, n)
	for at := 0; at < g.Width; at += n {
		for k, x := range g.TransposeSquare(rows[at : at+n]) {
			if backwards {
				k = n - 1 - k
			}
			parts[k] = append(parts[k], x)
		}
	}
	out := make([]value.Value, n)
	for k := range out {
		for all := parts[k]; ; {
			if len(all) == 1 {
				out[k] = all[0]
				break
			}
			var next []value.Value
			for two := range slices.Chunk(all, 2) {
				next = append(next, g.Concat(two[0], two[1]))
			}
			all = next
		}
	}
	return out
}

// rows stores the columns of n steps.
func (t *transposedLoop) rows(g *emit.Func, s *kernel.Store, columns []value.Value) {
	n := len(columns)
	var to []value.Value
	if t.at(g, s.Param, s.At, n, func(_ int, p value.Value) { to = append(to, p) }) {
		for k := range n / 2 {
			columns[k], columns[n-1-k] = columns[n-1-k], columns[k]
		}
	}
	for at := 0; at < g.Width; at += n {
		square := make([]value.Value, n)
		for k := range square {
			square[k] = g.Extract(columns[k], at, n)
		}
		for r, x := range g.TransposeSquare(square) {
			st := g.Cur.NewStore(x, to[at+r])
			st.Align = g.Align(g.Params[s.Param].DType)
		}
	}
}
