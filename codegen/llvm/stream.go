package llvm

import (
	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/metadata"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/ir/kernel"
	"healc/lang/types"
)

// Note [Streaming stores]
//
// A plain store first reads the cache line that it writes. Where the result is larger than the caches that is a
// third of the traffic of a chain with one input, and what is written drives out what could stay. A
// non-temporal store writes whole lines past the caches. The plan marks the outputs for which it pays
// (kernel.Param.Stream).
//
// The stores need addresses that are multiples of a line, and views, rows and parts of an axis begin anywhere. So
// a vectorised loop over [lo, hi) with marked stores becomes
//
//	first = the first index from lo on whose element begins a line, in every marked output
//	for x = first; x + w <= hi; x += w   body with streaming stores
//	for x in the vector at lo, if lo < first, and the one that ends at hi, if anything is left
//	    body with plain stores
//
// where the second loop runs over everything when it is short or no index begins a line in all outputs. The two vectors
// at the ends overlap the first loop; what they write there is the same again. But a line that has just gone past the
// caches is then read back, so where there are many rows whose ends are within lines, vectors under a mask write the
// ends alone (Note [Short vectors]). Streaming stores are not ordered with others, so a kernel that has one ends with a
// fence, before the thread tells anybody that it is done. Where sizes depend on shape parameters, the kernel looks at
// them, too.

const (
	lineBytes = 64
	// A row of fewer vectors is not worth looking for its lines.
	minStreamed = 8
)

// streaming is which stores of a function go past the caches.
type streaming struct {
	streamed map[*kernel.Store]bool // those of the code that is being written
	fence    bool                   // the function has such stores
}

// leastStreamed is the number of vectors from which a row goes past the caches.
func (g *gen) leastStreamed() int {
	if state[nest](g).tiled {
		return 1
	}
	return minStreamed
}

// streams returns the stores of body that go past the caches when body is vectorised over v: those directly in
// it, to neighbouring elements, at places that are known before the loop.
func (g *gen) streams(v kernel.Ref, body *kernel.Block) []*kernel.Store {
	var out []*kernel.Store
	inside := map[kernel.Ref]bool{}
	for _, s := range body.Stmts {
		define(inside, s)
	}
	for _, s := range body.Stmts {
		st, ok := s.(*kernel.Store)
		if !ok || !g.params[st.Param].Stream {
			continue
		}
		next := false
		for _, t := range st.At.Terms {
			next = next || t.Var == v && t.Coef.IsConst(1)
			ok = ok && !inside[t.Var] && (t.Var != v || t.Coef.IsConst(1))
		}
		if ok && next {
			out = append(out, st)
		}
	}
	return out
}

// define notes the values that a statement defines for those after it.
func define(set map[kernel.Ref]bool, s kernel.Stmt) {
	switch s := s.(type) {
	case *kernel.Let:
		set[s.ID] = true
	case *kernel.DimValue:
		set[s.ID] = true
	case *kernel.Load:
		set[s.ID] = true
	case *kernel.Reduce:
		set[s.ID] = true
	case *kernel.Loop:
		note(set, s.IDs)
	case *kernel.Iterate:
		note(set, s.IDs)
	case *kernel.If:
		note(set, s.IDs)
	case *kernel.Call:
		note(set, s.IDs)
	case *kernel.Transform:
		set[s.ID] = true
	}
}

func note(set map[kernel.Ref]bool, ids []kernel.Ref) {
	for _, r := range ids {
		set[r] = true
	}
}

// streamLoop runs at least w iterations as vectors of w, with streaming stores where whole lines are written.
func (g *gen) streamLoop(v kernel.Ref, lo, hi value.Value, w int, stores []*kernel.Store, body *kernel.Block) {
	out := state[streaming](g)
	out.fence = true
	masked := state[nest](g).tiled || g.raggedRows(lo, hi, stores) && g.maskable(v, body)
	g.env[v] = val{v: lo}
	size := g.cur.NewSub(hi, lo)
	fits := value.Value(g.cur.NewICmp(enum.IPredSGE, size, ci(i64, int64(g.leastStreamed()*w))))
	var skip value.Value
	for _, st := range stores {
		bytes := int64(g.params[st.Param].DType.Bytes())
		at := g.cur.NewPtrToInt(g.addr(st.Param, g.place(st.At).base), i64)
		if skip == nil { // elements up to the next line of the first output
			skip = g.cur.NewUDiv(g.cur.NewAnd(g.cur.NewSub(ci(i64, 0), at), ci(i64, lineBytes-1)), ci(i64, bytes))
		}
		begin := g.cur.NewAdd(at, g.times(skip, ci(i64, bytes)))
		aligned := g.cur.NewICmp(enum.IPredEQ, g.cur.NewAnd(begin, ci(i64, lineBytes-1)), ci(i64, 0))
		fits = g.cur.NewAnd(fits, aligned)
		if big := g.pays(st.Param); big != nil {
			fits = g.cur.NewAnd(fits, big)
		}
	}
	// of several types: one vector has to reach the first line
	if w*g.params[stores[0].Param].DType.Bytes() < lineBytes {
		fits = g.cur.NewAnd(fits, g.cur.NewICmp(enum.IPredSLE, skip, ci(i64, int64(w))))
	}
	first := g.cur.NewSelect(fits, g.cur.NewAdd(lo, skip), hi)
	left := g.cur.NewSub(hi, first)
	end := g.cur.NewAdd(first, g.cur.NewSub(left, g.cur.NewSRem(left, ci(i64, int64(w)))))
	last := g.plus(hi, ci(i64, int64(-w)))

	g.w = w
	out.streamed = map[*kernel.Store]bool{}
	for _, st := range stores {
		out.streamed[st] = true
	}
	if n := state[nest](g); !n.tiled && n.grouped == nil {
		state[prefetching](g).fetched = g.fetches(v, body, false)
	}
	g.vectors(v, first, end, nil, w, body)
	out.streamed, state[prefetching](g).fetched, g.w = nil, nil, 0

	// The rest: the ends, or everything.
	if masked {
		all, ends, exit := g.newBlock(), g.newBlock(), g.newBlock()
		g.cur.NewCondBr(fits, ends, all)
		g.cur = all
		g.overlappedVectors(v, lo, hi, ci(i64, int64(w)), last, w, body)
		g.cur.NewBr(exit)
		g.cur = ends
		g.count(ci(i64, 0), ci(i64, 2), 1, nil, func(i value.Value, _ []value.Value) []value.Value {
			tail := g.cur.NewICmp(enum.IPredNE, i, ci(i64, 0))
			g.short(v, g.cur.NewSelect(tail, end, lo), g.cur.NewSelect(tail, hi, first), w, body)
			return nil
		})
		g.cur.NewBr(exit)
		g.cur = exit
		return
	}
	begin, stop, step := g.unstreamed(fits, lo, first, end, hi, last, w)
	g.overlappedVectors(v, begin, stop, step, last, w, body)
}

// unstreamed are the places of the vectors, the last of which begins at last, that write [lo, hi) but for [first, end),
// which was streamed if it fits: the one at lo and the one that ends at hi, if anything is left there, or all of them.
func (g *gen) unstreamed(fits, lo, first, end, hi, last value.Value, w int) (begin, stop, step value.Value) {
	head := g.cur.NewAnd(fits, g.cur.NewICmp(enum.IPredSGT, first, lo))
	tail := g.cur.NewICmp(enum.IPredSLT, end, hi)
	begin = g.cur.NewSelect(fits, g.cur.NewSelect(head, lo, g.cur.NewSelect(tail, last, hi)), lo)
	stop = g.cur.NewSelect(fits, g.cur.NewSelect(tail, hi, g.cur.NewSelect(head, g.cur.NewAdd(lo, ci(i64, 1)), hi)), hi)
	step = g.cur.NewSelect(fits, g.cur.NewSub(last, lo), ci(i64, int64(w)))
	return begin, stop, step
}

// overlappedVectors runs body in vectors of w from begin on, none of them after last, while they begin before stop.
func (g *gen) overlappedVectors(v kernel.Ref, begin, stop, step, last value.Value, w int, body *kernel.Block) {
	g.countBy(begin, stop, step, nil, func(x value.Value, _ []value.Value) []value.Value {
		g.w = w
		g.env[v] = val{v: g.least(x, last), iota: true}
		g.block(body)
		g.w = 0
		return nil
	})
}

// raggedRows reports that [lo, hi) is one of many rows, which may not end at the ends of lines.
func (g *gen) raggedRows(lo, hi value.Value, stores []*kernel.Store) bool {
	if n := state[nest](g); n.grouped != nil || n.split {
		return false
	}
	a, ok1 := constantInt(lo)
	b, ok2 := constantInt(hi)
	for _, st := range stores {
		if !ok1 || !ok2 || (b-a)*int64(g.params[st.Param].DType.Bytes())%lineBytes != 0 {
			return true
		}
	}
	return false
}

// pays compares the sizes of the buffers with what streaming is for; nil when they are known, for then the plan has.
func (g *gen) pays(output int) value.Value {
	sum, known := value.Value(ci(i64, 0)), true
	var bytes value.Value
	for i, p := range g.params {
		n := value.Value(ci(i64, int64(p.DType.Bytes())))
		for _, e := range p.Shape {
			d := g.extent(e)
			_, c := constantInt(d)
			known = known && c
			n = g.times(n, d)
		}
		if i == output {
			bytes = n
		}
		sum = g.plus(sum, n)
	}
	if known {
		return nil
	}
	big := g.cur.NewICmp(enum.IPredSGE, sum, ci(i64, kernel.StreamTraffic))
	return g.cur.NewAnd(big, g.cur.NewICmp(enum.IPredSGE, bytes, ci(i64, kernel.StreamOutput)))
}

// streamLines stores x, whole lines, past the caches, line after line: LLVM would put the stores of several lines where
// their halves are ready. A processor collects a line in one of a few buffers, and writes parts of it when another line
// wants the buffer: tanh of f32[2^24], four stores to two lines, once took 72 ms instead of 9 in a whole run on a Zen 3
// shared with others.
func (g *gen) streamLines(x, p value.Value, d types.DType) {
	n, w := lineBytes/d.Bytes(), lanes(x)
	if w <= n || g.machine.VectorBits >= 8*lineBytes {
		g.nonTemporal(g.cur.NewStore(x, p), w*d.Bytes())
		return
	}
	elem := x.Type().(*lt.VectorType).ElemType
	first := g.cur.NewBitCast(p, lt.NewPointer(elem))
	for at := 0; at < w; at += n {
		if at > 0 {
			g.cur.NewCall(&lir.InlineAsm{Typ: lt.NewPointer(lt.NewFunc(lt.Void)), Constraint: "~{memory}",
				SideEffect: true})
		}
		line := g.part(x, at, n)
		to := g.cur.NewBitCast(g.cur.NewGetElementPtr(elem, first, ci(i64, int64(at))), lt.NewPointer(line.Type()))
		g.nonTemporal(g.cur.NewStore(line, to), lineBytes)
	}
}

// nonTemporal marks a store of a vector of type t, in memory at a multiple of a line.
func (g *gen) nonTemporal(st *lir.InstStore, bytes int) {
	st.Align = lir.Align(min(bytes&-bytes, lineBytes))
	if g.hint == nil {
		g.hint = &metadata.Tuple{Fields: []metadata.Field{ci(i32, 1)}}
		g.m.MetadataDefs = append(g.m.MetadataDefs, g.hint)
	}
	st.Metadata = append(st.Metadata, &metadata.Attachment{Name: "nontemporal", Node: g.hint})
}

// drain ends a kernel with a fence. Where sizes are known when it runs it has none unless it may have streamed: a
// fence takes as long as a small kernel, 14 of 23 ns for 16 elements on a Xeon at 2.6 GHz.
func (g *gen) drain() {
	var streamed value.Value
	for i := range g.params {
		if !g.params[i].Stream {
			continue
		}
		big := g.pays(i)
		if big == nil {
			streamed = nil
			break
		}
		if streamed == nil {
			streamed = big
		} else {
			streamed = g.cur.NewOr(streamed, big)
		}
	}
	if streamed == nil {
		g.cur.NewFence(enum.AtomicOrderingSequentiallyConsistent)
		return
	}
	g.only(streamed, func() { g.cur.NewFence(enum.AtomicOrderingSequentiallyConsistent) })
}
