package plan

import (
	"math/bits"
	"slices"

	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/ir/kernel/transform"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/abi"
)

// This file is the cost model of kernels: how many operations they do and how many bytes they move. The runtime decides
// by it how many threads share a launch.

// nominalExtent stands for a shape parameter.
const nominalExtent = 1024

// open reports whether the operations for each index are a guess: of loops that end when the data say so, of functions
// that recurse, and of extents that are known when the program runs.
func open(k *kernel.Kernel) bool {
	found := false
	extent := func(a kernel.Axis) {
		_, literal := a.Extent.Dim.Const()
		found = found || !literal
	}
	for i, a := range k.Axes {
		if i > 0 {
			extent(a)
		}
	}
	k.Body.Walk(func(st kernel.Stmt) {
		switch st := st.(type) {
		case *kernel.Iterate, *kernel.Call:
			found = true
		case *kernel.Loop:
			extent(st.Axis)
		case *kernel.Reduce:
			for _, a := range st.Axes {
				extent(a)
			}
		}
	})
	return found
}

func extentEstimate(e abi.Extent) float64 {
	n := 0.0
	for _, t := range e.Dim.Terms() {
		p := float64(t.Coef)
		for range t.Vars {
			p *= nominalExtent
		}
		n += p
	}
	if e.Div > 1 {
		n /= float64(e.Div)
	}
	return max(n, 1)
}

// changedPart estimates how much is left to do of a kernel that works in place where its loops go over the part alone
// that changes (Note [Windows] in ir/kernel/analysis): half along an axis of which one end is bounded, and one index
// where both are.
func changedPart(k *kernel.Kernel) float64 {
	part := 1.0
	before, body := transform.HoistInvariants(k)
	for _, a := range analysis.ParallelAxes(k, body) {
		switch w := analysis.WindowOf(k, before, body, a.Var); {
		case w.Low != nil && w.High != nil:
			part /= extentEstimate(a.Extent)
		case w.Bounded():
			part /= 2
		}
	}
	return part
}

// operationsOf estimates the scalar operations for each index of the outermost axis.
func operationsOf(k *kernel.Kernel) int64 {
	n, last := 1.0, 1.0
	w := operationCount{k: k, varies: map[kernel.Ref]bool{}}
	for i, a := range k.Axes {
		last = extentEstimate(a.Extent)
		if i > 0 {
			n *= last
		}
	}
	if len(k.Axes) > 0 {
		w.varies[k.Axes[len(k.Axes)-1].Var] = true
	}
	each, once := w.body(k.Body)
	return int64(min(n*(each+once/last), 1e18))
}

// operationCount counts operations. What does not depend on the last axis of a kernel is computed before its loop.
type operationCount struct {
	k      *kernel.Kernel
	rare   kernel.Rare
	varies map[kernel.Ref]bool
}

// body counts the operations of statements that stand directly in the loops of a kernel: those for each index, and
// those before the last loop.
func (w *operationCount) body(b *kernel.Block) (each, once float64) {
	for _, st := range b.Stmts {
		varies := true
		switch st := st.(type) {
		case *kernel.Let:
			varies = slices.ContainsFunc(st.In.Args[:], func(r kernel.Ref) bool { return w.varies[r] })
			w.varies[st.ID] = varies
		case *kernel.Load:
			varies = slices.ContainsFunc(st.At.Terms, func(t kernel.Term) bool { return w.varies[t.Var] })
			w.varies[st.ID] = varies
		case *kernel.DimValue:
			varies = false
		case *kernel.If:
			w.rare.Note(st)
			then, first := w.body(st.Then)
			other, second := w.body(st.Else)
			// a condition for all indices goes either way, as that between forms of a product by the size of the
			// modulus
			switch {
			case !w.varies[st.Cond]:
				each += (then + other) / 2
			case w.rare.First(st):
				each += 1 + other
			default:
				each += 1 + max(then, other)
			}
			once += first + second
			w.vary(st.IDs)
			continue
		case *kernel.Loop:
			w.vary(st.IDs)
		case *kernel.Iterate:
			w.vary(st.IDs)
		case *kernel.Reduce:
			w.varies[st.ID] = true
		case *kernel.Call:
			w.vary(st.IDs)
		case *kernel.Transform:
			w.varies[st.ID] = true
		}
		if n := w.statement(st); varies {
			each += n
		} else {
			once += n
		}
	}
	return each, once
}

func (w *operationCount) vary(ids []kernel.Ref) {
	for _, id := range ids {
		w.varies[id] = true
	}
}

// digitSort is how many operations an element takes that is sorted by its digits.
const digitSort = 60

// callWork is a guess at the work of a recursive function.
const callWork = 10000

// block counts the operations of a block each time it runs.
func (w *operationCount) block(b *kernel.Block) float64 {
	sum := 0.0
	for _, st := range b.Stmts {
		sum += w.statement(st)
	}
	return sum
}

func (w *operationCount) statement(st kernel.Stmt) float64 {
	w.rare.Note(st)
	switch st := st.(type) {
	case *kernel.Loop:
		return extentEstimate(st.Axis.Extent) * w.block(st.Body)
	case *kernel.Iterate:
		return nominalExtent * w.block(st.Body) // see assumedSteps in codegen/llvm
	case *kernel.Reduce:
		n := 1.0
		for _, a := range st.Axes {
			n *= extentEstimate(a.Extent)
		}
		if st.Chunk != scalar.None {
			n = min(n, float64(st.Order.Chunk()))
		}
		return n * (1 + w.block(st.Body))
	case *kernel.If:
		then, other := w.block(st.Then), w.block(st.Else)
		if w.rare.First(st) {
			then = 0
		}
		return 1 + max(then, other)
	case *kernel.Call:
		return callWork
	case *kernel.Transform: // half a butterfly, as long as 24 operations, for each element and stage
		return 12 * float64(st.Size) * float64(bits.Len64(uint64(st.Size))-1)
	case *kernel.Sort: // those of sorting by digits
		return digitSort * extentEstimate(abi.Extent{Dim: st.Size})
	case *kernel.Load:
		return lanes(w.k.Params[st.Param].DType)
	case *kernel.Store:
		return lanes(w.k.Params[st.Param].DType)
	case *kernel.Let:
		if st.In.Op == scalar.Const {
			return 0
		}
		return lanes(st.In.Type)
	}
	return 1
}

// lanes is what an operation counts on numbers of which more than usual make a vector. A bool comes of others, mostly.
func lanes(t types.DType) float64 {
	switch {
	case t == types.I8 || t == types.U8:
		return 0.25
	case t == types.I16 || t == types.U16:
		return 0.5
	}
	return 1
}

// bytesOf estimates the bytes that a kernel reads and writes for each index of the outermost axis: of each buffer
// the elements that the largest access touches, for what is read again comes from a near cache. What every index
// reads, such as a vector that is broadcast, stays in one as well, and does not count.
func bytesOf(k *kernel.Kernel) int64 {
	m := &byteCount{k: k, outer: scalar.None, trips: map[kernel.Ref]float64{}, chunk: map[kernel.Ref]bool{},
		bytes: make([]float64, len(k.Params))}
	for i, a := range k.Axes {
		if i == 0 {
			m.outer = a.Var
		} else {
			m.enter(a.Var, extentEstimate(a.Extent))
		}
	}
	m.block(k.Body)
	sum := 0.0
	for _, b := range m.bytes {
		sum += b
	}
	return int64(min(sum, 1e18))
}

// byteCount walks a kernel.
type byteCount struct {
	k     *kernel.Kernel
	outer kernel.Ref
	loops []kernel.Ref           // around where we are, without the outermost axis
	trips map[kernel.Ref]float64 // of each of them
	chunk map[kernel.Ref]bool    // loops that cover a chunk, another one for each index
	bytes []float64              // by parameter
}

func (m *byteCount) enter(v kernel.Ref, trips float64) {
	m.loops = append(m.loops, v)
	m.trips[v] = trips
}

func (m *byteCount) leave(n int) { m.loops = m.loops[:len(m.loops)-n] }

func (m *byteCount) block(b *kernel.Block) {
	for _, st := range b.Stmts {
		switch st := st.(type) {
		case *kernel.Load:
			m.access(st.Param, &st.At)
		case *kernel.Store:
			m.access(st.Param, &st.At)
		case *kernel.Loop:
			m.enter(st.Axis.Var, extentEstimate(st.Axis.Extent))
			m.block(st.Body)
			m.leave(1)
		case *kernel.Iterate:
			m.enter(st.Var, nominalExtent)
			m.block(st.Body)
			m.leave(1)
		case *kernel.Reduce:
			part := 1.0 // of the elements that this index reduces
			if st.Chunk != scalar.None {
				all := 1.0
				for _, a := range st.Axes {
					all *= extentEstimate(a.Extent)
				}
				part = min(1, float64(st.Order.Chunk())/all)
			}
			for i, a := range st.Axes {
				trips := extentEstimate(a.Extent)
				if i == 0 {
					trips *= part
				}
				m.enter(a.Var, trips)
				m.chunk[a.Var] = st.Chunk != scalar.None
			}
			m.block(st.Body)
			m.leave(len(st.Axes))
		case *kernel.If:
			m.block(st.Then)
			m.block(st.Else)
		}
	}
}

// access counts the elements that a load or store touches in the loops around it.
func (m *byteCount) access(param int, at *kernel.Access) {
	n, shared := 1.0, true
	used := map[kernel.Ref]bool{}
	for _, t := range at.Terms {
		if used[t.Var] {
			continue
		}
		used[t.Var] = true
		if trips, loop := m.trips[t.Var]; loop {
			n *= trips
			shared = shared && !m.chunk[t.Var]
			continue
		}
		shared = false
		if t.Var != m.outer { // a computed index may be anywhere each time
			n = 1
			for _, v := range m.loops {
				n *= m.trips[v]
			}
			break
		}
	}
	if !shared {
		m.bytes[param] = max(m.bytes[param], n*float64(m.k.Params[param].DType.Bytes()))
	}
}
