package matmul

import (
	"testing"

	"healc/codegen"
	"healc/internal/engine"
	"healc/runtime"
	"healc/runtime/pool"
	"healc/runtime/tensor"
)

// anyShape is a product compiled once for any shape, with threads to run it.
type anyShape struct {
	cpu     string
	threads int
	exec    *runtime.Executable
	dims    []string
	pool    *pool.Pool
}

func newAnyShape(t *testing.T, src, cpu string, threads int) *anyShape {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatalf("%s: %v", src, err)
		}
	}
	m, err := engine.Compile(src, engine.Options{Threads: 1, Target: codegen.Target{Kind: "cpu", CPU: cpu}})
	must(err)
	defer m.Close()
	km, err := m.Kernels("f", nil, nil)
	must(err)
	art, err := m.Artifact(km)
	must(err)
	x, err := m.Load(art)
	must(err)
	pool, err := pool.New(threads)
	must(err)
	pool.SplitAll()
	return &anyShape{cpu, threads, x, art.Plan.Dims, pool}
}

func (x *anyShape) close() {
	x.exec.Close()
	x.pool.Close()
}

// call runs it on copies of the arguments in row-major order, for which it is made.
func (x *anyShape) call(t *testing.T, name string, size [3]int64, args []*tensor.Tensor) []uint64 {
	t.Helper()
	var whole []*tensor.Tensor
	for _, a := range args {
		c, err := a.Contiguous()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		whole = append(whole, c)
	}
	var dims []int64
	for _, d := range x.dims {
		dims = append(dims, map[string]int64{"B": 3, "M": size[0], "K": size[1], "N": size[2]}[d])
	}
	out, err := x.exec.Call(runtime.Env{Pool: x.pool}, dims, whole...)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	defer out[0].Close()
	return out[0].Bits()
}
