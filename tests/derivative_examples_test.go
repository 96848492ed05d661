package tests

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"healc"
	"healc/cmd/healc/driver"
	"healc/cmd/healc/driver/suite"
	"healc/internal/cache"
	"healc/tests/sample"
	"healc/tests/ways"
)

// derivativeExamples are the examples that fit something by derivatives. Those that take the interpreter long do not
// say in their heads what they print.
var derivativeExamples = []string{"drag.heal", "gaussian_process.heal", "newton.heal", "neural_ode.heal"}

// TestDerivativeExamples runs the checks of the examples on the interpreter and the CPU, which have to print the same
// bits: their test blocks, which take a few steps, and the whole program where its head says what it prints.
func TestDerivativeExamples(t *testing.T) {
	backends := []string{heal.Interp, heal.CPU}
	if testing.Short() {
		backends = backends[1:]
	}
	for i, name := range derivativeExamples {
		w := ways.Each(i + sample.Today(t))[0] // a program takes too long for all of them
		s := &suite.Suite{Backends: backends, Workers: 1, Cache: cache.Default(), Options: w.Set,
			Args: func(words []string, _ *driver.Job) error {
				if len(words) > 0 {
					return fmt.Errorf("an example that fits has no arguments, and here are %q", words)
				}
				return nil
			}}
		results, err := s.Test(context.Background(), []string{"../examples/" + name})
		if err != nil {
			t.Fatal(err)
		}
		passed := 0
		for _, r := range results {
			if r.Result != suite.Passed {
				t.Errorf("%s %s (%s, %s): %s", r.Name, r.Test, r.Backend, w, r.Message)
			}
			passed++
		}
		if passed == 0 {
			t.Errorf("%s has no check", name)
		}
	}
}

// printed is what a program prints on the CPU with one thread, which has to be what it prints with two.
func printed(t *testing.T, name string) string {
	t.Helper()
	var texts []string
	cache := &heal.Cache{Dir: t.TempDir()} // code is the same for any number of threads
	for threads := 1; threads <= 2; threads++ {
		out := &strings.Builder{}
		opts := heal.Options{Backend: heal.CPU, Threads: threads,
			System: digitsSystem{dir: "../examples/data/digits", out: out}, Cache: cache}
		for _, r := range trainer(t, name, "main", opts) {
			r.Close()
		}
		texts = append(texts, out.String())
	}
	if texts[0] != texts[1] {
		t.Errorf("%s prints with one thread\n%swith two\n%s", name, texts[0], texts[1])
	}
	return texts[0]
}

// TestNewton: the steps of Newton's method end where the gradient is 0, which is the one minimum of a convex loss.
func TestNewton(t *testing.T) {
	const want = "[0.43109217 0.41339293 0.41277814 0.4127768  0.4127768  0.4127768\n 0.4127768  0.4127768 ]\ntrue\n" +
		"(0.8336813, 0.8361111)\n"
	if got := printed(t, "newton.heal"); got != want {
		t.Errorf("newton.heal prints\n%swant\n%s", got, want)
	}
}

// TestNeuralODE: the network's equation goes through what was seen.
func TestNeuralODE(t *testing.T) {
	var start, end, far float64
	text := printed(t, "neural_ode.heal")
	if _, err := fmt.Sscanf(text, "(%g, %g)\n%g", &start, &end, &far); err != nil {
		t.Fatalf("neural_ode.heal prints %q: %v", text, err)
	}
	if end > start/200 || far > 0.05 {
		t.Errorf("the error of the stretches goes from %g to %g, and the solution misses by %g", start, end, far)
	}
}
