package loops

import (
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Prefetch]
//
// A processor's own prefetcher stops at each page of 4 KiB, and finds the next one again only when the loop is there. A
// copy does not feel it: its loads run far ahead of its arithmetic. A loop that computes much for each element fills
// the reorder window within half a kilobyte, and then the times of memory and of arithmetic add up. So loops over large
// buffers fetch their input a page ahead. It costs an instruction a line. A prefetch behind the end does not fault.
//
// The processor reads two or more inputs better without being asked, as long as its window reaches over enough lines of
// each. The number of vector instructions for a line of each input divides the two cases (lineWork). The measurements
// are in docs/tuning/prefetch.md.

// fetchAhead is how many bytes ahead a loop fetches its input.
const fetchAhead = 4096

// fetchTwoWork is the arithmetic from which two inputs are worth it, in instructions for a line of each.
const fetchTwoWork = 24

// LargeInput is the size from which an input is worth it; a smaller one stays in the second-level cache.
const LargeInput = 1 << 20

// prefetchAhead fetches the elements that the loop will load from param after the vector at element `at`, going up or
// down.
func prefetchAhead(g *emit.Func, param int, at value.Value, step int64) {
	bytes := int64(g.Params[param].DType.Bytes())
	prefetchLines(g, param, g.Add(at, build.Int(build.I64, step*fetchAhead/bytes)), g.Width)
}

// Prefetching has the lines that the loads of a function fetch ahead, beside the elements that they read.
type Prefetching struct {
	Ahead    map[*kernel.Load]types.Dim // the next row, and how far it is, see Note [The next row]
	Below    bool                       // and into the second-level cache
	Gathered map[*kernel.Loop][]gathered
	asked    map[*kernel.Load]value.Value // loads of the current loop that ask for a gathered row, and how far it is
	Last     kernel.Axis                  // of the kernel, for gathered rows
	fetched  map[*kernel.Load]bool        // loads that fetch ahead of themselves, see Note [Prefetch]
}

// prefetchedLoads is the loads of a loop that fetch ahead: those that stand in its body itself, where they read one
// large buffer, or several with much to compute. Those of loops inside go another way. known leaves out buffers of
// which the size is not known.
func prefetchedLoads(g *emit.Func, v kernel.Ref, body *kernel.Block, known bool) map[*kernel.Load]bool {
	out, large := map[*kernel.Load]bool{}, map[int]bool{}
	for _, s := range body.Stmts {
		l, ok := s.(*kernel.Load)
		if !ok {
			continue
		}
		if n, sized := g.SizeOf(l.Param); sized && n >= LargeInput || !sized && !known {
			out[l], large[l.Param] = true, true
		}
	}
	if len(large) > 1 && lineWork(g, v, body) < fetchTwoWork {
		return nil
	}
	return out
}

// lineWork is about how many vector instructions the loop over v has for a line of each input, rare arms left out.
func lineWork(g *emit.Func, v kernel.Ref, body *kernel.Block) int {
	a := &analysis.Analysis{Types: g.Types, Wide: map[kernel.Ref]bool{v: true}}
	if _, ok := a.Block(body); !ok {
		return 0
	}
	var count func(b *kernel.Block) int
	count = func(b *kernel.Block) (n int) {
		for _, st := range b.Stmts {
			switch st := st.(type) {
			case *kernel.Let:
				switch {
				case !a.Wide[st.ID] || st.In.Op == scalar.Bitcast:
				case st.In.Op == scalar.MulHi: // of products of even and odd elements, or of four of halves
					n += g.Types[st.ID].Bytes() * 2
				default:
					n++
				}
			case *kernel.If:
				n += count(st.Else)
				if len(st.Then.Stmts) < kernel.RareArm {
					n += count(st.Then)
				}
			}
		}
		return n
	}
	return count(body) * LineBytes * 8 / g.Machine.VectorBits
}

// ScheduledAccess is the access of processors with what schedules decided for some of them: loads that prefetch, stores
// past the caches, and small strides that are read by whole vectors.
type ScheduledAccess struct{ emit.Access }

func (a ScheduledAccess) Load(g *emit.Func, s *kernel.Load, first value.Value, step int64) value.Value {
	x := a.Access.Load(g, s, first, step)
	f := emit.State[Prefetching](g)
	if far := f.asked[s]; far != nil && step > 0 {
		PrefetchLinesTo(g, ToL2, s.Param, g.Add(first, far), g.Width)
	} else if far, asks := f.Ahead[s]; asks && step > 0 {
		level := int64(ToL1)
		if f.Below {
			level = ToL2
		}
		PrefetchLinesTo(g, level, s.Param, g.Add(first, aheadBy(g, far, g.Params[s.Param].DType)), g.Width)
	} else if f.fetched[s] {
		prefetchAhead(g, s.Param, first, step)
	}
	return x
}

func (a ScheduledAccess) Store(g *emit.Func, s *kernel.Store, x, first value.Value) {
	if g.Mask == nil && emit.State[Streaming](g).Streamed[s] {
		StreamLines(g, x, g.VectorAddress(s.Param, first), g.Params[s.Param].DType)
		return
	}
	a.Access.Store(g, s, x, first)
}

func (ScheduledAccess) Strided(g *emit.Func, param int, d types.DType, base value.Value, step int64) value.Value {
	if step < -MaxShuffled || step > MaxShuffled || g.Width < 4 {
		return nil
	}
	return shuffled(g, param, d, base, step)
}
