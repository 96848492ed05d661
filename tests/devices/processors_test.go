package devices

import (
	"slices"
	"testing"
)

// TestNamed: a suite for processors that are named runs code for them and for no other one, each number of a case for
// one of them.
func TestNamed(t *testing.T) {
	t.Setenv(ProcessorsEnv, "icelake-client/x86-64-v3,znver4")
	want := []string{"icelake-client/x86-64-v3", "znver4"}
	for _, got := range [][]string{Targets(t), Processors(t), {InTurn(4, ""), InTurn(5, "x86-64")}} {
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	t.Setenv(ProcessorsEnv, "")
	if got := Targets(t); got[0] != "" || !slices.Equal(got[1:], Processors(t)) || InTurn(1, "x86-64") != "x86-64" {
		t.Errorf("%q and %q of %q", got, InTurn(1, "x86-64"), Processors(t))
	}
}
