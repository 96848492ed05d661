package gpu

import (
	"fmt"
	"math/bits"
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

// Note [One thread per row]: the steps of a loop that carries a state, such as a scan of floats or the product of a
// matrix with a vector, follow each other, so one thread does all steps of a row. The elements are neighbours along the
// row, and a thread that reads its row by itself reads a line of memory for each of them. So a warp takes some rows at
// a time, and goes through them by tiles in shared memory: all of its threads copy a tile there, neighbours by
// neighbours; then each of the first threads does the steps of its row; then all threads copy the stored tiles back.
//
//	for each tile: read; barrier; steps; barrier; write
//
// Where there are many rows, a warp takes 32 of them. Where there are few, it takes fewer and longer parts of each:
// down to one row, in tiles of 1024 elements, whose steps wait for shared memory and no longer for that of the device.
// Threads without a row do the last row, too, and store nothing, so that the warp does not diverge.

// tiledOperands is the most operands, and the most results, that have tiles.
const tiledOperands = 4

// threadPerRowPlan is how a kernel with a thread for each row is done.
type threadPerRowPlan struct {
	rows, depth int64 // of a tile; powers of two
	loops       map[*kernel.Loop]*tiledAccesses
}

// tiledAccesses are the accesses of a loop that go by tiles. All of them stand directly in the loop's body.
type tiledAccesses struct {
	loads  []*kernel.Load
	stores []*kernel.Store
}

// planThreadPerRow decides whether k has loops whose rows go through shared memory; nil is no.
func planThreadPerRow(k *kernel.Kernel, tune *profile.GPU) *threadPerRowPlan {
	if k.Buffers() < len(k.Params) {
		return nil
	}
	for _, p := range k.Params {
		if p.Work {
			return nil
		}
	}
	p := &threadPerRowPlan{loops: map[*kernel.Loop]*tiledAccesses{}}
	longest, size, loads := int64(0), int64(0), int64(0)
	for _, s := range k.Body.Stmts {
		if l, ok := s.(*kernel.Loop); ok {
			if tiles := tiledAccessesOf(k, l, tune); tiles != nil {
				p.loops[l] = tiles
				n, known := count([]kernel.Axis{l.Axis})
				if !known {
					n = int64(tune.TileElements)
				}
				longest = max(longest, n)
				loads = max(loads, int64(len(tiles.loads)))
				for _, t := range tiles.types(k) {
					size += int64(runAlign(t, 1))
				}
				continue
			}
		}
		if checks(&kernel.Block{Stmts: []kernel.Stmt{s}}) {
			return nil // a thread that ends would not reach the barriers
		}
	}
	if len(p.loops) == 0 || !p.tilesAllInPlace(k) {
		return nil
	}
	p.rows = int64(tune.UnknownRows)
	if n, known := count(k.Axes); known {
		for p.rows = 1; p.rows < warpSize && n > p.rows*int64(tune.BusyWarps); p.rows *= 2 {
		}
	}
	for elements := int64(tune.TileElements); ; elements /= 2 {
		p.depth = min(elements/p.rows, max(warpSize, int64(1)<<bits.Len64(uint64(longest-1))))
		if p.depth < int64(tune.TileLeast) {
			return nil
		}
		if blockSize/warpSize*p.rows*p.pitch()*size <= int64(tune.TileBytes) &&
			loads*p.rows*p.depth/warpSize <= int64(tune.TileFetched) {
			return p
		}
	}
}

// pitch is from one row of a tile to the next: odd, so that neighbouring rows lie in different banks.
func (p *threadPerRowPlan) pitch() int64 { return p.depth + 1 }

// tilesAllInPlace reports whether all accesses of buffers in place go by tiles: a tile is read before its rows are
// done, and written after.
func (p *threadPerRowPlan) tilesAllInPlace(k *kernel.Kernel) bool {
	all, tiled := 0, 0
	accesses(k.Body, func(param int, _ kernel.Access, _ bool) {
		if k.Params[param].InPlace {
			all++
		}
	})
	for _, t := range p.loops {
		for _, l := range t.loads {
			if k.Params[l.Param].InPlace {
				tiled++
			}
		}
		for _, s := range t.stores {
			if k.Params[s.Param].InPlace {
				tiled++
			}
		}
	}
	return all == tiled
}

// tiledAccessesOf finds the accesses of loop l of k's body that are contiguous along its own axis, and not along the
// last axis of k. nil is none, or too short a loop.
func tiledAccessesOf(k *kernel.Kernel, l *kernel.Loop, tune *profile.GPU) *tiledAccesses {
	if n, known := count([]kernel.Axis{l.Axis}); l.Parallel || known && n < int64(tune.SharedLeast) {
		return nil
	}
	t := &tiledAccesses{}
	for _, s := range l.Body.Stmts {
		switch s := s.(type) {
		case *kernel.Load:
			if (!k.Params[s.Param].Out || k.Params[s.Param].InPlace) && len(t.loads) < tiledOperands &&
				contiguousAlong(k, l.Axis.Var, s.At) {
				t.loads = append(t.loads, s)
			}
		case *kernel.Store:
			if len(t.stores) < tiledOperands && contiguousAlong(k, l.Axis.Var, s.At) {
				t.stores = append(t.stores, s)
			}
		}
	}
	if len(t.loads)+len(t.stores) == 0 {
		return nil
	}
	return t
}

// contiguousAlong reports whether an access is contiguous along v, forwards or backwards, and not along the last axis
// of k.
func contiguousAlong(k *kernel.Kernel, v kernel.Ref, at kernel.Access) bool {
	along, last := types.Lit(0), types.Lit(0)
	for _, t := range at.Terms {
		var err error
		switch i := slices.IndexFunc(k.Axes, func(a kernel.Axis) bool { return a.Var == t.Var }); {
		case t.Var == v:
			along, err = along.Add(t.Coef)
		case i < 0:
			return false
		case i == len(k.Axes)-1:
			last, err = last.Add(t.Coef)
		}
		if err != nil {
			return false
		}
	}
	near := func(d types.Dim) bool { return d.IsConst(1) || d.IsConst(-1) }
	return near(along) && (len(k.Axes) == 0 || !near(last) && !last.IsConst(0))
}

// types are the types of the tiles' elements in shared memory.
func (c *tiledAccesses) types(k *kernel.Kernel) (out []lt.Type) {
	for _, l := range c.loads {
		out = append(out, storedType(device.RegisterType(k.Types[l.ID])))
	}
	for _, s := range c.stores {
		out = append(out, storedType(device.RegisterType(k.Types[s.Val])))
	}
	return out
}

// rowWarp is the code of a thread of a warp that takes rows.
type rowWarp struct {
	*group
	p          *threadPerRowPlan
	m          *module
	elementRef kernel.Ref                   // an index into a buffer
	stored     map[*kernel.Store]kernel.Ref // the value that is stored
	begin      value.Value                  // the warp's first row
	count      value.Value                  // of all rows
	row        value.Value                  // i64: the thread's row in the tile
	ownsRow    value.Value                  // whether row is this thread's own
	storesRow  value.Value                  // ownsRow, and row is one of the kernel
	tiles      int                          // with shared memory
}

// threadPerRow writes the entry of a kernel with a thread for each row.
func (m *module) threadPerRow(k *kernel.Kernel, p *threadPerRowPlan) abi.DeviceKernel {
	with := *k // with scalars for an address and for stored values
	with.Types = append(slices.Clone(k.Types), types.I64)
	stored := map[*kernel.Store]kernel.Ref{}
	for _, s := range k.Body.Stmts {
		if l, ok := s.(*kernel.Loop); ok && p.loops[l] != nil {
			for _, s := range p.loops[l].stores {
				stored[s] = kernel.Ref(len(with.Types))
				with.Types = append(with.Types, k.Types[s.Val])
			}
		}
	}
	const warps = blockSize / warpSize
	g := &group{thread: m.entry(&with, "", blockSize), plan: &cooperativePlan{size: warpSize}}
	w := &rowWarp{group: g, p: p, m: m, elementRef: kernel.Ref(len(k.Types)), stored: stored}
	tid := w.register("tid.x")
	w.member = w.Block().NewAnd(tid, ci(i32, warpSize-1))
	w.index = w.zext(w.Block().NewLShr(tid, ci(i32, 5)))
	w.failed = w.Stack(types.Bool, 1)
	lane := w.zext(w.member)
	w.ownsRow, w.row = constant.True, lane
	if p.rows < warpSize {
		w.ownsRow = w.Block().NewICmp(enum.IPredSLT, lane, ci(i64, p.rows))
		w.row = w.Block().NewSelect(w.ownsRow, lane, ci(i64, p.rows-1))
	}
	w.count = w.iterations()
	first := w.Plus(w.Times(w.zext(w.register("ctaid.x")), ci(i64, warps)), w.index)
	step := w.Times(w.zext(w.register("nctaid.x")), ci(i64, warps*p.rows))
	w.Count(w.Times(first, ci(i64, p.rows)), w.count, step, nil,
		func(begin value.Value, _ []value.Value) []value.Value {
			w.begin = begin
			mine := w.Plus(begin, w.row)
			w.storesRow = w.Block().NewAnd(w.ownsRow, w.Block().NewICmp(enum.IPredSLT, mine, w.count))
			i := w.minimum(mine, w.Plus(w.count, ci(i64, -1)))
			w.setAxes(i)
			w.failAt(i)
			w.Block().NewStore(ci(i8, 0), w.failed)
			w.Statements(w.statement, k.Body.Stmts...)
			return nil
		})
	w.Finish()
	return abi.DeviceKernel{Launches: []abi.DeviceLaunch{{Entry: w.name, Items: items(k), PerBlock: warps * p.rows,
		Threads: blockSize}}}
}

// statement translates the statements that the warp does in another way than a thread.
func (w *rowWarp) statement(s kernel.Stmt) bool {
	switch s := s.(type) {
	case *kernel.Loop:
		if tiles := w.p.loops[s]; tiles != nil {
			w.tiledLoop(s, tiles)
			return true
		}
	case *kernel.Store:
		w.when(w.storesRow, func() { w.Statements(nil, s) })
		return true
	}
	return false
}

// tile is an access of a loop with its shared memory.
type tile struct {
	elem   lt.Type
	memory value.Value
	begins value.Value // i64*: where each row begins in the buffer; nil with one row
	begin  value.Value // of the thread's own row
	along  int64       // 1, or -1 when it goes backwards
}

// tile reserves the shared memory for an access of loop s, and notes where its rows begin.
func (w *rowWarp) tile(s *kernel.Loop, at kernel.Access, d types.DType) *tile {
	t := &tile{elem: storedType(device.RegisterType(d)), along: 1}
	for _, term := range at.Terms {
		if term.Var == s.Axis.Var {
			t.along, _ = term.Coef.Const()
		}
	}
	warp := func(what string, elem lt.Type, n int64) value.Value {
		all := w.m.code.Shared(fmt.Sprintf("%s.%s%d", w.name, what, w.tiles), elem, n*blockSize/warpSize)
		return w.Block().NewGetElementPtr(elem, all, w.Times(w.index, ci(i64, n)))
	}
	t.memory = warp("tile", t.elem, w.p.rows*w.p.pitch())
	w.Define(s.Axis.Var, ci(i64, s.Axis.Begin))
	t.begin = w.Offset(at)
	if w.p.rows > 1 {
		t.begins = warp("begins", i64, w.p.rows)
		w.when(w.ownsRow, func() { w.Block().NewStore(t.begin, w.Block().NewGetElementPtr(i64, t.begins, w.row)) })
	}
	w.tiles++
	return t
}

// sharedAddress is the address of an element of a tile.
func (w *rowWarp) sharedAddress(t *tile, row, column value.Value) value.Value {
	return w.Block().NewGetElementPtr(t.elem, t.memory, w.Plus(w.Times(row, ci(i64, w.p.pitch())), column))
}

// movedElement is number j of the elements that this thread moves between a tile and memory: neighbouring threads move
// neighbours of a row.
func (w *rowWarp) movedElement(j int64) (row, column value.Value) {
	lane := w.zext(w.member)
	if d := w.p.depth; d < warpSize {
		row = w.Plus(w.quotient(lane, d), ci(i64, j*warpSize/d))
		return row, w.Block().NewAnd(lane, ci(i64, d-1))
	}
	return ci(i64, j*warpSize/w.p.depth), w.Plus(lane, ci(i64, j*warpSize%w.p.depth))
}

// setAddress sets w.elementRef to the index of an element of t in its buffer, number i of a row of the loop.
func (w *rowWarp) setAddress(t *tile, row, i value.Value) {
	begin := t.begin
	if t.begins != nil {
		begin = w.Block().NewLoad(i64, w.Block().NewGetElementPtr(i64, t.begins, row))
	}
	w.Define(w.elementRef, w.Plus(begin, w.Times(i, ci(i64, t.along))))
}

// tiledLoop is a loop whose rows go by tiles.
type tiledLoop struct {
	*rowWarp
	loop          *kernel.Loop
	accesses      *tiledAccesses
	loads, stores []*tile
	each          int64 // elements of a tile that a thread moves
	whole         bool  // the last tile has the full depth, too

	from  value.Value // the first step of the current tile
	depth value.Value // the number of its steps
}

// tiledLoop translates loop s for the rows of the warp.
func (w *rowWarp) tiledLoop(s *kernel.Loop, accesses *tiledAccesses) {
	t := &tiledLoop{rowWarp: w, loop: s, accesses: accesses, each: w.p.rows * w.p.depth / warpSize}
	for _, l := range accesses.loads {
		t.loads = append(t.loads, w.tile(s, l.At, w.k.Types[l.ID]))
	}
	for _, st := range accesses.stores {
		t.stores = append(t.stores, w.tile(s, st.At, w.k.Types[st.Val]))
	}
	w.barrier() // the begins are there
	state := make([]value.Value, len(s.Init))
	for i, r := range s.Init {
		state[i] = w.Value(r)
	}
	n, depth := w.length(s.Axis), ci(i64, w.p.depth)
	known, ok := constantInt(n)
	t.whole = ok && known%w.p.depth == 0
	state = w.Count(ci(i64, 0), n, depth, state, func(from value.Value, state []value.Value) []value.Value {
		t.from, t.depth = from, w.minimum(w.Minus(n, from), depth)
		if t.whole {
			t.depth = depth
		}
		t.readTiles()
		w.barrier()
		state = t.steps(state)
		w.barrier()
		if checks(s.Body) { // a step whose check failed stored nothing to its tile
			w.returnUnless(w.Block().NewXor(w.voteAny(w.hasFailed()), constant.True))
		}
		t.writeTiles()
		return state
	})
	w.barrier() // before the begins are used again
	for i, r := range s.IDs {
		w.Define(r, state[i])
	}
}

// readTiles copies the tiles of the loads to shared memory. All loads are issued before the first of them is waited
// for.
func (t *tiledLoop) readTiles() {
	last := t.Plus(t.depth, ci(i64, -1))
	var loaded []value.Value
	for i, l := range t.accesses.loads {
		for j := range t.each {
			row, column := t.movedElement(j)
			if !t.whole { // beyond the last element, that one again
				column = t.minimum(column, last)
			}
			t.setAddress(t.loads[i], row, t.Plus(t.from, column))
			t.Statements(nil, &kernel.Load{ID: l.ID, Param: l.Param, At: t.access()})
			loaded = append(loaded, t.toStored(t.Value(l.ID), t.loads[i].elem))
		}
	}
	for n, x := range loaded {
		row, column := t.movedElement(int64(n) % t.each)
		t.Block().NewStore(x, t.sharedAddress(t.loads[int64(n)/t.each], row, column))
	}
}

// access is the element of a buffer that setAddress set.
func (t *tiledLoop) access() kernel.Access {
	return kernel.Access{Terms: []kernel.Term{{Coef: types.Lit(1), Var: t.elementRef}}}
}

// steps does the steps of a tile.
func (t *tiledLoop) steps(state []value.Value) []value.Value {
	steps := int64(t.tune.UnrolledSteps)
	unrolled := t.roundDown(t.depth, steps)
	state = t.Count(ci(i64, 0), unrolled, ci(i64, steps), state,
		func(i value.Value, state []value.Value) []value.Value {
			for u := range steps {
				state = t.step(t.Plus(i, ci(i64, u)), state)
			}
			return state
		})
	return t.Count(unrolled, t.depth, ci(i64, 1), state, t.step)
}

// writeTiles copies the tiles of the stores to memory.
func (t *tiledLoop) writeTiles() {
	for i, st := range t.accesses.stores {
		for j := range t.each {
			row, column := t.movedElement(j)
			inside := value.Value(t.Block().NewICmp(enum.IPredSLT, t.Plus(t.begin, row), t.count))
			if !t.whole {
				inside = t.Block().NewAnd(inside, t.Block().NewICmp(enum.IPredSLT, column, t.depth))
			}
			t.when(inside, func() {
				x := value.Value(t.Block().NewLoad(t.stores[i].elem, t.sharedAddress(t.stores[i], row, column)))
				t.Define(t.stored[st], t.ofStored(x, device.RegisterType(t.k.Types[st.Val])))
				t.setAddress(t.stores[i], row, t.Plus(t.from, column))
				t.Statements(nil, &kernel.Store{Param: st.Param, At: t.access(), Val: t.stored[st]})
			})
		}
	}
}

// step is step i of a tile, for the thread's row.
func (t *tiledLoop) step(i value.Value, state []value.Value) []value.Value {
	s := t.loop
	return t.guarded(s.Body, state, func() []value.Value {
		t.Define(s.Axis.Var, t.Plus(t.Plus(t.from, i), ci(i64, s.Axis.Begin)))
		for n, r := range s.Vars {
			t.Define(r, state[n])
		}
		t.Statements(func(st kernel.Stmt) bool { return t.tiled(st, i) }, s.Body.Stmts...)
		next := make([]value.Value, len(s.Next))
		for n, r := range s.Next {
			next[n] = t.Value(r)
		}
		return next
	})
}

// tiled translates an access that goes by tiles, in step i of a tile.
func (t *tiledLoop) tiled(s kernel.Stmt, i value.Value) bool {
	switch s := s.(type) {
	case *kernel.Load:
		if n := slices.Index(t.accesses.loads, s); n >= 0 {
			x := t.Block().NewLoad(t.loads[n].elem, t.sharedAddress(t.loads[n], t.row, i))
			t.Define(s.ID, t.ofStored(x, device.RegisterType(t.k.Types[s.ID])))
			return true
		}
	case *kernel.Store:
		n := slices.Index(t.accesses.stores, s)
		if n < 0 {
			return t.statement(s)
		}
		t.when(t.ownsRow, func() {
			x := t.toStored(t.Value(s.Val), t.stores[n].elem)
			t.Block().NewStore(x, t.sharedAddress(t.stores[n], t.row, i))
		})
		return true
	}
	return false
}

// toStored is the value of a register as shared memory has it, in type t; ofStored is its inverse.
func (t *thread) toStored(x value.Value, to lt.Type) value.Value {
	if x.Type().Equal(to) {
		return x
	}
	return t.Block().NewZExt(x, to)
}

func (t *thread) ofStored(x value.Value, to lt.Type) value.Value {
	if x.Type().Equal(to) {
		return x
	}
	return t.Block().NewICmp(enum.IPredNE, x, constant.NewZeroInitializer(x.Type()))
}
