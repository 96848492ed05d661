package schedule

import (
	"errors"
	"fmt"

	"healc/codegen/target/profile"
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
)

// How a block of a device computes a tile of a product, see Note [Matrix products on devices] in codegen/gpu.
const (
	BlockThreads   = 256
	SliceElements  = 1024 // of a factor, in one slice
	ThreadsPerSide = 16   // threads along each side of a tile
)

// BlockPlan is how a product is cut up for a device, as a directive says it.
type BlockPlan struct {
	*analysis.Contraction
	Tile  int64 // rows and columns
	Depth int64 // of a slice, along k
	Side  int   // rows and columns of a thread's register tile
	Fours bool  // a step takes four elements, which are bytes
}

// tileSides are the sides of tiles, from the largest on.
var tileSides = []int64{128, 64, 32}

// MatmulBlocks decides how a product is written for a device: by the largest tiles of which there are enough. Nil is
// no.
func MatmulBlocks(c *analysis.Contraction, tune *profile.GPU) (*kernel.Directive, []kernel.Rejection) {
	var rejected []kernel.Rejection
	reject := func(what, why string, args ...any) {
		rejected = append(rejected, kernel.Rejection{What: what, Why: fmt.Sprintf(why, args...)})
	}
	if what := noBlocks(c); what != "" {
		reject("matmul", "%s", what)
		return nil, rejected
	}
	tile, why := int64(0), ""
	for _, tile = range tileSides {
		tiles := tilesOf(c, tile)
		if tile == 128 && manySums(c) {
			reject("tile 128", "the sums of a thread would take too many registers")
			continue
		}
		if why = fmt.Sprintf("%d tiles keep a device busy", tiles); tiles >= int64(tune.BusyTiles) {
			break
		}
		if tile != tileSides[len(tileSides)-1] {
			reject(fmt.Sprintf("tile %d", tile), "%d tiles, less than %d, leave parts of a device idle", tiles,
				tune.BusyTiles)
		} else {
			why = fmt.Sprintf("%d tiles, the most there can be", tiles)
		}
	}
	d := kernel.NewDirective("matmul", c.Chains.Axis.Var).Set("tile", tile).Set("depth", SliceElements/tile).
		Set("blockdim", BlockThreads)
	if _, _, ok := c.Bytes(); ok {
		d.Set("fours", 1)
	}
	return d.Because(why), rejected
}

// noBlocks says why blocks of threads cannot compute tiles of a product, "" when they can.
func noBlocks(c *analysis.Contraction) string {
	switch {
	case c == nil:
		return "the kernel is no product that goes by tiles"
	case c.Row == nil:
		return "the product has one row, of which there are no tiles"
	case c.Start != nil:
		return "its sums start at elements of a matrix"
	case !c.Uniform():
		return "what is computed before the chains differs between rows or columns"
	case c.Kernel.Buffers() < len(c.Kernel.Params):
		return "the kernel has memory of its own"
	}
	return ""
}

// manySums reports that the sums of a tile of 128 are more than a thread has registers for: those of 8 bytes, and those
// that have two chains each.
func manySums(c *analysis.Contraction) bool { return c.Acc.Bytes() > 4 || c.BlockSteps > 0 }

// tilesOf is the number of tiles of a side, where extents that are not known are NominalExtent.
func tilesOf(c *analysis.Contraction, side int64) int64 {
	tiles := int64(1)
	for _, a := range c.Kernel.Axes {
		n, known := a.Extent.Dim.Const()
		if !known {
			n = analysis.NominalExtent
		}
		if a.Var == c.Row.Var || a.Var == c.Col.Var {
			n = (n + side - 1) / side
		}
		tiles *= n
	}
	return tiles
}

// MatmulBlocksOf reads the directive of a product for a device. Requires that CheckMatmulBlocks accepts it.
func MatmulBlocksOf(c *analysis.Contraction, d *kernel.Directive) *BlockPlan {
	tile := d.Get("tile")
	return &BlockPlan{Contraction: c, Tile: tile, Depth: d.Get("depth"), Side: int(tile / ThreadsPerSide),
		Fours: d.Get("fours") != 0}
}

// CheckMatmulBlocks says what keeps a product from being written for a device as a directive says; nil when nothing
// does.
func CheckMatmulBlocks(c *analysis.Contraction, d *kernel.Directive) error {
	what := noBlocks(c)
	bytes := false
	if what == "" {
		_, _, bytes = c.Bytes()
	}
	tile, depth, threads := d.Get("tile"), d.Get("depth"), d.Get("blockdim")
	switch {
	case what != "":
	case d.On != c.Chains.Axis.Var:
		what = "speaks of another loop than the chains of the contract"
	case tile != 128 && tile != 64 && tile != 32:
		what = fmt.Sprintf("tile is %d, and has to be 32, 64 or 128", tile)
	case tile == 128 && manySums(c):
		what = "a tile of 128 has more sums than a thread has registers for"
	case depth*tile != SliceElements:
		what = fmt.Sprintf("depth is %d, and has to be %d: slices have %d elements", depth, SliceElements/tile,
			SliceElements)
	case d.Get("fours") != 0 && !bytes:
		what = "fours: the factors are not cast from integers of 8 bits"
	case threads != BlockThreads:
		what = fmt.Sprintf("blockdim is %d, and has to be %d", threads, BlockThreads)
	}
	if what == "" {
		return nil
	}
	return errors.New(what)
}
