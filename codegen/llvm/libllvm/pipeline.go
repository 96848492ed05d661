package libllvm

import (
	"strconv"
	"strings"
)

// Spell spells a pipeline for a version of LLVM: from 18 on, instcombine by itself insists on a
// fixpoint after one round, and says so by stopping.
func Spell(pipeline, version string) string {
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err == nil && n < 18 {
		return pipeline
	}
	return strings.ReplaceAll(pipeline, "instcombine", "instcombine<no-verify-fixpoint>")
}
