package gradients

import (
	"testing"

	heal "healc"
	"healc/runtime/abi"
)

// A cost is what a compiled function does: the number of its kernels, those in the steps of loops once, and the bytes of
// temporary buffers that are alive at one time.
type cost struct {
	kernels int
	bytes   int64
}

// costOf compiles the function f of a program.
func costOf(t *testing.T, src string) cost {
	t.Helper()
	m, err := heal.Compile(src, heal.Options{Backend: heal.Interp})
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
				live += size(t, b)
			}
		}
		out.bytes = max(out.bytes, live)
	}
	return out
}

func size(t *testing.T, b abi.Buffer) int64 {
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
	plain := costOf(t, deep+"pub fn f(w: f32[16, 16], x: f32[1000, 16]) -> f32[16, 16] = grad(|w| sum(pair(w, pair(w, pair(w, pair(w, x))))))(w)")
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
	t.Logf("without checkpoints %d kernels, %d bytes; with them %d kernels, %d bytes", plain.kernels, plain.bytes, spared.kernels, spared.bytes)
}
