// Package tune measures which numbers of a profile suit this machine. It is `healc tune`.
//
// A profile never changes a result, so any number may be tried. Each experiment compiles some functions with each value
// of a number, and lets them run in turns with the code of the value in force. One that is faster by more than chance
// is tried once more beside it, since the best of several looks better than it is.
package tune

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	heal "healc"
	"healc/cmd/healc/measure"
	"healc/codegen/llvm"
	"healc/codegen/target"
	"healc/codegen/target/profile"
	"healc/internal/engine"
	"healc/internal/pipeline"
	"healc/lang/diag"
	"healc/lang/types"
	"healc/runtime"
	"healc/runtime/pool"
	"healc/runtime/tensor"
)

//go:embed workloads.heal
var workloads string

// Tuning is one measurement of this machine.
type Tuning struct {
	Budget   time.Duration                   // for all of it
	Progress func(what string, done float64) // nil for none
}

// Report is what was measured and what it decided.
type Report struct {
	Healc    string
	Host     measure.Host
	Like     string           // the profile that healc has for this processor
	Profile  *profile.Profile // what was found
	Findings []Finding
	Figures  []measure.Figures // of memory and arithmetic, for each number of threads
	Region   Region
}

// Finding is the outcome of one experiment.
type Finding struct {
	Fields  []string
	By      []string // the functions
	From    int
	To      int
	Gain    float64 // time with From over time with To, when these two were measured again
	Tried   []Tried
	Neutral bool // no value makes other code here
	Skipped bool // there was no time left
}

// Tried is a value and the time with it over that with the value in force.
type Tried struct {
	Value int
	Time  float64
}

// What is faster by less than this is chance, or not worth another number than everybody has.
const (
	worthTrying = 0.97
	worthTaking = 0.98
	harms       = 1.02 // for one function, whatever others gain
	precise     = 0.01 // how wide the interval of a ratio may be that is clear
)

// Run measures.
func (t *Tuning) Run(ctx context.Context) (*Report, error) {
	end := time.Now().Add(t.Budget)
	shipped, _ := profile.For(profile.Here())
	r := &Report{Healc: heal.Version, Host: measure.ThisHost(), Like: shipped.Name, Profile: shipped.Clone()}
	threads, err := pool.DefaultThreads()
	if err != nil {
		return nil, err
	}
	teams := []int{1}
	if threads > 1 {
		teams = append(teams, threads)
	}
	t.progress("memory and arithmetic", 0)
	machine, err := measure.NewMachine()
	if err != nil {
		return nil, err
	}
	r.Figures, err = machine.Figures(ctx, teams, t.Budget/200)
	machine.Close()
	if err != nil {
		return nil, err
	}
	lab := newLab(ctx, teams)
	defer lab.close()
	if threads > 1 {
		t.progress("regions of threads", 0.02)
		if r.Region, err = lab.region(r.Profile, t.Budget/30); err != nil {
			return nil, err
		}
		r.Region.set(r.Profile)
	}
	for i, e := range experiments {
		left := time.Until(end) / time.Duration(len(experiments)-i)
		if left <= 0 {
			at := profile.FieldNamed(e.set[0]).Get(r.Profile)
			r.Findings = append(r.Findings, Finding{Fields: e.set, By: e.by, From: at, To: at, Gain: 1, Skipped: true})
			continue
		}
		t.progress(e.set[0], 0.05+0.95*float64(i)/float64(len(experiments)))
		f, err := lab.try(e, r.Profile, left)
		if err != nil {
			return nil, err
		}
		r.Findings = append(r.Findings, f)
	}
	return r, nil
}

func (t *Tuning) progress(what string, done float64) {
	if t.Progress != nil {
		t.Progress(what, done)
	}
}

// lab compiles and times the functions of workloads.heal.
type lab struct {
	ctx   context.Context
	teams []int
	memo  llvm.Memo // most kernels are the same in all that is compiled

	plain   *engine.Module              // for texts: the plan is the same with every profile
	inputs  map[string][]*tensor.Tensor // of a function that has another for them
	numbers map[string]*tensor.Tensor   // of a type, and which of those of a function
	results map[string][]*tensor.Tensor // of a function
}

func newLab(ctx context.Context, teams []int) *lab {
	return &lab{ctx: ctx, teams: teams, inputs: map[string][]*tensor.Tensor{}, numbers: map[string]*tensor.Tensor{},
		results: map[string][]*tensor.Tensor{}}
}

func (l *lab) close() {
	for _, list := range l.inputs {
		closeAll(list)
	}
	for _, t := range l.numbers {
		t.Close()
	}
	for _, list := range l.results {
		closeAll(list)
	}
	if l.plain != nil {
		l.plain.Close()
	}
}

// try makes an experiment, and sets the fields of p to what it finds.
func (l *lab) try(e experiment, p *profile.Profile, budget time.Duration) (Finding, error) {
	fields := make([]profile.Field, len(e.set))
	for i, name := range e.set {
		fields[i] = profile.FieldNamed(name)
	}
	from := fields[0].Get(p)
	f := Finding{Fields: e.set, By: e.by, From: from, To: from, Gain: 1}
	with := func(x int) (*profile.Profile, error) {
		c := p.Clone()
		for _, field := range fields {
			if err := field.Set(c, x); err != nil {
				return nil, err
			}
		}
		return c, nil
	}
	var values []int
	var profiles []*profile.Profile
	usual, err := l.texts(e.by, p)
	if err != nil {
		return f, err
	}
	seen := [][]string{usual}
	for _, x := range e.values {
		c, err := with(x)
		if err != nil {
			return f, err
		}
		texts, err := l.texts(e.by, c)
		if err != nil {
			return f, err
		}
		if !slices.ContainsFunc(seen, func(s []string) bool { return slices.Equal(s, texts) }) {
			seen, values, profiles = append(seen, texts), append(values, x), append(profiles, c)
		}
	}
	if len(values) == 0 {
		f.Neutral = true
		return f, nil
	}
	times, _, err := l.compare(e.by, p, profiles, budget*2/3)
	if err != nil {
		return f, err
	}
	best := 0
	for i, x := range values {
		f.Tried = append(f.Tried, Tried{x, times[i]})
		if times[i] < times[best] {
			best = i
		}
	}
	if times[best] > worthTrying {
		return f, nil
	}
	again, worst, err := l.compare(e.by, p, profiles[best:best+1], budget/3)
	if err != nil || again[0] > worthTaking || worst[0] > harms {
		return f, err
	}
	f.To, f.Gain = values[best], 1/again[0]
	*p = *profiles[best]
	return f, nil
}

// texts is the code of functions with a profile, before libLLVM.
func (l *lab) texts(by []string, p *profile.Profile) (out []string, err error) {
	if l.plain == nil {
		if l.plain, err = l.module(p, 1); err != nil {
			return nil, err
		}
	}
	out = make([]string, len(by))
	for i, name := range by {
		km, err := l.plain.Kernels(name, nil, nil)
		if err != nil {
			return nil, err
		}
		here := llvm.Options{Machine: target.MachineOf(l.plain.Options().Target), Profile: p}
		if out[i], err = llvm.Generate(km, here); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// module is workloads.heal, to be compiled with a profile.
func (l *lab) module(p *profile.Profile, threads int) (*engine.Module, error) {
	return l.moduleWith(engine.Options{Threads: threads, Debug: pipeline.Debug{Profile: p, Memo: &l.memo},
		System: runtime.OS{Out: io.Discard}})
}

func (l *lab) moduleWith(opts engine.Options) (*engine.Module, error) {
	return engine.CompileFile(diag.NewFile("workloads.heal", workloads), opts)
}

// compare times functions with other profiles beside those with p: for each of them the mean of the times over those
// with p, of all functions and numbers of threads, and the largest. One that clearly harms a function is not tried with
// the others, and its mean is that harm.
func (l *lab) compare(by []string, p *profile.Profile, others []*profile.Profile, budget time.Duration) (
	mean, worst []float64, err error) {
	mean, worst = make([]float64, len(others)), make([]float64, len(others))
	out, left := make([]bool, len(others)), len(others)
	rounds := len(by) * len(l.teams)
	for _, threads := range l.teams {
		modules := make([]*engine.Module, len(others)+1)
		defer func() {
			for _, m := range modules {
				if m != nil {
					m.Close()
				}
			}
		}()
		for _, name := range by {
			if left == 0 {
				break
			}
			var race []*engine.Module
			var at []int
			for k := range modules {
				q := p
				if k > 0 {
					if out[k-1] {
						continue
					}
					q, at = others[k-1], append(at, k-1)
				}
				if modules[k] == nil {
					if modules[k], err = l.module(q, threads); err != nil {
						return nil, nil, err
					}
				}
				race = append(race, modules[k])
			}
			samples, err := l.race(name, race,
				measure.Plan{Budget: budget / time.Duration(rounds*len(race)), Settled: settled})
			if err != nil {
				return nil, nil, err
			}
			for i, k := range at {
				ratios := samples[i+1].Over(samples[0])
				mean[k] += math.Log(ratios.Median()) / float64(rounds)
				worst[k] = max(worst[k], ratios.Median())
				if low, _ := ratios.Interval(); low > harms {
					out[k] = true
					left--
				}
			}
		}
	}
	for k := range mean {
		if mean[k] = math.Exp(mean[k]); out[k] {
			mean[k] = worst[k]
		}
	}
	return mean, worst, nil
}

// race times a function of several modules in turns, by the time of the processor where each has one thread.
func (l *lab) race(name string, modules []*engine.Module, plan measure.Plan) ([]measure.Samples, error) {
	all := make([]measure.Contender, len(modules))
	repeat := measure.RepeatSpent
	if slices.ContainsFunc(modules, func(m *engine.Module) bool { return m.Options().Threads != 1 }) {
		repeat = measure.Repeat
	}
	for i, m := range modules {
		f, err := m.Func(name)
		if err != nil {
			return nil, err
		}
		args, err := l.arguments(m, f)
		if err != nil {
			return nil, err
		}
		results, ok := l.results[name]
		if !ok {
			if results, err = f.CallAll(l.ctx, args...); err != nil {
				return nil, err
			}
			l.results[name] = results
		}
		all[i].Time = repeat(func() error { return f.CallInto(l.ctx, results, args...) })
	}
	return measure.Race(l.ctx, all, plan)
}

// settled is for a race: those that are clearly no faster than the first take no more turns, nor do those of which it
// is clear how much faster they are.
func settled(i int, have []measure.Samples) bool {
	low, high := have[i].Over(have[0]).Interval()
	return low > worthTaking || high-low < precise
}

// arguments of a function are what the function with _in at its end gives, else random numbers.
func (l *lab) arguments(m *engine.Module, f *engine.Func) ([]*tensor.Tensor, error) {
	name := f.IR().Name
	if have, ok := l.inputs[name]; ok {
		return have, nil
	}
	var out []*tensor.Tensor
	if source, err := m.Func(name + "_in"); err == nil {
		if out, err = source.CallAll(l.ctx); err != nil {
			return nil, err
		}
		l.inputs[name] = out
		return out, nil
	}
	for i, p := range f.IR().Params() {
		key := fmt.Sprint(i, " ", p.Type)
		if l.numbers[key] == nil {
			t, err := numbers(p.Type, uint64(i))
			if err != nil {
				return nil, err
			}
			l.numbers[key] = t
		}
		out = append(out, l.numbers[key])
	}
	return out, nil
}

// numbers is a tensor of a type: random floats from 0 to 1, or 0 1 2 ...
func numbers(of types.Tensor, seed uint64) (*tensor.Tensor, error) {
	shape := make([]int64, of.Rank())
	for i, d := range of.Shape {
		shape[i], _ = d.Const()
	}
	if of.Elem.IsFloat() {
		return tensor.Rand(of.Elem, seed, shape...)
	}
	return tensor.Iota(of.Elem, shape...)
}
