package library

import (
	"os"
	"path/filepath"
	"testing"
)

// stopSource has calls that would last for minutes in one kernel, a product, a sort and a loop of steps.
const stopSource = `pub fn turns(n: i32, x: f64) -> f64 = iterate(n, x, |s| sin(s))
pub fn prod[M, K, N](a: f32[M, K], b: f32[K, N]) -> f32[M, N] = a @ b
pub fn sorted[N](x: f32[N]) -> f32[N] = sort(x)
pub fn steps[N](n: i32, x: f32[N]) -> f32[N] = iterate(n, x, |s| sort(s .* 0.5))
`

// TestStopFromC: a flag ends a call in C, by a thread and by a handler, wherever the call is.
func TestStopFromC(t *testing.T) {
	for _, program := range inC(t, "stop", stopSource, []string{"turns", "prod", "sorted", "steps"}, ".so", ".o") {
		silent(t, program)
	}
}

// TestStopFromPython: Ctrl-C and timeouts end calls in Python, with exceptions.
func TestStopFromPython(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.heal")
	if err := os.WriteFile(file, []byte(stopSource), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := python(t, file, "s", "testdata/stop.py"); got != "" {
		t.Error(got)
	}
}
