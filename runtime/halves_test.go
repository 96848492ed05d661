package runtime

import (
	"strings"
	"testing"

	"healc/lang/types"
	"healc/runtime/abi"
)

// TestHalves: the second half of an exchange is due at the first step that needs its results, or that is no launch, and
// what is between the edges of a kernel is computed before. At once is where that gains nothing, or where a result is
// read by no launch of the list, but at the end of the list where the next step of a loop reads it.
func TestHalves(t *testing.T) {
	f := &boundFunc{bufs: []boundBuffer{{bytes: 8}, {bytes: 8}, {bytes: 8}, {}}}
	exchange := func(out ...int) boundStep {
		return boundStep{def: &abi.Step{Host: &abi.HostCall{Name: "exchange_halo", Out: out}}}
	}
	launch := func(edges []abi.Edge, args ...int) boundStep {
		l := &abi.Launch{Args: args, Outer: abi.Extent{Dim: types.Lit(100)}, Edges: edges}
		return boundStep{def: &abi.Step{Launch: l}, outer: 100, align: 8}
	}
	edges := []abi.Edge{{Buffer: 1, First: 1}, {Buffer: 2, Last: 3}}
	other := boundStep{def: &abi.Step{Copy: &abi.Copy{}}}
	tasks := launch(edges, 1, 2)
	tasks.def.Launch.Tasks = 4
	type list struct {
		steps []boundStep
		until int
		inner span
	}
	lists := map[string]list{
		"edges":                 {[]boundStep{exchange(1, 2), launch(edges, 0, 1, 2)}, 1, span{8, 96}},
		"one edge":              {[]boundStep{exchange(1, 3), launch(edges, 0, 1)}, 1, span{8, 96}},
		"everywhere":            {[]boundStep{exchange(1, 2), launch(edges[:1], 0, 1, 2)}, 0, span{}},
		"tasks":                 {[]boundStep{exchange(1, 2), tasks}, 0, span{}},
		"after another":         {[]boundStep{exchange(1, 2), launch(nil, 0), launch(nil, 1, 2)}, 2, span{}},
		"after another, edges":  {[]boundStep{exchange(1, 2), launch(nil, 0), launch(edges, 1, 2)}, 2, span{8, 96}},
		"after what is none":    {[]boundStep{exchange(1), launch(nil, 0), other, launch(edges, 1)}, 2, span{}},
		"nothing between":       {[]boundStep{exchange(1), other, launch(edges, 1)}, 0, span{}},
		"one is read elsewhere": {[]boundStep{exchange(1, 2), launch(nil, 0), launch(edges, 1)}, 0, span{}},
		"nobody reads it":       {[]boundStep{exchange(1), launch(nil, 0)}, 0, span{}},
		"handed on":             {[]boundStep{exchange(2), launch(nil, 0), launch(nil, 1)}, 3, span{}},
		"handed on, and a copy": {[]boundStep{exchange(2), launch(nil, 0), other}, 2, span{}},
		"handed on at once":     {[]boundStep{exchange(2)}, 0, span{}},
		"one is handed on":      {[]boundStep{exchange(1, 2), launch(nil, 0), launch(nil, 0)}, 0, span{}},
		"handed on, and read":   {[]boundStep{exchange(2), launch(nil, 0), launch(nil, 2)}, 2, span{}},
		"nothing is handed on":  {[]boundStep{exchange(3), launch(nil, 0)}, 0, span{}},
	}
	for name, c := range lists {
		var handed []int
		if strings.Contains(name, "handed on") {
			handed = []int{2, 3}
		}
		f.bindHalves(c.steps, handed)
		got := span{}
		if c.steps[0].until > 0 && c.steps[0].until < len(c.steps) {
			got = c.steps[c.steps[0].until].inner
		}
		if c.steps[0].until != c.until || got != c.inner {
			t.Errorf("%s: due at step %d, not %d, after %v, not %v", name, c.steps[0].until, c.until, got, c.inner)
		}
	}
}
