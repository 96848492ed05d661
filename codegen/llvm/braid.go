package llvm

import (
	"slices"

	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/ir/kernel"
	"healc/ir/scalar"
)

// Note [Braids]
//
// A transpose to a short last axis, f32[3, N] to f32[N, 3], writes the elements of a few long rows in turns. Tiles of three
// columns are none. So vectors go along the axis before the last one, where the operands lie, one for each of the few, and are
// braided into one piece of the result, which is written whole.

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
func (m *module) braidOf(k *kernel.Kernel) *braid {
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
		many, few, done := g.newBlock(), g.newBlock(), g.newBlock()
		g.cur.NewCondBr(g.cur.NewICmp(enum.IPredSGE, g.cur.NewSub(hi, lo), ci(i64, int64(b.w))), many, few)
		g.cur = many
		last := g.plus(hi, ci(i64, int64(-b.w)))
		g.count(lo, hi, int64(b.w), nil, func(x value.Value, _ []value.Value) []value.Value {
			g.braided(b, g.least(x, last)) // the last vector overlaps the one before
			return nil
		})
		g.cur.NewBr(done)
		g.cur = few
		g.count(lo, hi, 1, nil, func(x value.Value, _ []value.Value) []value.Value {
			g.count(ci(i64, 0), ci(i64, b.n), 1, nil, func(y value.Value, _ []value.Value) []value.Value {
				g.env[b.along.Var], g.env[b.last.Var] = val{v: x}, val{v: y}
				g.block(b.body)
				return nil
			})
			return nil
		})
		g.cur.NewBr(done)
		g.cur = done
	}
	nest(0)
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
			next = append(next, g.pick(x, y, lanes(x)*2, func(i int) int { return i }))
		}
		all = next
	}
	return g.pick(all[0], constant.NewUndef(all[0].Type()), n*w, func(i int) int { return i/n + i%n*w })
}

// pick is a vector of n elements of x and y, as if they were one, by their numbers.
func (g *gen) pick(x, y value.Value, n int, number func(i int) int) value.Value {
	mask := make([]constant.Constant, n)
	for i := range mask {
		mask[i] = ci(i32, int64(number(i)))
	}
	return g.cur.NewShuffleVector(x, y, constant.NewVector(nil, mask...))
}

func lanes(v value.Value) int { return int(v.Type().(*lt.VectorType).Len) }
