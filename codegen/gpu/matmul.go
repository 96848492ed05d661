package gpu

import (
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/device"
	"healc/codegen/schedule"
	"healc/codegen/target/profile"
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/ir/scalar"
	"healc/runtime/abi"
)

// Note [Matrix products on devices]: a block of 256 threads computes a square tile of the result. It goes through k in
// slices, 1024 elements of each factor, which it copies to shared memory with the prologue applied. The shared memory
// is double buffered: while the block multiplies one slice, it loads the next into registers.
//
//	load slice 0; store it to half 0; barrier
//	for each slice p: load the next; multiply half p mod 2; store the next to the other half; barrier
//
// A thread has a register tile in runs of four rows and four columns. So it reads shared memory by 16 bytes, and its
// neighbours read the neighbouring bytes. Every element is one chain over k ascending, as the kernel says. Rows,
// columns and the rest of k beyond the last whole slice are never padded, because adding 0 would turn -0 into +0.
//
// Chains by blocks (Note [Products by blocks] in ir/ops) have three register tiles: the sums and the two chains of a
// block, which change places at each step. A slice is a block or a part of one, and the block ends with its last slice.

const (
	matmulThreads   = schedule.BlockThreads
	copiedPerThread = schedule.SliceElements / matmulThreads
	threadsPerSide  = schedule.ThreadsPerSide
)

// planMatmul is how a kernel that is a matrix product is cut up, by its schedule; nil is no.
func planMatmul(k *kernel.Kernel, tune *profile.GPU) *schedule.BlockPlan {
	c := analysis.ContractionOf(k)
	if c == nil {
		return nil
	}
	d := schedule.MatmulForm(k.Schedule)
	if d == nil {
		d, _ = schedule.MatmulBlocks(c, tune)
	}
	if d == nil || schedule.CheckMatmulBlocks(c, d) != nil {
		return nil
	}
	return schedule.MatmulBlocksOf(c, d)
}

// matmul is the code of a thread of a matrix product.
type matmul struct {
	*thread
	p        *schedule.BlockPlan
	tid      value.Value
	rows     value.Value // the extents
	cols     value.Value
	kExtent  value.Value
	steps    value.Value // of the chains
	mma      bool
	lane     [2]value.Value // of mma: its number in a group of four, and the group
	row, col value.Value    // the begin of the block's tile
	x, y     factorTile
	base     [2]value.Value // the thread's first row and column in that tile
}

// factorTile is the part of one factor that a block's tile needs.
type factorTile struct {
	f      analysis.Operand
	axis   kernel.Axis // of the kernel: the row or the column
	extent value.Value
	begin  value.Value // of the tile
	alongK bool        // the factor is contiguous along k
	vector bool        // whether four neighbours are loaded at once
	elem   lt.Type
	shared value.Value // two halves of depth rows
	pitch  int64       // of a row
}

// matmul writes the entry of a matrix product.
func (m *module) matmul(k *kernel.Kernel, p *schedule.BlockPlan) abi.DeviceKernel {
	t := &matmul{thread: m.entry(k, "", matmulThreads), p: p}
	t.mma = p.Fours && m.mma
	t.tid = t.register("tid.x")
	t.rows, t.cols, t.kExtent = t.Extent(p.Row.Extent), t.Extent(p.Col.Extent), t.Extent(p.Chains.Axis.Extent)
	t.steps = t.kExtent
	if p.Fours {
		t.steps = t.quotient(t.Plus(t.kExtent, ci(i64, perStep-1)), perStep)
	}
	t.x = t.factorTileOf(m, p.X, *p.Row, t.rows, "x")
	t.y = t.factorTileOf(m, p.Y, p.Col, t.cols, "y")
	t.place()
	tilesDown, tilesAcross := t.tiles(t.rows), t.tiles(t.cols)
	all := t.Times(tilesDown, tilesAcross)
	var items []abi.Extent
	for _, a := range p.Batches {
		all = t.Times(all, t.length(a))
		items = append(items, a.Extent)
	}
	items = append(items, abi.Extent{Dim: p.Row.Extent.Dim, Div: p.Tile},
		abi.Extent{Dim: p.Col.Extent.Dim, Div: p.Tile})
	t.Count(t.zext(t.register("ctaid.x")), all, t.zext(t.register("nctaid.x")), nil,
		func(i value.Value, _ []value.Value) []value.Value {
			across, rest := t.divide(i, tilesAcross)
			down, batch := t.divide(rest, tilesDown)
			t.setAxesOf(p.Batches, batch)
			t.row, t.col = t.Times(down, ci(i64, p.Tile)), t.Times(across, ci(i64, p.Tile))
			t.x.begin, t.y.begin = t.row, t.col
			t.failAt(t.Times(batch, t.Times(t.rows, t.cols)))
			t.Statements(nil, p.Before...)
			t.store(t.multiply())
			return nil
		})
	t.Finish()
	return abi.DeviceKernel{Launches: []abi.DeviceLaunch{{Entry: t.name, Items: items, PerBlock: 1,
		Threads: matmulThreads}}}
}

// place finds the thread's first row and column.
func (t *matmul) place() {
	part := func(shift, mask, times int64) value.Value {
		x := t.Block().NewAnd(t.Block().NewLShr(t.tid, ci(i32, shift)), ci(i32, mask))
		return t.Times(t.zext(x), ci(i64, times))
	}
	if t.mma {
		t.lane = [2]value.Value{part(0, 3, 1), part(2, 7, 1)}
		t.base[0] = t.Plus(part(7, 1, t.p.Tile/2), t.lane[1])
		t.base[1] = t.Plus(part(5, 3, t.p.Tile/4), part(0, 3, 2))
		return
	}
	run := int64(min(t.p.Side, 4))
	for i, of := range []value.Value{t.Block().NewLShr(t.tid, ci(i32, 4)),
		t.Block().NewAnd(t.tid, ci(i32, threadsPerSide-1))} {
		t.base[i] = t.Times(t.zext(of), ci(i64, run))
	}
}

// tiles is the number of tiles along an extent.
func (t *matmul) tiles(n value.Value) value.Value {
	if c, known := constantInt(n); known {
		return ci(i64, (c+t.p.Tile-1)/t.p.Tile)
	}
	return t.Block().NewUDiv(t.Plus(n, ci(i64, t.p.Tile-1)), ci(i64, t.p.Tile))
}

// factorTileOf decides how a factor is read, and reserves its shared memory. A factor that is contiguous along k is
// transposed into shared memory, whose rows then are four elements longer, so that a warp's stores go to different
// banks.
func (t *matmul) factorTileOf(m *module, f analysis.Operand, axis kernel.Axis, extent value.Value,
	name string) factorTile {
	s := factorTile{f: f, axis: axis, extent: extent, elem: device.RegisterType(t.k.Types[f.Val]), pitch: t.p.Tile}
	inner := axis.Var
	if f.Main != nil {
		for _, term := range f.Main.At.Terms {
			s.alongK = s.alongK || term.Var == t.p.Chains.Axis.Var && term.Coef.IsConst(1)
		}
	}
	n, known := constantInt(extent)
	if s.alongK {
		inner, s.pitch = t.p.Chains.Axis.Var, t.p.Tile+4
		n, known = constantInt(t.kExtent)
	}
	_, ok := device.CanVectorise(t.k, inner, f.Stmts)
	s.vector = ok && known && n%copiedPerThread == 0
	if t.p.Fours {
		s.vector = s.vector && t.wholeSteps() && (!s.alongK || n%(copiedPerThread*perStep) == 0)
	}
	if t.mma { // so that the lanes of a warp read different banks
		s.pitch = t.p.Tile + 8
	}
	s.shared = m.code.Shared(t.name+"."+name, s.elem, 2*t.p.Depth*s.pitch)
	return s
}

// sums is the number of sums of a thread.
func (t *matmul) sums() int { return t.p.Side * t.p.Side }

// multiply returns the thread's register tile, row by row.
func (t *matmul) multiply() []value.Value {
	acc := make([]value.Value, t.sums()*len(t.p.Chains.Init))
	for i := range acc {
		acc[i] = t.Value(t.p.Chains.Init[0])
	}
	depth := ci(i64, t.p.Depth)
	whole := t.quotient(t.steps, t.p.Depth) // slices
	zero := value.Value(ci(i64, 0))
	some := t.Block().NewICmp(enum.IPredSGT, whole, zero)
	t.when(some, func() {
		x, y := t.loadSlice(&t.x, zero, true), t.loadSlice(&t.y, zero, true)
		t.storeSlice(&t.x, zero, x)
		t.storeSlice(&t.y, zero, y)
	})
	t.barrier()
	acc = t.Count(zero, whole, ci(i64, 1), acc, func(p value.Value, acc []value.Value) []value.Value {
		half := t.Block().NewAnd(p, ci(i64, 1))
		next := t.Plus(p, ci(i64, 1))
		more := t.Block().NewICmp(enum.IPredSLT, next, whole)
		coming := t.ifElse(more, func() []value.Value {
			from := t.Times(next, depth)
			return append(t.loadSlice(&t.x, from, true), t.loadSlice(&t.y, from, true)...)
		}, append(t.zeros(&t.x), t.zeros(&t.y)...))
		acc = t.slice(half, acc)
		acc = t.endOfSlice(next, acc)
		t.when(more, func() {
			other := t.Block().NewXor(half, ci(i64, 1))
			t.storeSlice(&t.x, other, coming[:copiedPerThread])
			t.storeSlice(&t.y, other, coming[copiedPerThread:])
		})
		t.barrier()
		return acc
	})
	if n, known := constantInt(t.steps); known && n%t.p.Depth == 0 {
		return t.fold(acc)[:t.sums()]
	}
	from := t.Times(whole, depth)
	x, y := t.loadSlice(&t.x, from, false), t.loadSlice(&t.y, from, false)
	t.storeSlice(&t.x, zero, x)
	t.storeSlice(&t.y, zero, y)
	t.barrier()
	if t.p.Fours {
		acc = t.slice(zero, acc)
		t.barrier()
		return acc
	}
	acc = t.Count(zero, t.Minus(t.kExtent, from), ci(i64, 1), acc,
		func(kk value.Value, acc []value.Value) []value.Value { return t.outerProduct(zero, kk, acc) })
	t.barrier()
	return t.fold(acc)[:t.sums()]
}

// endOfSlice ends a block of the chains behind so many slices, where one ends there.
func (t *matmul) endOfSlice(slices value.Value, acc []value.Value) []value.Value {
	each := t.p.BlockSteps / t.p.Depth
	if each <= 1 {
		return t.fold(acc)
	}
	ends := t.Block().NewICmp(enum.IPredEQ, t.Block().NewAnd(slices, ci(i64, each-1)), ci(i64, 0))
	return t.ifElse(ends, func() []value.Value { return t.fold(acc) }, acc)
}

// fold adds the two chains of a block to the sums, and begins them anew.
func (t *matmul) fold(acc []value.Value) []value.Value {
	if t.p.BlockSteps == 0 {
		return acc
	}
	n := t.sums()
	out := make([]value.Value, len(acc))
	for i := range n {
		out[i] = t.Block().NewFAdd(acc[i], t.Block().NewFAdd(acc[n+i], acc[2*n+i]))
		out[n+i], out[2*n+i] = t.Value(t.p.Chains.Init[0]), t.Value(t.p.Chains.Init[0])
	}
	return out
}

// copied are the four elements of a slice that this thread copies: along the row or column, and along k.
func (t *matmul) copied(s *factorTile) (across, along [copiedPerThread]value.Value) {
	number := t.Times(t.zext(t.tid), ci(i64, copiedPerThread))
	inner := t.p.Tile
	if s.alongK {
		inner = t.p.Depth
	}
	low := t.Block().NewAnd(number, ci(i64, inner-1))
	high := t.quotient(number, inner)
	for i := range copiedPerThread {
		l := t.Plus(low, ci(i64, int64(i)))
		if s.alongK {
			across[i], along[i] = high, l
		} else {
			across[i], along[i] = l, high
		}
	}
	return across, along
}

// loadSlice computes this thread's elements of the slice that begins at k. Elements beyond the factor are 0, and are
// not used. whole says that the slice ends before the factor does.
func (t *matmul) loadSlice(s *factorTile, k value.Value, whole bool) []value.Value {
	across, along := t.copied(s)
	kVar := t.p.Chains.Axis.Var
	inside := func(i int) value.Value {
		ok := value.Value(constant.True)
		if n, known := constantInt(s.extent); !known || n%t.p.Tile != 0 {
			ok = t.Block().NewICmp(enum.IPredSLT, t.Plus(s.begin, across[i]), s.extent)
		}
		if !whole {
			ok = t.Block().NewAnd(ok, t.Block().NewICmp(enum.IPredSLT, t.Plus(k, along[i]), t.steps))
		}
		return ok
	}
	if t.p.Fours {
		return t.loadBytes(s, k, inside, whole)
	}
	if s.vector && (whole || !s.alongK) {
		return t.ifElse(inside(0), func() []value.Value {
			x, at := t.Plus(s.begin, across[0]), t.Plus(k, along[0])
			if s.alongK {
				t.Define(s.axis.Var, x)
				return t.Vector(copiedPerThread, kVar, at, nil, s.f.Stmts, s.f.Val)
			}
			t.Define(kVar, at)
			return t.Vector(copiedPerThread, s.axis.Var, x, nil, s.f.Stmts, s.f.Val)
		}, t.zeros(s))
	}
	var out []value.Value
	for i := range copiedPerThread {
		out = append(out, t.ifElse(inside(i), func() []value.Value {
			t.Define(s.axis.Var, t.Plus(s.begin, across[i]))
			t.Define(kVar, t.Plus(k, along[i]))
			t.Statements(nil, s.f.Stmts...)
			return []value.Value{t.Value(s.f.Val)}
		}, t.zeros(s)[:1])...)
	}
	return out
}

// zeros stand for elements beyond the factor.
func (t *matmul) zeros(s *factorTile) []value.Value {
	out := make([]value.Value, copiedPerThread)
	for i := range out {
		out[i] = constant.NewZeroInitializer(s.elem)
	}
	return out
}

// storeSlice stores what loadSlice gave to half of the shared memory.
func (t *matmul) storeSlice(s *factorTile, half value.Value, x []value.Value) {
	across, along := t.copied(s)
	at := func(i int) value.Value {
		row := t.Plus(t.Times(half, ci(i64, t.p.Depth)), along[i])
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

// slice adds the products of a slice in half of the shared memory to the thread's register tile.
func (t *matmul) slice(half value.Value, acc []value.Value) []value.Value {
	if t.mma {
		return t.warpProducts(half, acc)
	}
	for kk := range t.p.Depth {
		acc = t.outerProduct(half, ci(i64, kk), acc)
	}
	return acc
}

// outerProduct adds the products of one k to the thread's register tile. An operand may be a scalar that is defined
// before the loops, as a constant is, and is read behind it, too.
func (t *matmul) outerProduct(half, kk value.Value, acc []value.Value) []value.Value {
	row := t.Plus(t.Times(half, ci(i64, t.p.Depth)), kk)
	x, y := t.fragment(&t.x, row, t.base[0]), t.fragment(&t.y, row, t.base[1])
	n := t.sums()
	out := make([]value.Value, n, len(acc))
	chains := acc[:n]
	if t.p.BlockSteps > 0 { // the chain that goes on, and will wait in the next step
		out, chains = append(out[:0], acc[:n]...), acc[n:2*n]
		out = append(append(out, acc[2*n:]...), make([]value.Value, n)...)
	}
	for i := range n {
		if t.p.Fours {
			out[i] = t.dot(x[i/t.p.Side], y[i%t.p.Side], acc[i])
			continue
		}
		operands := map[kernel.Ref]value.Value{t.p.X.Val: x[i/t.p.Side], t.p.Y.Val: y[i%t.p.Side]}
		t.With(operands, func() {
			t.Define(t.p.Carried(), chains[i])
			t.Statements(nil, t.p.Step()...)
			out[len(acc)-n+i] = t.Value(t.p.Last.ID)
		})
	}
	return out
}

// fragment loads the thread's elements of a row of shared memory.
func (t *matmul) fragment(s *factorTile, row, base value.Value) []value.Value {
	run := min(t.p.Side, 4)
	var out []value.Value
	for r := range t.p.Side / run {
		at := t.Plus(t.Times(row, ci(i64, s.pitch)), t.Plus(base, ci(i64, int64(r*run*threadsPerSide))))
		out = append(out, t.loadRun(s.elem, s.shared, at, run)...)
	}
	return out
}

// position is row (dim 0) or column (dim 1) number i of the thread's register tile.
func (t *matmul) position(dim, i int) value.Value {
	begin := [2]value.Value{t.row, t.col}[dim]
	if t.mma {
		far := [2][2]int64{{16, 8}, {8, 1}}[dim]
		return t.Plus(t.Plus(begin, t.base[dim]), ci(i64, int64(i/2)*far[0]+int64(i%2)*far[1]))
	}
	run := min(t.p.Side, 4)
	return t.Plus(t.Plus(begin, t.base[dim]), ci(i64, int64(i/run*run*threadsPerSide+i%run)))
}

// store runs the epilogue for the thread's register tile.
func (t *matmul) store(acc []value.Value) {
	side, run := t.p.Side, min(t.p.Side, 4)
	if t.mma {
		run = 2
	}
	result := t.p.Sum
	cols, known := constantInt(t.cols)
	_, ok := device.CanVectorise(t.k, t.p.Col.Var, t.p.After, result)
	for i := range side {
		row := t.position(0, i)
		t.when(t.Block().NewICmp(enum.IPredSLT, row, t.rows), func() {
			t.Define(t.p.Row.Var, row)
			for j := 0; j < side; j++ {
				col := t.position(1, j)
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
