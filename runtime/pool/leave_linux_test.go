package pool

import (
	"math/bits"
	goruntime "runtime"
	"syscall"
	"testing"
)

// TestLeave: a thread goes to another processor, and may run wherever it could before.
func TestLeave(t *testing.T) {
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	var before, after processors
	if !affinity(syscall.SYS_SCHED_GETAFFINITY, 0, &before) || processor() < 0 {
		t.Skip("the system does not say where a thread runs")
	}
	n := 0
	for _, w := range before {
		n += bits.OnesCount64(w)
	}
	if n < 2 {
		t.Skip("there is one processor")
	}
	left := false
	for range 100 { // the system may bring it back
		here := processor()
		leave(here, n+1)
		leave(-1, 2)
		leave(here, 2)
		left = left || processor() != here
	}
	if !left {
		t.Error("it stayed")
	}
	if !affinity(syscall.SYS_SCHED_GETAFFINITY, 0, &after) || after != before {
		t.Errorf("it may run on %x afterwards, on %x before", after, before)
	}
}
