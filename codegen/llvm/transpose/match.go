package transpose

import (
	"healc/codegen/llvm/emit"
	"healc/codegen/llvm/loops"
	"healc/codegen/target"
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/lang/types"
)

// Note [Tiled transposition]
//
// An element-wise kernel that reads an operand along another axis than the one along which it writes, such as
// transpose(x) .* 2.0 .+ y, has no good order of plain loops: along one axis every load is a line of its own, along the
// other one every store. So it goes by tiles of those two axes, `across`, along which the operand lies in memory, and
// `last`, along which the output does:
//
//	for each strip of `last`                     (64 columns of f32)
//	  for each piece of `across`                 (64 rows of f32)
//	    copy the operand's tile to the stack, transposed by squares in registers
//	    for each row of the tile
//	      the body, in vectors over the strip, with the operand read from the stack
//
// So lines of the operand are read once and whole, 4 of them in a row, and the output is written in pieces that can go
// past the caches (Note [Streaming stores]); the body is any that the generator knows. The tile stays in the
// second-level cache.
//
// The tile is copied by squares of the width of a vector, along `across` first. Each asks for the lines that come
// transposeAhead bytes later along `across`, in the second-level cache: the first has no room for what all rows of a
// tile ask for. With AVX2 a tile takes one line of each row of the operand and narrowColBytes of the output's, because
// rows that are a power of two apart have room for few lines in a smaller second-level cache. The sizes are measured:
// docs/tuning/transposition.md.
//
// Where a row of the output does not begin at a line, pieces of it that do not either would share lines with their
// neighbours, and a processor completes such lines one by one when they go past the caches. So each row of a tile
// begins and ends at a line of its own row, and a tile has a line's worth of columns more than it writes, which the
// strip before had, too (docs/tuning/streaming-stores.md).
//
// Where the tile ends, the last square overlaps the one before; fewer elements than a square go one by one.

// transposition is a kernel of that form.
type transposition struct {
	axes   []kernel.Axis  // all parallel ones, outermost first
	Across int            // its place in axes; `last` is the last of axes
	before []kernel.Stmt  // the loop over `last`, when that is no axis of the kernel
	body   []kernel.Stmt  // of the loop over `last`
	loads  []*kernel.Load // of the operands that are transposed
	output *kernel.Store  // an output that goes past the caches; nil: none does
	back   int64          // columns that a tile may have before its own, a line of that output
	rows   int64          // of a tile, iterations of `across`
	cols   int64          // and of `last`
	later  int64          // bytes along `across` that a square asks for ahead
	Part   int64          // parts of `across` are multiples of it
}

const (
	// A thread's part of the axis is a multiple of this, so that parts share no lines of the operand.
	partBytes      = 128
	tileRowBytes   = 256 // of a tile along `across`, as the operand lies in memory
	tileColBytes   = 256 // and along `last`
	transposeAhead = 512 // bytes along `across` that a tile's rows are fetched ahead

	narrowColBytes = 512 // along `last`, where a tile has one line along `across`
)

// TranspositionOf recognises such a kernel; it returns nil for any other.
func TranspositionOf(m *emit.Module, k *kernel.Kernel) *transposition {
	if m.Machine.Narrow {
		return nil
	}
	for _, p := range k.Params {
		if p.InPlace || p.Work || p.Local {
			return nil
		}
	}
	t := &transposition{axes: k.Axes, body: k.Body.Stmts}
	if n := len(t.body) - 1; n >= 0 {
		if l, ok := t.body[n].(*kernel.Loop); ok && l.Parallel {
			t.axes = append(t.axes[:len(t.axes):len(t.axes)], l.Axis)
			t.before, t.body = t.body[:n], l.Body.Stmts
		}
	}
	if len(t.axes) < 2 || !analysis.Movable(t.before) || !analysis.Movable(t.body) {
		return nil
	}
	last := t.axes[len(t.axes)-1].Var
	if !analysis.AlongStores(t.body, last) || len(t.before) > 0 && analysis.Stores(&kernel.Block{Stmts: t.before}) {
		return nil
	}
	t.Across = -1
	for _, s := range t.body {
		l, ok := s.(*kernel.Load)
		if !ok {
			continue
		}
		if i := t.turnedAxis(l.At, last); i >= 0 && (t.Across < 0 || i == t.Across) {
			t.Across = i
			t.loads = append(t.loads, l)
		}
	}
	if t.Across < 0 {
		return nil
	}
	widest, narrowest := 1, 8
	for _, l := range t.loads {
		b := k.Params[l.Param].DType.Bytes()
		widest, narrowest = max(widest, b), min(narrowest, b)
	}
	rows, cols, ahead := int64(tileRowBytes), int64(tileColBytes), int64(transposeAhead)
	if m.Machine.VectorBits < 512 && analysis.OnlyLoads(t.body, t.loads) {
		rows, cols, ahead = loops.LineBytes, narrowColBytes, loops.LineBytes
	}
	t.rows, t.cols, t.later = rows/int64(narrowest), cols/int64(widest), ahead
	t.Part = int64(partBytes / narrowest)
	for _, s := range t.body {
		if st, ok := s.(*kernel.Store); ok && t.output == nil && k.Params[st.Param].Stream {
			t.output, t.back = st, int64(loops.LineBytes/k.Params[st.Param].DType.Bytes())
		}
	}
	return t
}

// turnedAxis is the axis other than last along which an access goes to neighbours, while it goes far along last; -1
// when there is none, or when the place depends on data.
func (t *transposition) turnedAxis(at kernel.Access, last kernel.Ref) int {
	across, far := -1, false
	for _, term := range at.Terms {
		axis := -1
		for i, a := range t.axes {
			if a.Var == term.Var {
				axis = i
			}
		}
		n, known := term.Coef.Const()
		switch {
		case axis < 0:
			return -1
		case term.Var == last:
			far = !known || n > loops.MaxShuffled || n < -loops.MaxShuffled
		case known && (n == 1 || n == -1):
			across = axis
		}
	}
	if !far || across < 0 || analysis.IsShort(t.axes[across]) || analysis.IsShort(t.axes[len(t.axes)-1]) {
		return -1
	}
	return across
}

// square is the side of the squares that are transposed in registers.
func square(m target.Machine, d types.DType) int {
	switch d.Bytes() {
	case 1:
		return 16
	case 2:
		if m.VectorBits >= 256 {
			return 16
		}
		return 8
	case 4:
		return m.VectorBits / 32
	}
	return m.VectorBits / 64
}
