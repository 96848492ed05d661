package sources

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	heal "healc"
	"healc/codegen"
	"healc/internal/cache"
	"healc/internal/engine"
	"healc/internal/pipeline"
	"healc/ir"
	"healc/runtime"
	"healc/runtime/pool"
	"healc/runtime/tensor"
	"healc/tests/random"
)

// Way is one way to run a program.
type Way struct {
	Backend  string
	CPU      string // "" is this machine's
	Threads  int
	Once     bool // for one call
	Vectors  bool // vector code where a call would get none
	Cached   bool // with what is compiled kept on disk, and run from there
	AnyShape bool // compiled for any shape, as libraries are
}

// String names a way, for messages.
func (w Way) String() string {
	s := w.Backend
	for _, part := range []struct {
		on   bool
		text string
	}{
		{w.CPU != "", w.CPU}, {w.Threads > 0, fmt.Sprintf("%d threads", w.Threads)}, {w.Once, "for one call"},
		{w.Vectors, "in vectors"}, {w.Cached, "from the cache"}, {w.AnyShape, "for any shape"},
	} {
		if part.on {
			s += ", " + part.text
		}
	}
	return s
}

// Interp is the way that is right.
var Interp = Way{Backend: heal.Interp}

// Run runs a program. The error is a failure of the compiler, never of the program. dir is a folder for a cache.
func Run(p *Program, w Way, dir string) (out *random.Outcome, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	input, err := p.Input()
	if err != nil {
		return nil, err
	}
	opts := engine.Options{Backend: w.Backend, Threads: w.Threads, Once: w.Once, SplitAll: w.Backend == heal.CPU,
		Debug: pipeline.Debug{Vectors: w.Vectors}}
	if w.Backend == heal.CPU {
		opts.Target = codegen.Target{CPU: w.CPU}
	}
	if w.Cached {
		opts.Cache = &cache.Cache{Dir: dir}
		if _, err := call(p, w, opts, input); err != nil { // and again, from the cache
			return nil, err
		}
	}
	return call(p, w, opts, input)
}

func call(p *Program, w Way, opts engine.Options, input []*ir.Array) (*random.Outcome, error) {
	m, err := engine.Compile(p.Text(), opts)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	if w.AnyShape {
		return anyShape(p, m, w, input)
	}
	return random.Call(m, "f", input, p.Seed)
}

// anyShape runs what is compiled without knowing the shape parameters.
func anyShape(p *Program, m *engine.Module, w Way, input []*ir.Array) (*random.Outcome, error) {
	art, err := m.Build("f", nil, nil)
	if err != nil {
		return stopped(err)
	}
	x, err := m.Load(art)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	var dims []int64
	for _, name := range art.Plan.Dims {
		dims = append(dims, p.Bind[name])
	}
	var args []*tensor.Tensor
	defer func() {
		for _, t := range args {
			t.Close()
		}
	}()
	for _, a := range input {
		t, err := tensor.FromBits(a.DType, a.Shape, a.Bits)
		if err != nil {
			return nil, err
		}
		args = append(args, t)
	}
	threads, err := pool.New(max(w.Threads, 1))
	if err != nil {
		return nil, err
	}
	defer threads.Close()
	threads.SplitAll()
	res, err := x.Call(runtime.Env{Ctx: context.Background(), Pool: threads}, dims, args...)
	return random.OutcomeOf(res, nil, err)
}

// stopped is the outcome of a program that stops while it is compiled for its shape.
func stopped(err error) (*random.Outcome, error) {
	var failed *runtime.RuntimeError
	if errors.As(err, &failed) {
		return random.OutcomeOf(nil, nil, err)
	}
	return nil, err
}

// Diff says how two outcomes differ, "" when they are the same: bits, or the error with its place. A NaN equals any
// NaN.
func Diff(want, got *random.Outcome) string {
	if d := random.Diff(want, got); d != "" {
		return d
	}
	if want.Failed != got.Failed || want.At != got.At {
		return fmt.Sprintf("failure %q at %s against %q at %s", want.Failed, want.At, got.Failed, got.At)
	}
	return ""
}

// Check runs p in some ways, and says how the first that differs from the interpreter does; "" when none does. The
// outcome is the interpreter's.
func Check(p *Program, ways []Way, dir string) (msg string, which []Way, want *random.Outcome) {
	want, err := Run(p, Interp, dir)
	if err != nil {
		return "interpreter: " + first(err), nil, nil
	}
	for _, w := range ways {
		got, err := Run(p, w, dir)
		if err != nil {
			return w.String() + ": " + first(err), []Way{w}, want
		}
		if d := Diff(want, got); d != "" {
			return "the interpreter and " + w.String() + " differ: " + d, []Way{w}, want
		}
	}
	return "", nil, want
}

// first cuts a long message, such as one with a dump of a module.
func first(err error) string {
	s := err.Error()
	if len(s) > 1500 {
		s = s[:1500] + " ..."
	}
	return strings.TrimSpace(s)
}
