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
)

// Note [Interleaved stores]
//
// A transpose to a short last axis, f32[3, N] to f32[N, 3], writes the elements of a few long rows in turns. Tiles of
// three columns would be too narrow. So vectors go along the axis before the last one, one for each of the few rows,
// and are interleaved into one piece of the result, which is written whole. Where the result is large it goes past
// the caches, and then the piece is made of whole lines (docs/tuning/transposition.md).

// interleave is a kernel whose results have a short last axis, see package schedule.
type interleave struct {
	*schedule.Interleave
	w int // elements of a vector
}

// InterleaveLoops writes the loops of a kernel, as the directive d says.
func InterleaveLoops(g *emit.Func, kernel *schedule.Interleave, d *kernel.Directive, begin, end value.Value) {
	b := &interleave{kernel, int(d.Get("width"))}
	var nest func(i int)
	nest = func(i int) {
		a := b.Axes[i]
		lo, hi := value.Value(build.Int(build.I64, a.Begin)), g.Extent(a.Extent)
		if i == 0 {
			lo, hi = begin, end
		}
		if i < len(b.Axes)-2 {
			g.For(lo, hi, 1, nil, func(v value.Value, _ []value.Value) []value.Value {
				g.Env[a.Var] = emit.Val{V: v}
				nest(i + 1)
				return nil
			})
			return
		}
		g.Branch(g.Cur.NewICmp(enum.IPredSGE, g.Cur.NewSub(hi, lo), build.Int(build.I64, int64(b.w))), func() {
			last, begin, stop, step := g.Add(hi, build.Int(build.I64, int64(-b.w))), lo, hi,
				value.Value(build.Int(build.I64, int64(b.w)))
			if stores := interleaveStreams(g, b); len(stores) > 0 {
				begin, stop, step = streamInterleaved(g, b, lo, hi, last, stores)
			}
			g.ForStep(begin, stop, step, nil, func(x value.Value, _ []value.Value) []value.Value {
				interleaved(g, b, g.Min(x, last)) // the last vector overlaps the one before
				return nil
			})
		}, func() {
			g.For(lo, hi, 1, nil, func(x value.Value, _ []value.Value) []value.Value {
				g.For(build.Int(build.I64, 0), build.Int(build.I64, b.N), 1, nil,
					func(y value.Value, _ []value.Value) []value.Value {
						g.Env[b.Along.Var], g.Env[b.Last.Var] = emit.Val{V: x}, emit.Val{V: y}
						g.Block(b.Body)
						return nil
					})
				return nil
			})
		})
	}
	nest(0)
}

// interleaveStreams returns the stores that go past the caches (Note [Streaming stores]), if each of them writes whole
// lines for each vector.
func interleaveStreams(g *emit.Func, b *interleave) (out []*kernel.Store) {
	for _, s := range b.Body.Stmts {
		if st, ok := s.(*kernel.Store); ok && g.Code().PastCaches(st.Param) {
			if int64(b.w)*b.N*int64(g.Params[st.Param].DType.Bytes())%loops.LineBytes != 0 {
				return nil
			}
			out = append(out, st)
		}
	}
	return out
}

// streamInterleaved computes the elements from the first one on that begins a line in the outputs of stores, and
// returns where vectors are left.
func streamInterleaved(g *emit.Func, b *interleave, lo, hi, last value.Value, stores []*kernel.Store) (begin, stop,
	step value.Value) {
	out := emit.State[loops.Streaming](g)
	out.Fence = true
	w := build.Int(build.I64, int64(b.w))
	fits := value.Value(g.Cur.NewICmp(enum.IPredSGE, g.Cur.NewSub(hi, lo),
		build.Int(build.I64, int64(g.Machine.Profile.Stores.LeastVectors*b.w))))
	for _, st := range stores {
		if big := loops.Pays(g, st.Param); big != nil {
			fits = g.Cur.NewAnd(fits, big)
		}
	}
	g.Env[b.Last.Var] = emit.Val{V: build.Int(build.I64, 0)}
	skip := g.For(build.Int(build.I64, 0), w, 1, []value.Value{w},
		func(i value.Value, state []value.Value) []value.Value {
			g.Env[b.Along.Var] = emit.Val{V: g.Cur.NewAdd(lo, i)}
			found := value.Value(g.Cur.NewICmp(enum.IPredEQ, state[0], w))
			for _, st := range stores {
				at := g.Cur.NewPtrToInt(g.Addr(st.Param, g.AddressOf(st.At).Base), build.I64)
				found = g.Cur.NewAnd(found, g.Cur.NewICmp(enum.IPredEQ,
					g.Cur.NewAnd(at, build.Int(build.I64, loops.LineBytes-1)), build.Int(build.I64, 0)))
			}
			return []value.Value{g.Cur.NewSelect(found, i, state[0])}
		})[0]
	fits = g.Cur.NewAnd(fits, g.Cur.NewICmp(enum.IPredSLT, skip, w))
	first := g.Cur.NewSelect(fits, g.Cur.NewAdd(lo, skip), hi)
	left := g.Cur.NewSub(hi, first)
	end := g.Cur.NewAdd(first, g.Cur.NewSub(left, g.Cur.NewSRem(left, w)))
	out.Streamed = map[*kernel.Store]bool{}
	for _, st := range stores {
		out.Streamed[st] = true
	}
	g.For(first, end, int64(b.w), nil, func(x value.Value, _ []value.Value) []value.Value {
		interleaved(g, b, x)
		return nil
	})
	out.Streamed = nil
	return loops.Unstreamed(g, fits, lo, first, end, hi, last, b.w)
}

// interleaved computes the elements from x on, w along the axis and all of the last one.
func interleaved(g *emit.Func, b *interleave, x value.Value) {
	strands := map[*kernel.Store][]value.Value{}
	g.InVectors(b.w, func() {
		g.Intercept = func(s kernel.Stmt) bool {
			st, ok := s.(*kernel.Store)
			if ok {
				strands[st] = append(strands[st], g.ToMem(g.Params[st.Param].DType, g.Width, g.Spread(g.Env[st.Val])))
			}
			return ok
		}
		g.Env[b.Along.Var] = emit.Val{V: x, Iota: true}
		for i := range b.N {
			g.Env[b.Last.Var] = emit.Val{V: build.Int(build.I64, i)}
			g.Block(b.Body)
		}
		g.Intercept = nil
		g.Env[b.Last.Var] = emit.Val{V: build.Int(build.I64, 0)}
		for _, s := range b.Body.Stmts {
			if st, ok := s.(*kernel.Store); ok {
				d := g.Params[st.Param].DType
				all := interleaveVectors(g, strands[st])
				p := g.Cur.NewBitCast(g.Addr(st.Param, g.AddressOf(st.At).Base), lt.NewPointer(all.Type()))
				if emit.State[loops.Streaming](g).Streamed[st] {
					loops.StreamLines(g, all, p, d)
					continue
				}
				g.Cur.NewStore(all, p).Align = g.Align(d)
			}
		}
	})
}

// interleaveVectors is the first elements of all vectors, then the second ones, and so on.
func interleaveVectors(g *emit.Func, vs []value.Value) value.Value {
	n := len(vs)
	if n == 1 {
		return vs[0]
	}
	if n%2 == 0 {
		var even, odd []value.Value
		for i := 0; i < n; i += 2 {
			even, odd = append(even, vs[i]), append(odd, vs[i+1])
		}
		x, y := interleaveVectors(g, even), interleaveVectors(g, odd)
		return g.Shuffle(x, y, build.VectorLen(x)*2, func(i int) int { return i/2 + i%2*build.VectorLen(x) })
	}
	w, all := build.VectorLen(vs[0]), vs
	for len(all) > 1 { // one after the other, with the last one again where there is no other
		var next []value.Value
		for i := 0; i < len(all); i += 2 {
			x, y := all[i], all[min(i+1, len(all)-1)]
			next = append(next, g.Concat(x, y))
		}
		all = next
	}
	return g.Permute(all[0], n*w, func(i int) int { return i/n + i%n*w })
}
