package abi

import (
	"sync"

	"healc/codegen/target/profile"
)

// A kernel runs on several threads where that pays: each piece must take at least as long as it costs to hand one to
// another thread. The plan estimates what an index of the outermost axis takes, from the scalar operations of the
// kernel's body and the bytes that it touches, whichever takes longer; the runtime divides the region's cost by it,
// which gives the grain. The figures are round ones for processors of the 2020s, vector code and caches, since what
// comes from memory is long enough to be split anyway. A region costs what it does when the other thread still polls
// for work or is left asleep (Note [Waking] in package pool), and as much again, because a thread that shares its core
// with other work finishes later than the caller. BenchmarkPoolRegion of package pool measures it
// (docs/tuning/threads.md).

// times are the figures of the estimate, in picoseconds.
var times = sync.OnceValue(func() (t struct{ op, byte, region int64 }) {
	p := &profile.Base().Threads
	t.op, t.byte, t.region = int64(p.OpTime), int64(p.ByteTime), 1000*int64(p.RegionTime)
	return t
})

// IndexTime estimates how many picoseconds one index of the outermost axis takes; it is at least 1.
func (l *Launch) IndexTime() int64 {
	t := times()
	most := t.region // anything longer is worth a thread by itself
	return max(min(l.Work, most)*t.op, min(l.Bytes, most)*t.byte, 1)
}

// Grain is the least number of indices of the outermost axis that is worth a thread.
func (l *Launch) Grain() int64 { return (times().region-1)/l.IndexTime() + 1 }
