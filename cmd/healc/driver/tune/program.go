package tune

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	heal "healc"
	"healc/cmd/healc/driver"
	"healc/cmd/healc/measure"
	"healc/codegen/llvm"
	"healc/codegen/target/profile"
	"healc/codegen/target/tuned"
	"healc/internal/engine"
	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/kernel/transform"
	"healc/lang/types"
	"healc/runtime"
	"healc/runtime/abi"
	"healc/runtime/pool"
	"healc/runtime/tensor"
)

// Program is a measurement of the kernels of a program: `healc tune FILE`.
//
// For each kernel the numbers of its profile are tried that make other code of it. What is timed is a call of the whole
// function, so that a kernel finds the caches as it does there. A schedule is taken that is faster three times, each by
// more than the scatter of its times.
type Program struct {
	Job      *driver.Job      // the file, the entry, which is each that `healc compile` takes when it is "", and inputs
	Shape    map[string]int64 // values of shape parameters, for inputs that are not given, which are random then
	Budget   time.Duration    // for all of it
	File     *tuned.File      // what was measured before; nil for nothing
	Progress func(what string, done float64)
}

// ProgramReport is what was found.
type ProgramReport struct {
	File      *tuned.File // with the new entries, and those others that were there
	Functions []Measured
}

// Measured is a function and its kernels.
type Measured struct {
	Shown   string
	Kernels []MeasuredKernel
}

// MeasuredKernel is what was found for a kernel.
type MeasuredKernel struct {
	Entry tuned.Entry
	Gain  float64 // time with the profile as it is over time with the entry's numbers, in their last race
	Other int     // schedules that make other code
	Left  Left    // why nothing was tried
}

// Left is why a kernel is left as it was.
type Left uint8

// The reasons. In each of them an entry that the kernel has stays.
const (
	NotLeft Left = iota
	Minor        // it takes too little of the function's time
	Again        // another kernel has the same key, and was measured
	Late         // there was no time left
)

// minor is the share of a function's time below which nothing that a kernel gains can be seen.
const minor = 0.02

// Run measures. Errors are those of Job.Run, and of libLLVM.
func (p *Program) Run(ctx context.Context) (*ProgramReport, error) {
	end := time.Now().Add(p.Budget)
	threads, err := pool.DefaultThreads()
	if err != nil {
		return nil, &driver.UsageError{Message: err.Error()}
	}
	host := measure.ThisHost()
	report := &ProgramReport{File: p.File.Clone()}
	measured := fmt.Sprintf("%s, healc %s, %s, %s, %s, load average %s", host.Time, heal.Version, host.CPU,
		driver.Count(host.Cores, "core"), driver.Count(threads, "thread"), host.Load)
	entries, err := p.entries()
	if err != nil {
		return nil, err
	}
	done := map[tuned.Key]bool{}
	for i, entry := range entries {
		t := &trial{p: p, ctx: ctx, threads: threads, file: report.File, job: *p.Job, measured: done,
			from: float64(i) / float64(len(entries)), part: 1 / float64(len(entries))}
		t.job.Entry = entry
		left := time.Until(end) / time.Duration(len(entries)-i)
		found, err := t.run(left, measured)
		t.close()
		if err != nil {
			return nil, err
		}
		report.Functions = append(report.Functions, *found)
		if p.Progress != nil {
			p.Progress(entry, float64(i+1)/float64(len(entries)))
		}
	}
	return report, nil
}

// entries are the functions to measure.
func (p *Program) entries() ([]string, error) {
	if p.Job.Entry != "" {
		return []string{p.Job.Entry}, nil
	}
	e := &driver.Emit{File: p.Job.File, Opts: p.Job.Opts, Shape: p.Shape, Loaded: p.Job.Loaded}
	if err := e.Load(); err != nil {
		return nil, err
	}
	defer e.Module().Close()
	names, err := driver.Entries(e.Module().Program(), "")
	if err != nil {
		return nil, err
	}
	return names, e.CheckShape(names)
}

// trial is one function that is tried with several schedules of its kernels.
type trial struct {
	p       *Program
	ctx     context.Context
	threads int
	job     driver.Job
	file    *tuned.File // what holds so far

	measured map[tuned.Key]bool // by this Program

	from, part float64 // of the progress: where the function, or the kernel, begins and how much it is

	args, saved []*tensor.Tensor // saved: of arguments that the function changes, what they were, else nil
	memo        llvm.Memo        // most kernels are the same in all that is compiled
	random      bool             // not all arguments are given
}

func (t *trial) close() {
	driver.CloseAll(t.args)
	for _, x := range t.saved {
		if x != nil {
			x.Close()
		}
	}
}

// candidate is the function as it is compiled with a tune file.
type candidate struct {
	m       *engine.Module
	f       *engine.Func
	results []*tensor.Tensor
	time    func(n int) (time.Duration, error)
}

func (c *candidate) close() {
	driver.CloseAll(c.results)
	if c.m != nil {
		c.m.Close()
	}
}

// compile makes code of the function with a file, and calls it once.
func (t *trial) compile(file *tuned.File) (_ *candidate, err error) {
	j := t.job
	j.Opts.Threads, j.Opts.Tuned, j.Opts.Entry = t.threads, file, j.Instance()
	j.Opts.System = driver.System{Dir: j.Dir, OS: runtime.OS{Out: io.Discard}}
	j.Opts.Debug.Memo = &t.memo
	c := &candidate{}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	if c.m, err = engine.CompileFile(j.File, j.Opts); err != nil {
		return nil, err
	}
	if c.f, _, err = j.Function(c.m); err != nil {
		return nil, err
	}
	if t.args == nil {
		if err := t.arguments(&j, c); err != nil {
			return nil, err
		}
	}
	if err := t.restore(); err != nil {
		return nil, err
	}
	if c.results, err = c.f.CallAll(t.ctx, t.args...); err != nil {
		var failed *runtime.RuntimeError
		if errors.As(err, &failed) && t.random {
			return nil, &driver.UsageError{Message: "the function fails with random inputs: " + failed.Error(),
				Notes: []string{"signature: " + c.f.Signature()}, Help: "give those that it needs by --in NAME=VALUE"}
		}
		return nil, driver.BadArguments(err, c.f, t.args)
	}
	c.time = t.timer(c)
	return c, nil
}

// arguments makes the arguments of the function: those that are given, and random ones.
func (t *trial) arguments(j *driver.Job, c *candidate) error {
	for _, r := range c.f.IR().Results {
		if r.Elem == types.String {
			return driver.Unsupported("measuring a function that returns text",
				"measure the function that computes what the text shows")
		}
	}
	for k, x := range c.f.IR().Params() {
		if j.Given(x.Name) {
			continue
		}
		input, ok := random(x, t.p.Shape, k)
		if !ok {
			e := driver.Usagef("the input `%s` is not given, and its extents are not known", x.Name)
			e.Notes = []string{"signature: " + c.f.Signature()}
			e.Help = "give it as --in " + x.Name + "=VALUE, or the extents of a random one as --shape NAME=EXTENT"
			return e
		}
		j.Inputs, t.random = append(slices.Clone(j.Inputs), input), true
	}
	args, err := j.Arguments(c.m, c.f)
	t.args = args
	if err != nil {
		return err
	}
	t.saved = make([]*tensor.Tensor, len(args))
	for _, k := range c.f.IR().Updates {
		if t.saved[k], err = args[k].Clone(); err != nil {
			return err
		}
	}
	return nil
}

// restore puts back what calls have changed.
func (t *trial) restore() error {
	for i, x := range t.saved {
		if x == nil {
			continue
		}
		if err := x.CopyTo(t.args[i]); err != nil {
			return err
		}
	}
	return nil
}

// timer is the time of calls, on one thread that of the processor. What the function changes is put back before each,
// outside of the time.
func (t *trial) timer(c *candidate) func(n int) (time.Duration, error) {
	repeat := measure.Repeat
	if t.threads == 1 {
		repeat = measure.RepeatSpent
	}
	once := repeat(func() error { return c.f.CallInto(t.ctx, c.results, t.args...) })
	if len(c.f.IR().Updates) == 0 {
		return once
	}
	return func(n int) (sum time.Duration, err error) {
		for range n {
			if err := t.restore(); err != nil {
				return 0, err
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

// run finds schedules for the kernels of the function.
func (t *trial) run(budget time.Duration, measured string) (*Measured, error) {
	first, err := t.compile(t.file)
	if err != nil {
		return nil, err
	}
	defer first.close()
	end := time.Now().Add(budget)
	shapes, strides := make([][]int64, len(t.args)), make([][]int64, len(t.args))
	for i, x := range t.args {
		shapes[i], strides[i] = x.Shape, x.Strides
	}
	bind, err := first.f.BindDims(shapes)
	if err != nil {
		return nil, err
	}
	km, err := first.m.Kernels(first.f.IR().Name, bind, strides)
	if err != nil {
		return nil, err
	}
	km = transform.Share(km)
	out := &Measured{Shown: t.shown(first.f, bind)}
	shares := sharesOf(km)
	order := slices.Clone(km.Kernels)
	slices.SortStableFunc(order, func(a, b *kernel.Kernel) int {
		return int(1e9 * (shares[b.Name] - shares[a.Name]))
	})
	left := 1.0 // the shares of the kernels that are not measured yet
	from, part := t.from, t.part
	for _, k := range order {
		t.from, t.part = from+part*(1-left), part*shares[k.Name]
		x := MeasuredKernel{Gain: 1, Entry: tuned.Entry{Key: tuned.KeyOf(k, tuned.ProcessorOf(t.job.Opts.Target)),
			Name: k.Name, Measured: measured}}
		slice := time.Duration(float64(time.Until(end)) * min(shares[k.Name]/max(left, minor), 1))
		left -= shares[k.Name]
		switch {
		case t.measured[x.Entry.Key]:
			x.Left = Again
		case shares[k.Name] < minor:
			x.Left = Minor
		case slice <= 0:
			x.Left = Late
		default:
			if err := t.kernel(km, k, &x, slice); err != nil {
				return nil, err
			}
			t.measured[x.Entry.Key] = true
		}
		if before := t.file.Find(x.Entry.Key); x.Left != NotLeft && before != nil {
			x.Entry = *before
		}
		t.file.Put(x.Entry)
		out.Kernels = append(out.Kernels, x)
	}
	return out, nil
}

// shown is the function and the values of its shape parameters, for people.
func (t *trial) shown(f *engine.Func, bind map[string]int64) string {
	text := f.Signature()
	for i, name := range slices.Sorted(maps.Keys(bind)) {
		sep := ", "
		if i == 0 {
			sep = " for "
		}
		text += fmt.Sprintf("%s%s = %d", sep, name, bind[name])
	}
	return text
}

// progress tells how far the kernel is.
func (t *trial) progress(what string, done float64) {
	if t.p.Progress != nil {
		t.p.Progress(what, t.from+t.part*done)
	}
}

// sharesOf is which part of the time of a plan its kernels take, by the estimates of the plan. Where these do not say
// how often one runs, as in a loop, it counts loopSteps times.
func sharesOf(km *kernel.Module) map[string]float64 {
	times, all := map[string]float64{}, 0.0
	var walk func(steps []abi.Step, often float64)
	walk = func(steps []abi.Step, often float64) {
		for i := range steps {
			s := &steps[i]
			if s.Loop != nil {
				walk(s.Loop.Body, often*loopSteps)
			}
			if s.If != nil {
				walk(s.If.Then, often)
				walk(s.If.Else, often)
			}
			if l := s.Launch; l != nil {
				n, known := l.Outer.Dim.Const()
				if !known {
					n = loopSteps
				}
				threads := &profile.Host().Profile.Threads
				each := max(float64(l.Work)*float64(threads.OpTime), float64(l.Bytes)*float64(threads.ByteTime), 1)
				t := often * float64(n) / float64(max(l.Outer.Div, 1)) * each
				times[l.Kernel] += t
				all += t
			}
		}
	}
	for i, f := range km.Plan.Funcs {
		often := 1.0
		if i > 0 {
			often = loopSteps
		}
		walk(f.Steps, often)
	}
	for name := range times {
		times[name] /= all
	}
	return times
}

// loopSteps is how many steps a loop is taken for.
const loopSteps = 100

// random is an input for a parameter that is not given; there is none where its extents are not known.
func random(p *ir.Value, shape map[string]int64, seed int) (input string, ok bool) {
	extents := make([]string, len(p.Type.Shape))
	for i, d := range p.Type.Shape {
		n, err := d.Eval(shape)
		if err != nil {
			return "", false
		}
		extents[i] = strconv.FormatInt(n, 10)
	}
	of := p.Type.Elem.String()
	if len(extents) > 0 {
		of += "[" + strings.Join(extents, ",") + "]"
	}
	switch {
	case p.Type.Elem == types.String:
		return "", false
	case p.Type.Elem.IsFloat():
		return fmt.Sprintf("%s=%s:rand(%d)", p.Name, of, seed), true
	case p.Type.Elem == types.Bool, len(extents) == 0: // no divisor is zero
		return fmt.Sprintf("%s=%s:ones", p.Name, of), true
	}
	return fmt.Sprintf("%s=%s:iota", p.Name, of), true
}
