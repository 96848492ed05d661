package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Note [Garbage]
//
// Compiling makes much garbage and keeps little, and collecting it at Go's usual pace takes a fifth of the processor's
// time while tests are compiled and interpreted (`healc test stdlib` 16.0 s and 12.7, two cores of a Zen 3, November
// 2026). So it is collected when there is five times what lives, not twice, as long as little lives; what the
// interpreter has of large tensors is collected as usual. GOGC, when it is set, decides alone.

const (
	usualPace   = 100
	relaxedPace = 400
	littleLives = 64 << 20
)

// paceFor is the percentage for a heap of which so many bytes live.
func paceFor(live uint64) int {
	if live > littleLives {
		return usualPace
	}
	return relaxedPace
}

// paceGarbage sets the pace now, and after each collection anew.
func paceGarbage() {
	if os.Getenv("GOGC") != "" {
		return
	}
	now := relaxedPace
	debug.SetGCPercent(now)
	type cycle struct{ _ *byte } // is garbage in each collection
	var collected func(*cycle)
	collected = func(c *cycle) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		if live[0].Value.Kind() == metrics.KindUint64 {
			if pace := paceFor(live[0].Value.Uint64()); pace != now { // setting it stops the world
				now = pace
				debug.SetGCPercent(pace)
			}
		}
		runtime.SetFinalizer(c, collected)
	}
	runtime.SetFinalizer(new(cycle), collected)
}
