package rows

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"healc"
	"healc/internal/engine"
	"healc/ir"
	"healc/lang/types"
	"healc/runtime/tensor"
	"healc/tests/sample"
	"healc/tests/ways"
)

// orders are reductions of whole tensors, of their rows, and what goes along rows in other ways.
const orders = `
fn total[M, N](x: T[M, N]) -> T = +/(x)
fn greatest[M, N](x: T[M, N]) -> T = max/(x)
fn products[M, N](x: T[M, N], y: T[M, N]) -> T = +/(x .* y)
fn halves[M, N](x: T[M, 2*N]) -> T = +/(x[.., 0..2*N by 2])
fn several[M, N](x: T[M, N]) -> (T, T) = (+/(x), +/(x .* x))
fn cube[K, M, N](x: T[K, M, N]) -> T = +/(x)
fn rows[M, N](x: T[M, N]) -> (T[M], T[M]) = (+/[axis=1](x), +/[axis=1](x .* x))
fn sides[K, M, N](x: T[K, M, N]) -> T[K] = +/[axis=(1, 2)](x)
fn best[M, N](x: T[M, N + 1]) -> (i32[M], T[M]) = (argmax(x, axis = 1), max/[axis=1](x))
fn equal[M, N](x: T[M, N], y: T[M, N]) -> bool = all(x == y)
fn centered[M, N](x: T[M, N]) -> T[M, N] = x .- +/[axis=1, keep](x)
fn twice[M, N](x: T[M, N], y: T[M, N]) -> (T[M, N], T[M]) = {
    let v = x .* y;
    let w = v .- +/[axis=1, keep](v);
    (w, +/[axis=1](w .* w .* y))
}
fn columns[M, N](x: T[M, N]) -> T[M, N] in col_major = x .- +/[axis=1, keep](x .* x)
fn inner[K, M, N](x: T[K, M, N]) -> T[K, M, N] = x .- +/[axis=2, keep](x)
fn boxes[K, M, N](x: T[K, M, N]) -> T[K, M, N] = x .- +/[axis=(1, 2), keep](x)
fn outer[K, M, N](x: T[K, M, N]) -> T[K, M, N] = x .- +/[axis=0, keep](x)
fn some[M, N](x: T[M, 2*N]) -> T[M, N] = {
    let v = x[.., 0..2*N by 2];
    v .- +/[axis=1, keep](v .* x[.., N..])
}
fn down[M, N](x: T[M, N]) -> (T[N], T[N]) = (+/[axis=0](x), +/[axis=0](x .* x))
fn below[M, N](x: T[M, N], y: T[M, N]) -> T[M, N] = x .- +/[axis=0, keep](x .* y)
fn sums[M, N](x: T[M, N]) -> T[M, N] = cumsum(x, axis = 1)
fn ascending[M, N](x: T[M, N]) -> T[M, N] = sort(x, axis = 1)
fn pieces[M, N](x: T[M, N], y: T[M, N]) -> T[M, 2*N] = {
    let v = concat((x, y), axis = 1);
    v .- +/[axis=1, keep](v)
}
`

// layout is a way in which a tensor may lie in memory: the order of its axes there, outermost first, and what is
// between its elements.
type layout struct {
	name  string
	order func(rank int) []int
	step  int64 // of the slice along each axis; negative: backwards
}

func sameOrder(rank int) (out []int) {
	for i := range rank {
		out = append(out, i)
	}
	return out
}

func otherOrder(rank int) []int {
	out := sameOrder(rank)
	slices.Reverse(out)
	return out
}

var layouts = []layout{
	{"row-major", sameOrder, 1},
	{"column-major", otherOrder, 1},
	{"rows with gaps", sameOrder, 2},
	{"columns backwards", otherOrder, -1},
	{"columns with gaps", otherOrder, 3},
	{"the last axis first", func(rank int) []int { return append([]int{rank - 1}, sameOrder(rank-1)...) }, 1},
}

// laidOut is a tensor with the elements of a, in a layout.
func laidOut(a *ir.Array, l layout) (*tensor.Tensor, error) {
	rank := len(a.Shape)
	order := l.order(rank)
	room := make([]int64, rank)
	ranges := make([]tensor.Range, rank)
	back := make([]int, rank)
	for i, axis := range order {
		n := a.Shape[axis]
		room[i], ranges[i], back[axis] = n, tensor.All, i
		switch {
		case l.step < 0 && i == rank-1:
			ranges[i] = tensor.Reversed
		case l.step > 1 && i == rank-1:
			room[i], ranges[i] = n*l.step+1, tensor.Range{Start: 1, Stop: tensor.End, Step: l.step}
		}
	}
	whole, err := tensor.New(a.DType, room...)
	if err != nil {
		return nil, err
	}
	defer whole.Close()
	part, err := whole.Slice(ranges...)
	if err != nil {
		return nil, err
	}
	defer part.Close()
	view, err := part.Permute(back...)
	if err != nil {
		return nil, err
	}
	from, err := tensor.FromBits(a.DType, a.Shape, a.Bits)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	return view, from.CopyTo(view)
}

// TestOrders reduces tensors in each layout, of shapes around rows as long as a chunk, and compares the bits with
// the interpreter's.
func TestOrders(t *testing.T) {
	shapes := [][]int64{{33, 4096}, {17, 5000}, {40, 4097}, {2000, 13}, {35001, 2}, {3, 30001}, {16, 8192}, {100, 1000},
		{9000, 1}, {1, 9000}, {0, 5}, {5, 0}, {64, 128}, {31, 4095}, {2, 4096}, {20, 8200}}
	cubes := [][]int64{{5, 41, 77}, {2, 3, 4099}, {40, 16, 16}, {3, 9000, 1}, {1, 130, 64}, {17, 2, 2500}, {600, 4, 5}}
	all := [][]types.DType{{types.F32}, {types.F64, types.F16}, {types.I32, types.BF16},
		{types.I64, types.I8, types.U8}}
	day, step := sample.Today(t), sample.Part(55) // has no factor of the numbers of types
	if testing.Short() {
		step = 54
	}
	turn := 0
	for i, ts := range all {
		d := ts[day%len(ts)]
		text := strings.ReplaceAll(orders, "T", d.String())
		interp, err := engine.Compile(text, engine.Options{Backend: heal.Interp})
		if err != nil {
			t.Fatal(err)
		}
		defer interp.Close()
		modules, configs := &compiled{t: t, source: text}, configs()
		for _, name := range interp.Names() {
			of := shapes
			switch name {
			case "cube", "sides", "inner", "boxes", "outer":
				of = cubes
			}
			for _, shape := range of {
				if name == "greatest" && shape[0]*shape[1] == 0 {
					continue // which is an error
				}
				for _, l := range layouts {
					if turn++; (turn+day)%step != 0 {
						continue
					}
					c := configs[((turn+day)/step+i)%len(configs)] // another one the next time
					for _, w := range ways.Thorough(turn/step, 3) {
						for _, m := range modules.in(c, w) {
							if msg := compareLayouts(interp, m, name, shape, l, uint64(turn)); msg != "" {
								t.Errorf("%s of %s%v, %s, %+v, %s: %s", name, d, shape, l.name, c, w, msg)
							}
						}
					}
				}
			}
		}
	}
}

// compareLayouts runs one function on both, on the interpreter with row-major arguments, and describes the first
// difference.
func compareLayouts(want, got *engine.Module, name string, shape []int64, l layout, seed uint64) string {
	f, err := want.Func(name)
	if err != nil {
		return err.Error()
	}
	r := rand.New(rand.NewPCG(seed, 0))
	var plain, laid []*tensor.Tensor
	defer func() {
		for _, x := range append(plain, laid...) {
			x.Close()
		}
	}()
	for i, p := range f.IR().Params() {
		a := &ir.Array{DType: p.Type.Elem, Shape: append([]int64{}, shape...)}
		switch name {
		case "halves", "some":
			a.Shape[1] *= 2
		case "best":
			a.Shape[1]++
		}
		kind, n := r.IntN(4), int64(1)
		for _, d := range a.Shape {
			n *= d
		}
		for range n {
			a.Bits = append(a.Bits, element(r, a.DType, kind, 1000))
		}
		x, err := tensor.FromBits(a.DType, a.Shape, a.Bits)
		if err != nil {
			return err.Error()
		}
		plain = append(plain, x)
		mine := l
		if i == 1 { // the second operand lies in another way
			mine = layouts[seed%2]
		}
		y, err := laidOut(a, mine)
		if err != nil {
			return err.Error()
		}
		laid = append(laid, y)
	}
	x, err := bitsOf(want, name, plain)
	if err != nil {
		return err.Error()
	}
	y, err := bitsOf(got, name, laid)
	if err != nil {
		return err.Error()
	}
	for i := range x {
		d := f.IR().Results[i].Elem
		for k, want := range x[i] {
			if got := y[i][k]; got != want && !(isNaN(d, got) && isNaN(d, want)) {
				return fmt.Sprintf("result %d, element %d: %#x, want %#x", i, k, got, want)
			}
		}
	}
	return ""
}

// bitsOf are the results that a function gives.
func bitsOf(m *engine.Module, name string, args []*tensor.Tensor) (out [][]uint64, err error) {
	f, err := m.Func(name)
	if err != nil {
		return nil, err
	}
	res, err := f.CallAll(context.Background(), args...)
	if err != nil {
		return nil, err
	}
	for _, t := range res {
		out = append(out, t.Bits())
		t.Close()
	}
	return out, nil
}
