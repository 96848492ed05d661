package llvm

import (
	"github.com/llir/llvm/ir/value"

	"healc/ir/kernel"
)

// Note [Prefetch]
//
// The processor's own prefetcher stops at each page of 4 KiB, and finds the next one again only when the loop is
// there. A copy does not feel it: its loads run far ahead of its arithmetic. A loop that computes much for each
// element fills the window in which the processor reorders within half a kilobyte, and then the times for memory and for
// arithmetic add up. So loops over large buffers fetch their inputs a page ahead. It costs an instruction a line,
// and does no harm behind the end: a prefetch never faults. f32[2^24], one thread of a Sapphire Rapids, best
// of 15 runs, as a multiple of the time of copying with streaming stores (November 2026):
//
//	bytes ahead      0   1024  2048  4096  8192
//	a chain of 5   1.10  1.00  0.88  0.99  0.98
//	exp            1.17  1.12  0.88  0.89  1.02
//	tanh           2.20  1.07  1.15  1.05  1.09
//	gelu by tanh   2.79  1.79  1.52  1.46  1.57
//
// That is for one input. Of two or more the processor's own fetching reads the better without being asked: a Zen 4, one thread, least of 21
// runs in turns, milliseconds (November 2026):
//
//	bytes ahead                         0   4096
//	modmul of i64[2^22], 50 bits     2.76   3.29
//	modmul of i64[2^22], 59 bits     2.71   3.26
//	a * b + c, f32[2^23]             4.30   5.00
//	exp(a) * b, f32[2^23]            2.62   2.82
//	a + b, f32[2^23]                 2.79   2.85
//	exp(a), f32[2^24]                3.82   3.24
//	(2 a + 1) a - a / 2, f32[2^24]   4.30   3.46
const fetchAhead = 4096

// largeInput is the size from which an input is worth it; a smaller one stays in the second-level cache.
const largeInput = 1 << 20

// prefetch fetches what the loop will load from param after the vector at element `at`, going up or down.
func (g *gen) prefetch(param int, at value.Value, step int64) {
	bytes := int64(g.params[param].DType.Bytes())
	g.askFor(param, g.plus(at, ci(i64, step*fetchAhead/bytes)), g.w)
}

// fetches is the loads of a loop that fetch ahead: those that stand in its body itself, where they read one large buffer. Those of loops
// inside go another way. known leaves out buffers of which the size is not known.
func (g *gen) fetches(body *kernel.Block, known bool) map[*kernel.Load]bool {
	out, large := map[*kernel.Load]bool{}, map[int]bool{}
	for _, s := range body.Stmts {
		l, ok := s.(*kernel.Load)
		if !ok {
			continue
		}
		if n, sized := g.sizeOf(l.Param); sized && n >= largeInput || !sized && !known {
			out[l], large[l.Param] = true, true
		}
	}
	if len(large) > 1 {
		return nil
	}
	return out
}

// sizeOf is the size of a buffer in bytes, when it is known.
func (g *gen) sizeOf(param int) (int64, bool) {
	p := g.params[param]
	n := float64(p.DType.Bytes())
	for _, e := range p.Shape {
		c, known := e.Dim.Const()
		if !known {
			return 0, false
		}
		n *= float64(c) / float64(max(e.Div, 1))
	}
	return int64(min(n, 1<<62)), true
}
