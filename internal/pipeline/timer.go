package pipeline

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// Timer collects how long each stage took. What a command no longer waits for may go on while it prints.
type Timer struct {
	mu    sync.Mutex
	Names []string
	Times []time.Duration
	// Each is told that a stage begins, and returns what is told that it has ended; nil for nobody.
	Each func(name string) (ended func())
}

// Stage starts a stage; the returned function ends it. It works on a nil Timer.
func (t *Timer) Stage(name string) func() {
	if t == nil {
		return func() {}
	}
	start, ended := time.Now(), func() {}
	if t.Each != nil {
		ended = t.Each(name)
	}
	return func() {
		t.Add(name, time.Since(start))
		ended()
	}
}

// Add adds a stage.
func (t *Timer) Add(name string, d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Names, t.Times = append(t.Names, name), append(t.Times, d)
}

// Stages is how many there are.
func (t *Timer) Stages() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.Names)
}

// part is what the names of the stages of code generation begin with.
const part = "llvm "

// Sum is the time of the stages from number n on. Those of code generation belong to another stage, and do not count.
func (t *Timer) Sum(n int) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	sum := time.Duration(0)
	for i, name := range t.Names[n:] {
		if !strings.HasPrefix(name, part) {
			sum += t.Times[n+i]
		}
	}
	return sum
}

// Took adds to the time of a stage of code generation, which may happen several times.
func (t *Timer) Took(stage string, d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	name := part + stage
	if i := slices.Index(t.Names, name); i >= 0 {
		t.Times[i] += d
		return
	}
	t.Names, t.Times = append(t.Names, name), append(t.Times, d)
}

// took is Took for the generator; nil for a nil Timer.
func (t *Timer) took() func(string, time.Duration) {
	if t == nil {
		return nil
	}
	return t.Took
}

// Print writes one line a stage.
func (t *Timer) Print(w io.Writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, n := range t.Names {
		fmt.Fprintf(w, "%-13s %8.3f ms\n", n, float64(t.Times[i].Nanoseconds())/1e6)
	}
}
