package random

import (
	"errors"
	"testing"

	"healc/ir/interp"
	"healc/ir/kernel"
	"healc/ir/kernel/keval"
	"healc/passes"
	"healc/passes/bufferize"
	"healc/tests/sample"
)

// TestKernels runs the kernels and plans of random programs literally, and compares them with the
// interpreter: what is wrong here is wrong in fusion or bufferize, not in the code generator. The evaluator
// also finds reads of memory that is not alive, which a processor forgives. A fifth of the seeds runs, other ones every
// day.
func TestKernels(t *testing.T) {
	n, parts, day := uint64(1000), sample.Part(5), sample.Today(t)
	if testing.Short() {
		n, parts = 150, 1
	}
	base := *first
	if base == 0 {
		base = 9_000_000
	} else {
		parts = 1
	}
	for seed := base; seed < base+n; seed++ {
		if (int(seed)+day)%parts > 0 {
			continue
		}
		p := New(seed, map[string]int{})
		want := interpreted(p, p.IR)
		m := p.IR.Clone()
		pipeline, bind := passes.Standard("", nil), p.Bind
		if seed%2 == 0 {
			pipeline, bind = passes.Standard("f", p.Bind), nil
		}
		if err := passes.Run(m, pipeline, passes.Options{}); err != nil {
			var refused *passes.BindError
			if !errors.As(err, &refused) || want.Failed == "" {
				t.Fatalf("seed %d: %v", p.Seed, err)
			}
			continue
		}
		k, err := bufferize.Lower(m, "f", bufferize.Options{})
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", p.Seed, err, m)
		}
		if err := kernel.Verify(k); err != nil {
			t.Fatalf("seed %d: %v", p.Seed, err)
		}
		got, err := keval.Run(k, bind, p.Input, &interp.MemSystem{})
		var failure *keval.Failure
		switch {
		case err != nil && !errors.As(err, &failure):
			t.Fatalf("seed %d: %v\n%s\n%s", p.Seed, err, p.IR, k)
		case (err != nil) != (want.Failed != ""):
			t.Fatalf("seed %d: the interpreter says %q, the kernels %v\n%s\n%s", p.Seed, want.Failed, err, p.IR, k)
		case err == nil:
			if d := Diff(want, &Outcome{Results: got}); d != "" {
				t.Fatalf("seed %d: %s\n%s\n%s", p.Seed, d, p.IR, k)
			}
		}
	}
}
