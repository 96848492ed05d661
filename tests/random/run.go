package random

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"testing"

	"healc"
	"healc/codegen"
	"healc/internal/engine"
	"healc/ir"
	"healc/lang/types"
	"healc/runtime"
	"healc/runtime/tensor"
	"healc/tests/devices"
	"healc/tests/ways"
)

// Outcome is what a program did on one backend.
type Outcome struct {
	Results []*ir.Array
	Failed  string // the message of a run-time error, "" when it ran to its end
	At      string // where the error is
}

// Run runs a program on a backend. Inputs have layouts drawn from the seed. The error is a
// failure of the compiler, never of the program.
func Run(p *Program, opts engine.Options) (out *Outcome, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	m, err := engine.CompileIR(p.IR, opts)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	return Call(m, "f", p.Input, p.Seed)
}

// Call calls a function of m. The layouts of the arguments are drawn from the seed. The results are those of
// the function and its updated arguments. The error is a failure of the compiler, never of the program.
func Call(m *engine.Module, name string, input []*ir.Array, seed uint64) (*Outcome, error) {
	f, err := m.Func(name)
	if err != nil {
		return nil, err
	}
	var args []*tensor.Tensor
	defer func() {
		for _, t := range args {
			t.Close()
		}
	}()
	for i, a := range input {
		t, err := Strided(a, seed+uint64(i))
		if err != nil {
			return nil, err
		}
		args = append(args, t)
	}
	res, err := f.CallAll(context.Background(), args...)
	var updated []*tensor.Tensor
	for _, k := range f.IR().Updates {
		updated = append(updated, args[k])
	}
	return OutcomeOf(res, updated, err)
}

// OutcomeOf is what a call did that gave res, which it closes, and err, and changed the updated arguments.
func OutcomeOf(res, updated []*tensor.Tensor, err error) (*Outcome, error) {
	var failed *runtime.RuntimeError
	if errors.As(err, &failed) {
		return &Outcome{Failed: failed.Message, At: failed.Site.Locate("")}, nil
	}
	if err != nil {
		return nil, err
	}
	out := &Outcome{}
	add := func(t *tensor.Tensor) {
		out.Results = append(out.Results, &ir.Array{DType: t.DType, Shape: t.Shape, Bits: t.Bits()})
	}
	for _, t := range res {
		add(t)
		t.Close()
	}
	for _, t := range updated {
		add(t)
	}
	return out, nil
}

// Diff says how two outcomes differ, "" when they are the same bits; any NaN equals any NaN. When more
// than one operation fails, which of them is reported is not fixed, so messages are not compared.
func Diff(want, got *Outcome) string {
	if (want.Failed == "") != (got.Failed == "") {
		return fmt.Sprintf("failure %q against %q", want.Failed, got.Failed)
	}
	if want.Failed != "" {
		return ""
	}
	if len(want.Results) != len(got.Results) {
		return fmt.Sprintf("%d results against %d", len(want.Results), len(got.Results))
	}
	for i, a := range want.Results {
		b := got.Results[i]
		if !types.Equal(a.Type(), b.Type()) {
			return fmt.Sprintf("result %d is %s against %s", i, a.Type(), b.Type())
		}
		for k := range a.Bits {
			if a.Bits[k] != b.Bits[k] && !(isNaN(a.DType, a.Bits[k]) && isNaN(b.DType, b.Bits[k])) {
				return fmt.Sprintf("result %d (%s), element %d: %#x against %#x", i, a.Type(), k, a.Bits[k], b.Bits[k])
			}
		}
	}
	return ""
}

// OneNaN is the elements of an array with one NaN for all: which of them a result is, is not specified.
func OneNaN(a *ir.Array) []uint64 {
	out := slices.Clone(a.Bits)
	for i, b := range out {
		if isNaN(a.DType, b) {
			out[i] = math.MaxUint64
		}
	}
	return out
}

func isNaN(d types.DType, b uint64) bool {
	switch d {
	case types.F64:
		return math.IsNaN(math.Float64frombits(b))
	case types.F32:
		return b&0x7fffffff > 0x7f800000
	case types.F16:
		return b&0x7fff > 0x7c00
	case types.BF16:
		return b&0x7fff > 0x7f80
	}
	return false
}

// Stopped is what Check says of a program that stops with a run-time error on both backends.
const Stopped = "both stopped"

// Check runs p on the interpreter, on a CPU, "" for this machine's, and some programs on a device, and says how they
// differ; "" when they agree.
func Check(t testing.TB, p *Program, threads int, cpu string) string {
	want, err := Run(p, engine.Options{Backend: heal.Interp})
	if err != nil {
		return "interpreter: " + err.Error()
	}
	// threads and processors go by the seed's remainders, and all of them have to meet
	turn := rand.New(rand.NewPCG(p.Seed, 2)).IntN(len(ways.All))
	for _, w := range ways.Each(turn) {
		opts := engine.Options{Backend: heal.CPU, Threads: threads, SplitAll: true, Target: codegen.Target{CPU: cpu}}
		if err := w.Run(t, opts, func(opts engine.Options) error {
			got, err := Run(p, opts)
			if err != nil {
				return err
			}
			if d := Diff(want, got); d != "" {
				return errors.New("interpreter and cpu differ: " + d)
			}
			return nil
		}); err != nil {
			return "cpu: " + err.Error()
		}
	}
	if devices.Takes(int(p.Seed), 16) {
		if msg := checkDevice(p, want); msg != "" {
			return msg
		}
	}
	if want.Failed != "" {
		return Stopped
	}
	return ""
}

// checkDevice runs p on a device, and says how it differs from what is wanted.
func checkDevice(p *Program, want *Outcome) string {
	backend := devices.Backend()
	got, err := Run(p, engine.Options{Backend: backend})
	if err != nil {
		return backend + ": " + err.Error()
	}
	if d := Diff(want, got); d != "" {
		return "interpreter and " + backend + " differ: " + d
	}
	return ""
}
