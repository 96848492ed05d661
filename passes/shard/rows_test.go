package shard_test

import (
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"testing"

	"healc/ir"
	"healc/ir/ops"
	"healc/lang/types"
	"healc/tests/random"
	"healc/tests/sample"
)

// rowsProgram is a program of operations on the rows of a tensor, of which random programs have few, and short ones.
type rowsProgram struct {
	*rand.Rand
	b     *ir.Builder
	input []*ir.Array
}

// param is a parameter with drawn elements, some of which are equal.
func (p *rowsProgram) param(d types.DType, shape ...int64) *ir.Value {
	a := random.Data(p.Rand, d, shape)
	if n := len(a.Bits); n > 0 && p.IntN(2) == 0 {
		few := 1 + p.IntN(5)
		for i := range a.Bits {
			a.Bits[i] = a.Bits[p.IntN(min(few, n))]
		}
	}
	p.input = append(p.input, a)
	t := types.Tensor{Elem: d}
	for _, n := range shape {
		t.Shape = append(t.Shape, types.Lit(n))
	}
	return p.b.Block.Param(fmt.Sprint("x", len(p.input)), t, p.b.Span)
}

// shape is up to three extents, of which that of the axis may be long.
func (p *rowsProgram) shape() (shape []int64, axis int64) {
	shape = make([]int64, 1+p.IntN(3))
	for k := range shape {
		shape[k] = p.Int64N(9)
	}
	axis = p.Int64N(int64(len(shape)))
	if shape[axis] = p.Int64N(100); p.IntN(8) == 0 {
		shape[axis] = p.Int64N(9)
	}
	return shape, axis
}

// some is a part of an axis, at either end or elsewhere.
func (p *rowsProgram) some(x *ir.Value, axis int64) *ir.Value {
	var starts, shape types.Shape
	steps := []int64{}
	for k, d := range x.Type.Shape {
		n, _ := d.Const()
		first := int64(0)
		if steps = append(steps, 1); int64(k) == axis {
			size := p.Int64N(min(n, 5) + 1)
			first = []int64{0, n - size, p.Int64N(n - size + 1)}[p.IntN(3)]
			if n = size; p.IntN(4) == 0 {
				first, steps[k] = first+max(size-1, 0), -1
			}
		}
		starts, shape = append(starts, types.Lit(first)), append(shape, types.Lit(n))
	}
	return p.b.Emit(ops.Slice, ir.A{"starts": starts, "steps": steps, "shape": shape}, x)
}

// sorted sorts, and reads all of it, parts of it, or one element.
func (p *rowsProgram) sorted() []*ir.Value {
	shape, axis := p.shape()
	x := p.param(types.Operands[p.IntN(len(types.Operands))], shape...)
	def := []*ir.OpDef{ops.Sort, ops.Argsort}[p.IntN(2)]
	y := p.b.Emit(def, ir.A{"axis": axis}, x)
	switch n := shape[axis]; p.IntN(3) {
	case 0:
		return []*ir.Value{p.some(y, axis), p.some(y, axis)}
	case 1:
		if n > 0 {
			at := ir.NewArray(types.I32)
			at.Bits[0] = uint64([]int64{0, n - 1, p.Int64N(n)}[p.IntN(3)])
			i := p.b.Emit(ops.Const, ir.A{"value": at})
			return []*ir.Value{p.b.Emit(ops.Index, ir.A{"axes": []int64{axis}}, y, i), p.some(y, axis)}
		}
	}
	return []*ir.Value{y}
}

// positions are positions on an axis of so many elements, from the least on; few are beyond it.
func (p *rowsProgram) positions(least, n int64, shape ...int64) *ir.Value {
	d := []types.DType{types.I32, types.I64}[p.IntN(2)]
	v := p.param(d, shape...)
	a := p.input[len(p.input)-1]
	for i := range a.Bits {
		at := least + p.Int64N(max(n-least, 1))
		if p.IntN(2000) == 0 {
			at = []int64{least - 1, n}[p.IntN(2)]
		}
		a.Bits[i] = uint64(at) & (1<<(8*d.Bytes()-1)<<1 - 1)
	}
	return v
}

// taken reads at positions on one axis or several.
func (p *rowsProgram) taken() []*ir.Value {
	shape, axis := p.shape()
	x := p.param(types.Operands[p.IntN(len(types.Operands))], shape...)
	n := shape[axis]
	if p.IntN(2) == 0 {
		at := append([]int64{}, shape...)
		if at[axis] = p.Int64N(60); n == 0 {
			at[axis] = 0
		}
		least, attrs := -n, ir.A{"axis": axis}
		if p.IntN(2) == 0 {
			least, attrs["within"] = 0, true
		}
		return []*ir.Value{p.b.Emit(ops.TakeAlongAxis, attrs, x, p.positions(least, n, at...))}
	}
	var axes []int64
	count := p.Int64N(40)
	for k, m := range shape {
		if int64(k) == axis || p.IntN(2) == 0 {
			axes = append(axes, int64(k))
			if m == 0 {
				count = 0
			}
		}
	}
	at := [][]int64{{count}, {count, 2}, {1, count}}[p.IntN(3)]
	args := []*ir.Value{x}
	for _, k := range axes {
		args = append(args, p.positions(0, shape[k], at...))
	}
	return []*ir.Value{p.b.Emit(ops.Gather, ir.A{"axes": axes}, args...)}
}

// scattered adds at positions along an axis.
func (p *rowsProgram) scattered() []*ir.Value {
	shape, axis := p.shape()
	numbers := types.Operands[1:]
	x := p.param(numbers[p.IntN(len(numbers))], shape...)
	n := shape[axis]
	at := slices.Clone(shape)
	if at[axis] = p.Int64N(120); n == 0 {
		at[axis] = 0
	}
	least := int64(0)
	if p.IntN(3) == 0 { // all to one rank
		least = max(n-2, 0)
	}
	i := p.positions(least, n, at...)
	return []*ir.Value{p.b.Emit(ops.ScatterAdd, ir.A{"axis": axis}, x, i, p.param(x.Type.Elem, at...))}
}

// TestRandomRows: operations on rows that are cut at random have the same bits on any number of ranks.
func TestRandomRows(t *testing.T) {
	n := uint64(150)
	switch {
	case sample.All():
		n = 3000
	case testing.Short():
		n = 50
	}
	from := uint64(sample.Today(t)) * 3000
	counts := map[string]int{}
	for seed := from; seed < from+n; seed++ {
		if err := tryRows(seed, counts); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
	if counts["runs"] < int(n) || counts["failed"] > counts["runs"]/2 {
		t.Errorf("of %d programs these were run: %v", n, counts)
	}
}

func tryRows(seed uint64, counts map[string]int) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	r := rand.New(rand.NewPCG(seed, 12))
	p := &rowsProgram{Rand: r, b: &ir.Builder{Block: &ir.Block{}}}
	f := &ir.Func{Name: "f", Public: true, Body: p.b.Block}
	f.Body.Yields = []func() []*ir.Value{p.sorted, p.taken, p.scattered}[seed%3]()
	for _, y := range f.Body.Yields {
		f.Results = append(f.Results, y.Type)
	}
	return try(&ir.Module{Funcs: []*ir.Func{f}}, nil, p.input, r, counts)
}
