package library

import "testing"

// TestFork: a child of fork has workers of its own, which its first region makes, on whichever thread; its parent keeps
// those that it has.
func TestFork(t *testing.T) {
	const source = "pub fn wave[N](x: f32[N]) -> f32[N] = sin(x) .* cos(x)\n"
	silent(t, inC(t, "fork", source, []string{"wave"}, ".so")...)
}
