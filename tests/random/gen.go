package random

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"healc/ir"
	"healc/ir/ops"
	"healc/lang/types"
)

// Program is a random function with inputs for it.
type Program struct {
	Seed  uint64
	IR    *ir.Module // the function "f", and those that it calls
	Bind  map[string]int64
	Input []*ir.Array
}

// Gen builds one program.
type Gen struct {
	r    *rand.Rand
	m    *ir.Module // nil in a function that another one calls
	f    *ir.Func
	b    *ir.Builder
	vals []*ir.Value
	bind map[string]int64
	used map[string]int // how often each operation was drawn, over many programs
	deep int            // nesting of regions
	real bool           // floats are f64
	all  bool           // see since
	late bool           // see lately
	four bool           // see fours
	rank bool           // see ranks
}

// since is the first seed whose programs hold what the generator did not draw from the beginning: programs that are
// recorded by their seeds stay what they are.
const since = 1 << 20

var newer = map[string]bool{"stop": true, "split_matmul": true, "fourier": true, "fourier_rows": true,
	"bitcast": true, "block_matmul": true}

// lately is the first seed whose programs hold what was added to those from since on.
const lately = 1 << 23

var latest = map[string]bool{"fourier_real": true, "fourier_real_inverse": true}

// fours is the first seed whose programs have elements of i4 and f4e2m1.
const fours = 1 << 24

// ranks is the first seed whose programs say something to ranks.
const ranks = 20784 << 20

var ofRanks = map[string]bool{"shard": true, "replicate": true, "shard_as": true}

// maxElems bounds the elements of any value, so that a program takes milliseconds on the interpreter.
const maxElems = 6000

// New returns the program of a seed. used counts the operations that were drawn.
func New(seed uint64, used map[string]int) *Program { return newProgram(seed, used, false) }

// NewReal is New for programs whose floats are f64, so that derivatives can be compared.
func NewReal(seed uint64, used map[string]int) *Program { return newProgram(seed, used, true) }

func newProgram(seed uint64, used map[string]int, real bool) *Program {
	g := &Gen{real: real, all: seed >= since, late: seed >= lately, four: seed >= fours, rank: seed >= ranks,
		r: rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)), used: used, bind: map[string]int64{}}
	g.f = &ir.Func{Name: "f", Public: true, Body: &ir.Block{}}
	g.b = &ir.Builder{Block: g.f.Body}
	for _, name := range []string{"N", "M"}[:g.r.IntN(3)] {
		g.f.Dims = append(g.f.Dims, name)
		g.bind[name] = g.extent()
	}
	g.m = &ir.Module{Name: "random", Funcs: []*ir.Func{g.f}}
	p := &Program{Seed: seed, IR: g.m, Bind: g.bind}
	g.params()
	for range 2 + g.r.IntN(9) {
		g.op()
	}
	g.results()
	g.updates()
	for _, v := range g.f.Params() {
		p.Input = append(p.Input, g.data(v.Type))
	}
	return p
}

// params begins the function with some parameters. Shape parameters are bound by one that has each as a bare extent.
func (g *Gen) params() {
	for _, name := range g.f.Dims {
		g.param(types.Tensor{Elem: g.dtype(), Shape: types.Shape{types.Param(name)}})
	}
	for range 1 + g.r.IntN(3) {
		g.param(types.Tensor{Elem: g.dtype(), Shape: g.shape()})
	}
}

func (g *Gen) param(t types.Tensor) {
	g.vals = append(g.vals, g.f.Body.Param(fmt.Sprintf("p%d", len(g.f.Body.Params)), t, g.b.Span))
}

// results returns one to three of the values, preferring late ones.
func (g *Gen) results() {
	n := 1 + g.r.IntN(3)
	for i := 0; i < n && i < len(g.vals); i++ {
		v := g.vals[len(g.vals)-1-i]
		g.f.Body.Yields = append(g.f.Body.Yields, v)
		g.f.Results = append(g.f.Results, v.Type)
	}
}

// storage types are drawn less often than the others.
func (g *Gen) dtype() types.DType {
	if g.real {
		return []types.DType{types.F64, types.F64, types.F64, types.F64, types.I32, types.Bool}[g.r.IntN(6)]
	}
	switch g.r.IntN(10) {
	case 0, 1, 2:
		return types.F32
	case 3:
		return types.F64
	case 4, 5:
		return []types.DType{types.I32, types.I64}[g.r.IntN(2)]
	case 6:
		return types.Bool
	}
	if g.all {
		list := types.DTypes
		if !g.four {
			list = slices.DeleteFunc(slices.Clone(list), types.DType.IsNibble)
		}
		return list[g.r.IntN(len(list))]
	}
	return types.Operands[g.r.IntN(len(types.Operands))]
}

// extent draws sizes around the boundaries that code has: nothing, one, vectors, lanes, chunks.
func (g *Gen) extent() int64 {
	small := []int64{0, 1, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65}
	if g.r.IntN(12) == 0 {
		return []int64{127, 128, 129, 255, 256, 257, 300, 513, 1025, 4095, 4096, 4097, 5000}[g.r.IntN(13)]
	}
	return small[g.r.IntN(len(small))]
}

func (g *Gen) dim() types.Dim {
	if len(g.f.Dims) > 0 && g.r.IntN(2) == 0 {
		return types.Param(g.f.Dims[g.r.IntN(len(g.f.Dims))])
	}
	return types.Lit(g.extent())
}

func (g *Gen) shape() types.Shape {
	for {
		s := make(types.Shape, []int{0, 1, 1, 1, 2, 2, 2, 3, 3, 4}[g.r.IntN(10)])
		for i := range s {
			s[i] = g.dim()
		}
		if g.elems(s) <= maxElems {
			return s
		}
	}
}

// elems is the number of elements under the program's binding; too many counts as maxElems+1.
func (g *Gen) elems(s types.Shape) int64 {
	n := int64(1)
	for _, d := range s {
		x, err := d.Eval(g.bind)
		if err != nil || x < 0 || x > maxElems {
			return maxElems + 1
		}
		if n *= x; n > maxElems {
			return maxElems + 1
		}
	}
	return n
}

func (g *Gen) size(d types.Dim) int64 { n, _ := d.Eval(g.bind); return n }

func (g *Gen) pick() *ir.Value { return g.vals[g.r.IntN(len(g.vals))] }

// pickIf returns a random value with a property, or nil.
func (g *Gen) pickIf(ok func(*ir.Value) bool) *ir.Value {
	var c []*ir.Value
	for _, v := range g.vals {
		if ok(v) {
			c = append(c, v)
		}
	}
	if len(c) == 0 {
		return nil
	}
	return c[g.r.IntN(len(c))]
}

// emit appends an operation when its rule accepts it and its results are small; it reports whether it did.
func (g *Gen) emit(d *ir.OpDef, attrs ir.A, regions []*ir.Block, args ...*ir.Value) bool {
	out, err := d.Infer(ir.ArgTypes(args), d.MakeAttrs(attrs), regions)
	if err != nil {
		return false
	}
	for _, t := range out {
		if g.elems(t.Shape) > maxElems {
			return false
		}
	}
	op := g.b.EmitOp(d, attrs, args, regions)
	g.used[d.Name]++
	g.vals = append(g.vals, op.Results...)
	return true
}

// op appends one random operation.
func (g *Gen) op() {
	table := slices.DeleteFunc(ir.Ops(), func(d *ir.OpDef) bool {
		return Skipped[d.Name] == ofRank || Skipped[d.Name] == ofCheckpoint || Skipped[d.Name] == ofPictures
	})
	if !g.all {
		table = slices.DeleteFunc(table, func(d *ir.OpDef) bool { return newer[d.Name] })
	}
	if !g.late {
		table = slices.DeleteFunc(table, func(d *ir.OpDef) bool { return latest[d.Name] })
	}
	if !g.rank {
		table = slices.DeleteFunc(table, func(d *ir.OpDef) bool { return ofRanks[d.Name] })
	}
	for try := 0; try < 200; try++ {
		d := table[g.r.IntN(len(table))]
		if Skipped[d.Name] != "" {
			continue
		}
		if m := makers[d.Name]; m != nil {
			if m(g, d) {
				return
			}
			continue
		}
		if d.Class == ir.Pointwise && g.pointwise(d) {
			return
		}
	}
}

// pointwise draws operands of one shape, casting and broadcasting what it has until the rule is content.
func (g *Gen) pointwise(d *ir.OpDef) bool {
	first := g.pick()
	attrs := ir.A{}
	for _, a := range d.Attrs {
		if a.Kind != ir.AttrDType {
			return false
		}
		attrs[a.Name] = g.dtype()
	}
	t := first.Type.Elem
	if g.r.IntN(3) == 0 {
		t = g.dtype()
	}
	for try := 0; try < 6; try++ {
		kinds := make([]types.Tensor, d.Arity)
		for i := range kinds {
			kinds[i] = types.Tensor{Elem: t, Shape: first.Type.Shape}
		}
		for i := range kinds { // an operation such as select has a bool among others
			if i == 0 && try%2 == 1 && d.Arity > 2 {
				kinds[0].Elem = types.Bool
			}
		}
		if _, err := d.Infer(kinds, d.MakeAttrs(attrs), nil); err == nil {
			args := make([]*ir.Value, d.Arity)
			args[0] = g.as(first, kinds[0])
			for i := 1; i < len(args); i++ {
				v := g.pick()
				if _, err := types.Broadcast(v.Type.Shape, first.Type.Shape); err != nil {
					v = first
				} else if s, _ := types.Broadcast(v.Type.Shape, first.Type.Shape); !s.Equal(first.Type.Shape) {
					v = first
				}
				args[i] = g.as(v, kinds[i])
			}
			return g.emit(d, attrs, nil, args...)
		}
		t = g.dtype()
	}
	return false
}

// as casts and broadcasts v to a type whose shape its own broadcasts to.
func (g *Gen) as(v *ir.Value, t types.Tensor) *ir.Value {
	if v.Type.Elem != t.Elem {
		v = g.b.Emit(ops.Cast, ir.A{"to": t.Elem}, v)
		g.used["cast"]++
	}
	if !v.Type.Shape.Equal(t.Shape) {
		v = g.b.Emit(ops.Broadcast, ir.A{"shape": t.Shape}, v)
		g.used["broadcast"]++
	}
	return v
}
