package matmul

import (
	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/ir/scalar"
)

// unroll is how many steps of the chains stand in the body of the loop. With more than 2, LLVM moves what products
// together read so far up that registers run out.
func (c *writer) unroll() int64 {
	if c.Together && !c.Pairs {
		return 2
	}
	return 4
}

// tile is a tile to compute: h rows from row i on, the first cols columns of panel n.
type tile struct {
	i, n   value.Value
	h      int
	cols   int64
	there  value.Value // columns that there are, nil for cols
	from   value.Value // the first row of those whose unfinished sums wait together
	copied value.Value // where the copy of its rows lies
	alone  bool        // no loop over panels is around it
	leastX value.Value // of the copy of its rows (Note [Tiny bf16])
}

func (c *writer) tile(k chain, p panels, what tile) {
	t := c.newTile(k, p, what)
	t.prefetchResult(k, p, t.n)
	if t.AMX {
		t.amxTile(k)
		return
	}
	t.prefetchRows(k, t.n)
	sums := t.start(k)
	if c.Dot {
		sums = t.dotChain(k, sums)
	} else {
		c.InVectors(c.VecWidth, func() {
			sums = t.chain(k, sums)
		})
	}
	t.finish(k, sums)
}

// newTile finds where a tile reads.
func (c *writer) newTile(k chain, p panels, what tile) *tileGen {
	w, n, cols, some := c.VecWidth, what.n, what.cols, what.there
	t := &tileGen{writer: c, tile: what, j: c.columnOf(p, n), vecs: (int(cols) + w - 1) / w}
	t.masks = make([]value.Value, t.vecs)
	if rest := int(cols) % w; rest != 0 {
		mask := make([]constant.Constant, w)
		for e := range mask {
			mask[e] = constant.NewBool(e < rest)
		}
		t.masks[t.vecs-1] = constant.NewVector(nil, mask...)
	}
	if some != nil {
		for v := range t.masks {
			c.InVectors(w, func() {
				first := c.Cur.NewAdd(build.IotaConst(w), c.Splat(build.Int(build.I64, int64(v*w))))
				t.masks[v] = c.Cur.NewICmp(enum.IPredSLT, first, c.Splat(some))
			})
		}
	}
	t.x, t.y = c.source(c.PackX, c.xs, t.copied), c.source(c.PackY, c.ys,
		c.Mul(n, build.Int(build.I64, c.Panel*c.Piece)))
	switch {
	case c.PackX:
		t.x.along, t.x.across = 1, c.Far
		if (c.XAcross || c.SideBySide) && !c.AMX {
			t.x.along, t.x.across = c.Far, 1
		}
	case c.AMX:
		t.x.base = c.rowsInPlace(t.i, k)
	default:
		t.x.base = t.address(c.X.Load.Param, c.X.Load.At, k)
		t.x.along, t.x.across, _ = c.Strides(c.X, c.RowVar())
	}
	switch {
	case c.PackY:
		t.y.along = c.Panel
	case !c.Dot:
		t.y.base = t.address(c.Y.Load.Param, c.Y.Load.At, k)
		t.y.along, _, _ = c.Strides(c.Y, c.Col.Var)
	}
	if c.Apart {
		row := c.Mul(c.Cur.NewSub(t.i, t.from), build.Int(build.I64, c.BlockCols))
		t.wait = c.Cur.NewGetElementPtr(build.RegisterType(c.Acc), c.waiting,
			c.Add(row, c.Mul(n, build.Int(build.I64, c.Panel))))
	}
	return t
}

// tileGen writes one tile: sums of h rows by vecs vectors in registers.
type tileGen struct {
	*writer
	tile
	j     value.Value // the first column
	vecs  int
	masks []value.Value // of the vectors, nil for whole ones
	x, y  source
	wait  value.Value // where the unfinished sums of the tile are when they wait apart
	// The first of the rows of x below that are asked for, nil for none, by so many elements in a step of the chains,
	// and the distance to a second row, 0 for none.
	ahead               value.Value
	aheadType           lt.Type
	aheadStep, aheadRow int64
}

// source says where elements of an operand lie.
type source struct {
	base          value.Value
	along, across int64
	aligned       bool
}

func (c *writer) source(packed bool, mem, at value.Value) source {
	if !packed {
		return source{}
	}
	return source{base: c.Cur.NewGetElementPtr(build.RegisterType(c.Acc), mem, at), aligned: true}
}

// address is the place of the tile's first element in a parameter, at the start of the piece of k.
func (t *tileGen) address(param int, at kernel.Access, k chain) value.Value {
	if t.Row != nil {
		t.Env[t.Row.Var] = emit.Val{V: t.i}
	}
	t.Env[t.Col.Var] = emit.Val{V: t.j}
	t.Env[t.Chains.Axis.Var] = emit.Val{V: k.at}
	return t.Addr(param, t.AddressOf(at).Base)
}

// offset is base + n elements, as one addition of a constant.
func (t *tileGen) offset(base value.Value, n int64) value.Value {
	if n == 0 {
		return base
	}
	return t.Cur.NewGetElementPtr(build.RegisterType(t.Acc), base, build.Int(build.I64, n))
}

func (t *tileGen) vectorType() *lt.VectorType {
	return lt.NewVector(uint64(t.VecWidth), build.RegisterType(t.Acc))
}

// loadVector reads vector number v of a row; the last may be short.
func (t *tileGen) loadVector(p value.Value, v int, padded bool) value.Value {
	vt := t.vectorType()
	p = t.Cur.NewBitCast(t.offset(p, int64(v*t.VecWidth)), lt.NewPointer(vt))
	size := analysis.ArithmeticType(t.Acc).Bytes()
	if mask := t.masks[v]; mask != nil && !padded {
		f := t.Intrinsic("llvm.masked.load."+build.TypeSuffix(vt)+".p0"+build.TypeSuffix(vt), vt, p.Type(), build.I32,
			mask.Type(), vt)
		return t.Cur.NewCall(f, p, build.Int(build.I32, int64(size)), mask, constant.NewZeroInitializer(vt))
	}
	l := t.Cur.NewLoad(vt, p)
	l.Align = lir.Align(size)
	if padded {
		l.Align = lir.Align(size * t.VecWidth)
	}
	return l
}

func (t *tileGen) storeVector(x, p value.Value, v int) {
	vt := t.vectorType()
	p = t.Cur.NewBitCast(t.offset(p, int64(v*t.VecWidth)), lt.NewPointer(vt))
	size := analysis.ArithmeticType(t.Acc).Bytes()
	if mask := t.masks[v]; mask != nil {
		f := t.Intrinsic("llvm.masked.store."+build.TypeSuffix(vt)+".p0"+build.TypeSuffix(vt), lt.Void, vt, p.Type(),
			build.I32,
			mask.Type())
		t.Cur.NewCall(f, x, p, build.Int(build.I32, int64(size)), mask)
		return
	}
	st := t.Cur.NewStore(x, p)
	st.Align = lir.Align(size)
}

// start gives the sums: what they start at, or those that the piece of k before left in the result.
func (t *tileGen) start(k chain) []value.Value {
	if t.Start != nil {
		return t.startFromMemory(k)
	}
	begins := make([]value.Value, t.vecs)
	for v := range begins {
		begins[v] = constant.NewZeroInitializer(t.vectorType())
		if t.begins != nil {
			first := t.Mul(t.n, build.Int(build.I64, t.Panel))
			p := t.Cur.NewGetElementPtr(build.RegisterType(t.Acc), t.begins, first)
			begins[v] = t.loadVector(p, v, true)
		}
	}
	sums := make([]value.Value, t.h*t.vecs)
	for i := range sums {
		sums[i] = begins[i%t.vecs]
	}
	if k.first == nil {
		return sums
	}
	pre, later, join := t.Cur, t.NewBlock(), t.NewBlock()
	pre.NewCondBr(k.first, join, later)
	t.Cur = later
	read := t.unfinished(k)
	if t.begins != nil {
		for i := range read {
			read[i] = t.Cur.NewAdd(read[i], begins[i%t.vecs])
		}
	}
	end := t.Cur
	end.NewBr(join)
	t.Cur = join
	for i := range sums {
		sums[i] = join.NewPhi(lir.NewIncoming(begins[i%t.vecs], pre), lir.NewIncoming(read[i], end))
	}
	return sums
}

// startFromMemory is start for sums that start at elements of a matrix.
func (t *tileGen) startFromMemory(k chain) []value.Value {
	first := func() []value.Value {
		p, far := t.address(t.Start.Param, t.Start.At, k), t.rowStride(t.Start.At)
		return t.loadTile(func(r int) value.Value { return t.rowBelow(p, far, r) })
	}
	if k.first == nil {
		return first()
	}
	return t.IfElse(k.first, first, func() []value.Value { return t.unfinished(k) })
}

// unfinished are the sums that the piece of k before left.
func (t *tileGen) unfinished(k chain) []value.Value {
	p := t.carryAt(k)
	return t.loadTile(func(r int) value.Value { return t.carryRow(p, r) })
}

// loadTile reads the vectors of a tile whose rows begin at such places.
func (t *tileGen) loadTile(row func(r int) value.Value) []value.Value {
	out := make([]value.Value, 0, t.h*t.vecs)
	for r := range t.h {
		for v := range t.vecs {
			out = append(out, t.loadVector(row(r), v, false))
		}
	}
	return out
}

// carryAt is where the unfinished sums of the tile wait.
func (t *tileGen) carryAt(k chain) value.Value {
	if t.Apart {
		return t.wait
	}
	return t.address(t.Carry.Param, t.Carry.At, k)
}

// carryRow is p moved down r rows of where they wait.
func (t *tileGen) carryRow(p value.Value, r int) value.Value {
	return t.rowBelow(p, t.carryStride(), r)
}

// rowBelow is p moved down r rows, which are so far from each other.
func (t *tileGen) rowBelow(p, far value.Value, r int) value.Value {
	if n, ok := build.ConstantInt(far); ok {
		return t.offset(p, int64(r)*n)
	}
	return t.Cur.NewGetElementPtr(build.RegisterType(t.Acc), p, t.Mul(far, build.Int(build.I64, int64(r))))
}

// carryStride is how far rows are from each other where they wait.
func (t *tileGen) carryStride() value.Value {
	if t.Apart {
		return build.Int(build.I64, t.BlockCols)
	}
	return t.rowStride(t.Carry.At)
}

// rowStride is how far an element is from that in the next row.
func (t *tileGen) rowStride(at kernel.Access) value.Value {
	stride := value.Value(build.Int(build.I64, 0))
	for _, a := range at.Terms {
		if a.Var == t.RowVar() {
			stride = t.Add(stride, t.Dim(a.Coef))
		}
	}
	return stride
}

// chain runs the piece of the chains.
func (t *tileGen) chain(k chain, sums []value.Value) []value.Value {
	if t.BlockSteps > 0 {
		return t.blocks(k, sums)
	}
	n, known := build.ConstantInt(k.n)
	if known && t.Straight && t.alone { // in a loop over panels, LLVM would keep all rows of x in registers
		for kk := range n {
			sums = t.step(build.Int(build.I64, 0), kk, sums)
		}
		return sums
	}
	full, steps := t.minusRest(k.n), t.unroll()
	sums = t.For(build.Int(build.I64, 0), full, steps, sums, func(kk value.Value, s []value.Value) []value.Value {
		t.askAhead(kk)
		for u := range steps {
			s = t.step(kk, u, s)
		}
		return s
	})
	if known {
		for u := range n % steps {
			sums = t.step(full, u, sums)
		}
		return sums
	}
	return t.For(full, k.n, 1, sums, func(kk value.Value, s []value.Value) []value.Value { return t.step(kk, 0, s) })
}

func (t *tileGen) minusRest(n value.Value) value.Value {
	if x, ok := build.ConstantInt(n); ok {
		return build.Int(build.I64, x/t.unroll()*t.unroll())
	}
	return t.Cur.NewAnd(n, build.Int(build.I64, -t.unroll()))
}

// step is one step of all chains of the tile, number kk + u.
func (t *tileGen) step(kk value.Value, u int64, sums []value.Value) []value.Value {
	reg := build.RegisterType(t.Acc)
	at := func(s source) value.Value {
		p := s.base
		if n, ok := build.ConstantInt(kk); !ok || n != 0 {
			p = t.Cur.NewGetElementPtr(reg, p, t.Mul(kk, build.Int(build.I64, s.along)))
		}
		return t.offset(p, u*s.along)
	}
	y := at(t.y)
	broadcast := func(x value.Value, r int) value.Value {
		l := t.Cur.NewLoad(reg, t.offset(x, int64(r)*t.x.across))
		l.Align = lir.Align(analysis.ArithmeticType(t.Acc).Bytes())
		return t.Splat(l)
	}
	next := make([]value.Value, len(sums))
	if t.Low { // y one vector at a time
		x, xs := at(t.x), make([]value.Value, t.h)
		for r := range xs {
			xs[r] = broadcast(x, r)
		}
		for v := range t.vecs {
			yv := t.loadVector(y, v, t.y.aligned)
			for r, xr := range xs {
				next[r*t.vecs+v] = t.mulAdd(xr, yv, sums[r*t.vecs+v])
			}
		}
		return next
	}
	ys := make([]value.Value, t.vecs)
	for v := range ys {
		ys[v] = t.loadVector(y, v, t.y.aligned)
	}
	x := at(t.x)
	for r := range t.h {
		xr := broadcast(x, r)
		if t.Together && !t.Pairs {
			t.products(xr, ys, sums[r*t.vecs:][:t.vecs], next[r*t.vecs:])
			continue
		}
		for v := range t.vecs {
			next[r*t.vecs+v] = t.mulAdd(xr, ys[v], sums[r*t.vecs+v])
		}
	}
	return next
}

// mulAdd is one step of a chain.
func (t *writer) mulAdd(x, y, sum value.Value) value.Value {
	if t.Fours {
		return t.byteProducts(x, y, sum)
	}
	if t.Swap {
		x, y = y, x
	}
	w := t.Width
	if t.Pairs {
		return t.Cur.NewAdd(t.pairSum(x, y), sum)
	}
	if t.Fma.In.Op == scalar.Fma {
		return t.Instr(scalar.Fma, t.Acc, t.Acc, w, []value.Value{x, y, sum})
	}
	return t.Instr(scalar.Add, t.Acc, t.Acc, w, []value.Value{t.Instr(scalar.Mul, t.Acc, t.Acc, w, []value.Value{x, y}),
		sum})
}
