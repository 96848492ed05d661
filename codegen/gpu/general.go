package gpu

import (
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/value"

	"healc/ir/kernel"
	"healc/lang/types"
	"healc/runtime/abi"
)

// The general form, which is right for every kernel: a thread does an iteration of the parallel axes, literally as the
// kernel says, and goes on with the one that is as many further as the grid has threads. Neighbouring threads do
// neighbouring iterations, so that accesses along the last axis are coalesced.

// generalThreads is the size of a block.
const generalThreads = 256

// threads is the size of the blocks that have no reason for another one: in a loop, that of the loop's block.
func (m *module) threads() int {
	if m.inLoop != "" {
		return blockSize
	}
	return generalThreads
}

// general does k in the general form.
func (m *module) general(k *kernel.Kernel) abi.DeviceKernel {
	return abi.DeviceKernel{Launches: []abi.DeviceLaunch{m.each(k, "", nil)}}
}

// checksAlone writes an entry that finds out whether k fails, and stores nothing.
func (m *module) checksAlone(k *kernel.Kernel) abi.DeviceLaunch {
	return m.each(k, "checks", func(s kernel.Stmt) bool {
		st, ok := s.(*kernel.Store)
		return ok && !k.Params[st.Param].Work && !k.Params[st.Param].Local
	})
}

// each writes an entry that does an iteration in each thread. f may translate its statements in another way.
func (m *module) each(k *kernel.Kernel, part string, f func(kernel.Stmt) bool) abi.DeviceLaunch {
	t := m.entry(k, part, m.threads())
	t.localRows()
	count := t.iterations()
	first := t.globalThread()
	step := t.Block().NewMul(t.wide(t.register("nctaid.x")), ci(i64, int64(t.size)))
	t.Count(first, count, step, nil, func(i value.Value, _ []value.Value) []value.Value {
		t.at(i)
		t.failAt(i)
		t.Statements(f, k.Body.Stmts...)
		return nil
	})
	t.Finish()
	return abi.DeviceLaunch{Entry: t.name, Items: items(k), PerBlock: int64(t.size), Threads: t.size}
}

// report writes the entry that does the iteration again that failed, if one did: see Note [Failures on devices]. It is
// one of n iterations, of which the number of the first is known.
func (m *module) report(k *kernel.Kernel, n int) abi.DeviceLaunch {
	t := m.entry(k, "report", 1)
	t.localRows()
	rank := t.Block().NewLoad(i64, t.word(rankWord))
	t.leaveUnless(t.Block().NewICmp(enum.IPredNE, rank, ci(i64, 0)))
	first := t.Block().NewXor(rank, ci(i64, -1))
	t.Fail(t.Err, func() { t.Block().NewRet(nil) })
	again := func(i value.Value, _ []value.Value) []value.Value {
		t.at(i)
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

// length is the number of values of an axis.
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
	before := t.Block().NewMul(t.wide(t.register("ctaid.x")), t.wide(t.register("ntid.x")))
	return t.Block().NewAdd(before, t.wide(t.register("tid.x")))
}

// at gives the parallel axes their values in iteration i.
func (t *thread) at(i value.Value) {
	t.splits = true
	t.axesAt(t.k.Axes, i)
	t.splits = false
}

// axesAt gives axes their values at number i of their row-major order, and returns that of the last one.
func (t *thread) axesAt(axes []kernel.Axis, i value.Value) (last value.Value) {
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

// divide splits a number that is not negative by a positive one. Of the kernel's iterations, where they are few enough,
// it is done in 32 bits, which takes a third of the instructions.
func (t *thread) divide(i, n value.Value) (rem, quotient value.Value) {
	c, known := constantInt(n)
	if known && c == 1 {
		return ci(i64, 0), i
	}
	if all, few := count(t.k.Axes); known && few && all < 1<<31 && c < 1<<31 && t.splits {
		short := t.Block().NewTrunc(i, i32)
		q := t.Block().NewUDiv(short, ci(i32, c))
		r := t.Block().NewSub(short, t.Block().NewMul(q, ci(i32, c)))
		return t.wide(r), t.wide(q)
	}
	quotient = t.Block().NewUDiv(i, n)
	return t.Block().NewSub(i, t.Block().NewMul(quotient, n)), quotient
}

// failAt says what a failing check of iteration i does: it leaves the number, and the thread ends.
func (t *thread) failAt(i value.Value) {
	t.iteration = i
	t.Fail(nil, func() {
		t.noteFailure()
		t.Block().NewRet(nil)
	})
}

// noteFailure leaves the number of the iteration, if it is the first that failed.
func (t *thread) noteFailure() {
	number := t.Block().NewXor(t.iteration, ci(i64, -1))
	t.Block().NewAtomicRMW(enum.AtomicOpUMax, t.word(rankWord), number, enum.AtomicOrderingMonotonic)
}

// localRows gives the kernel's own memory its place: in the memory of each thread.
func (t *thread) localRows() {
	for i := t.k.Buffers(); i < len(t.k.Params); i++ {
		n, _ := t.k.Params[i].Shape[0].Dim.Const()
		t.Place(i, t.Stack(t.k.Params[i].DType, n))
	}
}
