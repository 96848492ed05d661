package gradients

import (
	"fmt"
	"math"
	"testing"

	heal "healc"
	"healc/internal/engine"
	"healc/ir"
	"healc/ir/interp"
	"healc/lang/types"
	"healc/runtime/abi"
)

// A cost is what a compiled function does: the number of its kernels, those in the steps of loops once, and the bytes
// of temporary buffers that are alive at one time.
type cost struct {
	kernels int
	bytes   int64
}

// costOf compiles the function f of a program.
func costOf(t *testing.T, src string) cost {
	t.Helper()
	m, err := engine.Compile(src, engine.Options{Backend: heal.Interp})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	km, err := m.Kernels("f", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	f := km.Plan.Funcs[0]
	out := cost{kernels: len(km.Kernels)}
	for step := range 1 << 10 {
		live := int64(0)
		for _, b := range f.Buffers {
			if b.Kind == abi.Temp && b.First <= step && step <= b.Last {
				live += bufferSize(t, b)
			}
		}
		out.bytes = max(out.bytes, live)
	}
	return out
}

func bufferSize(t *testing.T, b abi.Buffer) int64 {
	t.Helper()
	n := int64(b.DType.Bytes())
	for _, d := range b.Shape {
		c, ok := d.Dim.Const()
		if !ok {
			t.Fatalf("a buffer has an extent %s", d.Dim)
		}
		n *= (c + max(d.Div, 1) - 1) / max(d.Div, 1)
	}
	return n
}

// deep is a chain of 8 layers, whose values take much more than the weights.
const deep = `
fn layer(w: f32[16, 16], x: f32[1000, 16]) -> f32[1000, 16] = tanh(x @ w)
fn pair(w: f32[16, 16], x: f32[1000, 16]) -> f32[1000, 16] = layer(w, layer(w, x))
`

// TestCheckpointKeepsLess: of 8 values, 3 are kept, and 1 is there while its pair of layers is differentiated.
func TestCheckpointKeepsLess(t *testing.T) {
	plain := costOf(t, deep+
		"pub fn f(w: f32[16, 16], x: f32[1000, 16]) -> f32[16, 16] = grad(|w| sum(pair(w, pair(w, pair(w, pair(w, "+
		"x))))))(w)")
	spared := costOf(t, deep+`
fn two(w: f32[16, 16], x: f32[1000, 16]) -> f32[1000, 16] = checkpoint(pair)(w, x)
pub fn f(w: f32[16, 16], x: f32[1000, 16]) -> f32[16, 16] = grad(|w| sum(two(w, two(w, two(w, two(w, x))))))(w)`)
	const value = 1000 * 16 * 4
	if plain.bytes < 7*value {
		t.Errorf("%d bytes: the derivative keeps the values of 7 layers, %d bytes each", plain.bytes, value)
	}
	if spared.bytes > 6*value+8*16*16*4 {
		t.Errorf("%d bytes with checkpoints, %d without: a value has %d", spared.bytes, plain.bytes, value)
	}
	t.Logf("without checkpoints %d kernels, %d bytes; with them %d kernels, %d bytes", plain.kernels, plain.bytes,
		spared.kernels, spared.bytes)
}

// TestSparseStates: a loop whose number of steps is an argument has the same derivative, to the last bit, as one whose
// number is known, on both sides of the numbers where more digits are kept.
func TestSparseStates(t *testing.T) {
	m := compile(t, `
fn step(s: f64[3], a: f64) -> f64[3] = sin(s * 3.0) * a + flip(s, 0) * 0.1
fn done(s: f64[3]) -> bool = sum(s) > 100.0
fn open(x: f64[3], a: f64, n: i32) -> (f64[3], f64) = grad(|x, a| sum(iterate(n, x, |s| step(s, a))))(x, a)
fn until(x: f64[3], a: f64, n: i32) -> (f64[3], f64) = grad(|x, a| sum(iterate_until(x, |s| step(s, a), done, n)))(x, a)
fn known[N](x: f64[3], a: f64, n: i32[N]) -> (f64[3], f64) = grad(|x, a| sum(iterate(N, x, |s| step(s, a))))(x, a)
fn ahead(x: f64[3], a: f64, n: i32) -> f64 = jvp(|x, a| sum(iterate(n, x, |s| step(s, a))))(x, a, x, 1.0)
fn ahead_known[N](x: f64[3], a: f64, n: i32[N]) -> f64 = jvp(|x, a| sum(iterate(N, x, |s| step(s, a))))(x, a, x, 1.0)
`)
	x, a := ir.NewArray(types.F64, 3), ir.NewArray(types.F64)
	for i, v := range []float64{0.3, -0.2, 0.9} {
		x.Bits[i] = math.Float64bits(v)
	}
	a.Bits[0] = math.Float64bits(0.8)
	call := func(entry string, n *ir.Array) string {
		out, err := interp.Run(m, entry, []*ir.Array{x, a, n}, &interp.MemSystem{})
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, v := range out {
			text += fmt.Sprintln(v.Bits)
		}
		return text
	}
	steps := []int64{0, 1, 2, 7, 8, 9, 16, 17, 63, 64, 65, 72, 73}
	if !testing.Short() {
		steps = append(steps, 511, 512, 513, 576)
	}
	for _, n := range steps {
		count := ir.NewArray(types.I32)
		count.Bits[0] = uint64(n)
		want := call("known", ir.NewArray(types.I32, n))
		for _, entry := range []string{"open", "until"} {
			if got := call(entry, count); got != want {
				t.Errorf("%d steps: %s gives\n%snot\n%s", n, entry, got, want)
			}
		}
		if n <= 73 {
			if got, want := call("ahead", count), call("ahead_known", ir.NewArray(types.I32, n)); got != want {
				t.Errorf("%d steps: forward mode gives\n%snot\n%s", n, got, want)
			}
		}
	}
}
