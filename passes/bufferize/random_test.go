package bufferize_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand"
	"runtime/debug"
	"testing"

	"healc/ir"
	"healc/ir/interp"
	"healc/ir/kernel"
	"healc/ir/kernel/keval"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/passes/bufferize"
	"healc/passes/fusion"
)

var (
	seed     = flag.Int64("seed", 1, "the first random program")
	programs = flag.Int("programs", 1500, "how many random programs")
)

// TestRandomPrograms compares kernels with the reference interpreter: fused and not, specialised
// and for any shape, from row-major and from other inputs.
func TestRandomPrograms(t *testing.T) {
	n := *programs
	if testing.Short() {
		n /= 5
	}
	failed := 0
	for i := range n {
		s := *seed + int64(i)
		rng := rand.New(rand.NewSource(s))
		m, args, dims := program(rng, s%3 == 0, 3+rng.Intn(14))
		if err := ir.Verify(m); err != nil {
			t.Fatalf("seed %d: the generator made a bad module: %v", s, err)
		}
		for _, fuse := range []bool{true, false} {
			var strides [][]int64
			if !fuse && dims == nil {
				strides = layouts(rng, args)
			}
			wrong, stopped := compare(m, args, dims, fuse, strides)
			if wrong != nil {
				t.Fatalf("seed %d, fuse %v: %v\n%s", s, fuse, wrong, m)
			}
			if stopped {
				failed++
			}
		}
	}
	t.Logf("%d programs, %d of their runs stopped with an error", n, failed)
}

// compare runs m in both ways. stopped says that the program failed, as it should.
func compare(m *ir.Module, args []*ir.Array, dims map[string]int64, fuse bool, strides [][]int64) (err error, stopped bool) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	var sys, sys2 interp.MemSystem
	want, wantErr := interp.RunDims(m, "f", dims, args, &sys)
	c := m.Clone()
	if fuse {
		if err := fusion.Fuse(c, nil); err != nil {
			return err, false
		}
		if err := ir.Verify(c); err != nil {
			return err, false
		}
	}
	k, err := bufferize.Lower(c, "f", bufferize.Options{InputStrides: strides})
	if err != nil {
		return err, false
	}
	if err := kernel.Verify(k); err != nil {
		return err, false
	}
	got, gotErr := keval.Run(k, dims, args, &sys2)
	var failure *keval.Failure
	var rte *interp.RuntimeError
	switch {
	case gotErr != nil && !errors.As(gotErr, &failure):
		return fmt.Errorf("%v\n%s\n%s", gotErr, c, k), false
	case wantErr != nil && !errors.As(wantErr, &rte):
		return fmt.Errorf("the interpreter: %v", wantErr), false
	case rte != nil && rte.Kind == 0 && dims != nil:
		return nil, true // shapes that the caller must not bind
	case (wantErr != nil) != (gotErr != nil):
		return fmt.Errorf("the interpreter says %v, the kernels %v\n%s\n%s", wantErr, gotErr, c, k), false
	}
	if sys.Out.String() != sys2.Out.String() {
		return fmt.Errorf("the interpreter prints %q, the kernels %q (%v)\n%s\n%s", sys.Out.String(), sys2.Out.String(), wantErr, c, k), false
	}
	if wantErr != nil {
		return nil, true
	}
	for i := range want {
		if d := difference(want[i], got[i]); d != "" {
			return fmt.Errorf("result %d: %s\n%s\n%s", i, d, c, k), false
		}
	}
	return nil, false
}

// layouts invents strides: axes in another order, gaps between elements, and backwards.
func layouts(rng *rand.Rand, args []*ir.Array) [][]int64 {
	out := make([][]int64, len(args))
	for i, a := range args {
		if rng.Intn(3) == 0 {
			continue
		}
		out[i] = make([]int64, len(a.Shape))
		stride := int64(1 + rng.Intn(2))
		for _, k := range rng.Perm(len(a.Shape)) {
			out[i][k] = stride
			if rng.Intn(4) == 0 {
				out[i][k] = -stride
			}
			stride *= max(a.Shape[k], 1) + int64(rng.Intn(2))
		}
	}
	return out
}

func difference(want, got *ir.Array) string {
	if want.DType != got.DType || fmt.Sprint(want.Shape) != fmt.Sprint(got.Shape) && len(want.Shape)+len(got.Shape) > 0 {
		return fmt.Sprintf("%s %v, not %s %v", got.DType, got.Shape, want.DType, want.Shape)
	}
	for i, x := range want.Bits {
		y := got.Bits[i]
		if x != y && !(isNaN(want.DType, x) && isNaN(want.DType, y)) {
			return fmt.Sprintf("element %d is %s, not %s", i, scalar.FormatBits(got.DType, y), scalar.FormatBits(want.DType, x))
		}
	}
	return ""
}

func isNaN(t types.DType, x uint64) bool {
	return t.IsFloat() && scalar.EvalInstr(scalar.Ne, types.Bool, t, x, x) != 0
}
