package library

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"healc/codegen/llvm/aot"
	"healc/internal/engine"
	"healc/lang/diag"
	"healc/runtime"
	"healc/runtime/abi"
	heap "healc/runtime/memory"
	"healc/runtime/tensor"
)

// compiled has the functions of a bundle.
func compiled(t *testing.T, bundle *abi.Bundle) *runtime.Compiled {
	t.Helper()
	var text bytes.Buffer
	in := base64.NewEncoder(base64.StdEncoding, &text)
	packed := gzip.NewWriter(in)
	if err := json.NewEncoder(packed).Encode(bundle); err != nil {
		t.Fatal(err)
	}
	packed.Close()
	in.Close()
	return runtime.NewCompiled(text.String())
}

// TestCompiledProcessor: code for another processor is an error, and not run. No processor is of both levels, which are
// for those of two makers.
func TestCompiledProcessor(t *testing.T) {
	refused := 0
	for _, level := range []string{"", "avx512vp2intersect", "avx512fp16"} {
		code := compiled(t, &abi.Bundle{Levels: []string{"another"}, CPU: "another", Needs: level})
		_, err := code.Call(context.Background(), "f")
		into := code.CallInto(context.Background(), "f", nil)
		one, other := errors.Is(err, errors.ErrUnsupported), errors.Is(into, errors.ErrUnsupported)
		if err == nil || into == nil || one != other {
			t.Errorf("%s: %v, %v", level, err, into)
		}
		if errors.Is(err, errors.ErrUnsupported) {
			refused++
			if !strings.HasPrefix(err.Error(), "the machine code is for another, and this processor has no ") {
				t.Error(err)
			}
		} else if err.Error() != `there is no function "f"` {
			t.Error(err)
		}
	}
	if refused == 0 || refused == 3 {
		t.Errorf("%d of 3 are refused", refused)
	}
}

// TestCompiledMemory: what a Go package keeps does not grow where the shapes of its calls change; and the number of
// threads may change while it is called.
func TestCompiledMemory(t *testing.T) {
	m, err := engine.CompileFile(diag.NewFile("t.heal", `
fn f[N](x: i32[N]) -> i32[N] = tabulate(N, |i| [7, 3, 9, 1, 8, 2, 6, 4][x[i]])
`), engine.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	l, err := m.Library("p", []string{"f"}, func(string) map[string]int64 { return nil })
	if err != nil {
		t.Fatal(err)
	}
	l.Target.CPU, l.SplitAll = plain, true
	bundle, err := aot.Bundle(l)
	if err != nil {
		t.Fatal(err)
	}
	code := compiled(t, bundle)
	call := func(n int) {
		at, want := make([]int32, n), make([]int32, n)
		for i := range at {
			at[i] = int32(i % 8)
			want[i] = []int32{7, 3, 9, 1, 8, 2, 6, 4}[i%8]
		}
		x := tensor.FromSlice(at)
		defer x.Close()
		out, err := code.Call(context.Background(), "f", x)
		if err != nil {
			t.Error(err)
			return
		}
		defer out[0].Close()
		if got, err := tensor.Slice[int32](out[0]); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v, %v", got, err)
		}
	}
	call(5)
	before := heap.LiveBytes()
	for i := range 50 {
		call(3 + i%4)
	}
	if after := heap.LiveBytes(); after > before {
		t.Errorf("%d bytes are there after many shapes, and %d were after one", after, before)
	}
	var calls sync.WaitGroup
	for k := range 3 {
		calls.Go(func() {
			for i := range 50 {
				call(1000*k + i)
			}
		})
	}
	for i := range 30 {
		if err := code.SetThreads(i % 5); err != nil {
			t.Error(err)
		}
	}
	calls.Wait()
}
