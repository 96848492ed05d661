package heal

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"healc/runtime/tensor"
)

// everything has a function of each kind, which goroutines compile and call at the same time.
const everything = `import nn
fn pointwise[N](x: f32[N]) -> f32[N] = exp(x .* 0.5) ./ (1.0 .+ x .* x)
fn sums[N](x: f32[N]) -> f32 = +/(x .* x) + max/(x)
fn product[N](x: f32[N]) -> f32[N, N] = reshape(x, [N, 1]) @ reshape(x, [1, N])
fn sorted[N](x: f32[N]) -> f32[N] = sort(x)
fn loop[N](x: f32[N]) -> f32[N] = iterate(20, x, |s| s .* 0.5 .+ (+/(s)) .* 0.001)
fn running[N](x: f32[N]) -> f32[N] = scan(0.0, |a, b| a + b, x)
fn rows[N](x: f32[N]) -> f32[2, N] = nn.softmax(stack((x, x)))
fn outside[N](x: f32[N]) -> f32 = x[N + (x[0] as i32)]
fn squares[N](x: f32[N]) -> f32 = +/(x .* x)
`

var everyFunction = []string{"pointwise", "sums", "product", "sorted", "loop", "running", "rows", "outside"}

// input has n elements that have exact sums.
func input(n int) *tensor.Tensor {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32((i*7)%n) / 8
	}
	return tensor.FromSlice(v)
}

// answer is what a call gives, as text.
func answer(ctx context.Context, f *Func, x *tensor.Tensor) (string, error) {
	out, err := f.CallAll(ctx, x)
	text := ""
	for _, y := range out {
		text += fmt.Sprint(y.Bits())
		y.Close()
	}
	return text, err
}

// TestAtOnce: goroutines use one module in every way, for shapes that are new and for known ones, and compile the same
// source for themselves, with one cache. It is for the race detector, and compares what comes out anyhow.
func TestAtOnce(t *testing.T) {
	sizes := []int{1, 9, 70, 131}
	want := map[string]string{}
	for _, name := range everyFunction {
		f := function(t, everything, name, Options{Backend: Interp})
		for _, n := range sizes {
			x := input(n)
			text, err := answer(context.Background(), f, x)
			if err != nil {
				text = err.Error()
			}
			want[name+string(rune(n))] = text
			x.Close()
		}
	}
	for _, backend := range []string{CPU, Interp, PTXSim} {
		t.Run(backend, func(t *testing.T) { atOnce(t, backend, sizes, want) })
	}
}

func atOnce(t *testing.T, backend string, sizes []int, want map[string]string) {
	cache := &Cache{Dir: filepath.Join(t.TempDir(), "cache"), Limit: 200 << 10}
	opts := Options{Backend: backend, Threads: 2, Cache: cache, splitAll: true}
	shared, err := Compile(everything, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer shared.Close()
	check := func(m *Module, turn int) {
		name := everyFunction[turn%len(everyFunction)]
		f, err := m.Func(name)
		if err != nil {
			t.Error(err)
			return
		}
		n := sizes[turn/len(everyFunction)%len(sizes)]
		x := input(n)
		defer x.Close()
		ctx, cancel := context.Background(), func() {}
		if turn%5 == 4 { // one that ends before the call, during it, or not at all
			ctx, cancel = context.WithTimeout(ctx, time.Duration(turn%7)*100*time.Microsecond)
		}
		defer cancel()
		got, err := answer(ctx, f, x)
		if errors.Is(err, context.DeadlineExceeded) {
			return
		} else if err != nil {
			got = err.Error()
		}
		if got != want[name+string(rune(n))] {
			t.Errorf("%s of %d elements is %s, not %s", name, n, got, want[name+string(rune(n))])
		}
		_, _, _ = f.Signature(), f.Results(), m.Names()
	}
	var wg sync.WaitGroup
	for g := range 6 {
		wg.Go(func() {
			for i := range 12 {
				check(shared, 5*g+3*i)
			}
			own, err := Compile(everything, opts)
			if err != nil {
				t.Error(err)
				return
			}
			defer own.Close()
			for i := range 4 {
				check(own, 3*g+i)
			}
			slope, err := shared.Gradient("squares")
			if err != nil {
				t.Error(err)
				return
			}
			x := input(9)
			defer x.Close()
			if _, err := answer(context.Background(), slope, x); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}
