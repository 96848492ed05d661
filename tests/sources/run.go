package sources

import (
	"fmt"
	"runtime/debug"
	"strings"

	heal "healc"
	"healc/codegen"
	"healc/internal/cache"
	"healc/internal/engine"
	"healc/ir"
	"healc/tests/random"
	"healc/tests/ways"
)

// Way is one way to run a program.
type Way struct {
	Backend string
	CPU     string // "" is this machine's
	Threads int
	Way     ways.Way // how it is compiled
}

// String names a way, for messages.
func (w Way) String() string {
	s := w.Backend
	for _, part := range []struct {
		on   bool
		text string
	}{
		{w.CPU != "", w.CPU}, {w.Threads > 0, fmt.Sprintf("%d threads", w.Threads)},
		{w.Way.Name != "", w.Way.Name},
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
	opts := engine.Options{Backend: w.Backend, Threads: w.Threads, SplitAll: w.Backend == heal.CPU}
	if w.Backend == heal.CPU {
		opts.Target = codegen.Target{CPU: w.CPU}
	}
	opts.Cache = &cache.Cache{Dir: dir}
	w.Way.Set(&opts)
	if w.Way.Cached {
		if _, err := call(p, opts, input); err != nil { // and again, from the cache
			return nil, err
		}
	}
	return call(p, opts, input)
}

func call(p *Program, opts engine.Options, input []*ir.Array) (*random.Outcome, error) {
	m, err := engine.Compile(p.Text(), opts)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	return random.Call(m, "f", input, p.Seed)
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
func Check(p *Program, how []Way, dir string) (msg string, which []Way, want *random.Outcome) {
	want, err := Run(p, Interp, dir)
	if err != nil {
		return "interpreter: " + first(err), nil, nil
	}
	for _, w := range how {
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
