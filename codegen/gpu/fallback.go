package gpu

import (
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/device"
	"healc/ir/kernel"
	"healc/lang/types"
	"healc/runtime/abi"
)

// Note [Fallback on devices]: the form that is right for every kernel. A thread does an iteration of the parallel axes,
// as the kernel says, and goes on with the one that is as many further as the grid has threads. Neighbouring threads do
// neighbouring iterations, so that accesses along the last axis are coalesced.
//
// Memory of the kernel itself, such as a cached row, is in the local memory of each thread. A device reserves that for
// all threads that it can have at a time, so where it is more than localLimit it is in scratch memory instead, and the
// grid has no more threads than scratchLimit has room for.

// localLimit is the most bytes of the kernel's own memory that are in local memory.
const localLimit = 4 << 10

// scratchLimit bounds the scratch memory of the threads of a grid, where one block needs no more.
const scratchLimit = 64 << 20

// gridThreads is the size of a block.
const gridThreads = 256

// threads is the size of blocks of the element-wise form and the fallback. In a loop it is that of the loop's block.
func (m *module) threads() int {
	if m.inLoop != "" {
		return blockSize
	}
	return gridThreads
}

// fallback writes the entry of any kernel.
func (m *module) fallback(k *kernel.Kernel) abi.DeviceKernel {
	return m.onePerThread(k, "", nil)
}

// checksAlone writes an entry that does the checks of k, and stores nothing.
func (m *module) checksAlone(k *kernel.Kernel) abi.DeviceKernel {
	return m.onePerThread(k, "checks", func(s kernel.Stmt) bool {
		st, ok := s.(*kernel.Store)
		return ok && !k.Params[st.Param].Work && !k.Params[st.Param].Local
	})
}

// onePerThread writes an entry that does an iteration in each thread. f may translate its statements in another way.
func (m *module) onePerThread(k *kernel.Kernel, part string, f func(kernel.Stmt) bool) abi.DeviceKernel {
	t := m.entry(k, part, m.threads())
	scratch := int64(0)
	launch := abi.DeviceLaunch{Entry: t.name, Items: items(k), PerBlock: int64(t.size), Threads: t.size}
	if own := ownBytes(k); own > localLimit {
		threads := max(scratchLimit/own/int64(t.size), 1) * int64(t.size)
		if n, known := count(k.Axes); known {
			threads = min(n, threads) // those behind have nothing to do
		}
		launch.Items, scratch = []abi.Extent{{Dim: types.Lit(threads)}}, threads*own
		t.ownRows(t.globalThread())
	} else {
		t.localRows()
	}
	count := t.iterations()
	first := t.globalThread()
	step := t.Block().NewMul(t.zext(t.register("nctaid.x")), ci(i64, int64(t.size)))
	t.Count(first, count, step, nil, func(i value.Value, _ []value.Value) []value.Value {
		t.setAxes(i)
		t.failAt(i)
		t.Statements(f, k.Body.Stmts...)
		return nil
	})
	t.Finish()
	return kernelOf(launch, scratch)
}

// report writes the entry that repeats the iteration that failed, if one did: see Note [Failures on devices]. It is one
// of n iterations; the number of the first of these is known.
func (m *module) report(k *kernel.Kernel, n int) abi.DeviceKernel {
	t := m.entry(k, "report", 1)
	scratch := int64(0)
	if own := ownBytes(k); own > localLimit {
		scratch = own
		t.ownRows(ci(i64, 0))
	} else {
		t.localRows()
	}
	rank := t.Block().NewLoad(i64, t.word(rankWord))
	t.returnUnless(t.Block().NewICmp(enum.IPredNE, rank, ci(i64, 0)))
	first := t.Block().NewXor(rank, ci(i64, -1))
	t.Fail(t.Err, func() { t.Block().NewRet(nil) })
	again := func(i value.Value, _ []value.Value) []value.Value {
		t.setAxes(i)
		t.Statements(nil, k.Body.Stmts...)
		return nil
	}
	if n == 1 {
		again(first, nil)
	} else {
		t.Count(first, t.Plus(first, ci(i64, int64(n))), ci(i64, 1), nil, again)
	}
	m.noteStack(t)
	t.Finish()
	return kernelOf(abi.DeviceLaunch{Entry: t.name, PerBlock: 1, Threads: 1}, scratch)
}

// items are the iterations of k's parallel axes, for a launch.
func items(k *kernel.Kernel) []abi.Extent {
	var out []abi.Extent
	for _, a := range k.Axes {
		e := a.Extent
		if n, ok := e.Dim.Const(); ok && e.Div > 1 {
			e = abi.Extent{Dim: types.Lit((n + e.Div - 1) / e.Div)}
		}
		if d, err := e.Dim.Sub(types.Lit(a.Begin)); err == nil && e.Div <= 1 {
			e.Dim = d
		}
		out = append(out, e)
	}
	return out
}

// iterations is the number of iterations of the parallel axes.
func (t *thread) iterations() value.Value {
	n := value.Value(ci(i64, 1))
	for _, a := range t.k.Axes {
		n = t.Times(n, t.length(a))
	}
	return n
}

// length is the number of values that an axis takes.
func (t *thread) length(a kernel.Axis) value.Value {
	n := t.Plus(t.Extent(a.Extent), ci(i64, -a.Begin))
	if c, known := constantInt(n); known {
		return ci(i64, max(c, 0))
	}
	if a.Begin > 0 {
		return t.Block().NewSelect(t.Block().NewICmp(enum.IPredSLT, n, ci(i64, 0)), ci(i64, 0), n)
	}
	return n
}

// globalThread is the number of this thread in the grid.
func (t *thread) globalThread() value.Value {
	before := t.Block().NewMul(t.zext(t.register("ctaid.x")), t.zext(t.register("ntid.x")))
	return t.Block().NewAdd(before, t.zext(t.register("tid.x")))
}

// setAxes gives the parallel axes their values in iteration i.
func (t *thread) setAxes(i value.Value) {
	t.splits = true
	t.setAxesOf(t.k.Axes, i)
	t.splits = false
}

// setAxesOf gives axes their values at number i of their row-major order, and returns the value of the last one.
func (t *thread) setAxesOf(axes []kernel.Axis, i value.Value) (last value.Value) {
	for n := len(axes) - 1; n >= 0; n-- {
		a, x := axes[n], i
		if n > 0 {
			x, i = t.divide(i, t.length(a))
		}
		x = t.Plus(x, ci(i64, a.Begin))
		t.Define(a.Var, x)
		if last == nil {
			last = x
		}
	}
	return last
}

// divide divides a number that is not negative by a positive one. While t.splits holds and the kernel's iterations fit
// in 32 bits, it divides in 32 bits, which takes a third of the instructions.
func (t *thread) divide(i, n value.Value) (rem, quotient value.Value) {
	c, known := constantInt(n)
	if known && c == 1 {
		return ci(i64, 0), i
	}
	if all, few := count(t.k.Axes); known && few && all < 1<<31 && c < 1<<31 && t.splits {
		short := t.Block().NewTrunc(i, i32)
		q := t.Block().NewUDiv(short, ci(i32, c))
		r := t.Block().NewSub(short, t.Block().NewMul(q, ci(i32, c)))
		return t.zext(r), t.zext(q)
	}
	quotient = t.Block().NewUDiv(i, n)
	return t.Block().NewSub(i, t.Block().NewMul(quotient, n)), quotient
}

// failAt makes a failing check leave the number i of its iteration, and end the thread.
func (t *thread) failAt(i value.Value) {
	t.iteration = i
	t.Fail(nil, func() {
		t.noteFailure()
		t.Block().NewRet(nil)
	})
}

// noteFailure leaves the number of the iteration, if no earlier one has failed.
func (t *thread) noteFailure() {
	number := t.Block().NewXor(t.iteration, ci(i64, -1))
	t.Block().NewAtomicRMW(enum.AtomicOpUMax, t.word(rankWord), number, enum.AtomicOrderingMonotonic)
}

// localRows puts the kernel's own memory into the local memory of each thread.
func (t *thread) localRows() {
	for i := t.k.Buffers(); i < len(t.k.Params); i++ {
		n, _ := t.k.Params[i].Shape[0].Dim.Const()
		t.Place(i, t.Stack(t.k.Params[i].DType, n))
	}
}

// ownRows puts the kernel's own memory into part number i of the scratch memory.
func (t *thread) ownRows(i value.Value) {
	base := t.Block().NewGetElementPtr(i8, t.Scratch, t.Times(i, ci(i64, ownBytes(t.k))))
	at := int64(0)
	for i := t.k.Buffers(); i < len(t.k.Params); i++ {
		mt := lt.NewPointer(device.MemoryType(t.k.Params[i].DType))
		t.Place(i, t.Block().NewBitCast(t.Block().NewGetElementPtr(i8, base, ci(i64, at)), mt))
		at += rowBytes(t.k.Params[i])
	}
}

// ownBytes is the size of a kernel's own memory.
func ownBytes(k *kernel.Kernel) (bytes int64) {
	for _, p := range k.Params[k.Buffers():] {
		bytes += rowBytes(p)
	}
	return bytes
}

// kernelOf is a kernel of one launch, with bytes of scratch memory.
func kernelOf(launch abi.DeviceLaunch, scratch int64) abi.DeviceKernel {
	k := abi.DeviceKernel{Launches: []abi.DeviceLaunch{launch}}
	if scratch > 0 {
		k.Scratch = []abi.Extent{{Dim: types.Lit(scratch)}}
	}
	return k
}

// inOrder is the launches of kernels, one after the other, in the same scratch memory. The size of that is a number.
func inOrder(kernels ...abi.DeviceKernel) (all abi.DeviceKernel) {
	most := int64(0)
	for _, k := range kernels {
		all.Launches = append(all.Launches, k.Launches...)
		n := k.ScratchBytes(func(e abi.Extent) int64 {
			c, _ := e.Dim.Const()
			return c
		})
		if n > most {
			most, all.Scratch = n, k.Scratch
		}
	}
	return all
}
