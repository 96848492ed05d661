//go:build !linux

package measure

import "time"

// Spent is the processor time of all threads of the process so far; ok is false where the system does not tell.
func Spent() (t time.Duration, ok bool) { return 0, false }
