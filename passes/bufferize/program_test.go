package bufferize_test

import (
	"math/rand"

	"healc/ir"
	"healc/ir/ops"
	"healc/ir/scalar"
	"healc/lang/diag"
	"healc/lang/types"
)

// A program generator makes random functions of many operations. Extents are small literals, or the shape
// parameters M and N when symbolic is set.
type generator struct {
	*rand.Rand
	dims     map[string]int64
	symbolic bool
	f        *ir.Func
	args     []*ir.Array
	depth    int // of regions around the current block
}

// scopeOf is a block under construction and the values visible in it.
type scopeOf struct {
	*ir.Builder
	vals []*ir.Value
}

// program makes a module with the entry f and arguments for it.
func program(rng *rand.Rand, symbolic bool, size int) (*ir.Module, []*ir.Array, map[string]int64) {
	g := &generator{Rand: rng, symbolic: symbolic, f: &ir.Func{Name: "f", IO: true, Body: &ir.Block{}}}
	if symbolic {
		g.f.Dims = []string{"M", "N"}
		g.dims = map[string]int64{"M": int64(rng.Intn(4)), "N": int64(1 + rng.Intn(4))}
	}
	s := &scopeOf{Builder: &ir.Builder{Block: g.f.Body}}
	for _, t := range []types.DType{types.F32, types.I32, types.Bool, types.I64} {
		s.vals = append(s.vals, g.param(types.Tensor{Elem: t, Shape: g.shape(g.Intn(3))}))
	}
	for range g.Intn(3) {
		s.vals = append(s.vals, g.param(types.Tensor{Elem: g.dtype(), Shape: g.shape(g.Intn(4))}))
	}
	for range size {
		g.step(s)
	}
	n := 1 + g.Intn(3)
	for range n {
		v := s.vals[len(s.vals)-1-g.Intn(min(len(s.vals), 5))]
		g.f.Body.Yields = append(g.f.Body.Yields, v)
	}
	g.updates(s)
	g.f.Results = ir.ArgTypes(g.f.Body.Yields)
	return &ir.Module{Name: "random", Funcs: []*ir.Func{g.f, triangle()}}, g.args, g.dims
}

// triangle is a recursive function: n + (n-1) + ... + 1.
func triangle() *ir.Func {
	f := &ir.Func{Name: "triangle", Body: &ir.Block{}, Results: []types.Tensor{types.Scalar(types.I32)}}
	n := f.Body.Param("n", types.Scalar(types.I32), diag.Span{})
	b := &ir.Builder{Block: f.Body}
	cond := b.Emit(ops.Le, nil, n, constant(b, types.I32, 0))
	base, rec := &ir.Block{}, &ir.Block{}
	base.Yields = []*ir.Value{constant(&ir.Builder{Block: base}, types.I32, 0)}
	r := &ir.Builder{Block: rec}
	less := r.Emit(ops.Sub, nil, n, constant(r, types.I32, 1))
	call := r.Emit(ops.Call, ir.A{"callee": "triangle", "results": f.Results}, less)
	rec.Yields = []*ir.Value{r.Emit(ops.Add, nil, call, n)}
	f.Body.Yields = b.EmitOp(ops.If, nil, []*ir.Value{cond}, []*ir.Block{base, rec}).Results
	return f
}

func constant(b *ir.Builder, t types.DType, n int64) *ir.Value {
	a := ir.NewArray(t)
	a.Shape = []int64{}
	a.Bits[0] = scalar.IntBits(t, n)
	return b.Emit(ops.Const, ir.A{"value": a})
}

func (g *generator) dtype() types.DType {
	if g.Intn(3) > 0 {
		return []types.DType{types.F32, types.I32, types.I64, types.F64, types.Bool}[g.Intn(5)]
	}
	return types.DTypes[g.Intn(len(types.DTypes))]
}

func (g *generator) extent() types.Dim {
	if g.symbolic && g.Intn(2) == 0 {
		return types.Param([]string{"M", "N"}[g.Intn(2)])
	}
	if g.Intn(25) == 0 {
		return types.Lit(0)
	}
	return types.Lit([]int64{1, 2, 3, 3, 4, 4, 5}[g.Intn(7)])
}

func (g *generator) shape(rank int) types.Shape {
	s := make(types.Shape, rank)
	for i := range s {
		s[i] = g.extent()
	}
	return s
}

func (g *generator) value(d types.Dim) int64 {
	n, err := d.Eval(g.dims)
	if err != nil {
		panic(err)
	}
	return n
}

func (g *generator) param(t types.Tensor) *ir.Value {
	shape := make([]int64, t.Rank())
	for i, d := range t.Shape {
		shape[i] = g.value(d)
	}
	a := ir.NewArray(t.Elem, shape...)
	for i := range a.Bits {
		switch {
		case t.Elem == types.Bool:
			a.Bits[i] = uint64(g.Intn(2))
		case t.Elem.IsFloat() && g.Intn(4) > 0:
			a.Bits[i] = scalar.FloatBits(t.Elem, g.NormFloat64()*3)
		case t.Elem.IsFloat() && g.Intn(3) == 0:
			a.Bits[i] = g.Uint64() >> (64 - t.Elem.Bits())
		case g.Intn(10) == 0:
			a.Bits[i] = g.Uint64() >> (64 - t.Elem.Bits())
		default:
			a.Bits[i] = scalar.IntBits(t.Elem, int64(g.Intn(9)-2))
		}
	}
	g.args = append(g.args, a)
	return g.f.Body.Param("", t, diag.Span{})
}

// any picks a visible value, recent ones more often.
func (g *generator) any(s *scopeOf, ok func(*ir.Value) bool) *ir.Value {
	for range 20 {
		i := len(s.vals) - 1 - min(g.Intn(len(s.vals)), g.Intn(len(s.vals)))
		if v := s.vals[i]; v.Type.Elem != types.String && (ok == nil || ok(v)) {
			return v
		}
	}
	return nil
}

func number(v *ir.Value) bool { return v.Type.Elem.IsNumber() }

// as casts v to t.
func (g *generator) as(s *scopeOf, v *ir.Value, t types.DType) *ir.Value {
	if v.Type.Elem == t {
		return v
	}
	return s.Emit(ops.Cast, ir.A{"to": t}, v)
}

// shaped makes a value of the given shape out of visible ones.
func (g *generator) shaped(s *scopeOf, shape types.Shape) *ir.Value {
	v := g.any(s, func(v *ir.Value) bool {
		_, err := types.Broadcast(v.Type.Shape, shape)
		return err == nil && v.Type.Rank() <= len(shape)
	})
	if v == nil {
		v = constant(s.Builder, g.dtype(), int64(g.Intn(5)-1))
	}
	if b, err := types.Broadcast(v.Type.Shape, shape); err != nil || !b.Equal(shape) {
		v = constant(s.Builder, v.Type.Elem, int64(g.Intn(5)-1))
	}
	if v.Type.Shape.Equal(shape) {
		return v
	}
	return s.Emit(ops.Broadcast, ir.A{"shape": shape}, v)
}

// scalarOf makes a scalar of type t: a constant, or an element of something.
func (g *generator) scalarOf(s *scopeOf, t types.DType, n int64) *ir.Value {
	if v := g.any(s, func(v *ir.Value) bool { return v.Type.IsScalar() }); v != nil && g.Intn(4) > 0 {
		return g.as(s, v, t)
	}
	return constant(s.Builder, t, n)
}

// position makes an index for an axis: mostly one that is in range, by clamping.
func (g *generator) position(s *scopeOf, d types.Dim) *ir.Value {
	t := []types.DType{types.I32, types.I64}[g.Intn(2)]
	v := g.scalarOf(s, t, int64(g.Intn(3)))
	if g.Intn(8) == 0 {
		return v
	}
	top := g.as(s, s.Emit(ops.Dim, ir.A{"dim": minus1(d)}), t)
	return s.Emit(ops.Clamp, nil, v, constant(s.Builder, t, 0), top)
}

func minus1(d types.Dim) types.Dim {
	r, _ := d.Sub(types.Lit(1))
	return r
}

// try adds an operation when its types suit.
func (g *generator) try(s *scopeOf, d *ir.OpDef, attrs ir.A, args []*ir.Value, regions ...*ir.Block) {
	for _, a := range args {
		if a == nil {
			return
		}
	}
	ts, err := d.Infer(ir.ArgTypes(args), d.MakeAttrs(attrs), regions)
	if err != nil {
		return
	}
	for _, t := range ts {
		if n, err := t.Shape.Elems(); err != nil || t.Rank() > 5 {
			return
		} else if k, err := n.Eval(g.dims); err != nil || k > 3000 {
			return
		}
	}
	s.vals = append(s.vals, s.EmitOp(d, attrs, args, regions).Results...)
}

var pointwise, reductions []*ir.OpDef

func init() {
	for _, d := range ir.Ops() {
		switch {
		case d.Class == ir.Pointwise && d.Expand == nil && d.Arity > 0:
			pointwise = append(pointwise, d)
		case d.Class == ir.Reduce && d.Expand == nil:
			reductions = append(reductions, d)
		}
	}
}

// step adds one random operation to s.
func (g *generator) step(s *scopeOf) {
	x := g.any(s, nil)
	switch k := g.Intn(40); {
	case k < 14:
		g.pointwise(s, x)
	case k < 20:
		d := reductions[g.Intn(len(reductions))]
		attrs := ir.A{"keep": g.Intn(2) == 0}
		if d.Attrs[0].Name == "axes" {
			attrs["axes"] = g.axes(x.Type.Rank())
		} else if x.Type.Rank() > 0 && g.Intn(2) == 0 {
			attrs["axis"] = int64(g.Intn(x.Type.Rank()))
		}
		g.try(s, d, attrs, []*ir.Value{x})
	case k < 31:
		g.move(s, x)
	case k < 33:
		g.matmul(s)
	case k < 35:
		if g.depth < 2 {
			g.tabulate(s)
		}
	case k < 36:
		if g.depth < 2 {
			g.fold(s, x)
		}
	case k < 38:
		if g.depth < 2 {
			g.choose(s)
		}
	case k < 39:
		g.try(s, ops.Call, ir.A{"callee": "triangle", "results": []types.Tensor{types.Scalar(types.I32)}},
			[]*ir.Value{g.scalarOf(s, types.I32, 4)})
	default:
		if g.depth == 0 {
			g.try(s, ops.Print, nil, []*ir.Value{x})
		}
	}
}

func (g *generator) axes(rank int) []int64 {
	axes := []int64{}
	for k := range rank {
		if g.Intn(2) == 0 {
			axes = append(axes, int64(k))
		}
	}
	return axes
}

func (g *generator) pointwise(s *scopeOf, x *ir.Value) {
	d := pointwise[g.Intn(len(pointwise))]
	args := []*ir.Value{x}
	for len(args) < d.Arity {
		args = append(args, g.as(s, g.shaped(s, x.Type.Shape), x.Type.Elem))
	}
	attrs := ir.A{}
	switch d {
	case ops.Select:
		args[0] = g.as(s, args[0], types.Bool)
	case ops.Cast:
		attrs["to"] = g.dtype()
	}
	g.try(s, d, attrs, args)
}

// move adds an operation that moves elements.
func (g *generator) move(s *scopeOf, x *ir.Value) {
	rank := x.Type.Rank()
	if g.Intn(4) == 0 {
		g.byPosition(s, x)
		return
	}
	switch g.Intn(9) {
	case 0:
		to := append(g.shape(g.Intn(2)), x.Type.Shape...)
		for i, d := range to {
			if d.IsConst(1) && g.Intn(2) == 0 {
				to[i] = g.extent()
			}
		}
		g.try(s, ops.Broadcast, ir.A{"shape": to}, []*ir.Value{x})
	case 1: // flatten, unsqueeze, merge and cut axes
		var to types.Shape
		for k := 0; k < rank; k++ {
			d := x.Type.Shape[k]
			n, literal := d.Const()
			switch c := g.Intn(5); {
			case c == 0:
				to = append(to, types.Lit(1), d)
			case c == 1 && k+1 < rank:
				p, _ := d.Mul(x.Type.Shape[k+1])
				to = append(to, p)
				k++
			case c == 2 && literal && n%2 == 0 && n > 0:
				to = append(to, types.Lit(n/2), types.Lit(2))
			case c == 3 && k+1 < rank:
				to = append(to, x.Type.Shape[k+1], d)
				k++
			default:
				to = append(to, d)
			}
		}
		g.try(s, ops.Reshape, ir.A{"shape": to}, []*ir.Value{x})
	case 2:
		perm := make([]int64, rank)
		for i, a := range g.Perm(rank) {
			perm[i] = int64(a)
		}
		g.try(s, ops.Permute, ir.A{"perm": perm}, []*ir.Value{x})
	case 3:
		starts, shape, steps := make(types.Shape, rank), make(types.Shape, rank), make([]int64, rank)
		for k, d := range x.Type.Shape {
			starts[k], steps[k], shape[k] = types.Lit(0), 1, d
			n, literal := d.Const()
			switch {
			case g.Intn(3) == 0 && (!literal || n > 0):
				starts[k], steps[k] = minus1(d), -1
			case literal && n > 0 && g.Intn(2) == 0:
				start, step := int64(g.Intn(int(n))), int64(1+g.Intn(2))
				starts[k], steps[k], shape[k] = types.Lit(start), step, types.Lit((n-start+step-1)/step)
			}
		}
		g.try(s, ops.Slice, ir.A{"starts": starts, "steps": steps, "shape": shape}, []*ir.Value{x})
	case 4:
		axes := g.axes(rank)
		args := []*ir.Value{x}
		for _, a := range axes {
			args = append(args, g.position(s, x.Type.Shape[a]))
		}
		g.try(s, ops.Index, ir.A{"axes": axes}, args)
	case 5:
		axes := g.axes(rank)
		args, sizes := []*ir.Value{x}, types.Shape{}
		for _, a := range axes {
			n, literal := x.Type.Shape[a].Const()
			if !literal {
				n = 1
			}
			size := int64(g.Intn(int(n) + 1))
			sizes = append(sizes, types.Lit(size))
			room, _ := x.Type.Shape[a].Sub(types.Lit(size - 1))
			args = append(args, g.position(s, room))
		}
		g.try(s, ops.DynamicSlice, ir.A{"axes": axes, "sizes": sizes}, args)
	case 6:
		if rank == 0 {
			return
		}
		axis := g.Intn(rank)
		args := []*ir.Value{x}
		for range 1 + g.Intn(2) {
			to := append(types.Shape{}, x.Type.Shape...)
			to[axis] = g.extent()
			args = append(args, g.as(s, g.shaped(s, to), x.Type.Elem))
		}
		g.try(s, ops.Concat, ir.A{"axis": int64(axis)}, args)
	case 7:
		g.try(s, ops.Iota, ir.A{"start": types.Lit(int64(g.Intn(5) - 2)), "extent": g.extent()}, nil)
	case 8:
		g.update(s, x)
	}
}

// update replaces a part of x, most often of a late value: those are the ones that are changed in place.
func (g *generator) update(s *scopeOf, x *ir.Value) {
	rank := x.Type.Rank()
	axes, sizes := []int64{}, types.Shape{}
	starts, shape, steps := make(types.Shape, rank), make(types.Shape, rank), make([]int64, rank)
	var firsts []*ir.Value
	for k, d := range x.Type.Shape {
		steps[k], shape[k] = 1, d
		n, literal := d.Const()
		switch {
		case g.Intn(2) == 0:
			axes, sizes = append(axes, int64(k)), append(sizes, types.Lit(1))
			firsts = append(firsts, g.position(s, d))
			shape[k] = types.Lit(1)
		case g.Intn(3) == 0 && (!literal || n > 0):
			starts[k], steps[k] = minus1(d), -1
		case literal && n > 1:
			starts[k], shape[k] = types.Lit(1), types.Lit(n-1)
		}
	}
	v := g.as(s, g.shaped(s, shape), x.Type.Elem)
	attrs := ir.A{"axes": axes, "sizes": sizes, "starts": starts, "steps": steps, "shape": shape}
	g.try(s, ops.Update, attrs, append([]*ir.Value{x, v}, firsts...))
}

// updates lets the program change some of its parameters to values of their types.
func (g *generator) updates(s *scopeOf) {
	for i, p := range g.f.Body.Params {
		v := g.any(s, func(v *ir.Value) bool { return types.Equal(v.Type, p.Type) })
		if v != nil && g.Intn(4) == 0 {
			g.f.Updates = append(g.f.Updates, int64(i))
			g.f.Body.Yields = append(g.f.Body.Yields, v)
		}
	}
}

func (g *generator) matmul(s *scopeOf) {
	a := g.any(s, func(v *ir.Value) bool { return v.Type.Rank() >= 2 && number(v) })
	if a == nil {
		return
	}
	r := a.Type.Rank()
	to := append(append(types.Shape{}, a.Type.Shape[:r-2]...), a.Type.Shape[r-1], g.extent())
	g.try(s, ops.Matmul, nil, []*ir.Value{a, g.as(s, g.shaped(s, to), a.Type.Elem)})
}

// region makes a block that sees what s sees.
func (g *generator) region(s *scopeOf, params ...types.DType) *scopeOf {
	in := &scopeOf{Builder: &ir.Builder{Block: &ir.Block{}}, vals: append([]*ir.Value{}, s.vals...)}
	for _, t := range params {
		in.vals = append(in.vals, in.Block.Param("", types.Scalar(t), diag.Span{}))
	}
	return in
}

func (g *generator) fill(s *scopeOf, n int) {
	g.depth++
	for range n {
		g.step(s)
	}
	g.depth--
}

func (g *generator) tabulate(s *scopeOf) {
	shape := g.shape(1 + g.Intn(2))
	ts := make([]types.DType, len(shape))
	for i := range ts {
		ts[i] = types.I32
	}
	in := g.region(s, ts...)
	// Read something at the indices.
	if x := g.any(s, func(v *ir.Value) bool { return v.Type.Rank() >= len(shape) }); x != nil {
		args, axes := []*ir.Value{x}, []int64{}
		for k, p := range in.Block.Params {
			i := p
			if g.Intn(3) == 0 {
				i = in.Emit(ops.Add, nil, p, constant(in.Builder, types.I32, 1))
			}
			if !x.Type.Shape[k].Equal(shape[k]) || g.Intn(4) == 0 {
				top := in.Emit(ops.Dim, ir.A{"dim": minus1(x.Type.Shape[k])})
				i = in.Emit(ops.Min, nil, i, top)
			}
			args, axes = append(args, i), append(axes, int64(k))
		}
		g.try(in, ops.Index, ir.A{"axes": axes}, args)
	}
	g.fill(in, g.Intn(5))
	y := in.vals[len(in.vals)-1]
	in.Block.Yields = []*ir.Value{y}
	g.try(s, ops.Tabulate, ir.A{"shape": shape}, nil, in.Block)
}

func (g *generator) fold(s *scopeOf, x *ir.Value) {
	acc := x.Type.Elem
	args := []*ir.Value{}
	init := g.Intn(2) == 0 || !acc.Computes()
	if init {
		acc = types.Operands[g.Intn(len(types.Operands))]
		args = append(args, g.scalarOf(s, acc, 1))
	}
	in := g.region(s, acc, x.Type.Elem)
	a, e := in.Block.Params[0], in.Block.Params[1]
	r := g.as(in, e, acc)
	if acc.IsNumber() {
		r = in.Emit(ops.Sub, nil, in.Emit(ops.Add, nil, a, a), r)
	} else {
		r = in.Emit(ops.Ne, nil, a, r)
	}
	if g.Intn(2) == 0 {
		g.fill(in, 2)
		if v := g.any(in, func(v *ir.Value) bool { return v.Type.IsScalar() }); v != nil && acc.IsNumber() {
			r = in.Emit(ops.Max, nil, r, g.as(in, v, acc))
		}
	}
	in.Block.Yields = []*ir.Value{r}
	g.try(s, ops.Fold, ir.A{"axes": g.axes(x.Type.Rank()), "keep": g.Intn(2) == 0, "init": init}, append(args, x),
		in.Block)
}

func (g *generator) choose(s *scopeOf) {
	cond := g.scalarOf(s, types.Bool, 1)
	then, els := g.region(s), g.region(s)
	g.fill(then, g.Intn(4))
	g.fill(els, g.Intn(4))
	for range 1 + g.Intn(2) {
		y := then.vals[len(then.vals)-1-g.Intn(min(3, len(then.vals)))]
		if y.Type.Elem == types.String {
			return
		}
		z := g.as(els, g.shaped(els, y.Type.Shape), y.Type.Elem)
		then.Block.Yields, els.Block.Yields = append(then.Block.Yields, y), append(els.Block.Yields, z)
	}
	if g.Intn(6) == 0 && g.depth == 0 {
		g.try(then, ops.Print, nil, []*ir.Value{then.Block.Yields[0]})
	}
	g.try(s, ops.If, nil, []*ir.Value{cond}, then.Block, els.Block)
}
