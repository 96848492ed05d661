package gpu

import (
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

// Note [Atomic scatter]: a loop of ordered scatter (Note [Ordered scatter]) that adds integers gives the same sums in
// every order. So its iterations are threads, over the whole grid, and each adds to its element by one atomic addition
// that nobody waits for. The elements are initialised by a launch of their own before it.
//
//	fill: for each row and element  { row[e] = ... }
//	add:  for each row and position { %p = ...; %x = ...; atomically row[%p] += %x }
//
// Where the elements of one position lie side by side in neighbouring rows, neighbouring threads take these; else a
// block takes a tile of positions of one row. A thread loads for several positions before it looks at the first of
// them: a check waits for what it checks.
//
// Where a row has so few elements that many additions meet, each block adds to a table in shared memory, for as many
// positions as it gets, and then adds the table to the row.
//
// Additions of 32 and 64 bits are atomic on devices. Elements of 8 and 16 bits are added to in order.

// atomicScatterPlan is how a kernel is done whose only loops initialise a buffer and add integers to it.
type atomicScatterPlan struct {
	scatterKernel
	amount kernel.Ref // what is added

	tiled  bool       // a block takes tiles of one row
	across bool       // neighbouring threads take neighbouring rows
	table  int64      // the elements of a table in shared memory; 0 is none
	index  kernel.Ref // of such an element
	pieces int64      // blocks of a row, each with a table
}

// planAtomicScatter decides whether k adds integers, in any order; nil is no.
func planAtomicScatter(k *kernel.Kernel, tune *profile.GPU) *atomicScatterPlan {
	alone := scatterAlone(k)
	if alone == nil {
		return nil
	}
	p := &atomicScatterPlan{scatterKernel: *alone}
	if !p.anyOrder(k) {
		return nil
	}
	rows, fewRows := count(k.Axes)
	n, known := count([]kernel.Axis{p.loop.Axis})
	if fewRows && known && rows*n < int64(tune.ScatterLeast) {
		return nil // one launch takes less time than two
	}
	store := &kernel.Block{Stmts: []kernel.Stmt{p.of.store}}
	p.across = len(k.Axes) > 0 && reads(store, k.Axes[len(k.Axes)-1].Var)
	tile := int64(gridThreads * tune.ScatterAhead)
	p.tiled = !p.across && (!known || 2*n >= tile)
	if !p.tiled || !fewRows || rows == 0 {
		return p
	}
	size, index := p.rowSize()
	bytes := int64(k.Params[p.of.store.Param].DType.Bytes())
	if size == 0 || size*bytes > int64(tune.ScatterTable) || known && n < 4*size {
		return p
	}
	p.table, p.index = size, index
	least := max(tile, 4*size) // positions that a table is worth
	for p.pieces = 1; p.pieces*rows < int64(tune.ScatterBlocks) && (!known || n >= 2*p.pieces*least); p.pieces *= 2 {
	}
	return p
}

// anyOrder finds what is added; false says that the order of the iterations matters, or that devices have no such
// atomic addition.
func (p *atomicScatterPlan) anyOrder(k *kernel.Kernel) bool {
	u := p.of
	if d := k.Types[u.load.ID]; !d.IsInt() || d.Bytes() < 4 || len(u.chain) != 1 {
		return false
	}
	add, ok := u.chain[0].(*kernel.Let)
	if !ok || add.In.Op != scalar.Add || add.ID != u.store.Val {
		return false
	}
	p.amount = add.In.Args[0]
	if p.amount == u.load.ID {
		p.amount = add.In.Args[1]
	}
	return p.amount != u.load.ID
}

// atomicScatter writes the entries of a kernel that adds integers.
func (m *module) atomicScatter(k *kernel.Kernel, p *atomicScatterPlan) abi.DeviceKernel {
	return inOrder(m.fillElements(k, &p.scatterKernel), m.addAtPositions(k, p))
}

// adder is the code of a thread that adds at positions.
type adder struct {
	*group
	p     *atomicScatterPlan
	table value.Value // shared memory; nil is none
}

// addAtPositions writes the entry that adds.
func (m *module) addAtPositions(k *kernel.Kernel, p *atomicScatterPlan) abi.DeviceKernel {
	g := &group{thread: m.entry(k, "add", gridThreads), plan: &cooperativePlan{size: gridThreads}}
	a := &adder{group: g, p: p}
	g.member = g.register("tid.x")
	g.failed = g.Stack(types.Bool, 1)
	n, ahead := g.length(p.loop.Axis), int64(m.tune.ScatterAhead)
	positions := p.loop.Axis.Extent.Dim
	launch := abi.DeviceLaunch{Entry: g.name, PerBlock: gridThreads, Threads: gridThreads}
	pieces := abi.Extent{Dim: positions, Div: ahead}
	switch {
	case p.table > 0:
		a.table = m.code.Shared(g.name+".table", a.elem(), p.table)
		launch.PerBlock, pieces = 1, abi.Extent{Dim: types.Lit(p.pieces)}
	case p.tiled:
		launch.PerBlock, pieces = 1, abi.Extent{Dim: positions, Div: gridThreads * ahead}
	case !p.across:
		pieces.Div = 1
	}
	launch.Items = append(items(k), pieces)
	begin, step := g.zext(g.register("ctaid.x")), g.zext(g.register("nctaid.x"))
	if !p.tiled {
		begin, step = g.globalThread(), g.Times(step, ci(i64, gridThreads))
	}
	rows, each := g.iterations(), g.Extent(pieces)
	g.Count(begin, g.Times(rows, each), step, nil, func(i value.Value, _ []value.Value) []value.Value {
		row, piece := value.Value(ci(i64, 0)), i
		switch {
		case len(k.Axes) == 0:
		case p.across:
			row, piece = g.divide(i, rows)
		default:
			piece, row = g.divide(i, each)
		}
		g.setAxes(row)
		g.failAt(row)
		g.Statements(func(s kernel.Stmt) bool {
			switch s {
			case kernel.Stmt(p.loop):
				a.piece(piece, n)
				return true
			case kernel.Stmt(p.fill):
				return true
			}
			return false
		}, k.Body.Stmts...)
		return nil
	})
	g.Finish()
	return kernelOf(launch, 0)
}

// elem is the type of an element.
func (a *adder) elem() *lt.IntType {
	return device.RegisterType(a.k.Types[a.p.of.load.ID]).(*lt.IntType)
}

// piece does a piece of the n positions of a row.
func (a *adder) piece(piece, n value.Value) {
	ahead := int64(a.tune.ScatterAhead)
	tile := ci(i64, gridThreads*ahead)
	switch {
	case a.table != nil:
		begin := a.Times(piece, tile)
		some := a.Block().NewICmp(enum.IPredSLT, begin, n)
		a.when(some, func() { a.throughTable(begin, n, ci(i64, gridThreads*ahead*a.p.pieces)) })
	case a.p.tiled:
		a.add(a.Plus(a.Times(piece, tile), a.zext(a.member)), n, gridThreads, ahead)
	case a.p.across:
		a.add(a.Times(piece, ci(i64, ahead)), n, 1, ahead)
	default:
		a.add(piece, n, 1, 1)
	}
}

// throughTable adds the tiles from begin on, step by step, to the table, and the table to the row.
func (a *adder) throughTable(begin, n, step value.Value) {
	each := func(f func(e, slot value.Value)) {
		a.Count(a.zext(a.member), ci(i64, a.p.table), ci(i64, gridThreads), nil,
			func(e value.Value, _ []value.Value) []value.Value {
				f(e, a.slot(e))
				return nil
			})
	}
	each(func(_, slot value.Value) { a.Block().NewStore(ci(a.elem(), 0), slot) })
	a.barrier()
	a.Count(begin, n, step, nil, func(p value.Value, _ []value.Value) []value.Value {
		a.add(a.Plus(p, a.zext(a.member)), n, gridThreads, int64(a.tune.ScatterAhead))
		return nil
	})
	a.barrier()
	each(func(e, slot value.Value) {
		x := a.Block().NewLoad(a.elem(), slot)
		a.when(a.Block().NewICmp(enum.IPredNE, x, ci(a.elem(), 0)), func() {
			a.Define(a.p.index, e)
			a.addTo(a.Address(a.p.of.store.Param, a.p.of.store.At), x)
		})
	})
	a.barrier() // before the table is used again
}

// slot is element e of the table.
func (a *adder) slot(e value.Value) value.Value {
	return a.Block().NewGetElementPtr(a.elem(), a.table, e)
}

// addTo adds x to what stands at an address.
func (a *adder) addTo(address, x value.Value) {
	a.Block().NewAtomicRMW(enum.AtomicOpAdd, address, x, enum.AtomicOrderingMonotonic)
}

// add does the positions first, first+step, ..., so many, as far as they are below n. All of them load before the first
// of them is checked; a thread beyond the last position loads for that one again.
func (a *adder) add(first, n value.Value, step, many int64) {
	p, v := a.p, a.p.loop.Axis.Var
	last := a.Plus(n, ci(i64, -1))
	at := make([]value.Value, many)
	loaded := make([][]value.Value, many)
	for j := range many {
		at[j] = a.Plus(first, ci(i64, j*step))
		a.Define(v, a.minimum(at[j], last))
		for _, l := range p.early {
			a.Statements(nil, l)
			loaded[j] = append(loaded[j], a.Value(l.ID))
		}
	}
	for j, i := range at {
		a.when(a.Block().NewICmp(enum.IPredSLT, i, n), func() {
			a.guarded(p.loop.Body, nil, func() []value.Value {
				a.Define(v, i)
				for e, l := range p.early {
					a.Define(l.ID, loaded[j][e])
				}
				a.Statements(nil, p.late...)
				x := a.Value(p.amount)
				if a.table != nil {
					a.addTo(a.slot(a.Value(p.index)), x)
				} else {
					a.addTo(a.Address(p.of.store.Param, p.of.store.At), x)
				}
				return nil
			})
		})
	}
}
