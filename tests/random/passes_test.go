package random

import (
	"errors"
	"fmt"
	"testing"

	"healc/ir"
	"healc/ir/interp"
	"healc/passes"
	"healc/tests/sample"
)

// TestPasses interprets random programs before and after every single pass of both pipelines, with the shapes symbolic
// and bound. The pass that changes what a program computes is named; one that leaves its text as it is does not. A
// fifth of the seeds runs, other ones every day.
func TestPasses(t *testing.T) {
	n, parts, day := uint64(1500), sample.Part(5), sample.Today(t)
	if testing.Short() {
		n, parts = 200, 1
	}
	for seed := range n {
		if (int(seed)+day)%parts > 0 {
			continue
		}
		p := New(seed+7_000_000, map[string]int{})
		want := interpreted(p, p.IR)
		for name, pipeline := range map[string][]passes.Pass{
			"symbolic": passes.Standard("", nil), "bound": passes.Standard("f", p.Bind),
		} {
			m := p.IR.Clone()
			before := m.String()
			for _, pass := range pipeline {
				err := passes.Run(m, []passes.Pass{pass}, passes.Options{VerifyEach: true})
				var bind *passes.BindError
				if errors.As(err, &bind) && name == "bound" {
					if want.Failed == "" {
						t.Errorf("seed %d: %s refuses a program that runs: %v\n%s", p.Seed, pass.Name, err, before)
					}
					break
				}
				if err != nil {
					t.Fatalf("seed %d: %s: %v\n%s", p.Seed, pass.Name, err, before)
				}
				after := m.String()
				if after == before {
					continue
				}
				if d := Diff(want, interpreted(p, m)); d != "" {
					t.Fatalf("seed %d (%s): %s changes the program: %s\nbefore:\n%s\nafter:\n%s", p.Seed, name,
						pass.Name, d, before, after)
				}
				before = after
			}
		}
	}
}

// interpreted is what m, a form of p, does.
func interpreted(p *Program, m *ir.Module) *Outcome {
	out, err := interp.RunDims(m, "f", p.Bind, p.Input, &interp.MemSystem{})
	if err != nil {
		return &Outcome{Failed: fmt.Sprint(err)}
	}
	return &Outcome{Results: out}
}
