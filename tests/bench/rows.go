package main

import (
	_ "embed"
	"fmt"
	"math"

	"healc/cmd/healc/measure"
	"healc/lang/types"
	"healc/runtime/tensor"
)

// rowsSource has the program of every row as a function of fixed shapes.
//
//go:embed peers/rows.heal
var rowsSource string

// row is a program that is measured beside the limit of the machine, and beside those peers that have it.
type row struct {
	name  string
	entry string // in rowsSource
	args  []input
	read  int64              // bytes that cannot be avoided, 0 for those of the arguments
	ops   float64            // arithmetic that cannot be avoided; 0 where memory is the limit anyway
	kind  measure.Arithmetic // of ops; "" for what the limits of the machine do not know: then memory is the limit
	rel   float64            // how far from the peers' results ours may be, relative to the largest element
}

// input is an argument: uniform random numbers from 0 to 1, less shift; or for integers from 0 to below `below`.
type input struct {
	dtype types.DType
	shape []int64
	shift float64
	below int64
	value float64 // of a scalar
	whole int64   // of a scalar that is an integer
}

func f32(shape ...int64) input { return input{dtype: types.F32, shape: shape, shift: 0.5} }
func f64(shape ...int64) input { return input{dtype: types.F64, shape: shape, shift: 0.5} }
func positive(shape ...int64) input {
	return input{dtype: types.F32, shape: shape, shift: -0.01}
}
func scalar(v float64) input               { return input{dtype: types.F32, value: v} }
func integer(d types.DType, v int64) input { return input{dtype: d, whole: v} }
func ints(d types.DType, below int64, shape ...int64) input {
	return input{dtype: d, shape: shape, below: below}
}

const (
	big   = 1 << 24
	small = 1 << 14
)

// rows are those of the tables in docs/results. Peers round differently and add up in other orders: sums of
// 2^24 numbers in f32 differ by some 1e-7 of what is added up, exp and its like by a few units in the last place.
var rows = []row{
	{name: "E1", entry: "e1", args: []input{f32(big), scalar(1.5), scalar(-0.75), scalar(2.25), scalar(0.125)},
		rel: 1e-6},
	{name: "E2", entry: "e2", args: []input{f32(4096, 4096), f32(4096), f32(4096), f32(4096), f32(4096)}, rel: 1e-6},
	{name: "E3", entry: "e3", args: []input{f32(big)}, rel: 1e-5},
	{name: "E4_exp", entry: "e4_exp", args: []input{f32(big)}, rel: 1e-6},
	{name: "E4_tanh", entry: "e4_tanh", args: []input{f32(big)}, rel: 1e-6},
	{name: "E4_sigmoid", entry: "e4_sigmoid", args: []input{f32(big)}, rel: 1e-6},
	{name: "E4_log", entry: "e4_log", args: []input{positive(big)}, rel: 1e-6},
	{name: "E1_16k", entry: "e1_16k", args: []input{f32(small), scalar(1.5), scalar(-0.75), scalar(2.25),
		scalar(0.125)}, rel: 1e-6},
	{name: "E3_16k", entry: "e3_16k", args: []input{f32(small)}, rel: 1e-5},
	{name: "E4_exp_16k", entry: "e4_exp_16k", args: []input{f32(small)}, rel: 1e-6},
	{name: "E4_tanh_16k", entry: "e4_tanh_16k", args: []input{f32(small)}, rel: 1e-6},
	{name: "E4_log_16k", entry: "e4_log_16k", args: []input{positive(small)}, rel: 1e-6},
	{name: "R1_sum", entry: "r1", args: []input{positive(big)}, rel: 1e-5},
	{name: "R2_dot", entry: "r2", args: []input{positive(big), positive(big)}, rel: 1e-5},
	{name: "R3_rowsum", entry: "r3_rows", args: []input{positive(4096, 4096)}, rel: 1e-5},
	{name: "R3_colsum", entry: "r3_columns", args: []input{positive(4096, 4096)}, rel: 1e-5},
	{name: "R1_sum_turned", entry: "r1_turned", args: []input{positive(4096, 4096)}, rel: 1e-5},
	{name: "R3_rowsum_turned", entry: "r3_turned", args: []input{positive(4096, 4096)}, rel: 1e-5},
	{name: "R4_meanvar", entry: "r4", args: []input{f32(big)}, rel: 1e-4},
	{name: "R5_argmax", entry: "r5", args: []input{f32(big)}},
	{name: "R6_sqdist", entry: "r6", args: []input{f32(big), f32(big)}, rel: 1e-5},
	{name: "S1_softmax", entry: "s1", args: []input{f32(4096, 1024)}, rel: 1e-5},
	{name: "S1_softmax_turned", entry: "s1_turned", args: []input{f32(1024, 4096)}, rel: 1e-5},
	{name: "S2_layernorm", entry: "s2", args: []input{f32(4096, 1024), f32(1024), f32(1024)}, rel: 1e-4},
	{name: "S3_xent", entry: "s3", args: []input{f32(4096, 1024), ints(types.I64, 1024, 4096)}, rel: 1e-5},
	matmul("M1_16", "m1_16", types.F32, 16, 16, 16),
	matmul("M1_64", "m1_64", types.F32, 64, 64, 64),
	matmul("M1_256", "m1_256", types.F32, 256, 256, 256),
	matmul("M1_1024", "m1_1024", types.F32, 1024, 1024, 1024),
	matmul("M1_2048", "m1_2048", types.F32, 2048, 2048, 2048),
	matmul("M1_1024x64x1024", "m1_1024x64x1024", types.F32, 1024, 64, 1024),
	matmul("M1_f64_1024", "m1_f64_1024", types.F64, 1024, 1024, 1024),
	matmul("M1_i32_256", "m1_i32_256", types.I32, 256, 256, 256),
	matmul("M1_i8_256", "m1_i8_256", types.I8, 256, 256, 256),
	matmul("M1_i8_1024", "m1_i8_1024", types.I8, 1024, 1024, 1024),
	matmul("M1_bf16_256", "m1_bf16_256", types.BF16, 256, 256, 256),
	matmul("M1_bf16_1024", "m1_bf16_1024", types.BF16, 1024, 1024, 1024),
	{name: "M2_gemv_4096x1024", entry: "m2", args: []input{f32(4096, 1024), f32(1024)}, ops: 2 * 4096 * 1024,
		kind: measure.F32, rel: 1e-4},
	{name: "M2_gemv_split_4096x1024", entry: "m2_split", args: []input{f32(4096, 1024), f32(1024)},
		ops: 2 * 4096 * 1024, kind: measure.F32, rel: 1e-4},
	{name: "T1_transpose", entry: "t1", args: []input{f32(4096, 4096)}},
	{name: "T2_stride_add", entry: "t2", args: []input{f32(4096, 4096)}, rel: 1e-6},
	{name: "G1_gather", entry: "g1", args: []input{f32(65536, 256), ints(types.I64, 65536, 32768)}, read: 32768*256*4 +
		32768*8},
	transform("F1_fft_65536", "f1_65536", types.F64, 1, 65536),
	transform("F1_fft_61440", "f1_61440", types.F64, 1, 61440),
	transform("F1_fft_f32_65536", "f1_f32_65536", types.F32, 1, 65536),
	transform("F1_fft_256x1024", "f1_256x1024", types.F64, 1, 256, 1024),
	transform("F2_fft_512x512", "f2_512x512", types.F64, 2, 512, 512),
	{name: "O1_sort_f32_1M", entry: "o1_f32", args: []input{f32(1 << 20)}},
	{name: "O1_sort_f64_1M", entry: "o1_f64", args: []input{f64(1 << 20)}},
	{name: "O1_sort_i32_1M", entry: "o1_i32", args: []input{ints(types.I32, 1<<24, 1<<20)}},
	{name: "O2_argsort_f32_1M", entry: "o2_f32", args: []input{f32(1 << 20)}},
	{name: "O2_argsort_f64_1M", entry: "o2_f64", args: []input{f64(1 << 20)}},
	{name: "O3_top100_f32_1M", entry: "o3_f32", args: []input{f32(1 << 20)}},
	factors("D1_cholesky_500", "d1", 500*500*500/3.0+2*500*500*500),
	factors("D2_lu_500", "d2", 2*500*500*500/3.0),
	{name: "D3_solve_500", entry: "d3", args: []input{f64(500, 500), f64(500)}, ops: 2 * 500 * 500 * 500 / 3.0,
		kind: measure.F64, rel: 1e-6},
	factors("D4_inverse_500", "d4", 2*500*500*500),
	factors("D5_qr_500", "d5", 8*500*500*500/3.0),
	{name: "A1_mlp_fwd_bwd", entry: "a1", args: []input{f32(256, 784), ints(types.I64, 10, 256), f32(784, 512),
		f32(512), f32(512, 512), f32(512), f32(512, 10), f32(10)},
		ops: 2 * 256 * (2*784*512 + 3*512*512 + 3*512*10), kind: measure.F32, rel: 1e-3},
}

// transform is a Fourier transform of complex numbers along the last axes: 5 real operations for each element and bit
// of an extent, as is usual to count.
func transform(name, entry string, d types.DType, axes int, shape ...int64) row {
	part, kind, rel := f64, measure.F64, 1e-13
	if d == types.F32 {
		part, kind, rel = f32, measure.F32, 1e-5
	}
	n, steps := float64(1), 0.0
	for i, s := range shape {
		n *= float64(s)
		if i >= len(shape)-axes {
			steps += math.Log2(float64(s))
		}
	}
	return row{name: name, entry: entry, args: []input{part(shape...), part(shape...)}, ops: 5 * n * steps, kind: kind,
		rel: rel}
}

// factors is a factorisation of a matrix of 500 rows, or what is made of one. Errors grow with its condition.
func factors(name, entry string, ops float64) row {
	return row{name: name, entry: entry, args: []input{f64(500, 500)}, ops: ops, kind: measure.F64, rel: 1e-6}
}

func matmul(name, entry string, d types.DType, m, k, n int64) row {
	r := row{name: name, entry: entry, ops: 2 * float64(m) * float64(k) * float64(n), rel: 1e-4}
	switch d {
	case types.F32:
		r.kind, r.args = measure.F32, []input{f32(m, k), f32(k, n)}
	case types.F64:
		r.kind, r.args, r.rel = measure.F64, []input{f64(m, k), f64(k, n)}, 1e-12
	case types.BF16: // small integers, because .npy has no bf16
		r.args, r.rel = []input{ints(types.I8, 128, m, k), ints(types.I8, 128, k, n)}, 1e-2
	case types.I8:
		r.args, r.rel = []input{ints(d, 128, m, k), ints(d, 128, k, n)}, 0
	default:
		r.kind, r.args, r.rel = measure.I32, []input{ints(d, 1000, m, k), ints(d, 1000, k, n)}, 0
	}
	return r
}

// make makes the argument.
func (in input) make(seed uint64) (*tensor.Tensor, error) {
	switch {
	case in.shape == nil && in.dtype.IsInt():
		return tensor.FromBits(in.dtype, nil, []uint64{uint64(in.whole)})
	case in.shape == nil:
		return tensor.Scalar(float32(in.value)), nil
	}
	from := in.dtype
	if in.dtype.IsInt() {
		from = types.F32
	}
	t, err := tensor.Rand(from, seed, in.shape...)
	if err != nil {
		return nil, err
	}
	switch in.dtype {
	case types.F32:
		return t, shift(t, float32(in.shift))
	case types.F64:
		return t, shift(t, in.shift)
	}
	defer t.Close()
	u, err := tensor.Slice[float32](t)
	if err != nil {
		return nil, err
	}
	whole := make([]uint64, len(u))
	for i, x := range u {
		whole[i] = uint64(min(int64(math.Floor(float64(x)*float64(in.below))), in.below-1))
	}
	return tensor.FromBits(in.dtype, in.shape, whole)
}

func shift[T float32 | float64](t *tensor.Tensor, by T) error {
	data, err := tensor.Slice[T](t)
	if err != nil {
		return fmt.Errorf("an input of the benchmark: %w", err)
	}
	for i := range data {
		data[i] -= by
	}
	return nil
}
