package transform

import (
	"fmt"
	"slices"

	"healc/ir/kernel"
	"healc/runtime/abi"
)

// Share is m with every kernel once: of kernels that are the same but for their names, those of their buffers, and what
// was fused into them, the first one is launched in place of the others, so that code is generated once. Where that
// has lines of the source, as for devices, they are those of the first. Checks that fail have sites, and kernels with
// different sites differ. The launches of m's plan are renamed in place.
func Share(m *kernel.Module) *kernel.Module {
	type shape struct{ params, axes, values, stmts int }
	alike := map[shape][]*kernel.Kernel{}
	shapeOf := func(k *kernel.Kernel) shape {
		return shape{len(k.Params), len(k.Axes), len(k.Types), len(k.Body.Stmts)}
	}
	for _, k := range m.Kernels {
		alike[shapeOf(k)] = append(alike[shapeOf(k)], k)
	}
	first := map[string]*kernel.Kernel{} // by the text without names
	instead := map[string]string{}
	out := *m
	out.Kernels = nil
	for _, k := range m.Kernels {
		if len(alike[shapeOf(k)]) > 1 {
			text := Identity(k)
			if same := first[text]; same != nil {
				instead[k.Name] = same.Name
				continue
			}
			first[text] = k
		}
		out.Kernels = append(out.Kernels, k)
	}
	if len(instead) == 0 || m.Plan == nil {
		return m
	}
	RenameLaunches(m.Plan, instead)
	return &out
}

// Identity is the text of k with names by number, and without notes: kernels that have the same one are the same code.
func Identity(k *kernel.Kernel) string {
	c := *k
	c.Name, c.Notes, c.Params = "", nil, slices.Clone(k.Params)
	for i := range c.Params {
		c.Params[i].Name = fmt.Sprintf("b%d", i)
	}
	return c.String()
}

// RenameLaunches gives the kernels that a plan launches other names.
func RenameLaunches(p *abi.Program, names map[string]string) {
	Launches(p, func(l *abi.Launch) {
		if name := names[l.Kernel]; name != "" {
			l.Kernel = name
		}
	})
}

// Launches calls f for every launch of a plan.
func Launches(p *abi.Program, f func(l *abi.Launch)) {
	for _, fn := range p.Funcs {
		LaunchesOf(fn.Steps, f)
	}
}

// LaunchesOf calls f for every launch of steps and of what they run.
func LaunchesOf(steps []abi.Step, f func(l *abi.Launch)) {
	abi.EachStep(steps, func(s *abi.Step) {
		if s.Launch != nil {
			f(s.Launch)
		}
	})
}

// Loops calls f for every loop of a plan.
func Loops(p *abi.Program, f func(l *abi.Loop)) {
	for _, fn := range p.Funcs {
		abi.EachStep(fn.Steps, func(s *abi.Step) {
			if s.Loop != nil {
				f(s.Loop)
			}
		})
	}
}
