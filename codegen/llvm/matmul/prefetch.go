package matmul

import (
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/codegen/llvm/loops"
	"healc/ir/kernel"
)

// prefetchResult asks for the lines of the result that the tile will write, or those that the next tile starts from,
// while the chains run.
func (t *tileGen) prefetchResult(k chain, ps panels, n value.Value) {
	if !t.Ahead {
		return
	}
	for _, l := range t.ReadAtTile() {
		t.prefetchRead(l, k)
	}
	if t.Carry == nil {
		return
	}
	p := t.address(t.Carry.Param, t.Carry.At, k)
	if k.first != nil { // the panel to the right, or the first one below
		below := t.carryRow(p, t.h)
		below = t.Cur.NewGetElementPtr(build.RegisterType(t.Acc), below, t.Mul(n, build.Int(build.I64, -t.Panel)))
		last := ps.whole
		if ps.edge == 0 {
			last = t.Add(last, build.Int(build.I64, -1))
		}
		p = t.Cur.NewSelect(t.Cur.NewICmp(enum.IPredSLT, n, last), t.offset(p, t.Panel), below)
	}
	for r := range t.h {
		for v := range t.vecs {
			loops.PrefetchLineFor(t.writer.Func, 1, loops.ToL1, t.offset(t.carryRow(p, r), int64(v*t.VecWidth)))
		}
	}
}

// prefetchRead asks for the elements that a load of the epilogue reads for the tile.
func (t *tileGen) prefetchRead(l *kernel.Load, k chain) {
	param := t.Params[l.Param]
	elem, p := build.MemoryType(param.DType), t.address(l.Param, l.At, k)
	stride := value.Value(build.Int(build.I64, 0))
	for _, a := range l.At.Terms {
		if a.Var == t.Row.Var {
			stride = t.Add(stride, t.Dim(a.Coef))
		}
	}
	write := int64(0)
	if param.InPlace {
		write = 1
	}
	line := max(64/int64(param.DType.Bytes()), 1)
	for r := range t.h {
		row := t.Cur.NewGetElementPtr(elem, p, t.Mul(stride, build.Int(build.I64, int64(r))))
		for at := int64(0); at < t.cols; at += line {
			loops.PrefetchLineFor(t.writer.Func, write, loops.ToL1,
				t.Cur.NewGetElementPtr(elem, row, build.Int(build.I64, at)))
		}
	}
}

// prefetchRows prepares the chains to ask for some of the rows of x below the tile, a line in each turn of their loop,
// so that all panels together ask for all of them: rows one after the other where they follow each other in memory,
// else two at once.
func (t *tileGen) prefetchRows(k chain, n value.Value) {
	along, across, ok := t.Strides(t.Contraction.X, t.RowVar())
	if !ok || along != 1 || t.SideBySide || t.PerStep() > 1 || !t.Ahead || t.cols != t.Panel || t.h != t.Rows {
		return
	}
	p := t.address(t.Contraction.X.Main.Param, t.Contraction.X.Main.At, k)
	elem := build.MemoryType(t.Params[t.Contraction.X.Main.Param].DType)
	line := 64 / int64(t.Params[t.Contraction.X.Main.Param].DType.Bytes())
	rows := int64(2)
	t.aheadStep, t.aheadRow = 1, across
	if steps := t.unroll(); k.first == nil && across == t.Size.K && !t.Free && line > steps {
		rows, t.aheadStep, t.aheadRow = line/steps, line/steps, 0
	}
	row := t.Cur.NewMul(n, build.Int(build.I64, rows*across))
	t.ahead = t.Cur.NewGetElementPtr(elem, p, t.Add(row, build.Int(build.I64, int64(t.Rows)*across)))
	t.aheadType = elem
}

// askAhead asks for the lines that prefetchRows prepared, in the turn of the loop from step kk on.
func (t *tileGen) askAhead(kk value.Value) {
	if t.ahead == nil {
		return
	}
	p := t.Cur.NewGetElementPtr(t.aheadType, t.ahead, t.Mul(kk, build.Int(build.I64, t.aheadStep)))
	loops.PrefetchLine(t.writer.Func, loops.ToL1, p)
	if t.aheadRow != 0 {
		loops.PrefetchLine(t.writer.Func, loops.ToL1, t.Cur.NewGetElementPtr(t.aheadType, p,
			build.Int(build.I64, t.aheadRow)))
	}
}

// prefetchSquares asks for the rows of y that the next tile transposes, in the order in which they lie in memory: for
// as many lines in each square as it has, or for one of some, after which the processor fetches the others. Squares go
// down the rows of many pages at once, which no processor follows for long. Where rows are pages apart, their lines
// share a few sets of the first-level cache, so they are asked for in the second.
func (t *tileGen) prefetchSquares(k chain, kk value.Value, v int64) {
	main, w := t.Contraction.Y.Main, int64(t.VecWidth)
	param := t.Params[main.Param]
	size := int64(param.DType.Bytes())
	if t.Next == 0 {
		return
	}
	p := t.address(main.Param, main.At, k)
	elem := build.MemoryType(param.DType)
	// The squares of a panel before this one, of all parts of its rows, are as many lines of the next panel.
	steps := t.Extent(t.Chains.Axis.Extent)
	before, row := kk, steps
	if a := t.PartAxis(); a != nil {
		at := t.Mul(t.Env[a.Var].V, steps)
		p = t.Cur.NewGetElementPtr(elem, p, t.Sub(build.Int(build.I64, 0), at))
		before, row = t.Add(kk, at), t.Mul(steps, build.Int(build.I64, t.Parts()))
	}
	p = t.Cur.NewGetElementPtr(elem, p, t.Mul(t.Add(before, row), build.Int(build.I64, t.Panel)))
	for at := v * w * w; at < (v+1)*w*w; at += t.Next * 64 / size {
		loops.PrefetchLine(t.writer.Func, loops.ToL2, t.Cur.NewGetElementPtr(elem, p, build.Int(build.I64, at)))
	}
}

// prefetchAlong asks for a line of each row of a square, further on in the same row: of rows that are too long for
// those of the next tile to stay in the second-level cache until these are read.
func (t *tileGen) prefetchAlong(k chain, kk value.Value, v int) {
	main := t.Contraction.Y.Main
	if t.Along == 0 {
		return
	}
	ahead := t.Along / int64(t.Params[main.Param].DType.Bytes())
	t.Env[t.Chains.Axis.Var] = emit.Val{V: t.Add(t.Add(k.at, kk), build.Int(build.I64, ahead))}
	for e := 0; e < t.VecWidth && t.inside(v, e); e++ {
		t.Env[t.Col.Var] = emit.Val{V: t.Add(t.j, build.Int(build.I64, int64(v*t.VecWidth+e)))}
		loops.PrefetchLine(t.writer.Func, loops.ToL1, t.Addr(main.Param, t.AddressOf(main.At).Base))
	}
}
