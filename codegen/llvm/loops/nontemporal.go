package loops

import (
	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/metadata"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/codegen/schedule"
	"healc/codegen/target/profile"
	"healc/ir/kernel"
	"healc/lang/types"
)

// Note [Streaming stores]
//
// A plain store first reads the cache line that it writes. Where the result is larger than the caches that is a third
// of the traffic of a chain with one input, and the result drives other data out of the caches. A non-temporal store
// writes whole lines past the caches. The plan marks the outputs for which it pays (kernel.Param.Stream).
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
// at the ends overlap the first loop, and write the same values there again. But a line that has just gone past the
// caches is then read back, so where there are many rows whose ends are within lines, vectors under a mask write the
// ends alone (Note [Tails]). Streaming stores are not ordered with others, so a kernel that has one ends with a fence,
// before the thread tells anybody that it is done. Where sizes depend on shape parameters, the kernel looks at them,
// too.

const (
	LineBytes = schedule.LineBytes
)

// Streaming is which stores of a function go past the caches.
type Streaming struct {
	Streamed map[*kernel.Store]bool // those of the code that is being written
	Fence    bool                   // the function has such stores
}

// leastStreamed is the number of vectors from which a row goes past the caches.
func leastStreamed(g *emit.Func) int {
	if emit.State[Nest](g).Tiled {
		return 1
	}
	return g.Machine.Profile.Stores.LeastVectors
}

// streamedStores are the stores of body that go past the caches, as the schedule has it.
func streamedStores(g *emit.Func, v kernel.Ref, body *kernel.Block) []*kernel.Store {
	var out []*kernel.Store
	for _, st := range g.Code().Streams(v, body) {
		if g.Schedule.OfBuffer("stream", st.Param) != nil {
			out = append(out, st)
		}
	}
	return out
}

// streamLoop runs at least w iterations as vectors of w, with streaming stores where whole lines are written.
func streamLoop(g *emit.Func, v kernel.Ref, lo, hi value.Value, w int, stores []*kernel.Store, body *kernel.Block) {
	out := emit.State[Streaming](g)
	out.Fence = true
	apart := emit.State[Nest](g).Tiled || raggedRows(g, lo, hi, stores) && masked(g)
	g.Env[v] = emit.Val{V: lo}
	size := g.Cur.NewSub(hi, lo)
	fits := value.Value(g.Cur.NewICmp(enum.IPredSGE, size, build.Int(build.I64, int64(leastStreamed(g)*w))))
	var skip value.Value
	for _, st := range stores {
		bytes := int64(g.Params[st.Param].DType.Bytes())
		at := g.Cur.NewPtrToInt(g.Addr(st.Param, g.AddressOf(st.At).Base), build.I64)
		if skip == nil { // elements up to the next line of the first output
			skip = g.Cur.NewUDiv(g.Cur.NewAnd(g.Cur.NewSub(build.Int(build.I64, 0), at),
				build.Int(build.I64, LineBytes-1)), build.Int(build.I64, bytes))
		}
		begin := g.Cur.NewAdd(at, g.Mul(skip, build.Int(build.I64, bytes)))
		aligned := g.Cur.NewICmp(enum.IPredEQ, g.Cur.NewAnd(begin, build.Int(build.I64, LineBytes-1)),
			build.Int(build.I64, 0))
		fits = g.Cur.NewAnd(fits, aligned)
		if big := Pays(g, st.Param); big != nil {
			fits = g.Cur.NewAnd(fits, big)
		}
	}
	// of several types: one vector has to reach the first line
	if w*g.Params[stores[0].Param].DType.Bytes() < LineBytes {
		fits = g.Cur.NewAnd(fits, g.Cur.NewICmp(enum.IPredSLE, skip, build.Int(build.I64, int64(w))))
	}
	first := g.Cur.NewSelect(fits, g.Cur.NewAdd(lo, skip), hi)
	left := g.Cur.NewSub(hi, first)
	end := g.Cur.NewAdd(first, g.Cur.NewSub(left, g.Cur.NewSRem(left, build.Int(build.I64, int64(w)))))
	last := g.Add(hi, build.Int(build.I64, int64(-w)))

	out.Streamed = map[*kernel.Store]bool{}
	for _, st := range stores {
		out.Streamed[st] = true
	}
	emit.State[Prefetching](g).fetched = prefetchedLoads(g, body)
	g.InVectors(w, func() { vectors(g, v, first, end, nil, w, body) })
	out.Streamed, emit.State[Prefetching](g).fetched = nil, nil

	// The rest: the ends, or everything.
	if apart { // the ends
		all, ends, exit := g.NewBlock(), g.NewBlock(), g.NewBlock()
		g.Cur.NewCondBr(fits, ends, all)
		g.Cur = all
		overlappedVectors(g, v, lo, hi, build.Int(build.I64, int64(w)), last, w, body)
		g.Cur.NewBr(exit)
		g.Cur = ends
		g.For(build.Int(build.I64, 0), build.Int(build.I64, 2), 1, nil,
			func(i value.Value, _ []value.Value) []value.Value {
				tail := g.Cur.NewICmp(enum.IPredNE, i, build.Int(build.I64, 0))
				shortRange(g, v, g.Cur.NewSelect(tail, end, lo), g.Cur.NewSelect(tail, hi, first), w, body)
				return nil
			})
		g.Cur.NewBr(exit)
		g.Cur = exit
		return
	}
	begin, stop, step := Unstreamed(g, fits, lo, first, end, hi, last, w)
	overlappedVectors(g, v, begin, stop, step, last, w, body)
}

// Unstreamed are the places of the vectors, the last of which begins at last, that write [lo, hi) but for [first, end),
// which was streamed if it fits: the one at lo and the one that ends at hi, if anything is left there, or all of them.
func Unstreamed(g *emit.Func, fits, lo, first, end, hi, last value.Value, w int) (begin, stop, step value.Value) {
	head := g.Cur.NewAnd(fits, g.Cur.NewICmp(enum.IPredSGT, first, lo))
	tail := g.Cur.NewICmp(enum.IPredSLT, end, hi)
	begin = g.Cur.NewSelect(fits, g.Cur.NewSelect(head, lo, g.Cur.NewSelect(tail, last, hi)), lo)
	stop = g.Cur.NewSelect(fits, g.Cur.NewSelect(tail, hi, g.Cur.NewSelect(head,
		g.Cur.NewAdd(lo, build.Int(build.I64, 1)), hi)), hi)
	step = g.Cur.NewSelect(fits, g.Cur.NewSub(last, lo), build.Int(build.I64, int64(w)))
	return begin, stop, step
}

// overlappedVectors runs body in vectors of w from begin on, none of them after last, while they begin before stop.
func overlappedVectors(g *emit.Func, v kernel.Ref, begin, stop, step, last value.Value, w int, body *kernel.Block) {
	g.ForStep(begin, stop, step, nil, func(x value.Value, _ []value.Value) []value.Value {
		g.InVectors(w, func() {
			g.Env[v] = emit.Val{V: g.Min(x, last), Iota: true}
			g.Block(body)
		})
		return nil
	})
}

// raggedRows reports that [lo, hi) is one of many rows, which may not end at the ends of lines.
func raggedRows(g *emit.Func, lo, hi value.Value, stores []*kernel.Store) bool {
	if n := emit.State[Nest](g); n.jammed || n.split {
		return false
	}
	a, ok1 := build.ConstantInt(lo)
	b, ok2 := build.ConstantInt(hi)
	for _, st := range stores {
		if !ok1 || !ok2 || (b-a)*int64(g.Params[st.Param].DType.Bytes())%LineBytes != 0 {
			return true
		}
	}
	return false
}

// Pays asks at run time whether the buffers are large enough for streaming stores. It is nil where their sizes are
// known, because the plan has compared them then, and schedule.Code.PastCaches.
func Pays(g *emit.Func, output int) value.Value {
	sum, written, known := value.Value(build.Int(build.I64, 0)), value.Value(build.Int(build.I64, 0)), true
	var bytes value.Value
	for i, p := range g.Params {
		n := value.Value(build.Int(build.I64, int64(p.DType.Bytes())))
		for _, e := range p.Shape {
			d := g.Extent(e)
			_, c := build.ConstantInt(d)
			known = known && c
			n = g.Mul(n, d)
		}
		if i == output {
			bytes = n
		}
		sum = g.Add(sum, n)
		if p.OnlyWritten() {
			written = g.Add(written, n)
		}
	}
	if known {
		return nil
	}
	big := value.Value(g.Cur.NewICmp(enum.IPredSGE, sum,
		build.Int(build.I64, int64(profile.Base().Plan.StreamTraffic))))
	if most := g.Machine.Profile.Stores.WrittenMost; most > profile.Base().Plan.StreamTraffic {
		read := g.Mul(g.Cur.NewSub(sum, written), build.Int(build.I64, schedule.Mostly))
		big = g.Cur.NewAnd(big, g.Cur.NewOr(g.Cur.NewICmp(enum.IPredSGT, sum, build.Int(build.I64, int64(most))),
			g.Cur.NewICmp(enum.IPredSGT, read, written)))
	}
	return g.Cur.NewAnd(big, g.Cur.NewICmp(enum.IPredSGE, bytes,
		build.Int(build.I64, int64(profile.Base().Plan.StreamOutput))))
}

// StreamLines stores x, whole lines, past the caches, line after line: LLVM would put the stores of several lines where
// their halves are ready. A processor collects a line in one of a few buffers, and writes parts of it when another line
// wants the buffer (docs/tuning/streaming-stores.md).
func StreamLines(g *emit.Func, x, p value.Value, d types.DType) {
	n, w := LineBytes/d.Bytes(), build.VectorLen(x)
	if w <= n || g.Machine.VectorBits >= 8*LineBytes {
		nonTemporal(g, g.Cur.NewStore(x, p), w*d.Bytes())
		return
	}
	elem := x.Type().(*lt.VectorType).ElemType
	first := g.Cur.NewBitCast(p, lt.NewPointer(elem))
	for at := 0; at < w; at += n {
		if at > 0 {
			g.Cur.NewCall(&lir.InlineAsm{Typ: lt.NewPointer(lt.NewFunc(lt.Void)), Constraint: "~{memory}",
				SideEffect: true})
		}
		line := g.Extract(x, at, n)
		to := g.Cur.NewBitCast(g.Cur.NewGetElementPtr(elem, first, build.Int(build.I64, int64(at))),
			lt.NewPointer(line.Type()))
		nonTemporal(g, g.Cur.NewStore(line, to), LineBytes)
	}
}

// nonTemporal marks a store of a vector of type t, in memory at a multiple of a line.
func nonTemporal(g *emit.Func, st *lir.InstStore, bytes int) {
	st.Align = lir.Align(min(bytes&-bytes, LineBytes))
	if g.Hint == nil {
		g.Hint = &metadata.Tuple{Fields: []metadata.Field{build.Int(build.I32, 1)}}
		g.Define(g.Hint)
	}
	st.Metadata = append(st.Metadata, &metadata.Attachment{Name: "nontemporal", Node: g.Hint})
}

// Fence ends a kernel with a fence. A kernel that learns its sizes when it runs passes the fence only if it may have
// streamed: a fence takes as long as a small kernel (docs/tuning/streaming-stores.md).
func Fence(g *emit.Func) {
	var streamed value.Value
	for i := range g.Params {
		if !g.Code().PastCaches(i) {
			continue
		}
		big := Pays(g, i)
		if big == nil {
			streamed = nil
			break
		}
		if streamed == nil {
			streamed = big
		} else {
			streamed = g.Cur.NewOr(streamed, big)
		}
	}
	if streamed == nil {
		g.Cur.NewFence(enum.AtomicOrderingSequentiallyConsistent)
		return
	}
	g.When(streamed, func() { g.Cur.NewFence(enum.AtomicOrderingSequentiallyConsistent) })
}
