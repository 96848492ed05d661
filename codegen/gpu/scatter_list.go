package gpu

import (
	"fmt"
	"slices"

	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/device"
	"healc/codegen/target/profile"
	"healc/ir/kernel"
	"healc/lang/types"
	"healc/runtime/abi"
)

// Note [Ordered scatter by lists]: where rows are few and added to in an order (Note [Ordered scatter]), blocks share a
// row by its elements, and each of them has to find its own among all positions. So a block reads the positions by
// tiles, all of its threads at once, and writes what is its own to a list in shared memory, in the order of the
// positions: thread by thread of a warp (vote.ballot), warp by warp. When the list has no room for the next tile's, the
// warps share it by their elements. Each collects its own entries, and updates 32 elements at a time, in the order of
// the list.

const (
	listThreads = 512 // of a block with a list
	listWarps   = listThreads / warpSize
	// listShared is the shared memory of a block beside its list.
	listShared = 4 * (2*listWarps + 2*listThreads)
)

// listScatterPlan is how a kernel is done whose only loops initialise a buffer and update elements in an order.
type listScatterPlan struct {
	scatterKernel
	partitions int64 // blocks of a row; a power of two
	shift      uint  // low bits of an index that do not count for its partition
	ahead      int64 // positions of a thread in a tile
}

// planListScatter decides whether blocks with lists do k; nil is no.
func planListScatter(k *kernel.Kernel, tune *profile.GPU) *listScatterPlan {
	alone := scatterAlone(k)
	if alone == nil {
		return nil
	}
	p := &listScatterPlan{scatterKernel: *alone, partitions: 1, ahead: int64(tune.ScatterAhead)}
	rows, known := count(k.Axes)
	if known && rows >= int64(tune.ScatterRows) {
		return nil
	}
	if n, ok := count([]kernel.Axis{p.loop.Axis}); ok && n < int64(tune.ScatterLeast) {
		return nil
	}
	size := int64(0) // of a row; 0 is any
	if p.fill != nil {
		size, _ = count([]kernel.Axis{p.fill.Axis})
	}
	for known && p.partitions < int64(tune.ScatterPartitions) && rows*p.partitions < int64(tune.BusyGroups) &&
		(size == 0 || 2*p.partitions <= size) {
		p.partitions *= 2
	}
	if size >= warpSize*p.partitions { // neighbours stay together
		p.shift = 5
	}
	bytes := int64(8) // of an entry
	for _, r := range p.of.feeds {
		bytes += int64(runAlign(storedType(device.RegisterType(k.Types[r])), 1))
	}
	for ; listThreads*p.ahead*bytes+listShared > sharedLimit; p.ahead-- {
		if p.ahead == 1 {
			return nil
		}
	}
	return p
}

// listScatter is the code of a thread of a block with a list.
type listScatter struct {
	*group
	p *listScatterPlan

	lane      value.Value   // i32
	warp      value.Value   // i64
	partition value.Value   // i64: the block's
	numbers   value.Value   // i64*: of the elements in the list
	feeds     []value.Value // shared memory, for what is used of each entry
	counts    value.Value   // i32*: entries of each warp in a tile, twice
	queues    value.Value   // i32*: for each warp 64 numbers of entries
}

// listScatter writes the entries of a kernel that updates elements in an order.
func (m *module) listScatter(k *kernel.Kernel, p *listScatterPlan) abi.DeviceKernel {
	fill := m.fillElements(k, &p.scatterKernel)
	with := *k
	with.Types = append(slices.Clone(k.Types), types.I64)
	g := &group{thread: m.entry(&with, "add", listThreads), plan: &cooperativePlan{size: listThreads},
		elementRef: kernel.Ref(len(k.Types))}
	l := &listScatter{group: g, p: p}
	g.OneBlock() // else NVIDIA's assembler spills registers to have more blocks on a multiprocessor
	g.member = g.register("tid.x")
	g.failed = g.Stack(types.Bool, 1)
	l.lane = g.Block().NewAnd(g.member, ci(i32, warpSize-1))
	l.warp = g.zext(g.Block().NewLShr(g.member, ci(i32, 5)))
	tile := listThreads * p.ahead
	l.numbers = m.code.Shared(g.name+".numbers", i64, tile)
	l.counts = m.code.Shared(g.name+".counts", i32, 2*listWarps)
	l.queues = m.code.Shared(g.name+".queues", i32, 2*listThreads)
	for i, t := range l.feedTypes() {
		l.feeds = append(l.feeds, m.code.Shared(fmt.Sprintf("%s.feed%d", g.name, i), storedType(t), tile))
	}
	launch := abi.DeviceLaunch{Entry: g.name, Items: append(items(k), abi.Extent{Dim: types.Lit(p.partitions)}),
		PerBlock: 1, Threads: listThreads}
	all := g.Times(g.iterations(), ci(i64, p.partitions))
	g.Count(g.zext(g.register("ctaid.x")), all, g.zext(g.register("nctaid.x")), nil,
		func(i value.Value, _ []value.Value) []value.Value {
			l.partition = g.Block().NewAnd(i, ci(i64, p.partitions-1))
			row := g.Block().NewLShr(i, ci(i64, lowBits(p.partitions)))
			g.setAxes(row)
			g.failAt(row)
			g.Statements(func(s kernel.Stmt) bool {
				if s == kernel.Stmt(p.loop) {
					l.row()
				}
				return s == kernel.Stmt(p.loop) || s == kernel.Stmt(p.fill)
			}, k.Body.Stmts...)
			return nil
		})
	g.Finish()
	return inOrder(fill, kernelOf(launch, 0))
}

// feedTypes are the types of what is used of an iteration.
func (l *listScatter) feedTypes() (out []lt.Type) {
	for _, r := range l.p.of.feeds {
		out = append(out, device.RegisterType(l.k.Types[r]))
	}
	return out
}

// row goes through the positions of a row. What a tile loads early is loaded while the tile before it is done.
func (l *listScatter) row() {
	n, tile := l.length(l.p.loop.Axis), ci(i64, listThreads*l.p.ahead)
	first := l.Plus(l.Times(l.warp, ci(i64, warpSize*l.p.ahead)), l.zext(l.lane))
	some := l.Block().NewICmp(enum.IPredSGT, n, ci(i64, 0))
	state := []value.Value{ci(i64, 0), ci(i64, 0)} // the entries of the list, and which of the counts is the tile's
	state = append(state, l.ifElse(some, func() []value.Value { return l.load(first, n) }, l.nothingLoaded())...)
	state = l.Count(ci(i64, 0), n, tile, state, func(from value.Value, state []value.Value) []value.Value {
		have, turn, loaded := state[0], state[1], state[2:]
		next := l.load(l.Plus(l.Plus(from, tile), first), n)
		mine := l.evaluate(l.Plus(from, first), n, loaded)
		before, total := l.count(mine, turn)
		full := l.Block().NewICmp(enum.IPredSGT, l.Plus(have, total), tile)
		have = l.ifElse(full, func() []value.Value {
			l.apply(have)
			return []value.Value{ci(i64, 0)}
		}, []value.Value{have})[0]
		l.write(mine, l.Plus(have, before))
		return append([]value.Value{l.Plus(have, total), l.Minus(ci(i64, listWarps), turn)}, next...)
	})
	l.apply(state[0])
}

// load is what the iterations of a thread in a tile load early. Beyond the last position it is that of the last.
func (l *listScatter) load(first, n value.Value) (loaded []value.Value) {
	last := l.Plus(n, ci(i64, -1))
	for j := range l.p.ahead {
		l.Define(l.p.loop.Axis.Var, l.minimum(l.Plus(first, ci(i64, j*warpSize)), last))
		for _, e := range l.p.early {
			l.Statements(nil, e)
			loaded = append(loaded, l.Value(e.ID))
		}
	}
	return loaded
}

// nothingLoaded has the types of what load gives.
func (l *listScatter) nothingLoaded() (zeros []value.Value) {
	for range l.p.ahead {
		for _, e := range l.p.early {
			zeros = append(zeros, constant.NewZeroInitializer(device.RegisterType(l.k.Types[e.ID])))
		}
	}
	return zeros
}

// evaluate does the iterations of a thread in a tile. Of each it gives whether its element is of the block's partition,
// its number, and the feeds.
func (l *listScatter) evaluate(first, n value.Value, loaded []value.Value) [][]value.Value {
	p := l.p
	nothing := []value.Value{constant.False, ci(i64, 0)}
	for _, t := range l.feedTypes() {
		nothing = append(nothing, constant.NewZeroInitializer(t))
	}
	var out [][]value.Value
	for j := range p.ahead {
		i := l.Plus(first, ci(i64, j*warpSize))
		out = append(out, l.ifElse(l.Block().NewICmp(enum.IPredSLT, i, n), func() []value.Value {
			return l.guarded(p.loop.Body, nothing, func() []value.Value {
				l.Define(p.loop.Axis.Var, i)
				for e, s := range p.early {
					l.Define(s.ID, loaded[int(j)*len(p.early)+e])
				}
				l.Statements(nil, p.late...)
				number := l.Offset(p.of.load.At)
				of := l.Block().NewAnd(l.Block().NewLShr(number, ci(i64, int64(p.shift))), ci(i64, p.partitions-1))
				x := []value.Value{l.Block().NewICmp(enum.IPredEQ, of, l.partition), number}
				for _, r := range p.of.feeds {
					x = append(x, l.Value(r))
				}
				return x
			})
		}, nothing))
	}
	return out
}

// ballot has a bit for each thread of the warp for which x holds.
func (l *listScatter) ballot(x value.Value) value.Value {
	return l.Block().NewCall(l.Intrinsic("llvm.nvvm.vote.ballot.sync", i32, i32, i1), ci(i32, -1), x)
}

// ones is the number of bits of x.
func (l *listScatter) ones(x value.Value) value.Value {
	return l.zext(l.Block().NewCall(l.Intrinsic("llvm.ctpop.i32", i32, i32), x))
}

// count returns how many iterations of a tile are the block's own: those of the warps before this one, and all. turn
// is where the tile's counts begin; the others may still be read.
func (l *listScatter) count(iterations [][]value.Value, turn value.Value) (before, total value.Value) {
	own := value.Value(ci(i64, 0))
	for _, x := range iterations {
		own = l.Plus(own, l.ones(l.ballot(x[0])))
	}
	slot := func(warp value.Value) value.Value {
		return l.Block().NewGetElementPtr(i32, l.counts, l.Plus(turn, warp))
	}
	first := l.Block().NewICmp(enum.IPredEQ, l.lane, ci(i32, 0))
	l.when(first, func() { l.Block().NewStore(l.Block().NewTrunc(own, i32), slot(l.warp)) })
	l.barrier()
	number := l.Block().NewAnd(l.lane, ci(i32, listWarps-1))
	n := value.Value(l.Block().NewLoad(i32, slot(l.zext(number))))
	for d := int64(1); d < listWarps; d *= 2 { // the sums of the counts up to each warp's
		sum := l.Block().NewAdd(n, l.shuffle("up", n, ci(i32, d)))
		n = l.Block().NewSelect(l.Block().NewICmp(enum.IPredSGE, number, ci(i32, d)), sum, n)
	}
	total = l.zext(l.shuffle("idx", n, ci(i32, listWarps-1)))
	upTo := l.zext(l.shuffle("idx", n, l.Block().NewTrunc(l.warp, i32)))
	return l.Minus(upTo, own), total
}

// write appends the block's own iterations to the list, from entry `to` on.
func (l *listScatter) write(iterations [][]value.Value, to value.Value) {
	lower, types := l.lower(), l.feedTypes()
	for _, x := range iterations {
		votes := l.ballot(x[0])
		entry := l.Plus(to, l.ones(l.Block().NewAnd(votes, lower)))
		l.when(x[0], func() {
			l.Block().NewStore(x[1], l.Block().NewGetElementPtr(i64, l.numbers, entry))
			for i, t := range types {
				t = storedType(t)
				l.Block().NewStore(l.toStored(x[2+i], t), l.Block().NewGetElementPtr(t, l.feeds[i], entry))
			}
		})
		to = l.Plus(to, l.ones(votes))
	}
}

// apply does the updates of the list, which has so many entries. Each warp collects those of its elements in a queue,
// and does 32 of them at a time.
func (l *listScatter) apply(entries value.Value) {
	l.barrier()
	shift := int64(l.p.shift) + lowBits(l.p.partitions)
	lane := l.zext(l.lane)
	queued := l.Count(ci(i64, 0), entries, ci(i64, warpSize), []value.Value{ci(i64, 0)},
		func(from value.Value, state []value.Value) []value.Value {
			entry := l.Plus(from, lane)
			there := l.Block().NewICmp(enum.IPredSLT, entry, entries)
			mine := l.ifElse(there, func() []value.Value {
				number := l.Block().NewLoad(i64, l.Block().NewGetElementPtr(i64, l.numbers, entry))
				of := l.Block().NewAnd(l.Block().NewLShr(number, ci(i64, shift)), ci(i64, listWarps-1))
				return []value.Value{l.Block().NewICmp(enum.IPredEQ, of, l.warp)}
			}, []value.Value{constant.False})[0]
			votes := l.ballot(mine)
			to := l.Plus(state[0], l.ones(l.Block().NewAnd(votes, l.lower())))
			l.when(mine, func() { l.Block().NewStore(l.Block().NewTrunc(entry, i32), l.place(to)) })
			l.warpBarrier()
			queued := l.Plus(state[0], l.ones(votes))
			full := l.Block().NewICmp(enum.IPredSGE, queued, ci(i64, warpSize))
			return l.ifElse(full, func() []value.Value {
				l.update(constant.True)
				behind := l.Plus(lane, ci(i64, warpSize))
				l.when(l.Block().NewICmp(enum.IPredSLT, behind, queued), func() {
					l.Block().NewStore(l.Block().NewLoad(i32, l.place(behind)), l.place(lane))
				})
				l.warpBarrier()
				return []value.Value{l.Minus(queued, ci(i64, warpSize))}
			}, []value.Value{queued})
		})[0]
	some := l.Block().NewICmp(enum.IPredSGT, queued, ci(i64, 0))
	l.when(some, func() { l.update(l.Block().NewICmp(enum.IPredSLT, lane, queued)) })
	l.barrier()
}

// place is the address of place i in the queue of the warp.
func (l *listScatter) place(i value.Value) value.Value {
	return l.Block().NewGetElementPtr(i32, l.queues, l.Plus(l.Times(l.warp, ci(i64, 2*warpSize)), i))
}

// lower has a bit for each thread of the warp before this one.
func (l *listScatter) lower() value.Value {
	return l.Block().NewSub(l.Block().NewShl(ci(i32, 1), l.lane), ci(i32, 1))
}

func (l *listScatter) warpBarrier() {
	l.Block().NewCall(l.Intrinsic("llvm.nvvm.bar.warp.sync", lt.Void, i32), ci(i32, -1))
}

// update does the updates of the first 32 entries in the queue, of those threads that have one.
func (l *listScatter) update(there value.Value) {
	feedTypes := l.feedTypes()
	nothing := []value.Value{ci(i64, 0)}
	for _, t := range feedTypes {
		nothing = append(nothing, constant.NewZeroInitializer(t))
	}
	x := l.ifElse(there, func() []value.Value {
		entry := l.zext(l.Block().NewLoad(i32, l.place(l.zext(l.lane))))
		out := []value.Value{l.Block().NewLoad(i64, l.Block().NewGetElementPtr(i64, l.numbers, entry))}
		for i, t := range feedTypes {
			s := storedType(t)
			y := l.Block().NewLoad(s, l.Block().NewGetElementPtr(s, l.feeds[i], entry))
			out = append(out, l.ofStored(y, t))
		}
		return out
	}, nothing)
	l.applyInOrder(l.p.of, l.lane, there, x[0], x[1:])
}
