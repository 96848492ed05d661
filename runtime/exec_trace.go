package runtime

import (
	"time"

	"healc/runtime/abi"
	"healc/runtime/trace"
)

// traced is a call that is recorded: its steps lie within it, on a track of their own.
type traced struct {
	*trace.Recorder
	track int
}

// kinds of tracks
const (
	callTrack   = "call"
	threadTrack = "thread"
)

// beginTrace is nil where nothing is recorded.
func beginTrace(to *trace.Recorder) *traced {
	if to == nil {
		return nil
	}
	return &traced{to, to.Take(callTrack)}
}

// end ends what began a call of f at start.
func (t *traced) end(f *boundFunc, start time.Time) {
	if t == nil {
		return
	}
	t.Since(start, t.track, "call", f.def.Name)
	t.Give(callTrack, t.track)
}

// step does a step and records it.
func (t *traced) step(s *boundStep, names []*boundFunc, do func() error) error {
	start := time.Now()
	err := do()
	category, name, numbers := about(s, names)
	t.Since(start, t.track, category, name, numbers...)
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

// piece is f, a piece of a kernel that threads run, recorded on a track of its own.
func (t *traced) piece(kernel string, f func(begin, end int64)) func(begin, end int64) {
	return func(begin, end int64) {
		track, start := t.Take(threadTrack), time.Now()
		f(begin, end)
		t.Since(start, track, "piece", kernel, trace.Number{Name: "begin", Value: begin},
			trace.Number{Name: "end", Value: end})
		t.Give(threadTrack, track)
	}
}
