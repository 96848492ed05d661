package llvm

import (
	"fmt"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Identities]
//
// Section 9 says that absent lanes are skipped. Starting every lane with the identity gives the same
// bits, and needs no special first step: -0 + x is x for every x (+0 would turn -0 into +0), and 1 * x
// is x. Only the reduction of nothing differs: its sum is +0.

// reduction is one Reduce under translation. It works on values of type t: a scalar, or a vector when
// the outputs around it are vectorised.
type reduction struct {
	g    *gen
	s    *kernel.Reduce
	d    types.DType // of the accumulator
	n    value.Value // number of elements in all
	dims []value.Value
}

func newReduction(g *gen, s *kernel.Reduce) *reduction {
	r := &reduction{g: g, s: s, d: s.Type}
	r.n = ci(i64, 1)
	for _, a := range s.Axes {
		e := g.plus(g.extent(a.Extent), ci(i64, -a.Begin))
		r.dims = append(r.dims, e)
		r.n = g.times(r.n, e)
	}
	return r
}

// bounds is the range of elements to reduce: all, or those of a chunk.
func (r *reduction) bounds() (lo, hi value.Value) {
	g := r.g
	if r.s.Chunk == scalar.None {
		return ci(i64, 0), r.n
	}
	size := ci(i64, r.s.Order.Chunk())
	lo = g.cur.NewMul(g.uniform(r.s.Chunk), size)
	return lo, r.minInt(g.cur.NewAdd(lo, size), r.n)
}

// reduce translates a Reduce.
func (g *gen) reduce(s *kernel.Reduce) {
	r := newReduction(g, s)
	lo, hi := r.bounds()
	if isArgument(s) {
		g.set(s.ID, r.argument(lo, hi), g.w != 0)
		return
	}
	var out value.Value
	switch n, known := constantInt(r.n); {
	case known && n <= g.unrolled() && s.Chunk == scalar.None && !rareInside(s):
		out = r.tree(n)
	case s.Order == kernel.Any:
		out = r.anyOrder(lo, hi)
	case s.Order == kernel.Lanes:
		out = r.lanes(lo, hi)
	default:
		out = r.columns(lo, hi)
	}
	if s.Kind == ir.ReduceSum && r.d.IsFloat() { // which starts from -0; others start from what they give for nothing
		out = r.orNothing(out)
	}
	g.set(s.ID, out, g.w != 0)
}

// orNothing is out, or what a reduction gives for no elements: the sum of nothing is +0, see Note [Identities].
func (r *reduction) orNothing(out value.Value) value.Value {
	g := r.g
	n, known := constantInt(r.n)
	if known && n > 0 {
		return out
	}
	nothing := r.identity(g.w)
	if r.s.Kind == ir.ReduceSum && r.d.IsFloat() {
		nothing = g.num(r.d, 0, g.w)
	}
	if known {
		return nothing
	}
	return g.cur.NewSelect(g.cur.NewICmp(enum.IPredEQ, r.n, ci(i64, 0)), nothing, out)
}

func (r *reduction) minInt(x, y value.Value) value.Value { return r.g.least(x, y) }

// unrolled is the longest reduction that is written out. A thread of a device has more registers, and its own memory is
// far.
func (g *gen) unrolled() int64 {
	if g.machine.Device {
		return 4 * unrolled
	}
	return unrolled
}

// identity of the combination, in a vector of w.
func (r *reduction) identity(w int) value.Value {
	return r.g.k(r.identityConst(), w)
}

func (r *reduction) identityConst() constant.Constant {
	t := regType(r.d)
	rd := regDType(r.d)
	switch r.s.Kind {
	case ir.ReduceSum:
		if rd.IsFloat() {
			return fromBits(t, 1<<(rd.Bits()-1)) // -0
		}
		return fromBits(t, 0)
	case ir.ReduceProd:
		return fromBits(t, scalar.IntBits(rd, 1))
	case ir.ReduceAnd:
		return fromBits(t, 1)
	case ir.ReduceOr:
		return fromBits(t, 0)
	case ir.ReduceMax:
		switch {
		case rd.IsFloat():
			return fromBits(t, floatLimit(rd, true))
		case rd.IsSigned():
			return fromBits(t, 1<<(rd.Bits()-1))
		}
		return fromBits(t, 0)
	default: // ReduceMin
		switch {
		case rd.IsFloat():
			return fromBits(t, floatLimit(rd, false))
		case rd.IsSigned():
			return fromBits(t, 1<<(rd.Bits()-1)-1)
		}
		return fromBits(t, ^uint64(0))
	}
}

// combine is acc op x on vectors of w.
func (r *reduction) combine(acc, x value.Value, w int) value.Value {
	if p := r.g.products[x]; p != nil && r.s.Kind == ir.ReduceSum {
		return r.g.addProduct(acc, p)
	}
	op := map[ir.ReduceKind]scalar.Op{ir.ReduceSum: scalar.Add, ir.ReduceProd: scalar.Mul, ir.ReduceMax: scalar.Max,
		ir.ReduceMin: scalar.Min, ir.ReduceAnd: scalar.And, ir.ReduceOr: scalar.Or}[r.s.Kind]
	return r.g.instr(op, r.d, r.d, w, []value.Value{acc, x})
}

// goTo sets the axes to element number p of the flattened index space; wide says that a vector begins there.
func (r *reduction) goTo(p value.Value, wide bool) {
	g := r.g
	rest := p
	for i := len(r.s.Axes) - 1; i >= 0; i-- {
		a := r.s.Axes[i]
		x := rest
		if i > 0 {
			x = g.cur.NewURem(rest, r.dims[i])
			rest = g.cur.NewUDiv(rest, r.dims[i])
		}
		g.env[a.Var] = val{v: g.plus(x, ci(i64, a.Begin)), iota: wide && i == len(r.s.Axes)-1}
	}
}

// at evaluates the body at element number p.
func (r *reduction) at(p value.Value) value.Value {
	g := r.g
	r.goTo(p, false)
	g.block(r.s.Body)
	return r.value()
}

// vectorAt evaluates the body at elements p, p+1, ... p+w-1, all in one row of the last axis.
func (r *reduction) vectorAt(p value.Value, w int) value.Value {
	g := r.g
	g.w = w
	r.goTo(p, true)
	outer := g.oneByOne
	g.oneByOne = func() {
		g.count(ci(i64, 0), ci(i64, int64(w)), 1, nil, func(i value.Value, _ []value.Value) []value.Value {
			r.at(g.cur.NewAdd(p, i))
			return nil
		})
	}
	g.block(r.s.Body)
	g.oneByOne = outer
	v := r.value()
	g.w = 0
	return v
}

// value is that of the body where it was translated.
func (r *reduction) value() value.Value {
	v := r.g.spread(r.g.env[r.s.Val])
	if r.putsOff() || r.isArgument() {
		v = r.g.asFloat(r.d, v) // it is compared
	}
	return v
}

// alongWidth returns how many elements along the last axis can be evaluated at once, 0 for one by one.
// A vector never crosses the end of a row.
func (r *reduction) alongWidth() (int, shape) {
	g := r.g
	if g.w != 0 || g.machine.Narrow || len(r.s.Axes) == 0 {
		return 0, shape{}
	}
	last := r.s.Axes[len(r.s.Axes)-1]
	a := &analysis{types: g.types, wide: map[kernel.Ref]bool{last.Var: true}, checks: true}
	sh, ok := a.block(r.s.Body)
	if !ok || sh.long {
		return 0, sh
	}
	w := 16
	if max(sh.maxBytes, r.d.Bytes()) > 4 {
		w = 8
	}
	if len(r.s.Axes) > 1 {
		if n, known := constantInt(r.dims[len(r.dims)-1]); !known || n%int64(w) != 0 {
			return 0, sh
		}
	}
	return w, sh
}

// tree writes out a reduction of n <= unrolled elements: the lanes hold one element each and fold in
// halves. For Columns (at most 256 elements) and Any it is one chain.
func (r *reduction) tree(n int64) value.Value {
	if n == 0 {
		return r.identity(r.g.w)
	}
	xs := make([]value.Value, n)
	for i := range xs {
		xs[i] = r.at(ci(i64, int64(i)))
	}
	if r.s.Order == kernel.Lanes {
		for w := kernel.NumLanes / 2; w >= 1; w /= 2 {
			for j := 0; j < w && j+w < len(xs); j++ {
				xs[j] = r.combine(xs[j], xs[j+w], r.g.w)
			}
		}
		return xs[0]
	}
	return r.combineMany(xs[0], xs[1:], r.g.w)
}

// anyOrder combines in an order that suits the machine; the bits do not depend on it.
func (r *reduction) anyOrder(lo, hi value.Value) value.Value {
	w, sh := r.alongWidth()
	if w > 0 && r.putsOff() {
		return r.whenLong(lo, hi, w, func() value.Value { return r.extreme(lo, hi, w, groupsFor(sh)) },
			func() value.Value { return r.combineAll(lo, hi, 0, sh) })
	}
	return r.combineAll(lo, hi, w, sh)
}

// combineAll combines pairs in vectors of w, with as many accumulators as keep the adders busy.
func (r *reduction) combineAll(lo, hi value.Value, w int, sh shape) value.Value {
	g := r.g
	acc := r.identity(g.w)
	if w > 0 {
		groups := groupsFor(sh)
		step := int64(w * groups)
		g.w = w
		init := make([]value.Value, groups)
		for i := range init {
			init[i] = r.identity(w)
		}
		g.w = 0
		full := g.cur.NewMul(g.cur.NewSDiv(g.cur.NewSub(hi, lo), ci(i64, step)), ci(i64, step))
		stop := g.cur.NewAdd(lo, full)
		accs := g.count(lo, stop, step, init, func(p value.Value, state []value.Value) []value.Value {
			next := make([]value.Value, groups)
			for i := range next {
				x := r.vectorAt(g.plus(p, ci(i64, int64(i*w))), w)
				next[i] = r.combine(state[i], x, w)
				r.inOrder()
			}
			return next
		})
		sum := accs[0]
		for _, x := range accs[1:] {
			sum = r.combine(sum, x, w)
		}
		acc = r.foldVector(sum, w)
		lo = stop
	}
	out := g.count(lo, hi, 1, []value.Value{acc}, func(p value.Value, state []value.Value) []value.Value {
		return []value.Value{r.combine(state[0], r.at(p), g.w)}
	})
	return out[0]
}

// foldVector folds the lanes of a vector in halves down to one scalar.
func (r *reduction) foldVector(v value.Value, w int) value.Value {
	g := r.g
	for ; w > 1; w /= 2 {
		v = r.combine(g.part(v, 0, w/2), g.part(v, w/2, w/2), w/2)
	}
	return g.cur.NewExtractElement(v, ci(i32, 0))
}

// lanes reduces by the first rule of section 9: chunks of 4096 in 128 lanes, whose results are reduced
// by the same rule until one is left.
func (r *reduction) lanes(lo, hi value.Value) value.Value {
	if n, known := constantInt(r.n); r.s.Chunk != scalar.None || known && n <= kernel.Lanes.Chunk() {
		return r.chunk(lo, hi)
	}
	return r.levels(lo, hi, kernel.Lanes.Chunk(), r.chunk)
}

// columns reduces by the second rule: chunks of 256 in one lane, whose results go by the first rule.
func (r *reduction) columns(lo, hi value.Value) value.Value {
	chain := func(lo, hi value.Value) value.Value {
		out := r.g.count(lo, hi, 1, []value.Value{r.identity(r.g.w)},
			func(p value.Value, state []value.Value) []value.Value {
				return []value.Value{r.combine(state[0], r.at(p), r.g.w)}
			})
		return out[0]
	}
	if n, known := constantInt(r.n); r.s.Chunk != scalar.None || known && n <= kernel.Columns.Chunk() {
		return chain(lo, hi)
	}
	return r.levels(lo, hi, kernel.Columns.Chunk(), chain)
}

// chunk reduces at most 4096 elements in 128 lanes.
func (r *reduction) chunk(lo, hi value.Value) value.Value {
	g := r.g
	w, sh := r.alongWidth()
	if w == 0 {
		return r.chunkByLanes(lo, hi)
	}
	if n := r.laneRegisters(w); n >= 0 && sh.instrs > 1 && sh.instrs < g.longLanes() {
		s := r.laneStrand(n, hi, w)
		stop := g.plus(lo, g.whole(g.minus(hi, lo), kernel.NumLanes))
		return s.done(g.runStrands([]*strand{s}, lo, stop, w), stop)
	}
	groups := kernel.NumLanes / w
	g.w = w
	init := make([]value.Value, groups)
	for i := range init {
		init[i] = r.identity(w)
	}
	g.w = 0
	stop := g.plus(lo, g.whole(g.minus(hi, lo), kernel.NumLanes))
	var accs []value.Value
	if sh.instrs < g.longLanes() {
		accs = g.count(lo, stop, kernel.NumLanes, init, func(p value.Value, state []value.Value) []value.Value {
			next := make([]value.Value, groups)
			for i := range next {
				next[i] = r.combine(state[i], r.vectorAt(g.plus(p, ci(i64, int64(i*w))), w), w)
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
func (r *reduction) chunkDone(accs []value.Value, stop, hi value.Value, w int) value.Value {
	g := r.g
	x, ok1 := constantInt(stop)
	y, ok2 := constantInt(hi)
	if ok1 && ok2 && x == y {
		return r.foldVectors(accs, w)
	}
	return r.foldVectors(g.when(g.cur.NewICmp(enum.IPredSLT, stop, hi), accs, func() []value.Value {
		// Lane j takes one more while there is one.
		mem := r.spill(accs, w)
		if g.maskable(r.s.Axes[len(r.s.Axes)-1].Var, r.s.Body) {
			r.maskedRest(mem, stop, hi, w)
		} else {
			g.count(stop, hi, 1, nil, func(p value.Value, _ []value.Value) []value.Value {
				at := g.cur.NewGetElementPtr(r.slotType(), mem, g.cur.NewSub(p, stop))
				old := g.cur.NewLoad(r.slotType(), at)
				g.cur.NewStore(r.combine(old, r.at(p), 0), at)
				return nil
			})
		}
		return r.reload(mem, w)
	}), w)
}

// longLanes is longBody for a loop over 128 lanes. With 16 registers the accumulators take all of them, so that a body
// that needs some for itself has them in memory anyway: then it is better written once. (Sums of exp(x) over rows of
// 1024, in cache, AVX2 code on a Zen 4, November 2026: 25.2 us to 21.0; of squares, which need one register, 3.2 us
// when written for each group and 4.6 once.)
func (g *gen) longLanes() int {
	if g.machine.Registers <= 16 {
		return longBody / 3
	}
	return longBody
}

// rolled is the main loop of chunk for long bodies: the groups of lanes take turns, with the accumulators in memory, so
// that the body stands in the code once, for two groups: what two vectors do in turns waits less (Note [Which axis is
// vectorised]). With 16 registers there is one loop, and the lanes are found by the number of the element: of two
// loops, one in the other, LLVM keeps constants in registers around the inner one and moves a dozen of them in each
// round (softmax of rows of 1024 in cache took 1.39 times as long, sums of exp 1.07).
func (r *reduction) rolled(lo, stop value.Value, init []value.Value, w int) []value.Value {
	g := r.g
	mem := r.spill(init, w)
	step := 2 * w
	vt := vec(regType(r.d), step)
	take := func(p, j value.Value) {
		at := g.cur.NewBitCast(g.cur.NewGetElementPtr(regType(r.d), mem, j), lt.NewPointer(vt))
		x := r.vectorAt(p, step)
		l := g.cur.NewLoad(vt, at)
		l.Align = lir.Align(r.slotBytes())
		st := g.cur.NewStore(r.combine(l, x, step), at)
		st.Align = lir.Align(r.slotBytes())
	}
	if g.machine.Registers < 32 {
		g.count(lo, stop, int64(step), nil, func(p value.Value, _ []value.Value) []value.Value {
			take(p, g.cur.NewAnd(g.minus(p, lo), ci(i64, kernel.NumLanes-1)))
			return nil
		})
		return r.reload(mem, w)
	}
	g.count(lo, stop, kernel.NumLanes, nil, func(p value.Value, _ []value.Value) []value.Value {
		g.count(ci(i64, 0), ci(i64, kernel.NumLanes), int64(step), nil,
			func(j value.Value, _ []value.Value) []value.Value {
				take(g.cur.NewAdd(p, j), j)
				return nil
			})
		return nil
	})
	return r.reload(mem, w)
}

func (r *reduction) slotType() lt.Type { return vec(regType(r.d), r.g.w) }

func (r *reduction) slotBytes() int { return max(regDType(r.d).Bytes(), 1) }

// spill puts 128 lanes, in vectors of w, into memory. The slots are made once, in the entry block.
func (r *reduction) spill(accs []value.Value, w int) value.Value {
	g := r.g
	mem := g.stack(regType(r.d), kernel.NumLanes)
	for i, x := range accs {
		r.toLane(mem, i, x, w)
	}
	return mem
}

func (r *reduction) reload(mem value.Value, w int) []value.Value {
	out := make([]value.Value, kernel.NumLanes/w)
	for i := range out {
		out[i] = r.lane(mem, i, w)
	}
	return out
}

// lane reads vector number i of 128 lanes in memory.
func (r *reduction) lane(mem value.Value, i, w int) value.Value {
	l := r.g.cur.NewLoad(vec(regType(r.d), w), r.laneAt(mem, i, w))
	l.Align = lir.Align(r.slotBytes())
	return l
}

// toLane writes it.
func (r *reduction) toLane(mem value.Value, i int, x value.Value, w int) {
	st := r.g.cur.NewStore(x, r.laneAt(mem, i, w))
	st.Align = lir.Align(r.slotBytes())
}

func (r *reduction) laneAt(mem value.Value, i, w int) value.Value {
	t := regType(r.d)
	return r.g.cur.NewBitCast(r.g.cur.NewGetElementPtr(t, mem, ci(i64, int64(i*w))), lt.NewPointer(vec(t, w)))
}

// foldVectors folds 128 lanes in halves.
func (r *reduction) foldVectors(v []value.Value, w int) value.Value {
	for n := len(v) / 2; n >= 1; n /= 2 {
		for i := 0; i < n; i++ {
			v[i] = r.combine(v[i], v[i+n], w)
		}
	}
	return r.foldVector(v[0], w)
}

// stack reserves n values of type t in the frame and returns the address of the first. All of them are
// in the entry block, so a loop does not grow the stack.
func (g *gen) stack(t lt.Type, n int) value.Value {
	at := lt.NewArray(uint64(n), t)
	a := g.entry.NewAlloca(at)
	a.Align = 64
	return g.entry.NewGetElementPtr(at, a, ci(i64, 0), ci(i64, 0))
}

// chunkByLanes is chunk with the lanes in memory, for bodies that cannot be vectorised along the
// reduced axis, or whose outputs are vectors themselves.
func (r *reduction) chunkByLanes(lo, hi value.Value) value.Value {
	g := r.g
	t, w := r.slotType(), g.w
	mem := g.stack(t, kernel.NumLanes)
	g.count(ci(i64, 0), ci(i64, kernel.NumLanes), 1, nil, func(j value.Value, _ []value.Value) []value.Value {
		g.cur.NewStore(r.identity(w), g.cur.NewGetElementPtr(t, mem, j))
		return nil
	})
	g.count(lo, hi, 1, nil, func(p value.Value, _ []value.Value) []value.Value {
		lane := g.cur.NewAnd(g.cur.NewSub(p, lo), ci(i64, kernel.NumLanes-1))
		x := r.at(p)
		at := g.cur.NewGetElementPtr(t, mem, lane)
		g.cur.NewStore(r.combine(g.cur.NewLoad(t, at), x, w), at)
		return nil
	})
	return g.cur.NewCall(r.foldFunc(kernel.NumLanes), mem)
}

// foldFunc returns the function that folds lanes in memory; those from `lanes` on are absent.
func (r *reduction) foldFunc(lanes int64) *lir.Func {
	g := r.g
	t, w := r.slotType(), g.w
	name := fmt.Sprintf("fold%d.%s.%s.%s", lanes, r.s.Kind, r.d, typeSuffix(t))
	if f := g.funcs[name]; f != nil {
		return f
	}
	p := lir.NewParam("lanes", lt.NewPointer(t))
	f := g.m.NewFunc(name, t, p)
	f.Linkage = enum.LinkageInternal
	functionAttrs(f)
	f.FuncAttrs = append(f.FuncAttrs, enum.FuncAttrNoInline)
	g.funcs[name] = f
	h := g.newGen(f, nil)
	h.w = w
	s := &reduction{g: h, s: r.s, d: r.d}
	for n := int64(kernel.NumLanes / 2); n >= 1; n /= 2 {
		h.count(ci(i64, 0), ci(i64, min(n, lanes-n)), 1, nil, func(j value.Value, _ []value.Value) []value.Value {
			at := h.cur.NewGetElementPtr(t, p, j)
			far := h.cur.NewGetElementPtr(t, at, ci(i64, n))
			h.cur.NewStore(s.combine(h.cur.NewLoad(t, at), h.cur.NewLoad(t, far), w), at)
			return nil
		})
	}
	h.cur.NewRet(h.cur.NewLoad(t, p))
	h.close()
	return f
}
