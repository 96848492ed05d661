// Package modular holds compiled modular arithmetic to math/big and to the definitions of language.md: every processor
// level, any number of threads, in each way to compile, operands of every sign and size.
package modular

import (
	"context"
	"math/big"
	"math/rand/v2"
	"testing"

	"healc/codegen"
	"healc/internal/engine"
	"healc/ir"
	"healc/lang/types"
	"healc/runtime/tensor"
	"healc/tests/devices"
	"healc/tests/random"
	"healc/tests/sample"
	"healc/tests/ways"
)

var threads = []int{1, 2, 3, 7}

// taken is the processor that case number i is for: the given one, or the device.
func taken(i int, cpu string) string {
	if devices.Takes(i+sample.Day(), 8) {
		return devices.Backend()
	}
	return cpu
}

// compiled is a function, once for each time that it is compiled.
type compiled struct {
	*engine.Func
	way string
}

// compile compiles a source that has a function f for a processor, in the ways of the day, or for the device.
func compile(t *testing.T, src, cpu string, threads int) []compiled {
	t.Helper()
	if cpu == devices.Backend() {
		return []compiled{one(t, src, cpu, engine.Options{Backend: cpu})}
	}
	var out []compiled
	for _, w := range ways.Drawn(src) {
		for _, o := range w.Options(t, engine.Options{Threads: threads, SplitAll: true,
			Target: codegen.Target{Kind: "cpu", CPU: cpu}}) {
			out = append(out, one(t, src, w.String(), o))
		}
	}
	return out
}

// one compiles a source in one way.
func one(t *testing.T, src, way string, o engine.Options) compiled {
	t.Helper()
	m, err := engine.Compile(src, o)
	if err != nil {
		t.Fatalf("%s: %s: %v", way, src, err)
	}
	t.Cleanup(m.Close)
	f, err := m.Func("f")
	if err != nil {
		t.Fatalf("%s: %s: %v", way, src, err)
	}
	return compiled{f, way}
}

// call calls f and returns the elements of its result, with their signs.
func call(t *testing.T, f compiled, args ...*tensor.Tensor) []int64 {
	t.Helper()
	y, err := f.Call(context.Background(), args...)
	if err != nil {
		t.Fatalf("%s: %v", f.way, err)
	}
	defer y.Close()
	out := make([]int64, 0, y.Elems())
	for _, b := range y.Bits() {
		if y.DType == types.I32 {
			b = uint64(int64(int32(b)))
		}
		out = append(out, int64(b))
	}
	return out
}

// check wants a result of a function, compiled in each way.
func check(t *testing.T, what string, fs []compiled, want []int64, args ...*tensor.Tensor) {
	t.Helper()
	for _, f := range fs {
		same(t, what+", "+f.way, call(t, f, args...), want)
	}
}

// tensorOf holds numbers; strided says that they lie in memory with gaps and turned axes.
func tensorOf(t *testing.T, elem types.DType, shape []int64, x []int64, strided *rand.Rand) *tensor.Tensor {
	t.Helper()
	a := &ir.Array{DType: elem, Shape: shape, Bits: make([]uint64, len(x))}
	for i, v := range x {
		a.Bits[i] = uint64(v) << (64 - elem.Bits()) >> (64 - elem.Bits())
	}
	var y *tensor.Tensor
	var err error
	if strided != nil {
		y, err = random.Strided(a, strided.Uint64())
	} else {
		y, err = tensor.FromBits(elem, shape, a.Bits)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(y.Close)
	return y
}

// same compares numbers.
func same(t *testing.T, what string, got, want []int64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d elements, want %d", what, len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("%s: element %d is %d, want %d", what, i, got[i], want[i])
		}
	}
}

// prime is the largest prime of so many bits that is 1 modulo 2n, or the next one below for each skipped.
func prime(bits int, n int64, skip int) int64 {
	step := 2 * n
	p := (int64(1)<<bits-1)/step*step + 1
	if p >= 1<<bits {
		p -= step
	}
	for ; ; p -= step {
		if big.NewInt(p).ProbablyPrime(10) {
			if skip--; skip < 0 {
				return p
			}
		}
	}
}

func power(x, e, p *big.Int) *big.Int { return new(big.Int).Exp(x, e, p) }

// root is a primitive root of unity of order 2n modulo the prime p.
func root(p, n int64) *big.Int {
	bp, one := big.NewInt(p), big.NewInt(1)
	for g := int64(2); ; g++ {
		x := power(big.NewInt(g), big.NewInt((p-1)/(2*n)), bp)
		if y := power(x, big.NewInt(n), bp); new(big.Int).Add(y, one).Cmp(bp) == 0 {
			return x
		}
	}
}

// reversed is i with its lowest so many bits in reverse.
func reversed(i int64, log int) int64 {
	r := int64(0)
	for range log {
		r, i = r<<1|i&1, i>>1
	}
	return r
}

// logOf is log2 of a power of two.
func logOf(n int64) int {
	log := 0
	for int64(1)<<log < n {
		log++
	}
	return log
}

// powers are x^bitrev(i) modulo p.
func powers(x *big.Int, p, n int64) []int64 {
	natural := make([]int64, n)
	at, bp := big.NewInt(1), big.NewInt(p)
	for i := range natural {
		natural[i] = at.Int64()
		at = new(big.Int).Mul(at, x)
		at.Mod(at, bp)
	}
	out := make([]int64, n)
	for i := range out {
		out[i] = natural[reversed(int64(i), logOf(n))]
	}
	return out
}
