package abi

// A kernel runs on several threads where that pays: each piece must take at least as long as it costs to hand one to
// another thread. The plan estimates what an index of the outermost axis takes, from the scalar operations of the
// kernel's body and the bytes that it touches, whichever takes longer; the runtime divides the region's cost by it,
// which gives the grain. The figures are round ones for processors of the 2020s, vector code and caches, since what
// comes from memory is long enough to be split anyway. RegionTime is what a region costs when the other thread still
// polls for work or is left asleep (Note [Waking] in package runtime), and as much again, because a thread that shares
// its core with other work finishes later than the caller. BenchmarkPoolRegion of package runtime measures it
// (docs/tuning/threads.md).

// The figures of the estimate, in picoseconds.
const (
	opTime     = 30
	byteTime   = 18
	RegionTime = 3_000_000
)

// IndexTime estimates how many picoseconds one index of the outermost axis takes; it is at least 1.
func (l *Launch) IndexTime() int64 {
	const most = RegionTime // anything longer is worth a thread by itself
	return max(min(l.Work, most)*opTime, min(l.Bytes, most)*byteTime, 1)
}

// Grain is the least number of indices of the outermost axis that is worth a thread.
func (l *Launch) Grain() int64 { return (RegionTime-1)/l.IndexTime() + 1 }
