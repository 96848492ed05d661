package main

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"healc"
	"healc/lang/types"
	"healc/runtime/tensor"
)

// movements are functions of two matrices T[n, n] and of positions that move every element of what they read once;
// bytes is how often the bytes of a matrix pass through memory.
var movements = []struct {
	name, result, body string
	bytes              float64
}{
	{"transpose", "T[N, N]", "transpose(x)", 2},
	{"transpose and negate", "T[N, N]", "-transpose(x)", 2},
	{"transpose, scale, add", "T[N, N]", "transpose(x) .* k .+ y", 3},
	{"axes turned round", "T[64, 64, N]", "-permute_axes(reshape(x, [N, 64, 64]), [2, 1, 0])", 2},
	{"channels last", "T[64, N, 64]", "-permute_axes(reshape(x, [64, 64, N]), [0, 2, 1])", 2},
	{"concat", "T[2 * N, N]", "concat((x, y), axis = 0)", 4},
	{"concat of columns", "T[N, 2 * N]", "concat((x, y), axis = 1)", 4},
	{"pad", "T[N, N + 10]", "pad(x, 1, 3, 7)", 2},
	{"gather", "T[N, N]", "x[which]", 2},
}

// BenchmarkMovement times them on one thread, results into tensors that are there, in turns with a copy of a matrix,
// `-x`: `of-copy` is the time that copying as many bytes takes over the function's.
//
//	go test ./tests/bench -run - -bench Movement -benchtime 15x
func BenchmarkMovement(b *testing.B) {
	const n = 4096
	for _, d := range []types.DType{types.F32, types.F64, types.F16, types.I8} {
		source := func(result, body string) string {
			k := "1.5"
			if d.IsInt() {
				k = "3"
			}
			s := "const N: nat = 4096\nfn f(x: T[N, N], y: T[N, N], which: i64[N]) -> " + result + " = " + body
			return strings.NewReplacer("T[", d.String()+"[", " k ", " "+k+" ").Replace(s)
		}
		one, err := tensor.New(d, n, n)
		if err != nil {
			b.Fatal(err)
		}
		two, _ := tensor.New(d, n, n)
		for _, t := range []*tensor.Tensor{one, two} { // pages that nobody wrote to are all one
			clear(unsafe.Slice((*byte)(t.Ptr()), t.Bytes()))
		}
		which, _ := tensor.New(types.I64, n)
		at, _ := tensor.Slice[int64](which)
		for i := range at {
			at[i] = int64(i*1237) % n
		}
		args := []*tensor.Tensor{one, two, which}
		compiled := func(result, body string) func() {
			m, err := heal.Compile(source(result, body), heal.Options{Threads: 1})
			if err != nil {
				b.Fatal(source(result, body), err)
			}
			b.Cleanup(m.Close)
			f, err := m.Func("f")
			if err != nil {
				b.Fatal(err)
			}
			ctx := context.Background()
			first, err := f.CallAll(ctx, args...)
			if err != nil {
				b.Fatal(err)
			}
			into, _ := tensor.New(d, first[0].Shape...)
			first[0].Close()
			b.Cleanup(func() { into.Close() })
			out := []*tensor.Tensor{into}
			return func() {
				if err := f.CallInto(ctx, out, args...); err != nil {
					b.Fatal(err)
				}
			}
		}
		timed := func(f func()) float64 {
			start := time.Now()
			f()
			return float64(time.Since(start).Nanoseconds())
		}
		duplicate := compiled("T[N, N]", "-x")
		for _, c := range movements {
			b.Run(d.String()+"/"+c.name, func(b *testing.B) {
				f := compiled(c.result, c.body)
				f()
				var own, copies []float64
				for b.Loop() {
					own = append(own, timed(f))
					copies = append(copies, timed(duplicate))
				}
				slices.Sort(own)
				slices.Sort(copies)
				b.ReportMetric(0, "ns/op") // the time of both, which says nothing
				b.ReportMetric(own[len(own)/2]/1e6, "ms/call")
				b.ReportMetric(c.bytes/2*copies[len(copies)/2]/own[len(own)/2], "of-copy")
			})
		}
	}
}
