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
// The processor's own prefetcher stops at each page of 4 KiB, and finds the next one again only when the loop is there.
// A copy does not feel it: its loads run far ahead of its arithmetic. A loop that computes much for each element fills
// the window in which the processor reorders within half a kilobyte, and then the times for memory and for arithmetic
// add up. So loops over large buffers fetch their inputs a page ahead. It costs an instruction a line, and does no harm
// behind the end: a prefetch never faults. f32[2^24], one thread of a Sapphire Rapids, best of 15 runs, as a multiple
// of the time of copying with streaming stores (November 2026):
//
//	bytes ahead      0   1024  2048  4096  8192
//	a chain of 5   1.10  1.00  0.88  0.99  0.98
//	exp            1.17  1.12  0.88  0.89  1.02
//	tanh           2.20  1.07  1.15  1.05  1.09
//	gelu by tanh   2.79  1.79  1.52  1.46  1.57
//
// That is for one input. Of two or more the processor's own fetching reads the better without being asked: a Zen 4, one
// thread, least of 21 runs in turns, milliseconds (November 2026):
//
//	bytes ahead                         0   4096
//	modmul of i64[2^22], 50 bits     2.76   3.29
//	modmul of i64[2^22], 59 bits     2.71   3.26
//	a * b + c, f32[2^23]             4.30   5.00
//	exp(a) * b, f32[2^23]            2.62   2.82
//	a + b, f32[2^23]                 2.79   2.85
//	exp(a), f32[2^24]                3.82   3.24
//	(2 a + 1) a - a / 2, f32[2^24]   4.30   3.46
//
// That is as long as the window reaches over enough lines of each: with much to compute between them it is filled by
// few lines, and their own fetching is late again. What divides the two is the number of vector instructions for a line
// of each input (lineWork). The Zen 4 above, and a Zen 3 with AVX2, whose registers are half a line, one thread, least
// of 41 runs in turns, milliseconds:
//
//	bytes ahead                    instructions      0   4096
//	modmul of i64[2^22], 50 bits             13   2.76   3.29   Zen 4
//	exp(a) * b, f32[2^23]                    20   2.62   2.82
//	modmul of i64[2^22], 59 bits             21   2.71   3.26
//	modmul of i32[2^22]                      28   1.75   1.44
//	a + b, f32[2^23]                          2   3.53   4.15   Zen 3
//	modsum of i64[2^22]                      10   3.30   3.15
//	modmul of i64[2^22], 50 bits             38   4.16   3.58
//	exp(a) * b, f32[2^23]                    40   4.40   3.77
//	modmul of i32[2^22]                      56   2.15   1.93
//	tanh(a) * b, f32[2^23]                   56   5.87   5.59
//	modmul of i64[2^22], 59 bits             62   5.96   5.97
const fetchAhead = 4096

// fetchTwoWork is the arithmetic from which two inputs are worth it, in instructions for a line of each.
const fetchTwoWork = 24

// LargeInput is the size from which an input is worth it; a smaller one stays in the second-level cache.
const LargeInput = 1 << 20

// prefetchAhead fetches what the loop will load from param after the vector at element `at`, going up or down.
func prefetchAhead(g *emit.Func, param int, at value.Value, step int64) {
	bytes := int64(g.Params[param].DType.Bytes())
	prefetchLines(g, param, g.Add(at, build.Int(build.I64, step*fetchAhead/bytes)), g.Width)
}

// Prefetching is what the loads of a function ask for beside what they read.
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
