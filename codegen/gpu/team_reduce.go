package gpu

import (
	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm"
	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/scalar"
)

// Note [Reductions by teams]: the first rule of language.md section 9 is made for this: thread j of a block of 128 is
// lane j, and in a warp each thread is four neighbouring lanes, which fold in halves by shuffles. The lanes of a block
// are folded by every warp of it for itself, from shared memory, so that all threads have the result. A reduction of
// more than one chunk goes chunk by chunk; the result of chunk c goes to lane c modulo 128 of the next level. By the
// second rule, across rows, a thread takes in the 256 elements of a chunk alone, and the chunks are the elements of the
// first rule. Where the order is free the first rule is taken, too, without chunks. Lanes start with the identity, see
// Note [Identities] in package llvm.

// unrolled is how many elements a thread fetches before it combines them, so that memory is kept busy.
const unrolled = 4

// folding is how values are combined: a plain value, or the extreme and its position.
type folding struct {
	start []value.Value
	join  func(x, y []value.Value) []value.Value
	get   func(p value.Value) []value.Value // element p
	// several are the elements p, p+1, ... that are the lanes of one thread; nil when they have to be fetched one by
	// one.
	several func(p value.Value) [][]value.Value
}

// reduce translates a reduction that the team shares.
func (t *team) reduce(s *kernel.Reduce) {
	n := value.Value(ci(i64, 1))
	for _, a := range s.Axes {
		n = t.Times(n, t.length(a))
	}
	lo, hi := value.Value(ci(i64, 0)), n
	if s.Chunk != scalar.None {
		size := ci(i64, s.Order.Chunk())
		lo = t.Times(t.Value(s.Chunk), size)
		hi = t.least(t.Plus(lo, size), n)
	}
	f := t.foldingOf(s)
	argument := len(f.start) == 2
	depth := 0
	switch {
	case s.Order == kernel.Columns:
		single, get := f.get, f.get
		f.get = func(q value.Value) []value.Value {
			from := t.Plus(lo, t.Times(q, ci(i64, kernel.Columns.Chunk())))
			to := t.least(t.Plus(from, ci(i64, kernel.Columns.Chunk())), hi)
			return t.Count(from, to, ci(i64, 1), f.start, func(p value.Value, acc []value.Value) []value.Value {
				return f.join(acc, get(p))
			})
		}
		_ = single
		pieces := t.pieces(t.Minus(hi, lo), kernel.Columns.Chunk())
		t.Define(s.ID, t.level(f, depthOf(pieces), ci(i64, 0), pieces)[0])
	case s.Order == kernel.Lanes && s.Chunk == scalar.None:
		depth = depthOf(n)
		fallthrough
	default:
		out := t.level(f, depth, lo, hi)
		if argument {
			t.Define(s.ID, out[1])
			return
		}
		t.Define(s.ID, out[0])
	}
	if s.Kind == ir.ReduceSum && s.Type.IsFloat() {
		c, known := constantInt(n)
		switch zero := constant.NewZeroInitializer(llvm.RegisterType(s.Type)); {
		case !known:
			empty := t.Block().NewICmp(enum.IPredEQ, n, ci(i64, 0))
			t.Define(s.ID, t.Block().NewSelect(empty, zero, t.Value(s.ID)))
		case c == 0:
			t.Define(s.ID, zero)
		}
	}
}

// foldingOf is how s combines.
func (t *team) foldingOf(s *kernel.Reduce) folding {
	d := s.Type
	element := func(p value.Value) value.Value {
		start := []value.Value{llvm.Identity(s.Kind, d)}
		return t.guarded(s.Body, start, func() []value.Value {
			t.axesAt(s.Axes, p)
			t.Statements(nil, s.Body.Stmts...)
			return []value.Value{t.Value(s.Val)}
		})[0]
	}
	if s.Kind != ir.ReduceArgMax && s.Kind != ir.ReduceArgMin {
		f := folding{
			start: []value.Value{llvm.Identity(s.Kind, d)},
			join: func(x, y []value.Value) []value.Value {
				return []value.Value{t.Combine(s.Kind, d, x[0], y[0])}
			},
			get: func(p value.Value) []value.Value { return []value.Value{element(p)} },
		}
		if t.vectors(s.Axes, s.Body) {
			f.several = func(p value.Value) [][]value.Value {
				last := t.axesAt(s.Axes, p)
				var out [][]value.Value
				for _, x := range t.Vector(teamVector, s.Axes[len(s.Axes)-1].Var, last, nil, s.Body.Stmts, s.Val) {
					out = append(out, []value.Value{x})
				}
				return out
			}
		}
		return f
	}
	return folding{
		start: []value.Value{constant.NewZeroInitializer(llvm.RegisterType(d)), ci(i64, -1)},
		join: func(x, y []value.Value) []value.Value {
			b := t.Block()
			none := b.NewICmp(enum.IPredSLT, x[1], ci(i64, 0))
			some := b.NewICmp(enum.IPredSGE, y[1], ci(i64, 0))
			better, worse := t.Better(s.Kind, d, y[0], x[0]), t.Better(s.Kind, d, x[0], y[0])
			before := b.NewAnd(b.NewXor(worse, constant.True), b.NewICmp(enum.IPredSLT, y[1], x[1]))
			take := b.NewAnd(some, b.NewOr(none, b.NewOr(better, before)))
			return []value.Value{b.NewSelect(take, y[0], x[0]), b.NewSelect(take, y[1], x[1])}
		},
		get: func(p value.Value) []value.Value { return []value.Value{element(p), p} },
	}
}

// teamVector is how many neighbours a thread of a warp takes at a time: its lanes.
const teamVector = kernel.NumLanes / warpSize

// vectors reports whether as many neighbours along the last of axes can be done at once: they are in one row.
func (t *team) vectors(axes []kernel.Axis, body *kernel.Block) bool {
	if len(axes) == 0 {
		return false
	}
	last := axes[len(axes)-1]
	n, known := count(axes[len(axes)-1:])
	if last.Begin%teamVector != 0 || len(axes) > 1 && (!known || n%teamVector != 0) {
		return false
	}
	_, ok := llvm.CanVectorise(t.k, last.Var, body.Stmts)
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

// pieces is the number of pieces of size in n.
func (t *team) pieces(n value.Value, size int64) value.Value {
	if c, known := constantInt(n); known {
		return ci(i64, (c+size-1)/size)
	}
	return t.Block().NewSDiv(t.Plus(n, ci(i64, size-1)), ci(i64, size))
}

// level reduces [lo, hi) by the first rule, where depth levels are above the chunks.
func (t *team) level(f folding, depth int, lo, hi value.Value) []value.Value {
	if depth == 0 {
		return t.fold(f, t.chunk(f, lo, hi))
	}
	size := int64(1)
	for range depth {
		size *= kernel.Lanes.Chunk()
	}
	lanes, n := t.lanes(f), len(f.start)
	state := append(flatten(lanes), ci(i64, 0))
	state = t.Count(lo, hi, ci(i64, size), state, func(p value.Value, state []value.Value) []value.Value {
		x := t.level(f, depth-1, p, t.least(t.Plus(p, ci(i64, size)), hi))
		c := state[len(state)-1]
		lane := t.Block().NewAnd(c, ci(i64, kernel.NumLanes-1))
		next := unflatten(state[:len(state)-1], n)
		for k := range next {
			mine := t.Block().NewICmp(enum.IPredEQ, lane, t.lane(k))
			y := f.join(next[k], x)
			for i := range y {
				y[i] = t.Block().NewSelect(mine, y[i], next[k][i])
			}
			next[k] = y
		}
		return append(flatten(next), t.Plus(c, ci(i64, 1)))
	})
	return t.fold(f, unflatten(state[:len(state)-1], n))
}

// lanes are the lanes of a thread, with nothing in them.
func (t *team) lanes(f folding) [][]value.Value {
	out := make([][]value.Value, kernel.NumLanes/t.plan.size)
	for k := range out {
		out[k] = f.start
	}
	return out
}

// lane is the number of this thread's k-th lane.
func (t *team) lane(k int) value.Value {
	per := int64(kernel.NumLanes / t.plan.size)
	return t.Plus(t.Times(t.wide(t.member), ci(i64, per)), ci(i64, int64(k)))
}

// chunk takes [lo, hi) into the lanes.
func (t *team) chunk(f folding, lo, hi value.Value) [][]value.Value {
	n := len(f.start)
	rows := func(from, to value.Value, rows int, lanes [][]value.Value) [][]value.Value {
		state := t.Count(from, to, ci(i64, int64(rows)*kernel.NumLanes), flatten(lanes),
			func(p value.Value, state []value.Value) []value.Value {
				acc := unflatten(state, n)
				elements := make([][][]value.Value, rows)
				for r := range elements {
					row := t.Plus(p, ci(i64, int64(r)*kernel.NumLanes))
					if f.several != nil && len(acc) > 1 {
						elements[r] = f.several(t.Plus(row, t.lane(0)))
						continue
					}
					for k := range acc {
						elements[r] = append(elements[r], f.get(t.Plus(row, t.lane(k))))
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
	length := t.Minus(hi, lo)
	many := unrolled * t.plan.size / blockSize // a warp has four lanes a thread
	lanes, from := t.lanes(f), lo
	if many > 1 {
		to := t.Plus(lo, t.whole(length, int64(many)*kernel.NumLanes))
		lanes, from = rows(from, to, many, lanes), to
	}
	to := t.Plus(lo, t.whole(length, kernel.NumLanes))
	lanes = rows(from, to, 1, lanes)
	if a, ok := constantInt(length); ok && a%kernel.NumLanes == 0 {
		return lanes
	}
	// Lanes that have one element more.
	for k := range lanes {
		p := t.Plus(to, t.lane(k))
		before, yes, join := t.Block(), t.NewBlock(), t.NewBlock()
		before.NewCondBr(before.NewICmp(enum.IPredSLT, p, hi), yes, join)
		t.SetBlock(yes)
		x := f.join(lanes[k], f.get(p))
		end := t.Block()
		end.NewBr(join)
		t.SetBlock(join)
		out := make([]value.Value, n)
		for i := range out {
			out[i] = join.NewPhi(lir.NewIncoming(lanes[k][i], before), lir.NewIncoming(x[i], end))
		}
		lanes[k] = out
	}
	return lanes
}

// fold folds the lanes of the team in halves; every thread gets the result.
func (t *team) fold(f folding, lanes [][]value.Value) []value.Value {
	x := lanes[0]
	if t.plan.size == blockSize {
		lane := t.Block().NewAnd(t.member, ci(i32, warpSize-1))
		all := t.exchange(x, lane)
		x = f.join(f.join(all[0], all[2]), f.join(all[1], all[3]))
		return t.everyone(t.halves(f, [][]value.Value{x})[0])
	}
	lanes = t.halves(f, lanes)
	for n := len(lanes) / 2; n > 0; n /= 2 {
		for k := range n {
			lanes[k] = f.join(lanes[k], lanes[k+n])
		}
	}
	return t.everyone(lanes[0])
}

// halves folds the threads of a warp; thread 0 has the result.
func (t *team) halves(f folding, lanes [][]value.Value) [][]value.Value {
	out := append([][]value.Value{}, lanes...)
	for w := int64(warpSize / 2); w > 0; w /= 2 {
		for k, x := range out {
			out[k] = f.join(x, t.shuffleAll("down", x, w))
		}
	}
	return out
}

// everyone is x of the first thread of the warp.
func (t *team) everyone(x []value.Value) []value.Value { return t.shuffleAll("idx", x, 0) }

func (t *team) shuffleAll(kind string, x []value.Value, by int64) []value.Value {
	out := make([]value.Value, len(x))
	for i, v := range x {
		out[i] = t.shuffle(kind, v, ci(i32, by))
	}
	return out
}

// least is the smaller one.
func (t *team) least(x, y value.Value) value.Value {
	a, ok1 := constantInt(x)
	b, ok2 := constantInt(y)
	if ok1 && ok2 {
		return ci(i64, min(a, b))
	}
	return t.Block().NewSelect(t.Block().NewICmp(enum.IPredSLT, x, y), x, y)
}

// whole is n rounded down to a multiple of step, a power of two.
func (t *team) whole(n value.Value, step int64) value.Value {
	if c, ok := constantInt(n); ok {
		return ci(i64, c&-step)
	}
	return t.Block().NewAnd(n, ci(i64, -step))
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
