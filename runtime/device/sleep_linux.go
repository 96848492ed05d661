package device

import (
	"syscall"
	"time"
)

// sleep is time.Sleep for less than a millisecond, to which the timers of Go round up.
func sleep(d time.Duration) {
	t := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&t, nil) // a signal ends it sooner, which does no harm
}
