package llvm

import (
	"slices"

	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/ir/kernel"
	"healc/ir/scalar"
)

// Note [Braids]
//
// A transpose to a short last axis, f32[3, N] to f32[N, 3], writes the elements of a few long rows in turns. Tiles of
// three columns are none. So vectors go along the axis before the last one, where the operands lie, one for each of the
// few, and are braided into one piece of the result, which is written whole: past the caches where the result is large,
// and then vectors are as many as make the piece whole lines. One thread of a Zen 3, medians in turns, milliseconds,
// without that and with it: f32[3, 2^21] 2.83 and 1.78, f32[4, 2^21] 3.96 and 2.44, f32[8, 2^20] 4.9 and 2.6,
// g_decomposition of i64[2^20] to four digits 2.38 and 1.59 (0.78 with two threads, from 1.33), to three digits 2.44
// and 1.39.

// maxBraid is the longest last axis that is braided. From there on tiles do as well.
const maxBraid = 8

// braid is a kernel of that form.
type braid struct {
	axes  []kernel.Axis // of the kernel, and of a loop at its end
	body  *kernel.Block
	along kernel.Axis // the axis before the last
	last  kernel.Axis
	n     int64 // extent of last
	w     int   // elements of a vector
}

// braidOf recognises a kernel whose results have a short last axis, and whose operands lie along the axis before it.
func braidOf(m *module, k *kernel.Kernel) *braid {
	b := &braid{axes: k.Axes, body: k.Body}
	if n := len(k.Body.Stmts) - 1; n >= 0 {
		if l, ok := k.Body.Stmts[n].(*kernel.Loop); ok && l.Parallel {
			b.axes = append(slices.Clone(k.Axes), l.Axis)
			b.body = &kernel.Block{Stmts: append(slices.Clone(k.Body.Stmts[:n]), l.Body.Stmts...)}
		}
	}
	if len(b.axes) < 2 || m.machine.Narrow {
		return nil
	}
	b.along, b.last = b.axes[len(b.axes)-2], b.axes[len(b.axes)-1]
	n, known := b.last.Extent.Dim.Const()
	if !known || n < 2 || n > maxBraid || b.last.Begin != 0 || b.last.Extent.Div > 1 {
		return nil
	}
	b.n = n
	for _, p := range k.Params {
		if p.InPlace || p.Work || p.Local {
			return nil
		}
	}
	widest, turned := 1, false
	for _, st := range b.body.Stmts {
		switch st := st.(type) {
		case *kernel.DimValue:
		case *kernel.Let:
			if st.In.Op == scalar.Check {
				return nil
			}
		case *kernel.Load:
			x, y, ok := b.steps(st.At)
			if !ok || x != 0 && x != 1 && x != -1 && (x != n || y != 1 || n > maxShuffled) {
				return nil
			}
			turned = turned || x == 1 || x == -1
			widest = max(widest, k.Params[st.Param].DType.Bytes())
		case *kernel.Store:
			if x, y, ok := b.steps(st.At); !ok || x != n || y != 1 {
				return nil
			}
			widest = max(widest, k.Params[st.Param].DType.Bytes())
		default:
			return nil
		}
	}
	for _, t := range k.Types {
		widest = max(widest, min(t.Bytes(), 4)) // positions are computed in 8 bytes, and not in vectors
	}
	b.w = max(m.machine.VectorBits/8/widest, 4)
	for _, p := range k.Params {
		// until a piece is whole lines
		for p.Stream && int64(b.w)*n*int64(p.DType.Bytes())%lineBytes != 0 && b.w*widest < lineBytes {
			b.w *= 2
		}
	}
	if size, known := b.along.Extent.Dim.Const(); !turned || known && size < int64(b.w) {
		return nil
	}
	return b
}

// steps are how far apart the elements of an access lie along the two last axes.
func (b *braid) steps(at kernel.Access) (along, last int64, ok bool) {
	for _, t := range at.Terms {
		c, known := t.Coef.Const()
		switch {
		case t.Var == b.along.Var && known:
			along = c
		case t.Var == b.last.Var && known:
			last = c
		default:
			outer := false
			for _, a := range b.axes[:len(b.axes)-2] {
				outer = outer || a.Var == t.Var
			}
			if !outer {
				return 0, 0, false
			}
		}
	}
	return along, last, true
}

// braidLoops writes the loops of a kernel.
func (g *gen) braidLoops(b *braid, begin, end value.Value) {
	var nest func(i int)
	nest = func(i int) {
		a := b.axes[i]
		lo, hi := value.Value(ci(i64, a.Begin)), g.extent(a.Extent)
		if i == 0 {
			lo, hi = begin, end
		}
		if i < len(b.axes)-2 {
			g.count(lo, hi, 1, nil, func(v value.Value, _ []value.Value) []value.Value {
				g.env[a.Var] = val{v: v}
				nest(i + 1)
				return nil
			})
			return
		}
		g.either(g.cur.NewICmp(enum.IPredSGE, g.cur.NewSub(hi, lo), ci(i64, int64(b.w))), func() {
			last, begin, stop, step := g.plus(hi, ci(i64, int64(-b.w))), lo, hi, value.Value(ci(i64, int64(b.w)))
			if stores := g.braidStreams(b); len(stores) > 0 {
				begin, stop, step = g.streamBraids(b, lo, hi, last, stores)
			}
			g.countBy(begin, stop, step, nil, func(x value.Value, _ []value.Value) []value.Value {
				g.braided(b, g.least(x, last)) // the last vector overlaps the one before
				return nil
			})
		}, func() {
			g.count(lo, hi, 1, nil, func(x value.Value, _ []value.Value) []value.Value {
				g.count(ci(i64, 0), ci(i64, b.n), 1, nil, func(y value.Value, _ []value.Value) []value.Value {
					g.env[b.along.Var], g.env[b.last.Var] = val{v: x}, val{v: y}
					g.block(b.body)
					return nil
				})
				return nil
			})
		})
	}
	nest(0)
}

// braidStreams returns the stores that go past the caches (Note [Streaming stores]): those of whole lines for each
// vector, if all that are to do so are.
func (g *gen) braidStreams(b *braid) (out []*kernel.Store) {
	for _, s := range b.body.Stmts {
		if st, ok := s.(*kernel.Store); ok && g.params[st.Param].Stream {
			if int64(b.w)*b.n*int64(g.params[st.Param].DType.Bytes())%lineBytes != 0 {
				return nil
			}
			out = append(out, st)
		}
	}
	return out
}

// streamBraids computes the elements from the first one on that begins a line in the outputs of stores, and returns
// where vectors are left.
func (g *gen) streamBraids(b *braid, lo, hi, last value.Value, stores []*kernel.Store) (begin, stop, step value.Value) {
	out := state[streaming](g)
	out.fence = true
	w := ci(i64, int64(b.w))
	fits := value.Value(g.cur.NewICmp(enum.IPredSGE, g.cur.NewSub(hi, lo), ci(i64, int64(minStreamed*b.w))))
	for _, st := range stores {
		if big := g.pays(st.Param); big != nil {
			fits = g.cur.NewAnd(fits, big)
		}
	}
	g.env[b.last.Var] = val{v: ci(i64, 0)}
	skip := g.count(ci(i64, 0), w, 1, []value.Value{w}, func(i value.Value, state []value.Value) []value.Value {
		g.env[b.along.Var] = val{v: g.cur.NewAdd(lo, i)}
		found := value.Value(g.cur.NewICmp(enum.IPredEQ, state[0], w))
		for _, st := range stores {
			at := g.cur.NewPtrToInt(g.addr(st.Param, g.place(st.At).base), i64)
			found = g.cur.NewAnd(found, g.cur.NewICmp(enum.IPredEQ, g.cur.NewAnd(at, ci(i64, lineBytes-1)), ci(i64, 0)))
		}
		return []value.Value{g.cur.NewSelect(found, i, state[0])}
	})[0]
	fits = g.cur.NewAnd(fits, g.cur.NewICmp(enum.IPredSLT, skip, w))
	first := g.cur.NewSelect(fits, g.cur.NewAdd(lo, skip), hi)
	left := g.cur.NewSub(hi, first)
	end := g.cur.NewAdd(first, g.cur.NewSub(left, g.cur.NewSRem(left, w)))
	out.streamed = map[*kernel.Store]bool{}
	for _, st := range stores {
		out.streamed[st] = true
	}
	g.count(first, end, int64(b.w), nil, func(x value.Value, _ []value.Value) []value.Value {
		g.braided(b, x)
		return nil
	})
	out.streamed = nil
	return g.unstreamed(fits, lo, first, end, hi, last, b.w)
}

// braided computes the elements from x on, w along the axis and all of the last one.
func (g *gen) braided(b *braid, x value.Value) {
	strands := map[*kernel.Store][]value.Value{}
	g.w = b.w
	g.statement = func(s kernel.Stmt) bool {
		st, ok := s.(*kernel.Store)
		if ok {
			strands[st] = append(strands[st], g.toMem(g.params[st.Param].DType, g.w, g.spread(g.env[st.Val])))
		}
		return ok
	}
	g.env[b.along.Var] = val{v: x, iota: true}
	for i := range b.n {
		g.env[b.last.Var] = val{v: ci(i64, i)}
		g.block(b.body)
	}
	g.statement = nil
	g.env[b.last.Var] = val{v: ci(i64, 0)}
	for _, s := range b.body.Stmts {
		if st, ok := s.(*kernel.Store); ok {
			d := g.params[st.Param].DType
			all := g.braidVectors(strands[st])
			p := g.cur.NewBitCast(g.addr(st.Param, g.place(st.At).base), lt.NewPointer(all.Type()))
			if state[streaming](g).streamed[st] {
				g.streamLines(all, p, d)
				continue
			}
			g.cur.NewStore(all, p).Align = g.align(d)
		}
	}
	g.w = 0
}

// braidVectors is the first elements of all vectors, then the second ones, and so on.
func (g *gen) braidVectors(vs []value.Value) value.Value {
	n := len(vs)
	if n == 1 {
		return vs[0]
	}
	if n%2 == 0 {
		var even, odd []value.Value
		for i := 0; i < n; i += 2 {
			even, odd = append(even, vs[i]), append(odd, vs[i+1])
		}
		x, y := g.braidVectors(even), g.braidVectors(odd)
		return g.pick(x, y, lanes(x)*2, func(i int) int { return i/2 + i%2*lanes(x) })
	}
	w, all := lanes(vs[0]), vs
	for len(all) > 1 { // one after the other, with the last one again where there is no other
		var next []value.Value
		for i := 0; i < len(all); i += 2 {
			x, y := all[i], all[min(i+1, len(all)-1)]
			next = append(next, g.beside(x, y))
		}
		all = next
	}
	return g.elements(all[0], n*w, func(i int) int { return i/n + i%n*w })
}
