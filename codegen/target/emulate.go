package target

import (
	"strings"
)

// SplitName cuts NAME/OTHER into the two names of a processor (Note [Emulated vectors] in codegen/llvm). The second is
// "" when there is only one.
func SplitName(cpu string) (suits, made string) {
	suits, made, _ = strings.Cut(cpu, "/")
	return suits, made
}
