package llvm

import (
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/value"

	"healc/ir/kernel"
)

// prefetchResult asks for the lines of the result that the tile will write, or those that the next tile starts from,
// while the chains run.
func (t *tileGen) prefetchResult(k chain, ps panels, n value.Value) {
	if t.kk < farChain {
		return
	}
	for _, l := range t.readAtTile() {
		t.prefetchRead(l, k)
	}
	if t.carry == nil {
		return
	}
	p := t.address(t.carry.Param, t.carry.At, k)
	if k.first != nil { // the panel to the right, or the first one below
		below := t.carryRow(p, t.h)
		below = t.cur.NewGetElementPtr(regType(t.acc), below, t.times(n, ci(i64, -t.panel)))
		last := ps.whole
		if ps.edge == 0 {
			last = t.plus(last, ci(i64, -1))
		}
		p = t.cur.NewSelect(t.cur.NewICmp(enum.IPredSLT, n, last), t.offset(p, t.panel), below)
	}
	for r := range t.h {
		for v := range t.vecs {
			t.fetchFor(1, toFirst, t.offset(t.carryRow(p, r), int64(v*t.lanes)))
		}
	}
}

// readAtTile lists what the epilogue reads at the row and column of each element, such as weights that are updated in
// place or a residual. Other threads, or other kernels, have it in their caches, and nothing asks for it in time where
// the rows of a tile are far from each other.
func (c *contraction) readAtTile() []*kernel.Load {
	if c.row == nil {
		return nil
	}
	var out []*kernel.Load
	for _, list := range [][]kernel.Stmt{c.before, c.after} {
		for _, st := range list {
			l, ok := st.(*kernel.Load)
			if !ok {
				continue
			}
			if unit, ok := c.coef(l.At, c.col.Var); !ok || unit != 1 || !c.onAxes(l.At) {
				continue
			}
			if far, ok := c.coef(l.At, c.row.Var); ok && far == 0 {
				continue
			}
			out = append(out, l)
		}
	}
	return out
}

// prefetchRead asks for what a load of the epilogue reads for the tile.
func (t *tileGen) prefetchRead(l *kernel.Load, k chain) {
	param := t.params[l.Param]
	elem, p := memType(param.DType), t.address(l.Param, l.At, k)
	stride := value.Value(ci(i64, 0))
	for _, a := range l.At.Terms {
		if a.Var == t.row.Var {
			stride = t.plus(stride, t.dim(a.Coef))
		}
	}
	write := int64(0)
	if param.InPlace {
		write = 1
	}
	line := max(64/int64(param.DType.Bytes()), 1)
	for r := range t.h {
		row := t.cur.NewGetElementPtr(elem, p, t.times(stride, ci(i64, int64(r))))
		for at := int64(0); at < t.cols; at += line {
			t.fetchFor(write, toFirst, t.cur.NewGetElementPtr(elem, row, ci(i64, at)))
		}
	}
}

// prefetchRows prepares the chains to ask for some of the rows of x below the tile, a line in each turn of their loop,
// so that all panels together ask for all of them: rows one after the other where they follow each other in memory,
// else two at once.
func (t *tileGen) prefetchRows(k chain, n value.Value) {
	along, across, ok := t.strides(t.contraction.x, t.rowVar())
	if !ok || along != 1 || t.sideBySide || t.pairs || t.kk < farChain || t.cols != t.panel || t.h != t.rows {
		return
	}
	p := t.address(t.contraction.x.main.Param, t.contraction.x.main.At, k)
	elem := memType(t.params[t.contraction.x.main.Param].DType)
	line := 64 / int64(t.params[t.contraction.x.main.Param].DType.Bytes())
	rows := int64(2)
	t.aheadStep, t.aheadRow = 1, across
	if steps := t.unroll(); k.first == nil && across == t.kk && !t.free && line > steps {
		rows, t.aheadStep, t.aheadRow = line/steps, line/steps, 0
	}
	row := t.cur.NewMul(n, ci(i64, rows*across))
	t.ahead = t.cur.NewGetElementPtr(elem, p, t.plus(row, ci(i64, int64(t.rows)*across)))
	t.aheadType = elem
}

// askAhead asks for what prefetchRows prepared, in the turn of the loop from step kk on.
func (t *tileGen) askAhead(kk value.Value) {
	if t.ahead == nil {
		return
	}
	p := t.cur.NewGetElementPtr(t.aheadType, t.ahead, t.times(kk, ci(i64, t.aheadStep)))
	t.fetch(toFirst, p)
	if t.aheadRow != 0 {
		t.fetch(toFirst, t.cur.NewGetElementPtr(t.aheadType, p, ci(i64, t.aheadRow)))
	}
}

// prefetchSquares asks for the rows of y that the next tile turns over, in the order in which they lie in memory: as
// many lines for each square as it has. Squares go down the rows of many pages at once, which no processor follows for
// long, and where rows are pages apart, their lines share a few sets of the first-level cache, so these come to the
// second.
func (t *tileGen) prefetchSquares(k chain, kk value.Value, v int64) {
	main, w := t.contraction.y.main, int64(t.lanes)
	param := t.params[main.Param]
	size := int64(param.DType.Bytes())
	if t.pairs || !t.rowsFollow(main) || t.fixed(t.chains.Axis) &&
		(t.kk*size < 1024 || t.kk*size*t.panel > aheadBytes) {
		return
	}
	p := t.address(main.Param, main.At, k)
	elem := memType(param.DType)
	p = t.cur.NewGetElementPtr(elem, p, t.times(t.plus(kk, t.extent(t.chains.Axis.Extent)), ci(i64, t.panel)))
	for at := v * w * w; at < (v+1)*w*w; at += 64 / size {
		t.fetch(toSecond, t.cur.NewGetElementPtr(elem, p, ci(i64, at)))
	}
}

// rowsFollow reports that y lies in memory row after row of the chains.
func (t *tileGen) rowsFollow(main *kernel.Load) bool {
	follow := false
	for _, term := range main.At.Terms {
		switch term.Var {
		case t.chains.Axis.Var:
			if !term.Coef.IsConst(1) {
				return false
			}
		case t.col.Var:
			follow = term.Coef.Equal(t.chains.Axis.Extent.Dim)
		}
	}
	return follow
}
