// Package fourier compares Fourier transforms of compiled code with the interpreter, bit for bit, and those of the
// interpreter with the definition: lengths with every order of stages, types, axes, directions, processors and devices.
package fourier

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"healc"
	"healc/codegen"
	"healc/internal/engine"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/tensor"
	"healc/tests/devices"
	"healc/tests/sample"
	"healc/tests/ways"
)

var dtypes = map[string]types.DType{"f16": types.F16, "bf16": types.BF16, "f32": types.F32, "f64": types.F64}

// lengths have stages of each radix alone and of each next to each other, passes of one stage and of two, short ones
// and such as are longer than near memory, and other factors.
var lengths = []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 15, 16, 17, 20, 24, 25, 27, 32, 36, 40, 45, 48, 60, 64, 75,
	81, 97, 100, 125, 128, 144, 160, 192, 225, 240, 243, 256, 320, 360, 512, 625, 729, 1000, 1024, 1280, 2048, 3072,
	16384, 32768, 46875}

// form is a way to transform n numbers of some type.
type form struct {
	name, src string
	shape     func(n int64) []int64
}

var forms = []form{
	{"a line", "fn f(x: T[N], y: T[N]) -> T[2, N] = fourier(x, y)", func(n int64) []int64 { return []int64{n} }},
	{"lines", "fn f(x: T[5, N], y: T[5, N]) -> T[2, 5, N] = fourier(x, y)",
		func(n int64) []int64 { return []int64{5, n} }},
	{"columns", "fn f(x: T[N, 3], y: T[N, 3]) -> T[2, N, 3] = fourier(x, y, axis = 0)",
		func(n int64) []int64 { return []int64{n, 3} }},
	{"the inverse between axes", "fn f(x: T[2, N, 2], y: T[2, N, 2]) -> T[2, 2, N, 2] = " +
		"fourier(x, y, axis = 1, inverse = true)", func(n int64) []int64 { return []int64{2, n, 2} }},
	{"columns in panels", "fn f(x: T[N, 20], y: T[N, 20]) -> T[2, N, 20] = fourier(x, y, axis = 0)",
		func(n int64) []int64 { return []int64{n, 20} }},
	{"panels of what is computed, between axes", "fn f(x: T[3, N, 2, 4], y: T[3, N, 2, 4]) -> T[3, N, 2, 4] = " +
		"{ let z = fourier(x .* 2.0, y, axis = 1, inverse = true); z[0] .- z[1] }",
		func(n int64) []int64 { return []int64{3, n, 2, 4} }},
	{"columns of lines, in their memory", "fn f(x: T[N, 20], y: T[N, 20]) -> T[2, N, 20] = " +
		"{ let z = fourier(x, y); fourier(z[1], z[0], axis = 0) }", func(n int64) []int64 { return []int64{n, 20} }},
	{"columns of lines that are read again", "fn f(x: T[N, 20], y: T[N, 20]) -> T[2, N, 20] = " +
		"{ let z = fourier(x, y); fourier(z[0], z[0], axis = 0) .+ z }",
		func(n int64) []int64 { return []int64{n, 20} }},
	{"transposed lines", "fn f(x: T[9, N], y: T[9, N]) -> T[2, N, 9] = fourier(transpose(x), transpose(y), axis = 0)",
		func(n int64) []int64 { return []int64{9, n} }},
	{"lines of a tabulate", "fn f(x: T[5, N], y: T[5, N]) -> T[5, N] = " +
		"tabulate(5, |i| fourier(x[i], y[4 - i])[1] .* 2.0)", func(n int64) []int64 { return []int64{5, n} }},
	{"what is computed, and what reads it", "fn f(x: T[N], y: T[N]) -> T[N] = " +
		"{ let z = fourier(x .* 2.0, x .+ y); z[0] .* z[1] }", func(n int64) []int64 { return []int64{n} }},
	{"real numbers", "fn f(x: T[N], y: T[N]) -> T[2, H] = fourier_real(x .+ y)",
		func(n int64) []int64 { return []int64{n} }},
	{"columns of real numbers", "fn f(x: T[N, 9], y: T[N, 9]) -> T[2, H, 9] = fourier_real(x .- y, axis = 0)",
		func(n int64) []int64 { return []int64{n, 9} }},
	{"real numbers back", "fn f(x: T[H], y: T[H]) -> T[M] = fourier_real_inverse(x, y)",
		func(n int64) []int64 { return []int64{n/2 + 1} }},
	{"lines of real numbers back", "fn f(x: T[3, H], y: T[3, H]) -> T[3, M] = fourier_real_inverse(x, y .* 2.0)",
		func(n int64) []int64 { return []int64{3, n/2 + 1} }},
}

// source is a form for n elements of a type. H is the number of those in the transform of n real ones, M that of those
// that come back.
func (f form) source(elem string, n int64) string {
	return strings.NewReplacer("T[", elem+"[", "N", fmt.Sprint(n), "H", fmt.Sprint(n/2+1), "M",
		fmt.Sprint(n/2*2)).Replace(f.src)
}

// random makes a tensor of normal numbers.
func random(t *testing.T, rng *rand.Rand, elem types.DType, shape []int64) *tensor.Tensor {
	t.Helper()
	n := int64(1)
	for _, s := range shape {
		n *= s
	}
	bits := make([]uint64, n)
	for i := range bits {
		bits[i] = scalar.FloatBits(elem, rng.NormFloat64())
	}
	x, err := tensor.FromBits(elem, shape, bits)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func call(t *testing.T, src string, o engine.Options, args []*tensor.Tensor) []uint64 {
	t.Helper()
	m, err := engine.Compile(src, o)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	f, err := m.Func("f")
	if err != nil {
		t.Fatal(err)
	}
	y, err := f.Call(context.Background(), args...)
	if err != nil {
		t.Fatal(err)
	}
	defer y.Close()
	return y.Bits()
}

func differ(t *testing.T, where string, got, want []uint64) {
	t.Helper()
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%s: element %d is %#x, want %#x", where, i, got[i], want[i])
			return
		}
	}
}

// TestCompiled compares code with the interpreter: lines of up to 64 numbers, and every eleventh one of the longer
// lengths, the others on the next days: a number that has no factor of those of the ways and the processors.
func TestCompiled(t *testing.T) {
	cpus, day := devices.Targets(t), sample.Today(t)
	rng := rand.New(rand.NewPCG(3, 5))
	for i, n := range lengths {
		if testing.Short() && n > 1024 {
			continue
		}
		for k, f := range forms {
			if (i+k)%2 > 0 && n > 64 || (i+k)%8 > 0 && n > 4096 || // compiling takes long
				n > 64 && !sample.Has(day, i, 11) {
				continue
			}
			elem := []string{"f64", "f32", "f64", "f32", "bf16", "f16"}[(i+k)%6]
			if n == 1 && strings.Contains(f.src, "M") { // then there is nothing to come back
				continue
			}
			src := f.source(elem, n)
			args := []*tensor.Tensor{random(t, rng, dtypes[elem], f.shape(n)), random(t, rng, dtypes[elem], f.shape(n))}
			name := fmt.Sprintf("%s of %d %s", f.name, n, elem)
			want := call(t, src, engine.Options{Backend: heal.Interp, Threads: 1}, args)
			cpu := cpus[(i+2*k)%len(cpus)]
			for _, w := range ways.Thorough(i+k, 5) {
				for _, o := range w.Options(t, engine.Options{Threads: 2, SplitAll: true,
					Target: codegen.Target{Kind: "cpu", CPU: cpu}}) {
					differ(t, fmt.Sprintf("%s on %q, %s", name, cpu, w), call(t, src, o, args), want)
				}
			}
			if n <= 1080 && devices.Takes(i+3*k, 4) {
				differ(t, name+" on a device", call(t, src, engine.Options{Backend: devices.Backend()}, args), want)
			}
			for _, a := range args {
				a.Close()
			}
		}
	}
}

// TestLong: lines that are cut in two parts, of which one has more elements than near memory has room for, in blocks of
// columns that are all of one width and not.
func TestLong(t *testing.T) {
	if testing.Short() {
		t.Skip("long lines")
	}
	cpus := devices.Targets(t)
	rng := rand.New(rand.NewPCG(2, 7))
	for i, c := range []struct {
		n    int64
		elem string
	}{{78125, "f64"}, {100000, "f32"}, {1 << 18, "f64"}} {
		for _, f := range []form{forms[0], forms[9]} {
			src := f.source(c.elem, c.n)
			args := []*tensor.Tensor{random(t, rng, dtypes[c.elem], f.shape(c.n)),
				random(t, rng, dtypes[c.elem], f.shape(c.n))}
			want := call(t, src, engine.Options{Backend: heal.Interp, Threads: 1}, args)
			cpu := cpus[i%len(cpus)]
			differ(t, fmt.Sprintf("%s of %d %s on %q", f.name, c.n, c.elem, cpu), call(t, src,
				engine.Options{Threads: 2, SplitAll: true, Target: codegen.Target{Kind: "cpu", CPU: cpu}}, args), want)
			for _, a := range args {
				a.Close()
			}
		}
	}
}

// short are ways to transform many lines of few numbers, which go together: a whole number of panels of f64 and not,
// operands in memory and computed ones, results that nobody asks for.
var short = []form{
	{"many lines", "fn f(x: T[32, N], y: T[32, N]) -> T[2, 32, N] = fourier(x, y)",
		func(n int64) []int64 { return []int64{32, n} }},
	{"lines of what is computed", "fn f(x: T[21, N], y: T[21, N]) -> T[21, N] = " +
		"{ let z = fourier(x .* 2.0, x .+ y); z[0] .- z[1] }", func(n int64) []int64 { return []int64{21, n} }},
	{"the inverse in two boxes", "fn f(x: T[2, 19, N], y: T[2, 19, N]) -> T[2, 19, N] = " +
		"fourier(x, y, inverse = true)[1]", func(n int64) []int64 { return []int64{2, 19, n} }},
	{"many real lines", "fn f(x: T[24, N], y: T[24, N]) -> T[2, 24, H] = fourier_real(x .- y)",
		func(n int64) []int64 { return []int64{24, n} }},
	{"many real lines back", "fn f(x: T[17, H], y: T[17, H]) -> T[17, M] = fourier_real_inverse(x, y)",
		func(n int64) []int64 { return []int64{17, n/2 + 1} }},
}

func TestShortLines(t *testing.T) {
	cpus, day := devices.Targets(t), sample.Today(t)
	rng := rand.New(rand.NewPCG(8, 13))
	for i, n := range []int64{2, 3, 4, 5, 6, 8, 10, 12, 15, 16, 18, 20, 24, 25, 30, 32, 36, 48, 60, 64} {
		for k, f := range short {
			if !sample.Has(day, i+k, 4) {
				continue
			}
			elem := []string{"f64", "f32", "f64", "f32", "bf16"}[(i+2*k)%5]
			src := f.source(elem, n)
			args := []*tensor.Tensor{random(t, rng, dtypes[elem], f.shape(n)), random(t, rng, dtypes[elem], f.shape(n))}
			name := fmt.Sprintf("%s of %d %s", f.name, n, elem)
			want := call(t, src, engine.Options{Backend: heal.Interp, Threads: 1}, args)
			cpu := cpus[(i+2*k)%len(cpus)]
			differ(t, name+" on "+cpu, call(t, src, engine.Options{Threads: 2, SplitAll: true,
				Target: codegen.Target{Kind: "cpu", CPU: cpu}}, args), want)
			if devices.Takes(i+3*k, 4) {
				differ(t, name+" on a device", call(t, src, engine.Options{Backend: devices.Backend()}, args), want)
			}
			for _, a := range args {
				a.Close()
			}
		}
	}
}

// TestAccuracy: the result is near the exact one, by the root of the mean square.
func TestAccuracy(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int64{16, 60, 97, 256, 1000, 1024, 2048} {
		for elem, unit := range map[string]float64{"f32": 0x1p-24, "f64": 0x1p-53} {
			d := dtypes[elem]
			args := []*tensor.Tensor{random(t, rng, d, []int64{n}), random(t, rng, d, []int64{n})}
			src := strings.NewReplacer("T[", elem+"[", "N", fmt.Sprint(n)).Replace(forms[0].src)
			got := call(t, src, engine.Options{Backend: heal.Interp}, args)
			value := func(bits uint64) float64 { return scalar.FloatValue(d, bits) }
			x, y := args[0].Bits(), args[1].Bits()
			off, all := 0.0, 0.0
			for k := range n {
				var re, im sum
				for j := range n {
					sin, cos := math.Sincos(-2 * math.Pi * float64(j*k%n) / float64(n))
					re.add(value(x[j])*cos - value(y[j])*sin)
					im.add(value(x[j])*sin + value(y[j])*cos)
				}
				off += sq(value(got[k])-re.s) + sq(value(got[n+k])-im.s)
				all += sq(re.s) + sq(im.s)
			}
			units := math.Sqrt(off/all) / unit
			t.Logf("%d %s: off by %.2f units", n, elem, units)
			// The definition in f64 is itself off by some units of f64.
			if limit := 3 + math.Log2(float64(n))/2; units > limit {
				t.Errorf("%d %s: off by %.2f units, at most %.1f were expected", n, elem, units, limit)
			}
			for _, a := range args {
				a.Close()
			}
		}
	}
}

func sq(x float64) float64 { return x * x }

// sum adds with the error of what went before (Kahan).
type sum struct{ s, lost float64 }

func (a *sum) add(x float64) {
	x -= a.lost
	s := a.s + x
	a.lost = (s - a.s) - x
	a.s = s
}

// TestUnknown: there is no code for any length.
func TestUnknown(t *testing.T) {
	m, err := engine.Compile("fn f[N](x: f32[N], y: f32[N]) -> f32[2, N] = fourier(x, y)",
		engine.Options{Target: codegen.Target{Kind: "cpu"}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	_, err = m.Kernels("f", nil, nil)
	const want = "`fourier` over an extent that is not known when the program is compiled"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v", err)
	}
}
