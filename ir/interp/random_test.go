package interp

import (
	"math/rand"
	"slices"

	"healc/ir"
	"healc/ir/fourier"
	"healc/ir/ops"
	"healc/ir/scalar"
	"healc/lang/diag"
	"healc/lang/types"
)

// An instance is a function with one interesting operation, its last, and arguments for it.
type instance struct {
	f    *ir.Func
	op   *ir.Op
	dims map[string]int64
	args []*ir.Array
}

// gen makes random instances. Extents are literals or one of two shape parameters.
type gen struct {
	*rand.Rand
	dims map[string]int64
	f    *ir.Func
	b    *ir.Builder
	args []*ir.Array
	real *[2]float64 // set: all elements that may be of any type are f64, from this range
}

func newGen(rng *rand.Rand) *gen {
	g := &gen{Rand: rng, dims: map[string]int64{"M": int64(rng.Intn(5)), "N": int64(1 + rng.Intn(4))}}
	g.f = &ir.Func{Name: "f", Dims: []string{"M", "N"}, Body: &ir.Block{}}
	g.b = &ir.Builder{Block: g.f.Body}
	return g
}

func (g *gen) dtype() types.DType { return g.dtypeOf(types.DTypes...) }

// operand is a type that operations compute with.
func (g *gen) operand() types.DType { return g.dtypeOf(types.Operands...) }

func (g *gen) dtypeOf(ts ...types.DType) types.DType {
	if g.real != nil {
		return types.F64
	}
	return ts[g.Intn(len(ts))]
}

func (g *gen) extent() types.Dim {
	switch g.Intn(8) {
	case 0:
		return types.Param("M")
	case 1, 2:
		return types.Param("N")
	case 3:
		return types.Lit(1)
	case 4:
		if g.Intn(3) == 0 {
			return types.Lit(0)
		}
	}
	return types.Lit(int64(1 + g.Intn(5)))
}

func (g *gen) shape(rank int) types.Shape {
	s := make(types.Shape, rank)
	for i := range s {
		s[i] = g.extent()
	}
	return s
}

// transformed is the type of a tensor of floats with an axis of one of these lengths.
func (g *gen) transformed(lengths []int64) (x types.Tensor, axis int64) {
	x = types.Tensor{Elem: g.dtypeOf(types.F16, types.BF16, types.F32, types.F64), Shape: g.shape(1 + g.Intn(2))}
	axis = int64(g.Intn(x.Rank()))
	x.Shape[axis] = types.Lit(lengths[g.Intn(len(lengths))])
	return x, axis
}

func (g *gen) value(d types.Dim) int64 {
	n, err := d.Eval(g.dims)
	if err != nil {
		panic(err)
	}
	return n
}

func (g *gen) element(t types.DType) uint64 {
	if t == types.Bool {
		return uint64(g.Intn(2))
	}
	if g.real != nil && t == types.F64 {
		return scalar.FloatBits(t, g.real[0]+(g.real[1]-g.real[0])*g.Float64())
	}
	switch g.Intn(6) {
	case 0: // any bits
		return g.Uint64() & (1<<(t.Bits()-1)<<1 - 1)
	case 1:
		return scalar.IntBits(t, 0)
	case 2:
		if t.IsFloat() {
			return scalar.FloatBits(t, []float64{0.5, -0.25, 1e9, -1e-9}[g.Intn(4)])
		}
		return 1 << (t.Bits() - 1)
	case 3:
		if t.IsFloat() {
			return 1 << (t.Bits() - 1) // -0
		}
	}
	return scalar.IntBits(t, int64(g.Intn(9)-3))
}

// param adds a parameter with random elements.
func (g *gen) param(t types.Tensor) *ir.Value {
	shape := make([]int64, t.Rank())
	for i, d := range t.Shape {
		shape[i] = g.value(d)
	}
	a := ir.NewArray(t.Elem, shape...)
	for i := range a.Bits {
		a.Bits[i] = g.element(t.Elem)
	}
	g.args = append(g.args, a)
	return g.f.Body.Param("", t, diag.Span{})
}

// position adds a scalar that is mostly a valid index of an axis.
func (g *gen) position(d types.Dim) *ir.Value {
	t := []types.DType{types.I32, types.I64}[g.Intn(2)]
	v := g.param(types.Scalar(t))
	n := g.value(d)
	at := int64(g.Intn(int(n) + 1))
	if g.Intn(8) != 0 {
		at = min(at, max(n-1, 0))
	} else if g.Intn(2) == 0 {
		at = -at
	}
	g.args[len(g.args)-1].Bits[0] = scalar.IntBits(t, at)
	return v
}

func (g *gen) tensor(t types.DType) types.Tensor {
	return types.Tensor{Elem: t, Shape: g.shape(g.Intn(4))}
}

// axes picks some axes of a rank, ascending.
func (g *gen) axes(rank int) []int64 {
	axes := []int64{}
	for k := range rank {
		if g.Intn(2) == 0 {
			axes = append(axes, int64(k))
		}
	}
	return axes
}

// instance makes a random use of d, or nil when the types drawn do not suit it.
func (g *gen) instance(d *ir.OpDef) *instance {
	attrs, args, regions := g.operands(d)
	named := ir.A{}
	for name, v := range attrs {
		named[name] = v
	}
	if _, err := d.Infer(ir.ArgTypes(args), d.MakeAttrs(named), regions); err != nil {
		return nil
	}
	op := g.b.EmitOp(d, named, args, regions)
	g.f.Body.Yields = op.Results
	g.f.Results = ir.ArgTypes(op.Results)
	return &instance{g.f, op, g.dims, g.args}
}

func (g *gen) operands(d *ir.OpDef) (ir.A, []*ir.Value, []*ir.Block) {
	if make, ok := generators[d.Name]; ok {
		return make(g)
	}
	switch d.Class {
	case ir.Pointwise:
		return g.pointwise(d)
	case ir.Reduce:
		x := g.tensor(g.dtype())
		attrs := ir.A{"keep": g.Intn(2) == 0}
		if d.Attrs[0].Name == "axes" {
			attrs["axes"] = g.axes(x.Rank())
		} else if x.Rank() > 0 && g.Intn(2) == 0 {
			attrs["axis"] = int64(g.Intn(x.Rank()))
		}
		return attrs, []*ir.Value{g.param(x)}, nil
	}
	panic("random uses of " + d.Name + " need a generator: add one to `generators` in ir/interp/random_test.go")
}

func (g *gen) pointwise(d *ir.OpDef) (ir.A, []*ir.Value, []*ir.Block) {
	x := g.tensor(g.dtype())
	args := make([]*ir.Value, d.Arity)
	for i := range args {
		t := x
		if d == ops.Select && i == 0 {
			t.Elem = types.Bool
		}
		args[i] = g.param(t)
	}
	if d == ops.Cast || d == ops.Bitcast {
		return ir.A{"to": g.dtype()}, args, nil
	}
	return nil, args, nil
}

// generators has one entry for each operation that needs operands of its own kind.
var generators = map[string]func(g *gen) (ir.A, []*ir.Value, []*ir.Block){
	"const": func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
		a := ir.NewArray(g.dtype(), []int64{}...)
		a.Bits[0] = g.element(a.DType)
		return ir.A{"value": a}, nil, nil
	},
	"require": func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
		x := g.tensor(g.dtype())
		ok, n := x, x
		ok.Elem, n.Elem = types.Bool, types.I64
		says := []string{"no", "100%, not {}", "neither {} nor {}"}[g.Intn(3)]
		return ir.A{"says": says}, []*ir.Value{g.param(x), g.param(ok), g.param(n), g.param(n)}, nil
	},
	"dim": func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
		return ir.A{"dim": g.sum(g.extent(), int64(g.Intn(5)-2))}, nil, nil
	},
	"iota": func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
		return ir.A{"start": types.Lit(int64(g.Intn(9) - 4)), "extent": g.extent()}, nil, nil
	},
	"shard": func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
		x := g.tensor(g.dtype())
		if x.Rank() == 0 {
			x.Shape = types.Shape{g.extent()}
		}
		return ir.A{"axis": int64(g.Intn(x.Rank()))}, []*ir.Value{g.param(x)}, nil
	},
	"shard_as": func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
		x := g.tensor(g.dtype())
		return nil, []*ir.Value{g.param(x), g.param(x)}, nil
	},
	"replicate": func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
		return nil, []*ir.Value{g.param(g.tensor(g.dtype()))}, nil
	},
	"broadcast": func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
		to := g.shape(g.Intn(4))
		from := append(types.Shape{}, to[g.Intn(len(to)+1):]...)
		for i := range from {
			if g.Intn(2) == 0 {
				from[i] = types.Lit(1)
			}
		}
		return ir.A{"shape": to}, []*ir.Value{g.param(types.Tensor{Elem: g.dtype(), Shape: from})}, nil
	},
	"reshape": func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
		from, to := types.Shape{}, types.Shape{}
		for range g.Intn(3) {
			a, b := g.extent(), g.extent()
			ab, _ := a.Mul(b)
			forms := []types.Shape{{ab}, {a, b}, {b, a}, {types.Lit(1), ab}, {a, types.Lit(1), b}}
			from = append(from, forms[g.Intn(len(forms))]...)
			to = append(to, forms[g.Intn(len(forms))]...)
		}
		return ir.A{"shape": to}, []*ir.Value{g.param(types.Tensor{Elem: g.dtype(), Shape: from})}, nil
	},
	"permute": func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
		x := g.tensor(g.dtype())
		perm := make([]int64, x.Rank())
		for i, a := range g.Perm(x.Rank()) {
			perm[i] = int64(a)
		}
		return ir.A{"perm": perm}, []*ir.Value{g.param(x)}, nil
	},
	"slice": func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
		x := g.tensor(g.dtype())
		starts, shape := make(types.Shape, x.Rank()), make(types.Shape, x.Rank())
		steps := make([]int64, x.Rank())
		for k, d := range x.Shape {
			n := g.value(d)
			step := int64(1 + g.Intn(3))
			if n == 0 {
				starts[k], steps[k], shape[k] = types.Lit(0), step, types.Lit(0)
				continue
			}
			start := int64(g.Intn(int(n)))
			starts[k], steps[k], shape[k] = types.Lit(start), step, types.Lit((n-start+step-1)/step)
			if g.Intn(2) == 0 { // the whole axis backwards, in its own terms
				starts[k], steps[k], shape[k] = g.sum(d, -1), -1, d
			}
		}
		return ir.A{"starts": starts, "steps": steps, "shape": shape}, []*ir.Value{g.param(x)}, nil
	},
	"index": func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
		x := g.tensor(g.dtype())
		axes := g.axes(x.Rank())
		args := []*ir.Value{g.param(x)}
		for _, a := range axes {
			args = append(args, g.position(x.Shape[a]))
		}
		return ir.A{"axes": axes}, args, nil
	},
	"dynamic_slice": func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
		x := g.tensor(g.dtype())
		axes := g.axes(x.Rank())
		args, sizes := []*ir.Value{g.param(x)}, types.Shape{}
		for _, a := range axes {
			size := int64(g.Intn(int(g.value(x.Shape[a])) + 1))
			sizes = append(sizes, types.Lit(size))
			args = append(args, g.position(g.sum(x.Shape[a], 1-size)))
		}
		return ir.A{"axes": axes, "sizes": sizes}, args, nil
	},
	"update": func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
		x := g.tensor(g.dtype())
		axes := g.axes(x.Rank())
		starts, sizes, shape := make(types.Shape, x.Rank()), types.Shape{}, make(types.Shape, x.Rank())
		steps := make([]int64, x.Rank())
		var firsts []*ir.Value
		for k := range shape {
			steps[k] = 1
			run := g.value(x.Shape[k])
			if slices.Contains(axes, int64(k)) {
				n := int64(g.Intn(int(run) + 1))
				firsts = append(firsts, g.position(g.sum(x.Shape[k], 1-n)))
				sizes, run = append(sizes, types.Lit(n)), n
			}
			shape[k] = types.Lit(run)
			if run > 2 && g.Intn(2) == 0 { // every other element, backwards
				starts[k], steps[k], shape[k] = types.Lit(run-1), -2, types.Lit((run+1)/2)
			}
		}
		args := []*ir.Value{g.param(x), g.param(types.Tensor{Elem: x.Elem, Shape: shape})}
		return ir.A{"axes": axes, "sizes": sizes, "starts": starts, "steps": steps, "shape": shape},
			append(args, firsts...), nil
	},
	"concat": func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
		x := types.Tensor{Elem: g.dtype(), Shape: g.shape(1 + g.Intn(3))}
		axis := g.Intn(x.Rank())
		var args []*ir.Value
		for range 1 + g.Intn(3) {
			y := types.Tensor{Elem: x.Elem, Shape: append(types.Shape{}, x.Shape...)}
			y.Shape[axis] = g.extent()
			args = append(args, g.param(y))
		}
		return ir.A{"axis": int64(axis)}, args, nil
	},
	"matmul": func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
		t, batch := g.dtype(), g.shape(g.Intn(2))
		m, k, n := g.extent(), g.extent(), g.extent()
		a := types.Tensor{Elem: t, Shape: append(append(types.Shape{}, batch...), m, k)}
		b := types.Tensor{Elem: t, Shape: append(append(types.Shape{}, batch...), k, n)}
		return nil, []*ir.Value{g.param(a), g.param(b)}, nil
	},
	"block_matmul": func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
		m, k, n := g.extent(), types.Lit(int64(g.Intn(100))), g.extent()
		a := types.Tensor{Elem: types.F32, Shape: types.Shape{m, k}}
		b := types.Tensor{Elem: types.F32, Shape: types.Shape{k, n}}
		return nil, []*ir.Value{g.param(a), g.param(b)}, nil
	},
	"split_matmul": func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
		t := g.dtype()
		m, k, n := g.extent(), types.Lit(int64(g.Intn(100))), g.extent()
		a, b := types.Tensor{Elem: t, Shape: types.Shape{m, k}}, types.Tensor{Elem: t, Shape: types.Shape{k, n}}
		return ir.A{"split": int64(32)}, []*ir.Value{g.param(a), g.param(b)}, nil
	},
	"fourier": func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
		x, axis := g.transformed([]int64{1, 2, 3, 4, 5, 6, 8, 9, 10, 12})
		if g.Intn(20) == 0 { // pulling one element of it takes long
			x.Shape, axis = types.Shape{types.Lit(7)}, 0
		}
		return ir.A{"axis": axis, "inverse": g.Intn(2) == 0}, []*ir.Value{g.param(x), g.param(x)}, nil
	},
	"fourier_real": func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
		x, axis := g.transformed([]int64{1, 2, 3, 4, 5, 6, 8, 9, 10, 12})
		return ir.A{"axis": axis}, []*ir.Value{g.param(x)}, nil
	},
	"fourier_real_inverse": func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
		x, axis := g.transformed([]int64{2, 3, 4, 5, 6, 7})
		return ir.A{"axis": axis}, []*ir.Value{g.param(x), g.param(x)}, nil
	},
	"fourier_rows": func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
		n := []int64{1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 27, 30}[g.Intn(14)]
		x := types.Tensor{Elem: g.dtypeOf(types.F32, types.F64), Shape: append(g.shape(g.Intn(2)), types.Lit(n))}
		axis, rest := int64(x.Rank()-1), int64(1)
		if g.Intn(3) == 0 { // columns
			if g.Intn(2) == 0 {
				rest = []int64{1, 2, 3, 4, 5, 6, 10}[g.Intn(7)]
				if _, ok := fourier.First(n, rest); !ok {
					rest = 1
				}
			}
			if rest > 1 {
				x.Shape = append(x.Shape[:axis:axis], types.Lit(rest), types.Lit(n))
				axis++
			}
			x.Shape = append(x.Shape, g.shape(g.Intn(2))...)
		}
		table := array(x.Elem, []int64{2, fourier.Factors(n, rest)})
		for i, v := range fourier.Table(n, rest, x.Elem == types.F32) {
			table.Bits[i] = scalar.FloatBits(x.Elem, v)
		}
		return ir.A{"axis": axis, "rest": rest}, []*ir.Value{g.param(x), g.param(x),
			g.b.Emit(ops.Const, ir.A{"value": table})}, nil
	},
	"tabulate": func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
		// Element [i, j, ...] is (i - 2*j + ...) + captured, whose axes follow.
		elem := g.dtypeOf(types.I32)
		captured := g.param(types.Tensor{Elem: elem, Shape: g.shape(g.Intn(2))})
		shape := g.shape(g.Intn(3))
		body := &ir.Block{}
		b := &ir.Builder{Block: body}
		sum := captured
		for k := range shape {
			i := body.Param("", types.Scalar(types.I32), diag.Span{})
			step := array(types.I32, []int64{}, int64(k*-3+1))
			scaled := b.Emit(ops.Cast, ir.A{"to": elem}, b.Emit(ops.Mul, nil, i,
				b.Emit(ops.Const, ir.A{"value": step})))
			sum = b.Emit(ops.Add, nil, sum, b.Emit(ops.Broadcast, ir.A{"shape": captured.Type.Shape}, scaled))
		}
		body.Yields = []*ir.Value{sum}
		return ir.A{"shape": shape}, nil, []*ir.Block{body}
	},
	"fold": func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
		x := g.tensor(g.operand())
		init := g.Intn(2) == 0
		acc := types.Scalar(x.Elem)
		var args []*ir.Value
		if init {
			acc.Elem = g.operand()
			args = append(args, g.param(acc))
		}
		body := &ir.Block{}
		b := &ir.Builder{Block: body}
		a, e := body.Param("", acc, diag.Span{}), body.Param("", types.Scalar(x.Elem), diag.Span{})
		c := b.Emit(ops.Cast, ir.A{"to": acc.Elem}, e)
		if acc.Elem == types.Bool {
			body.Yields = []*ir.Value{b.Emit(ops.Ne, nil, a, c)}
		} else {
			body.Yields = []*ir.Value{b.Emit(ops.Sub, nil, b.Emit(ops.Mul, nil, a, a), c)}
		}
		args = append(args, g.param(x))
		return ir.A{"axes": g.axes(x.Rank()), "keep": g.Intn(2) == 0, "init": init}, args, []*ir.Block{body}
	},
	"if": func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
		x := g.tensor(g.dtypeOf(types.I8, types.I64, types.F32))
		c, a, b := g.param(types.Scalar(types.Bool)), g.param(x), g.param(x)
		// The arm that is not taken must not be evaluated: its division may fail.
		then, els := &ir.Block{}, &ir.Block{}
		then.Yields = []*ir.Value{(&ir.Builder{Block: then}).Emit(ops.Div, nil, a, b), b}
		els.Yields = []*ir.Value{b, a}
		return nil, []*ir.Value{c}, []*ir.Block{then, els}
	},
	"fusion": func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
		x := g.param(types.Tensor{Elem: types.F64, Shape: g.shape(g.Intn(3))})
		body := &ir.Block{}
		p := body.Param("", x.Type, diag.Span{})
		body.Yields = []*ir.Value{p, (&ir.Builder{Block: body}).Emit(ops.Neg, nil, p)}
		return nil, []*ir.Value{x}, []*ir.Block{body}
	},
}

// sum is d + n.
func (g *gen) sum(d types.Dim, n int64) types.Dim {
	r, err := d.Add(types.Lit(n))
	if err != nil {
		panic(err)
	}
	return r
}
