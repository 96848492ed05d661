package trace

import (
	"cmp"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Counts adds up what programs do: calls of functions, and runs of their kernels. It may be used by several goroutines
// at once, and is a Var of package expvar.
type Counts struct {
	mu    sync.RWMutex
	cells map[of]*cell
}

// of says what is counted: a kernel of a function, or the function's calls where kernel is "".
type of struct{ function, kernel string }

type cell struct{ calls, failures, nanoseconds, bytes, operations atomic.Int64 }

// Aside stands for a kernel where code for one shape was made while calls of the function went on: how often, how long
// it took, and how often there was none in the end, for want of memory or by a bug in the compiler. That leaves calls
// as they were.
const Aside = "(code for one shape)"

// Count is what is known about a function, or about one of its kernels.
type Count struct {
	Function string // that was called from outside
	Kernel   string // "" for the calls of the function as a whole; Aside
	Calls    int64  // of the function, or runs of the kernel
	Failures int64  // of the calls: those that ended in an error
	Time     time.Duration
	// Bytes and Operations are what the compiler says of a kernel for its extents: what it reads and writes, and the
	// scalar instructions. They are 0 where it says nothing.
	Bytes, Operations int64
}

// NewCounts has counted nothing yet.
func NewCounts() *Counts { return &Counts{cells: map[of]*cell{}} }

// Add counts one run of a kernel, or one call.
func (c *Counts) Add(function, kernel string, took time.Duration, bytes, operations int64, failed bool) {
	key := of{function, kernel}
	c.mu.RLock()
	at := c.cells[key]
	c.mu.RUnlock()
	if at == nil {
		c.mu.Lock()
		if at = c.cells[key]; at == nil {
			at = &cell{}
			c.cells[key] = at
		}
		c.mu.Unlock()
	}
	at.calls.Add(1)
	at.nanoseconds.Add(took.Nanoseconds())
	at.bytes.Add(bytes)
	at.operations.Add(operations)
	if failed {
		at.failures.Add(1)
	}
}

// All are the counts until now, functions and their kernels in the order of their names.
func (c *Counts) All() iter.Seq[Count] {
	c.mu.RLock()
	cells := maps.Clone(c.cells)
	c.mu.RUnlock()
	keys := slices.SortedFunc(maps.Keys(cells), func(a, b of) int {
		return cmp.Or(cmp.Compare(a.function, b.function), cmp.Compare(a.kernel, b.kernel))
	})
	return func(yield func(Count) bool) {
		for _, key := range keys {
			at := cells[key]
			if !yield(Count{Function: key.function, Kernel: key.kernel, Calls: at.calls.Load(),
				Failures: at.failures.Load(), Time: time.Duration(at.nanoseconds.Load()), Bytes: at.bytes.Load(),
				Operations: at.operations.Load()}) {
				return
			}
		}
	}
}

// String is a JSON array with an object for each of All, times in seconds, as expvar.Publish wants it.
func (c *Counts) String() string {
	type row struct {
		Function   string  `json:"function"`
		Kernel     string  `json:"kernel,omitempty"`
		Calls      int64   `json:"calls"`
		Failures   int64   `json:"failures"`
		Seconds    float64 `json:"seconds"`
		Bytes      int64   `json:"bytes"`
		Operations int64   `json:"operations"`
	}
	rows := []row{}
	for n := range c.All() {
		rows = append(rows, row{n.Function, n.Kernel, n.Calls, n.Failures, n.Time.Seconds(), n.Bytes, n.Operations})
	}
	text, err := json.Marshal(rows)
	if err != nil {
		panic("BUG: " + err.Error()) // strings and numbers
	}
	return string(text)
}
