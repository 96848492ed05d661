package gpu

import (
	"fmt"
	"slices"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/ir/kernel"
	"healc/lang/types"
	"healc/runtime/abi"
)

// Note [Loops in one block]: a loop whose steps are kernels that each take less time than a launch is one entry. One
// block runs it from the first step to the last, with no launch and no wait for the device in between. Each kernel is a
// function, in the first of KernelForms with Block set, and the block of 128 threads is the only one of its grid. A
// barrier stands between two functions. The state stays in memory, which the multiprocessor's cache holds; the buffers
// that are swapped after each step are pointers in registers.

// blockLoopShared bounds the shared memory of all functions of a loop.
const blockLoopShared = 40 << 10

// blockCall is a call of a function that is a kernel, or a part of one.
type blockCall struct {
	function *lir.Func
	alone    bool // by one thread
}

// blockLoops writes the entries of the loops among the steps.
func (m *module) blockLoops(f *abi.Function, steps []abi.Step) {
	for _, s := range steps {
		switch {
		case s.If != nil:
			m.blockLoops(f, s.If.Then)
			m.blockLoops(f, s.If.Else)
		case s.Loop != nil:
			s.Loop.Device = nil
			if m.fitsBlock(s.Loop) {
				m.blockLoop(s.Loop)
				continue
			}
			m.blockLoops(f, s.Loop.Body)
		}
	}
}

// fitsBlock reports whether one block does the loop.
func (m *module) fitsBlock(l *abi.Loop) bool {
	shared := int64(0)
	if len(l.Body) == 0 || len(l.Body) > m.tune.LoopKernels {
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
		if !known || work == 0 || outer*work > int64(m.tune.LoopWork) ||
			outer*bytes > int64(m.tune.LoopBytes) {
			return false
		}
		k := m.named(s.Launch.Kernel)
		if slices.ContainsFunc(k.Params, func(p kernel.Param) bool { return p.Work }) {
			return false
		}
		p := planCooperative(k, m.tune)
		if ownBytes(k) > localLimit && (p == nil || checks(k.Body)) {
			return false // that is in scratch memory, which a function has none of
		}
		if p != nil && planElementwise(k, m.tune) == nil {
			if p.spilled || p.transform > 0 || p.split != nil {
				return false
			}
			shared += slotBytes + p.shared*int64(blockSize/p.size)
		}
	}
	return shared <= blockLoopShared && m.paramWords(len(blockLoopBuffers(l))) <= plainParams
}

// blockLoopBuffers are the buffers that a loop of launches names.
func blockLoopBuffers(l *abi.Loop) map[int]bool {
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

// blockLoop is the code of a thread of the block that does a loop.
type blockLoop struct {
	*thread
	loop   *abi.Loop
	entry  *abi.DeviceLoop
	steps  []blockStep
	index  map[int]int    // of a buffer in entry.Args
	params []kernel.Param // of the entry's buffers

	leader value.Value // whether this is thread 0
	number *lir.InstPhi
	end    value.Value          // the number of steps
	now    map[int]value.Value  // where each buffer is in the current step
	phis   map[int]*lir.InstPhi // of the buffers that are swapped
}

// blockStep is a kernel of a step.
type blockStep struct {
	calls []blockCall
	args  []int // buffers
}

// blockLoop writes the entry of a loop.
func (m *module) blockLoop(l *abi.Loop) {
	m.entries++
	b := &blockLoop{loop: l, index: map[int]int{},
		entry: &abi.DeviceLoop{Entry: fmt.Sprintf("loop%d", m.entries), Threads: blockSize}}
	b.functions(m)
	frame := &kernel.Kernel{Name: b.entry.Entry, Params: b.params}
	b.thread = &thread{Thread: m.code.Entry(frame.Name, frame, blockSize), k: frame, name: frame.Name, size: blockSize}
	before, begin := b.begin()
	head, done := b.NewBlock(), b.NewBlock()
	before.NewBr(head)
	b.SetBlock(head)
	b.phiNodes(before, head, begin)
	b.step()
	next, stop := b.after()
	b.back(next)
	b.Block().NewCondBr(stop, done, head)
	b.SetBlock(done)
	b.when(b.leader, func() { b.Block().NewStore(next, b.word(abi.LoopRuns/8)) })
	b.Finish()
	l.Device = b.entry
}

// functions writes the functions that the loop calls, and collects the entry's buffers.
func (b *blockLoop) functions(m *module) {
	arg := func(buf int, p kernel.Param) {
		if _, there := b.index[buf]; !there && buf >= 0 {
			b.index[buf] = len(b.entry.Args)
			p.Out = true // another kernel or the loop may write what this one only reads
			b.entry.Args, b.params = append(b.entry.Args, buf), append(b.params, p)
		}
	}
	for _, s := range b.loop.Body {
		k := m.named(s.Launch.Kernel)
		for i, buf := range s.Launch.Args {
			arg(buf, k.Params[i])
		}
		m.inLoop, m.calls = b.entry.Entry, nil
		m.form(k)
		b.steps = append(b.steps, blockStep{m.calls, s.Launch.Args})
		m.inLoop = ""
	}
	byteParam := kernel.Param{DType: types.Bool, Out: true}
	for _, buf := range []int{b.loop.Until, b.loop.Index} {
		arg(buf, byteParam)
	}
	for _, p := range b.loop.Swap {
		arg(p[0], byteParam)
		arg(p[1], byteParam)
	}
}

// begin leaves the entry where there is no step to do. It returns the block before the loop and the first step's
// number.
func (b *blockLoop) begin() (before *lir.Block, begin value.Value) {
	b.leader = b.Block().NewICmp(enum.IPredEQ, b.register("tid.x"), ci(i32, 0))
	b.returnUnless(b.Block().NewICmp(enum.IPredEQ, b.Block().NewLoad(i64, b.Err), ci(i64, 0)))
	begin = b.Block().NewLoad(i64, b.word(abi.LoopRuns/8))
	b.end = b.Block().NewLoad(i64, b.word(abi.LoopCount/8))
	b.returnUnless(b.Block().NewICmp(enum.IPredSLT, begin, b.end))
	return b.Block(), begin
}

// pointer is where a buffer is before the first step.
func (b *blockLoop) pointer(buf int) value.Value { return b.Function().Params[b.index[buf]] }

// phiNodes begins the loop's head with what changes from step to step.
func (b *blockLoop) phiNodes(before, head *lir.Block, begin value.Value) {
	b.number = head.NewPhi(lir.NewIncoming(begin, before))
	b.now, b.phis = map[int]value.Value{}, map[int]*lir.InstPhi{}
	for _, buf := range b.entry.Args {
		b.now[buf] = b.pointer(buf)
	}
	for _, p := range b.loop.Swap {
		for _, buf := range p {
			b.phis[buf] = head.NewPhi(lir.NewIncoming(b.untyped(before, b.pointer(buf)), before))
			b.now[buf] = b.phis[buf]
		}
	}
}

// barrier waits for all threads. The lanes of a warp may return from a function apart, so they reconverge first.
func (b *blockLoop) barrier() {
	b.Block().NewCall(b.Intrinsic("llvm.nvvm.bar.warp.sync", lt.Void, i32), ci(i32, -1))
	b.thread.barrier()
}

// step writes the index and calls the functions.
func (b *blockLoop) step() {
	b.barrier() // everybody has read the index that the leader overwrites now
	if b.loop.Index >= 0 {
		b.when(b.leader, func() {
			index := b.Block().NewBitCast(b.now[b.loop.Index], lt.NewPointer(i32))
			b.Block().NewStore(b.Block().NewTrunc(b.number, i32), index)
		})
	}
	b.barrier()
	rest := b.Function().Params[len(b.entry.Args):] // the dims, scratch memory, the error
	for _, s := range b.steps {
		for _, c := range s.calls {
			call := func() {
				var args []value.Value
				for i, buf := range s.args {
					args = append(args, b.Block().NewBitCast(b.now[buf], c.function.Params[i].Type()))
				}
				for _, p := range rest {
					args = append(args, p)
				}
				b.Block().NewCall(c.function, args...)
			}
			if c.alone {
				b.when(b.leader, call)
			} else {
				call()
			}
			b.barrier()
		}
	}
}

// after returns the number of the next step, and whether the loop ends before it.
func (b *blockLoop) after() (next, stop value.Value) {
	next = b.Block().NewAdd(b.number, ci(i64, 1))
	over := value.Value(b.Block().NewICmp(enum.IPredSGE, next, b.end))
	failed := b.Block().NewICmp(enum.IPredNE, b.Block().NewLoad(i64, b.Err), ci(i64, 0))
	stop = b.Block().NewOr(over, failed)
	if b.loop.Until < 0 {
		return next, stop
	}
	ended := b.ifElse(b.Block().NewXor(failed, ci(i1, 1)), func() []value.Value { // a step that failed has set no flag
		flag := b.Block().NewLoad(i8, b.Block().NewBitCast(b.now[b.loop.Until], lt.NewPointer(i8)))
		return []value.Value{b.Block().NewICmp(enum.IPredNE, flag, ci(i8, 0))}
	}, []value.Value{constant.False})[0]
	b.barrier() // all have read the Site before it changes
	b.when(b.Block().NewAnd(b.leader, ended), func() { b.Block().NewStore(ci(i64, abi.Stopped), b.Err) })
	return next, b.Block().NewOr(stop, ended)
}

// back gives the head's phi nodes their values from the end of the step.
func (b *blockLoop) back(next value.Value) {
	last := b.Block()
	b.number.Incs = append(b.number.Incs, lir.NewIncoming(next, last))
	for _, p := range b.loop.Swap {
		b.phis[p[0]].Incs = append(b.phis[p[0]].Incs, lir.NewIncoming(b.now[p[1]], last))
		b.phis[p[1]].Incs = append(b.phis[p[1]].Incs, lir.NewIncoming(b.now[p[0]], last))
	}
}

// untyped is a pointer as one to bytes, made at the end of block.
func (t *thread) untyped(block *lir.Block, p value.Value) value.Value {
	if p.Type().Equal(lt.NewPointer(i8)) {
		return p
	}
	return block.NewBitCast(p, lt.NewPointer(i8))
}
