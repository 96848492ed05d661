package devices

import (
	"strings"
	"testing"

	"healc/codegen/llvm/libllvm"
)

// Processors are the targets whose code this machine can run, from the plainest on; without libLLVM the test is skipped.
func Processors(t *testing.T) []string {
	lib, err := libllvm.Open()
	if err != nil {
		t.Skip(err)
	}
	_, features := lib.HostCPU()
	out := []string{"generic"}
	for _, p := range []struct{ name, needs string }{
		{"x86-64-v3", "avx2 fma bmi2"}, {"x86-64-v4", "avx512f avx512bw avx512vl avx512dq avx512cd"},
	} {
		has := true
		for _, f := range strings.Fields(p.needs) {
			has = has && strings.Contains(","+features+",", ",+"+f+",")
		}
		if has {
			out = append(out, p.name)
		}
	}
	return out
}
