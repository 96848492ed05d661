// Package bench measures a function of a program beside what the machine could do at best. It is `healc bench`; how
// time is taken is in cmd/healc/measure.
package bench

import (
	"context"
	"io"
	"strings"
	"time"

	heal "healc"
	"healc/cmd/healc/driver"
	"healc/cmd/healc/driver/explain"
	"healc/cmd/healc/measure"
	"healc/internal/engine"
	"healc/lang/types"
	"healc/runtime"
	"healc/runtime/pool"
	"healc/runtime/tensor"
)

// Bench measures one function of a program.
type Bench struct {
	Job      *driver.Job   // the file, the entry, which is main when it is "", and its inputs; output is dropped
	Threads  []int         // each number is measured; none means 1 and the default
	Budget   time.Duration // for each number of threads
	Progress func(done float64)
}

// Report is what `healc bench --json` writes.
type Report struct {
	Healc   string            `json:"healc"`
	Host    measure.Host      `json:"host"`
	Limits  []measure.Figures `json:"limits"`
	Results []Result          `json:"results"`
}

// Result is one function, on one number of threads.
type Result struct {
	Function string  `json:"function"` // with its arguments
	Threads  int     `json:"threads"`
	Bytes    float64 `json:"bytes"`      // of the arguments and the results, which cannot be avoided
	Ops      float64 `json:"operations"` // scalar ones, 0 when their number depends on the run
	// the median time of moving the bytes, or of doing the operations, the longer one
	Limit float64 `json:"limit_s"`
	Bound string  `json:"bound"` // which: memory or arithmetic

	Times measure.Samples `json:"times_s"`
}

// Run measures. Errors are those of Job.Run, and of libLLVM.
func (b *Bench) Run(ctx context.Context) (*Report, error) {
	threads := b.Threads
	if len(threads) == 0 {
		n, err := pool.DefaultThreads()
		if err != nil {
			return nil, &driver.UsageError{Message: err.Error()}
		}
		if threads = []int{1}; n > 1 {
			threads = append(threads, n)
		}
	}
	machine, err := measure.NewMachine()
	if err != nil {
		return nil, err
	}
	defer machine.Close()
	report := &Report{Healc: heal.Version, Host: measure.ThisHost()}
	var race []measure.Contender
	for _, n := range threads {
		p, err := b.prepare(ctx, n)
		if err != nil {
			return nil, err
		}
		defer p.close()
		r := Result{Function: p.shown, Threads: n, Bytes: p.reads + p.writes, Ops: p.ops}
		report.Results = append(report.Results, r)
		race = append(race, measure.Contender{Threads: n, Time: p.time(ctx)})
		limits, err := p.limits(machine, n)
		if err != nil {
			return nil, err
		}
		for _, f := range limits {
			race = append(race, measure.Contender{Threads: n, Time: measure.Repeat(f)})
		}
	}
	times, err := measure.Race(ctx, race, measure.Plan{Budget: b.Budget / limitKinds, Progress: b.Progress})
	if err != nil {
		return nil, err
	}
	for i := range report.Results {
		r, t := &report.Results[i], times[limitKinds*i:]
		r.Times = t[0]
		r.Limit, r.Bound = min(t[1].Median(), t[2].Median()), "memory"
		if c := t[3].Median(); r.Ops > 0 && c > r.Limit {
			r.Limit, r.Bound = c, "arithmetic"
		}
	}
	report.Limits, err = machine.Figures(ctx, threads, min(b.Budget, 100*time.Millisecond))
	return report, err
}

// limitKinds is how many contenders there are for each number of threads: the function, and three limits.
const limitKinds = 4

// benchmark is a function with its arguments, compiled for a number of threads.
type benchmark struct {
	m       *engine.Module
	f       *engine.Func
	shown   string
	args    []*tensor.Tensor
	saved   []*tensor.Tensor // of arguments that the function changes: what they were, else nil
	results []*tensor.Tensor

	reads, writes, ops float64
	kind               measure.Arithmetic
}

// prepare compiles the function and runs it once.
func (b *Bench) prepare(ctx context.Context, threads int) (_ *benchmark, err error) {
	j := *b.Job
	j.Out = io.Discard
	j.Opts.Threads = threads
	j.Opts.Entry = j.Instance()
	j.Opts.System = driver.System{Dir: j.Dir, OS: runtime.OS{Out: io.Discard}}
	p := &benchmark{}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if p.m, err = engine.CompileFile(j.File, j.Opts); err != nil {
		return nil, err
	}
	if j.Loaded != nil {
		j.Loaded(p.m)
	}
	entry := ""
	if p.f, entry, err = j.Function(p.m); err != nil {
		return nil, err
	}
	for _, t := range p.f.IR().Results {
		if t.Elem == types.String {
			return nil, driver.Unsupported("measuring a function that returns text",
				"measure the function that computes what the text shows")
		}
	}
	if p.args, err = j.Arguments(p.m, p.f); err != nil {
		return nil, err
	}
	p.saved = make([]*tensor.Tensor, len(p.args))
	for _, k := range p.f.IR().Updates {
		if p.saved[k], err = p.args[k].Clone(); err != nil {
			return nil, err
		}
		p.writes += float64(p.args[k].Bytes())
	}
	if p.results, err = p.f.CallAll(ctx, p.args...); err != nil {
		return nil, driver.BadArguments(err, p.f, p.args)
	}
	for _, t := range p.args {
		p.reads += float64(t.Bytes())
	}
	for _, t := range p.results {
		p.writes += float64(t.Bytes())
	}
	p.shown = entry + "(" + p.arguments() + ")"
	return p, p.count()
}

// arguments are the names and types of the arguments, with their extents.
func (p *benchmark) arguments() string {
	parts := make([]string, len(p.args))
	for i, t := range p.args {
		parts[i] = p.f.IR().Params()[i].Name + ": " + types.Of(t.DType, t.Shape...).String()
	}
	return strings.Join(parts, ", ")
}

// count finds the operations of the function for these shapes: 0 when loops or branches decide about them.
func (p *benchmark) count() error {
	shapes, strides := make([][]int64, len(p.args)), make([][]int64, len(p.args))
	for i, t := range p.args {
		shapes[i], strides[i] = t.Shape, t.Strides
	}
	bind, err := p.f.BindDims(shapes)
	if err != nil {
		return err
	}
	km, err := p.m.Kernels(p.f.IR().Name, bind, strides)
	if err != nil {
		return err
	}
	p.kind = measure.F32
	for _, t := range p.results {
		switch {
		case t.DType == types.F64:
			p.kind = measure.F64
		case t.DType.IsInt():
			p.kind = measure.I32
		}
	}
	if ops, known := explain.Operations(km); known {
		p.ops = ops
	}
	return nil
}

// time returns what a Contender needs. What the function changes is put back before each run, outside of the time.
func (p *benchmark) time(ctx context.Context) func(n int) (time.Duration, error) {
	run := func() error { return p.f.CallInto(ctx, p.results, p.args...) }
	if len(p.f.IR().Updates) == 0 {
		return measure.Repeat(run)
	}
	once := measure.Repeat(run)
	return func(n int) (sum time.Duration, err error) {
		for range n {
			for i, t := range p.saved {
				if t != nil {
					if err := t.CopyTo(p.args[i]); err != nil {
						return 0, err
					}
				}
			}
			d, err := once(1)
			if err != nil {
				return 0, err
			}
			sum += d
		}
		return sum, nil
	}
}

// limits are the ways to do what cannot be avoided: moving the bytes in two ways, and the operations.
func (p *benchmark) limits(m *measure.Machine, threads int) ([]func() error, error) {
	plain, stream, err := m.Move(int64(p.reads), int64(p.writes), threads)
	if err != nil {
		return nil, err
	}
	compute, err := m.Compute(p.kind, p.ops, threads)
	return []func() error{plain, stream, compute}, err
}

func (p *benchmark) close() {
	driver.CloseAll(p.args)
	for _, t := range p.saved {
		if t != nil {
			t.Close()
		}
	}
	driver.CloseAll(p.results)
	if p.m != nil {
		p.m.Close()
	}
}
