package bufferize_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand"
	"regexp"
	"runtime/debug"
	"testing"

	"healc/ir"
	"healc/ir/interp"
	"healc/ir/kernel"
	"healc/ir/kernel/keval"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/passes"
	"healc/passes/bufferize"
	"healc/passes/fusion"
)

var (
	seed     = flag.Int64("seed", 1, "the first random program")
	programs = flag.Int("programs", 700, "how many random programs")
	length   = flag.Int("length", 14, "the largest random program is longer by 3 operations")
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
		m, args, dims := program(rng, s%3 == 0, 3+rng.Intn(*length))
		if err := ir.Verify(m); err != nil {
			t.Fatalf("seed %d: the generator made a bad module: %v", s, err)
		}
		for _, way := range []way{fused, single, pipeline} {
			var strides [][]int64
			if way == single && dims == nil {
				strides = layouts(rng, args)
			}
			wrong, stopped := compare(m, args, dims, way, strides)
			if wrong != nil {
				t.Fatalf("seed %d, way %d: %v\n%s", s, way, wrong, m)
			}
			if stopped {
				failed++
			}
		}
	}
	t.Logf("%d programs, %d of their runs stopped with an error", n, failed)
}

// payload is the part of a printed NaN that no one specifies.
var payload = regexp.MustCompile(`nan\(0x[0-9a-f]+\)`)

// way is how a program becomes kernels.
type way int

const (
	fused    way = iota // by fusion alone, for any shape
	single              // each operation in a kernel of its own
	pipeline            // by all passes, with literal shapes
)

// compare runs m by the interpreter and by kernels. stopped says that the program failed, as it should.
func compare(m *ir.Module, args []*ir.Array, dims map[string]int64, way way, strides [][]int64) (err error,
	stopped bool) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	var sys, sys2 interp.MemSystem
	want, wantErr := interp.RunDims(m, "f", dims, args, &sys)
	c := m.Clone()
	if way == pipeline {
		if err := passes.Run(c, passes.Standard("f", dims), passes.Options{VerifyEach: true}); err != nil {
			var bind *passes.BindError
			if errors.As(err, &bind) {
				return nil, true // shapes that the caller must not bind
			}
			return err, false
		}
	}
	if way != pipeline {
		if err := passes.Positions(c, func(string, ...any) {}); err != nil {
			return err, false
		}
	}
	if way == fused {
		if err := fusion.Fuse(c, nil); err != nil {
			return err, false
		}
		if err := ir.Verify(c); err != nil {
			return err, false
		}
	}
	k, err := bufferize.Lower(c, "f", bufferize.Options{InputStrides: bufferize.ConstantStrides(strides),
		Teams: way == fused})
	if err != nil {
		return err, false
	}
	if err := kernel.Verify(k); err != nil {
		return err, false
	}
	bound := dims
	if way == pipeline {
		bound = nil
	}
	got, gotErr := keval.Run(k, bound, args, &sys2)
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
	if payload.ReplaceAllString(sys.Out.String(), "nan") != payload.ReplaceAllString(sys2.Out.String(), "nan") {
		return fmt.Errorf("the interpreter prints %q, the kernels %q (%v)\n%s\n%s", sys.Out.String(), sys2.Out.String(),
			wantErr, c, k), false
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
	if want.DType != got.DType || fmt.Sprint(want.Shape) != fmt.Sprint(got.Shape) && len(want.Shape)+
		len(got.Shape) > 0 {
		return fmt.Sprintf("%s %v, not %s %v", got.DType, got.Shape, want.DType, want.Shape)
	}
	for i, x := range want.Bits {
		y := got.Bits[i]
		if x != y && !(isNaN(want.DType, x) && isNaN(want.DType, y)) {
			return fmt.Sprintf("element %d is %s, not %s", i, scalar.FormatBits(got.DType, y),
				scalar.FormatBits(want.DType, x))
		}
	}
	return ""
}

func isNaN(t types.DType, x uint64) bool {
	return t.IsFloat() && scalar.EvalInstr(scalar.Ne, types.Bool, t, x, x) != 0
}
