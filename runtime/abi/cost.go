package abi

import "healc/codegen/target/profile"

// A kernel runs on several threads where that pays: each piece must take at least as long as it costs to hand one to
// another thread. The plan estimates what an index of the outermost axis takes, from the scalar operations of the
// kernel's body and the bytes that it touches, whichever takes longer; the runtime divides the region's cost by it,
// which gives the grain. The figures are round ones for processors of the 2020s, vector code and caches, since what
// comes from memory is long enough to be split anyway. A region costs what it does when the other thread still polls
// for work or is left asleep (Note [Waking] in package pool), and as much again, because a thread that shares its core
// with other work finishes later than the caller. BenchmarkPoolRegion of package pool measures it
// (docs/tuning/threads.md).

// IndexTime estimates how many picoseconds one index of the outermost axis takes on a machine; it is at least 1.
func (l *Launch) IndexTime(on *profile.Threads) int64 {
	return l.indexTime(RegionTime(on), on) // anything longer is worth a thread by itself
}

// indexTime is right to a time of most, which is at most a second; longer ones are at least that.
func (l *Launch) indexTime(most int64, on *profile.Threads) int64 {
	return max(min(l.Work, most)*int64(on.OpTime), min(l.Bytes, most)*int64(on.ByteTime), 1)
}

// Within is the least number of indices of the outermost axis that takes so many picoseconds, at most a second.
func (l *Launch) Within(time int64, on *profile.Threads) int64 {
	return (time-1)/l.indexTime(time, on) + 1
}

// Grain is the least number of indices of the outermost axis that is worth a thread: they take as long as a region
// costs and what moves to other threads by it, of which half a second counts at most.
func (l *Launch) Grain(on *profile.Threads) int64 {
	moving := min(min(l.Moved, 1<<40)*int64(on.MovedTime), 1e12/2)
	return l.Within(RegionTime(on)+moving, on)
}

// Rouse is the least number of indices of the outermost axis that is worth waking a thread that sleeps.
func (l *Launch) Rouse(on *profile.Threads) int64 { return l.Within(1000*1000*int64(on.WakeTime), on) }

// RegionTime is what a region costs, in picoseconds.
func RegionTime(on *profile.Threads) int64 { return 1000 * int64(on.RegionTime) }
