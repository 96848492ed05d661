package measure

import (
	"syscall"
	"time"
)

// Spent is the processor time of all threads of the process so far; ok is false where the system does not tell.
func Spent() (t time.Duration, ok bool) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0, false
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), true
}
