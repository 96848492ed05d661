// Package rows runs reductions and row-wise programs at sizes around every boundary of the generated code
// (vectors, the 128 lanes of a chunk, chunks of 4096), on data with NaNs, zeros of both signs, infinities and
// ties, for several processors and numbers of threads, and compares the bits with the interpreter's.
package rows

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"healc"
	"healc/codegen"
	"healc/internal/engine"
	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/tensor"
	"healc/tests/devices"
	"healc/tests/random"
	"healc/tests/sample"
	"healc/tests/ways"
)

//go:embed rows.heal
var source string

// config is a way to run a program.
type config struct {
	cpu     string
	threads int
	strided bool
}

// configs are the ways, asked for while a test runs, so that Go knows a result depends on the environment variable.
func configs() []config {
	out := []config{
		{"", 1, false}, {"x86-64", 2, false}, {"haswell", 3, false}, {"", 7, true}, {"haswell", 1, true},
		{"", 2, false},
	}
	for i := range out {
		out[i].cpu = devices.InTurn(i, out[i].cpu)
	}
	return out
}

var sizes = []int64{1, 2, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 100, 127, 128, 129, 143, 144, 200, 255,
	256, 257, 300, 1000, 1024, 4095, 4096, 4097, 4100, 8192, 9000}

// TestRows runs every public function of rows.heal, whose parameters have the shapes N, [M, N] or [M], at every eighth
// size, and at the others on the next seven days. Configurations go round: each meets every function and every size.
func TestRows(t *testing.T) {
	interp := compile(t, engine.Options{Backend: heal.Interp})
	modules, configs := &compiled{t: t, source: source}, configs()
	day, step := sample.Today(t), sample.Part(8)
	if testing.Short() {
		step = 9
	}
	for i, name := range interp.Names() {
		for j, n := range sizes {
			if (i+j+day)%step != 0 {
				continue
			}
			dims := map[string]int64{"N": n, "M": 1 + int64(i/2+j)%3}
			if n <= 300 {
				dims["M"] = sizes[(7*i+3*j)%20]
			}
			seed := uint64(1 + i*len(sizes) + j)
			c := configs[(i+j+day)/step%len(configs)]
			for _, w := range ways.Thorough(7*i+j, 3) {
				for _, m := range modules.in(c, w) {
					if msg := compare(interp, m, name, dims, seed, c.strided); msg != "" {
						t.Errorf("%s, N = %d, M = %d, %+v, %s: %s", name, n, dims["M"], c, w, msg)
					}
				}
			}
		}
	}
}

// TestLong runs the functions over so many elements that reductions are cut into chunks for all threads.
func TestLong(t *testing.T) {
	interp, configs := compile(t, engine.Options{Backend: heal.Interp}), configs()
	modules := &compiled{t: t, source: source}
	for i, name := range interp.Names() {
		for j, dims := range []map[string]int64{{"M": 1, "N": 33*4096 + 1}, {"M": 2, "N": 70001},
			{"M": 45001, "N": 3}} {
			chained := name == "standardise" || name == "soft_vector" || name == "third_moment"
			if name == "middle" || testing.Short() && !chained && (i+j)%7 != 0 {
				continue
			}
			c := configs[(i+j)%len(configs)]
			for _, w := range ways.Thorough(7*i+j, 3) {
				for _, m := range modules.in(c, w) {
					if msg := compare(interp, m, name, dims, uint64(i), c.strided); msg != "" {
						t.Errorf("%s, %v, %+v, %s: %s", name, dims, c, w, msg)
					}
				}
			}
		}
	}
}

// compiled is a program, compiled when it is needed for a configuration in a way.
type compiled struct {
	t       *testing.T
	source  string
	modules map[[2]any][]*engine.Module
}

// in are the modules, one for each time that the way compiles.
func (p *compiled) in(c config, w ways.Way) []*engine.Module {
	p.t.Helper()
	key := [2]any{c, w}
	if p.modules == nil {
		p.modules = map[[2]any][]*engine.Module{}
	}
	if p.modules[key] == nil {
		for _, o := range w.Options(p.t, engine.Options{Threads: c.threads,
			Target: codegen.Target{Kind: "cpu", CPU: c.cpu}}) {
			m, err := engine.Compile(p.source, o)
			if err != nil {
				p.t.Fatal(err)
			}
			p.t.Cleanup(m.Close)
			p.modules[key] = append(p.modules[key], m)
		}
	}
	return p.modules[key]
}

func compile(t *testing.T, o engine.Options) *engine.Module {
	t.Helper()
	m, err := engine.Compile(source, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// compare runs one function on both and describes the first difference.
func compare(want, got *engine.Module, name string, dims map[string]int64, seed uint64, strided bool) string {
	f, err := want.Func(name)
	if err != nil {
		return err.Error()
	}
	r := rand.New(rand.NewPCG(seed, 0))
	var args []*ir.Array
	for _, p := range f.IR().Params() {
		a := &ir.Array{DType: p.Type.Elem, Shape: []int64{}}
		size := int64(1)
		for _, d := range p.Type.Shape {
			n, ok := d.Const()
			if !ok {
				n = dims[d.String()]
			}
			a.Shape = append(a.Shape, n)
			size *= n
		}
		kind := r.IntN(4)
		for range size {
			a.Bits = append(a.Bits, element(r, a.DType, kind, dims["N"]))
		}
		args = append(args, a)
	}
	x, err := call(want, name, args, false, seed)
	if err != nil {
		return err.Error()
	}
	y, err := call(got, name, args, strided, seed)
	if err != nil {
		return err.Error()
	}
	for i := range x {
		for k, b := range x[i].Bits {
			if c := y[i].Bits[k]; b != c && !(isNaN(x[i].DType, b) && isNaN(x[i].DType, c)) {
				return fmt.Sprintf("result %d, element %d: %#x, want %#x", i, k, c, b)
			}
		}
	}
	return ""
}

// element is random. Kind 0 has special values, 1 ties and zeros, the others are mostly plain.
func element(r *rand.Rand, d types.DType, kind int, n int64) uint64 {
	if !d.IsFloat() {
		switch {
		case d == types.I64: // positions in a row
			return uint64(r.Int64N(n))
		case kind == 1:
			return scalar.IntBits(d, int64(r.IntN(3)-1))
		}
		return r.Uint64() & (^uint64(0) >> (64 - d.Bits()))
	}
	special := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1, -1, 1e-40, 3e38}
	switch {
	case kind == 0 && r.IntN(40) == 0:
		return scalar.FloatBits(d, special[r.IntN(len(special))])
	case kind == 1:
		return scalar.FloatBits(d, special[3+r.IntN(4)])
	case kind == 2:
		return scalar.FloatBits(d, -math.Abs(math.Floor(r.NormFloat64()*2))) // most maxima are zeros
	}
	return scalar.FloatBits(d, r.NormFloat64()*3)
}

func isNaN(d types.DType, bits uint64) bool {
	return d.IsFloat() && scalar.EvalInstr(scalar.Ne, types.Bool, d, bits, bits) != 0
}

func call(m *engine.Module, name string, args []*ir.Array, strided bool, seed uint64) ([]*ir.Array, error) {
	f, err := m.Func(name)
	if err != nil {
		return nil, err
	}
	var in []*tensor.Tensor
	defer func() {
		for _, t := range in {
			t.Close()
		}
	}()
	for i, a := range args {
		t, err := tensor.FromBits(a.DType, a.Shape, a.Bits)
		if strided {
			t, err = random.Strided(a, seed+uint64(i))
		}
		if err != nil {
			return nil, err
		}
		in = append(in, t)
	}
	res, err := f.CallAll(context.Background(), in...)
	if err != nil {
		return nil, err
	}
	var out []*ir.Array
	for _, t := range res {
		out = append(out, &ir.Array{DType: t.DType, Shape: append([]int64{}, t.Shape...), Bits: t.Bits()})
		t.Close()
	}
	return out, nil
}
