package gpu

import (
	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/device"
	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/scalar"
)

// Note [Cooperative reductions]: the first rule of language.md section 9 is made for groups. Thread j of a block of 128
// is lane j; in a warp each thread is four neighbouring lanes. Lanes fold in halves by shuffles. Every warp of a block
// folds all lanes of the block for itself, from shared memory, so that all threads have the result.
//
// A reduction of more than one chunk goes chunk by chunk: the result of chunk c goes to lane c modulo 128 of the next
// level. By the second rule, across rows, one thread reduces the 256 elements of a chunk, and the chunks are the
// elements of the first rule. Where the order is free, the first rule is taken, without chunks. Lanes start with the
// identity, see Note [Identities] in package llvm.

// folding is how values are combined: a plain value, or an extreme and its position.
type folding struct {
	start []value.Value
	join  func(x, y []value.Value) []value.Value
	get   func(p value.Value) []value.Value // element p
	// vector gives the elements p, p+1, ... that are the lanes of one thread; nil when each is computed by itself.
	vector func(p value.Value) [][]value.Value
}

// reduce translates a reduction that the group shares.
func (g *group) reduce(s *kernel.Reduce) {
	n, lo, hi := g.bounds(s)
	f := g.foldingOf(s)
	argument := len(f.start) == 2
	depth := 0
	switch {
	case s.Order == kernel.Columns:
		get := f.get
		f.get = func(q value.Value) []value.Value {
			from := g.Plus(lo, g.Times(q, ci(i64, kernel.Columns.Chunk())))
			to := g.minimum(g.Plus(from, ci(i64, kernel.Columns.Chunk())), hi)
			return g.Count(from, to, ci(i64, 1), f.start, func(p value.Value, acc []value.Value) []value.Value {
				return f.join(acc, get(p))
			})
		}
		pieces := g.pieces(g.Minus(hi, lo), kernel.Columns.Chunk())
		g.Define(s.ID, g.level(f, depthOf(pieces), ci(i64, 0), pieces)[0])
	case s.Order == kernel.Lanes && s.Chunk == scalar.None:
		depth = depthOf(n)
		fallthrough
	default:
		out := g.level(f, depth, lo, hi)
		if argument {
			g.Define(s.ID, out[1])
			return
		}
		g.Define(s.ID, out[0])
	}
	g.sumOfNothing(s, n)
}

// bounds are the number of elements that s combines over its axes, and the range of those of its chunk.
func (g *group) bounds(s *kernel.Reduce) (n, lo, hi value.Value) {
	n = ci(i64, 1)
	for _, a := range s.Axes {
		n = g.Times(n, g.length(a))
	}
	lo, hi = ci(i64, 0), n
	if s.Chunk != scalar.None {
		size := ci(i64, s.Order.Chunk())
		lo = g.Times(g.Value(s.Chunk), size)
		hi = g.minimum(g.Plus(lo, size), n)
	}
	return n, lo, hi
}

// sumOfNothing makes the result of a sum of floats, whose lanes start with -0, 0 where there are no elements.
func (g *group) sumOfNothing(s *kernel.Reduce, n value.Value) {
	if s.Kind != ir.ReduceSum || !s.Type.IsFloat() {
		return
	}
	c, known := constantInt(n)
	switch zero := constant.NewZeroInitializer(device.RegisterType(s.Type)); {
	case !known:
		empty := g.Block().NewICmp(enum.IPredEQ, n, ci(i64, 0))
		g.Define(s.ID, g.Block().NewSelect(empty, zero, g.Value(s.ID)))
	case c == 0:
		g.Define(s.ID, zero)
	}
}

// valuesOf is how many values s folds at a time: an extreme and its position, or one.
func valuesOf(s *kernel.Reduce) int {
	if s.Kind == ir.ReduceArgMax || s.Kind == ir.ReduceArgMin {
		return 2
	}
	return 1
}

// foldingOf is how s combines.
func (g *group) foldingOf(s *kernel.Reduce) folding {
	d := s.Type
	element := func(p value.Value) value.Value {
		start := []value.Value{device.Identity(s.Kind, d)}
		return g.guarded(s.Body, start, func() []value.Value {
			g.setAxesOf(s.Axes, p)
			g.Statements(nil, s.Body.Stmts...)
			return []value.Value{g.Value(s.Val)}
		})[0]
	}
	if s.Kind != ir.ReduceArgMax && s.Kind != ir.ReduceArgMin {
		f := folding{
			start: []value.Value{device.Identity(s.Kind, d)},
			join: func(x, y []value.Value) []value.Value {
				return []value.Value{g.Combine(s.Kind, d, x[0], y[0])}
			},
			get: func(p value.Value) []value.Value { return []value.Value{element(p)} },
		}
		if g.vectors(s.Axes, s.Body) {
			f.vector = func(p value.Value) [][]value.Value {
				last := g.setAxesOf(s.Axes, p)
				var out [][]value.Value
				for _, x := range g.Vector(threadLanes, s.Axes[len(s.Axes)-1].Var, last, nil, s.Body.Stmts, s.Val) {
					out = append(out, []value.Value{x})
				}
				return out
			}
		}
		return f
	}
	return folding{
		start: []value.Value{constant.NewZeroInitializer(device.RegisterType(d)), ci(i64, -1)},
		join: func(x, y []value.Value) []value.Value {
			b := g.Block()
			none := b.NewICmp(enum.IPredSLT, x[1], ci(i64, 0))
			some := b.NewICmp(enum.IPredSGE, y[1], ci(i64, 0))
			better, worse := g.Better(s.Kind, d, y[0], x[0]), g.Better(s.Kind, d, x[0], y[0])
			before := b.NewAnd(b.NewXor(worse, constant.True), b.NewICmp(enum.IPredSLT, y[1], x[1]))
			take := b.NewAnd(some, b.NewOr(none, b.NewOr(better, before)))
			return []value.Value{b.NewSelect(take, y[0], x[0]), b.NewSelect(take, y[1], x[1])}
		},
		get: func(p value.Value) []value.Value { return []value.Value{element(p), p} },
	}
}

// threadLanes is the number of lanes of a thread of a warp, which it loads at once.
const threadLanes = kernel.NumLanes / warpSize

// vectors reports whether threadLanes neighbours along the last of axes are in one row and can be done at once.
func (g *group) vectors(axes []kernel.Axis, body *kernel.Block) bool {
	if len(axes) == 0 {
		return false
	}
	last := axes[len(axes)-1]
	n, known := count(axes[len(axes)-1:])
	if last.Begin%threadLanes != 0 || len(axes) > 1 && (!known || n%threadLanes != 0) {
		return false
	}
	_, ok := device.CanVectorise(g.k, last.Var, body.Stmts)
	return ok
}

// depthOf is the number of levels above the chunks of n elements.
func depthOf(n value.Value) int {
	c, known := constantInt(n)
	if !known {
		return 3
	}
	depth := 0
	for ; c > kernel.Lanes.Chunk(); depth++ {
		c = (c + kernel.Lanes.Chunk() - 1) / kernel.Lanes.Chunk()
	}
	return depth
}

// pieces is n / size, rounded up.
func (g *group) pieces(n value.Value, size int64) value.Value {
	if c, known := constantInt(n); known {
		return ci(i64, (c+size-1)/size)
	}
	return g.Block().NewSDiv(g.Plus(n, ci(i64, size-1)), ci(i64, size))
}

// level reduces [lo, hi) by the first rule, with depth levels above the chunks.
func (g *group) level(f folding, depth int, lo, hi value.Value) []value.Value {
	if depth == 0 {
		return g.fold(f, g.chunk(f, lo, hi))
	}
	size := int64(1)
	for range depth {
		size *= kernel.Lanes.Chunk()
	}
	lanes, n := g.lanes(f), len(f.start)
	state := append(flatten(lanes), ci(i64, 0))
	state = g.Count(lo, hi, ci(i64, size), state, func(p value.Value, state []value.Value) []value.Value {
		x := g.level(f, depth-1, p, g.minimum(g.Plus(p, ci(i64, size)), hi))
		c := state[len(state)-1]
		lane := g.Block().NewAnd(c, ci(i64, kernel.NumLanes-1))
		next := unflatten(state[:len(state)-1], n)
		for k := range next {
			mine := g.Block().NewICmp(enum.IPredEQ, lane, g.lane(k))
			y := f.join(next[k], x)
			for i := range y {
				y[i] = g.Block().NewSelect(mine, y[i], next[k][i])
			}
			next[k] = y
		}
		return append(flatten(next), g.Plus(c, ci(i64, 1)))
	})
	return g.fold(f, unflatten(state[:len(state)-1], n))
}

// lanes are the lanes of a thread, with the identity in them.
func (g *group) lanes(f folding) [][]value.Value {
	out := make([][]value.Value, kernel.NumLanes/g.plan.size)
	for k := range out {
		out[k] = f.start
	}
	return out
}

// lane is the number of this thread's k-th lane.
func (g *group) lane(k int) value.Value {
	per := int64(kernel.NumLanes / g.plan.size)
	return g.Plus(g.Times(g.zext(g.member), ci(i64, per)), ci(i64, int64(k)))
}

// chunk reduces [lo, hi) to lanes.
func (g *group) chunk(f folding, lo, hi value.Value) [][]value.Value {
	n := len(f.start)
	rows := func(from, to value.Value, rows int, lanes [][]value.Value) [][]value.Value {
		state := g.Count(from, to, ci(i64, int64(rows)*kernel.NumLanes), flatten(lanes),
			func(p value.Value, state []value.Value) []value.Value {
				acc := unflatten(state, n)
				elements := make([][][]value.Value, rows)
				for r := range elements {
					row := g.Plus(p, ci(i64, int64(r)*kernel.NumLanes))
					if f.vector != nil && len(acc) > 1 {
						elements[r] = f.vector(g.Plus(row, g.lane(0)))
						continue
					}
					for k := range acc {
						elements[r] = append(elements[r], f.get(g.Plus(row, g.lane(k))))
					}
				}
				for _, row := range elements {
					for k := range acc {
						acc[k] = f.join(acc[k], row[k])
					}
				}
				return flatten(acc)
			})
		return unflatten(state, n)
	}
	length := g.Minus(hi, lo)
	many := g.tune.Unrolled * g.plan.size / blockSize // a warp has four lanes a thread
	lanes, from := g.lanes(f), lo
	if many > 1 {
		to := g.Plus(lo, g.roundDown(length, int64(many)*kernel.NumLanes))
		lanes, from = rows(from, to, many, lanes), to
	}
	to := g.Plus(lo, g.roundDown(length, kernel.NumLanes))
	lanes = rows(from, to, 1, lanes)
	if a, ok := constantInt(length); ok && a%kernel.NumLanes == 0 {
		return lanes
	}
	// Lanes that have one element more.
	for k := range lanes {
		p := g.Plus(to, g.lane(k))
		before, yes, join := g.Block(), g.NewBlock(), g.NewBlock()
		before.NewCondBr(before.NewICmp(enum.IPredSLT, p, hi), yes, join)
		g.SetBlock(yes)
		x := f.join(lanes[k], f.get(p))
		end := g.Block()
		end.NewBr(join)
		g.SetBlock(join)
		out := make([]value.Value, n)
		for i := range out {
			out[i] = join.NewPhi(lir.NewIncoming(lanes[k][i], before), lir.NewIncoming(x[i], end))
		}
		lanes[k] = out
	}
	return lanes
}

// fold folds the lanes of the group in halves; every thread gets the result.
func (g *group) fold(f folding, lanes [][]value.Value) []value.Value {
	x := lanes[0]
	if g.plan.size == blockSize {
		lane := g.Block().NewAnd(g.member, ci(i32, warpSize-1))
		all := g.exchange(x, lane)
		x = f.join(f.join(all[0], all[2]), f.join(all[1], all[3]))
		return g.broadcast(g.foldWarp(f, [][]value.Value{x})[0])
	}
	lanes = g.foldWarp(f, lanes)
	for n := len(lanes) / 2; n > 0; n /= 2 {
		for k := range n {
			lanes[k] = f.join(lanes[k], lanes[k+n])
		}
	}
	return g.broadcast(lanes[0])
}

// foldWarp folds the threads of a warp; thread 0 has the result.
func (g *group) foldWarp(f folding, lanes [][]value.Value) [][]value.Value {
	out := append([][]value.Value{}, lanes...)
	for w := int64(warpSize / 2); w > 0; w /= 2 {
		for k, x := range out {
			out[k] = f.join(x, g.shuffleAll("down", x, w))
		}
	}
	return out
}

// broadcast is the x of the first thread of the warp.
func (g *group) broadcast(x []value.Value) []value.Value { return g.shuffleAll("idx", x, 0) }

func (g *group) shuffleAll(kind string, x []value.Value, by int64) []value.Value {
	out := make([]value.Value, len(x))
	for i, v := range x {
		out[i] = g.shuffle(kind, v, ci(i32, by))
	}
	return out
}

// minimum is the smaller of x and y.
func (g *group) minimum(x, y value.Value) value.Value {
	a, ok1 := constantInt(x)
	b, ok2 := constantInt(y)
	if ok1 && ok2 {
		return ci(i64, min(a, b))
	}
	return g.Block().NewSelect(g.Block().NewICmp(enum.IPredSLT, x, y), x, y)
}

// roundDown is n rounded down to a multiple of step, a power of two.
func (g *group) roundDown(n value.Value, step int64) value.Value {
	if c, ok := constantInt(n); ok {
		return ci(i64, c&-step)
	}
	return g.Block().NewAnd(n, ci(i64, -step))
}

func constantInt(v value.Value) (int64, bool) {
	if c, ok := v.(*constant.Int); ok && c.X.IsInt64() {
		return c.X.Int64(), true
	}
	return 0, false
}

func flatten(lanes [][]value.Value) []value.Value {
	var out []value.Value
	for _, x := range lanes {
		out = append(out, x...)
	}
	return out
}

func unflatten(x []value.Value, n int) [][]value.Value {
	var out [][]value.Value
	for ; len(x) > 0; x = x[n:] {
		out = append(out, x[:n])
	}
	return out
}
