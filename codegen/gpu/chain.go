package gpu

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm"
	"healc/ir/kernel"
	"healc/lang/types"
	"healc/runtime/abi"
)

// Note [Chains on devices]: the steps of a loop that carries a state, such as a scan of floats or the product of a
// matrix with a vector, follow each other, so a row of them is the work of one thread. Its elements are another matter:
// they are neighbours along the row, and a thread that reads its row by itself reads a line of memory for each element.
// So a warp takes some rows at a time, and goes through them by tiles: first all of its threads fetch the tile,
// neighbours by neighbours, into shared memory; then each of the first threads does the steps of its row; then all
// threads write what the steps stored.
//
//	for each tile: fetch; meet; steps; meet; write
//
// Where there are many rows a warp takes 32 of them. Where there are few it takes fewer, and longer pieces of each:
// down to one row, in tiles of 1024 elements, whose steps wait for shared memory and no longer for that of the device.
// Threads without a row do the last row, too, and keep it to themselves, so that the warp stays together.

const (
	// chainElements is the most elements of a tile.
	chainElements = 1024
	// chainLeast is the least of a row in a tile: a sector of memory of f32.
	chainLeast = 8
	// chainBytes is the most shared memory of a block.
	chainBytes = 40 << 10
	// chainFetched is how many elements a thread has on their way at a time.
	chainFetched = 64
	// chainOperands is how many operands, and how many results, have tiles.
	chainOperands = 4
	// chainWarps is how many warps a device wants before one of them takes more rows.
	chainWarps = 1024
	// unknownRows is what a warp takes when their number is not known: neither form is bad then.
	unknownRows = 8
	// chainUnrolled is how many steps are written out, so that elements are read ahead of them.
	chainUnrolled = 4
)

// chainPlan is how a kernel with chains is done.
type chainPlan struct {
	rows, depth int64 // of a tile; powers of two
	loops       map[*kernel.Loop]*chainTiles
}

// chainTiles are the accesses of a loop that go by tiles. The steps for all of them stand at the loop's own level.
type chainTiles struct {
	loads  []*kernel.Load
	stores []*kernel.Store
}

// planChains decides whether k has chains whose rows are turned in shared memory; nil is no.
func planChains(k *kernel.Kernel) *chainPlan {
	if k.Buffers() < len(k.Params) {
		return nil
	}
	for _, p := range k.Params {
		if p.Work {
			return nil
		}
	}
	p := &chainPlan{loops: map[*kernel.Loop]*chainTiles{}}
	longest, size, loads := int64(0), int64(0), int64(0)
	for _, s := range k.Body.Stmts {
		if l, ok := s.(*kernel.Loop); ok {
			if tiles := tilesOf(k, l); tiles != nil {
				p.loops[l] = tiles
				n, known := count([]kernel.Axis{l.Axis})
				if !known {
					n = chainElements
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
			return nil // a thread that ends would not meet the others
		}
	}
	if len(p.loops) == 0 || !p.inPlace(k) {
		return nil
	}
	p.rows = unknownRows
	if n, known := count(k.Axes); known {
		for p.rows = 1; p.rows < warpSize && n > p.rows*chainWarps; p.rows *= 2 {
		}
	}
	for elements := int64(chainElements); ; elements /= 2 {
		p.depth = min(elements/p.rows, max(warpSize, int64(1)<<bits.Len64(uint64(longest-1))))
		if p.depth < chainLeast {
			return nil
		}
		if blockSize/warpSize*p.rows*p.pitch()*size <= chainBytes && loads*p.rows*p.depth/warpSize <= chainFetched {
			return p
		}
	}
}

// pitch is from one row of a tile to the next: odd, so that neighbouring rows lie in different banks.
func (p *chainPlan) pitch() int64 { return p.depth + 1 }

// inPlace reports whether what is read and written by tiles alone is: a tile is read before its rows are done, and
// written after.
func (p *chainPlan) inPlace(k *kernel.Kernel) bool {
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

// tilesOf finds what loop l of k's body reads and writes along its own axis, where neighbouring iterations of k are far
// from each other; nil when there is nothing, or too little.
func tilesOf(k *kernel.Kernel, l *kernel.Loop) *chainTiles {
	if n, known := count([]kernel.Axis{l.Axis}); l.Parallel || known && n < fewElements {
		return nil
	}
	t := &chainTiles{}
	for _, s := range l.Body.Stmts {
		switch s := s.(type) {
		case *kernel.Load:
			if (!k.Params[s.Param].Out || k.Params[s.Param].InPlace) && len(t.loads) < chainOperands &&
				turnedAlong(k, l.Axis.Var, s.At) {
				t.loads = append(t.loads, s)
			}
		case *kernel.Store:
			if len(t.stores) < chainOperands && turnedAlong(k, l.Axis.Var, s.At) {
				t.stores = append(t.stores, s)
			}
		}
	}
	if len(t.loads)+len(t.stores) == 0 {
		return nil
	}
	return t
}

// turnedAlong reports whether an access goes by neighbours along v, forwards or backwards, and not along the last axis
// of k.
func turnedAlong(k *kernel.Kernel, v kernel.Ref, at kernel.Access) bool {
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

// types are those of the elements of the tiles, in shared memory.
func (c *chainTiles) types(k *kernel.Kernel) (out []lt.Type) {
	for _, l := range c.loads {
		out = append(out, storedType(llvm.RegisterType(k.Types[l.ID])))
	}
	for _, s := range c.stores {
		out = append(out, storedType(llvm.RegisterType(k.Types[s.Val])))
	}
	return out
}

// chain is the code of a thread of a warp that takes rows.
type chain struct {
	*team
	p      *chainPlan
	m      *module
	at     kernel.Ref                   // an index into a buffer
	stored map[*kernel.Store]kernel.Ref // what is written there
	begin  value.Value                  // the warp's first row
	count  value.Value                  // of all rows
	row    value.Value                  // i64: the thread's row in the tile
	has    value.Value                  // the tile's row is this thread's own
	writes value.Value                  // and it is a row of the kernel
	tiles  int                          // that have shared memory
}

// chains writes the entry of a kernel with chains.
func (m *module) chains(k *kernel.Kernel, p *chainPlan) abi.DeviceKernel {
	with := *k // with scalars for addresses and for what is written
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
	c := &chain{team: &team{thread: m.entry(&with, "", blockSize), plan: &teamPlan{size: warpSize}}, p: p, m: m,
		at: kernel.Ref(len(k.Types)), stored: stored}
	tid := c.register("tid.x")
	c.member = c.Block().NewAnd(tid, ci(i32, warpSize-1))
	c.number = c.wide(c.Block().NewLShr(tid, ci(i32, 5)))
	c.failed = c.Stack(types.Bool, 1)
	lane := c.wide(c.member)
	c.has, c.row = constant.True, lane
	if p.rows < warpSize {
		c.has = c.Block().NewICmp(enum.IPredSLT, lane, ci(i64, p.rows))
		c.row = c.Block().NewSelect(c.has, lane, ci(i64, p.rows-1))
	}
	c.count = c.iterations()
	first := c.Plus(c.Times(c.wide(c.register("ctaid.x")), ci(i64, warps)), c.number)
	step := c.Times(c.wide(c.register("nctaid.x")), ci(i64, warps*p.rows))
	c.Count(c.Times(first, ci(i64, p.rows)), c.count, step, nil,
		func(begin value.Value, _ []value.Value) []value.Value {
			c.begin = begin
			mine := c.Plus(begin, c.row)
			c.writes = c.Block().NewAnd(c.has, c.Block().NewICmp(enum.IPredSLT, mine, c.count))
			i := c.least(mine, c.Plus(c.count, ci(i64, -1)))
			c.team.at(i)
			c.failAt(i)
			c.Block().NewStore(ci(i8, 0), c.failed)
			c.Statements(c.statement, k.Body.Stmts...)
			return nil
		})
	c.Finish()
	return abi.DeviceKernel{Launches: []abi.DeviceLaunch{{Entry: c.name, Items: items(k), PerBlock: warps * p.rows,
		Threads: blockSize}}}
}

// statement translates what is different from a thread that has its row for itself.
func (c *chain) statement(s kernel.Stmt) bool {
	switch s := s.(type) {
	case *kernel.Loop:
		if tiles := c.p.loops[s]; tiles != nil {
			c.steps(s, tiles)
			return true
		}
	case *kernel.Store:
		c.when(c.writes, func() { c.Statements(nil, s) })
		return true
	}
	return false
}

// tile is an access of a loop with its shared memory.
type tile struct {
	elem   lt.Type
	memory value.Value
	begins value.Value // i64*: where each row begins in the buffer; nil where there is one
	begin  value.Value // of the thread's own row
	along  int64       // 1, or -1 when it goes backwards
}

// tile reserves the shared memory for an access of loop s, and notes where its rows begin.
func (c *chain) tile(s *kernel.Loop, at kernel.Access, d types.DType) *tile {
	t := &tile{elem: storedType(llvm.RegisterType(d)), along: 1}
	for _, term := range at.Terms {
		if term.Var == s.Axis.Var {
			t.along, _ = term.Coef.Const()
		}
	}
	warp := func(what string, elem lt.Type, n int64) value.Value {
		all := c.m.code.Shared(fmt.Sprintf("%s.%s%d", c.name, what, c.tiles), elem, n*blockSize/warpSize)
		return c.Block().NewGetElementPtr(elem, all, c.Times(c.number, ci(i64, n)))
	}
	t.memory = warp("tile", t.elem, c.p.rows*c.p.pitch())
	c.Define(s.Axis.Var, ci(i64, s.Axis.Begin))
	t.begin = c.Offset(at)
	if c.p.rows > 1 {
		t.begins = warp("begins", i64, c.p.rows)
		c.when(c.has, func() { c.Block().NewStore(t.begin, c.Block().NewGetElementPtr(i64, t.begins, c.row)) })
	}
	c.tiles++
	return t
}

// slot is the place of an element in a tile.
func (c *chain) slot(t *tile, row, column value.Value) value.Value {
	return c.Block().NewGetElementPtr(t.elem, t.memory, c.Plus(c.Times(row, ci(i64, c.p.pitch())), column))
}

// element is number j of those that this thread moves between a tile and memory: neighbouring threads have neighbours
// of a row.
func (c *chain) element(j int64) (row, column value.Value) {
	lane := c.wide(c.member)
	if d := c.p.depth; d < warpSize {
		row = c.Plus(c.quotient(lane, d), ci(i64, j*warpSize/d))
		return row, c.Block().NewAnd(lane, ci(i64, d-1))
	}
	return ci(i64, j*warpSize/c.p.depth), c.Plus(lane, ci(i64, j*warpSize%c.p.depth))
}

// place makes c.at the place in memory of an element of t, number i of a row from the begin of the loop.
func (c *chain) place(t *tile, row, i value.Value) {
	begin := t.begin
	if t.begins != nil {
		begin = c.Block().NewLoad(i64, c.Block().NewGetElementPtr(i64, t.begins, row))
	}
	c.Define(c.at, c.Plus(begin, c.Times(i, ci(i64, t.along))))
}

// steps translates loop s for the rows of the warp.
func (c *chain) steps(s *kernel.Loop, tiles *chainTiles) {
	var loads, stores []*tile
	for _, l := range tiles.loads {
		loads = append(loads, c.tile(s, l.At, c.k.Types[l.ID]))
	}
	for _, st := range tiles.stores {
		stores = append(stores, c.tile(s, st.At, c.k.Types[st.Val]))
	}
	c.meet() // the begins are there
	state := make([]value.Value, len(s.Init))
	for i, r := range s.Init {
		state[i] = c.Value(r)
	}
	n, depth := c.length(s.Axis), c.p.depth
	each := c.p.rows * depth / warpSize
	known, ok := constantInt(n)
	whole := ok && known%depth == 0
	state = c.Count(ci(i64, 0), n, ci(i64, depth), state, func(from value.Value, state []value.Value) []value.Value {
		here := c.least(c.Minus(n, from), ci(i64, depth))
		if whole {
			here = ci(i64, depth)
		}
		last := c.Plus(here, ci(i64, -1))
		var fetched []value.Value
		for i, l := range tiles.loads {
			for j := range each {
				row, column := c.element(j)
				if !whole { // the last one again instead of one that there is not
					column = c.least(column, last)
				}
				c.place(loads[i], row, c.Plus(from, column))
				c.Statements(nil, &kernel.Load{ID: l.ID, Param: l.Param,
					At: kernel.Access{Terms: []kernel.Term{{Coef: types.Lit(1), Var: c.at}}}})
				fetched = append(fetched, c.toStored(c.Value(l.ID), loads[i].elem))
			}
		}
		for n, x := range fetched {
			row, column := c.element(int64(n) % each)
			c.Block().NewStore(x, c.slot(loads[int64(n)/each], row, column))
		}
		c.meet()
		one := func(i value.Value, state []value.Value) []value.Value {
			return c.step(s, tiles, loads, stores, from, i, state)
		}
		unrolled := c.whole(here, chainUnrolled)
		state = c.Count(ci(i64, 0), unrolled, ci(i64, chainUnrolled), state,
			func(i value.Value, state []value.Value) []value.Value {
				for u := range int64(chainUnrolled) {
					state = one(c.Plus(i, ci(i64, u)), state)
				}
				return state
			})
		state = c.Count(unrolled, here, ci(i64, 1), state, one)
		c.meet()
		if checks(s.Body) { // what failed wrote nothing into its tile
			c.leaveUnless(c.Block().NewXor(c.anyone(c.hasFailed()), constant.True))
		}
		for i, st := range tiles.stores {
			for j := range each {
				row, column := c.element(j)
				inside := value.Value(c.Block().NewICmp(enum.IPredSLT, c.Plus(c.begin, row), c.count))
				if !whole {
					inside = c.Block().NewAnd(inside, c.Block().NewICmp(enum.IPredSLT, column, here))
				}
				c.when(inside, func() {
					x := value.Value(c.Block().NewLoad(stores[i].elem, c.slot(stores[i], row, column)))
					c.Define(c.stored[st], c.ofStored(x, llvm.RegisterType(c.k.Types[st.Val])))
					c.place(stores[i], row, c.Plus(from, column))
					c.Statements(nil, &kernel.Store{Param: st.Param,
						At: kernel.Access{Terms: []kernel.Term{{Coef: types.Lit(1), Var: c.at}}}, Val: c.stored[st]})
				})
			}
		}
		return state
	})
	c.meet() // before the begins are used again
	for i, r := range s.IDs {
		c.Define(r, state[i])
	}
}

// step is step number `from` + i of loop s, for the thread's row.
func (c *chain) step(s *kernel.Loop, tiles *chainTiles, loads, stores []*tile, from, i value.Value,
	state []value.Value) []value.Value {
	return c.guarded(s.Body, state, func() []value.Value {
		c.Define(s.Axis.Var, c.Plus(c.Plus(from, i), ci(i64, s.Axis.Begin)))
		for n, r := range s.Vars {
			c.Define(r, state[n])
		}
		c.Statements(func(st kernel.Stmt) bool {
			switch st := st.(type) {
			case *kernel.Load:
				if n := slices.Index(tiles.loads, st); n >= 0 {
					x := c.Block().NewLoad(loads[n].elem, c.slot(loads[n], c.row, i))
					c.Define(st.ID, c.ofStored(x, llvm.RegisterType(c.k.Types[st.ID])))
					return true
				}
			case *kernel.Store:
				n := slices.Index(tiles.stores, st)
				if n < 0 {
					return c.statement(st)
				}
				c.when(c.has, func() {
					c.Block().NewStore(c.toStored(c.Value(st.Val), stores[n].elem), c.slot(stores[n], c.row, i))
				})
				return true
			}
			return false
		}, s.Body.Stmts...)
		next := make([]value.Value, len(s.Next))
		for n, r := range s.Next {
			next[n] = c.Value(r)
		}
		return next
	})
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
