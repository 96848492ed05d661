package gpu

import (
	"fmt"
	"slices"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm"
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/abi"
)

// Note [Teams]: a kernel whose iterations are rows, chunks or whole tensors is done by teams: all threads of a team do
// one iteration together. A team is a warp where the row is short, else a block of 128 threads, the lanes of
// language.md section 9. All of its threads compute what stands outside of loops, so that each has every scalar. They
// share
//
//   - the elements of a reduction, see Note [Reductions by teams];
//   - the iterations of a parallel loop, neighbours by neighbours;
//   - the steps of a scan, see Note [Prefixes];
//   - the iterations of a loop that changes elements here and there, see Note [Updates in order];
//   - a store outside of loops, which is the first thread's;
//   - memory of the kernel itself, such as a kept row, which lies in shared memory, or, where that is too small,
//     in scratch memory, with only so many blocks.
//
// Memory that is read and written is looked at by one statement at a time: behind each that does, the team meets. A
// team that is done with an iteration goes on with the one that is as many further as there are teams.

const (
	warpSize  = 32
	blockSize = 128 // threads of the blocks in which teams are
	// warpElements is the most elements of a row that one warp takes in.
	warpElements = 1024
	// sharedLimit is the shared memory that every device gives a block without being asked.
	sharedLimit = 48<<10 - slotBytes
	// slotBytes is the shared memory in which a team folds: a value and a position for every thread.
	slotBytes = 2 * 8 * blockSize
	// spilledBlocks is how many blocks there are when each has memory in scratch memory.
	spilledBlocks = 512
	// fewElements is the least for which threads share the work of a loop.
	fewElements = 16
	// shortColumn is a reduction across rows that a thread does by itself: its neighbours read what is beside it.
	shortColumn = 64
	// manyIterations keep a device busy with a thread for each.
	manyIterations = 1 << 16
)

// teamPlan says how a kernel is done by teams.
type teamPlan struct {
	size      int          // threads of a team
	shared    int64        // bytes of a team's memory of the kernel itself
	transform int64        // elements of shared memory for transforms
	spilled   bool         // the kernel's own memory is too much for shared memory, and lies in scratch memory
	loose     map[int]bool // parameters that are written and read
	split     int64        // teams of a row, by the places of what they change: see Note [Updates in order]
	shift     uint
	parts     []kernel.Stmt // reductions, loops and transforms that the team shares
}

// planTeam decides whether k is done by teams; nil is no.
func planTeam(k *kernel.Kernel) *teamPlan {
	p := &teamPlan{loose: map[int]bool{}}
	longest, along, updates := int64(0), false, false
	var walk func(b *kernel.Block)
	note := func(n int64, known, neighbours bool) {
		if !known {
			n = warpElements + 1
		}
		longest, along = max(longest, n), along || neighbours
	}
	walk = func(b *kernel.Block) {
		for _, s := range b.Stmts {
			switch s := s.(type) {
			case *kernel.Reduce:
				n, known := count(s.Axes)
				if s.Chunk != scalar.None {
					n, known = s.Order.Chunk(), true
				}
				if !known || n >= fewElements || llvm.Stores(s.Body) {
					p.parts = append(p.parts, s)
					note(n, known, len(s.Axes) > 0 && s.Order != kernel.Columns &&
						reads(s.Body, s.Axes[len(s.Axes)-1].Var))
				}
			case *kernel.Loop:
				if updateOf(k, s) != nil {
					p.parts = append(p.parts, s)
					updates = true
					n, known := count([]kernel.Axis{s.Axis})
					note(n, known, true)
					break
				}
				if !s.Parallel && prefixOf(k, s) == nil {
					walk(s.Body)
					break
				}
				p.parts = append(p.parts, s)
				n, known := count([]kernel.Axis{s.Axis})
				note(n, known, reads(s.Body, s.Axis.Var))
			case *kernel.Transform:
				if transforms(s) {
					p.parts = append(p.parts, s)
					note(s.Size, true, true)
					p.transform = max(p.transform, min(s.Size, sharedTransform))
				}
			case *kernel.Iterate:
				walk(s.Body)
			case *kernel.If:
				walk(s.Then)
				walk(s.Else)
			}
		}
	}
	walk(k.Body)
	if longest < fewElements {
		return nil
	}
	iterations, known := count(k.Axes)
	if updates && known && iterations >= updateRows {
		return nil
	}
	if !along && (!known || iterations >= manyIterations || longest <= shortColumn && iterations >= blockSize) {
		return nil
	}
	for i, param := range k.Params {
		if param.Local {
			p.shared += rowBytes(param)
		}
		if param.Local || param.Work || param.InPlace {
			p.loose[i] = true
		}
	}
	p.size = blockSize
	p.shared += 8 * p.transform
	if p.transform == 0 && longest <= warpElements && p.shared*(blockSize/warpSize) <= sharedLimit {
		p.size = warpSize
	}
	p.spilled = p.shared > sharedLimit
	p.split = 1
	if updates && !p.spilled {
		p.split, p.shift = splitOf(k)
	}
	return p
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

// reads reports whether b reads or writes neighbouring elements as v counts up.
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

// accessesOf calls f with every access of a statement and of what stands in it.
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

// team is the code of a thread that works in a team.
type team struct {
	*thread
	plan   *teamPlan
	number value.Value // i64: of the team in its block
	member value.Value // i32: of the thread in its team
	first  value.Value // whether it is number 0
	slots  value.Value // i64*: shared memory in which a block folds, nil for warps
	failed value.Value // i1*: a check of this thread failed in what the team shares
	row    value.Value // i64*: shared memory for a transform
	part   value.Value // i64: of the row, when it has several
	place  kernel.Ref  // a number of an element
}

// teams writes the entry of a kernel that is done by teams.
func (m *module) teams(k *kernel.Kernel, p *teamPlan) abi.DeviceKernel {
	with := *k
	with.Types = append(slices.Clone(k.Types), types.I64)
	t := &team{thread: m.entry(&with, "", blockSize), plan: p, number: ci(i64, 0), place: kernel.Ref(len(k.Types))}
	perBlock := int64(blockSize / p.size)
	tid := t.register("tid.x")
	t.member = tid
	if p.size == warpSize {
		t.member = t.Block().NewAnd(tid, ci(i32, warpSize-1))
		t.number = t.wide(t.Block().NewLShr(tid, ci(i32, 5)))
	} else {
		t.slots = m.code.Shared(t.name+".slots", i64, slotBytes/8)
	}
	if p.transform > 0 {
		t.row = m.code.Shared(t.name+".transform", i64, p.transform)
	}
	t.first = t.Block().NewICmp(enum.IPredEQ, t.member, ci(i32, 0))
	t.failed = t.Stack(types.Bool, 1)
	if slices.ContainsFunc(k.Params, func(p kernel.Param) bool { return p.Work }) {
		t.OneBlock() // its work is long: NVIDIA's assembler would rather spill registers than have fewer blocks
	}
	launch := abi.DeviceLaunch{Entry: t.name, Items: items(k), PerBlock: perBlock, Threads: blockSize}
	all := t.iterations()
	if p.split > 1 {
		launch.Items = append(launch.Items, abi.Extent{Dim: types.Lit(p.split)})
		all = t.Times(all, ci(i64, p.split))
	}
	var scratch []abi.Extent
	if p.spilled {
		launch.Items = []abi.Extent{{Dim: types.Lit(spilledBlocks)}}
		if n, known := count(k.Axes); known {
			launch.Items[0].Dim = types.Lit(min(n, spilledBlocks))
		}
		scratch = []abi.Extent{launch.Items[0], {Dim: types.Lit(t.spilledRows())}}
	} else {
		t.sharedRows(m, perBlock)
	}
	begin := t.Plus(t.Times(t.wide(t.register("ctaid.x")), ci(i64, perBlock)), t.number)
	step := t.Times(t.wide(t.register("nctaid.x")), ci(i64, perBlock))
	t.Count(begin, all, step, nil, func(i value.Value, _ []value.Value) []value.Value {
		if p.split > 1 {
			t.part = t.Block().NewAnd(i, ci(i64, p.split-1))
			i = t.Block().NewLShr(i, ci(i64, lowBits(p.split)))
		}
		t.at(i)
		t.failAt(i)
		t.Block().NewStore(ci(i8, 0), t.failed)
		t.Statements(t.statement, k.Body.Stmts...)
		return nil
	})
	t.Finish()
	return abi.DeviceKernel{Launches: []abi.DeviceLaunch{launch}, Scratch: scratch}
}

// spilledRows gives the kernel's own memory its place in scratch memory, and returns its size for each block.
func (t *team) spilledRows() (bytes int64) {
	for _, p := range t.k.Params[t.k.Buffers():] {
		bytes += rowBytes(p)
	}
	base := t.Block().NewGetElementPtr(i8, t.Scratch, t.Times(t.wide(t.register("ctaid.x")), ci(i64, bytes)))
	at := int64(0)
	for i := t.k.Buffers(); i < len(t.k.Params); i++ {
		mt := lt.NewPointer(llvm.MemoryType(t.k.Params[i].DType))
		t.Place(i, t.Block().NewBitCast(t.Block().NewGetElementPtr(i8, base, ci(i64, at)), mt))
		at += rowBytes(t.k.Params[i])
	}
	return bytes
}

// rowBytes is the size of the kernel's own memory, aligned to 16 bytes.
func rowBytes(p kernel.Param) int64 {
	n, _ := p.Shape[0].Dim.Const()
	return (n*int64(p.DType.Bytes()) + 15) &^ 15
}

// sharedRows gives the kernel's own memory its place in shared memory, one for each team of the block.
func (t *team) sharedRows(m *module, teams int64) {
	for i := t.k.Buffers(); i < len(t.k.Params); i++ {
		p := t.k.Params[i]
		n := rowBytes(p) / int64(p.DType.Bytes()) // with a gap, so that every team's row is aligned
		mt := llvm.MemoryType(p.DType)
		all := m.code.Shared(fmt.Sprintf("%s.row%d", t.name, i), mt, n*teams)
		t.Place(i, t.Block().NewGetElementPtr(mt, all, t.Times(t.number, ci(i64, n))))
	}
}

// statement translates what a team shares.
func (t *team) statement(s kernel.Stmt) bool {
	shared := slices.Contains(t.plan.parts, s)
	switch s := s.(type) {
	case *kernel.Reduce:
		if !shared {
			break
		}
		t.together(s.Body, func() { t.reduce(s) })
		if t.plan.size == warpSize { // a block has met when it folded
			t.meetAfter(s)
		}
		return true
	case *kernel.Loop:
		if !shared {
			break
		}
		t.together(s.Body, func() {
			if u := updateOf(t.k, s); u != nil {
				t.updates(s, u)
			} else if st := initialises(t.k, s); st != nil && t.plan.split > 1 {
				t.initialise(s, st)
			} else if f := prefixOf(t.k, s); f != nil {
				t.prefixes(s, f)
			} else {
				t.parallel(s)
			}
		})
		t.meetAfter(s)
		return true
	case *kernel.Transform:
		if !shared {
			break
		}
		t.transform(s)
		return true
	case *kernel.Store:
		yes, done := t.NewBlock(), t.NewBlock()
		t.Block().NewCondBr(t.first, yes, done)
		t.SetBlock(yes)
		t.Statements(nil, s)
		t.Block().NewBr(done)
		t.SetBlock(done)
		t.meetAfter(s)
		return true
	case *kernel.Load:
		if !t.plan.loose[s.Param] {
			break
		}
		t.Statements(nil, s)
		t.meet()
		return true
	}
	return false
}

// parallel does the iterations of a parallel loop, a thread each.
func (t *team) parallel(s *kernel.Loop) {
	lo, hi := value.Value(ci(i64, s.Axis.Begin)), t.Extent(s.Axis.Extent)
	if t.vectors([]kernel.Axis{s.Axis}, s.Body) {
		from := t.Plus(lo, t.Times(t.wide(t.member), ci(i64, teamVector)))
		stop := t.Plus(lo, t.whole(t.Minus(hi, lo), teamVector))
		t.Count(from, stop, ci(i64, int64(t.plan.size*teamVector)), nil,
			func(v value.Value, _ []value.Value) []value.Value {
				t.Vector(teamVector, s.Axis.Var, v, nil, s.Body.Stmts, scalar.None)
				return nil
			})
		lo = stop
	}
	t.Count(t.Plus(lo, t.wide(t.member)), hi, ci(i64, int64(t.plan.size)), nil,
		func(v value.Value, _ []value.Value) []value.Value {
			t.Define(s.Axis.Var, v)
			t.guarded(s.Body, nil, func() []value.Value {
				t.Statements(nil, s.Body.Stmts...)
				return nil
			})
			return nil
		})
}

// together writes what the team shares. A check that fails in it must not keep a thread from meeting the others, so it
// is noted, and the team ends afterwards.
func (t *team) together(body *kernel.Block, f func()) {
	if !checks(body) {
		f()
		return
	}
	f()
	t.leaveUnless(t.Block().NewXor(t.anyone(t.hasFailed()), constant.True))
}

// hasFailed reports whether a check of this thread failed in what the team shares.
func (t *team) hasFailed() value.Value {
	return t.Block().NewICmp(enum.IPredNE, t.Block().NewLoad(i8, t.failed), ci(i8, 0))
}

// guarded evaluates a piece of shared work: where a check of body fails, its values are those of instead.
func (t *team) guarded(body *kernel.Block, instead []value.Value, f func() []value.Value) []value.Value {
	if !checks(body) {
		return f()
	}
	join := t.NewBlock()
	incoming := make([][]*lir.Incoming, len(instead))
	leave := func(vals []value.Value) {
		for i, v := range vals {
			incoming[i] = append(incoming[i], lir.NewIncoming(v, t.Block()))
		}
		t.Block().NewBr(join)
	}
	t.Fail(nil, func() {
		t.noteFailure()
		t.Block().NewStore(ci(i8, 1), t.failed)
		leave(instead)
	})
	leave(f())
	t.SetBlock(join)
	t.failAt(t.iteration)
	out := make([]value.Value, len(instead))
	for i := range out {
		out[i] = join.NewPhi(incoming[i]...)
	}
	return out
}

// meetAfter lets the team meet behind a statement that touches memory that is read and written.
func (t *team) meetAfter(s kernel.Stmt) {
	if t.touches(s) {
		t.meet()
	}
}

// touches reports whether s looks at memory that is read and written.
func (t *team) touches(s kernel.Stmt) bool {
	found := false
	accessesOf(s, func(p int, _ kernel.Access, _ bool) { found = found || t.plan.loose[p] })
	return found
}

// meet waits for the team, and makes what its threads wrote visible to all of them.
func (t *team) meet() {
	if t.plan.size == warpSize {
		t.Block().NewCall(t.Intrinsic("llvm.nvvm.bar.warp.sync", lt.Void, i32), ci(i32, -1))
		return
	}
	t.thread.meet()
}

// anyone reports whether x holds for a thread of the team.
func (t *team) anyone(x value.Value) value.Value {
	if t.plan.size == warpSize {
		return t.Block().NewCall(t.Intrinsic("llvm.nvvm.vote.any.sync", i1, i32, i1), ci(i32, -1), x)
	}
	n := t.Block().NewCall(t.Intrinsic("llvm.nvvm.barrier0.or", i32, i32), t.Block().NewZExt(x, i32))
	return t.Block().NewICmp(enum.IPredNE, n, ci(i32, 0))
}
