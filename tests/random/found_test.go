package random

import "testing"

// found are numbers of programs that found a defect, where no small program of tests/run has found it again.
var found = map[uint64]string{
	21793341531: "an index set is split by a condition of a row of conditions; a piece had values of the other arm",
}

func TestFound(t *testing.T) {
	for seed, what := range found {
		if msg := check(t, New(seed, map[string]int{}), 2); msg != "" && msg != Stopped {
			t.Errorf("%d, %s: %s", seed, what, msg)
		}
	}
}
