// Package ranks runs a program on several ranks: it starts their processes on this machine and watches them (Start),
// and is one of them (Join, Launched).
//
// Note [Watching]. The process that was started by a person runs nothing of the program. Each rank is this very
// program again, with three files: where it listens, what it is told, and where it reports. What it is told ends when
// the watcher does, whatever becomes of it, and then the rank ends too. The report is what the rank has to say of a
// failure: the watcher prints that of one rank alone, and a rank that ends without a word was killed. Once one has
// failed the others have a moment to end by themselves, as all do that are not in the midst of a long kernel; then
// they are killed.
package ranks

import "time"

// Most is how many ranks can be started on a machine: each is connected to every other.
const Most = 128

// envRank says to a process that it is a rank.
const envRank = "HEAL_RANK_OF"

// The files of a rank that was started by Start, by number.
const (
	fdListener = 3 + iota
	fdTold
	fdReport
)

// told is what a rank is told.
type told struct {
	Rank  int
	Addrs []string
	Key   [16]byte
	Poll  time.Duration
}

// Report is what a rank says when it ends.
type Report struct {
	Done bool   // the program has ended as it should
	Lost bool   // it has lost the others, which is not the reason
	Code int    // the exit code of the run
	Text string // what to print
}

const (
	// joining is how long ranks may take to find each other.
	joining = 30 * time.Second
	// mercy is how long ranks may go on after one of them has failed, and parting after a signal.
	mercy   = 300 * time.Millisecond
	parting = 1500 * time.Millisecond
)
