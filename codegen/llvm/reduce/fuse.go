package reduce

import (
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/codegen/schedule"
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/ir/scalar"
)

// Note [Fused reductions]
//
// Several reductions of one row or chunk (a sum and a sum of squares; a maximum and its position) run in one loop. One
// after the other would read the row from the first-level cache again, and memory would rest meanwhile, because the
// processor fetches ahead only while it is reading. Each has its own accumulators, so there may be only as many as
// there are registers (docs/tuning/reductions.md).
//
// With AVX2 only reductions in lanes share one, and all but the last have them in memory (Note [Spilled accumulators]).

// accumulatorGroup is one of the reductions of a loop.
type accumulatorGroup struct {
	r     *Reduction
	state []value.Value
	// step takes in the vectors number k, k+1, ... of the 128 elements from p on.
	step func(p value.Value, k int, xs, state []value.Value) []value.Value
	done func(state []value.Value, stop value.Value) value.Value
	// memory is where lanes lie that have no registers; nil where all have.
	memory value.Value
	// Where rows go side by side: how many elements this one is behind the first, nil for none, and what it reads.
	behind value.Value
	env    []emit.Val
}

// RegisterReductions registers reductions.
func RegisterReductions(r emit.Registry) {
	emit.RegisterWithRest(r, func(g *emit.Func, s *kernel.Reduce, after []kernel.Stmt) []kernel.Stmt {
		var taken []kernel.Stmt
		for _, o := range fuseReductions(g, s, after) {
			taken = append(taken, o)
		}
		return taken
	})
}

// fuseReductions translates the reduction s together with those among the statements after it that run over the same
// elements and wait for nothing in between. It returns these.
func fuseReductions(g *emit.Func, s *kernel.Reduce, after []kernel.Stmt) []*kernel.Reduce {
	if others := sharedBody(g, s, after); others != nil {
		return others
	}
	r := newReduction(g, s)
	w, registers, ok := r.joins()
	if !ok || g.Machine.VectorBits < 512 && r.laneRegisters(w) < 0 {
		reduce(g, s)
		return nil
	}
	all := []*Reduction{r}
	var others []*kernel.Reduce
	between := map[kernel.Ref]bool{}
	analysis.Define(between, s)
	// memory that statements in between write, as a row that is kept: its readers stay after them
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
			if analysis.SameSpace(s, st) && !analysis.Reads(st, between) && !analysis.Stores(st.Body) &&
				!analysis.LoadsFrom(st.Body, written) {
				o := newReduction(g, st)
				most := g.Machine.Profile.Reduce.FusedRegisters
				if v, n, ok := o.joins(); ok && v == w && (registers+n <= most || registers == 0) {
					registers += n
					all, others = append(all, o), append(others, st)
					continue
				}
			}
			kernel.Each(st.Body, func(in *kernel.Store) { written[in.Param] = true })
		default:
			break scan
		}
		analysis.Define(between, st)
	}
	if len(all) == 1 {
		reduce(g, s)
		return nil
	}
	fusedReductions(g, all, w)
	return others
}

// joins reports that r can share a loop: in vectors of w, with so many registers for its accumulators. The elements are
// a chunk, or a literal number of them that is no more than one, and at least a vector.
func (r *Reduction) joins() (w, registers int, ok bool) {
	n, known := build.ConstantInt(r.n)
	w, sh := r.alongWidth()
	switch {
	case w == 0, sh.Instrs > schedule.MostShared, r.S.Order == kernel.Columns:
		return 0, 0, false
	case r.S.Chunk == scalar.None && (!known || n < int64(w) || n <= analysis.Unrolled || n > kernel.Lanes.Chunk()):
		return 0, 0, false
	}
	if r.laneRegisters(w) >= 0 {
		return w, 0, r.S.Order == kernel.Lanes
	}
	lane := (w*max(r.slotBytes(), 4) + 63) / 64
	switch {
	case r.S.Order == kernel.Lanes:
		return w, kernel.NumLanes / w * lane, true
	case r.isArgument(): // the best, where it was, and that of a row of 128
		return w, 3*lane + 1, true
	case r.putsOff():
		return w, fusedGroups*lane + 1, true
	}
	return w, fusedGroups * lane, true
}

// fusedGroups is how many accumulators those have whose order is free.
const fusedGroups = 4

func (r *Reduction) isArgument() bool { return analysis.IsArgument(r.S) }

// fusedReductions translates reductions that all join.
func fusedReductions(g *emit.Func, all []*Reduction, w int) {
	lo, hi := all[0].bounds()
	stop := g.Add(lo, g.RoundDown(g.Sub(hi, lo), kernel.NumLanes))
	var strands []*accumulatorGroup
	for i, r := range all {
		n := r.laneRegisters(w)
		switch {
		case n < 0:
			strands = append(strands, r.group(lo, hi, w, fusedGroups))
		case i < len(all)-1:
			strands = append(strands, r.laneGroup(0, hi, w))
		default:
			strands = append(strands, r.laneGroup(n, hi, w))
		}
	}
	eachGroup(strands, runGroups(g, strands, lo, stop, w), func(s *accumulatorGroup, mine []value.Value) []value.Value {
		g.Set(s.r.S.ID, s.done(mine, stop), false)
		return nil
	})
}

// eachGroup calls f for each of the groups with its part of their states, and joins the results.
func eachGroup(strands []*accumulatorGroup, state []value.Value, f func(s *accumulatorGroup,
	mine []value.Value) []value.Value) []value.Value {
	var next []value.Value
	for _, s := range strands {
		n := len(s.state)
		next = append(next, f(s, state[:n])...)
		state = state[n:]
	}
	return next
}

// runGroups takes the elements of [lo, stop), whole rows of 128, and returns the states after them.
func runGroups(g *emit.Func, strands []*accumulatorGroup, lo, stop value.Value, w int) []value.Value {
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
	return g.For(lo, stop, kernel.NumLanes, state, func(p value.Value, state []value.Value) []value.Value {
		for k := 0; k < kernel.NumLanes/w; k += n {
			state = eachGroup(strands, state, func(s *accumulatorGroup, mine []value.Value) []value.Value {
				from := p
				if s.behind != nil {
					from = g.Add(p, s.behind)
				}
				if s.env != nil {
					g.Env = s.env
				}
				return s.step(from, k, s.r.vectorsAt(g.Add(from, build.Int(build.I64, int64(k*w))), n, w), mine)
			})
			if memory != nil {
				KeepOrder(g, memory...)
			} else {
				strands[0].r.inOrder()
			}
		}
		return state
	})
}

// group prepares r for a loop over [lo, hi), with so many accumulators where its order is free.
// It is a list of cases, one for each kind of reduction.
func (r *Reduction) group(lo, hi value.Value, w, groups int) *accumulatorGroup {
	g := r.G
	last := g.Sub(hi, build.Int(build.I64, int64(w)))
	// The elements from stop on in vectors, of which the last overlaps the one before it. The first may begin
	// before lo in the last chunk: then it repeats some of the chunk before, whose result is no worse. Where there are
	// fewer elements than a vector in all, which can be when their number is not known, they are taken one by one.
	whole := func(long, short func() value.Value) value.Value {
		return r.whenLong(build.Int(build.I64, 0), r.n, w, long, short)
	}
	rest := func(state []value.Value, stop value.Value, body func(p value.Value,
		state []value.Value) []value.Value) []value.Value {
		return g.For(stop, hi, int64(w), state, func(p value.Value, state []value.Value) []value.Value {
			return body(r.minInt(p, last), state)
		})
	}
	switch {
	case r.S.Order == kernel.Lanes:
		init := make([]value.Value, kernel.NumLanes/w)
		for i := range init {
			init[i] = build.SplatConst(r.IdentityConst(), w)
		}
		step := func(_ value.Value, k int, xs, state []value.Value) []value.Value {
			next := append([]value.Value{}, state...)
			for i, x := range xs {
				next[k+i] = r.Combine(next[k+i], x, w)
			}
			return next
		}
		done := func(state []value.Value, stop value.Value) value.Value { return r.chunkDone(state, stop, hi, w) }
		return &accumulatorGroup{r: r, state: init, step: step, done: done}
	case r.isArgument():
		var row *candidates // of the 128 elements so far
		step := func(p value.Value, k int, xs, state []value.Value) []value.Value {
			if k == 0 {
				row = nil
			}
			if row = r.candidates(row, xs); k+len(xs) < kernel.NumLanes/w {
				return state
			}
			return r.argumentStep(g.Sub(p, lo), row, state, w)
		}
		return &accumulatorGroup{r: r, state: r.argumentInit(w), step: step,
			done: func(state []value.Value, stop value.Value) value.Value {
				return whole(func() value.Value {
					state := rest(state, stop, func(p value.Value, state []value.Value) []value.Value {
						return r.argumentStep(g.Sub(p, lo), r.candidates(nil, r.vectorsAt(p, 1, w)), state, w)
					})
					_, at := r.argumentDone(state, lo, last, w, true)
					return at
				}, func() value.Value { return r.argumentByOne(lo, hi) })
			}}
	case r.putsOff():
		step := func(_ value.Value, k int, xs, state []value.Value) []value.Value {
			rotated := rotate(state, k%groups, groups, 1)
			return rotate(r.extremeStep(xs, rotated, w, groups), -(k % groups), groups, 1)
		}
		return &accumulatorGroup{r: r, state: r.extremeInit(w, groups), step: step,
			done: func(state []value.Value, stop value.Value) value.Value {
				return whole(func() value.Value {
					state := rest(state, stop, func(p value.Value, state []value.Value) []value.Value {
						return r.extremeStep(r.vectorsAt(p, 1, w), state, w, groups)
					})
					return r.extremeDone(state, w, groups)
				}, func() value.Value { return r.combineAll(lo, hi, 0, analysis.Shape{}) })
			}}
	}
	init := make([]value.Value, groups)
	for i := range init {
		init[i] = build.SplatConst(r.IdentityConst(), w)
	}
	step := func(_ value.Value, k int, xs, state []value.Value) []value.Value {
		next := append([]value.Value{}, state...)
		for i, x := range xs {
			next[(k+i)%groups] = r.Combine(next[(k+i)%groups], x, w)
		}
		return next
	}
	done := func(state []value.Value, stop value.Value) value.Value {
		sum := state[0]
		for _, x := range state[1:] {
			sum = r.Combine(sum, x, w)
		}
		one := r.foldVector(sum, w)
		return g.For(stop, hi, 1, []value.Value{one}, func(p value.Value, state []value.Value) []value.Value {
			return []value.Value{r.Combine(state[0], r.at(p), 0)}
		})[0]
	}
	return &accumulatorGroup{r: r, state: init, step: step, done: done}
}

// rotate rotates the first groups of a state, of size values each, so that group by comes first.
func rotate(state []value.Value, by, groups, size int) []value.Value {
	out := append([]value.Value{}, state...)
	for i := range groups {
		from := (i + by + groups) % groups
		copy(out[i*size:(i+1)*size], state[from*size:(from+1)*size])
	}
	return out
}
