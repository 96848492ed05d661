package runtime

import (
	"testing"

	"healc/codegen/target/profile"
	"healc/runtime/abi"
)

// TestBrief: a call counts as one of the pool's unless it is nothing but kernels that end before another thread could
// help, all together.
func TestBrief(t *testing.T) {
	threads := &profile.Host().Profile.Threads
	launch := func(outer, work int64) boundStep {
		l := &abi.Launch{Work: work}
		return boundStep{def: &abi.Step{Launch: l}, outer: outer, grain: l.Grain(threads)}
	}
	open := launch(1, 1)
	open.def.Launch.Open = true
	region := abi.RegionTime(threads) / int64(threads.OpTime) // operations
	for name, x := range map[string]struct {
		steps []boundStep
		brief bool
	}{
		"no steps":            {nil, true},
		"a small kernel":      {[]boundStep{launch(16, 1)}, true},
		"an empty one":        {[]boundStep{launch(0, region)}, true},
		"many small ones":     {[]boundStep{launch(region/3, 1), launch(region/3, 1), launch(region/2, 1)}, false},
		"one of a region":     {[]boundStep{launch(region, 1)}, false},
		"one long index":      {[]boundStep{launch(1, 1<<60)}, false},
		"indices without end": {[]boundStep{launch(1<<62, 1<<40)}, false},
		"a loop without end":  {[]boundStep{open}, false},
		"a call":              {[]boundStep{{def: &abi.Step{Call: &abi.Call{}}}}, false},
	} {
		f := &boundFunc{steps: x.steps}
		if got := f.isBrief(); got != x.brief {
			t.Errorf("%s: brief is %v", name, got)
		}
	}
}
