package schedule

import (
	"errors"
	"fmt"

	"healc/codegen/target"
	"healc/codegen/target/profile"
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/ir/scalar"
)

// MatmulPlan is how a product is cut up for a processor, as a directive says it; see Note [Matrix products] in
// codegen/llvm/matmul.
type MatmulPlan struct {
	*analysis.Contraction
	Planned    bool  // false: plain loops
	ByRows     bool  // one row, y is read row after row for many columns (axpy)
	Dot        bool  // one row, y is not copied, but transposed in the registers of the tile (dot)
	Pairs      bool  // a step takes two elements of the chains (Note [Pairs])
	Fours      bool  // a step takes four elements, which are bytes (Note [Fours of bytes])
	AMX        bool  // sums are in tile registers (Note [Tile registers])
	Together   bool  // products of a row are computed before they are added (Note [Products together])
	Low        bool  // the elements of x for a step are in registers, not those of y (Note [Low tiles])
	Steps      int64 // of a chain
	VecWidth   int   // elements of a vector
	Rows, Vecs int   // the tile in registers: rows by vectors
	Panel      int64 // columns of a panel: vectors*lanes
	BlockCols  int64 // columns of a block, whole panels
	Chunk      int64 // rows whose unfinished sums wait apart at a time; whole tiles
	Piece      int64 // of k
	Band       int64 // rows of x that are copied together, when they lie side by side
	PackX      bool
	PackY      bool
	XAcross    bool  // rows of x are copied with the rows side by side, as they lie in memory
	SideBySide bool  // elements of x for a step of a tile lie side by side in the copy (Note [Side by side])
	YAlong     bool  // y lies in memory along k: it is transposed while it is copied
	Apart      bool  // unfinished sums wait in memory of the thread, because the result has no place for them
	Far        int64 // elements between rows of the copy of x; between steps of k when they lie across
	Ahead      bool  // what the tile stores, and rows of x below, are asked for while its chains run
	Straight   bool  // the chains have no loop
	AheadSteps int64 // of k, of which lines are asked for while rows that lie across are copied; 0: none
	AtOnce     int64 // rows of y that are added to the sums at once, so that these are read and written the less
	Behind     int64 // bytes by which the second vector of sums is behind the first (Note [Squares behind])
	Along      int64 // bytes that the rows of y are asked for ahead of their squares; 0: none
	Next       int64 // one of so many lines of the rows of y that the next tile transposes is asked for; 0: none
}

// MatmulForm is the directive of a schedule that says how a product is tiled, nil when none does.
func MatmulForm(s *kernel.Schedule) *kernel.Directive {
	if s == nil {
		return nil
	}
	for _, d := range s.Directives {
		if d.Kind == "matmul" || d.Kind == "axpy" || d.Kind == "dot" {
			return d
		}
	}
	return nil
}

// MatmulOf reads the directive of a product: of plain loops where it is nil. Requires that CheckMatmul accepts it.
func MatmulOf(c *analysis.Contraction, d *kernel.Directive) *MatmulPlan {
	p := &MatmulPlan{Contraction: c, Steps: c.Size.K, Rows: 1, Chunk: 1, Piece: c.Size.K, Planned: d != nil}
	if d == nil {
		return p
	}
	p.VecWidth = int(d.Get("width"))
	subs := kernel.Directives(d.Sub)
	if x := subs.OfKind("packrows"); x != nil {
		p.PackX, p.Band, p.SideBySide = true, x.Get("band"), x.Get("beside") != 0
		p.XAcross, p.AheadSteps = p.Band != 0, x.Get("ahead")
	}
	if y := subs.OfKind("packcolumns"); y != nil {
		p.PackY, p.YAlong = true, y.Get("along") != 0
	}
	switch d.Kind {
	case "axpy":
		p.ByRows, p.BlockCols, p.AtOnce = true, d.Get("block"), d.Get("rows")
	case "dot":
		p.Dot, p.Vecs = true, int(d.Get("vectors"))
		p.Behind, p.Ahead, p.Next = d.Get("behind"), d.Get("ahead") != 0, d.Get("next")
		p.Along = d.Get("along")
		p.Panel = int64(p.Vecs * p.VecWidth)
		p.BlockCols, p.Far = p.Panel, p.Size.K
	default:
		p.Rows, p.Vecs, p.Piece = int(d.Get("rows")), int(d.Get("vectors")), d.Get("piece")
		p.BlockCols, p.Chunk = d.Get("block"), d.Get("chunk")
		p.Low, p.Pairs, p.Together = d.Get("low") != 0, d.Get("pairs") != 0, d.Get("together") != 0
		p.Ahead, p.Straight = d.Get("ahead") != 0, d.Get("straight") != 0
		p.Panel = int64(p.Vecs * p.VecWidth)
		p.Fours, p.AMX = d.Get("fours") != 0, d.Get("amx") != 0
		p.Steps = p.steps()
		p.Piece = p.wholeBlocks(p.Piece)
		p.Apart, p.Far = p.apart(), p.far()
		return p
	}
	if p.Free {
		p.Chunk = p.Granule() // where threads cut the columns
	}
	return p
}

// PerStep is how many elements of the chains a step takes.
func (p *MatmulPlan) PerStep() int {
	switch {
	case p.Fours:
		return 4
	case p.Pairs, p.Halves():
		return 2
	}
	return 1
}

// Halves reports that tile registers multiply bf16, of which a step takes two.
func (p *MatmulPlan) Halves() bool { return p.AMX && p.BlockSteps > 0 }

// wholeBlocks is a piece that ends where a block of chains does.
func (p *MatmulPlan) wholeBlocks(piece int64) int64 {
	if p.BlockSteps == 0 || !p.AMX && !p.Free && piece >= p.Steps {
		return piece
	}
	unit := p.BlockSteps / int64(p.PerStep())
	return max((piece+unit-1)/unit, 1) * unit
}

func (p *MatmulPlan) steps() int64 {
	per := int64(p.PerStep())
	return (p.Size.K + per - 1) / per
}

// SignedY reports that the bytes of y have a sign.
func (p *MatmulPlan) SignedY() bool {
	_, signed, _ := p.Bytes()
	return signed
}

func (p *MatmulPlan) bytes() bool {
	_, _, ok := p.Bytes()
	return ok
}

// Moved reports that x is moved by 128 while it is packed, see Note [Fours of bytes] in codegen/llvm/matmul.
func (p *MatmulPlan) Moved() bool {
	x, y, _ := p.Bytes()
	return p.Fours && !p.AMX && x == y
}

// apart reports that unfinished sums have no place in the result.
func (p *MatmulPlan) apart() bool {
	return p.Carry == nil && (p.Piece < p.Steps || !analysis.Fixed(p.Chains.Axis))
}

// far is the distance of rows in the copy of x. Rows that follow each other are not a page apart.
func (p *MatmulPlan) far() int64 {
	size := int64(analysis.ArithmeticType(p.Acc).Bytes())
	switch {
	case p.SideBySide:
		return int64(p.Rows)
	case p.XAcross && !p.AMX:
		return p.Band
	case p.AMX && !p.PackX:
		return p.rowBytes() / size
	}
	return (p.Piece*size+LineBytes-1)/LineBytes*LineBytes/size + LineBytes/size
}

// rowBytes is how many bytes rows of x are apart in memory.
func (p *MatmulPlan) rowBytes() int64 {
	_, across, _ := p.Strides(p.X, p.RowVar())
	return across * int64(p.Kernel.Params[p.X.Main.Param].DType.Bytes())
}

// registersReadX reports that tile registers can read the rows of x where they lie: along the chains, which are whole
// registers.
func (p *MatmulPlan) registersReadX() bool {
	_, ok := p.CastAlong(p.X, p.RowVar())
	return ok && p.AMX && !p.Free && p.rowBytes()%4 == 0 && p.Size.K%(AMXRows*int64(p.PerStep())) == 0
}

// A tile register has AMXRows rows, and so many sums in each. A tile of a product is at most AMXSide by AMXSide of
// them.
const (
	AMXRows = 16
	AMXSide = 2
)

const (
	maxTile     = 96        // sums of a tile, in vectors: the code has a multiply-add for each, some times
	maxStraight = 64        // steps of a chain without a loop
	maxCopy     = 512 << 10 // bytes of a copy of a vector, or of its sums
	maxCopies   = 2 << 20   // bytes that a thread has for copies and sums
)

// CheckMatmul says what keeps a product from being written as a directive says; nil when nothing does.
func CheckMatmul(c *analysis.Contraction, d *kernel.Directive, mach target.Machine) error {
	if c == nil {
		return errors.New("the kernel has no contract that is written in tiles")
	}
	p := MatmulOf(c, d)
	if what := p.wrong(d, mach.WithDefaults()); what != "" {
		return errors.New(what)
	}
	return nil
}

func (p *MatmulPlan) wrong(d *kernel.Directive, mach target.Machine) string {
	size := int64(analysis.ArithmeticType(p.Acc).Bytes())
	native := mach.VectorBits / 8 / int(size)
	_, _, okX := p.Strides(p.X, p.RowVar())
	inPlaceX := okX && p.InMemory(p.X) && (!p.Free || p.Dot) || p.registersReadX()
	switch {
	case d.On != p.Chains.Axis.Var:
		return "speaks of another loop than the chains of the contract"
	case analysis.ArithmeticType(p.Acc).IsFloat() && mach.NoFMA:
		return "there is no fused multiply-add on this processor"
	case p.VecWidth < 2 || p.VecWidth > native || p.VecWidth&(p.VecWidth-1) != 0:
		return fmt.Sprintf("width is %d, and has to be a power of two from 2 to %d", p.VecWidth, native)
	case (p.ByRows || p.Dot) && p.Size.M != 1:
		return fmt.Sprintf("the product has %d rows, not one", p.Size.M)
	case (p.ByRows || p.Dot) && p.PackY:
		return "a matrix that is read once is not packed"
	case (p.ByRows || p.Dot) && p.Free && p.RowChecks:
		return "checks differ between rows, and the shape is not known"
	case p.ByRows && p.PackX:
		return "the vector is read as it lies"
	case p.ByRows:
		if p.BlockCols < 1 || p.BlockCols*size > maxCopy {
			return fmt.Sprintf("block is %d, and has to be from 1 to %d columns", p.BlockCols, maxCopy/size)
		}
		return ""
	case p.Vecs < 1 || p.Vecs > 8 || p.Rows < 1 || p.Rows*p.Vecs > maxTile:
		return fmt.Sprintf("a tile of %d rows by %d vectors; there are at most 8 vectors, and %d in all", p.Rows,
			p.Vecs, maxTile)
	case !p.PackX && !inPlaceX:
		return "packrows is missing: a tile cannot read this factor where it lies"
	}
	if p.Dot {
		return p.wrongDot(size)
	}
	return p.wrongTiles(d, size, mach, native)
}

func (p *MatmulPlan) wrongDot(size int64) string {
	along := p.Y.NextAlong(p.Chains.Axis.Var)
	_, _, okY := p.Strides(p.Y, p.Col.Var)
	switch {
	case !along:
		return "the matrix does not lie along the chains"
	case p.Next > 0 && !p.rowsFollow():
		return "next: the rows of the matrix do not follow each other"
	case p.Along > 0 && (!okY || p.Free):
		return "along: where a row lies is computed"
	case p.XAcross || p.SideBySide:
		return "there is one row: none lie side by side"
	case p.PackX && (p.Size.K*size > maxCopy/2 || !analysis.Fixed(p.Chains.Axis)):
		return fmt.Sprintf("a vector of %d elements is too long to pack", p.Size.K)
	}
	return ""
}

func (p *MatmulPlan) wrongTiles(d *kernel.Directive, size int64, mach target.Machine, native int) string {
	_, across, okY := p.Strides(p.Y, p.Col.Var)
	inPlaceY := okY && across == 1 && p.InMemory(p.Y) && !p.Free
	okAcross := p.Row != nil && !p.RowChecks && (p.Free && p.X.NextAlong(p.Row.Var) || !p.Free && p.strided(p.X))
	tile := int64(p.Rows)
	switch {
	case p.Size.M == 1:
		return "a product of one row has no tiles"
	case d.Get("piece") < 1 || !p.Free && d.Get("piece") > max(p.Steps, 1):
		return fmt.Sprintf("piece is %d, and has to be from 1 to the %d steps of the chains", p.Piece, p.Steps)
	case p.BlockCols < p.Panel || p.BlockCols%p.Panel != 0:
		return fmt.Sprintf("block is %d, and has to be whole panels of %d columns", p.BlockCols, p.Panel)
	case p.Chunk < tile || p.Chunk%tile != 0:
		return fmt.Sprintf("chunk is %d, and has to be whole tiles of %d rows", p.Chunk, tile)
	case !p.PackY && !inPlaceY:
		return "packcolumns is missing: a tile cannot read this factor where it lies"
	case p.XAcross && !okAcross:
		return "band: the rows of this factor cannot be copied side by side"
	case p.Band%tile != 0:
		return fmt.Sprintf("band is %d, and has to be whole tiles of %d rows", p.Band, tile)
	case p.SideBySide && p.Row == nil:
		return "beside: there are no rows"
	case p.Straight && (!analysis.Fixed(p.Chains.Axis) || p.Steps > maxStraight):
		return fmt.Sprintf("straight: the chains have %d steps, and may have %d", p.Steps, maxStraight)
	case p.Pairs && (!mach.PairSums || !p.Narrow(p.X) || !p.Narrow(p.Y)):
		return "pairs: the processor has none, or the factors are not cast from integers of 16 bits"
	case p.AMX && !(mach.ByteTiles && p.Fours || mach.HalfTiles && p.BF16()):
		return "amx: the processor has no tile registers, or a step takes neither four bytes nor two bf16"
	case p.AMX && (p.Rows > AMXSide*AMXRows || p.Vecs > AMXSide):
		return fmt.Sprintf("amx: there are registers for %d rows by %d vectors", AMXSide*AMXRows, AMXSide)
	case p.AMX && (p.Piece%AMXRows != 0 && p.Piece < p.Steps || p.Straight || p.Low):
		return fmt.Sprintf("amx: chains go by %d steps", AMXRows)
	case p.AMX && p.SideBySide:
		return "amx: registers read rows along the chains"
	case p.Fours && (!mach.ByteSums && !p.AMX || !p.bytes()):
		return "fours: the processor has none, or the factors are not cast from integers of 8 bits"
	case p.Fours && p.Pairs:
		return "a step takes pairs or fours"
	case p.PerStep() > 1 && (!p.PackX && !p.registersReadX() || !p.PackY || p.VecWidth != native):
		return fmt.Sprintf("pairs and fours are made while both factors are packed, in vectors of %d", native)
	case p.Together && (!mach.IntSums || p.Fma.In.Op != scalar.Mul):
		return "together is for products of integers on processors that have no multiply-add of these"
	}
	if bytes := p.copyElements() * size; bytes > maxCopies {
		return fmt.Sprintf("the copies and the sums that wait are %d KiB, and %d are there", bytes>>10, maxCopies>>10)
	}
	return ""
}

// rowsFollow reports that y lies in memory row after row of the chains.
func (p *MatmulPlan) rowsFollow() bool {
	follow := false
	if p.Y.Main == nil {
		return false
	}
	if p.PartAxis() != nil {
		return true
	}
	for _, term := range p.Y.Main.At.Terms {
		switch term.Var {
		case p.Chains.Axis.Var:
			if !term.Coef.IsConst(1) {
				return false
			}
		case p.Col.Var:
			follow = term.Coef.Equal(p.Chains.Axis.Extent.Dim)
		}
	}
	return follow
}

// PartAxis is the last axis of a batch of products by a vector whose matrices are parts of the same rows, one after the
// other, as the blocks of a product with `split` are; nil where they are not. All parts of some rows are multiplied
// before those of others, so that memory is read from end to end. Threads have no part of a row then, so there have to
// be rows enough for them.
func (p *MatmulPlan) PartAxis() *kernel.Axis {
	plan := profile.Base().Plan
	least := int64(plan.EvenUnits * plan.UnitBytes / analysis.ArithmeticType(p.Acc).Bytes())
	if p.Size.M != 1 || p.Size.N < least || p.Free || len(p.Batches) == 0 || p.Y.Main == nil {
		return nil
	}
	a := &p.Batches[len(p.Batches)-1]
	along, _ := analysis.Coef(p.Y.Main.At, p.Chains.Axis.Var)
	part, _ := analysis.Coef(p.Y.Main.At, a.Var)
	row, _ := analysis.Coef(p.Y.Main.At, p.Col.Var)
	if n, _ := a.Extent.Dim.Const(); along != 1 || part != p.Size.K || row != p.Size.K*n {
		return nil
	}
	return a
}

// Parts is the number of matrices that are parts of the same rows.
func (p *MatmulPlan) Parts() int64 {
	if a := p.PartAxis(); a != nil {
		n, _ := a.Extent.Dim.Const()
		return n
	}
	return 1
}

// Matrices is the number of products in a batch whose units are apart.
func (p *MatmulPlan) Matrices() int64 { return p.Batch() / p.Parts() }

// strided reports that the place of an operand is told by strides.
func (p *MatmulPlan) strided(o analysis.Operand) bool {
	_, _, ok := p.Strides(o, p.RowVar())
	return ok
}

// copyElements is the number of elements that a thread has memory for.
func (p *MatmulPlan) copyElements() int64 {
	n := int64(p.Rows) * p.Panel // of the epilogue
	if p.PackX {
		n += p.CopyXElements()
	}
	if p.PackY {
		n += p.CopyYElements()
	}
	if p.Moved() {
		n += p.BlockCols
	}
	if p.Apart {
		n += p.Chunk * p.BlockCols
	}
	return n
}

// CopyXElements is the number of elements of the copy of x.
func (p *MatmulPlan) CopyXElements() int64 {
	switch {
	case p.XAcross && p.AMX:
		return p.Far * p.Band
	case p.XAcross:
		return p.Piece * p.Band
	case p.SideBySide:
		return p.Piece*p.Far + int64(p.VecWidth)
	}
	return int64(p.Rows) * p.Far
}

// CopyYElements is the number of elements of the copy of y. A tile register reads so many steps that the last panel may
// not have them all.
func (p *MatmulPlan) CopyYElements() int64 {
	n := p.BlockCols * p.Piece
	if p.AMX {
		n += AMXRows * p.Panel
	}
	return n
}
