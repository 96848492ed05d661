package reduce

import (
	"fmt"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/codegen/llvm/loops"
	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Identities]
//
// Section 9 says that absent lanes are skipped. Starting every lane with the identity gives the same
// bits, and needs no special first step: -0 + x is x for every x (+0 would turn -0 into +0), and 1 * x
// is x. Only the reduction of nothing differs: its sum is +0.

// Reduction is one Reduce under translation. It works on values of type t: a scalar, or a vector when
// the outputs around it are vectorised.
type Reduction struct {
	G    *emit.Func
	S    *kernel.Reduce
	D    types.DType // of the accumulator
	n    value.Value // number of elements in all
	dims []value.Value
	row  value.Value // the first element of the row that is gone along; nil: an element may be in any
}

func newReduction(g *emit.Func, s *kernel.Reduce) *Reduction {
	r := &Reduction{G: g, S: s, D: s.Type}
	r.n = build.Int(build.I64, 1)
	for _, a := range s.Axes {
		e := g.Add(g.Extent(a.Extent), build.Int(build.I64, -a.Begin))
		r.dims = append(r.dims, e)
		r.n = g.Mul(r.n, e)
	}
	return r
}

// bounds is the range of elements to reduce: all, or those of a chunk.
func (r *Reduction) bounds() (lo, hi value.Value) {
	g := r.G
	if r.S.Chunk == scalar.None {
		return build.Int(build.I64, 0), r.n
	}
	size := build.Int(build.I64, r.S.Order.Chunk())
	lo = g.Cur.NewMul(g.Uniform(r.S.Chunk), size)
	return lo, r.minInt(g.Cur.NewAdd(lo, size), r.n)
}

// reduce translates a Reduce.
func reduce(g *emit.Func, s *kernel.Reduce) {
	r := newReduction(g, s)
	lo, hi := r.bounds()
	if analysis.IsArgument(s) {
		g.Set(s.ID, r.argument(lo, hi), g.Width != 0)
		return
	}
	var out value.Value
	switch n, written := analysis.WrittenOut(s, unrolled(g)); {
	case written:
		out = r.tree(n)
	case s.Order == kernel.Any:
		out = r.anyOrder(lo, hi)
	default:
		out = r.chunks(lo, hi)
	}
	if s.Kind == ir.ReduceSum && r.D.IsFloat() { // which starts from -0; others start from their result for nothing
		out = r.orNothing(out)
	}
	g.Set(s.ID, out, g.Width != 0)
}

// orNothing is out, or the result of a reduction of no elements: the sum of nothing is +0, see Note [Identities].
func (r *Reduction) orNothing(out value.Value) value.Value {
	g := r.G
	n, known := build.ConstantInt(r.n)
	if known && n > 0 {
		return out
	}
	nothing := r.identity(g.Width)
	if r.S.Kind == ir.ReduceSum && r.D.IsFloat() {
		nothing = g.Number(r.D, 0, g.Width)
	}
	if known {
		return nothing
	}
	return g.Cur.NewSelect(g.Cur.NewICmp(enum.IPredEQ, r.n, build.Int(build.I64, 0)), nothing, out)
}

func (r *Reduction) minInt(x, y value.Value) value.Value { return r.G.Min(x, y) }

// unrolled is the longest reduction that is written out. A thread of a device has more registers, and its own memory is
// far.
func unrolled(g *emit.Func) int64 {
	if g.Machine.Device {
		return 4 * analysis.Unrolled
	}
	return analysis.Unrolled
}

// identity of the combination, in a vector of w.
func (r *Reduction) identity(w int) value.Value {
	return r.G.ConstOf(r.IdentityConst(), w)
}

// identities are those of so many accumulators, vectors of w.
func (r *Reduction) identities(n, w int) []value.Value {
	out := make([]value.Value, n)
	r.G.InVectors(w, func() {
		for i := range out {
			out[i] = r.identity(w)
		}
	})
	return out
}

func (r *Reduction) IdentityConst() constant.Constant {
	t := build.RegisterType(r.D)
	rd := analysis.ArithmeticType(r.D)
	switch r.S.Kind {
	case ir.ReduceSum:
		if rd.IsFloat() {
			return build.FromBits(t, 1<<(rd.Bits()-1)) // -0
		}
		return build.FromBits(t, 0)
	case ir.ReduceProd:
		return build.FromBits(t, scalar.IntBits(rd, 1))
	case ir.ReduceAnd:
		return build.FromBits(t, 1)
	case ir.ReduceOr:
		return build.FromBits(t, 0)
	case ir.ReduceMax:
		switch {
		case rd.IsFloat():
			return build.FromBits(t, floatLimit(rd, true))
		case rd.IsSigned():
			return build.FromBits(t, 1<<(rd.Bits()-1))
		}
		return build.FromBits(t, 0)
	default: // ReduceMin
		switch {
		case rd.IsFloat():
			return build.FromBits(t, floatLimit(rd, false))
		case rd.IsSigned():
			return build.FromBits(t, 1<<(rd.Bits()-1)-1)
		}
		return build.FromBits(t, ^uint64(0))
	}
}

// Combine is acc op x on vectors of w.
func (r *Reduction) Combine(acc, x value.Value, w int) value.Value {
	if p := r.G.Products[x]; p != nil && r.S.Kind == ir.ReduceSum {
		return r.G.AddProduct(acc, p)
	}
	op := map[ir.ReduceKind]scalar.Op{ir.ReduceSum: scalar.Add, ir.ReduceProd: scalar.Mul, ir.ReduceMax: scalar.Max,
		ir.ReduceMin: scalar.Min, ir.ReduceAnd: scalar.And, ir.ReduceOr: scalar.Or}[r.S.Kind]
	return r.G.Instr(op, r.D, r.D, w, []value.Value{acc, x})
}

// goTo sets the axes to element number p of the flattened index space; wide says that a vector begins there.
func (r *Reduction) goTo(p value.Value, wide bool) {
	g := r.G
	if r.row != nil {
		a := r.S.Axes[len(r.S.Axes)-1]
		g.Env[a.Var] = emit.Val{V: g.Add(g.Cur.NewSub(p, r.row), build.Int(build.I64, a.Begin)), Iota: wide}
		return
	}
	rest := p
	for i := len(r.S.Axes) - 1; i >= 0; i-- {
		a := r.S.Axes[i]
		x := rest
		if i > 0 {
			x = g.Cur.NewURem(rest, r.dims[i])
			rest = g.Cur.NewUDiv(rest, r.dims[i])
		}
		g.Env[a.Var] = emit.Val{V: g.Add(x, build.Int(build.I64, a.Begin)), Iota: wide && i == len(r.S.Axes)-1}
	}
}

// at evaluates the body at element number p.
func (r *Reduction) at(p value.Value) value.Value {
	g := r.G
	r.goTo(p, false)
	g.Block(r.S.Body)
	return r.value()
}

// vectorAt evaluates the body at elements p, p+1, ... p+w-1, all in one row of the last axis.
func (r *Reduction) vectorAt(p value.Value, w int) value.Value {
	g := r.G
	around, lanes := &kernel.Directive{Sub: g.Schedule}, g.Lanes
	lanes.Width = w
	lanes.Scalarise = func() {
		g.Within(around, func() {
			g.For(build.Int(build.I64, 0), build.Int(build.I64, int64(w)), 1, nil,
				func(i value.Value, _ []value.Value) []value.Value {
					r.at(g.Cur.NewAdd(p, i))
					return nil
				})
		})
	}
	var v value.Value
	g.In(lanes, func() {
		r.goTo(p, true)
		g.Within(r.vector(), func() { loops.FetchAhead(g, r.S.Body, func() { g.Block(r.S.Body) }) })
		v = r.value()
	})
	return v
}

// value is that of the body where it was translated.
func (r *Reduction) value() value.Value {
	v := r.G.Spread(r.G.Env[r.S.Val])
	if r.putsOff() || r.isArgument() {
		v = r.G.AsFloat(r.D, v) // it is compared
	}
	return v
}

// alongWidth returns how many elements along the last axis are evaluated at once, 0 for one by one, as the schedule has
// it. A vector never crosses the end of a row.
func (r *Reduction) alongWidth() (int, analysis.Shape) {
	g := r.G
	if g.Width != 0 || len(r.S.Axes) == 0 {
		return 0, analysis.Shape{}
	}
	_, sh := g.Code().Along(r.S)
	if d := r.vector(); d != nil && !ragged(d) {
		return int(d.Get("width")), sh
	}
	return 0, sh
}

// vector is the directive for vectors along the reduction; nil for elements one by one.
func (r *Reduction) vector() *kernel.Directive {
	if len(r.S.Axes) == 0 {
		return nil
	}
	return r.G.Schedule.Find("vector", r.S.Axes[len(r.S.Axes)-1].Var)
}

// tree writes out a reduction of n <= unrolled elements: the lanes hold one element each and fold in
// halves. For Columns (at most 256 elements) and Any it is one chain.
func (r *Reduction) tree(n int64) value.Value {
	if n == 0 {
		return r.identity(r.G.Width)
	}
	xs := make([]value.Value, n)
	for i := range xs {
		xs[i] = r.at(build.Int(build.I64, int64(i)))
	}
	if r.S.Order == kernel.Lanes {
		for w := kernel.NumLanes / 2; w >= 1; w /= 2 {
			for j := 0; j < w && j+w < len(xs); j++ {
				xs[j] = r.Combine(xs[j], xs[j+w], r.G.Width)
			}
		}
		return xs[0]
	}
	return r.combineMany(xs[0], xs[1:], r.G.Width)
}

// anyOrder combines in an order that suits the machine; the bits do not depend on it.
func (r *Reduction) anyOrder(lo, hi value.Value) value.Value {
	g := r.G
	w, sh := r.alongWidth()
	if d := r.vector(); g.Width == 0 && d != nil && ragged(d) && !r.putsOff() {
		return r.combineRows(lo, hi, int(d.Get("width")), r.groupsFor(sh))
	}
	if w > 0 && r.putsOff() {
		return r.whenLong(lo, hi, w, func() value.Value { return r.extreme(lo, hi, w, r.groupsFor(sh)) },
			func() value.Value { return r.combineAll(lo, hi, 0, sh) })
	}
	return r.combineAll(lo, hi, w, sh)
}

// combineAll combines pairs in vectors of w, with as many accumulators as keep the adders busy.
func (r *Reduction) combineAll(lo, hi value.Value, w int, sh analysis.Shape) value.Value {
	g := r.G
	acc := r.identity(g.Width)
	if w > 0 {
		groups := r.groupsFor(sh)
		step := int64(w * groups)
		init := r.identities(groups, w)
		full := g.Cur.NewMul(g.Cur.NewSDiv(g.Cur.NewSub(hi, lo), build.Int(build.I64, step)),
			build.Int(build.I64, step))
		stop := g.Cur.NewAdd(lo, full)
		accs := g.For(lo, stop, step, init, func(p value.Value, state []value.Value) []value.Value {
			next := make([]value.Value, groups)
			for i := range next {
				x := r.vectorAt(g.Add(p, build.Int(build.I64, int64(i*w))), w)
				next[i] = r.Combine(state[i], x, w)
				r.inOrder()
			}
			return next
		})
		sum := accs[0]
		for _, x := range accs[1:] {
			sum = r.Combine(sum, x, w)
		}
		acc = r.foldVector(sum, w)
		lo = stop
	}
	out := g.For(lo, hi, 1, []value.Value{acc}, func(p value.Value, state []value.Value) []value.Value {
		return []value.Value{r.Combine(state[0], r.at(p), g.Width)}
	})
	return out[0]
}

// foldVector folds the lanes of a vector in halves down to one scalar.
func (r *Reduction) foldVector(v value.Value, w int) value.Value {
	g := r.G
	for ; w > 1; w /= 2 {
		v = r.Combine(g.Extract(v, 0, w/2), g.Extract(v, w/2, w/2), w/2)
	}
	return g.Cur.NewExtractElement(v, build.Int(build.I32, 0))
}

// chunks reduces by the rules of section 9: chunks of 4096 in 128 lanes or, down columns, of 256 in one lane, whose
// results are reduced by the first rule until one is left.
func (r *Reduction) chunks(lo, hi value.Value) value.Value {
	if n, known := build.ConstantInt(r.n); r.S.Chunk != scalar.None || known && n <= r.S.Order.Chunk() {
		return r.oneChunk(lo, hi)
	}
	return r.levels(lo, hi)
}

// oneChunk reduces the elements of a chunk.
func (r *Reduction) oneChunk(lo, hi value.Value) value.Value {
	if r.S.Order == kernel.Lanes {
		return r.chunk(lo, hi)
	}
	return r.G.For(lo, hi, 1, []value.Value{r.identity(r.G.Width)},
		func(p value.Value, state []value.Value) []value.Value {
			return []value.Value{r.Combine(state[0], r.at(p), r.G.Width)}
		})[0]
}

// chunk reduces at most 4096 elements in 128 lanes.
func (r *Reduction) chunk(lo, hi value.Value) value.Value {
	g := r.G
	w, sh := r.alongWidth()
	if w == 0 {
		if d := r.vector(); g.Width == 0 && d != nil && ragged(d) {
			return r.chunkByRows(lo, hi, int(d.Get("width")))
		}
		return r.chunkByLanes(lo, hi)
	}
	if n := r.laneRegisters(w); n >= 0 && sh.Instrs > 1 && sh.Instrs < longLanes(g) {
		s := r.laneGroup(n, hi, w)
		stop := g.Add(lo, g.RoundDown(g.Sub(hi, lo), kernel.NumLanes))
		return s.done(runGroups(g, []*accumulatorGroup{s}, lo, stop, w), stop)
	}
	groups := kernel.NumLanes / w
	init := r.identities(groups, w)
	stop := g.Add(lo, g.RoundDown(g.Sub(hi, lo), kernel.NumLanes))
	var accs []value.Value
	if sh.Instrs < longLanes(g) {
		accs = g.For(lo, stop, kernel.NumLanes, init, func(p value.Value, state []value.Value) []value.Value {
			next := make([]value.Value, groups)
			for i := range next {
				next[i] = r.Combine(state[i], r.vectorAt(g.Add(p, build.Int(build.I64, int64(i*w))), w), w)
				r.inOrder()
			}
			return next
		})
	} else {
		accs = r.rolled(lo, stop, init, w)
	}
	return r.chunkDone(accs, stop, hi, w)
}

// chunkDone takes the elements after the last whole row of lanes into 128 lanes, and folds them.
func (r *Reduction) chunkDone(accs []value.Value, stop, hi value.Value, w int) value.Value {
	g := r.G
	x, ok1 := build.ConstantInt(stop)
	y, ok2 := build.ConstantInt(hi)
	if ok1 && ok2 && x == y {
		return r.foldVectors(accs, w)
	}
	return r.foldVectors(g.If(g.Cur.NewICmp(enum.IPredSLT, stop, hi), accs, func() []value.Value {
		// Lane j takes one more while there is one.
		mem := r.spill(accs, w)
		if d := r.vector(); d != nil && kernel.Directives(d.Sub).OfKind("mask") != nil {
			r.maskedRest(mem, stop, hi, w)
		} else {
			g.For(stop, hi, 1, nil, func(p value.Value, _ []value.Value) []value.Value {
				at := g.Cur.NewGetElementPtr(r.slotType(), mem, g.Cur.NewSub(p, stop))
				old := g.Cur.NewLoad(r.slotType(), at)
				g.Cur.NewStore(r.Combine(old, r.at(p), 0), at)
				return nil
			})
		}
		return r.reload(mem, w)
	}), w)
}

// longLanes is reduce.long_body for a loop over 128 lanes. With 16 registers the accumulators take all of them, so that
// a body that needs some for itself has them in memory anyway: then it is better written once
// (docs/tuning/reductions.md).
func longLanes(g *emit.Func) int {
	if g.Machine.Registers <= 16 {
		return g.Machine.Profile.Reduce.LongBody / 3
	}
	return g.Machine.Profile.Reduce.LongBody
}

// rolled is the main loop of chunk for long bodies: the groups of lanes take turns, with the accumulators in memory, so
// that the body stands in the code once, for two groups (Note [Which axis is vectorised]). With 16 registers there is
// one loop, and the lanes are found by the number of the element: of two nested loops, LLVM keeps constants in
// registers around the inner one and moves them in each round (docs/tuning/reductions.md).
func (r *Reduction) rolled(lo, stop value.Value, init []value.Value, w int) []value.Value {
	g := r.G
	mem := r.spill(init, w)
	step := 2 * w
	vt := build.Vector(build.RegisterType(r.D), step)
	take := func(p, j value.Value) {
		at := g.Cur.NewBitCast(g.Cur.NewGetElementPtr(build.RegisterType(r.D), mem, j), lt.NewPointer(vt))
		x := r.vectorAt(p, step)
		l := g.Cur.NewLoad(vt, at)
		l.Align = lir.Align(r.slotBytes())
		st := g.Cur.NewStore(r.Combine(l, x, step), at)
		st.Align = lir.Align(r.slotBytes())
	}
	if g.Machine.Registers < 32 {
		g.For(lo, stop, int64(step), nil, func(p value.Value, _ []value.Value) []value.Value {
			take(p, g.Cur.NewAnd(g.Sub(p, lo), build.Int(build.I64, kernel.NumLanes-1)))
			return nil
		})
		return r.reload(mem, w)
	}
	g.For(lo, stop, kernel.NumLanes, nil, func(p value.Value, _ []value.Value) []value.Value {
		g.For(build.Int(build.I64, 0), build.Int(build.I64, kernel.NumLanes), int64(step), nil,
			func(j value.Value, _ []value.Value) []value.Value {
				take(g.Cur.NewAdd(p, j), j)
				return nil
			})
		return nil
	})
	return r.reload(mem, w)
}

func (r *Reduction) slotType() lt.Type { return build.Vector(build.RegisterType(r.D), r.G.Width) }

func (r *Reduction) slotBytes() int { return max(analysis.ArithmeticType(r.D).Bytes(), 1) }

// spill puts 128 lanes, in vectors of w, into memory. The slots are made once, in the entry block.
func (r *Reduction) spill(accs []value.Value, w int) value.Value {
	g := r.G
	mem := g.Stack(build.RegisterType(r.D), kernel.NumLanes)
	for i, x := range accs {
		r.toLane(mem, i, x, w)
	}
	return mem
}

func (r *Reduction) reload(mem value.Value, w int) []value.Value {
	out := make([]value.Value, kernel.NumLanes/w)
	for i := range out {
		out[i] = r.lane(mem, i, w)
	}
	return out
}

// lane reads vector number i of 128 lanes in memory.
func (r *Reduction) lane(mem value.Value, i, w int) value.Value {
	l := r.G.Cur.NewLoad(build.Vector(build.RegisterType(r.D), w), r.laneAt(mem, i, w))
	l.Align = lir.Align(r.slotBytes())
	return l
}

// toLane writes it.
func (r *Reduction) toLane(mem value.Value, i int, x value.Value, w int) {
	st := r.G.Cur.NewStore(x, r.laneAt(mem, i, w))
	st.Align = lir.Align(r.slotBytes())
}

func (r *Reduction) laneAt(mem value.Value, i, w int) value.Value {
	t := build.RegisterType(r.D)
	return r.G.Cur.NewBitCast(r.G.Cur.NewGetElementPtr(t, mem, build.Int(build.I64, int64(i*w))),
		lt.NewPointer(build.Vector(t, w)))
}

// foldVectors folds 128 lanes in halves.
func (r *Reduction) foldVectors(v []value.Value, w int) value.Value {
	for n := len(v) / 2; n >= 1; n /= 2 {
		for i := 0; i < n; i++ {
			v[i] = r.Combine(v[i], v[i+n], w)
		}
	}
	return r.foldVector(v[0], w)
}

// chunkByLanes is chunk with the lanes in memory, for bodies that cannot be vectorised along the
// reduced axis, or whose outputs are vectors themselves.
func (r *Reduction) chunkByLanes(lo, hi value.Value) value.Value {
	g := r.G
	t, w := r.slotType(), g.Width
	mem, back := g.Borrow(t, kernel.NumLanes)
	defer back()
	g.For(build.Int(build.I64, 0), build.Int(build.I64, kernel.NumLanes), 1, nil,
		func(j value.Value, _ []value.Value) []value.Value {
			g.Cur.NewStore(r.identity(w), g.Cur.NewGetElementPtr(t, mem, j))
			return nil
		})
	g.For(lo, hi, 1, nil, func(p value.Value, _ []value.Value) []value.Value {
		lane := g.Cur.NewAnd(g.Cur.NewSub(p, lo), build.Int(build.I64, kernel.NumLanes-1))
		x := r.at(p)
		at := g.Cur.NewGetElementPtr(t, mem, lane)
		g.Cur.NewStore(r.Combine(g.Cur.NewLoad(t, at), x, w), at)
		return nil
	})
	return g.Cur.NewCall(r.foldFunc(kernel.NumLanes), mem)
}

// foldFunc returns the function that folds lanes in memory; those from `lanes` on are absent.
func (r *Reduction) foldFunc(lanes int64) *lir.Func {
	g := r.G
	t, w := r.slotType(), g.Width
	name := fmt.Sprintf("fold%d.%s.%s.%s", lanes, r.S.Kind, r.D, build.TypeSuffix(t))
	p := lir.NewParam("lanes", lt.NewPointer(t))
	f, fresh := g.OwnFunc(name, t, p)
	if !fresh {
		return f
	}
	f.FuncAttrs = append(f.FuncAttrs, enum.FuncAttrNoInline)
	h := g.NewFunc(f, nil)
	h.Width = w
	s := &Reduction{G: h, S: r.S, D: r.D}
	for n := int64(kernel.NumLanes / 2); n >= 1; n /= 2 {
		h.For(build.Int(build.I64, 0), build.Int(build.I64, min(n, lanes-n)), 1, nil,
			func(j value.Value, _ []value.Value) []value.Value {
				at := h.Cur.NewGetElementPtr(t, p, j)
				far := h.Cur.NewGetElementPtr(t, at, build.Int(build.I64, n))
				h.Cur.NewStore(s.Combine(h.Cur.NewLoad(t, at), h.Cur.NewLoad(t, far), w), at)
				return nil
			})
	}
	h.Cur.NewRet(h.Cur.NewLoad(t, p))
	h.Close()
	return f
}
