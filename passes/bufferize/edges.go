package bufferize

import (
	"slices"

	"healc/ir/exchange"
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/runtime/abi"
)

// tellEdges tells the plan which launches read what neighbours have sent at the edges of their axis alone: an exchange
// may end when the rest has been computed.
func tellEdges(m *kernel.Module) {
	kernels := map[string]*kernel.Kernel{}
	for _, k := range m.Kernels {
		kernels[k.Name] = k
	}
	var visit func(steps []abi.Step)
	visit = func(steps []abi.Step) {
		came := map[int]bool{}
		for _, s := range steps {
			switch {
			case s.Host != nil && s.Host.Name == exchange.Halo.Name:
				for _, b := range s.Host.Out {
					came[b] = true
				}
			case s.Launch != nil && slices.ContainsFunc(s.Launch.Args, func(b int) bool { return came[b] }):
				k := kernels[s.Launch.Kernel]
				for i, e := range analysis.EdgesOf(k) {
					if n, _ := k.Axes[0].Extent.Dim.Const(); i < len(s.Launch.Args) && came[s.Launch.Args[i]] &&
						e.First+e.Last < n {
						s.Launch.Edges = append(s.Launch.Edges, abi.Edge{Buffer: s.Launch.Args[i], First: e.First,
							Last: e.Last})
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
