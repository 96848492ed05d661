package explain

import (
	"math"
	"slices"

	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/ir/scalar"
	"healc/runtime/abi"
)

// kernelCost is what one launch of a kernel does.
type kernelCost struct {
	reads, writes []cost // bytes, for each parameter: zero for the other kind
	ops           cost   // scalar operations; a fused multiply-add is two
	calls         []string
}

// measureKernel counts the work of a kernel. Each element of a buffer that is touched counts once, however
// often it is read: it comes from a cache the other times. Arithmetic on indices counts as operations
// where it is part of the kernel's body.
func measureKernel(k *kernel.Kernel) kernelCost {
	m := &meter{k: k, out: kernelCost{ops: cost{}}, touched: make([]cost, len(k.Params)),
		both: make([]bool, len(k.Params))}
	times := number(1)
	for _, a := range k.Axes {
		times = times.times(axisCost(a))
	}
	m.operands()
	m.out.ops = m.block(k.Body, times)
	for i, p := range k.Params {
		whole := number(float64(p.DType.Bytes()))
		for _, e := range p.Shape {
			whole = whole.times(extentCost(e))
		}
		moved := cost{}
		if m.touched[i] != nil {
			moved = least(whole, m.touched[i].times(number(float64(p.DType.Bytes()))))
		}
		switch {
		case p.Out && p.InPlace && m.both[i]: // as many reads as writes
			if half := m.touched[i].times(number(float64(p.DType.Bytes()) / 2)); m.touched[i] != nil {
				moved = least(whole, half)
			}
			m.out.reads, m.out.writes = append(m.out.reads, moved), append(m.out.writes, moved)
		case p.Out:
			m.out.reads, m.out.writes = append(m.out.reads, cost{}), append(m.out.writes, moved)
		default:
			m.out.reads, m.out.writes = append(m.out.reads, moved), append(m.out.writes, cost{})
		}
	}
	return m.out
}

// Operations counts the scalar operations of the kernels of a program whose extents are known. known is false when the
// number depends on the run: on loops, branches or recursive functions.
func Operations(km *kernel.Module) (ops float64, known bool) {
	kernels := map[string]*kernel.Kernel{}
	for _, k := range km.Kernels {
		kernels[k.Name] = k
	}
	known = true
	walkSteps(km.Plan.Funcs[0].Steps, func(s *abi.Step) {
		if s.Launch != nil {
			c := measureKernel(kernels[s.Launch.Kernel])
			ops += c.ops.at()
			known = known && len(c.calls) == 0
		}
		known = known && s.Loop == nil && s.If == nil && s.Call == nil
	})
	return ops, known
}

func axisCost(a kernel.Axis) cost { return extentCost(a.Extent).plus(number(-float64(a.Begin))) }

type meter struct {
	k       *kernel.Kernel
	out     kernelCost
	touched []cost               // accesses to each parameter
	both    []bool               // which are read
	packed  map[kernel.Stmt]cost // how often statements of a matrix product run that are not run in each step
	rare    kernel.Rare
}

// operands finds what computes the operands of a matrix product, and how often, and what only says its order.
func (m *meter) operands() {
	m.packed = map[kernel.Stmt]cost{}
	if c := m.k.Contract; c != nil {
		if chains := c.Chains(m.k); chains != nil {
			for _, st := range chains.Turns {
				m.packed[st] = cost{}
			}
		}
	}
	for _, o := range analysis.ComputedOperands(m.k) {
		n := axisCost(o.Along)
		for _, a := range m.k.Axes {
			if o.Other == nil || a.Var != o.Other.Var {
				n = n.times(axisCost(a))
			}
		}
		for _, st := range o.Stmts {
			m.packed[st] = n
		}
	}
}

// block returns the operations of b when it runs so many times.
func (m *meter) block(b *kernel.Block, times cost) cost {
	ops := cost{}
	for _, st := range b.Stmts {
		m.rare.Note(st)
		switch st := st.(type) {
		case *kernel.Let:
			n, apart := m.packed[st]
			if !apart {
				n = times
			}
			ops = ops.plus(n.times(number(weight(st.In.Op))))
		case *kernel.Load:
			m.both[st.Param] = true
			m.touch(st.Param, times)
		case *kernel.Store:
			m.touch(st.Param, times)
		case *kernel.Loop:
			ops = ops.plus(m.block(st.Body, times.times(axisCost(st.Axis))))
		case *kernel.Iterate: // how often is not known: what one iteration takes
			ops = ops.plus(m.block(st.Body, times))
		case *kernel.Reduce:
			n := number(1)
			for _, a := range st.Axes {
				n = n.times(axisCost(a))
			}
			if st.Chunk != scalar.None {
				n = chunkCost(n, st.Order.Chunk())
			}
			n = times.times(n)
			ops = ops.plus(n).plus(m.block(st.Body, n))
		case *kernel.If:
			then, other := m.block(st.Then, times), m.block(st.Else, times)
			if m.rare.First(st) {
				then = cost{}
			}
			ops = ops.plus(most(then, other))
		case *kernel.Transform: // half a butterfly, of 8 operations, for each element and stage
			ops = ops.plus(times.times(number(4 * float64(st.Size) * math.Log2(float64(st.Size)))))
			for _, l := range st.Lines() {
				n := st.Size
				if l == &st.Spare {
					n /= 2
				}
				m.touch(l.Param, times.times(number(float64(n))))
			}
		case *kernel.Sort: // as many comparisons as it has bits
			n := extentCost(abi.Extent{Dim: st.Size})
			ops = ops.plus(times.times(n.times(number(float64(8 * m.k.Params[st.Data.Param].DType.Bytes())))))
			for _, l := range st.Lines() {
				m.touch(l.Param, times.times(n))
			}
		case *kernel.Call:
			if name := ir.OriginalName(st.Func); !slices.Contains(m.out.calls, name) {
				m.out.calls = append(m.out.calls, name)
			}
		}
	}
	return ops
}

// chunkCost is how many of n elements are in a chunk, such that all chunks, of which there are ceil(n / chunk), have n.
// Where n is no number these are n / chunk (extentCost).
func chunkCost(n cost, chunk int64) cost {
	size := float64(chunk)
	if v := n.at(); n.isNumber() && v > 0 {
		return number(v / math.Ceil(v/size))
	}
	return number(size)
}

func (m *meter) touch(param int, times cost) {
	if m.touched[param] == nil {
		m.touched[param] = cost{}
	}
	m.touched[param] = m.touched[param].plus(times)
}

// weight is what an instruction counts.
func weight(op scalar.Op) float64 {
	switch op {
	case scalar.Nop, scalar.Const, scalar.Param, scalar.Check, scalar.Bitcast:
		return 0
	case scalar.Fma:
		return 2
	}
	return 1
}

// arena is the most that temporary buffers of f take at one time, in bytes. The runtime needs a little
// more when buffers of different sizes leave gaps.
func arena(f *abi.Function) cost {
	peak := cost{}
	for _, at := range f.Buffers {
		if at.Kind != abi.Temp {
			continue
		}
		live := cost{}
		for i := range f.Buffers {
			b := &f.Buffers[i]
			if b.Kind == abi.Temp && b.First <= at.First && at.First <= b.Last {
				live = live.plus(bufferCost(b))
			}
		}
		peak = most(peak, live)
	}
	return peak
}

// bufferCost is the size of a buffer in bytes.
func bufferCost(b *abi.Buffer) cost {
	c := number(float64(b.DType.Bytes()))
	for _, e := range b.Shape {
		c = c.times(extentCost(e))
	}
	return c
}
