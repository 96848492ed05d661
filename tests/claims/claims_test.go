package claims

import "testing"

// judge counts errors.
type judge struct {
	testing.TB
	errors int
}

func (j *judge) Helper()               {}
func (j *judge) Errorf(string, ...any) { j.errors++ }

var sink []byte

func TestWithin(t *testing.T) {
	for _, c := range []struct{ bytes, size, errors int }{{1 << 10, 100, 0}, {4 << 20, 100, 1}, {4 << 20, 4 << 20, 0}} {
		j := &judge{TB: t}
		enough := Within(j, c.size, 1<<20, 2)
		sink = make([]byte, c.bytes)
		enough()
		if j.errors != c.errors {
			t.Errorf("%d bytes for %d: %d errors, not %d", c.bytes, c.size, j.errors, c.errors)
		}
	}
}
