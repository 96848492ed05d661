package reduce

import (
	lir "github.com/llir/llvm/ir"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/codegen/llvm/loops"
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/ir/scalar"
)

// Note [Vectorised epilogues]
//
// Where terms lie side by side, vectors go along them, and the statements after the sums have one number at a time. The
// residue of a sum of products then takes as long as the sum of 32 of them. So the sums of some iterations are kept,
// and the statements after them are done in vectors (docs/tuning/reductions.md).

const (
	keptSums     = 64 // iterations
	leastFollows = 24 // statements after the sums
)

// rowSums is a parallel loop whose body is reductions and an epilogue, the statements after them.
type rowSums struct {
	g             *emit.Func
	v             kernel.Ref
	before, after []kernel.Stmt // of the reductions
	sums          []*kernel.Reduce
	w             int // iterations of one vector in the epilogue
}

// RowSumsForm keeps the sums of some rows and does their epilogues in vectors.
var RowSumsForm = emit.ParallelForm{
	Name: "batched reductions",
	For:  "loops over rows that are reduced along, with much to compute from each result",
	Why:  "only where the loop is no vectors: the reductions are, along the rows",
	Write: func(g *emit.Func, v kernel.Ref, lo, hi value.Value, body *kernel.Block) (value.Value, bool) {
		c := rowSumsOf(g, v, body)
		if c == nil {
			return nil, false
		}
		stop := g.Add(lo, g.RoundDown(g.Sub(hi, lo), int64(c.w)))
		c.run(lo, stop)
		return stop, true
	},
}

// rowSumsOf recognises such a body; it returns nil for any other.
func rowSumsOf(g *emit.Func, v kernel.Ref, body *kernel.Block) *rowSums {
	if g.Machine.Registers > 16 || g.Quick || g.InPlace() { // with more registers it was not measured
		return nil
	}
	c := &rowSums{g: g, v: v}
	results, wide := map[kernel.Ref]bool{}, map[kernel.Ref]bool{v: true}
	for _, st := range body.Stmts {
		switch s := st.(type) {
		case *kernel.Reduce:
			if w, _ := newReduction(g, s).alongWidth(); w == 0 || !shares(g, s) || analysis.Reads(s, results) {
				return nil
			}
			analysis.Define(results, s)
			wide[s.ID] = true
			c.sums = append(c.sums, s)
			continue
		case *kernel.Let:
			if s.In.Op == scalar.Check {
				return nil
			}
		case *kernel.Load, *kernel.DimValue:
		case *kernel.If:
			analysis.Define(results, s)
		case *kernel.Store:
			c.after = append(c.after, st)
			continue
		default:
			return nil
		}
		if _, branch := st.(*kernel.If); branch || analysis.ReadsAny(st, results) {
			analysis.Define(results, st)
			c.after = append(c.after, st)
		} else {
			c.before = append(c.before, st)
		}
	}
	if len(c.sums) == 0 || analysis.Statements(&kernel.Block{Stmts: c.after}) < leastFollows {
		return nil
	}
	a := &analysis.Analysis{Types: g.Types, Wide: wide}
	sh, ok := a.Block(&kernel.Block{Stmts: append(append([]kernel.Stmt{}, c.before...), c.after...)})
	if !ok || sh.Long || sh.MaxBytes == 0 {
		return nil
	}
	c.w = max(loops.LineBytes/sh.MaxBytes, 4)
	return c
}

// run does the iterations [lo, hi), whole vectors of them.
func (c *rowSums) run(lo, hi value.Value) {
	g := c.g
	kept := make([]value.Value, len(c.sums))
	for i, s := range c.sums {
		kept[i] = g.Stack(build.RegisterType(s.Type), keptSums)
	}
	first := &kernel.Block{Stmts: append([]kernel.Stmt{}, c.before...)}
	for _, s := range c.sums {
		first.Stmts = append(first.Stmts, s)
	}
	g.For(lo, hi, keptSums, nil, func(at value.Value, _ []value.Value) []value.Value {
		n := g.Min(g.Cur.NewSub(hi, at), build.Int(build.I64, keptSums))
		g.For(build.Int(build.I64, 0), n, 1, nil, func(j value.Value, _ []value.Value) []value.Value {
			g.Env[c.v] = emit.Val{V: g.Cur.NewAdd(at, j)}
			g.Block(first)
			for i, s := range c.sums {
				g.Cur.NewStore(g.Env[s.ID].V, g.Cur.NewGetElementPtr(build.RegisterType(s.Type), kept[i], j))
			}
			return nil
		})
		g.For(build.Int(build.I64, 0), n, int64(c.w), nil, func(j value.Value, _ []value.Value) []value.Value {
			g.Width = c.w
			g.Env[c.v] = emit.Val{V: g.Cur.NewAdd(at, j), Iota: true}
			g.Block(&kernel.Block{Stmts: c.before})
			for i, s := range c.sums {
				t := build.Vector(build.RegisterType(s.Type), c.w)
				l := g.Cur.NewLoad(t, g.Cur.NewBitCast(g.Cur.NewGetElementPtr(build.RegisterType(s.Type), kept[i], j),
					lt.NewPointer(t)))
				l.Align = lir.Align(analysis.ArithmeticType(s.Type).Bytes())
				g.Set(s.ID, l, true)
			}
			g.Block(&kernel.Block{Stmts: c.after})
			g.Width = 0
			return nil
		})
		return nil
	})
}
