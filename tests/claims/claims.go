// Package claims has what fuzz targets of readers ask for: that reading takes memory by the size of what is read,
// whatever that claims about itself.
package claims

import (
	"runtime/metrics"
	"testing"
)

// heap is a count of what was ever allocated, which costs little to read.
const heap = "/gc/heap/allocs:bytes"

func allocated() uint64 {
	s := []metrics.Sample{{Name: heap}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// Within begins to measure. What it gives ends that: more than spare bytes and times many for each of the size bytes of
// the input is an error. What was allocated before may be counted late, some MiB of it, so spare is 16 MiB at least.
func Within(t testing.TB, size, spare, times int) func() {
	before := allocated()
	return func() {
		t.Helper()
		if n, most := allocated()-before, uint64(spare+times*size); n > most {
			t.Errorf("%d bytes were allocated for %d, where %d are enough", n, size, most)
		}
	}
}
