package target

import (
	"strings"
)

// SplitName is what the two names of a processor are; the second is "" when there is only one.
func SplitName(cpu string) (suits, made string) {
	suits, made, _ = strings.Cut(cpu, "/")
	return suits, made
}
