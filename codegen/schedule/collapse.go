package schedule

import (
	"fmt"
	"maps"

	"healc/ir/kernel"
	"healc/ir/kernel/transform"
	"healc/lang/types"
)

// collapse is the directive for a kernel with a short last axis (Note [Collapsed axes] in ir/kernel/transform); nil for
// any other, and where nothing is gained.
func (s *scope) collapse() *kernel.Directive {
	const what = "collapse"
	least := s.Machine.Profile.Loops.CollapsedWork
	for _, joined := range []bool{true, false} {
		p, why := transform.Collapse(s.k, joined)
		if p == nil {
			s.reject(what, why)
			continue
		}
		short := p.N < 2*int64(s.Machine.Profile.Loops.InnerLeast)
		if !(joined && short && len(p.Rows) > 0 || p.Divides || p.Work >= least) {
			s.reject(what, fmt.Sprintf("%d instructions depend on the last axis alone, too few for rows (from %d)",
				p.Work, least))
			continue
		}
		flag := int64(0)
		if joined {
			flag = 1
		}
		d := kernel.NewDirective("collapse", p.J, p.N, flag).
			Because(fmt.Sprintf("%d instructions depend on the last axis alone", p.Work))
		inner := *s
		inner.Lets, inner.settled = maps.Clone(s.Lets), maps.Clone(s.settled)
		inner.define(p.Before)
		inner.define(p.Rows)
		inner.k, inner.Types, inner.Params, inner.phase = p.K, p.K.Types, p.K.Params, p.Phase
		inner.agreed = map[kernel.Ref]bool{}
		for _, r := range p.Kept {
			if p.K.Types[r.Ref] == types.Bool {
				inner.agreed[r.Ref] = true
			}
		}
		d.Add(append(inner.nextRows(), inner.nest()...)...)
		if joined {
			rename(d.Sub, p.K.Axes[len(p.K.Axes)-1].Var, p.J)
		}
		return d
	}
	return nil
}

// rename makes directives that speak of one loop speak of another.
func rename(ds []*kernel.Directive, from, to kernel.Ref) {
	kernel.Directives(ds).Walk(func(d *kernel.Directive) {
		if d.On == from {
			d.On = to
		}
	})
}

// OnJoined is the schedule of a collapsed kernel. In the directive the joined axis, which is none of the kernel as it
// stands, has the name of that one's last axis.
func OnJoined(d *kernel.Directive, p *transform.Collapsed) kernel.Directives {
	ds := (&kernel.Schedule{Directives: d.Sub}).Clone().Directives
	if p.Joined {
		rename(ds, p.J, p.K.Axes[len(p.K.Axes)-1].Var)
	}
	return ds
}
