// Package run runs whole programs on every backend and compares the results bit for bit.
//
// An archive (txtar) starts with a line that says what it proves. `main.heal` is the program. `calls` has
// one call a line, with its arguments and the results that it has to give:
//
//	dot(f32[3] 1 2 3, f32[3] 4 5 6) = f32 32
//	minmax(i32[2] 7 -7) = i32 -7, i32 7
//	f(f32[2] 0 1) ~ 1 f32[2] 1 2.7182817
//	pick(f32[3] 1 2 3, i32 3) ! 2:31: index 3 is out of range
//	main() = i32 0
//
// A tensor is its type and its elements in row-major order; `x*1000` repeats an element, and hexadecimal
// floats say every bit. `~ N` allows N units in the last place, for functions whose exact value only the outside
// world has; everything else is compared bit for bit, any NaN being equal to any NaN. `!` expects a run-time
// error: its position in main.heal, and a part of its message.
//
// The results of a function with `&mut` parameters are followed by what their arguments then hold.
//
// `want/stdout` is what all calls print. `file NAME` is a .npy file that the program can read, and
// `want/file NAME` one that it has written, both as a tensor.
//
// Every call runs on the interpreter, and then has to give the same bits on the CPU with one and two threads, and in
// turns with three and with arguments that are views with odd strides. The expectations were computed by hand or with
// NumPy (expect.py, random_programs.py), never with healc.
package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"healc"
	"healc/internal/cache"
	"healc/internal/engine"
	"healc/ir"
	"healc/lang/diag"
	"healc/runtime"
	"healc/runtime/memory"
	"healc/runtime/tensor"
	"healc/runtime/tensorfile"
	"healc/tests/devices"
	"healc/tests/random"
	"healc/tests/sample"
	"healc/tests/ways"

	"github.com/rogpeppe/go-internal/txtar"
)

// configs are how every program runs, each way to compile it among them. The code of two threads is that of one, from
// the cache; those in turns have code of their own.
var configs = []struct {
	name    string
	backend string
	threads int
	strided bool // the arguments are views with gaps, other orders of axes and offsets
	inTurns bool // a program runs so on every third day
	way     ways.Way
}{
	{"interp", heal.Interp, 1, false, false, ways.Full},
	{"cpu1", heal.CPU, 1, false, false, ways.Full},
	{"cpu2", heal.CPU, 2, false, false, ways.Full},
	{"cpu3", heal.CPU, 3, false, true, ways.Least},
	{"any shape", heal.CPU, 2, false, true, ways.AnyShape},
	{"strided", heal.CPU, 2, true, true, ways.Quick},
	{"device", devices.Backend(), 1, false, false, ways.Full},
	{"device, strided", devices.Backend(), 1, true, false, ways.Quick},
}

func TestPrograms(t *testing.T) {
	paths, err := filepath.Glob("*.txtar")
	if err != nil || len(paths) < 40 {
		t.Fatalf("%d programs: %v", len(paths), err)
	}
	for i, path := range paths {
		t.Run(strings.TrimSuffix(path, ".txtar"), func(t *testing.T) { program(t, path, i) })
	}
}

// program runs one archive in every way: the interpreter against the expectations, all others against the
// interpreter. They share a cache of compiled code, so that the machine code of one is what the next loads.
func program(t *testing.T, path string, number int) {
	p, err := readProgram(path)
	if err != nil {
		t.Fatal(err)
	}
	cache := &cache.Cache{Dir: t.TempDir()}
	var first []outcome
	for i, c := range configs {
		if testing.Short() && c.name != "interp" && c.name != "strided" {
			continue
		}
		if c.inTurns && !testing.Short() && !sample.Has(sample.Day(), number+i, 4) {
			continue
		}
		if c.backend == devices.Backend() && !devices.Takes(number+i+sample.Day(), 10) {
			continue
		}
		opts := engine.Options{Backend: c.backend, Threads: c.threads, SplitAll: true}
		c.way.Set(&opts)
		opts.Cache = cache
		before := memory.LiveBytes()
		got, sys, err := p.run(opts, c.strided)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if n := memory.LiveBytes() - before; n != 0 {
			t.Errorf("%s: %d bytes of tensors were not freed", c.name, n)
		}
		if i == 0 {
			first = got
		}
		for k, call := range p.calls {
			msg := call.check(got[k])
			if i > 0 {
				msg = sameOutcome(first[k], got[k])
			}
			if msg != "" {
				t.Errorf("%s: line %d: %s: %s", c.name, call.line, call.text, msg)
			}
		}
		p.checkSystem(t, c.name, sys)
	}
}

// prog is an archive that was read.
type prog struct {
	source string
	calls  []*call
	stdout string
	files  map[string]*ir.Array
	saved  map[string]*ir.Array
}

func readProgram(path string) (*prog, error) {
	a, err := txtar.ParseFile(path)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(string(a.Comment)) == "" {
		return nil, fmt.Errorf("the first line has to say what the program proves")
	}
	p := &prog{files: map[string]*ir.Array{}, saved: map[string]*ir.Array{}}
	for _, f := range a.Files {
		text := string(f.Data)
		kind, name, _ := strings.Cut(f.Name, " ")
		switch {
		case f.Name == "main.heal":
			p.source = text
		case f.Name == "calls":
			for i, line := range strings.Split(text, "\n") {
				if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
					continue
				}
				c, err := parseCall(line)
				if err != nil {
					return nil, fmt.Errorf("calls, line %d: %v", i+1, err)
				}
				c.line = i + 1
				p.calls = append(p.calls, c)
			}
		case f.Name == "want/stdout":
			p.stdout = text
		case kind == "file" || kind == "want/file":
			arr, err := parseTensor(strings.Join(strings.Fields(text), " "))
			if err != nil {
				return nil, fmt.Errorf("%s: %v", f.Name, err)
			}
			if kind == "file" {
				p.files[name] = arr
			} else {
				p.saved[name] = arr
			}
		default:
			return nil, fmt.Errorf("unknown section %q", f.Name)
		}
	}
	if p.source == "" || len(p.calls) == 0 {
		return nil, fmt.Errorf("main.heal or calls is missing")
	}
	return p, nil
}

// outcome is what a call did.
type outcome struct {
	results []*ir.Array
	failed  *runtime.RuntimeError
}

// run makes all calls. The error is one that no call may have, such as a diagnostic.
func (p *prog) run(opts engine.Options, strided bool) ([]outcome, *memSystem, error) {
	sys := &memSystem{files: p.files, saved: map[string]*ir.Array{}}
	opts.System = sys
	m, err := engine.CompileFile(diag.NewFile("main.heal", p.source), opts)
	if err != nil {
		return nil, nil, err
	}
	defer m.Close()
	var out []outcome
	for _, c := range p.calls {
		o, err := c.run(m, strided)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", c.text, err)
		}
		out = append(out, o)
	}
	return out, sys, nil
}

// run makes one call.
func (c *call) run(m *engine.Module, strided bool) (outcome, error) {
	f, err := m.Func(c.name)
	if err != nil {
		return outcome{}, err
	}
	var args []*tensor.Tensor
	defer func() {
		for _, t := range args {
			t.Close()
		}
	}()
	for i, a := range c.args {
		var t *tensor.Tensor
		if strided {
			t, err = random.Strided(a, uint64(i+c.line))
		} else {
			t, err = tensor.FromBits(a.DType, a.Shape, a.Bits)
		}
		if err != nil {
			return outcome{}, err
		}
		args = append(args, t)
	}
	res, err := f.CallAll(context.Background(), args...)
	var failed *runtime.RuntimeError
	if errors.As(err, &failed) {
		return outcome{failed: failed}, nil
	}
	if err != nil {
		return outcome{}, err
	}
	var o outcome
	for _, t := range res {
		o.results = append(o.results, toArray(t))
		t.Close()
	}
	for _, k := range f.IR().Updates {
		o.results = append(o.results, toArray(args[k]))
	}
	return o, nil
}

func toArray(t *tensor.Tensor) *ir.Array {
	return &ir.Array{DType: t.DType, Shape: append([]int64{}, t.Shape...), Bits: t.Bits()}
}

// memSystem is the outside world in memory.
type memSystem struct {
	out          strings.Builder
	files, saved map[string]*ir.Array
}

func (s *memSystem) Print(text string) error { s.out.WriteString(text); return nil }

func (s *memSystem) LoadNpy(path string) (*tensor.Tensor, error) {
	a := s.saved[path]
	if a == nil {
		a = s.files[path]
	}
	if a == nil {
		return nil, fmt.Errorf("open %s: no such file", path)
	}
	return tensor.FromBits(a.DType, a.Shape, a.Bits)
}

func (s *memSystem) SaveImage(path string, _ tensorfile.Image, t *tensor.Tensor) error {
	return s.SaveNpy(path, t)
}

func (s *memSystem) SaveNpy(path string, t *tensor.Tensor) error {
	s.saved[path] = toArray(t)
	return nil
}

// checkSystem compares what was printed and saved.
func (p *prog) checkSystem(t *testing.T, config string, sys *memSystem) {
	t.Helper()
	if got := sys.out.String(); got != p.stdout {
		t.Errorf("%s printed:\n%s\nwant:\n%s", config, got, p.stdout)
	}
	if len(sys.saved) != len(p.saved) {
		t.Errorf("%s: %d files were saved, want %d", config, len(sys.saved), len(p.saved))
	}
	for name, want := range p.saved {
		got := sys.saved[name]
		if got == nil {
			t.Errorf("%s: %s was not saved", config, name)
		} else if msg := sameArray(want, got, 0); msg != "" {
			t.Errorf("%s: %s: %s", config, name, msg)
		}
	}
}
