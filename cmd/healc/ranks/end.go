package ranks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"healc/runtime/cluster"
)

const (
	// farewell is how long ranks wait for each other at the end of a run that has failed.
	farewell = 500 * time.Millisecond
	// Patience is how long it may take until the ranks know that one has failed, and then this one has ended.
	Patience = time.Second
)

// End ends this rank and returns its exit code. err is nil where its program has ended as it should, with code. show
// prints what has failed and returns its exit code. Of what all ranks have to say, that of one is printed.
func (r *Rank) End(code int, err error, show func(w io.Writer, err error) int) int {
	if err == nil && r.Comm != nil {
		if err = cluster.Settle(r, 0, 0, nil); err == nil {
			r.say(Report{Done: true, Code: code})
			if err = r.Close(); err == nil {
				return code
			}
		}
	}
	var text bytes.Buffer
	own := Report{Code: show(&text, err), Text: text.String()}
	if r.Comm == nil {
		if r.silent {
			time.Sleep(farewell) // until that has been said
		} else {
			r.tell(own)
		}
		return own.Code
	}
	var failed *cluster.FailedError
	var ended *cluster.AbortError
	var lost *cluster.LostError
	if !errors.As(err, &ended) && !errors.As(err, &lost) {
		err = cluster.Settle(r, cluster.Anywhere, own.Code, err)
	}
	switch {
	case errors.As(err, &ended):
		own.Code = ended.Code
	case errors.As(err, &lost):
		own.Lost = true
		r.tell(own)
		r.abort(own)
	case errors.As(err, &failed) && failed.Rank == r.Rank():
		own.Code = failed.Code
		r.tell(own)
		if failed.Known {
			r.leave()
		} else {
			r.abort(own)
		}
	case errors.As(err, &failed):
		own.Code = failed.Code
		r.leave()
	default:
		panic("BUG: ranks have not settled " + err.Error())
	}
	return own.Code
}

// tell prints what there is to say, or has it printed.
func (r *Rank) tell(what Report) {
	if !r.say(what) {
		_, _ = io.WriteString(os.Stderr, what.Text)
	}
}

// say reports to the process that has started this one. false: there is none.
func (r *Rank) say(what Report) bool {
	if r.report == nil {
		return false
	}
	r.once.Do(func() {
		if text, err := json.Marshal(what); err == nil {
			_, _ = r.report.Write(text)
		}
		_ = r.report.Close()
	})
	return true
}

// leave ends the communicator of a run that has failed, as all ranks know: none leaves before the others have said what
// they have to say.
func (r *Rank) leave() {
	within(farewell, func() { _ = r.Close() })
}

// abort ends the other ranks. What does it ends this process, too, or returns.
func (r *Rank) abort(what Report) {
	if r.told.Load() {
		return
	}
	within(farewell, func() { r.Abort(what.Code, fmt.Sprintf("it ends with exit code %d", what.Code)) })
}

// within waits for f, but not for long.
func within(limit time.Duration, f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(limit):
	}
}
