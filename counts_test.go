package heal_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"expvar"
	"fmt"
	"io"
	"runtime/pprof"
	gotrace "runtime/trace"
	"strings"
	"testing"
	"time"

	heal "healc"
	"healc/codegen/llvm/libllvm"
)

const watchedSource = `
fn f(n: i32) -> i32[5000] = iterate(n, tabulate(5000, |i| i * 7 % 300), |x| sort(x .* 3 .- sum(x)) % 1000)
fn at(x: i32[3], i: i32) -> i32 = x[i]
`

// watched is a function of watchedSource.
func watched(t *testing.T, name string, opts heal.Options) *heal.Func {
	t.Helper()
	if _, err := libllvm.Open(); err != nil {
		t.Skip(err)
	}
	m, err := heal.Compile(watchedSource, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	f, err := m.Func(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func call(t *testing.T, ctx context.Context, f *heal.Func, args ...*heal.Tensor) error {
	t.Helper()
	y, err := f.Call(ctx, args...)
	if err == nil {
		y.Close()
	}
	return err
}

// TestCounts: calls, failures and kernels are counted, with what they read and write; nothing is where nobody counts.
func TestCounts(t *testing.T) {
	var _ expvar.Var = heal.NewCounts()
	for _, backend := range []string{heal.CPU, heal.PTXSim, heal.Interp} {
		counts := heal.NewCounts()
		opts := heal.Options{Backend: backend, Counts: counts}
		f, at := watched(t, "f", opts), watched(t, "at", opts)
		steps := int32(4)
		if backend == heal.PTXSim {
			steps = 0
		}
		for range 3 {
			if err := call(t, context.Background(), f, heal.Scalar(steps)); err != nil {
				t.Fatal(err)
			}
		}
		x := heal.FromSlice([]int32{1, 2, 3}, 3)
		var failure *heal.RuntimeError
		if err := call(t, context.Background(), at, x, heal.Scalar(int32(7))); !errors.As(err, &failure) {
			t.Errorf("%s: %v", backend, err)
		}
		kernels, runs, moved := 0, int64(0), int64(0)
		var calls []string
		for n := range counts.All() {
			if n.Kernel == "" {
				calls = append(calls, fmt.Sprintf("%s %d %d", n.Function, n.Calls, n.Failures))
			} else if n.Function == "f" {
				kernels, runs, moved = kernels+1, runs+n.Calls, moved+n.Bytes
			}
			if n.Time <= 0 {
				t.Errorf("%s: %+v", backend, n)
			}
		}
		got := strings.Join(calls, ", ")
		switch want := "at 1 1, f 3 0"; {
		case backend == heal.Interp:
			if got != "" || counts.String() != "[]" {
				t.Errorf("the interpreter has counted %s", counts)
			}
		case got != want:
			t.Errorf("%s: %s, want %s", backend, got, want)
		case backend == heal.PTXSim && kernels > 0, backend == heal.CPU && (kernels < 2 || runs < 3*4*2):
			t.Errorf("%s: %d kernels, %d runs", backend, kernels, runs)
		case backend == heal.CPU && moved < 3*4*2*4*5000: // the sort reads and writes all elements in each of the steps
			t.Errorf("%d bytes", moved)
		}
		var rows []struct {
			Function, Kernel string
			Calls            int64
			Seconds          float64
		}
		if err := json.Unmarshal([]byte(counts.String()), &rows); err != nil {
			t.Fatal(err)
		}
		if backend == heal.CPU && (len(rows) < 4 || rows[0].Function != "at" || rows[0].Seconds <= 0) {
			t.Errorf("%s", counts)
		}
	}
	if _, err := heal.Compile(watchedSource, heal.Options{Sandbox: &heal.Sandbox{}, Labels: true}); err == nil ||
		!strings.Contains(err.Error(), "Labels") {
		t.Errorf("in a sandbox: %v", err)
	}
}

// TestRegions: a trace of Go has a region for the call and for each kernel.
func TestRegions(t *testing.T) {
	f := watched(t, "f", heal.Options{})
	var out bytes.Buffer
	if err := gotrace.Start(&out); err != nil {
		t.Skip(err)
	}
	err := call(t, context.Background(), f, heal.Scalar(int32(2)))
	gotrace.Stop()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"heal.f", "heal.f.k1_f"} {
		if !bytes.Contains(out.Bytes(), []byte(want)) {
			t.Errorf("no region %s", want)
		}
	}
}

// TestLabels: samples of a CPU profile say which kernel ran, and the labels of the caller are there again behind it.
func TestLabels(t *testing.T) {
	f := watched(t, "f", heal.Options{Labels: true})
	missing := []string{"heal_function", "heal_kernel"}
	for deadline := time.Now().Add(20 * time.Second); len(missing) > 0 && time.Now().Before(deadline); {
		var out bytes.Buffer
		if err := pprof.StartCPUProfile(&out); err != nil {
			t.Skip(err)
		}
		err := call(t, context.Background(), f, heal.Scalar(int32(500)))
		pprof.StopCPUProfile()
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(&out)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, label := range missing {
			if !bytes.Contains(raw, []byte(label)) {
				left = append(left, label)
			}
		}
		missing = left
	}
	if len(missing) > 0 {
		t.Errorf("no sample has the labels %v", missing)
	}
	pprof.Do(context.Background(), pprof.Labels("whose", "the caller's"), func(ctx context.Context) {
		if err := call(t, ctx, f, heal.Scalar(int32(2))); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := pprof.Lookup("goroutine").WriteTo(&out, 1); err != nil {
			t.Fatal(err)
		}
		if text := out.String(); !strings.Contains(text, `{"whose":"the caller's"}`) || strings.Contains(text, "heal_") {
			t.Errorf("%s", text)
		}
	})
}
