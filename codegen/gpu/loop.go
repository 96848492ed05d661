package gpu

import (
	"fmt"
	"slices"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/ir/kernel"
	"healc/lang/types"
	"healc/runtime/abi"
)

// Note [Loops in one block]: a loop whose steps are kernels that each take less than a launch costs is one entry, which
// one block runs from its first step to its last: no launch and no wait for the device is between them. Each kernel is
// a function, in the form that it has by itself where that is element-wise, teams or general, with the block of 128
// threads as the only one of its grid. The block meets between two functions, and the state stays in memory, in the
// multiprocessor's cache. The buffers that change places are pointers in registers.

const (
	// loopBytes and loopWork bound what a kernel of such a loop touches and computes: what one block does in the few
	// microseconds of a launch.
	loopBytes = 16 << 10
	loopWork  = 64 << 10
	// loopShared bounds the shared memory of all functions of a loop.
	loopShared = 40 << 10
	// loopKernels bounds the kernels of a step.
	loopKernels = 16
)

// loopCall is a call of a function that is a kernel, or a part of one.
type loopCall struct {
	function *lir.Func
	alone    bool // by one thread
}

// loops writes the entries of the loops among the steps.
func (m *module) loops(f *abi.Function, steps []abi.Step) {
	for _, s := range steps {
		switch {
		case s.If != nil:
			m.loops(f, s.If.Then)
			m.loops(f, s.If.Else)
		case s.Loop != nil:
			s.Loop.Device = nil
			if m.small(s.Loop) {
				m.loop(s.Loop)
				continue
			}
			m.loops(f, s.Loop.Body)
		}
	}
}

// small reports whether one block does the loop.
func (m *module) small(l *abi.Loop) bool {
	shared := int64(0)
	if len(l.Body) == 0 || len(l.Body) > loopKernels {
		return false
	}
	for _, s := range l.Body {
		if s.Launch == nil {
			return false
		}
		outer, known := s.Launch.Outer.Dim.Const()
		if n := s.Launch.Tasks; n > 0 {
			outer = n
		}
		work, bytes := s.Launch.Work, s.Launch.Bytes
		if !known || work == 0 || outer*work > loopWork || outer*bytes > loopBytes {
			return false
		}
		k := m.named(s.Launch.Kernel)
		if slices.ContainsFunc(k.Params, func(p kernel.Param) bool { return p.Work }) {
			return false
		}
		if p := planTeam(k); p != nil && planFlat(k) == nil {
			if p.spilled || p.transform > 0 {
				return false
			}
			shared += slotBytes + p.shared*int64(blockSize/p.size)
		}
	}
	return shared <= loopShared && m.words(len(loopBuffers(l))) <= plainParams
}

// loopBuffers are those that a loop of launches names.
func loopBuffers(l *abi.Loop) map[int]bool {
	all := map[int]bool{l.Until: true, l.Index: true}
	for _, s := range l.Body {
		for _, buf := range s.Launch.Args {
			all[buf] = true
		}
	}
	for _, p := range l.Swap {
		all[p[0]], all[p[1]] = true, true
	}
	delete(all, -1)
	return all
}

// named is the kernel of that name.
func (m *module) named(name string) *kernel.Kernel {
	i := slices.IndexFunc(m.km.Kernels, func(k *kernel.Kernel) bool { return k.Name == name })
	return m.km.Kernels[i]
}

// loop writes the entry of a loop.
func (m *module) loop(l *abi.Loop) {
	m.entries++
	dl := &abi.DeviceLoop{Entry: fmt.Sprintf("loop%d", m.entries), Threads: blockSize}
	at := map[int]int{} // of buffers in Args
	var params []kernel.Param
	arg := func(buf int, p kernel.Param) {
		if _, there := at[buf]; !there && buf >= 0 {
			at[buf] = len(dl.Args)
			p.Out = true // what a kernel only reads, another one or the loop may write
			dl.Args, params = append(dl.Args, buf), append(params, p)
		}
	}
	type step struct {
		calls []loopCall
		args  []int
	}
	var steps []step
	for _, s := range l.Body {
		k := m.named(s.Launch.Kernel)
		for i, buf := range s.Launch.Args {
			arg(buf, k.Params[i])
		}
		m.inLoop, m.calls = dl.Entry, nil
		m.parts(k, m.inBlock)
		steps = append(steps, step{m.calls, s.Launch.Args})
		m.inLoop = ""
	}
	byteParam := kernel.Param{DType: types.Bool, Out: true}
	for _, buf := range []int{l.Until, l.Index} {
		arg(buf, byteParam)
	}
	for _, p := range l.Swap {
		arg(p[0], byteParam)
		arg(p[1], byteParam)
	}

	frame := &kernel.Kernel{Name: dl.Entry, Params: params}
	t := &thread{Thread: m.code.Entry(dl.Entry, frame, blockSize), k: frame, name: dl.Entry, size: blockSize}
	fn := t.Function()
	pointer := func(buf int) value.Value { return fn.Params[at[buf]] }
	rest := fn.Params[len(dl.Args):] // the dims, scratch memory, the error
	first := t.Block().NewICmp(enum.IPredEQ, t.register("tid.x"), ci(i32, 0))
	word := func(offset int64) value.Value { return t.word(offset / 8) }
	t.leaveUnless(t.Block().NewICmp(enum.IPredEQ, t.Block().NewLoad(i64, t.Err), ci(i64, 0)))
	begin := t.Block().NewLoad(i64, word(abi.LoopRuns))
	end := t.Block().NewLoad(i64, word(abi.LoopCount))
	t.leaveUnless(t.Block().NewICmp(enum.IPredSLT, begin, end))
	meet := func() {
		// functions may leave their lanes apart
		t.Block().NewCall(t.Intrinsic("llvm.nvvm.bar.warp.sync", lt.Void, i32), ci(i32, -1))
		t.meet()
	}

	before, head, done := t.Block(), t.NewBlock(), t.NewBlock()
	before.NewBr(head)
	t.SetBlock(head)
	number := head.NewPhi(lir.NewIncoming(begin, before))
	now := map[int]value.Value{}
	phis := map[int]*lir.InstPhi{}
	for _, buf := range dl.Args {
		now[buf] = pointer(buf)
	}
	for _, p := range l.Swap {
		for _, buf := range p {
			phis[buf] = head.NewPhi(lir.NewIncoming(t.untyped(before, pointer(buf)), before))
			now[buf] = phis[buf]
		}
	}
	meet() // everybody has read what the first thread writes now
	if l.Index >= 0 {
		t.when(first, func() {
			index := t.Block().NewBitCast(now[l.Index], lt.NewPointer(i32))
			t.Block().NewStore(t.Block().NewTrunc(number, i32), index)
		})
	}
	meet()
	for _, s := range steps {
		for _, c := range s.calls {
			call := func() {
				var args []value.Value
				for i, buf := range s.args {
					args = append(args, t.Block().NewBitCast(now[buf], c.function.Params[i].Type()))
				}
				for _, p := range rest {
					args = append(args, p)
				}
				t.Block().NewCall(c.function, args...)
			}
			if c.alone {
				t.when(first, call)
			} else {
				call()
			}
			meet()
		}
	}
	next := t.Block().NewAdd(number, ci(i64, 1))
	over := value.Value(t.Block().NewICmp(enum.IPredSGE, next, end))
	failed := t.Block().NewICmp(enum.IPredNE, t.Block().NewLoad(i64, t.Err), ci(i64, 0))
	stop := t.Block().NewOr(over, failed)
	if l.Until >= 0 {
		flag := t.Block().NewLoad(i8, t.Block().NewBitCast(now[l.Until], lt.NewPointer(i8)))
		ended := t.Block().NewICmp(enum.IPredNE, flag, ci(i8, 0))
		mine := t.Block().NewAnd(first, t.Block().NewAnd(ended, t.Block().NewXor(failed, ci(i1, 1))))
		meet() // before the Site changes, which all have to see as it was
		t.when(mine, func() { t.Block().NewStore(ci(i64, abi.Stopped), t.Err) })
		stop = t.Block().NewOr(stop, ended)
	}
	last := t.Block()
	number.Incs = append(number.Incs, lir.NewIncoming(next, last))
	for _, p := range l.Swap {
		phis[p[0]].Incs = append(phis[p[0]].Incs, lir.NewIncoming(now[p[1]], last))
		phis[p[1]].Incs = append(phis[p[1]].Incs, lir.NewIncoming(now[p[0]], last))
	}
	last.NewCondBr(stop, done, head)
	t.SetBlock(done)
	t.when(first, func() { t.Block().NewStore(next, word(abi.LoopRuns)) })
	t.Finish()
	l.Device = dl
}

// untyped is a pointer as one to bytes, made at the end of b.
func (t *thread) untyped(b *lir.Block, p value.Value) value.Value {
	if p.Type().Equal(lt.NewPointer(i8)) {
		return p
	}
	return b.NewBitCast(p, lt.NewPointer(i8))
}

// inBlock writes k in one of the forms that are right in one block of 128 threads.
func (m *module) inBlock(k *kernel.Kernel) (dk abi.DeviceKernel, piece int) {
	if p := planFlat(k); p != nil {
		return m.flat(k, p), p.width
	}
	if p := planTeam(k); p != nil {
		return m.teams(k, p), 1
	}
	return m.general(k), 1
}
