package bufferize

import (
	"healc/ir/kernel"
	"healc/ir/scalar"
)

// traffic estimates the bytes that a kernel reads and writes for each index of the outermost axis: of each buffer
// the elements that the largest access touches, for what is read again comes from a near cache. What every index
// reads, such as a vector that is broadcast, stays in one as well, and does not count.
func traffic(k *kernel.Kernel) int64 {
	m := &meter{k: k, outer: scalar.None, trips: map[kernel.Ref]float64{}, chunk: map[kernel.Ref]bool{},
		bytes: make([]float64, len(k.Params))}
	for i, a := range k.Axes {
		if i == 0 {
			m.outer = a.Var
		} else {
			m.enter(a.Var, estimate(a.Extent))
		}
	}
	m.block(k.Body)
	sum := 0.0
	for _, b := range m.bytes {
		sum += b
	}
	return int64(min(sum, 1e18))
}

// meter walks a kernel.
type meter struct {
	k     *kernel.Kernel
	outer kernel.Ref
	loops []kernel.Ref           // around where we are, without the outermost axis
	trips map[kernel.Ref]float64 // of each of them
	chunk map[kernel.Ref]bool    // loops that cover a chunk, another one for each index
	bytes []float64              // by parameter
}

func (m *meter) enter(v kernel.Ref, trips float64) {
	m.loops = append(m.loops, v)
	m.trips[v] = trips
}

func (m *meter) leave(n int) { m.loops = m.loops[:len(m.loops)-n] }

func (m *meter) block(b *kernel.Block) {
	for _, st := range b.Stmts {
		switch st := st.(type) {
		case *kernel.Load:
			m.access(st.Param, &st.At)
		case *kernel.Store:
			m.access(st.Param, &st.At)
		case *kernel.Loop:
			m.enter(st.Axis.Var, estimate(st.Axis.Extent))
			m.block(st.Body)
			m.leave(1)
		case *kernel.Iterate:
			m.enter(st.Var, nominal)
			m.block(st.Body)
			m.leave(1)
		case *kernel.Reduce:
			part := 1.0 // of the elements that this index reduces
			if st.Chunk != scalar.None {
				all := 1.0
				for _, a := range st.Axes {
					all *= estimate(a.Extent)
				}
				part = min(1, float64(st.Order.Chunk())/all)
			}
			for i, a := range st.Axes {
				trips := estimate(a.Extent)
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
func (m *meter) access(param int, at *kernel.Access) {
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
