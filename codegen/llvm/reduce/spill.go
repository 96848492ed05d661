package reduce

import (
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/ir/kernel"
)

// Note [Spilled accumulators]
//
// The 128 lanes of a sum of f32 are all 16 registers of AVX2. Where an element is computed before it is added, none are
// left for that, and LLVM would put two lanes on the stack and move the others around in each round. So some lanes lie
// in memory for the whole of the loop, which the first-level cache holds, and those that remain have their registers.
// LLVM would find registers for that memory; an empty piece of assembly that may change it keeps it from that.
//
// Where that gains and where it does not is measured: docs/tuning/reductions.md. Rows that are short, and f64, of which
// most lanes are in memory anyway, stay as LLVM makes them.

// laneRegisters is how many vectors of w lanes have registers, when others are in memory; -1 where none are to be in
// memory.
func (r *Reduction) laneRegisters(w int) int {
	const elements = 4 // registers for the parts of an element
	m := r.G.Machine
	n, known := build.ConstantInt(r.n)
	if m.VectorBits != 256 || m.Registers > 16 || r.slotBytes() > 4 || known && n < 2*kernel.NumLanes {
		return -1
	}
	return (m.Registers - elements) * m.VectorBits / (8 * w * r.slotBytes())
}

// laneGroup is an accumulatorGroup in lanes, of which the first regs vectors have registers and the others lie in
// memory.
func (r *Reduction) laneGroup(regs int, hi value.Value, w int) *accumulatorGroup {
	groups := kernel.NumLanes / w
	regs = min(regs, groups)
	init := make([]value.Value, groups)
	for i := range init {
		init[i] = build.SplatConst(r.IdentityConst(), w)
	}
	mem := r.G.Stack(build.RegisterType(r.D), kernel.NumLanes)
	for i := regs; i < groups; i++ {
		r.toLane(mem, i, init[i], w)
	}
	step := func(_ value.Value, k int, xs, state []value.Value) []value.Value {
		next := append([]value.Value{}, state...)
		for i, x := range xs {
			if k+i < regs {
				next[k+i] = r.Combine(next[k+i], x, w)
			} else {
				r.toLane(mem, k+i, r.Combine(r.lane(mem, k+i, w), x, w), w)
			}
		}
		return next
	}
	done := func(state []value.Value, stop value.Value) value.Value {
		all := append([]value.Value{}, state...)
		for i := regs; i < groups; i++ {
			all = append(all, r.lane(mem, i, w))
		}
		return r.chunkDone(all, stop, hi, w)
	}
	return &accumulatorGroup{r: r, state: init[:regs], memory: mem, step: step, done: done}
}
