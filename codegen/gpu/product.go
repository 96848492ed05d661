package gpu

import (
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm"
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/runtime/abi"
)

// Note [Matrix products on devices]: a block of 256 threads makes a square tile of the result. It goes through k in
// pieces that it copies to shared memory, 1024 elements of each factor, with the prologue applied; while it works on
// one piece, the next is on its way from memory into registers, and then goes to the other half of the shared memory:
//
//	fetch piece 0, put it into half 0, meet
//	for each piece: fetch the next; multiply by half p mod 2; put the next into the other half; meet
//
// A thread has a square of the tile in registers, in runs of four rows and four columns, so that what it reads of
// shared memory is 16 bytes at a time and its neighbours read what is beside it. Every element is one chain over k
// ascending, as the kernel says; rows, columns and what is left of k beyond the last whole piece are never padded,
// because adding 0 would turn -0 into +0.

const (
	productThreads = 256
	pieceElements  = 1024 // of a factor, in one piece
	perThread      = pieceElements / productThreads
	productSide    = 16 // threads along each side of a tile
)

// productPlan is how a matrix product is done.
type productPlan struct {
	*llvm.Product
	tile  int64 // rows and columns
	depth int64 // of a piece, along k
	side  int   // rows and columns of a thread
}

// manyTiles keep a device busy.
const manyTiles = 64

// planProduct decides whether k is a matrix product; nil is no.
func planProduct(k *kernel.Kernel) *productPlan {
	p := llvm.ProductOf(k)
	if p == nil || p.Row == nil || !p.Uniform || k.Buffers() < len(k.Params) {
		return nil
	}
	size := k.Types[p.Loop.IDs[0]].Bytes()
	plan := &productPlan{Product: p}
	for _, plan.tile = range []int64{128, 64, 32} {
		tiles := int64(1)
		for _, a := range k.Axes {
			n, known := count([]kernel.Axis{a})
			if !known {
				n = 1024
			}
			if a.Var == p.Row.Var || a.Var == p.Col.Var {
				n = (n + plan.tile - 1) / plan.tile
			}
			tiles *= n
		}
		if (plan.tile < 128 || size <= 4) && tiles >= manyTiles {
			break
		}
	}
	plan.depth, plan.side = pieceElements/plan.tile, int(plan.tile/productSide)
	return plan
}

// product is the code of a thread of a matrix product.
type product struct {
	*thread
	p        *productPlan
	tid      value.Value
	rows     value.Value // the extents
	cols     value.Value
	chain    value.Value
	row, col value.Value // where the tile begins
	x, y     side
	base     [2]value.Value // the thread's place in the tile: of its first run of rows, and columns
}

// side is one factor.
type side struct {
	f      llvm.Factor
	axis   kernel.Axis // the row or the column
	extent value.Value
	begin  value.Value // of the tile
	alongK bool        // neighbours in memory are so along k
	vector bool        // runs of four are whole
	elem   lt.Type
	shared value.Value // two halves of depth rows
	pitch  int64       // of a row
}

// products writes the entry of a matrix product.
func (m *module) products(k *kernel.Kernel, p *productPlan) abi.DeviceKernel {
	t := &product{thread: m.entry(k, "", productThreads), p: p}
	t.tid = t.register("tid.x")
	t.rows, t.cols, t.chain = t.Extent(p.Row.Extent), t.Extent(p.Col.Extent), t.Extent(p.Loop.Axis.Extent)
	t.x = t.sideOf(m, p.X, *p.Row, t.rows, "x")
	t.y = t.sideOf(m, p.Y, p.Col, t.cols, "y")
	run := int64(min(p.side, 4))
	for i, of := range []value.Value{t.Block().NewLShr(t.tid, ci(i32, 4)),
		t.Block().NewAnd(t.tid, ci(i32, productSide-1))} {
		t.base[i] = t.Times(t.wide(of), ci(i64, run))
	}
	tilesDown, tilesAcross := t.tiles(t.rows), t.tiles(t.cols)
	all := t.Times(tilesDown, tilesAcross)
	var items []abi.Extent
	for _, a := range p.Batches {
		all = t.Times(all, t.length(a))
		items = append(items, a.Extent)
	}
	items = append(items, abi.Extent{Dim: p.Row.Extent.Dim, Div: p.tile},
		abi.Extent{Dim: p.Col.Extent.Dim, Div: p.tile})
	t.Count(t.wide(t.register("ctaid.x")), all, t.wide(t.register("nctaid.x")), nil,
		func(i value.Value, _ []value.Value) []value.Value {
			across, rest := t.divide(i, tilesAcross)
			down, batch := t.divide(rest, tilesDown)
			t.axesAt(p.Batches, batch)
			t.row, t.col = t.Times(down, ci(i64, p.tile)), t.Times(across, ci(i64, p.tile))
			t.x.begin, t.y.begin = t.row, t.col
			t.failAt(t.Times(batch, t.Times(t.rows, t.cols)))
			t.Statements(nil, p.Before...)
			t.store(t.chains())
			return nil
		})
	t.Finish()
	return abi.DeviceKernel{Launches: []abi.DeviceLaunch{{Entry: t.name, Items: items, PerBlock: 1,
		Threads: productThreads}}}
}

// tiles is the number of tiles along an extent.
func (t *product) tiles(n value.Value) value.Value {
	if c, known := constantInt(n); known {
		return ci(i64, (c+t.p.tile-1)/t.p.tile)
	}
	return t.Block().NewUDiv(t.Plus(n, ci(i64, t.p.tile-1)), ci(i64, t.p.tile))
}

// sideOf prepares a factor: how it is read, and its shared memory. Where runs along k are turned into rows of the
// shared memory, these are four elements longer, which spreads what a warp writes over the banks.
func (t *product) sideOf(m *module, f llvm.Factor, axis kernel.Axis, extent value.Value, name string) side {
	s := side{f: f, axis: axis, extent: extent, elem: llvm.RegisterType(t.k.Types[f.Val]), pitch: t.p.tile}
	inner := axis.Var
	if f.Main != nil {
		for _, term := range f.Main.At.Terms {
			s.alongK = s.alongK || term.Var == t.p.Loop.Axis.Var && term.Coef.IsConst(1)
		}
	}
	n, known := constantInt(extent)
	if s.alongK {
		inner, s.pitch = t.p.Loop.Axis.Var, t.p.tile+4
		n, known = constantInt(t.chain)
	}
	_, ok := llvm.CanVectorise(t.k, inner, f.Stmts)
	s.vector = ok && known && n%perThread == 0
	s.shared = m.code.Shared(t.name+"."+name, s.elem, 2*t.p.depth*s.pitch)
	return s
}

// chains multiplies, and returns the values of the thread's square, row by row.
func (t *product) chains() []value.Value {
	acc := make([]value.Value, t.p.side*t.p.side)
	for i := range acc {
		acc[i] = t.Value(t.p.Loop.Init[0])
	}
	depth := ci(i64, t.p.depth)
	whole := t.quotient(t.chain, t.p.depth) // pieces
	zero := value.Value(ci(i64, 0))
	some := t.Block().NewICmp(enum.IPredSGT, whole, zero)
	t.when(some, func() {
		x, y := t.fetch(&t.x, zero, true), t.fetch(&t.y, zero, true)
		t.put(&t.x, zero, x)
		t.put(&t.y, zero, y)
	})
	t.meet()
	acc = t.Count(zero, whole, ci(i64, 1), acc, func(p value.Value, acc []value.Value) []value.Value {
		half := t.Block().NewAnd(p, ci(i64, 1))
		next := t.Plus(p, ci(i64, 1))
		more := t.Block().NewICmp(enum.IPredSLT, next, whole)
		coming := t.choose(more, func() []value.Value {
			from := t.Times(next, depth)
			return append(t.fetch(&t.x, from, true), t.fetch(&t.y, from, true)...)
		}, append(t.nothing(&t.x), t.nothing(&t.y)...))
		for kk := range t.p.depth {
			acc = t.step(half, ci(i64, kk), acc)
		}
		t.when(more, func() {
			other := t.Block().NewXor(half, ci(i64, 1))
			t.put(&t.x, other, coming[:perThread])
			t.put(&t.y, other, coming[perThread:])
		})
		t.meet()
		return acc
	})
	if n, known := constantInt(t.chain); known && n%t.p.depth == 0 {
		return acc
	}
	from := t.Times(whole, depth)
	x, y := t.fetch(&t.x, from, false), t.fetch(&t.y, from, false)
	t.put(&t.x, zero, x)
	t.put(&t.y, zero, y)
	t.meet()
	acc = t.Count(zero, t.Minus(t.chain, from), ci(i64, 1), acc, func(kk value.Value, acc []value.Value) []value.Value {
		return t.step(zero, kk, acc)
	})
	t.meet()
	return acc
}

// places are the four elements of a piece that this thread copies: along the row or column, and along k.
func (t *product) places(s *side) (across, along [perThread]value.Value) {
	number := t.Times(t.wide(t.tid), ci(i64, perThread))
	inner := t.p.tile
	if s.alongK {
		inner = t.p.depth
	}
	low := t.Block().NewAnd(number, ci(i64, inner-1))
	high := t.quotient(number, inner)
	for i := range perThread {
		l := t.Plus(low, ci(i64, int64(i)))
		if s.alongK {
			across[i], along[i] = high, l
		} else {
			across[i], along[i] = l, high
		}
	}
	return across, along
}

// fetch computes this thread's elements of the piece that begins at k. Where there is none its value is 0, which is not
// used. whole says that the piece ends before the factor does.
func (t *product) fetch(s *side, k value.Value, whole bool) []value.Value {
	across, along := t.places(s)
	kVar := t.p.Loop.Axis.Var
	inside := func(i int) value.Value {
		ok := value.Value(constant.True)
		if n, known := constantInt(s.extent); !known || n%t.p.tile != 0 {
			ok = t.Block().NewICmp(enum.IPredSLT, t.Plus(s.begin, across[i]), s.extent)
		}
		if !whole {
			ok = t.Block().NewAnd(ok, t.Block().NewICmp(enum.IPredSLT, t.Plus(k, along[i]), t.chain))
		}
		return ok
	}
	if s.vector && (whole || !s.alongK) {
		return t.choose(inside(0), func() []value.Value {
			x, at := t.Plus(s.begin, across[0]), t.Plus(k, along[0])
			if s.alongK {
				t.Define(s.axis.Var, x)
				return t.Vector(perThread, kVar, at, nil, s.f.Stmts, s.f.Val)
			}
			t.Define(kVar, at)
			return t.Vector(perThread, s.axis.Var, x, nil, s.f.Stmts, s.f.Val)
		}, t.nothing(s))
	}
	var out []value.Value
	for i := range perThread {
		out = append(out, t.choose(inside(i), func() []value.Value {
			t.Define(s.axis.Var, t.Plus(s.begin, across[i]))
			t.Define(kVar, t.Plus(k, along[i]))
			t.Statements(nil, s.f.Stmts...)
			return []value.Value{t.Value(s.f.Val)}
		}, t.nothing(s)[:1])...)
	}
	return out
}

// nothing stands for elements that are not there.
func (t *product) nothing(s *side) []value.Value {
	out := make([]value.Value, perThread)
	for i := range out {
		out[i] = constant.NewZeroInitializer(s.elem)
	}
	return out
}

// put writes what fetch gave into half of the shared memory.
func (t *product) put(s *side, half value.Value, x []value.Value) {
	across, along := t.places(s)
	at := func(i int) value.Value {
		row := t.Plus(t.Times(half, ci(i64, t.p.depth)), along[i])
		return t.Plus(t.Times(row, ci(i64, s.pitch)), across[i])
	}
	if s.alongK {
		for i := range x {
			t.Block().NewStore(x[i], t.Block().NewGetElementPtr(s.elem, s.shared, at(i)))
		}
		return
	}
	t.storeRun(s.elem, s.shared, at(0), x)
}

// step is one k for the thread's square.
func (t *product) step(half, kk value.Value, acc []value.Value) []value.Value {
	row := t.Plus(t.Times(half, ci(i64, t.p.depth)), kk)
	x, y := t.square(&t.x, row, t.base[0]), t.square(&t.y, row, t.base[1])
	out := make([]value.Value, len(acc))
	for i := range acc {
		t.Define(t.p.X.Val, x[i/t.p.side])
		t.Define(t.p.Y.Val, y[i%t.p.side])
		t.Define(t.p.Loop.Vars[0], acc[i])
		t.Statements(nil, t.p.Step...)
		out[i] = t.Value(t.p.Loop.Next[0])
	}
	return out
}

// square reads the thread's elements of a row of shared memory.
func (t *product) square(s *side, row, base value.Value) []value.Value {
	run := min(t.p.side, 4)
	var out []value.Value
	for r := range t.p.side / run {
		at := t.Plus(t.Times(row, ci(i64, s.pitch)), t.Plus(base, ci(i64, int64(r*run*productSide))))
		out = append(out, t.loadRun(s.elem, s.shared, at, run)...)
	}
	return out
}

// place is the row (dim 0) or column (dim 1) of number i of the thread's square.
func (t *product) place(dim, i int) value.Value {
	run := min(t.p.side, 4)
	begin := [2]value.Value{t.row, t.col}[dim]
	return t.Plus(t.Plus(begin, t.base[dim]), ci(i64, int64(i/run*run*productSide+i%run)))
}

// store runs the epilogue for the thread's square.
func (t *product) store(acc []value.Value) {
	side, run := t.p.side, min(t.p.side, 4)
	result := t.p.Loop.IDs[0]
	cols, known := constantInt(t.cols)
	_, ok := llvm.CanVectorise(t.k, t.p.Col.Var, t.p.After, result)
	for i := range side {
		row := t.place(0, i)
		t.when(t.Block().NewICmp(enum.IPredSLT, row, t.rows), func() {
			t.Define(t.p.Row.Var, row)
			for j := 0; j < side; j++ {
				col := t.place(1, j)
				inside := t.Block().NewICmp(enum.IPredSLT, col, t.cols)
				if ok && known && cols%int64(run) == 0 {
					t.when(inside, func() {
						given := map[kernel.Ref][]value.Value{result: acc[i*side+j : i*side+j+run]}
						t.Vector(run, t.p.Col.Var, col, given, t.p.After, scalar.None)
					})
					j += run - 1
					continue
				}
				t.when(inside, func() {
					t.Define(t.p.Col.Var, col)
					t.Define(result, acc[i*side+j])
					t.Statements(nil, t.p.After...)
				})
			}
		})
	}
}
