package matmul

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"healc"
	"healc/codegen"
	"healc/internal/engine"
	"healc/runtime/tensor"
	"healc/tests/devices"
	"healc/tests/ways"
)

// TestSplit: products in blocks of k with a number of blocks around that of a group, and with factors so small that
// each product and each sum of them rounds to -0, which no result is.
func TestSplit(t *testing.T) {
	const src = `fn f[M, K, N](a: T[M, K], b: T[K, N]) -> T[M, N] = matmul(a, b, split = 32)`
	cpus := devices.Targets(t)
	rng := rand.New(rand.NewPCG(7, 32))
	for i, blocks := range []int64{255, 256, 257, 512, 600} {
		for k, more := range []int64{0, 5} {
			for n, elem := range []string{"f32", "f64", "f16"} {
				name := fmt.Sprintf("%d blocks and %d steps of %s", blocks, more, elem)
				args := []*tensor.Tensor{randomTensor(t, rng, dtypes[elem], []int64{3, 32*blocks + more}),
					randomTensor(t, rng, dtypes[elem], []int64{32*blocks + more, 5})}
				compareSplit(t, name, strings.ReplaceAll(src, "T[", elem+"["), cpus[(i+k+n)%len(cpus)], args)
			}
		}
	}
	for _, k := range []int{0, 1, 32, 33, 64, 32*256 + 1} {
		args := []*tensor.Tensor{filled(2, k, -1e-30), filled(k, 3, 1e-30)}
		name := fmt.Sprintf("%d products that round to -0", k)
		got := compareSplit(t, name, strings.ReplaceAll(src, "T[", "f32["), "", args)
		for _, bits := range got {
			if bits != 0 {
				t.Errorf("%d products that round to -0 give the bits %#x, want +0", k, bits)
			}
		}
	}
}

// TestPartsOfRows: a matrix by a vector whose rows are so many that all blocks of some are multiplied before those of
// others, with rows that are no whole panel, with a rest of k, and in a batch.
func TestPartsOfRows(t *testing.T) {
	cpus := devices.Targets(t)
	rng := rand.New(rand.NewPCG(11, 96))
	for i, elem := range []string{"f32", "f64", "f16"} {
		for k, shape := range [][2]int64{{2061, 96}, {2048, 1024}, {2100, 101}} {
			args := []*tensor.Tensor{randomTensor(t, rng, dtypes[elem], shape[:]),
				randomTensor(t, rng, dtypes[elem], []int64{shape[1], 1})}
			src := strings.ReplaceAll(`fn f[M, K, N](a: T[M, K], b: T[K, N]) -> T[M, N] = a @[split=32] b`, "T[", elem+"[")
			compareSplit(t, fmt.Sprintf("%s%v by a vector", elem, shape), src, cpus[(i+k)%len(cpus)], args)
		}
	}
}

// TestLongRows: a matrix by a vector whose rows are so long that each is asked for ahead, alone and in blocks.
func TestLongRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 512))
	for i, op := range []string{"@", "@[split=256]"} {
		for k, elem := range []string{"f32", "f64"} {
			args := []*tensor.Tensor{randomTensor(t, rng, dtypes[elem], []int64{1029, 2560}),
				randomTensor(t, rng, dtypes[elem], []int64{2560, 1})}
			src := strings.ReplaceAll("fn f[M, K, N](a: T[M, K], b: T[K, N]) -> T[M, N] = a "+op+" b", "T[", elem+"[")
			compareSplit(t, op+" of long rows of "+elem, src, []string{"sapphirerapids", "x86-64-v4"}[(i+k)%2], args)
		}
	}
}

// TestSquaresInTurns: a matrix by a vector where two vectors of sums take turns though a square has whole lines. Rows
// share sets of a cache, or not, have an edge of rows and of steps, and begin with a line, or not.
func TestSquaresInTurns(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 2))
	for i, product := range []string{"a @ b", "a @[split=256] b", "a[.., 3..] @ b[3..]", "a[.., 5..30] @ b[5..30]"} {
		for k, shape := range [][]int64{{69, 1024, 1}, {101, 1048, 1}, {35, 2085, 1}, {67, 512, 1}, {39, 2048, 1}} {
			elem := []string{"f32", "f64"}[(i+k)%2]
			args := []*tensor.Tensor{randomTensor(t, rng, dtypes[elem], shape[:2]),
				randomTensor(t, rng, dtypes[elem], shape[1:])}
			src := strings.ReplaceAll("fn f[M, K, N](a: T[M, K], b: T[K, N]) -> T[M, N] = "+product, "T[", elem+"[")
			compareSplit(t, fmt.Sprintf("%s of %s%v", product, elem, shape), src, "znver5", args)
		}
	}
}

// compareSplit compares the interpreter with code for the shape and for any; it closes the arguments.
func compareSplit(t *testing.T, name, src, cpu string, args []*tensor.Tensor) []uint64 {
	t.Helper()
	m, k, n := args[0].Shape[0], args[0].Shape[1], args[1].Shape[1]
	want := call(t, name, src, engine.Options{Backend: heal.Interp, Threads: 1}, args)
	for _, w := range ways.Thorough(drawn(name), 3) {
		for _, o := range w.Options(t, engine.Options{Threads: 2, SplitAll: true,
			Target: codegen.Target{Kind: "cpu", CPU: cpu}}) {
			differ(t, fmt.Sprintf("%s on %q, %s", name, cpu, w), call(t, name, src, o, args), want)
		}
	}
	free := newAnyShape(t, src, cpu, 2)
	defer free.close()
	differ(t, name+" for any shape", free.call(t, name, [3]int64{m, k, n}, args), want)
	for _, a := range args {
		a.Close()
	}
	return want
}

// filled is a matrix of one number.
func filled(rows, cols int, x float32) *tensor.Tensor {
	return tensor.FromSlice(slices.Repeat([]float32{x}, rows*cols), rows, cols)
}

// TestOneBlock: where k is no longer than a block the product is that of `@`, but for zeros, which are +0.
func TestOneBlock(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 64))
	for _, elem := range []string{"f16", "bf16", "f32", "f64"} {
		for _, k := range []int64{1, 31, 64, 200, 256} {
			args := []*tensor.Tensor{randomTensor(t, rng, dtypes[elem], []int64{7, k}),
				randomTensor(t, rng, dtypes[elem], []int64{k, 33})}
			src := strings.ReplaceAll(`fn f[M, K, N](a: T[M, K], b: T[K, N]) -> T[M, N] = a OP b`, "T[", elem+"[")
			interp := engine.Options{Backend: heal.Interp, Threads: 1}
			want := call(t, elem, strings.Replace(src, "OP", "@", 1), interp, args)
			for i, bits := range want {
				if bits == uint64(1)<<(dtypes[elem].Bits()-1) {
					want[i] = 0
				}
			}
			name := fmt.Sprintf("%d steps of %s in a block of 256", k, elem)
			differ(t, name, compareSplit(t, name, strings.Replace(src, "OP", "@[split=256]", 1), "", args), want)
		}
	}
}
