package llvm

import (
	"github.com/llir/llvm/ir/value"

	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/scalar"
)

// Note [Reductions in one loop]
//
// Several reductions of one row or chunk (a sum and a sum of squares; a maximum and its position) run in one loop.
// One after the other would read the row from the first-level cache again, and memory would rest meanwhile:
// the processor fetches ahead only while it is reading. Each keeps its own accumulators, so there may be only as
// many as there are registers.
// (Sum and sum of squares of f32[2^24], one thread of a Sapphire Rapids, November 2026: 3.1 ms apart, 2.6 in one loop.)
//
// With AVX2 only reductions in lanes share one, and all but the last have them in memory (Note [Lanes in memory]).

// jointRegisters is how many registers the accumulators of one loop may take.
const jointRegisters = 24

// strand is one of the reductions of a loop.
type strand struct {
	r     *reduction
	state []value.Value
	// step takes in the vectors number k, k+1, ... of the 128 elements from p on.
	step func(p value.Value, k int, xs, state []value.Value) []value.Value
	done func(state []value.Value, stop value.Value) value.Value
	// memory is where lanes lie that have no registers; nil where all have.
	memory value.Value
}

// registerReductions registers reductions.
func registerReductions(r Registry) {
	registerWithRest(r, func(g *gen, s *kernel.Reduce, after []kernel.Stmt) []kernel.Stmt {
		var taken []kernel.Stmt
		for _, o := range g.joint(s, after) {
			taken = append(taken, o)
		}
		return taken
	})
}

// joint translates the reduction s together with those among the statements after it that run over the same
// elements and wait for nothing in between. It returns these.
func (g *gen) joint(s *kernel.Reduce, after []kernel.Stmt) []*kernel.Reduce {
	if others := g.sharedBody(s, after); others != nil {
		return others
	}
	r := newReduction(g, s)
	w, registers, ok := r.joins()
	if !ok || g.machine.VectorBits < 512 && r.laneRegisters(w) < 0 {
		g.reduce(s)
		return nil
	}
	all := []*reduction{r}
	var others []*kernel.Reduce
	between := map[kernel.Ref]bool{}
	define(between, s)
	// memory that statements in between write, as a row that is kept: what reads it stays after them
	written := map[int]bool{}
scan:
	for _, st := range after {
		switch st := st.(type) {
		case *kernel.Let:
			if st.In.Op == scalar.Check {
				break scan
			}
		case *kernel.DimValue, *kernel.Load:
		case *kernel.Store:
			written[st.Param] = true
		case *kernel.Reduce:
			if sameSpace(s, st) && !reads(st, between) && !stores(st.Body) && !loadsFrom(st.Body, written) {
				o := newReduction(g, st)
				if v, n, ok := o.joins(); ok && v == w && (registers+n <= jointRegisters || registers == 0) {
					registers += n
					all, others = append(all, o), append(others, st)
					continue
				}
			}
			kernel.Each(st.Body, func(in *kernel.Store) { written[in.Param] = true })
		default:
			break scan
		}
		define(between, st)
	}
	if len(all) == 1 {
		g.reduce(s)
		return nil
	}
	g.together(all, w)
	return others
}

// joins reports that r can share a loop: in vectors of w, with so many registers for its accumulators. The elements are
// a chunk, or a literal number of them that is no more than one, and at least a vector.
func (r *reduction) joins() (w, registers int, ok bool) {
	n, known := constantInt(r.n)
	w, sh := r.alongWidth()
	switch {
	case w == 0, sh.instrs > 12, r.s.Order == kernel.Columns:
		return 0, 0, false
	case r.s.Chunk == scalar.None && (!known || n < int64(w) || n <= unrolled || n > kernel.Lanes.Chunk()):
		return 0, 0, false
	}
	if r.laneRegisters(w) >= 0 {
		return w, 0, r.s.Order == kernel.Lanes
	}
	lane := (w*max(r.slotBytes(), 4) + 63) / 64
	switch {
	case r.s.Order == kernel.Lanes:
		return w, kernel.NumLanes / w * lane, true
	case r.isArgument():
		return w, jointGroups * (lane + 1), true
	case r.putsOff():
		return w, jointGroups*lane + 1, true
	}
	return w, jointGroups * lane, true
}

// jointGroups is how many accumulators those have whose order is free.
const jointGroups = 4

func (r *reduction) isArgument() bool { return isArgument(r.s) }

// isArgument reports that s finds the position of an extreme.
func isArgument(s *kernel.Reduce) bool {
	return s.Kind == ir.ReduceArgMax || s.Kind == ir.ReduceArgMin
}

// together translates reductions that all join.
func (g *gen) together(all []*reduction, w int) {
	lo, hi := all[0].bounds()
	stop := g.plus(lo, g.whole(g.minus(hi, lo), kernel.NumLanes))
	var strands []*strand
	for i, r := range all {
		n := r.laneRegisters(w)
		switch {
		case n < 0:
			strands = append(strands, r.strand(lo, hi, w))
		case i < len(all)-1:
			strands = append(strands, r.laneStrand(0, hi, w))
		default:
			strands = append(strands, r.laneStrand(n, hi, w))
		}
	}
	eachStrand(strands, g.runStrands(strands, lo, stop, w), func(s *strand, mine []value.Value) []value.Value {
		g.set(s.r.s.ID, s.done(mine, stop), false)
		return nil
	})
}

// eachStrand does f for each of strands with its part of their states, and joins what it gives.
func eachStrand(strands []*strand, state []value.Value, f func(s *strand,
	mine []value.Value) []value.Value) []value.Value {
	var next []value.Value
	for _, s := range strands {
		n := len(s.state)
		next = append(next, f(s, state[:n])...)
		state = state[n:]
	}
	return next
}

// runStrands takes the elements of [lo, stop), whole rows of 128, and returns the states after them.
func (g *gen) runStrands(strands []*strand, lo, stop value.Value, w int) []value.Value {
	var state, memory []value.Value
	for _, s := range strands {
		state = append(state, s.state...)
		if s.memory != nil {
			memory = append(memory, s.memory)
		}
	}
	// Two vectors of each at a time: so many registers hold elements.
	n := 2
	if memory != nil {
		n = 1
	}
	return g.count(lo, stop, kernel.NumLanes, state, func(p value.Value, state []value.Value) []value.Value {
		for k := 0; k < kernel.NumLanes/w; k += n {
			state = eachStrand(strands, state, func(s *strand, mine []value.Value) []value.Value {
				return s.step(p, k, s.r.vectorsAt(g.plus(p, ci(i64, int64(k*w))), n, w), mine)
			})
			if memory != nil {
				g.keepOrder(memory...)
			} else {
				strands[0].r.inOrder()
			}
		}
		return state
	})
}

// strand prepares r for a loop over [lo, hi).
func (r *reduction) strand(lo, hi value.Value, w int) *strand {
	g := r.g
	last := g.minus(hi, ci(i64, int64(w)))
	const groups = jointGroups
	// The elements from stop on in vectors, of which the last overlaps the one before it. The first may begin
	// before lo in the last chunk: then it repeats some of the chunk before, whose result is no worse. Where there are
	// fewer elements than a vector in all, which can be when their number is not known, they are taken one by one.
	whole := func(long, short func() value.Value) value.Value { return r.whenLong(ci(i64, 0), r.n, w, long, short) }
	rest := func(state []value.Value, stop value.Value, body func(p value.Value,
		state []value.Value) []value.Value) []value.Value {
		return g.count(stop, hi, int64(w), state, func(p value.Value, state []value.Value) []value.Value {
			return body(r.minInt(p, last), state)
		})
	}
	switch {
	case r.s.Order == kernel.Lanes:
		init := make([]value.Value, kernel.NumLanes/w)
		for i := range init {
			init[i] = splatConst(r.identityConst(), w)
		}
		return &strand{r, init, func(_ value.Value, k int, xs, state []value.Value) []value.Value {
			next := append([]value.Value{}, state...)
			for i, x := range xs {
				next[k+i] = r.combine(next[k+i], x, w)
			}
			return next
		}, func(state []value.Value, stop value.Value) value.Value { return r.chunkDone(state, stop, hi, w) }, nil}
	case r.isArgument():
		step := func(p value.Value, k int, xs, state []value.Value) []value.Value {
			// The state of extremes counts its groups from vector k on.
			turned := r.turn(state, k%groups, 2)
			turned = r.argumentStep(g.plus(g.minus(p, lo), ci(i64, int64(k/groups*groups*w))), xs, turned, w, groups)
			return r.turn(turned, -(k % groups), 2)
		}
		return &strand{r, r.argumentInit(w, groups), step, func(state []value.Value, stop value.Value) value.Value {
			return whole(func() value.Value {
				state := rest(state, stop, func(p value.Value, state []value.Value) []value.Value {
					return r.argumentStep(g.minus(p, lo), r.vectorsAt(p, 1, w), state, w, groups)
				})
				_, at := r.argumentDone(state, lo, last, w, groups)
				return at
			}, func() value.Value { return r.argumentByOne(lo, hi) })
		}, nil}
	case r.putsOff():
		step := func(_ value.Value, k int, xs, state []value.Value) []value.Value {
			turned := r.turn(state, k%groups, 1)
			return r.turn(r.extremeStep(xs, turned, w, groups), -(k % groups), 1)
		}
		return &strand{r, r.extremeInit(w, groups), step, func(state []value.Value, stop value.Value) value.Value {
			return whole(func() value.Value {
				state := rest(state, stop, func(p value.Value, state []value.Value) []value.Value {
					return r.extremeStep(r.vectorsAt(p, 1, w), state, w, groups)
				})
				return r.extremeDone(state, w, groups)
			}, func() value.Value { return r.combineAll(lo, hi, 0, shape{}) })
		}, nil}
	}
	init := make([]value.Value, groups)
	for i := range init {
		init[i] = splatConst(r.identityConst(), w)
	}
	return &strand{r, init, func(_ value.Value, k int, xs, state []value.Value) []value.Value {
		next := append([]value.Value{}, state...)
		for i, x := range xs {
			next[(k+i)%groups] = r.combine(next[(k+i)%groups], x, w)
		}
		return next
	}, func(state []value.Value, stop value.Value) value.Value {
		sum := state[0]
		for _, x := range state[1:] {
			sum = r.combine(sum, x, w)
		}
		one := r.foldVector(sum, w)
		return g.count(stop, hi, 1, []value.Value{one}, func(p value.Value, state []value.Value) []value.Value {
			return []value.Value{r.combine(state[0], r.at(p), 0)}
		})[0]
	}, nil}
}

// turn rotates the first groups of a state, of size values each, so that group by comes first.
func (r *reduction) turn(state []value.Value, by, size int) []value.Value {
	out := append([]value.Value{}, state...)
	for i := range jointGroups {
		from := (i + by + jointGroups) % jointGroups
		copy(out[i*size:(i+1)*size], state[from*size:(from+1)*size])
	}
	return out
}

// sameSpace reports that two reductions run over the same elements in one numbering.
func sameSpace(x, y *kernel.Reduce) bool {
	if len(x.Axes) != len(y.Axes) || x.Chunk != y.Chunk || x.Chunk != scalar.None &&
		x.Order.Chunk() != y.Order.Chunk() {
		return false
	}
	for i, a := range x.Axes {
		b := y.Axes[i]
		if a.Begin != b.Begin || a.Extent.Div != b.Extent.Div || !a.Extent.Dim.Equal(b.Extent.Dim) {
			return false
		}
	}
	return true
}

// loadsFrom reports that a block reads memory of these parameters.
func loadsFrom(b *kernel.Block, params map[int]bool) bool {
	found := false
	kernel.Each(b, func(l *kernel.Load) { found = found || params[l.Param] })
	return found
}

// reads reports that the reduction reads one of refs.
func reads(s *kernel.Reduce, refs map[kernel.Ref]bool) bool {
	found := false
	var walk func(b *kernel.Block)
	walk = func(b *kernel.Block) {
		for _, st := range b.Stmts {
			switch st := st.(type) {
			case *kernel.Let:
				for _, a := range st.In.Args {
					found = found || refs[a]
				}
			case *kernel.Load:
				for _, t := range st.At.Terms {
					found = found || refs[t.Var]
				}
			case *kernel.DimValue:
			case *kernel.If:
				found = found || refs[st.Cond]
				for _, r := range append(append([]kernel.Ref{}, st.ThenVals...), st.ElseVals...) {
					found = found || refs[r]
				}
				walk(st.Then)
				walk(st.Else)
			default:
				found = true // not looked into
			}
		}
	}
	walk(s.Body)
	return found || refs[s.Val] || refs[s.Chunk]
}
