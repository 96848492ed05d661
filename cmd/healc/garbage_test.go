package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

// TestPace: garbage is collected late while little lives, and as usual while much does.
func TestPace(t *testing.T) {
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(debug.SetGCPercent(usualPace))
	paceGarbage()
	becomes := func(want uint64) {
		t.Helper()
		got := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		for range 1000 {
			runtime.GC() // finalizers run some time after it
			if metrics.Read(got); got[0].Value.Uint64() == want {
				return
			}
			time.Sleep(time.Millisecond)
		}
		t.Fatalf("the pace is %d, want %d", got[0].Value.Uint64(), want)
	}
	becomes(relaxedPace)
	large := make([]byte, 2*littleLives)
	becomes(usualPace)
	runtime.KeepAlive(large)
	large = nil
	becomes(relaxedPace)
}
