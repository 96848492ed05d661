package stdlib_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"healc"
	"healc/codegen"
	"healc/internal/engine"
	"healc/ir"
	"healc/lang/types"
	"healc/tests/random"
	"healc/tests/sample"
	"healc/tests/ways"
)

// quantProducts are products by transposed matrices in few bits: what a function makes of x and of the parameters q
// and s, and how many of each are in a row of so many blocks.
var quantProducts = []struct {
	value   string
	q, s    types.DType
	inBlock int64 // elements of q
}{
	{"quant.matmul_q8_0(x, (q, s))", types.I8, types.F16, 32},
	{"quant.matmul_q4_0(x, (q, s))", types.U8, types.F16, 16},
	{"quant.matmul_mxfp4(x, (q, s))", types.U8, types.E8M0, 16},
	{"quant.matmul_mxfp8(x, (q, s))", types.F8E4M3, types.E8M0, 32},
	{"quant.matmul_mxfp8_e5m2(x, (q, s))", types.F8E5M2, types.E8M0, 32},
	{"x @ transpose(q as f32) .* (s as f32)[0, 0]", types.I4, types.F16, 32},
	{"x @ transpose(q as f32) .* (s as f32)[0, 0]", types.F4E2M1, types.E8M0, 32},
	{"x @ transpose(quant.unpack_f4e2m1(q) as f32) .* (s as f32)[0, 0]", types.U8, types.E8M0, 16},
}

// TestQuantProducts: products of one row, of few and of some tiles have the bits that the interpreter gives.
func TestQuantProducts(t *testing.T) {
	cpus := []string{""}
	if runtime.GOARCH == "amd64" {
		cpus = append(cpus, "x86-64-v3", "x86-64")
	}
	day := sample.Today(t)
	shapes := [][3]int64{{1, 37, 4}, {1, 300, 3}, {7, 64, 2}, {40, 129, 5}, {65, 33, 9}, {130, 70, 1}} // M, N, B
	for i, p := range quantProducts {
		for k, shape := range shapes {
			if !sample.Has(day, i+k, 2) {
				continue
			}
			m, n, blocks := shape[0], shape[1], shape[2]
			source := fmt.Sprintf("import quant\n\n"+
				"fn f(x: f32[%d, %d], q: %v[%d, %d], s: %v[%d, %d]) -> f32[%d, %d] = %s\n",
				m, 32*blocks, p.q, n, p.inBlock*blocks, p.s, n, blocks, m, n, p.value)
			r := rand.New(rand.NewPCG(uint64(day), uint64(i*len(shapes)+k)))
			input := []*ir.Array{random.Data(r, types.F32, []int64{m, 32 * blocks}),
				random.Data(r, p.q, []int64{n, p.inBlock * blocks}), random.Data(r, p.s, []int64{n, blocks})}
			run := func(o engine.Options) *random.Outcome {
				t.Helper()
				module, err := engine.Compile(source, o)
				if err != nil {
					t.Fatalf("%v\n%s", err, source)
				}
				defer module.Close()
				out, err := random.Call(module, "f", input, uint64(i))
				if err != nil {
					t.Fatalf("%v\n%s", err, source)
				}
				return out
			}
			want := run(engine.Options{Backend: heal.Interp})
			for _, w := range ways.Drawn(source) {
				o := engine.Options{Threads: 1 + k%2, Target: codegen.Target{CPU: cpus[(i+k+day)%len(cpus)]}}
				if err := w.Run(t, o, func(o engine.Options) error {
					if d := random.Diff(want, run(o)); d != "" {
						return fmt.Errorf("%s on %s: %s", w, o.Target.CPU, d)
					}
					return nil
				}); err != nil {
					t.Errorf("%v\n%s", err, source)
				}
			}
		}
	}
}
