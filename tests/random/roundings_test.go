package random

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"healc"
	"healc/codegen"
	"healc/codegen/llvm"
	"healc/internal/engine"
	"healc/internal/pipeline"
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/tensor"
	"healc/tests/devices"
)

// TestRoundings: where a directive has any number, powers of two or not, loops end where the memory ends. Behind each
// argument are infinities, and the result stands before zeros, which stay.
func TestRoundings(t *testing.T) {
	opts := engine.Options{Backend: heal.CPU, Threads: 1, Target: codegen.Target{CPU: "x86-64-v3"}}
	if !slices.Contains(devices.Processors(t), opts.Target.CPU) {
		t.Skip("it is for AVX2")
	}
	for _, c := range []struct {
		text, directive, arg string
		elem                 types.DType
		arguments            [][]int64
		result               []int64
		anyShape             bool
	}{
		{"fn f(x: f32[8, 4096], y: f32[4096]) -> f32[8, 4096] = x .* y", "jam", "rows", types.F32,
			[][]int64{{8, 4096}, {4096}}, []int64{8, 4096}, false},
		{"fn f[N, M](x: f32[N], y: f32[N, M]) -> f32[M] = x @ cumsum(y, axis = -1)", "axpy", "rows", types.F32,
			[][]int64{{8}, {8, 40}}, []int64{40}, true},
		{"fn f[N, M](x: f64[N], y: f64[M, N]) -> f64[M] = cumsum(y, axis = -1) @ cumsum(x, axis = 0)", "dot",
			"vectors", types.F64, [][]int64{{8}, {32, 8}}, []int64{32}, true},
	} {
		for _, n := range []int64{3, 6} {
			t.Run(fmt.Sprint(c.directive, n), func(t *testing.T) {
				set := 0
				opts := opts
				opts.Debug = pipeline.Debug{AnyShape: c.anyShape, Vectors: true}
				opts.Debug.Reschedule = eachDirective(c.directive, &set, func(d *kernel.Directive) { d.Set(c.arg, n) })
				want := resultBefore(t, c.text, engine.Options{Backend: heal.Interp}, c.elem, c.arguments, c.result)
				got := resultBefore(t, c.text, opts, c.elem, c.arguments, c.result)
				if set == 0 {
					t.Fatalf("no kernel has the directive %s", c.directive)
				}
				for i := range want {
					if want[i] != got[i] {
						t.Fatalf("element %d of %d is %x, not %x", i, len(want)/2, got[i], want[i])
					}
				}
			})
		}
	}
}

// TestNarrowBlocks: a stream whose blocks have fewer columns than two vectors has no loads and stores of more than a
// block, not even in a loop that never runs.
func TestNarrowBlocks(t *testing.T) {
	opts := engine.Options{Backend: heal.CPU, Threads: 1, Target: codegen.Target{CPU: "x86-64-v4/x86-64-v3"}}
	var memo llvm.Memo // code for any shape is the same for each block
	if !slices.Contains(devices.Processors(t), "x86-64-v3") {
		t.Skip("its instructions are those of AVX2")
	}
	for _, text := range []string{
		"fn f(x: f32[10], y: f32[10, 31]) -> f32[31] = x @ y",
		"fn f[N, M](x: f32[N], y: f32[N, M]) -> f32[M] = x @ cumsum(y, axis = -1)",
	} {
		for _, block := range []int64{1, 3, 8, 16, 24} {
			set := 0
			opts.Debug = pipeline.Debug{AnyShape: strings.Contains(text, "[N, M]("), Memo: &memo}
			opts.Debug.Reschedule = eachDirective("axpy", &set, func(d *kernel.Directive) {
				d.Set("block", block).Set("width", 16).Set("rows", 5)
			})
			arguments, result := [][]int64{{10}, {10, 31}}, []int64{31}
			want := resultBefore(t, text, engine.Options{Backend: heal.Interp}, types.F32, arguments, result)
			got := resultBefore(t, text, opts, types.F32, arguments, result)
			if set == 0 {
				t.Fatal("no kernel is a stream")
			}
			if !slices.Equal(want, got) {
				t.Errorf("%s in blocks of %d: %x, not %x", text, block, got, want)
			}
		}
	}
}

// resultBefore are the bits of what f gives, and of as many elements behind it.
func resultBefore(t *testing.T, text string, opts engine.Options, elem types.DType, arguments [][]int64,
	result []int64) []uint64 {
	t.Helper()
	m, err := engine.Compile(text, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	f, err := m.Func("f")
	if err != nil {
		t.Fatal(err)
	}
	first := func(shape []int64, element func(i int) float64, behind float64) (all, half *tensor.Tensor) {
		n := 1
		ranges := make([]tensor.Range, len(shape))
		for i, d := range shape {
			n *= int(d)
			ranges[i] = tensor.Range{Stop: d, Step: 1}
		}
		bits := make([]uint64, 2*n)
		for i := range bits {
			x := behind
			if i < n {
				x = element(i)
			}
			bits[i] = scalar.FloatBits(elem, x)
		}
		doubled := slices.Clone(shape)
		doubled[0] *= 2
		if all, err = tensor.FromBits(elem, doubled, bits); err != nil {
			t.Fatal(err)
		}
		if half, err = all.Slice(ranges...); err != nil {
			t.Fatal(err)
		}
		return all, half
	}
	var args []*tensor.Tensor
	for _, shape := range arguments {
		all, half := first(shape, func(i int) float64 { return float64(i%7 - 3) }, math.Inf(1))
		defer all.Close()
		defer half.Close()
		args = append(args, half)
	}
	all, half := first(result, func(int) float64 { return 0 }, 0)
	defer all.Close()
	defer half.Close()
	if err := f.CallInto(context.Background(), []*tensor.Tensor{half}, args...); err != nil {
		t.Fatal(err)
	}
	return all.Bits()
}
