package matmul

import (
	"fmt"
	"strings"

	"healc/codegen/llvm/loops"
	"healc/codegen/target"
	"healc/codegen/target/profile"
	"healc/ir/kernel/analysis"
	"healc/ir/scalar"
)

// Schedule is how a contraction is cut up; see Note [Matrix products].
type Schedule struct {
	Planned    bool  // false: this machine runs the plain loop
	pairs      bool  // a step takes two elements of the chains (Note [Pairs])
	apartSums  bool  // products of a row are computed before they are added (Note [Products together])
	steps      int64 // of a chain
	lanes      int   // elements of a vector
	Rows, Vecs int   // the tile in registers: rows by vectors
	Low        bool  // the elements of x for a step are in registers, not those of y (Note [Low tiles])
	Panel      int64 // columns of a panel: vecs*w
	BlockCols  int64 // columns of a block, whole panels
	Chunk      int64 // rows whose unfinished sums wait apart at a time; whole tiles
	Piece      int64 // of k
	band       int64 // rows of x that are copied together, when they lie side by side
	PackX      bool
	PackY      bool
	xAcross    bool  // rows of x are copied with the rows side by side, as they lie in memory
	SideBySide bool  // elements of x for a step of a tile lie side by side in the copy (Note [Side by side])
	ByRows     bool  // y is read row after row for many columns
	Turned     bool  // y is not copied, but transposed in the registers of the tile
	YAlong     bool  // y lies in memory along k: it is transposed while it is copied
	apart      bool  // unfinished sums wait in memory of the thread, because the result has no place for them
	far        int64 // elements between rows of the copy of x; between steps of k when they lie across
}

const (
	nominalExtent = 1024    // for an extent that is not known
	page          = 4 << 10 // bytes

	// The height and the width of low tiles, in rows and vectors.
	LowRows = 3
	LowVecs = 4
)

// Note [Side by side]
//
// With 16 registers a tile has two vectors, so that an element of x meets two multiply-adds. With 32 it meets four.
// Where rows of x are a multiple of a page apart, the lines of a tile share a few sets of the first-level cache, and
// the panels drive them out. So rows are copied there, with the elements of a step side by side, and transposed if
// they lie along k. The copy pays for many panels only, so the block of y is as large as the stack allows: more than
// the second-level cache holds, but it is read in order (docs/tuning/matrix-products.md).

// Note [Low tiles]
//
// Tiles of 3 by 4 read 7 times for 12 multiply-adds, tiles of 6 by 2 8 times. That tells where something else shares
// the core's ports for reading, as long as y comes from the first-level cache and tiles are not too short for their
// ends (docs/tuning/matrix-products.md).

// String says what was decided, for people.
func (c *Contraction) String() string {
	if !c.Planned {
		return "plain loops: tiles gain nothing for this shape and processor"
	}
	var b strings.Builder
	switch {
	case c.Size.M == 1 && c.ByRows:
		fmt.Fprintf(&b, "a vector by a matrix that is read row after row, %d columns at a time", c.BlockCols)
	case c.Size.M == 1:
		fmt.Fprintf(&b, "a vector by a matrix, %d vectors of %d columns", c.Vecs, c.lanes)
	default:
		fmt.Fprintf(&b, "tiles of %d rows by %d vectors of %d columns, pieces of %d along k, blocks of %d columns",
			c.Rows, c.Vecs, c.lanes, c.Piece, c.BlockCols)
	}
	for _, x := range []struct {
		is   bool
		text string
	}{
		{c.PackX, "packs the operand of the rows"}, {c.PackY, "packs the operand of the columns"},
		{c.Turned, "transposes the operand of the columns in registers"}, {c.pairs, "adds pairs of products"},
		{c.Free, "for any shape"},
	} {
		if x.is {
			b.WriteString("; " + x.text)
		}
	}
	return b.String()
}

// Plan decides how c is computed on a machine; false when the plain loop is as good.
func (c *Contraction) Plan(mach target.Machine) bool {
	p := mach.Profile.Matmul
	reg := analysis.ArithmeticType(c.Acc)
	size := int64(reg.Bytes())
	if reg.IsFloat() && mach.NoFMA {
		return false // every fma is a call
	}
	c.lanes = mach.VectorBits / 8 / int(size)
	vectors := (c.Size.N + int64(c.lanes) - 1) / int64(c.lanes)
	c.Vecs = tileVectors(vectors, mach)
	// Beside the sums, a register for a broadcast element and one row of y; two when there is room, because LLVM
	// reads the next one early.
	most := (mach.Registers - 1 - c.Vecs) / c.Vecs
	if c.Vecs == 2 && mach.Registers >= 32 {
		most--
	}
	if c.Vecs == 1 {
		most = min(most, 24) // reads of x are the bound then
	}
	if c.apartSums = mach.IntSums && c.Fma.In.Op == scalar.Mul; c.apartSums { // and one row of products
		most = min(most, (mach.Registers-1-2*c.Vecs)/c.Vecs)
	}
	c.steps = c.Size.K
	if c.Size.M == 1 {
		return c.planVector(mach)
	}
	if c.pairs = mach.PairSums && c.Narrow(c.X) && c.Narrow(c.Y); c.pairs {
		c.steps = (c.Size.K + 1) / 2
	}
	if c.Low = c.lowPays(mach, vectors); c.Low {
		c.Vecs, most = LowVecs, LowRows
	}
	c.Rows = bestRows(c.Size.M, most, c.steps)
	c.Panel = int64(c.Vecs * c.lanes)

	along, across, okX := c.Strides(c.X, c.RowVar())
	direct := okX && c.InMemory(c.X)
	computed := c.X.Load == nil
	reuse := (c.Size.N + c.Panel - 1) / c.Panel
	c.xAcross = okX && along != 1 && across == 1
	c.PackX = !direct || c.pairs || reuse >= 4 && c.Size.K*size >= 512 && along != 1

	along, across, okY := c.Strides(c.Y, c.Col.Var)
	direct = okY && across == 1 && c.InMemory(c.Y)
	c.YAlong = okY && across != 1 && along == 1
	if c.Free { // the strides are not known, so that a tile can read only copies
		c.PackX, direct = true, false
		c.xAcross = c.X.NextAlong(c.RowVar()) && !c.X.NextAlong(c.Chains.Axis.Var)
		c.YAlong = c.Y.NextAlong(c.Chains.Axis.Var) && !c.Y.NextAlong(c.Col.Var)
	}
	c.xAcross = c.xAcross && !c.RowChecks
	c.PackY = !direct || c.pairs || c.Size.K*c.Size.N*size > 64<<10 && c.Size.M > 2*int64(c.Rows)

	if mach.Registers < 32 {
		c.SideBySide = c.PackX && c.xAcross || c.PackY && !c.Free && c.besidePays(p)
		c.PackX = c.PackX || c.SideBySide
	}

	c.Piece = c.steps
	long := int64(p.PieceSteps)
	if c.SideBySide {
		long = int64(p.BesideSteps)
	}
	if c.Free {
		c.Piece = long
	} else if c.steps > long*3/2 {
		n := (c.steps + long - 1) / long
		c.Piece = ((c.steps+n-1)/n + 3) / 4 * 4
	}
	c.apart = c.Carry == nil && (c.Piece < c.steps || !analysis.Fixed(c.Chains.Axis))
	whole := (c.Size.N + c.Panel - 1) / c.Panel * c.Panel
	most64 := whole
	if c.PackY {
		block := int64(min(p.StackBytes, mach.L2/2))
		switch {
		case c.SideBySide:
			block = int64(p.BesideBlock)
		case computed:
			block = int64(p.StackBytes)
		}
		most64 = block / (c.Piece * size) / c.Panel * c.Panel
	} else if c.Size.M*c.Size.N*c.Size.K > 1<<18 {
		most64 = 8 * c.Panel
		if computed {
			most64 = max(most64, int64(profile.Base().Fusion.PackedCols)/c.Panel*c.Panel)
		}
	}
	if most64 < c.Panel {
		most64 = c.Panel
	}
	blocks := (whole + most64 - 1) / most64
	c.BlockCols = ((whole+blocks-1)/blocks + c.Panel - 1) / c.Panel * c.Panel
	tile := int64(c.Rows)
	c.far = (c.Piece*size+63)/64*64/size + 64/size // rows that follow each other are not 4096 bytes apart
	if c.xAcross && c.PackX {
		c.band = tile * min(int64(p.BandTiles), max(int64(p.StackBytes)/2/(c.Piece*tile*size), 1))
		if !c.Free {
			c.band = min(c.band, (c.Size.M+tile-1)/tile*tile)
		}
		c.far = c.band
	}
	if c.SideBySide {
		c.far = tile
	}
	most64 = (int64(p.ChunkRows) + tile - 1) / tile
	if c.apart { // the right operand is copied again for every chunk
		most64 = min(2*most64, max(int64(p.StackBytes)/2/(c.BlockCols*size)/tile, 1))
	}
	c.Chunk = most64 * tile
	return true
}

// lowPays reports that tiles are lower than wide, see Note [Low tiles].
func (c *Contraction) lowPays(mach target.Machine, vectors int64) bool {
	p := mach.Profile.Matmul
	if mach.Registers >= 32 || c.Free || c.Fma.In.Op != scalar.Fma || vectors%LowVecs != 0 ||
		c.Size.M < int64(p.LowTiles)*LowRows ||
		c.Size.K < int64(p.LowSteps) {
		return false
	}
	_, across, ok := c.Strides(c.Y, c.Col.Var)
	return ok && across == 1 && c.InMemory(c.Y) && c.Size.K*c.Size.N*int64(analysis.ArithmeticType(c.Acc).Bytes()) <=
		int64(mach.L1/2)
}

// besidePays reports that rows of x that lie along k are copied with the elements of a step side by side.
func (c *Contraction) besidePays(p profile.Matmul) bool {
	along, across, ok := c.Strides(c.X, c.RowVar())
	if !ok || along != 1 || c.Size.M < int64(p.BesideTiles)*int64(c.Rows) {
		return false
	}
	panels, size := c.Size.N/c.Panel, int64(c.Kernel.Params[c.X.Main.Param].DType.Bytes())
	least := int64(p.BesidePanels)
	return across*size%page == 0 && panels >= least || c.Size.K*size >= int64(p.BesideBytes) && panels >= 2*least
}

// tileVectors is the width of tiles: the wider they are, the fewer reads there are for a multiply-add. A panel of
// one vector at the edge would leave the units waiting for its few chains.
func tileVectors(vectors int64, mach target.Machine) int {
	widest := int64(2)
	if mach.Registers >= 32 {
		widest = 4
	}
	if vectors >= 3*widest {
		return int(widest)
	}
	for v := min(vectors, widest); v > 2; v-- {
		if vectors%v != 1 {
			return int(v)
		}
	}
	return int(min(vectors, 2))
}

// planVector is Plan for one row, where y is read once and bounds the time: it is not copied. Where its rows lie
// across k, they are streamed; along k, squares are transposed in registers.
func (c *Contraction) planVector(mach target.Machine) bool {
	p := mach.Profile.Matmul
	size := int64(analysis.ArithmeticType(c.Acc).Bytes())
	along, across, ok := c.Strides(c.Y, c.Col.Var)
	if c.Free { // one of them is a shape parameter
		ok = true
		if along, across = 0, 0; c.Y.NextAlong(c.Chains.Axis.Var) {
			along = 1
		} else if c.Y.NextAlong(c.Col.Var) {
			across = 1
		}
	}
	c.Rows, c.Piece, c.Chunk = 1, c.Size.K, 1
	switch {
	case ok && across == 1:
		c.ByRows = true
		c.BlockCols = int64(mach.Profile.Columns.StripBytes) / size
		if analysis.Fixed(c.Col) {
			c.BlockCols = min(c.BlockCols, c.Size.N)
		}
	case ok && along == 1 && c.Size.K >= int64(c.lanes):
		c.Turned = true
		c.Vecs = 1
		if int64(c.lanes)*size < loops.LineBytes {
			c.Vecs = p.VectorTurns
		}
		c.Panel = int64(c.Vecs * c.lanes)
		c.BlockCols = c.Panel
		_, _, ok = c.Strides(c.X, c.RowVar())
		c.PackX = !ok || !c.InMemory(c.X)
		c.far = c.Size.K
		if c.PackX && (c.Size.K*size > int64(p.StackBytes)/2 || !analysis.Fixed(c.Chains.Axis)) {
			return false
		}
	default:
		return false
	}
	if c.Free {
		c.Chunk = c.granule() // where threads cut the columns
	}
	return !c.Free || !c.RowChecks
}

// bestRows is the height of tiles that wastes least on m rows: a tile of r rows takes r steps, one of few
// rows 4 because an fma takes as long, and each a start.
func bestRows(m int64, most int, k int64) int {
	best, cost := 1, 0.0
	for r := most; r >= max(1, most*2/3); r-- {
		h := min(int64(r), m)
		t := float64(m/h) * (float64(max(h, 4)) + 0.2 + 20/float64(k))
		if rest := m % h; rest > 0 {
			t += float64(max(rest, 4)) + 0.2 + 20/float64(k)
		}
		if cost == 0 || t < cost {
			best, cost = int(h), t
		}
	}
	return best
}

// Note [Units of products]
//
// Threads share out units, of which a product has a grid: the columns cut into some parts and the rows into some. Unit
// u is part u%inner of the one direction in part u/inner of the other, the outer one, and a call gets units that follow
// each other. So it has a few whole parts of the outer direction, which are computed as one piece of the result, and at
// its ends perhaps some units of one more each. One call for everything, on one thread, is as if there were no units.
//
// Two calls for parts of the columns each copy all rows of the left operand, if it is copied, and of the right one only
// their own columns; two for parts of the rows the other way round. So the outer direction is that of the operand whose
// copies would cost more, and its parts are narrow, so that the inner one is cut only where they are too few for an
// even share. When both operands are copied, neither should be cut into narrow strips: the parts are wider, and the
// inner direction is cut, too.
//
// The grid follows from the kernel alone, not from the machine, because a library has one plan and code for several. A
// machine rounds to its panels and tiles.
// grid is how many parts of the outer direction there are and how many of the inner in each of them; byRows when the
// outer one is the rows.
func (c *Contraction) grid() (outer, inner int64, byRows bool) {
	p := profile.Base().Plan
	width := int64(p.UnitBytes) / int64(analysis.ArithmeticType(c.Acc).Bytes())
	cols, rows := (c.Size.N+width-1)/width, max(c.Size.M/int64(p.UnitRows), 1)
	x, y := c.copies()
	wide := x && y
	switch {
	case cols == 1 || rows == 1:
		byRows = cols == 1
	case x != y:
		byRows = x
	default:
		byRows = c.Size.M > c.Size.N || !x && cols < int64(p.WideUnits)
	}
	if outer, inner = cols, rows; byRows {
		outer, inner = rows, cols
		if inner > 1 {
			inner = c.Size.N / width
		}
	}
	if wide {
		unit := int64(p.WideUnits)
		if byRows {
			unit *= width / int64(p.UnitRows)
		}
		outer = max((outer+unit/2)/unit, 1)
	}
	if outer > 4 {
		outer = (outer + 3) / 4 * 4 // halves and quarters of equal size
	}
	outer = min(outer, 1<<10)
	parts, even := int64(1), int64(p.EvenUnits)
	for parts*2 <= inner && outer*parts*min(c.Batch(), even) < even {
		parts *= 2
	}
	return outer, parts, byRows
}

// copies tells whether the operands are copied, on most machines; see Plan.
func (c *Contraction) copies() (x, y bool) {
	if c.Size.M == 1 {
		return false, false
	}
	size := int64(analysis.ArithmeticType(c.Acc).Bytes())
	along, _, ok := c.Strides(c.X, c.RowVar())
	wide := c.Size.N*size >= 4*int64(profile.Base().Plan.UnitBytes)
	x = !ok || !c.InMemory(c.X) || wide && c.Size.K*size >= 512 && along != 1
	_, across, ok := c.Strides(c.Y, c.Col.Var)
	y = !ok || across != 1 || !c.InMemory(c.Y) || c.Size.K*c.Size.N*size > 64<<10
	return x, y
}

// granule is the number of columns of which parts are multiples.
func (c *Contraction) granule() int64 {
	if c.ByRows {
		return int64(profile.Base().Plan.UnitBytes) / int64(analysis.ArithmeticType(c.Acc).Bytes())
	}
	return c.Panel
}

// Units is the number of units that the threads share out.
func (c *Contraction) Units() int64 {
	outer, inner, _ := c.grid()
	return c.Batch() * outer * inner
}

// UnitWork is the work of a unit in scalar operations, as the thread pool counts them (opTime in runtime/abi). It is
// made of the time of a step of a chain for each byte (docs/tuning/matrix-products.md).
func (c *Contraction) UnitWork() int64 {
	steps := float64(c.Batch()) * float64(c.Size.M) * float64(c.Size.N) * float64(c.Size.K)
	return int64(max(min(steps*float64(analysis.ArithmeticType(c.Acc).Bytes())/12/float64(c.Units()), 1e15), 1))
}
