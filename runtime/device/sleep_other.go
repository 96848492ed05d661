//go:build !linux

package device

import "time"

func sleep(d time.Duration) { time.Sleep(d) }
