// Package residues compares the functions of modular arithmetic, on the interpreter and the CPU, with their definitions
// in math/big: every form of operands (numbers and tensors in each position, views with any strides, no elements), both
// element types, moduli from 1 to the largest, operands of either sign, every axis. The errors are in tests/lang.
package residues

import (
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"healc"
	"healc/codegen"
	"healc/internal/cache"
	"healc/internal/engine"
	"healc/lang/types"
	"healc/runtime/tensor"
	"healc/tests/devices"
	"healc/tests/sample"
	"healc/tests/ways"
)

// array is an operand or a result; the elements are in row-major order.
type array struct {
	dt    types.DType
	shape []int64
	v     []int64
}

func newTensor(dt types.DType, shape ...int64) array {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	return array{dt, shape, make([]int64, n)}
}

// flat is the position of an element. A longer index belongs to a shape that x broadcasts to.
func (x array) flat(index []int64) int64 {
	index = index[len(index)-len(x.shape):]
	at := int64(0)
	for k, d := range x.shape {
		at *= d
		if d != 1 {
			at += index[k]
		}
	}
	return at
}

func (x array) at(index ...int64) int64 { return x.v[x.flat(index)] }

// each calls f for every index of a shape, in row-major order.
func each(shape []int64, f func(index []int64)) {
	n := newTensor(types.I64, shape...)
	index := make([]int64, len(shape))
	for i := range n.v {
		rest := int64(i)
		for k := len(shape) - 1; k >= 0; k-- {
			index[k], rest = rest%shape[k], rest/shape[k]
		}
		f(index)
	}
}

// build computes a tensor element by element.
func build(dt types.DType, shape []int64, f func(index []int64) int64) array {
	out := newTensor(dt, shape...)
	i := 0
	each(shape, func(index []int64) { out.v[i] = f(index); i++ })
	return out
}

// value makes the tensor an argument: a view of random strides, or a plain tensor.
func (x array) value(t *testing.T, r *rand.Rand, strided bool) *tensor.Tensor {
	t.Helper()
	must := func(y *tensor.Tensor, err error) *tensor.Tensor {
		if err != nil {
			t.Fatal(err)
		}
		return y
	}
	if !strided {
		bits := make([]uint64, len(x.v))
		for i, v := range x.v {
			bits[i] = uint64(v)
		}
		return must(tensor.FromBits(x.dt, x.shape, bits))
	}
	// A larger tensor with other axes in front, of which x is every second element, backwards at times.
	perm := r.Perm(len(x.shape))
	base, ranges := make([]int64, len(perm)), make([]tensor.Range, len(perm))
	for i, p := range perm {
		step := 1 + r.Int64N(2)
		base[p] = x.shape[i]*step + r.Int64N(2)
		ranges[p] = tensor.Range{Stop: x.shape[i] * step, Step: step}
		if r.IntN(3) == 0 && x.shape[i] > 0 {
			ranges[p] = tensor.Range{Start: (x.shape[i] - 1) * step, Stop: tensor.End, Step: -step}
		}
	}
	whole := must(tensor.Zeros(x.dt, base...))
	defer whole.Close()
	part := must(whole.Slice(ranges...))
	defer part.Close()
	out := must(part.Permute(perm...))
	i := 0
	each(x.shape, func(index []int64) {
		if err := out.SetBits(uint64(x.v[i]), index...); err != nil {
			t.Fatal(err)
		}
		i++
	})
	return out
}

// config is a way to run a program.
type config struct {
	backend string
	cpu     string
	threads int
	strided bool
	way     ways.Way // how it is compiled
}

// interps are the ways of the interpreter, cpus those of the CPU; each program takes one or several of them in turn.
var (
	interps = []config{{backend: heal.Interp, threads: 1}, {backend: heal.Interp, threads: 1, strided: true}}
	cpus    = []config{
		{backend: heal.CPU, threads: 1}, {backend: heal.CPU, cpu: "x86-64", threads: 2, strided: true},
		{backend: heal.CPU, cpu: "haswell", threads: 3}, {backend: heal.CPU, threads: 7, strided: true},
	}
)

// onCPU is way number i on the CPU, all ways to compile it in the long tests; each of cpus meets each of them. It is
// asked while a test runs, so that Go knows a result depends on the environment variable.
func onCPU(i int) []config {
	c := cpus[i%len(cpus)]
	c.cpu = devices.InTurn(i%len(cpus), c.cpu)
	var out []config
	for _, c.way = range ways.Each(i + i/len(cpus)) {
		out = append(out, c)
	}
	return out
}

// program is a source, compiled when it is needed for each configuration.
type program struct {
	t       *testing.T
	src     string
	modules map[config][]*engine.Module // one for each time that it is compiled
	turn, n int                         // the last one on the CPU, and how many there were
	day     int
}

// parts is how many parts the turns on the CPU have, one of which runs a day. With -short the tests leave out most of
// them.
func parts() int {
	if testing.Short() {
		return 1
	}
	return sample.Part(13)
}

// onCPU are the ways on the CPU of a turn, if it runs on this day. Those which do take the ways one after the other,
// whichever turns they are, so that no way is left out; on another day a turn has another way.
func (p *program) onCPU(turn int) []config {
	if p.n == 0 || turn != p.turn {
		p.turn = turn
		p.n++
	}
	at := p.n - 1 + p.day
	if at%parts() > 0 {
		return nil
	}
	return onCPU(at / parts())
}

func newProgram(t *testing.T, src string) *program {
	p := &program{t: t, src: src, modules: map[config][]*engine.Module{}, day: sample.Today(t)}
	t.Cleanup(func() {
		for _, ms := range p.modules {
			for _, m := range ms {
				m.Close()
			}
		}
	})
	return p
}

// compile compiles the program for a configuration.
func (p *program) compile(c config) []*engine.Module {
	p.t.Helper()
	if p.modules[c] != nil {
		return p.modules[c]
	}
	for _, o := range c.way.Options(p.t, engine.Options{Backend: c.backend, Threads: c.threads,
		Target: codegen.Target{Kind: "cpu", CPU: c.cpu}, SplitAll: c.threads > 1}) {
		if o.Cache == nil {
			o.Cache = cache.Default()
		}
		m, err := engine.Compile(p.src, o)
		if err != nil {
			p.t.Fatalf("%v\n%s", err, p.src)
		}
		p.modules[c] = append(p.modules[c], m)
	}
	return p.modules[c]
}

// call runs a function, each time that it is compiled; the results are those of the last time, and all others are the
// same.
func (p *program) call(c config, r *rand.Rand, name string, args []array) (out []array, err error) {
	p.t.Helper()
	for i, m := range p.compile(c) {
		before := out
		if out, err = p.callIn(m, c, r, name, args); err != nil {
			return nil, err
		}
		if i > 0 {
			if msg := differ(out, before); msg != "" {
				p.t.Errorf("%s, %+v: loaded from the cache against compiled: %s", name, c, msg)
			}
		}
	}
	return out, nil
}

func (p *program) callIn(m *engine.Module, c config, r *rand.Rand, name string, args []array) ([]array, error) {
	f, err := m.Func(name)
	if err != nil {
		p.t.Fatal(err)
	}
	in := make([]*tensor.Tensor, len(args))
	for i, a := range args {
		in[i] = a.value(p.t, r, c.strided)
		defer in[i].Close()
	}
	results, err := f.CallAll(context.Background(), in...)
	if err != nil {
		return nil, err
	}
	out := make([]array, len(results))
	for i, y := range results {
		out[i] = newTensor(y.DType, y.Shape...)
		for k, b := range y.Bits() {
			out[i].v[k] = signed(y.DType, b)
		}
		y.Close()
	}
	return out, nil
}

// signed is the number that the bits of an element are.
func signed(dt types.DType, bits uint64) int64 {
	shift := 64 - dt.Bits()
	return int64(bits<<shift) >> shift
}

// check runs a function on the interpreter and on one CPU configuration, unless it is left out, and compares.
func (p *program) check(r *rand.Rand, name string, turn int, cpu bool, args []array, want ...array) {
	p.t.Helper()
	configs := []config{interps[turn%len(interps)]}
	if cpu {
		configs = append(configs, p.onCPU(turn)...)
	}
	if devices.Takes(turn+p.day, 32) {
		// Where all cases run, most are compiled quickly: it is LLVM that takes the time.
		way := ways.Full
		if devices.All() && turn%16 != 0 && turn%5 != 0 {
			way = ways.Least
		}
		configs = append(configs, config{backend: devices.Backend(), threads: 1, strided: turn/16%2 == 1, way: way})
	}
	for _, c := range configs {
		got, err := p.call(c, r, name, args)
		if err != nil {
			p.t.Errorf("%s, %+v: %v", name, c, err)
			return
		}
		if msg := differ(got, want); msg != "" {
			p.t.Errorf("%s, %+v: %s\narguments %v", name, c, msg, brief(args))
			return
		}
	}
}

func differ(got, want []array) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%d results, want %d", len(got), len(want))
	}
	for i, w := range want {
		g := got[i]
		if g.dt != w.dt || !slices.Equal(g.shape, w.shape) {
			return fmt.Sprintf("result %d is %s%v, want %s%v", i, g.dt, g.shape, w.dt, w.shape)
		}
		for k := range w.v {
			if g.v[k] != w.v[k] {
				return fmt.Sprintf("result %d, element %d of %v: %d, want %d", i, k, w.shape, g.v[k], w.v[k])
			}
		}
	}
	return ""
}

// brief shows the arguments, cut.
func brief(args []array) string {
	var out []string
	for _, a := range args {
		out = append(out, fmt.Sprint(a.shape, a.v[:min(len(a.v), 20)]))
	}
	return strings.Join(out, "; ")
}

// limits are the smallest and the largest number of a type.
func limits(dt types.DType) (lo, hi int64) {
	return -1 << (dt.Bits() - 1), 1<<(dt.Bits()-1) - 1
}

// modulus is small, prime, even, or near the largest of the type.
func modulus(r *rand.Rand, dt types.DType) int64 {
	_, hi := limits(dt)
	switch r.IntN(4) {
	case 0:
		return []int64{1, 2, 3, 4, 7, 97, 12289, 65536}[r.IntN(8)]
	case 1:
		return hi - r.Int64N(3)
	case 2:
		return 1 + r.Int64N(hi)>>r.IntN(dt.Bits()-1)
	}
	if dt == types.I32 {
		return []int64{1<<31 - 1, 1<<30 - 35, 998244353}[r.IntN(3)]
	}
	return []int64{1<<61 - 1, 1125899906826241, 1152921504606830593, 1<<50 - 27, 1 << 32,
		9223372036854775783}[r.IntN(6)]
}

func moduli(r *rand.Rand, dt types.DType, shape ...int64) array {
	return build(dt, shape, func([]int64) int64 { return modulus(r, dt) })
}

// operands are numbers of either sign, many of them near 0, near the ends of the type or near multiples of a modulus.
func operands(r *rand.Rand, dt types.DType, p array, shape ...int64) array {
	lo, hi := limits(dt)
	return build(dt, shape, func([]int64) int64 {
		q := int64(5)
		if len(p.v) > 0 {
			q = p.v[r.IntN(len(p.v))]
		}
		switch r.IntN(5) {
		case 0:
			return []int64{0, 1, -1, lo, lo + 1, hi, hi - 1}[r.IntN(7)]
		case 1:
			return signed(dt, uint64(q*(r.Int64N(5)-2)+r.Int64N(3)-1))
		case 2:
			return signed(dt, uint64(r.Int64N(q)))
		}
		return signed(dt, r.Uint64()) >> r.IntN(dt.Bits())
	})
}

// residue is x modulo p, from 0 to p - 1.
func residue(x *big.Int, p int64) int64 { return new(big.Int).Mod(x, big.NewInt(p)).Int64() }
