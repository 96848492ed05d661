package tune

import (
	"context"
	goruntime "runtime"
	"sync/atomic"
	"time"

	"healc/cmd/healc/measure"
	"healc/codegen/target/profile"
	"healc/internal/engine"
	"healc/runtime/abi"
	"healc/runtime/tensor"
)

// Region is what it costs to share a kernel among threads, and what the estimates of kernels are made of.
type Region struct {
	Cost time.Duration `json:"cost"` // of a region whose threads poll for it, beyond its work
	Wake time.Duration `json:"wake"` // how long the caller is alone in it when they sleep
	Op   float64       `json:"op"`   // picoseconds of a scalar operation in vector code; 0 when not measured
	Byte float64       `json:"byte"` // picoseconds of a byte in the near caches
	// Moved is picoseconds of a byte that another thread has written last, beyond one of the caller's own.
	Moved float64 `json:"moved"`
}

// pause is longer than any thread polls for work.
const pause = 3 * time.Millisecond

// region measures on one thread and on all, with what a profile has.
func (l *lab) region(p *profile.Profile, budget time.Duration) (Region, error) {
	var r Region
	threads := l.teams[len(l.teams)-1]
	alone, err := l.module(p, 1)
	if err != nil {
		return r, err
	}
	defer alone.Close()
	opts := alone.Options()
	opts.Threads, opts.SplitAll = threads, true
	shared, err := l.moduleWith(opts)
	if err != nil {
		return r, err
	}
	defer shared.Close()
	times, err := l.race("tiny", []*engine.Module{alone, shared}, measure.Plan{Budget: budget / 3})
	if err != nil {
		return r, err
	}
	work := times[0].Median()
	r.Cost = seconds(max(times[1].Median()-work/float64(threads), 0))
	if r.Wake, err = l.late(shared, threads, budget/3); err != nil {
		return r, err
	}
	if r.Op, err = l.each(alone, "near_gelu", budget/6, func(x *abi.Launch) int64 { return x.Work }); err != nil {
		return r, err
	}
	if r.Byte, err = l.each(alone, "near_chain", budget/12, func(x *abi.Launch) int64 { return x.Bytes }); err != nil {
		return r, err
	}
	if threads > 1 {
		r.Moved = moved(l.ctx, budget/12)
	}
	return r, l.ctx.Err()
}

// late is how long threads that sleep are missed in a region that is worth waking them: meanwhile the caller does all,
// where it would do its share beside threads that poll.
func (l *lab) late(m *engine.Module, threads int, budget time.Duration) (time.Duration, error) {
	if threads == 1 {
		return 0, nil
	}
	times, err := l.race("product_256", []*engine.Module{m}, measure.Plan{Budget: budget / 4})
	if err != nil {
		return 0, err
	}
	once, err := l.asleep(m, "product_256", budget*3/4)
	if err != nil {
		return 0, err
	}
	missed := float64(max(once-seconds(times[0].Median()), 0))
	return time.Duration(missed * float64(threads) / float64(threads-1)), nil
}

// asleep is the median of a call whose threads sleep.
func (l *lab) asleep(m *engine.Module, name string, budget time.Duration) (time.Duration, error) {
	f, err := m.Func(name)
	if err != nil {
		return 0, err
	}
	args, err := l.arguments(m, f)
	if err != nil {
		return 0, err
	}
	results, err := f.CallAll(l.ctx, args...)
	if err != nil {
		return 0, err
	}
	defer closeAll(results)
	var s measure.Samples
	for end := time.Now().Add(budget); time.Now().Before(end) || len(s) < 5; {
		time.Sleep(pause)
		if err := l.ctx.Err(); err != nil {
			return 0, err
		}
		start := time.Now()
		if err := f.CallInto(l.ctx, results, args...); err != nil {
			return 0, err
		}
		s = append(s, time.Since(start).Seconds())
	}
	return seconds(s.Median()), nil
}

// each is the time of a function by what its one kernel counts, in picoseconds; 0 when it has not one kernel.
func (l *lab) each(m *engine.Module, name string, budget time.Duration, count func(*abi.Launch) int64) (
	picoseconds float64, err error) {
	km, err := m.Kernels(name, nil, nil)
	if err != nil {
		return 0, err
	}
	var launch *abi.Launch
	steps := km.Plan.Funcs[0].Steps
	for i := range steps {
		if x := steps[i].Launch; x != nil {
			if launch != nil {
				return 0, nil
			}
			launch = x
		}
	}
	if launch == nil {
		return 0, nil
	}
	n, known := launch.Outer.Dim.Const()
	if !known || n == 0 || count(launch) == 0 {
		return 0, nil
	}
	times, err := l.race(name, []*engine.Module{m}, measure.Plan{Budget: budget})
	if err != nil {
		return 0, err
	}
	return times[0].Median() * 1e12 / float64(n) * float64(max(launch.Outer.Div, 1)) / float64(count(launch)), nil
}

// handed is how much memory goes from thread to thread in moved: it lies in a second-level cache. Lines have 64 bytes.
const (
	handed = 256 << 10
	line   = 64
)

// moved is what a byte takes to read that another thread has written last, in picoseconds, beyond what one takes that
// the reader has written.
func moved(ctx context.Context, budget time.Duration) float64 {
	shared := make([]int64, handed/8)
	var turn atomic.Int64 // even: the reader's; -1: the end
	done := make(chan struct{})
	go func() {
		defer close(done)
		goruntime.LockOSThread()
		defer goruntime.UnlockOSThread()
		for at := int64(1); ; at += 2 {
			for turn.Load() != at {
				if turn.Load() < 0 {
					return
				}
			}
			fill(shared, at)
			turn.Store(at + 1)
		}
	}()
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	var own, other measure.Samples
	sum := int64(0)
	read := func() float64 {
		start := time.Now()
		for i := 0; i < len(shared); i += line / 8 {
			sum += shared[i]
		}
		return time.Since(start).Seconds()
	}
	at := int64(0)
	for end := time.Now().Add(budget); (time.Now().Before(end) || len(own) < 9) && ctx.Err() == nil; at += 2 {
		fill(shared, at)
		own = append(own, read())
		turn.Store(at + 1)
		for turn.Load() != at+2 {
		}
		other = append(other, read())
	}
	turn.Store(-1)
	<-done
	if len(own) == 0 || sum < 0 {
		return 0
	}
	return max(other.Median()-own.Median(), 0) * 1e12 / handed
}

func fill(x []int64, with int64) {
	for i := range x {
		x[i] = with
	}
}

// set gives a profile what was measured. A thread that shares its core finishes later than the caller, so that a region
// counts twice; so does waking, since a thread that comes when half is done has done a quarter, and what moves between
// threads, which is rarely read in a row.
func (r Region) set(p *profile.Profile) {
	put := func(name string, x float64) {
		f := profile.FieldNamed(name)
		if err := f.Set(p, min(max(int(x+0.5), f.Low), f.High)); err != nil {
			panic("BUG: " + err.Error())
		}
	}
	put("threads.region_time", 2*float64(r.Cost.Nanoseconds()))
	put("threads.wake_time", 2*float64(r.Wake.Nanoseconds())/1000)
	if r.Moved > 0 {
		put("threads.moved_time", 2*r.Moved)
	}
	if r.Op > 0 {
		put("threads.op_time", r.Op)
	}
	if r.Byte > 0 {
		put("threads.byte_time", r.Byte)
	}
}

func seconds(x float64) time.Duration { return time.Duration(x * float64(time.Second)) }

func closeAll(list []*tensor.Tensor) {
	for _, t := range list {
		t.Close()
	}
}
