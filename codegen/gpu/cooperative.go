package gpu

import (
	"fmt"
	"slices"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/device"
	"healc/codegen/target/profile"
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/abi"
)

// Note [Cooperative kernels]: a kernel whose iterations are rows, chunks or whole tensors is done by groups: all
// threads of a group do one iteration together. A group is a warp where the row is short, else a block of 128 threads,
// the lanes of language.md section 9. Each of its threads computes every scalar that is computed outside of loops. The
// threads share
//
//   - the elements of a reduction, see Note [Cooperative reductions];
//   - the iterations of a parallel loop, neighbours by neighbours;
//   - the steps of a scan, see Note [Parallel scans];
//   - the iterations of a loop that scatters, see Note [Ordered scatter];
//   - a store outside of loops, which the first thread does;
//   - memory of the kernel itself, such as a cached row. It is in shared memory, or, where that is too small, in
//     scratch memory, with a bounded number of blocks.
//
// A barrier of the group stands behind each statement that accesses memory that is both read and written. A group that
// is done with an iteration goes on with the one that is as many further as there are groups.

const (
	warpSize  = 32
	blockSize = 128 // threads of a block of groups
	// sharedLimit is the shared memory that every device gives a block without being asked.
	sharedLimit = 48<<10 - slotBytes
	// slotBytes is the shared memory in which a block folds: a value and a position for every thread.
	slotBytes = 2 * 8 * blockSize
)

// cooperativePlan says how groups do a kernel.
type cooperativePlan struct {
	size       int              // threads of a group
	shared     int64            // bytes of a group's memory of the kernel itself
	transform  int64            // words of shared memory for transforms
	split      *splitTransform  // what entries of their own have done before
	tail       *elementwisePlan // what one does behind: the last statement
	spilled    bool             // the kernel's own memory is too large for shared memory, and is in scratch memory
	readWrite  map[int]bool     // parameters that are both written and read
	sharedWork []kernel.Stmt    // reductions, loops and transforms that the group shares
}

// sharedWork collects the statements of a kernel that a group shares.
type sharedWork struct {
	k          *kernel.Kernel
	tune       *profile.GPU
	plan       *cooperativePlan
	longest    int64 // the largest extent
	contiguous bool  // some statement's threads access neighbouring elements
	scatters   bool
}

// planCooperative decides whether groups do k; nil is no.
func planCooperative(k *kernel.Kernel, tune *profile.GPU) *cooperativePlan {
	p := &cooperativePlan{readWrite: map[int]bool{}}
	if p.split = splitOf(k); p.split != nil {
		p.tail = tailOf(k, tune)
	}
	w := sharedWork{k: k, tune: tune, plan: p}
	w.block(k.Body)
	if w.longest < int64(tune.SharedLeast) {
		return nil
	}
	iterations, known := count(k.Axes)
	if w.scatters && known && iterations >= int64(tune.ScatterRows) {
		return nil
	}
	if !w.contiguous && (!known || iterations >= int64(tune.BusyThreads) ||
		w.longest <= int64(tune.ShortColumn) && iterations >= blockSize) {
		return nil
	}
	for i, param := range k.Params {
		if param.Local {
			p.shared += rowBytes(param)
		}
		if param.Local || param.Work || param.InPlace {
			p.readWrite[i] = true
		}
	}
	p.size = blockSize
	p.shared += 8 * p.transform
	if p.transform == 0 && w.longest <= int64(tune.WarpElements) && p.shared*(blockSize/warpSize) <= sharedLimit {
		p.size = warpSize
	}
	p.spilled = p.shared > sharedLimit
	return p
}

// add takes a statement with n elements, of which neighbouring threads access neighbours if contiguous says so.
func (w *sharedWork) add(s kernel.Stmt, n int64, known, contiguous bool) {
	if !known {
		n = int64(w.tune.WarpElements) + 1
	}
	w.plan.sharedWork = append(w.plan.sharedWork, s)
	w.longest, w.contiguous = max(w.longest, n), w.contiguous || contiguous
}

// block collects from b.
func (w *sharedWork) block(b *kernel.Block) {
	for _, s := range b.Stmts {
		switch s := s.(type) {
		case *kernel.Reduce:
			n, known := count(s.Axes)
			if s.Chunk != scalar.None {
				n, known = s.Order.Chunk(), true
			}
			if !known || n >= int64(w.tune.SharedLeast) || device.Stores(s.Body) {
				w.add(s, n, known, len(s.Axes) > 0 && s.Order != kernel.Columns &&
					reads(s.Body, s.Axes[len(s.Axes)-1].Var))
			}
		case *kernel.Loop:
			w.loop(s)
		case *kernel.Transform:
			w.add(s, s.Size, true, true)
			if split := w.plan.split; split == nil || split.Transform != s {
				w.plan.transform = max(w.plan.transform, sharedWords(min(s.Size, partElements)))
			}
		case *kernel.Iterate:
			w.block(s.Body)
		case *kernel.If:
			w.block(s.Then)
			w.block(s.Else)
		}
	}
}

// loop collects a loop, or from its body.
func (w *sharedWork) loop(s *kernel.Loop) {
	n, known := count([]kernel.Axis{s.Axis})
	switch {
	case scatterOf(w.k, s) != nil:
		w.scatters = true
		w.add(s, n, known, true)
	case s.Parallel || scanOf(w.k, s, w.tune) != nil:
		w.add(s, n, known, reads(s.Body, s.Axis.Var))
	default:
		w.block(s.Body)
	}
}

// count is the number of elements of axes, when it is known.
func count(axes []kernel.Axis) (int64, bool) {
	n := int64(1)
	for _, a := range axes {
		c, ok := a.Extent.Dim.Const()
		if !ok {
			return 0, false
		}
		d := max(a.Extent.Div, 1)
		n *= max((c+d-1)/d-a.Begin, 0)
	}
	return n, true
}

// reads reports whether b has an access whose coefficient of v is 1.
func reads(b *kernel.Block, v kernel.Ref) bool {
	found := false
	accesses(b, func(_ int, at kernel.Access, _ bool) {
		for _, t := range at.Terms {
			found = found || t.Var == v && t.Coef.IsConst(1)
		}
	})
	return found
}

// accesses calls f with every access of b.
func accesses(b *kernel.Block, f func(param int, at kernel.Access, store bool)) {
	for _, s := range b.Stmts {
		accessesOf(s, f)
	}
}

// accessesOf calls f with every access of a statement and of the statements in it.
func accessesOf(s kernel.Stmt, f func(param int, at kernel.Access, store bool)) {
	kernel.Walk(s, func(s kernel.Stmt) {
		switch s := s.(type) {
		case *kernel.Load:
			f(s.Param, s.At, false)
		case *kernel.Store:
			f(s.Param, s.At, true)
		}
	})
}

// group is the code of a thread of a group.
type group struct {
	*thread
	plan        *cooperativePlan
	index       value.Value // i64: of the group in its block
	member      value.Value // i32: of the thread in its group
	leader      value.Value // whether it is thread 0
	slots       value.Value // i64*: shared memory in which a block folds; nil for warps
	failed      value.Value // i1*: a check of this thread failed in shared work
	transformed value.Value // i64*: shared memory for a transform
	elementRef  kernel.Ref  // an index into a buffer
}

// cooperative writes the entry of a kernel that groups do.
func (m *module) cooperative(k *kernel.Kernel, p *cooperativePlan) abi.DeviceKernel {
	var before []abi.DeviceKernel
	if p.split != nil {
		before = p.split.emit(m, k)
	}
	with := *k
	with.Types = append(slices.Clone(k.Types), types.I64)
	g := &group{thread: m.entry(&with, "", blockSize), plan: p, index: ci(i64, 0), elementRef: kernel.Ref(len(k.Types))}
	perBlock := int64(blockSize / p.size)
	tid := g.register("tid.x")
	g.member = tid
	if p.size == warpSize {
		g.member = g.Block().NewAnd(tid, ci(i32, warpSize-1))
		g.index = g.zext(g.Block().NewLShr(tid, ci(i32, 5)))
	} else {
		g.slots = m.code.Shared(g.name+".slots", i64, slotBytes/8)
	}
	if p.transform > 0 {
		g.transformed = m.code.Shared(g.name+".transform", i64, p.transform)
	}
	g.leader = g.Block().NewICmp(enum.IPredEQ, g.member, ci(i32, 0))
	g.failed = g.Stack(types.Bool, 1)
	if slices.ContainsFunc(k.Params, func(p kernel.Param) bool { return p.Work }) {
		// Without it, NVIDIA's assembler spills registers to have more blocks on a multiprocessor.
		g.OneBlock()
	}
	launch := abi.DeviceLaunch{Entry: g.name, Items: items(k), PerBlock: perBlock, Threads: blockSize}
	scratch := int64(0)
	if p.spilled {
		blocks := int64(m.tune.BusyBlocks)
		if n, known := count(k.Axes); known {
			blocks = min(n, blocks)
		}
		launch.Items, scratch = []abi.Extent{{Dim: types.Lit(blocks)}}, blocks*ownBytes(k)
		g.ownRows(g.zext(g.register("ctaid.x")))
	} else {
		g.sharedRows(m, perBlock)
	}
	begin := g.Plus(g.Times(g.zext(g.register("ctaid.x")), ci(i64, perBlock)), g.index)
	step := g.Times(g.zext(g.register("nctaid.x")), ci(i64, perBlock))
	g.Count(begin, g.iterations(), step, nil, func(i value.Value, _ []value.Value) []value.Value {
		g.setAxes(i)
		g.failAt(i)
		g.Block().NewStore(ci(i8, 0), g.failed)
		body := k.Body.Stmts
		if p.tail != nil {
			body = body[:len(body)-1]
		}
		g.Statements(g.statement, body...)
		return nil
	})
	g.Finish()
	parts := append(before, kernelOf(launch, scratch))
	if p.tail != nil {
		parts = append(parts, m.elementwise(p.tail))
	}
	return inOrder(parts...)
}

// rowBytes is the size of the kernel's own memory, aligned to 16 bytes.
func rowBytes(p kernel.Param) int64 {
	n, _ := p.Shape[0].Dim.Const()
	return (n*int64(p.DType.Bytes()) + 15) &^ 15
}

// sharedRows puts the kernel's own memory into shared memory, once for each group of the block.
func (g *group) sharedRows(m *module, groups int64) {
	for i := g.k.Buffers(); i < len(g.k.Params); i++ {
		p := g.k.Params[i]
		n := rowBytes(p) / int64(p.DType.Bytes()) // with a gap, so that every group's row is aligned
		mt := device.MemoryType(p.DType)
		all := m.code.Shared(fmt.Sprintf("%s.row%d", g.name, i), mt, n*groups)
		g.Place(i, g.Block().NewGetElementPtr(mt, all, g.Times(g.index, ci(i64, n))))
	}
}

// statement translates the statements that a group does in another way than a thread.
func (g *group) statement(s kernel.Stmt) bool {
	shared := slices.Contains(g.plan.sharedWork, s)
	switch s := s.(type) {
	case *kernel.Reduce:
		if !shared {
			break
		}
		g.shareWork(s.Body, func() { g.reduce(s) })
		if g.plan.size == warpSize { // the fold of a block ends with a barrier
			g.barrierAfter(s)
		}
		return true
	case *kernel.Loop:
		if !shared {
			break
		}
		g.shareWork(s.Body, func() {
			if u := scatterOf(g.k, s); u != nil {
				g.scatter(s, u)
			} else if f := scanOf(g.k, s, g.tune); f != nil {
				g.scan(s, f)
			} else {
				g.parallelLoop(s)
			}
		})
		g.barrierAfter(s)
		return true
	case *kernel.Transform:
		if !shared {
			break
		}
		if split := g.plan.split; split != nil && split.Transform == s {
			g.done(split)
			return true
		}
		g.transform(s)
		return true
	case *kernel.Store:
		yes, done := g.NewBlock(), g.NewBlock()
		g.Block().NewCondBr(g.leader, yes, done)
		g.SetBlock(yes)
		g.Statements(nil, s)
		g.Block().NewBr(done)
		g.SetBlock(done)
		g.barrierAfter(s)
		return true
	case *kernel.Load:
		if !g.plan.readWrite[s.Param] {
			break
		}
		g.Statements(nil, s)
		g.barrier()
		return true
	}
	return false
}

// parallelLoop does the iterations of a parallel loop, a thread each.
func (g *group) parallelLoop(s *kernel.Loop) {
	lo, hi := value.Value(ci(i64, s.Axis.Begin)), g.Extent(s.Axis.Extent)
	if g.vectors([]kernel.Axis{s.Axis}, s.Body) {
		from := g.Plus(lo, g.Times(g.zext(g.member), ci(i64, threadLanes)))
		stop := g.Plus(lo, g.roundDown(g.Minus(hi, lo), threadLanes))
		g.Count(from, stop, ci(i64, int64(g.plan.size*threadLanes)), nil,
			func(v value.Value, _ []value.Value) []value.Value {
				g.Vector(threadLanes, s.Axis.Var, v, nil, s.Body.Stmts, scalar.None)
				return nil
			})
		lo = stop
	}
	g.Count(g.Plus(lo, g.zext(g.member)), hi, ci(i64, int64(g.plan.size)), nil,
		func(v value.Value, _ []value.Value) []value.Value {
			g.Define(s.Axis.Var, v)
			g.guarded(s.Body, nil, func() []value.Value {
				g.Statements(nil, s.Body.Stmts...)
				return nil
			})
			return nil
		})
}

// shareWork writes shared work. A thread whose check fails in it has to reach the barriers that the others wait at, so
// the failure is noted, and the whole group ends afterwards.
func (g *group) shareWork(body *kernel.Block, f func()) {
	if !checks(body) {
		f()
		return
	}
	f()
	g.returnUnless(g.Block().NewXor(g.voteAny(g.hasFailed()), constant.True))
}

// hasFailed reports whether a check of this thread failed in shared work.
func (g *group) hasFailed() value.Value {
	return g.Block().NewICmp(enum.IPredNE, g.Block().NewLoad(i8, g.failed), ci(i8, 0))
}

// guarded evaluates an iteration of shared work. Where a check of body fails, its values are those of instead.
func (g *group) guarded(body *kernel.Block, instead []value.Value, f func() []value.Value) []value.Value {
	if !checks(body) {
		return f()
	}
	join := g.NewBlock()
	incoming := make([][]*lir.Incoming, len(instead))
	leave := func(vals []value.Value) {
		for i, v := range vals {
			incoming[i] = append(incoming[i], lir.NewIncoming(v, g.Block()))
		}
		g.Block().NewBr(join)
	}
	g.Fail(nil, func() {
		g.noteFailure()
		g.Block().NewStore(ci(i8, 1), g.failed)
		leave(instead)
	})
	leave(f())
	g.SetBlock(join)
	g.failAt(g.iteration)
	out := make([]value.Value, len(instead))
	for i := range out {
		out[i] = join.NewPhi(incoming[i]...)
	}
	return out
}

// barrierAfter puts a barrier behind a statement that accesses memory that is both read and written.
func (g *group) barrierAfter(s kernel.Stmt) {
	if g.touchesReadWrite(s) {
		g.barrier()
	}
}

// touchesReadWrite reports whether s accesses memory that is both read and written.
func (g *group) touchesReadWrite(s kernel.Stmt) bool {
	found := false
	accessesOf(s, func(p int, _ kernel.Access, _ bool) { found = found || g.plan.readWrite[p] })
	return found
}

// barrier waits for the group, and makes the stores of its threads visible to all of them.
func (g *group) barrier() {
	if g.plan.size == warpSize {
		g.Block().NewCall(g.Intrinsic("llvm.nvvm.bar.warp.sync", lt.Void, i32), ci(i32, -1))
		return
	}
	g.thread.barrier()
}

// voteAny reports whether x holds for any thread of the group.
func (g *group) voteAny(x value.Value) value.Value {
	if g.plan.size == warpSize {
		return g.Block().NewCall(g.Intrinsic("llvm.nvvm.vote.any.sync", i1, i32, i1), ci(i32, -1), x)
	}
	return g.voteBlock(x)
}

// voteBlock reports whether x holds for any thread of the block, all of which come here.
func (t *thread) voteBlock(x value.Value) value.Value {
	n := t.Block().NewCall(t.Intrinsic("llvm.nvvm.barrier0.or", i32, i32), t.Block().NewZExt(x, i32))
	return t.Block().NewICmp(enum.IPredNE, n, ci(i32, 0))
}
