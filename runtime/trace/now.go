package trace

import (
	"sync/atomic"
	"time"
)

// Now is what the program is at, for others to look at: one call at a time writes it. A nil Now is nobody's.
type Now struct {
	kernel        atomic.Pointer[string]
	indices, done atomic.Int64 // of the kernel, where threads share it

	step, steps atomic.Int64 // of the outermost loop
	began       atomic.Int64 // when it did, since start
	start       time.Time
	depth       int
}

// NewNow is at nothing.
func NewNow() *Now { return &Now{start: time.Now()} }

// At is what was read of a Now.
type At struct {
	Kernel        string // "" for none yet
	Done, Indices int64  // of the kernel; Indices is 0 where it is not known how far it is
	Step, Steps   int64  // of the outermost loop that goes on; Steps is 0 for none
	Since         time.Duration
}

// Read says what the program is at.
func (n *Now) Read() (at At) {
	if k := n.kernel.Load(); k != nil {
		at.Kernel = *k
	}
	at.Indices, at.Done = n.indices.Load(), n.done.Load()
	if at.Steps = n.steps.Load(); at.Steps > 0 {
		at.Step = n.step.Load()
		at.Since = time.Since(n.start) - time.Duration(n.began.Load())
	}
	return at
}

// Begin says that a kernel begins.
func (n *Now) Begin(kernel *string) {
	n.kernel.Store(kernel)
	n.indices.Store(0)
}

// Share says that threads share so many indices of the kernel; Did that some are done.
func (n *Now) Share(indices int64) {
	n.done.Store(0)
	n.indices.Store(indices)
}

// Did says that indices are done.
func (n *Now) Did(indices int64) { n.done.Add(indices) }

// Loop says that a loop begins, End that it ends, Step which step it is at. Those of an outer loop count.
func (n *Now) Loop(steps int64) {
	if n.depth++; n.depth == 1 {
		n.began.Store(time.Since(n.start).Nanoseconds())
		n.step.Store(0)
		n.steps.Store(steps)
	}
}

// Step says which step the loop is at.
func (n *Now) Step(i int64) {
	if n.depth == 1 {
		n.step.Store(i)
	}
}

// End says that a loop ends.
func (n *Now) End() {
	if n.depth--; n.depth == 0 {
		n.steps.Store(0)
	}
}
