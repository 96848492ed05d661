package random

import (
	"healc/ir"
	"healc/ir/ops"
	"healc/lang/types"
)

// Skipped are operations that a random program cannot hold, with the reason.
var Skipped = map[string]string{
	"print": "has an effect on the world", "print_str": "has an effect on the world",
	"print_i32": "has an effect on the world",
	"print_i64": "has an effect on the world", "print_f32": "has an effect on the world",
	"print_f64": "has an effect on the world",
	"assert":    "stops the program", "str_len": "works on strings", "str_concat": "works on strings",
	"str_eq": "works on strings",
	"str_lt": "works on strings", "load_npy": "reads a file", "save_npy": "writes a file",
	"save_png": ofPictures, "save_pgm": ofPictures,
	"fusion": "is made by a pass", "partial_sort": "is made by a pass", "partial_argsort": "is made by a pass",
	"block_matmul": "is a part of split_matmul",
	"jvp":          "is made of vjp", "natural": "is a part of modpow", "coprime": "is a part of modinv",
	"mulhi": "is a part of g_decomposition_full", "fourier_rows": "is a part of fourier",
	"shard_start": ofRank, "exchange_halo": ofRank, "all_gather": ofRank, "exchange_fetch": ofRank,
	"all_to_all": ofRank, "exchange_take": ofRank, "from_previous": ofRank, "to_next": ofRank, "load_part": ofRank,
	"exchange_sorted": ofRank, "exchange_updates": ofRank, "exchange_update_rounds": ofRank, "save_part": ofRank,
	"resume_loop": ofCheckpoint, "keep_loop": ofCheckpoint,
}

// ofRank is the reason for operations of package ir/exchange. They are in no table that is drawn from.
const ofRank = "is made by the pass shard"

// ofCheckpoint is the reason for operations that tests/shardings puts into programs. They are in no table either.
const ofCheckpoint = "is made by passes/checkpoint"

// ofPictures is the reason for what writes pictures. It is in no table either: the programs of a number stay the same.
const ofPictures = "writes a picture"

type maker func(g *Gen, d *ir.OpDef) bool

var makers map[string]maker

func init() { // makers mention themselves through Gen.op
	makers = map[string]maker{
		"const": makeConst, "dim": makeDim, "iota": makeIota,
		"broadcast": makeBroadcast, "reshape": makeReshape, "permute": makePermute, "slice": makeSlice,
		"index": makeIndex, "dynamic_slice": makeDynamicSlice, "concat": makeConcat,
		"reduce_sum": makeReduce, "reduce_prod": makeReduce, "reduce_max": makeReduce, "reduce_min": makeReduce,
		"reduce_and": makeReduce, "reduce_or": makeReduce, "reduce_sub": makeReduce, "reduce_div": makeReduce,
		"mean": makeReduce, "var": makeReduce, "argmax": makeArg, "argmin": makeArg,
		"matmul": makeMatmul, "split_matmul": makeMatmul, "fourier": makeFourier,
		"fourier_real": makeFourier, "fourier_real_inverse": makeFourier,
		"tabulate": makeTabulate, "fold": makeFold, "if": makeIf,
		"require": makeRequire, "shard": makeShard, "replicate": makeReplicate,
		"shard_as": makeShardAs,
	}
}

func makeConst(g *Gen, d *ir.OpDef) bool {
	t := types.Tensor{Elem: g.dtype()}
	if g.r.IntN(2) == 0 {
		t.Shape = types.Shape{types.Lit(int64(g.r.IntN(5))), types.Lit(int64(1 + g.r.IntN(4)))}
	}
	return g.emit(d, ir.A{"value": g.data(t)}, nil)
}

// makeRequire asks for what is true of most numbers.
func makeRequire(g *Gen, d *ir.OpDef) bool {
	x := g.pick()
	n := g.as(x, types.Tensor{Elem: types.I64, Shape: x.Type.Shape})
	most := ir.NewArray(types.I64)
	most.Bits[0] = []uint64{3, 100, 1 << 40}[g.r.IntN(3)]
	limit := g.as(g.b.Emit(ops.Const, ir.A{"value": most}), n.Type)
	says := []string{"no", "100%, not {}", "{} is more than {}"}[g.r.IntN(3)]
	return g.emit(d, ir.A{"says": says}, nil, x, g.b.Emit(ops.Le, nil, n, limit), n, limit)
}

func makeDim(g *Gen, d *ir.OpDef) bool { return g.emit(d, ir.A{"dim": g.dim()}, nil) }

func makeIota(g *Gen, d *ir.OpDef) bool {
	return g.emit(d, ir.A{"start": types.Lit(int64(g.r.IntN(9) - 4)), "extent": g.dim()}, nil)
}

// makeShard says something to ranks, of which there is one.
func makeShard(g *Gen, d *ir.OpDef) bool {
	x := g.pick()
	if x.Type.IsScalar() {
		return false
	}
	attrs := ir.A{"axis": int64(g.r.IntN(x.Type.Rank()))}
	if g.r.IntN(2) == 0 {
		attrs["declared"] = true
	}
	return g.emit(d, attrs, nil, x)
}

func makeShardAs(g *Gen, d *ir.OpDef) bool {
	x, like := g.pick(), g.pick()
	return g.emit(d, nil, nil, x, like) || g.emit(d, nil, nil, x, x)
}

func makeReplicate(g *Gen, d *ir.OpDef) bool { return g.emit(d, nil, nil, g.pick()) }

func makeBroadcast(g *Gen, d *ir.OpDef) bool {
	v := g.pick()
	s := append(types.Shape{}, v.Type.Shape...)
	for i := range s {
		if s[i].IsConst(1) {
			s[i] = g.dim()
		}
	}
	for range g.r.IntN(3) {
		s = append(types.Shape{g.dim()}, s...)
	}
	return g.emit(d, ir.A{"shape": s}, nil, v)
}

func makeReshape(g *Gen, d *ir.OpDef) bool {
	v := g.pick()
	n, err := v.Type.Shape.Elems()
	if err != nil {
		return false
	}
	s := append(types.Shape{}, v.Type.Shape...)
	switch g.r.IntN(4) {
	case 0:
		s = types.Shape{n}
	case 1:
		for i, j := range g.r.Perm(len(s)) {
			s[i] = v.Type.Shape[j]
		}
	case 2:
		i := g.r.IntN(len(s) + 1)
		s = append(s[:i:i], append(types.Shape{types.Lit(1)}, s[i:]...)...)
	case 3:
		f := types.Lit(int64(2 + g.r.IntN(3)))
		q, ok := n.Div(f)
		if !ok {
			return false
		}
		s = types.Shape{q, f}
		if g.r.IntN(2) == 0 {
			s = types.Shape{f, q}
		}
	}
	return g.emit(d, ir.A{"shape": s}, nil, v)
}

func makePermute(g *Gen, d *ir.OpDef) bool {
	v := g.pickIf(func(v *ir.Value) bool { return v.Type.Rank() > 1 })
	if v == nil {
		return false
	}
	perm := make([]int64, v.Type.Rank())
	for i, j := range g.r.Perm(len(perm)) {
		perm[i] = int64(j)
	}
	return g.emit(d, ir.A{"perm": perm}, nil, v)
}

// makeSlice takes a whole axis (also backwards), or literal parts of it.
func makeSlice(g *Gen, d *ir.OpDef) bool {
	v := g.pickIf(func(v *ir.Value) bool { return v.Type.Rank() > 0 })
	if v == nil {
		return false
	}
	var starts, shape types.Shape
	var steps []int64
	for _, e := range v.Type.Shape {
		n := g.size(e)
		switch g.r.IntN(3) {
		case 0:
			starts, steps, shape = append(starts, types.Lit(0)), append(steps, 1), append(shape, e)
		case 1:
			last, err := e.Sub(types.Lit(1))
			if err != nil || n == 0 {
				return false
			}
			starts, steps, shape = append(starts, last), append(steps, -1), append(shape, e)
		default:
			step := int64(1 + g.r.IntN(3))
			lo := int64(0)
			if n > 0 {
				lo = g.r.Int64N(n)
			}
			count := int64(0)
			if n > lo {
				count = g.r.Int64N((n-lo+step-1)/step + 1)
			}
			if g.r.IntN(3) == 0 && count > 0 {
				lo, step = lo+(count-1)*step, -step
			}
			starts, steps, shape = append(starts, types.Lit(lo)), append(steps, step), append(shape, types.Lit(count))
		}
	}
	return g.emit(d, ir.A{"starts": starts, "steps": steps, "shape": shape}, nil, v)
}

// position returns an index scalar for an axis of extent n: usually in range, sometimes not known to be.
func (g *Gen) position(n int64) *ir.Value {
	t := []types.DType{types.I32, types.I64}[g.r.IntN(2)]
	if v := g.pickIf(func(v *ir.Value) bool {
		return v.Type.IsScalar() && v.Type.Elem == t
	}); v != nil && g.r.IntN(4) == 0 {
		return v
	}
	if n == 0 {
		n = 1
	}
	a := ir.NewArray(t)
	a.Bits[0] = uint64(g.r.Int64N(n))
	if g.deep == 0 && g.r.IntN(2) == 0 { // as an input, so that nothing is known of it
		g.param(types.Scalar(t))
		p := g.vals[len(g.vals)-1]
		m := g.b.Emit(ops.Const, ir.A{"value": clampTo(t, n-1)})
		zero := g.b.Emit(ops.Const, ir.A{"value": ir.NewArray(t)})
		return g.b.Emit(ops.Clamp, nil, p, zero, m)
	}
	return g.b.Emit(ops.Const, ir.A{"value": a})
}

func clampTo(t types.DType, n int64) *ir.Array {
	a := ir.NewArray(t)
	a.Bits[0] = uint64(n)
	return a
}

// axes draws a sorted, non-empty list of axes.
func (g *Gen) axes(rank int) []int64 {
	var out []int64
	for len(out) == 0 {
		for i := range rank {
			if g.r.IntN(2) == 0 {
				out = append(out, int64(i))
			}
		}
	}
	return out
}

func makeIndex(g *Gen, d *ir.OpDef) bool {
	v := g.pickIf(func(v *ir.Value) bool { return v.Type.Rank() > 0 })
	if v == nil {
		return false
	}
	axes := g.axes(v.Type.Rank())
	args := []*ir.Value{v}
	for _, a := range axes {
		args = append(args, g.position(g.size(v.Type.Shape[a])))
	}
	return g.emit(d, ir.A{"axes": axes}, nil, args...)
}

func makeDynamicSlice(g *Gen, d *ir.OpDef) bool {
	v := g.pickIf(func(v *ir.Value) bool { return v.Type.Rank() > 0 })
	if v == nil {
		return false
	}
	axes := g.axes(v.Type.Rank())
	args := []*ir.Value{v}
	var sizes types.Shape
	for _, a := range axes {
		n := g.size(v.Type.Shape[a])
		k := g.r.Int64N(n + 1)
		sizes = append(sizes, types.Lit(k))
		args = append(args, g.position(n-k+1))
	}
	return g.emit(d, ir.A{"axes": axes, "sizes": sizes}, nil, args...)
}

func makeConcat(g *Gen, d *ir.OpDef) bool {
	v := g.pickIf(func(v *ir.Value) bool { return v.Type.Rank() > 0 })
	if v == nil {
		return false
	}
	axis := g.r.IntN(v.Type.Rank())
	args := []*ir.Value{v}
	for range g.r.IntN(3) {
		w := g.pickIf(func(w *ir.Value) bool {
			if w.Type.Elem != v.Type.Elem || w.Type.Rank() != v.Type.Rank() {
				return false
			}
			for i := range w.Type.Shape {
				if i != axis && !w.Type.Shape[i].Equal(v.Type.Shape[i]) {
					return false
				}
			}
			return true
		})
		args = append(args, w)
	}
	return g.emit(d, ir.A{"axis": int64(axis)}, nil, args...)
}

func makeReduce(g *Gen, d *ir.OpDef) bool {
	v := g.pick()
	if g.r.IntN(2) == 0 && (d.Name == "reduce_and" || d.Name == "reduce_or") && v.Type.Elem != types.Bool {
		v = g.as(v, types.Tensor{Elem: types.Bool, Shape: v.Type.Shape})
	}
	axes := []int64{}
	for i := range v.Type.Rank() {
		if g.r.IntN(2) == 0 || len(axes) == 0 {
			axes = append(axes, int64(i))
		}
	}
	if g.r.IntN(3) == 0 {
		axes = axes[:0]
		for i := range v.Type.Rank() {
			axes = append(axes, int64(i))
		}
	}
	return g.emit(d, ir.A{"axes": axes, "keep": g.r.IntN(3) == 0}, nil, v)
}

func makeArg(g *Gen, d *ir.OpDef) bool {
	v := g.pick()
	attrs := ir.A{"keep": g.r.IntN(3) == 0}
	if v.Type.Rank() > 0 && g.r.IntN(3) != 0 {
		attrs["axis"] = int64(g.r.IntN(v.Type.Rank()))
	}
	return g.emit(d, attrs, nil, v)
}

// makeMatmul needs equal inner extents; it makes them so by taking a matrix times its transpose, or a
// pair that happens to fit.
func makeMatmul(g *Gen, d *ir.OpDef) bool {
	a := g.pickIf(func(v *ir.Value) bool { return v.Type.Rank() >= 2 && v.Type.Elem.IsNumber() })
	if a == nil {
		return false
	}
	r := a.Type.Rank()
	b := g.pickIf(func(v *ir.Value) bool {
		return v.Type.Elem == a.Type.Elem && v.Type.Rank() == r && v.Type.Shape[:r-2].Equal(a.Type.Shape[:r-2]) &&
			v.Type.Shape[r-2].Equal(a.Type.Shape[r-1])
	})
	if b == nil || g.r.IntN(2) == 0 {
		perm := make([]int64, r)
		for i := range perm {
			perm[i] = int64(i)
		}
		perm[r-1], perm[r-2] = perm[r-2], perm[r-1]
		b = g.b.Emit(ops.Permute, ir.A{"perm": perm}, a)
		g.used["permute"]++
	}
	k := g.size(a.Type.Shape[r-1])
	if g.elems(a.Type.Shape)/max(k, 1)*g.elems(b.Type.Shape) > 20*maxElems {
		return false
	}
	var attrs ir.A
	if d == ops.SplitMatmul {
		attrs = ir.A{"split": 32 * int64(1+g.r.IntN(3))}
	}
	return g.emit(d, attrs, nil, a, b)
}

// makeFourier transforms along an axis of known extent.
func makeFourier(g *Gen, d *ir.OpDef) bool {
	if g.late && g.deep == 0 && g.r.IntN(3) == 0 {
		return makeLongFourier(g)
	}
	re := g.pickIf(func(v *ir.Value) bool { return v.Type.Elem.IsFloat() && v.Type.Rank() > 0 })
	if re == nil {
		return false
	}
	axis := g.r.IntN(re.Type.Rank())
	n, known := re.Type.Shape[axis].Const()
	if !known || n < 1 || n > 200 || g.elems(re.Type.Shape) > maxElems/2 || g.deep > 0 && n > 20 {
		return false
	}
	im := g.pickIf(func(v *ir.Value) bool { return v.Type.Elem == re.Type.Elem && v.Type.Shape.Equal(re.Type.Shape) })
	switch d {
	case ops.FourierReal:
		return g.emit(d, ir.A{"axis": int64(axis)}, nil, re)
	case ops.FourierRealInverse:
		return n > 1 && g.emit(d, ir.A{"axis": int64(axis)}, nil, re, im)
	}
	return g.emit(d, ir.A{"axis": int64(axis), "inverse": g.r.IntN(2) == 0}, nil, re, im)
}

// makeLongFourier transforms columns that are long enough to be cut, and keeps some of the result.
func makeLongFourier(g *Gen) bool {
	n := []int64{540, 576, 625}[g.r.IntN(3)]
	t := types.Tensor{Elem: types.F64, Shape: types.Shape{types.Lit(n), types.Lit(8 + int64(g.r.IntN(2)))}}
	re, im := g.b.Emit(ops.Const, ir.A{"value": g.data(t)}), g.b.Emit(ops.Const, ir.A{"value": g.data(t)})
	y := g.b.Emit(ops.Fourier, ir.A{"axis": int64(0), "inverse": g.r.IntN(2) == 0}, re, im)
	zero := types.Lit(0)
	return g.emit(ops.Slice, ir.A{"starts": types.Shape{zero, types.Lit(int64(g.r.IntN(100))), zero},
		"steps": []int64{1, 7, 1}, "shape": types.Shape{types.Lit(2), types.Lit(50), types.Lit(8)}}, nil, y)
}

// region runs body with a generator whose values are those visible around it and the given parameters.
func (g *Gen) region(params []types.Tensor, body func() *ir.Value) *ir.Block {
	blk := &ir.Block{}
	saveBlock, saveVals := g.b.Block, g.vals
	g.b.Block = blk
	g.vals = append([]*ir.Value{}, g.vals...)
	for _, t := range params {
		g.vals = append(g.vals, blk.Param("", t, g.b.Span))
	}
	g.deep++
	v := body()
	g.deep--
	g.b.Block, g.vals = saveBlock, saveVals
	if v == nil {
		return nil
	}
	blk.Yields = []*ir.Value{v}
	return blk
}

// scalarOf returns a scalar of type t, reducing or casting something.
func (g *Gen) scalarOf(t types.DType) *ir.Value {
	v := g.pickIf(func(v *ir.Value) bool { return v.Type.IsScalar() })
	if v == nil {
		return nil
	}
	return g.as(v, types.Scalar(t))
}

func makeTabulate(g *Gen, d *ir.OpDef) bool {
	if g.deep > 1 {
		return false
	}
	s := types.Shape{types.Lit(int64(g.r.IntN(9)))}
	if g.r.IntN(2) == 0 {
		s = append(s, types.Lit(int64(1+g.r.IntN(5))))
	}
	params := make([]types.Tensor, len(s))
	for i := range params {
		params[i] = types.Scalar(types.I32)
	}
	blk := g.region(params, func() *ir.Value {
		if v := g.pickIf(func(v *ir.Value) bool { return v.Type.Rank() > 0 && g.size(v.Type.Shape[0]) > 0 }); v != nil {
			n := g.size(v.Type.Shape[0])
			i := g.vals[len(g.vals)-1]
			hi := g.b.Emit(ops.Const, ir.A{"value": clampTo(types.I32, n-1)})
			at := g.b.Emit(ops.Min, nil, i, hi)
			g.emit(ops.Index, ir.A{"axes": []int64{0}}, nil, v, at)
		}
		for range 1 + g.r.IntN(3) {
			g.op()
		}
		v := g.vals[len(g.vals)-1]
		if g.elems(v.Type.Shape) > 60 {
			return g.scalarOf(types.F32)
		}
		return v
	})
	return blk != nil && g.emit(d, ir.A{"shape": s}, []*ir.Block{blk})
}

func makeFold(g *Gen, d *ir.OpDef) bool {
	if g.deep > 1 {
		return false
	}
	x := g.pick()
	t := types.Scalar(x.Type.Elem)
	args := []*ir.Value{x}
	attrs := ir.A{"keep": g.r.IntN(3) == 0}
	var axes []int64
	for i := range x.Type.Rank() {
		if g.r.IntN(2) == 0 || len(axes) == 0 {
			axes = append(axes, int64(i))
		}
	}
	attrs["axes"] = axes
	if g.r.IntN(2) == 0 {
		init := g.scalarOf(t.Elem)
		if init == nil {
			return false
		}
		if len(axes) > 0 && g.r.IntN(3) == 0 { // one for each element of the result
			shape := ops.ReducedShape(x.Type.Shape, axes, attrs["keep"].(bool))
			if v := g.pickIf(func(v *ir.Value) bool { return v.Type.Shape.Equal(shape) }); v != nil {
				init = g.as(v, types.Tensor{Elem: t.Elem, Shape: shape})
			}
		}
		attrs["init"], args = true, []*ir.Value{init, x}
	}
	blk := g.region([]types.Tensor{t, t}, func() *ir.Value {
		n := len(g.vals)
		a, b := g.vals[n-2], g.vals[n-1]
		if t.Elem.IsNumber() {
			g.emit([]*ir.OpDef{ops.Add, ops.Mul, ops.Sub, ops.Max}[g.r.IntN(4)], nil, nil, a, b)
		} else if t.Elem.Computes() {
			g.emit([]*ir.OpDef{ops.And, ops.Eq, ops.Or}[g.r.IntN(3)], nil, nil, a, b)
		}
		return g.as(g.vals[len(g.vals)-1], t)
	})
	return blk != nil && g.emit(d, attrs, []*ir.Block{blk}, args...)
}

func makeIf(g *Gen, d *ir.OpDef) bool {
	if g.deep > 1 {
		return false
	}
	cond := g.scalarOf(types.Bool)
	if cond == nil {
		return false
	}
	var t types.Tensor
	then := g.region(nil, func() *ir.Value {
		for range 1 + g.r.IntN(2) {
			g.op()
		}
		v := g.vals[len(g.vals)-1]
		t = v.Type
		return v
	})
	els := g.region(nil, func() *ir.Value {
		for range g.r.IntN(3) {
			g.op()
		}
		v := g.pickIf(func(v *ir.Value) bool { return v.Type.Shape.Equal(t.Shape) })
		if v == nil {
			if v = g.scalarOf(t.Elem); v == nil {
				return nil
			}
		}
		return g.as(v, t)
	})
	return then != nil && els != nil && g.emit(d, nil, []*ir.Block{then, els}, cond)
}
