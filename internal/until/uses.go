package until

import (
	"math"
	"sync"
	"sync/atomic"
)

// Uses counts the uses of a thing that can be ended while they go on: the last of them ends it then. The zero value is
// of a thing that can be used. A use that begins and ends takes two additions.
type Uses struct {
	n     atomic.Int64 // how many there are, less by stopped where no other may begin
	stop  sync.Once
	last  sync.Once
	end   func()
	ended chan struct{}
}

const stopped = math.MinInt64 / 2

// Begin begins a use, which End ends; there is none where it reports false.
func (u *Uses) Begin() bool {
	if u.n.Add(1) > 0 {
		return true
	}
	u.End()
	return false
}

// End ends a use.
func (u *Uses) End() {
	if u.n.Add(-1) == stopped {
		u.last.Do(u.finish)
	}
}

// Stopped reports whether no other use may begin.
func (u *Uses) Stopped() bool { return u.n.Load() < 0 }

// Stop lets no other use begin, and calls end, which may be nil, when there are no more: here, or where the last one
// ends. What it returns is closed after that. Of several calls the first counts.
func (u *Uses) Stop(end func()) <-chan struct{} {
	u.stop.Do(func() {
		u.end, u.ended = end, make(chan struct{})
		if u.n.Add(stopped) == stopped {
			u.last.Do(u.finish)
		}
	})
	return u.ended
}

func (u *Uses) finish() {
	if u.end != nil {
		u.end()
	}
	close(u.ended)
}
