package llvm

import (
	"slices"

	"healc/codegen/schedule"
	"healc/ir/kernel"
	"healc/ir/kernel/transform"
	"healc/runtime/abi"
)

// decide has a schedule for each kernel, and finds those that are matrix products. The error is about a schedule that
// came from elsewhere.
func (m *program) decide() error {
	launched := map[string]bool{}
	if m.Km.Plan != nil {
		transform.Launches(m.Km.Plan, func(l *abi.Launch) { launched[l.Kernel] = true })
	}
	for _, k := range m.Km.Kernels {
		o := m.effort
		o.Launched = launched[k.Name]
		s, machine := k.Schedule, m.machineOf(k)
		if s == nil {
			s = schedule.For(k, machine, o)
		}
		if m.reschedule != nil {
			m.reschedule(k, s)
		}
		if k.Schedule != nil || m.reschedule != nil {
			if err := schedule.Check(k, machine, s); err != nil {
				return err
			}
		}
		m.schedules[k.Name] = s
		if c := schedule.ProductOf(k, o); c != nil {
			if p := schedule.MatmulOf(c, schedule.MatmulForm(s)); p.Planned || !p.Free {
				m.products[k.Name] = p
			}
		}
	}
	return nil
}

// tellPlan tells the plan into how many tasks kernels are cut and at which multiples the others are best cut.
func (m *program) tellPlan() {
	if m.Km.Plan == nil || m.effort.Least {
		return
	}
	kept := m.kept()
	transform.Launches(m.Km.Plan, func(l *abi.Launch) {
		s, here := m.schedules[l.Kernel]
		switch p := m.products[l.Kernel]; {
		case p != nil && !p.Free:
			l.Tasks, l.Work, l.Bytes, l.Align = p.Units(), p.UnitWork(), 0, p.UnitAlign()
			l.Work, l.Moved = max(int64(float64(l.Work)*p.Left()), 1), p.BetweenThreads(kept[l])
		case here:
			l.Align = align(s)
		}
	})
}

// kept are the products that change a matrix in place which another product of the same loop reads or changes.
func (m *program) kept() map[*abi.Launch]bool {
	kept := map[*abi.Launch]bool{}
	transform.Loops(m.Km.Plan, func(loop *abi.Loop) {
		uses := map[int]int{}
		var products []*abi.Launch
		transform.LaunchesOf(loop.Body, func(l *abi.Launch) {
			if p := m.products[l.Kernel]; p == nil || p.Free {
				return
			}
			products = append(products, l)
			for _, b := range slices.Compact(slices.Sorted(slices.Values(l.Args))) {
				uses[b]++
			}
		})
		for _, l := range products {
			for i, p := range m.products[l.Kernel].Kernel.Params {
				kept[l] = kept[l] || p.InPlace && uses[l.Args[i]] > 1
			}
		}
	})
	return kept
}

// frameRest is what a call takes beside the frame that LLVM tells of and arguments in memory, which may be pushed below
// it: the return address, and where the frame is aligned.
const frameRest = 128

// tellStacks tells the plan how much stack the functions take that kernels call: frames has the bytes of each.
func tellStacks(km *kernel.Module, frames map[string]int64) {
	if km.Plan == nil || len(km.Funcs) == 0 {
		return
	}
	largest := int64(0)
	for _, bytes := range frames {
		largest = max(largest, bytes)
	}
	args := 0
	for _, f := range km.Funcs {
		args = max(args, len(f.Params)+len(f.Results))
	}
	largest += 8*int64(args) + frameRest
	calls := map[string]bool{}
	for _, k := range km.Kernels {
		kernel.Each(k.Body, func(*kernel.Call) { calls[k.Name] = true })
	}
	transform.Launches(km.Plan, func(l *abi.Launch) {
		if calls[l.Kernel] {
			l.Stack = max(l.Stack, abi.MaxCallDepth*largest)
		}
	})
}

// align is what the directive for threads says; 0 where there is none.
func align(s *kernel.Schedule) int64 {
	if d := kernel.Directives(s.Directives).OfKind("threads"); d != nil {
		return d.Get("align")
	}
	return 0
}
