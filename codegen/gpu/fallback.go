package gpu

import (
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/value"

	"healc/ir/kernel"
	"healc/lang/types"
	"healc/runtime/abi"
)

// Note [Fallback on devices]: the form that is right for every kernel. A thread does an iteration of the parallel axes,
// as the kernel says, and goes on with the one that is as many further as the grid has threads. Neighbouring threads do
// neighbouring iterations, so that accesses along the last axis are coalesced.

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
	return abi.DeviceKernel{Launches: []abi.DeviceLaunch{m.onePerThread(k, "", nil)}}
}

// checksAlone writes an entry that does the checks of k, and stores nothing.
func (m *module) checksAlone(k *kernel.Kernel) abi.DeviceLaunch {
	return m.onePerThread(k, "checks", func(s kernel.Stmt) bool {
		st, ok := s.(*kernel.Store)
		return ok && !k.Params[st.Param].Work && !k.Params[st.Param].Local
	})
}

// onePerThread writes an entry that does an iteration in each thread. f may translate its statements in another way.
func (m *module) onePerThread(k *kernel.Kernel, part string, f func(kernel.Stmt) bool) abi.DeviceLaunch {
	t := m.entry(k, part, m.threads())
	t.localRows()
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
	return abi.DeviceLaunch{Entry: t.name, Items: items(k), PerBlock: int64(t.size), Threads: t.size}
}

// report writes the entry that repeats the iteration that failed, if one did: see Note [Failures on devices]. It is one
// of n iterations; the number of the first of these is known.
func (m *module) report(k *kernel.Kernel, n int) abi.DeviceLaunch {
	t := m.entry(k, "report", 1)
	t.localRows()
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
	t.Finish()
	return abi.DeviceLaunch{Entry: t.name, PerBlock: 1, Threads: 1}
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
