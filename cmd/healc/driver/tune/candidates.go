package tune

import (
	"cmp"
	"math"
	"slices"
	"time"

	"healc/cmd/healc/measure"
	"healc/codegen/llvm"
	"healc/codegen/target"
	"healc/codegen/target/profile"
	"healc/codegen/target/tuned"
	"healc/ir/kernel"
)

const (
	mostTries  = 24 // schedules of a kernel that are compiled at most
	mostFinals = 3  // of those, which are measured again
	stretches  = 8  // of a race, each of which has a median
	fewCalls   = 8  // that a schedule takes part in at least
)

// schedules are the sets that make other code of a kernel, each another one. Those come first whose numbers are nearest
// to what the profile has, which is what its measurements expect to be best.
func (t *trial) schedules(km *kernel.Module, k *kernel.Kernel) ([]tuned.Set, error) {
	one := *km
	one.Kernels = []*kernel.Kernel{k}
	machine := target.MachineOf(t.job.Opts.Target)
	text := func(set tuned.Set) (string, error) {
		return llvm.Generate(&one, llvm.Options{Machine: machine, Tuned: map[string]tuned.Set{k.Name: set}})
	}
	usual, err := text(nil)
	if err != nil {
		return nil, err
	}
	type try struct {
		set  tuned.Set
		away float64
	}
	var tries []try
	seen := map[string]bool{usual: true}
	for i, e := range experiments {
		t.progress(k.Name+": which numbers count", 0)
		from := profile.FieldNamed(e.set[0]).Get(machine.Profile)
		for _, x := range e.values {
			if t.ctx.Err() != nil {
				return nil, t.ctx.Err()
			}
			set := tuned.Set{}
			for _, name := range e.set {
				set[name] = x
			}
			code, err := text(set)
			if err != nil {
				return nil, err
			}
			if !seen[code] {
				seen[code] = true
				away := math.Abs(math.Log2(float64(x+1) / float64(from+1)))
				tries = append(tries, try{set, away + float64(i)*1e-6})
			}
		}
	}
	slices.SortStableFunc(tries, func(a, b try) int { return cmp.Compare(a.away, b.away) })
	out := make([]tuned.Set, len(tries))
	for i, x := range tries {
		out[i] = x.set
	}
	return out, nil
}

// round is a race of some schedules of a kernel beside the profile as it is.
type round struct {
	sets    []tuned.Set
	usual   measure.Samples
	ratios  []float64 // of each set: the time with it over that with the profile, the median of those of the same turn
	scatter []float64 // and what three of four stretches of the race are below
}

// race lets schedules of a kernel run in turns with the profile as it is: the first one, and as many of the others as
// can be compiled in half of the time and called a few times in the rest.
func (t *trial) race(key tuned.Key, sets []tuned.Set, budget time.Duration, told func(done float64)) (*round, error) {
	start := time.Now()
	var all []*candidate
	defer func() {
		for _, c := range all {
			c.close()
		}
	}()
	r := &round{}
	call := time.Duration(0)
	for i, set := range append([]tuned.Set{nil}, sets...) {
		if spent := time.Since(start); i > 1 && (spent > budget/2 || spent+time.Duration(i+1)*fewCalls*call > budget) {
			break
		}
		told(float64(i) / float64(len(sets)+1) / 3)
		file := t.file.Clone()
		file.Put(tuned.Entry{Key: key, Set: set})
		c, err := t.compile(file)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
		if i > 0 {
			r.sets = append(r.sets, set)
		} else if call, err = c.time(1); err != nil {
			return nil, err
		}
	}
	contenders := make([]measure.Contender, len(all))
	for i, c := range all {
		contenders[i].Time = c.time
	}
	left := max(budget-time.Since(start), budget/3) * 3 / 4 / time.Duration(len(all)) // the rest is for warming up
	samples, err := measure.Race(t.ctx, contenders, measure.Plan{Budget: left,
		Progress: func(done float64) { told((1 + 2*done) / 3) }})
	if err != nil {
		return nil, err
	}
	r.usual = samples[0]
	for _, s := range samples[1:] {
		quotients := make(measure.Samples, len(s))
		for i := range s {
			quotients[i] = s[i] / samples[0][i]
		}
		r.ratios = append(r.ratios, quotients.Median())
		r.scatter = append(r.scatter, quotients.Blocks(stretches).Quantile(0.75))
	}
	return r, nil
}

// best are the sets that were faster by more than their scatter, those first that were most; at most so many.
func (r *round) best(least float64, most int) []int {
	var out []int
	for i, x := range r.ratios {
		if x <= least && r.scatter[i] < 1 {
			out = append(out, i)
		}
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(r.ratios[a], r.ratios[b]) })
	return out[:min(len(out), most)]
}

// kernel finds the schedule of a kernel: all that make other code in a race, the best of them and the two best in one
// again, and the winner of these a last time.
func (t *trial) kernel(km *kernel.Module, k *kernel.Kernel, x *MeasuredKernel, budget time.Duration) error {
	start := time.Now()
	sets, err := t.schedules(km, k)
	if err != nil {
		return err
	}
	if x.Other = len(sets); len(sets) == 0 {
		return nil
	}
	budget = max(budget-time.Since(start), budget/2)
	stage := func(number int) func(done float64) {
		return func(done float64) { t.progress(k.Name, (float64(number)+done)/3) }
	}
	first, err := t.race(x.Entry.Key, sets[:min(len(sets), mostTries)], budget/2, stage(0))
	if err != nil {
		return err
	}
	x.Entry.Time = nanoseconds(first.usual.Median())
	note := func(set tuned.Set, ratio float64) {
		t := tuned.Tried{Set: set, Time: nanoseconds(ratio * first.usual.Median())}
		x.Entry.Rejected = append(x.Entry.Rejected, t)
	}
	for i, set := range first.sets {
		note(set, first.ratios[i])
	}
	var finals []tuned.Set
	for _, i := range first.best(worthTrying, mostFinals) {
		finals = append(finals, first.sets[i])
	}
	if len(finals) == 0 {
		return nil
	}
	if len(finals) > 1 {
		if both, ok := united(finals[0], finals[1]); ok {
			finals = append([]tuned.Set{both}, finals...)
		}
	}
	second, err := t.race(x.Entry.Key, finals, budget/4, stage(1))
	if err != nil {
		return err
	}
	if both := second.sets[0]; len(both) > len(first.sets[0]) {
		note(both, second.ratios[0])
	}
	won := second.best(worthTaking, 1)
	if len(won) == 0 {
		return nil
	}
	winner := second.sets[won[0]]
	third, err := t.race(x.Entry.Key, []tuned.Set{winner}, budget/4, stage(2))
	if err != nil || len(third.best(worthTaking, 1)) == 0 {
		return err
	}
	x.Gain = 1 / third.ratios[0]
	x.Entry.Set = winner
	usual := x.Entry.Time
	x.Entry.Time = nanoseconds(third.ratios[0] * first.usual.Median())
	x.Entry.Rejected = slices.DeleteFunc(x.Entry.Rejected, func(r tuned.Tried) bool {
		return r.Set.String() == winner.String()
	})
	x.Entry.Rejected = append([]tuned.Tried{{Time: usual}}, x.Entry.Rejected...)
	return nil
}

// united is the numbers of two sets, which have none in common.
func united(a, b tuned.Set) (out tuned.Set, ok bool) {
	out = tuned.Set{}
	for _, s := range []tuned.Set{a, b} {
		for name, x := range s {
			if _, twice := out[name]; twice {
				return nil, false
			}
			out[name] = x
		}
	}
	return out, true
}

// nanoseconds is a time in seconds as an entry has it.
func nanoseconds(s float64) float64 { return math.Round(1e9 * s) }
