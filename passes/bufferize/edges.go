package bufferize

import (
	"slices"

	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/runtime/abi"
)

// tellEdges tells the plan which launches read what a step of the host has made at the edges of their axis alone: an
// exchange of ranks may end when the rest has been computed.
func tellEdges(m *kernel.Module) {
	kernels := map[string]*kernel.Kernel{}
	for _, k := range m.Kernels {
		kernels[k.Name] = k
	}
	var visit func(steps []abi.Step)
	visit = func(steps []abi.Step) {
		var made []int
		for _, s := range steps {
			switch {
			case s.Host != nil:
				made = append(made, s.Host.Out...)
			case s.Launch != nil:
				for i, b := range s.Launch.Args {
					if !slices.Contains(made, b) {
						continue
					}
					if first, last, ok := analysis.EdgesOf(kernels[s.Launch.Kernel], i); ok {
						s.Launch.Edges = append(s.Launch.Edges, abi.Edge{Buffer: b, First: first, Last: last})
					}
				}
			case s.If != nil:
				visit(s.If.Then)
				visit(s.If.Else)
			case s.Loop != nil:
				visit(s.Loop.Body)
			}
		}
	}
	for _, f := range m.Plan.Funcs {
		visit(f.Steps)
	}
}
