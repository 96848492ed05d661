package tests

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"healc"
	"healc/cmd/healc/driver"
)

// derivativeExamples are the examples that fit something by derivatives, with what they print where that takes the
// interpreter too long to stand in their heads.
var derivativeExamples = map[string]string{
	"drag.heal":             "",
	"gaussian_process.heal": "",
	"newton.heal": "0.4310921604447511\n0.4133929377498095\n0.41277813507588373\n0.41277680300995634\n0.4127768030013767\n" +
		"0.41277680300137676\n0.41277680300137676\n0.41277680300137676\n1.782787427909472e-17\n(0.8336812804453723, 0.8361111111111111)\n",
	"neural_ode.heal": "(0.28709227, 0.00015482004)\n0.012386381\n",
}

// TestDerivativeExamples runs the checks of the examples on the interpreter and the CPU, which have to print the same bits:
// their test blocks, which take a few steps, and the whole program where its head says what it prints.
func TestDerivativeExamples(t *testing.T) {
	backends := []string{heal.Interp, heal.CPU}
	if testing.Short() {
		backends = backends[1:]
	}
	for name := range derivativeExamples {
		s := &driver.Suite{Backends: backends, Workers: 1, Cache: heal.DefaultCache(), Args: func(words []string, _ *driver.Job) error {
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
			if r.Result != driver.Passed {
				t.Errorf("%s %s (%s): %s", r.Name, r.Test, r.Backend, r.Message)
			}
			passed++
		}
		if passed == 0 {
			t.Errorf("%s has no check", name)
		}
	}
}

// TestDerivativePrograms runs those that are not run above, whole, on one thread and on two.
func TestDerivativePrograms(t *testing.T) {
	for name, want := range derivativeExamples {
		if want == "" {
			continue
		}
		for threads := 1; threads <= 2; threads++ {
			out := &strings.Builder{}
			opts := heal.Options{Backend: heal.CPU, Threads: threads, System: digitsSystem{dir: "../examples/data/digits", out: out}}
			for _, r := range trainer(t, name, "main", opts) {
				r.Close()
			}
			if out.String() != want {
				t.Errorf("%s with %d threads prints\n%swant\n%s", name, threads, out, want)
			}
		}
	}
}
