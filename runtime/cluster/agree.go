package cluster

import (
	"errors"
	"fmt"
	"time"
)

// Note [Agreement]. A rank that fails cannot leave the others waiting, and the same program is to fail in the same way
// on any number of ranks. So whenever ranks meet, to compare what they run, to write a file or to end a call, each
// brings a word: 0 where all is well, and otherwise a Failure. All then know who has failed: the least word counts, and
// that of the lowest rank where several are the same. A rank whose program has failed goes to the next such meeting and
// nowhere else. Those that wait for data of it go there too (MeetingError), and so do those that wait for data of
// these. It does not wait there for long: others may compute for minutes before they come, and have to be ended from
// outside (Comm.Abort).

// Failure is the word of a rank that has failed with an exit code, from 1 to 255. Of two words that with the smaller
// place is less, so that what is earlier in a program counts.
func Failure(place uint64, code int) uint64 {
	return min(place, Anywhere)<<8 | uint64(uint8(code))
}

// Anywhere is the place of a failure that is nowhere in a program, as of memory that is not there.
const Anywhere = 1<<56 - 1

// Agreed is what ranks have agreed on.
type Agreed struct {
	Failed bool
	Rank   int // whose failure counts
	Code   int // the exit code of the run
}

// Agree gathers the words of all ranks. See Note [Agreement].
func Agree(c Comm, word uint64) (Agreed, error) {
	words := make([]uint64, c.Size())
	words[c.Rank()] = word
	if err := c.Meet(words); err != nil {
		return Agreed{}, err
	}
	var agreed Agreed
	var least uint64
	for r, w := range words {
		if w != 0 && (!agreed.Failed || w < least) {
			least, agreed = w, Agreed{true, r, int(w & 0xff)}
		}
	}
	return agreed, nil
}

// FailedError says that a run of several ranks has failed on one of them.
type FailedError struct {
	Rank, Code int
	Err        error // what has failed, on that rank; nil on the others
	Known      bool  // all ranks know; otherwise Comm.Abort tells them
}

func (e *FailedError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("rank %d has failed", e.Rank)
	}
	return e.Err.Error()
}

func (e *FailedError) Unwrap() error { return e.Err }

// Settle agrees whether all is well: the result is nil where that is so on all ranks, and otherwise a *FailedError, or
// the error of a communicator that has ended. err is what has failed on this rank, at a place of the program; one that
// was settled before is returned as it is.
func Settle(c Comm, place uint64, code int, err error) error {
	var settled *FailedError
	if errors.As(err, &settled) {
		return err
	}
	var meeting *MeetingError
	if err == nil || errors.As(err, &meeting) { // the others know better what has failed
		agreed, ended := Agree(c, 0)
		if err == nil || ended != nil || agreed.Failed {
			return outcome(c, agreed, nil, ended)
		}
		return &FailedError{Rank: c.Rank(), Code: code, Err: err}
	}
	type answer struct {
		Agreed
		err error
	}
	came := make(chan answer, 1)
	go func() {
		agreed, failed := Agree(c, Failure(place, code))
		came <- answer{agreed, failed}
	}()
	select {
	case a := <-came:
		if a.err != nil {
			var ended *AbortError
			if errors.As(a.err, &ended) {
				return a.err // another was first
			}
			return &FailedError{Rank: c.Rank(), Code: code, Err: err}
		}
		return outcome(c, a.Agreed, err, nil)
	case <-time.After(patience(c.Rank())):
		return &FailedError{Rank: c.Rank(), Code: code, Err: err}
	}
}

// patience is how long a rank that has failed waits for the others. The lower one is, the earlier it speaks, so that
// the others have heard.
func patience(rank int) time.Duration {
	return 400*time.Millisecond + time.Duration(min(rank, 5))*100*time.Millisecond
}

func outcome(c Comm, agreed Agreed, err, failed error) error {
	switch {
	case failed != nil:
		return failed
	case !agreed.Failed:
		return nil
	case agreed.Rank != c.Rank():
		err = nil
	}
	return &FailedError{Rank: agreed.Rank, Code: agreed.Code, Err: err, Known: true}
}
