package runtime

import (
	"context"
	"runtime/pprof"
	gotrace "runtime/trace"
	"time"

	"healc/runtime/abi"
	"healc/runtime/trace"
)

// traced is a call that is watched: it is recorded, its steps within it, on a track of their own; it is counted; it has
// regions in a trace of Go; or labels in profiles of Go.
type traced struct {
	*trace.Recorder
	track   int
	counts  *trace.Counts
	regions bool
	labels  bool
	outside context.Context // of the call, with the labels of the caller
	f       string
	start   time.Time
	region  *gotrace.Region
}

// kinds of tracks
const (
	callTrack   = "call"
	threadTrack = "thread"
)

// beginTrace is nil where nobody watches.
func beginTrace(env *Env, f *boundFunc) *traced {
	if env.Trace == nil && env.Counts == nil && !env.Labels && !gotrace.IsEnabled() {
		return nil
	}
	t := &traced{Recorder: env.Trace, counts: env.Counts, regions: gotrace.IsEnabled(), labels: env.Labels,
		outside: env.outside, f: f.def.Name, start: time.Now()}
	if t.outside == nil {
		t.outside = context.Background()
	}
	if t.Recorder != nil {
		t.track = t.Take(callTrack)
	}
	if t.regions {
		t.region = gotrace.StartRegion(t.outside, "heal."+t.f)
	}
	if t.labels {
		pprof.SetGoroutineLabels(t.label(""))
	}
	return t
}

// label is the context of the call with the labels of one of its kernels, "" for what is around them.
func (t *traced) label(kernel string) context.Context {
	labels := pprof.Labels("heal_function", t.f)
	if kernel != "" {
		labels = pprof.Labels("heal_function", t.f, "heal_kernel", kernel)
	}
	return pprof.WithLabels(t.outside, labels)
}

// records reports that each step is recorded: on a device it is waited for then.
func (t *traced) records() bool { return t != nil && t.Recorder != nil }

// end ends the call.
func (t *traced) end(err *error) {
	if t == nil {
		return
	}
	if t.labels {
		pprof.SetGoroutineLabels(t.outside)
	}
	if t.region != nil {
		t.region.End()
	}
	if t.counts != nil {
		t.counts.Add(t.f, "", time.Since(t.start), 0, 0, *err != nil)
	}
	if t.Recorder != nil {
		t.Since(t.start, t.track, "call", t.f)
		t.Give(callTrack, t.track)
	}
}

// step does a step that is watched.
func (t *traced) step(s *boundStep, names []*boundFunc, do func() error) error {
	launch := s.def.Launch
	if t.Recorder == nil && launch == nil {
		return do()
	}
	if launch != nil && t.labels {
		pprof.SetGoroutineLabels(t.label(launch.Kernel))
		defer pprof.SetGoroutineLabels(t.label(""))
	}
	if launch != nil && t.regions {
		defer gotrace.StartRegion(t.outside, "heal."+t.f+"."+launch.Kernel).End()
	}
	start := time.Now()
	err := do()
	if launch != nil && t.counts != nil {
		t.counts.Add(t.f, launch.Kernel, time.Since(start), s.outer*launch.Bytes, s.outer*launch.Work, err != nil)
	}
	if t.Recorder != nil {
		category, name, numbers := about(s, names)
		t.Since(start, t.track, category, name, numbers...)
	}
	return err
}

// about is what is said of a step.
func about(s *boundStep, names []*boundFunc) (category, name string, numbers []trace.Number) {
	switch d := s.def; {
	case d.Launch != nil:
		numbers = []trace.Number{{Name: "indices", Value: s.outer}}
		if d.Launch.Work > 0 {
			numbers = append(numbers, trace.Number{Name: "operations", Value: s.outer * d.Launch.Work})
		}
		if d.Launch.Bytes > 0 {
			numbers = append(numbers, trace.Number{Name: "bytes", Value: s.outer * d.Launch.Bytes})
		}
		return "kernel", d.Launch.Kernel, numbers
	case d.Host != nil:
		return "host", d.Host.Name, nil
	case d.If != nil:
		return "if", "if", nil
	case d.Loop != nil:
		return "loop", "loop", nil
	case d.Call != nil:
		return "call", names[d.Call.Func].def.Name, nil
	case d.Copy != nil:
		return "copy", "copy", nil
	}
	return "check", abi.KindRequire, nil
}

// piece is f, a piece of a kernel that threads run, watched. A thread of the pool has no labels behind it; the one of
// the call gets its own again when the step ends.
func (t *traced) piece(kernel string, f func(begin, end int64)) func(begin, end int64) {
	if t.Recorder == nil && !t.labels {
		return f
	}
	var labels context.Context
	if t.labels {
		labels = t.label(kernel)
	}
	return func(begin, end int64) {
		if labels != nil {
			pprof.SetGoroutineLabels(labels)
			defer pprof.SetGoroutineLabels(context.Background())
		}
		if t.Recorder == nil {
			f(begin, end)
			return
		}
		track, start := t.Take(threadTrack), time.Now()
		f(begin, end)
		t.Since(start, track, "piece", kernel, trace.Number{Name: "begin", Value: begin},
			trace.Number{Name: "end", Value: end})
		t.Give(threadTrack, track)
	}
}
