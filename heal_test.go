package heal

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"healc/lang/diag"
	"healc/runtime"
	"healc/runtime/memory"
	"healc/runtime/tensor"
)

const chain = "fn f[N](a: f32[N], x: f32[N], b: f32[N]) -> f32[N] = relu(a .* x .+ b)"

func function(t testing.TB, src, name string, opts Options) *Func {
	t.Helper()
	m, err := Compile(src, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	f, err := m.Func(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestCall(t *testing.T) {
	for _, backend := range []string{CPU, Interp} {
		f := function(t, chain, "f", Options{Backend: backend})
		a, x, b := tensor.FromSlice([]float32{1, 2, 3}), tensor.FromSlice([]float32{1, -1, 2}),
			tensor.FromSlice([]float32{0.5, 0.5, 0.5})
		y, err := f.Call(context.Background(), a, x, b)
		if err != nil {
			t.Fatal(err)
		}
		v, err := tensor.Slice[float32](y)
		if err != nil || len(v) != 3 || v[0] != 1.5 || v[1] != 0 || v[2] != 6.5 {
			t.Errorf("%s: %v, %v", backend, v, err)
		}
		for _, z := range []*tensor.Tensor{a, x, b, y} {
			z.Close()
		}
	}
}

func TestCompileErrorIsAList(t *testing.T) {
	_, err := Compile("fn f(x: f32[3], y: f32[4]) -> f32[3] = x + y", Options{})
	var list *diag.List
	if !errors.As(err, &list) || len(list.Items) != 1 || list.Items[0].Code != "E0204" {
		t.Fatalf("%T: %v", err, err)
	}
}

func TestArgumentsAreChecked(t *testing.T) {
	f := function(t, chain, "f", Options{})
	three, four := tensor.FromSlice([]float32{1, 2, 3}), tensor.FromSlice([]float32{1, 2, 3, 4})
	ints, square := tensor.FromSlice([]int32{1, 2, 3}), tensor.FromSlice([]float32{1, 2, 3, 4}, 2, 2)
	closed := tensor.FromSlice([]float32{1})
	closed.Close()
	for _, c := range []struct {
		args []*tensor.Tensor
		want string
	}{
		{[]*tensor.Tensor{three, three}, "3 arguments"},
		{[]*tensor.Tensor{three, three, nil}, "`b` is nil"},
		{[]*tensor.Tensor{three, ints, three}, "`x`"},
		{[]*tensor.Tensor{three, four, three}, "N"},
		{[]*tensor.Tensor{square, square, square}, "rank"},
		{[]*tensor.Tensor{closed, closed, closed}, "closed"},
	} {
		_, err := f.CallAll(context.Background(), c.args...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
}

func TestUnknownNames(t *testing.T) {
	if _, err := Compile(chain, Options{Backend: "tpu"}); err == nil || !strings.Contains(err.Error(), "tpu") {
		t.Errorf("backend: %v", err)
	}
	m, err := Compile(chain, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if _, err := m.Func("g"); err == nil || !strings.Contains(err.Error(), "f") {
		t.Errorf("function: %v", err)
	}
}

func TestRuntimeErrorHasItsPlace(t *testing.T) {
	for _, backend := range []string{CPU, Interp} {
		f := function(t, "fn f(a: i32[3],\n     i: i32) -> i32 =\n  a[i]", "f", Options{Backend: backend})
		_, err := f.Call(context.Background(), tensor.FromSlice([]int32{1, 2, 3}), tensor.Scalar(int32(-1)))
		var failed *runtime.RuntimeError
		if !errors.As(err, &failed) || failed.Site.Line != 3 ||
			failed.Message != "index -1 is out of range for an axis of extent 3" {
			t.Errorf("%s: %#v", backend, err)
		}
	}
}

// TestConcurrentCalls: one function, many goroutines, several shapes.
func TestConcurrentCalls(t *testing.T) {
	f := function(t, "fn f[N](x: f32[N]) -> f32 = +/(x .* x)", "f", Options{})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			n := 100 * (g%3 + 1)
			x := tensor.FromSlice(make([]float32, n))
			v, _ := tensor.Slice[float32](x)
			for i := range v {
				v[i] = 2
			}
			for range 50 {
				y, err := f.Call(context.Background(), x)
				if err != nil {
					t.Error(err)
					return
				}
				if s, _ := tensor.Slice[float32](y); s[0] != float32(4*n) {
					t.Errorf("sum is %v, want %d", s[0], 4*n)
				}
				y.Close()
			}
			x.Close()
		}()
	}
	wg.Wait()
}

func TestCallsLeakNothing(t *testing.T) {
	f := function(t, "fn f[N](x: f32[N]) -> (f32[N], f32) = (x .* 2.0, mean(x))", "f", Options{Threads: 1})
	x := tensor.FromSlice(make([]float32, 1000))
	defer x.Close()
	call := func() {
		out, err := f.CallAll(context.Background(), x)
		if err != nil {
			t.Fatal(err)
		}
		for _, y := range out {
			y.Close()
		}
	}
	call()
	before := memory.LiveBytes()
	for range 100 {
		call()
	}
	if after := memory.LiveBytes(); after != before {
		t.Errorf("%d bytes after 100 calls, %d before", after, before)
	}
}

func TestCancelledContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, backend := range []string{CPU, Interp} {
		f := function(t, chain, "f", Options{Backend: backend})
		x := tensor.FromSlice([]float32{1})
		if _, err := f.Call(ctx, x, x, x); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", backend, err)
		}
		x.Close()
	}
}

// BenchmarkCall is a warm call on small tensors.
func BenchmarkCall(b *testing.B) {
	f := function(b, chain, "f", Options{})
	x := tensor.FromSlice(make([]float32, 64))
	defer x.Close()
	y := tensor.FromSlice(make([]float32, 64))
	defer y.Close()
	ctx, into := context.Background(), []*tensor.Tensor{y}
	if err := f.CallInto(ctx, into, x, x, x); err != nil { // compiles
		b.Fatal(err)
	}
	b.Run("Call", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			y, err := f.Call(ctx, x, x, x)
			if err != nil {
				b.Fatal(err)
			}
			y.Close()
		}
	})
	b.Run("CallInto", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := f.CallInto(ctx, into, x, x, x); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("at once", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			z := tensor.FromSlice(make([]float32, 64))
			defer z.Close()
			into := []*tensor.Tensor{z}
			for pb.Next() {
				if err := f.CallInto(ctx, into, x, x, x); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
}
