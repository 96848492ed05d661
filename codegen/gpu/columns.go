package gpu

import (
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

// Note [Reductions of columns]: a reduction across rows reads neighbours where neighbouring threads have neighbouring
// columns. A block takes up to 32 columns. Where the order is free, its threads are groups that share the rows: thread
// t has column t modulo the width, and every row whose number is that of its group modulo the groups. The groups fold
// in halves through shared memory, and the first of them stores. A chunk of 256 rows that has its order is that of one
// thread, and then a block has one group, and more columns.
//
// A thread loads several rows before it combines the first of them.

// columnsPlan is how a kernel that reduces columns is done.
type columnsPlan struct {
	width, groups int64 // of a block; powers of two
	values        int   // the most that a reduction folds at a time
}

// mostColumns are those of a block with groups, a line of memory for 4-byte elements, and columnsAlone those of a block
// without.
const (
	mostColumns  = warpSize
	columnsAlone = blockSize
)

// planColumns decides whether k reduces columns; nil is no.
func planColumns(k *kernel.Kernel, tune *profile.GPU) *columnsPlan {
	if len(k.Axes) == 0 || k.Buffers() < len(k.Params) || checks(k.Body) {
		return nil
	}
	for _, p := range k.Params {
		if p.Work || p.InPlace {
			return nil
		}
	}
	last := k.Axes[len(k.Axes)-1]
	if last.Begin != 0 || last.Extent.Div > 1 {
		return nil
	}
	p := &columnsPlan{}
	free, longest := true, int64(0)
	for _, s := range k.Body.Stmts {
		switch s := s.(type) {
		case *kernel.Let, *kernel.DimValue, *kernel.Load, *kernel.Store:
		case *kernel.If:
			if loops(s) {
				return nil
			}
		case *kernel.Reduce:
			if len(s.Axes) == 0 || device.Stores(s.Body) || !reads(s.Body, last.Var) ||
				reads(s.Body, s.Axes[len(s.Axes)-1].Var) {
				return nil
			}
			n, known := count(s.Axes)
			if !known || s.Chunk != scalar.None {
				n = s.Order.Chunk()
			}
			if s.Order == kernel.Lanes || s.Order == kernel.Columns && s.Chunk == scalar.None {
				return nil // lanes, or chunks that follow each other
			}
			free, longest = free && s.Order == kernel.Any, max(longest, n)
			p.values = max(p.values, valuesOf(s))
		default:
			return nil
		}
	}
	all, known := count(k.Axes)
	if longest <= int64(tune.ShortColumn) || free && known && all >= int64(tune.BusyThreads) {
		return nil
	}
	columns, fewColumns := count(k.Axes[len(k.Axes)-1:])
	most := int64(columnsAlone)
	if free {
		most = mostColumns
	}
	for p.width = 1; p.width < most && (!fewColumns || p.width < columns); p.width *= 2 {
	}
	p.groups = 1
	if !free {
		if p.width < warpSize {
			return nil
		}
		return p
	}
	for p.width*p.groups < int64(tune.ColumnThreads) && 2*p.groups*int64(tune.ColumnAhead) <= longest ||
		p.width*p.groups < warpSize {
		p.groups *= 2
	}
	return p
}

// loops reports whether s has a loop or a reduction in it.
func loops(s kernel.Stmt) bool {
	found := false
	kernel.Walk(s, func(s kernel.Stmt) {
		switch s.(type) {
		case *kernel.Let, *kernel.DimValue, *kernel.Load, *kernel.Store, *kernel.If:
		default:
			found = true
		}
	})
	return found
}

// columnBlock is the code of a thread of a block that reduces columns.
type columnBlock struct {
	*group
	p      *columnsPlan
	column value.Value // i64: of the block's columns
	number value.Value // i64: of the thread's group
	slots  value.Value // i64*: shared memory in which the groups fold; nil for one group
	stores value.Value // whether the thread stores the results of its column
}

// columns writes the entry of a kernel that reduces columns.
func (m *module) columns(k *kernel.Kernel, p *columnsPlan) abi.DeviceKernel {
	threads := p.width * p.groups
	g := &group{thread: m.entry(k, "", int(threads)), plan: &cooperativePlan{size: int(threads)}}
	b := &columnBlock{group: g, p: p}
	b.member = b.register("tid.x")
	b.failed = b.Stack(types.Bool, 1)
	b.column, b.number = b.divide(b.zext(b.member), ci(i64, p.width))
	first := value.Value(constant.True)
	if p.groups > 1 {
		b.slots = m.code.Shared(b.name+".slots", i64, threads*int64(p.values))
		first = b.Block().NewICmp(enum.IPredEQ, b.number, ci(i64, 0))
	}
	outer, last := k.Axes[:len(k.Axes)-1], k.Axes[len(k.Axes)-1]
	tiles := abi.Extent{Dim: last.Extent.Dim, Div: p.width}
	columns, each := b.length(last), b.Extent(tiles)
	all := each
	for _, a := range outer {
		all = b.Times(all, b.length(a))
	}
	begin, step := b.zext(b.register("ctaid.x")), b.zext(b.register("nctaid.x"))
	b.Count(begin, all, step, nil, func(i value.Value, _ []value.Value) []value.Value {
		tile, row := i, value.Value(ci(i64, 0))
		if len(outer) > 0 {
			tile, row = b.divide(i, each)
		}
		b.splits = true
		b.setAxesOf(outer, row)
		b.splits = false
		c := b.Plus(b.Times(tile, ci(i64, p.width)), b.column)
		// A thread beyond the last column does that one, too, and stores nothing.
		b.stores = b.Block().NewAnd(first, b.Block().NewICmp(enum.IPredSLT, c, columns))
		b.Define(last.Var, b.minimum(c, b.Plus(columns, ci(i64, -1))))
		b.Statements(b.statement, k.Body.Stmts...)
		return nil
	})
	b.Finish()
	launch := abi.DeviceLaunch{Entry: b.name, Items: append(items(k)[:len(outer):len(outer)], tiles), PerBlock: 1,
		Threads: int(threads)}
	return kernelOf(launch, 0)
}

// statement translates the statements that a block does in another way than a thread.
func (b *columnBlock) statement(s kernel.Stmt) bool {
	switch s := s.(type) {
	case *kernel.Reduce:
		b.reduce(s)
		return true
	case *kernel.Store:
		b.when(b.stores, func() { b.Statements(nil, s) })
		return true
	}
	return false
}

// reduce translates a reduction of columns.
func (b *columnBlock) reduce(s *kernel.Reduce) {
	n, lo, hi := b.bounds(s)
	f := b.foldingOf(s)
	groups, ahead := b.p.groups, int64(b.tune.ColumnAhead)
	whole := b.Plus(lo, b.roundDown(b.Minus(hi, lo), groups*ahead))
	acc := b.Count(b.Plus(lo, b.number), whole, ci(i64, groups*ahead), f.start,
		func(p value.Value, acc []value.Value) []value.Value {
			var rows [][]value.Value
			for j := range ahead {
				rows = append(rows, f.get(b.Plus(p, ci(i64, j*groups))))
			}
			for _, x := range rows {
				acc = f.join(acc, x)
			}
			return acc
		})
	acc = b.Count(b.Plus(whole, b.number), hi, ci(i64, groups), acc,
		func(p value.Value, acc []value.Value) []value.Value { return f.join(acc, f.get(p)) })
	acc = b.foldGroups(f, acc)
	b.Define(s.ID, acc[len(acc)-1]) // of an extreme and its position the position
	b.sumOfNothing(s, n)
}

// foldGroups folds the groups in halves; every thread gets the result of its column.
func (b *columnBlock) foldGroups(f folding, x []value.Value) []value.Value {
	if b.slots == nil {
		return x
	}
	stored := make([]lt.Type, len(x))
	slot := func(i int, group value.Value) value.Value {
		at := b.Plus(b.Times(group, ci(i64, b.p.width)), b.column)
		address := b.Block().NewGetElementPtr(i64, b.slots, b.Plus(at, ci(i64, int64(i)*b.p.width*b.p.groups)))
		return b.Block().NewBitCast(address, lt.NewPointer(stored[i]))
	}
	store := func(x []value.Value) {
		for i, v := range x {
			word := b.bits(v)
			stored[i] = storedType(word.Type())
			b.Block().NewStore(b.toStored(word, stored[i]), slot(i, b.number))
		}
	}
	load := func(group value.Value) []value.Value {
		out := make([]value.Value, len(x))
		for i, v := range x {
			word := b.Block().NewLoad(stored[i], slot(i, group))
			if v.Type().Equal(i1) {
				out[i] = b.ofStored(word, i1)
				continue
			}
			out[i] = b.ofBits(word, v.Type())
		}
		return out
	}
	store(x)
	b.barrier()
	for half := b.p.groups / 2; half > 0; half /= 2 {
		lower := b.Block().NewICmp(enum.IPredSLT, b.number, ci(i64, half))
		x = b.ifElse(lower, func() []value.Value {
			y := f.join(x, load(b.Plus(b.number, ci(i64, half))))
			store(y)
			return y
		}, x)
		b.barrier()
	}
	x = load(ci(i64, 0))
	b.barrier() // before the slots are used again
	return x
}
