// Package sizes runs one program of each kind of kernel at all small sizes and around the boundaries of the generated
// code (vectors, lanes, tiles, chunks), compiled for each size and for any size, for several processors and numbers of
// threads, on arguments that are whole, strided, reversed or begin anywhere, and compares the bits with the
// interpreter's.
package sizes

import (
	_ "embed"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	goruntime "runtime"
	"slices"
	"testing"

	"healc"
	"healc/codegen"
	"healc/codegen/llvm/aot"
	"healc/internal/engine"
	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/tensor"
	"healc/tests/devices"
	"healc/tests/library"
	"healc/tests/random"
	"healc/tests/sample"
	"healc/tests/ways"
)

//go:embed sizes.heal
var source string

// boundaries are sizes beyond 300 where generated code changes.
var boundaries = []int64{383, 384, 385, 511, 512, 513, 767, 1000, 1023, 1024, 1025, 2047, 2049, 4095, 4096, 4097, 8191,
	8192, 8193, 9000}

// sizes are 0 to 300, every one or each so many, with the neighbours of the multiples of 128, and boundaries.
func sizes(every int) []int64 {
	var out []int64
	for n := range 301 {
		if n%every == 0 || n < 2 || (n+1)%128 <= 2 {
			out = append(out, int64(n))
		}
	}
	for i, n := range boundaries {
		if every < 20 || i%4 == 0 || n%4096 <= 1 {
			out = append(out, n)
		}
	}
	return out
}

// small is what M stands for beside N.
func small(n, round int64) int64 {
	if n > 300 {
		return 1 + (n+round)%3
	}
	return []int64{1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 24, 33}[(n*7+round)%12]
}

var threads = []int{1, 2, 3, 7}

// TestAnySize compiles every program once, for any size and strides, as libraries have them. Each has every 15th
// size to 300, other ones every day, and all boundaries. With -short it is a third of the programs.
func TestAnySize(t *testing.T) {
	m := compile(t, engine.Options{Threads: 1})
	t.Cleanup(m.Close)
	names, day := m.Names(), sample.Today(t)
	of := func(i int) []int64 { return turned(15, i+day) }
	if testing.Short() {
		names = thinned(names, day, 3)
		of = func(int) []int64 { return sizes(23) }
	}
	// A part of the programs is a library of its own, so that there is work for every core.
	for i, parts := 0, goruntime.GOMAXPROCS(0); i < min(parts, len(names)); i++ {
		var some []string
		for k := i; k < len(names); k += parts {
			some = append(some, names[k])
		}
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			anySize(t, m, some, of)
		})
	}
}

// turned are the sizes of one part of the sweep over all of them: boundaries, the neighbours of the multiples of 128,
// and one of so many of the others, in turns.
func turned(of, turn int) []int64 {
	all, some, part := sizes(1), []int64{}, sample.Part(of)
	always := sizes(400)
	for _, n := range all {
		if n > 300 || (int(n)+turn)%part == 0 || slices.Contains(always, n) {
			some = append(some, n)
		}
	}
	return some
}

// thinned is one of so many names, another one every day.
func thinned(names []string, day, of int) []string {
	var some []string
	for i, name := range names {
		if sample.Has(day, i, of) {
			some = append(some, name)
		}
	}
	return some
}

// fixed are the same sizes for every program.
func fixed(sizes ...int64) func(int) []int64 { return func(int) []int64 { return sizes } }

// TestFewElements has fewer elements than a vector in what is cut into chunks, all of which TestAnySize leaves out with
// -short.
func TestFewElements(t *testing.T) {
	if !testing.Short() {
		t.Skip("TestAnySize has these sizes of every program")
	}
	m := compile(t, engine.Options{Threads: 1})
	defer m.Close()
	var few []int64
	for n := range int64(40) {
		few = append(few, n)
	}
	anySize(t, m, []string{"position", "total_f64", "channel_sums", "short_rows", "short_sums"}, fixed(few...))
}

// TestLongestRows has rows of any length that are just short enough to be kept in the memory of a kernel, and longer
// ones, which are computed again: Note [Row caching for any length] in ir/kernel/transform.
func TestLongestRows(t *testing.T) {
	m := compile(t, engine.Options{Threads: 1})
	defer m.Close()
	anySize(t, m, []string{"softmax"}, fixed(1<<16-1, 1<<16, 1<<16+1))
}

// TestLevels has as many elements as fill the lanes of a reduction and those that take their results, and one more:
// code for any shape finds out which there are (levels in codegen/llvm).
func TestLevels(t *testing.T) {
	m := compile(t, engine.Options{Threads: 1})
	defer m.Close()
	anySize(t, m, []string{"long_columns"}, fixed(256, 257, 128*256, 128*256+1, 4095*256, 4095*256+1, 4096*256+1))
	anySize(t, m, []string{"more_columns"}, fixed(128*256+1))
	anySize(t, m, []string{"rows"}, fixed(128*4096+1))
}

// anySize runs functions, compiled for any size, at the sizes of each, which is named by its position in the source.
func anySize(t *testing.T, m *engine.Module, names []string, sizes func(i int) []int64) {
	l, err := m.Library("t", names, func(string) map[string]int64 { return nil })
	if err != nil {
		t.Fatal(err)
	}
	l.SplitAll = true
	lib, err := library.Build(t.TempDir(), l)
	if err != nil {
		t.Fatal(err)
	}
	defer lib.Close()
	var levels []string
	for _, l := range aot.Levels {
		levels = append(levels, l.Name)
	}
	inLibrary(t, m, lib, l.Entries, levels, sizes)
}

// inLibrary runs the functions of a library at each of its levels that this machine has.
func inLibrary(t *testing.T, m *engine.Module, lib *library.Lib, entries []*aot.Entry, levels []string,
	sizes func(i int) []int64) {
	interp := compile(t, engine.Options{Backend: heal.Interp})
	all := m.Names()
	for _, e := range entries {
		f, i := m.IR().Func(e.Name), slices.Index(all, e.Name)
		for _, n := range sizes(i) {
			seed := uint64(n)<<8 + uint64(i)
			input := arguments(f, n, small(n, int64(i)), seed)
			want := run(t, interp, e.Name, input, seed)
			for k, level := range levels {
				if ok, err := lib.UseCPU(level); err != nil {
					t.Fatal(err)
				} else if !ok {
					continue
				}
				same := len(f.Updates) == 0 // the arguments of one call do for the next
				var args []*tensor.Tensor
				for j, th := range threads {
					if _, err := lib.Do(lib.Own("set_threads"), uintptr(th)); err != nil {
						t.Fatal(err)
					}
					now := seed + uint64(j+4*k)
					if j == 0 || !same {
						library.Close(args)
						var err error
						if args, err = library.Arguments(input, now); err != nil {
							t.Fatal(err)
						}
					}
					got, err := lib.RunOn(f, e, args, now)
					if err != nil {
						t.Fatalf("%s, N = %d: %v", e.Name, n, err)
					}
					if d := random.Diff(want, got); d != "" {
						t.Errorf("%s, N = %d, %s, %d threads, seed %d: %s", e.Name, n, level, th, now, d)
					}
				}
				library.Close(args)
			}
		}
	}
}

// TestEachSize compiles every program for sizes, strides and processors. TestAnySize has every program at every size;
// code that knows its size meets every program with every 19th one of these sizes, other ones every day, every size
// with every 19th program, and each of both with every processor and every number of threads.
func TestEachSize(t *testing.T) {
	interp := compile(t, engine.Options{Backend: heal.Interp})
	every, part := 11, sample.Part(19)
	if testing.Short() {
		every, part = 97, sample.Part(3)
	}
	day := sample.Today(t)
	for i, name := range interp.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cpus := devices.Targets(t)
			for k, n := range sizes(every) {
				turn := (i + k) / part
				if (i+k+day)%part > 0 || (testing.Short() || name == "transform" && !sample.All()) &&
					(turn+day/part)%2 > 0 {
					continue // transforms take long to compile
				}
				seed := uint64(n)<<8 + uint64(i) + 1<<32
				input := arguments(interp.IR().Func(name), n, small(n, int64(i+k)), seed)
				want := run(t, interp, name, input, seed)
				if testing.Short() || name == "transform" {
					turn /= 2
				}
				cpu, th := cpus[turn%len(cpus)], threads[(turn+turn/12)%len(threads)]
				for _, w := range ways.Thorough(turn+turn/2, 2) {
					if err := w.Run(t, engine.Options{Threads: th, SplitAll: true,
						Target: codegen.Target{Kind: "cpu", CPU: cpu}}, func(o engine.Options) error {
						m, err := engine.CompileIR(interp.IR(), o)
						if err != nil {
							return err
						}
						defer m.Close()
						if d := random.Diff(want, run(t, m, name, input, seed)); d != "" {
							return fmt.Errorf("N = %d, processor %q, %d threads, seed %d: %s", n, cpu, th, seed, d)
						}
						return nil
					}); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
}

func compile(t *testing.T, o engine.Options) *engine.Module {
	t.Helper()
	m, err := engine.Compile(source, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// run calls a function of m on arguments whose layouts are drawn from the seed.
func run(t *testing.T, m *engine.Module, name string, input []*ir.Array, seed uint64) *random.Outcome {
	t.Helper()
	out, err := random.Call(m, name, input, seed)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out
}

// arguments are random, fit for the names of the parameters.
func arguments(f *ir.Func, n, m int64, seed uint64) []*ir.Array {
	r := rand.New(rand.NewPCG(seed, 5))
	bind := map[string]int64{"N": n, "M": m}
	var p []int64 // the moduli, which stand in the last axis or hold for all
	for range 3 {
		p = append(p, prime(r, 20+r.IntN(39)))
	}
	var out []*ir.Array
	for _, param := range f.Params() {
		a := &ir.Array{DType: param.Type.Elem, Shape: []int64{}, Bits: []uint64{}}
		size := int64(1)
		for _, d := range param.Type.Shape {
			k, err := d.Eval(bind)
			if err != nil {
				panic(err)
			}
			a.Shape = append(a.Shape, k)
			size *= k
		}
		kind := r.IntN(4)
		for i := range size {
			switch param.Name {
			case "p":
				a.Bits = append(a.Bits, uint64(p[i]))
				if a.DType == types.I32 {
					a.Bits[i] = uint64(prime(r, 20+r.IntN(11)))
				}
			case "at":
				a.Bits = append(a.Bits, uint64(r.Int64N(m)))
			case "perm":
				a.Bits = append(a.Bits, uint64(i*37%size)) // 37 and a power of two have no common factor
			case "w":
				a.Bits = append(a.Bits, uint64(r.Int64N(p[i/64])))
			default:
				a.Bits = append(a.Bits, element(r, a.DType, kind))
			}
		}
		out = append(out, a)
	}
	return out
}

// element is any number: kind 0 has special ones among them, kind 1 many ties and zeros.
func element(r *rand.Rand, d types.DType, kind int) uint64 {
	if !d.IsFloat() {
		if kind == 1 {
			return scalar.IntBits(d, int64(r.IntN(3)))
		}
		return r.Uint64() >> (64 - d.Bits())
	}
	special := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1, -1, 1e-40, 3e38}
	switch {
	case kind == 0 && r.IntN(40) == 0:
		return scalar.FloatBits(d, special[r.IntN(len(special))])
	case kind == 1:
		return scalar.FloatBits(d, special[3+r.IntN(4)])
	}
	return scalar.FloatBits(d, r.NormFloat64()*3)
}

// prime is one that is 1 modulo 128, of the given bits.
func prime(r *rand.Rand, bits int) int64 {
	for {
		p := r.Int64N(1<<(bits-8))<<7 + 1<<(bits-1) + 1
		if big.NewInt(p).ProbablyPrime(10) {
			return p
		}
	}
}
