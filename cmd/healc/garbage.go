package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Note [Garbage]
//
// Compiling makes much garbage and keeps little. Collecting it at Go's usual pace takes a fifth of the processor's time
// while tests are compiled and interpreted (docs/tuning/compile-effort.md). So as long as little lives, garbage is
// collected when the heap is five times what lives, not twice. Large tensors of the interpreter are collected as usual.
// GOGC, when it is set, decides alone.

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
