package types

import "strings"

// AssertMessage is what a failed assertion says: what was asserted, and below it the two values that were
// compared. The interpreter and the runtime share it, so that every backend says the same.
func AssertMessage(what string, shown []string) string {
	s := what + " does not hold"
	for i, v := range shown {
		name := "\nleft:  "
		if i == 1 {
			name = "\nright: "
		}
		s += name + strings.ReplaceAll(v, "\n", "\n       ")
	}
	return s
}
