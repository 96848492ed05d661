package matmul

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"healc"
	"healc/codegen"
	"healc/runtime"
)

// TestAnyShape compiles every form once for any shape, and runs it on all sizes.
func TestAnyShape(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	cpus := processors(t)
	n := 0
	for _, f := range chosen(t) {
		elems := common
		if f.of != "" {
			elems = strings.Fields(f.of)
		}
		for _, elem := range elems {
			n++
			if testing.Short() && n%11 != 0 {
				continue
			}
			f.anyShape(t, rng, elem, cpus[n%len(cpus)], 1+n%3)
		}
	}
}

func (f form) anyShape(t *testing.T, rng *rand.Rand, elem, cpu string, threads int) {
	src := strings.ReplaceAll(f.src, "T[", elem+"[")
	m, err := heal.Compile(src, heal.Options{Threads: 1, Target: codegen.Target{Kind: "cpu", CPU: cpu}})
	if err != nil {
		t.Fatalf("%s: %v", f.name, err)
	}
	defer m.Close()
	km, err := m.Kernels("f", nil, nil)
	if err != nil {
		t.Fatalf("%s: %v", f.name, err)
	}
	art, err := m.Artifact(km)
	if err != nil {
		t.Fatalf("%s: %v", f.name, err)
	}
	x, err := runtime.Load(art.Plan, art.Objects...)
	if err != nil {
		t.Fatalf("%s: %v", f.name, err)
	}
	defer x.Close()
	pool, err := runtime.NewPool(threads)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	pool.SplitAll()
	for _, s := range sizes {
		if (elem == "f16" || testing.Short()) && s[0]*s[1]*s[2] > 1<<18 {
			continue // slow in the interpreter
		}
		name := fmt.Sprintf("%s of %s %v for any shape on %q with %d threads", f.name, elem, s, cpu, threads)
		var args []*runtime.Tensor
		for _, shape := range f.args(s[0], s[1], s[2]) {
			y := tensor(t, rng, dtypes[elem], shape)
			c, err := y.Contiguous()
			if err != nil {
				t.Fatal(err)
			}
			y.Close()
			args = append(args, c)
		}
		var dims []int64
		for _, d := range art.Plan.Dims {
			dims = append(dims, map[string]int64{"B": 3, "M": s[0], "K": s[1], "N": s[2]}[d])
		}
		want := call(t, name, src, heal.Options{Backend: heal.Interp, Threads: 1}, args)
		out, err := x.Call(runtime.Env{Pool: pool}, dims, args...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := out[0].Bits()
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: element %d is %#x, want %#x", name, i, got[i], want[i])
				break
			}
		}
		out[0].Close()
		for _, a := range args {
			a.Close()
		}
	}
}
