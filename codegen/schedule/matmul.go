package schedule

import (
	"fmt"

	"healc/codegen/target"
	"healc/codegen/target/profile"
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/ir/scalar"
)

const (
	page = 4 << 10 // bytes

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

// product decides about one product.
type product struct {
	*MatmulPlan
	mach     target.Machine
	tuned    profile.Matmul
	vectors  int64 // of a row of the result
	most     int   // rows of a tile for which there are registers
	why      string
	whyX     string
	whyY     string
	rejected []kernel.Rejection
}

// Matmul decides how a product is written for a processor: the directive of its form with those for the copies inside,
// nil where plain loops are as good, and what was considered and not taken.
func Matmul(c *analysis.Contraction, mach target.Machine) (*kernel.Directive, []kernel.Rejection) {
	p := &product{MatmulPlan: &MatmulPlan{Contraction: c, Steps: c.Size.K}, mach: mach.WithDefaults()}
	p.tuned = p.mach.Profile.Matmul
	if !p.decide() {
		return nil, p.rejected
	}
	return p.directive(), p.rejected
}

func (p *product) reject(what, why string, args ...any) {
	p.rejected = append(p.rejected, kernel.Rejection{What: what, Why: fmt.Sprintf(why, args...)})
}

// directive is what was decided, as MatmulOf reads it.
func (p *product) directive() *kernel.Directive {
	along := p.Chains.Axis.Var
	var d *kernel.Directive
	switch {
	case p.ByRows:
		d = kernel.NewDirective("axpy", along).Set("width", int64(p.VecWidth)).Set("block", p.BlockCols).
			Set("rows", p.AtOnce)
	case p.Dot:
		d = kernel.NewDirective("dot", along).Set("width", int64(p.VecWidth)).Set("vectors", int64(p.Vecs))
		if p.Vecs > 1 {
			d.Set("behind", p.Behind)
		}
	default:
		d = kernel.NewDirective("matmul", along).Set("rows", int64(p.Rows)).Set("vectors", int64(p.Vecs)).
			Set("width", int64(p.VecWidth)).Set("piece", p.Piece).Set("block", p.BlockCols).Set("chunk", p.Chunk)
		if !p.Free { // one that ends where a block of chains does can be longer than the chains
			d.Set("piece", min(p.Piece, max(p.Steps, 1)))
		}
	}
	flag := func(d *kernel.Directive, name string, is bool) {
		if is {
			d.Set(name, 1)
		}
	}
	flag(d, "low", p.Low)
	flag(d, "pairs", p.Pairs)
	flag(d, "fours", p.Fours)
	flag(d, "amx", p.AMX)
	flag(d, "together", p.Together)
	flag(d, "ahead", p.Ahead)
	if p.Next > 0 {
		d.Set("next", p.Next)
	}
	if p.Along > 0 {
		d.Set("along", p.Along)
	}
	flag(d, "straight", p.Straight)
	if p.PackX {
		x := kernel.NewDirective("packrows", scalar.None).Because(p.whyX)
		if p.XAcross {
			x.Set("band", p.Band).Set("ahead", p.AheadSteps)
		}
		flag(x, "beside", p.SideBySide)
		d.Add(x)
	}
	if p.PackY {
		y := kernel.NewDirective("packcolumns", scalar.None).Because(p.whyY)
		flag(y, "along", p.YAlong)
		d.Add(y)
	}
	return d.Because(p.why)
}

// decide cuts the product up; false when the plain loop is as good.
func (p *product) decide() bool {
	reg := analysis.ArithmeticType(p.Acc)
	size := int64(reg.Bytes())
	if reg.IsFloat() && p.mach.NoFMA {
		p.reject("matmul", "no fused multiply-add on this processor: each is a call")
		return false
	}
	p.VecWidth = p.mach.VectorBits / 8 / int(size)
	p.Ahead = p.Size.K >= int64(p.tuned.FarChain)
	if p.Size.M == 1 {
		return p.decideVector()
	}
	p.decideTile()
	p.decideCopies(size)
	p.decidePiece()
	p.decideBlock(size)
	p.Far = p.far()
	p.Straight = !p.AMX && analysis.Fixed(p.Chains.Axis) && p.Steps <= int64(p.tuned.Straight)
	p.AheadSteps = int64(p.tuned.AcrossAhead)
	tile := int64(p.Rows)
	most := (int64(p.tuned.ChunkRows) + tile - 1) / tile
	if p.Apart { // the right operand is copied again for every chunk
		most = min(2*most, max(int64(p.tuned.StackBytes)/2/(p.BlockCols*size)/tile, 1))
	}
	p.Chunk = most * tile
	return true
}

// decideTile decides how many sums are in registers.
func (p *product) decideTile() {
	p.vectors = (p.Size.N + int64(p.VecWidth) - 1) / int64(p.VecWidth)
	p.Vecs = tileVectors(p.vectors, p.mach)
	// Beside the sums, a register for a broadcast element and one row of y; two when there is room, because LLVM
	// reads the next one early.
	p.most = (p.mach.Registers - 1 - p.Vecs) / p.Vecs
	if p.Vecs == 2 && p.mach.Registers >= 32 {
		p.most--
	}
	if p.Vecs == 1 {
		p.most = min(p.most, 24) // reads of x are the bound then
	}
	p.AMX = p.mach.ByteTiles && p.bytes() || p.mach.HalfTiles && p.BF16()
	p.Fours = p.AMX && !p.BF16() || p.mach.ByteSums && p.bytes()
	p.Together = p.mach.IntSums && p.Fma.In.Op == scalar.Mul && !p.Fours
	if p.Together { // and one row of products
		p.most = min(p.most, (p.mach.Registers-1-2*p.Vecs)/p.Vecs)
	}
	p.Pairs = p.mach.PairSums && p.Narrow(p.X) && p.Narrow(p.Y) && !p.Fours
	p.Steps = p.steps()
	if p.Low = p.lowPays(); p.Low {
		p.Vecs, p.most = LowVecs, LowRows
	}
	if p.AMX {
		p.Vecs, p.Rows = int(min(p.vectors, AMXSide)), int(min(p.Size.M, AMXSide*AMXRows))
		p.why = "tile registers multiply 16 steps by 16 columns in one instruction"
	} else {
		p.Rows = p.bestRows()
	}
	p.Panel = int64(p.Vecs * p.VecWidth)
}

// decideCopies decides which operands are copied, and how.
func (p *product) decideCopies(size int64) {
	along, across, okX := p.Strides(p.X, p.RowVar())
	direct := okX && p.InMemory(p.X)
	reuse := (p.Size.N + p.Panel - 1) / p.Panel
	p.XAcross = okX && along != 1 && across == 1
	switch {
	case p.X.Load == nil:
		p.whyX = "it is computed: once for each element, not for each panel"
	case !direct:
		p.whyX = "a tile cannot read it where it lies"
	case p.Pairs:
		p.whyX = "pairs of elements are made"
	case p.Fours:
		p.whyX = "fours of elements are made"
	case p.PerStep() == 2:
		p.whyX = "pairs of elements are made"
	case reuse >= 4 && p.Size.K*size >= 512 && along != 1:
		p.whyX = fmt.Sprintf("%d panels read it across the lines of memory", reuse)
	}
	p.PackX = !direct || p.PerStep() > 1 || reuse >= 4 && p.Size.K*size >= 512 && along != 1
	if p.registersReadX() {
		p.PackX = false
	}
	along, across, okY := p.Strides(p.Y, p.Col.Var)
	direct = okY && across == 1 && p.InMemory(p.Y)
	p.YAlong = okY && across != 1 && along == 1
	if p.Free { // the strides are not known, so that a tile can read only copies
		p.PackX, direct = true, false
		p.XAcross = p.X.NextAlong(p.RowVar()) && !p.X.NextAlong(p.Chains.Axis.Var)
		p.YAlong = p.Y.NextAlong(p.Chains.Axis.Var) && !p.Y.NextAlong(p.Col.Var)
		p.whyX = "its strides are not known"
	}
	p.XAcross = p.XAcross && !p.RowChecks
	large := p.Size.K*p.Size.N*size > 64<<10
	switch p.PackY = !direct || p.PerStep() > 1 || large && p.Size.M > 2*int64(p.Rows); {
	case !direct && p.YAlong:
		p.whyY = "it lies along the chains, and is transposed"
	case !direct:
		p.whyY = "a tile cannot read it where it lies"
	case p.Pairs:
		p.whyY = "pairs of elements are made"
	case p.Fours:
		p.whyY = "fours of elements are made"
	case p.PerStep() == 2:
		p.whyY = "pairs of elements are made"
	case p.PackY:
		p.whyY = fmt.Sprintf("its %d KiB are read once for each tile of rows", p.Size.K*p.Size.N*size>>10)
	case large:
		p.reject("packcolumns", "two tiles of rows or less read it")
	default:
		p.reject("packcolumns", "its %d KiB are read where they lie", max(p.Size.K*p.Size.N*size>>10, 1))
	}
	if p.mach.Registers < 32 {
		across := p.PackX && p.XAcross
		if p.SideBySide = across || p.PackY && !p.Free && p.besidePays(); p.SideBySide && !p.PackX {
			p.whyX = fmt.Sprintf("%d panels: the elements of a step lie side by side", reuse)
		}
		p.PackX = p.PackX || p.SideBySide
	}
	if !p.PackX {
		p.reject("packrows", "it is read along the chains, where it lies")
	}
	p.XAcross, p.YAlong = p.XAcross && p.PackX, p.YAlong && p.PackY
}

// decidePiece cuts the chains.
func (p *product) decidePiece() {
	p.Piece = p.Steps
	long := int64(p.tuned.PieceSteps)
	if p.SideBySide {
		long = int64(p.tuned.BesideSteps)
	}
	if p.Free {
		p.Piece = long
	} else if p.Steps > long*3/2 {
		n := (p.Steps + long - 1) / long
		unit := int64(4)
		switch {
		case p.AMX:
			unit = AMXRows
		case p.YAlong:
			unit = int64(p.VecWidth) // whole squares
		}
		p.Piece = ((p.Steps+n-1)/n + unit - 1) / unit * unit
	}
	p.Piece = p.wholeBlocks(p.Piece)
	p.Apart = p.apart()
}

// decideBlock decides how many columns are computed before the next, and how many rows of a transposed operand are
// copied together.
func (p *product) decideBlock(size int64) {
	whole := (p.Size.N + p.Panel - 1) / p.Panel * p.Panel
	most := whole
	if computed := p.X.Load == nil; p.PackY {
		block := int64(min(p.tuned.StackBytes, p.mach.L2/2))
		switch {
		case p.AMX:
			block = int64(p.tuned.TileBlock)
		case p.SideBySide:
			block = int64(p.tuned.BesideBlock)
		case computed:
			block = int64(p.tuned.StackBytes)
		}
		most = block / (p.Piece * size) / p.Panel * p.Panel
	} else if p.Size.M*p.Size.N*p.Size.K > 1<<18 {
		most = 8 * p.Panel
		if computed {
			most = max(most, int64(profile.Base().Fusion.PackedCols)/p.Panel*p.Panel)
		}
	}
	if most < p.Panel {
		most = p.Panel
	}
	blocks := (whole + most - 1) / most
	p.BlockCols = ((whole+blocks-1)/blocks + p.Panel - 1) / p.Panel * p.Panel
	if tile := int64(p.Rows); p.XAcross {
		p.Band = tile * min(int64(p.tuned.BandTiles), max(int64(p.tuned.StackBytes)/2/(p.Piece*tile*size), 1))
		if !p.Free {
			p.Band = min(p.Band, (p.Size.M+tile-1)/tile*tile)
		}
	}
}

// lowPays reports that tiles are lower than wide, see Note [Low tiles].
func (p *product) lowPays() bool {
	if p.mach.Registers >= 32 || p.Free || p.Fma.In.Op != scalar.Fma {
		return false
	}
	bytes := p.Size.K * p.Size.N * int64(analysis.ArithmeticType(p.Acc).Bytes())
	_, across, ok := p.Strides(p.Y, p.Col.Var)
	why := ""
	switch {
	case p.vectors%LowVecs != 0:
		why = fmt.Sprintf("a row of %d vectors is no panels of %d", p.vectors, LowVecs)
	case p.Size.M < int64(p.tuned.LowTiles)*LowRows:
		why = fmt.Sprintf("%d rows are fewer than %d tiles", p.Size.M, p.tuned.LowTiles)
	case p.Size.K < int64(p.tuned.LowSteps):
		why = fmt.Sprintf("chains of %d steps are too short for the ends of so many tiles", p.Size.K)
	case !ok || across != 1 || !p.InMemory(p.Y):
		why = "the factor of the columns is packed"
	case bytes > int64(p.mach.L1/2):
		why = fmt.Sprintf("%d KiB of the factor of the columns are more than half of the first-level cache", bytes>>10)
	default:
		return true
	}
	p.reject("low", "%s", why)
	return false
}

// besidePays reports that rows of x that lie along k are copied with the elements of a step side by side.
func (p *product) besidePays() bool {
	along, across, ok := p.Strides(p.X, p.RowVar())
	if !ok || along != 1 || p.Size.M < int64(p.tuned.BesideTiles)*int64(p.Rows) {
		return false
	}
	panels, size := p.Size.N/p.Panel, int64(p.Kernel.Params[p.X.Main.Param].DType.Bytes())
	shared := across*size%page == 0 && panels >= int64(p.tuned.BesidePanels)
	return shared || p.Size.K*size >= int64(p.tuned.BesideBytes) && panels >= 2*int64(p.tuned.BesidePanels)
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

// decideVector is decide for one row, where y is read once and bounds the time: it is not copied. Where its rows lie
// across k, they are streamed; along k, squares are transposed in registers.
func (p *product) decideVector() bool {
	size := int64(analysis.ArithmeticType(p.Acc).Bytes())
	along, across, ok := p.Strides(p.Y, p.Col.Var)
	if p.Free { // one of them is a shape parameter
		ok = true
		if along, across = 0, 0; p.Y.NextAlong(p.Chains.Axis.Var) {
			along = 1
		} else if p.Y.NextAlong(p.Col.Var) {
			across = 1
		}
	}
	if p.Free && p.RowChecks {
		p.reject("axpy", "checks differ between rows, and the shape is not known")
		return false
	}
	switch {
	case ok && across == 1:
		p.ByRows, p.why = true, "a matrix that lies along the columns is read once, row after row"
		p.AtOnce, p.Ahead = int64(p.tuned.StreamRows), false
		p.BlockCols = int64(p.mach.Profile.Columns.StripBytes) / size
		if analysis.Fixed(p.Col) {
			p.BlockCols = min(p.BlockCols, p.Size.N)
		}
		p.reject("dot", "the matrix does not lie along the chains")
	case ok && along == 1 && p.Size.K >= int64(p.VecWidth):
		p.Dot, p.why = true, "a matrix that lies along the chains is read once, and transposed in registers"
		p.Vecs, p.Behind = p.tuned.SquareTurns, int64(p.tuned.Behind)
		if int64(p.VecWidth)*size < LineBytes {
			p.Vecs = p.tuned.VectorTurns
		}
		if p.Vecs > 1 {
			p.why += "; vectors of sums take turns, since a chain takes longer than a square is transposed"
		}
		p.Panel = int64(p.Vecs * p.VecWidth)
		if p.nextPays() {
			p.Next = int64(p.tuned.VectorLines)
		} else if p.alongPays(size) {
			p.Along = int64(p.tuned.VectorAlong)
		}
		_, _, ok = p.Strides(p.X, p.RowVar())
		if p.PackX = !ok || !p.InMemory(p.X); p.PackX {
			p.whyX = "it is computed, or not read as it lies: once for all columns"
		}
		if p.PackX && (p.Size.K*size > int64(p.tuned.StackBytes)/2 || !analysis.Fixed(p.Chains.Axis)) {
			p.reject("dot", "the vector is computed, and too long to copy, or of no known length")
			return false
		}
	case ok && along == 1:
		p.reject("dot", "%d steps do not fill a vector of %d", p.Size.K, p.VecWidth)
		return false
	default:
		p.reject("matmul", "the matrix lies neither along the chains nor along the columns")
		return false
	}
	return true
}

// nextPays reports that the rows that the next tile transposes are asked for, in the order in which they lie in memory.
func (p *product) nextPays() bool {
	row := p.Parts() * p.Size.K * int64(p.Kernel.Params[p.Y.Main.Param].DType.Bytes())
	return p.rowsFollow() && (!analysis.Fixed(p.Chains.Axis) ||
		row >= 1024 && row*p.Panel <= int64(p.tuned.VectorAhead))
}

// alongPays reports that each row of a square is asked for further on: rows so long that no next ones are asked for, of
// a matrix that the second-level cache does not hold.
func (p *product) alongPays(size int64) bool {
	row := p.Parts() * p.Size.K * int64(p.Kernel.Params[p.Y.Main.Param].DType.Bytes())
	return !p.Free && int64(p.VecWidth)*size >= LineBytes && row*p.Panel > int64(p.tuned.VectorAhead) &&
		row*p.Size.N > int64(p.mach.L2)
}

// tileCost is how long tiles of h rows take for m rows, in the time of a step of one row. A tile of r rows takes r
// steps, one of few rows 4 because an fma takes as long, and each a start.
func tileCost(h, m, k int64) float64 {
	one := func(rows int64) float64 { return float64(max(rows, 4)) + 0.2 + 20/float64(k) }
	t := float64(m/h) * one(h)
	if rest := m % h; rest > 0 {
		t += one(rest)
	}
	return t
}

// bestRows is the height of tiles that wastes least.
func (p *product) bestRows() int {
	best, cost := int64(1), 0.0
	other, next := int64(0), 0.0
	for r := p.most; r >= max(1, p.most*2/3); r-- {
		h := min(int64(r), p.Size.M)
		switch t := tileCost(h, p.Size.M, p.Steps); {
		case cost == 0 || t < cost:
			if cost != 0 {
				other, next = best, cost
			}
			best, cost = h, t
		case h != best && (next == 0 || t < next):
			other, next = h, t
		}
	}
	if p.Low {
		p.why = "7 reads for 12 multiply-adds, where tiles of 6 by 2 have 8"
		return int(best)
	}
	m := float64(p.Size.M)
	p.why = fmt.Sprintf("%.2f of the time of the multiply-adds alone", cost/m)
	if next != 0 && other != best {
		p.reject(fmt.Sprintf("rows %d", other), "%.2f of the time of the multiply-adds alone", next/m)
	}
	return int(best)
}
