package pipeline

import (
	"errors"
	"slices"

	"healc/ir"
	"healc/lang/diag"
	"healc/passes"
	"healc/passes/shard"
)

// checkShardings says which operations cannot use their operands as these are cut, as a *diag.List. Functions are
// looked at where they are called, and by themselves those that none calls and those that say how something is cut:
// any of these may be an entry.
func checkShardings(m *ir.Module) error {
	list := &diag.List{}
	told := map[diag.Span]bool{}
	check := func(part *ir.Module, entry string) {
		if passes.Run(part, passes.Placed(entry), passes.Options{}) != nil {
			return // a failure that has nothing to do with it is reported where it is met
		}
		var found *diag.List
		if !errors.As(shard.Check(part), &found) {
			return
		}
		for _, d := range found.Items {
			at := d.Primary.Span.Place()
			if !told[at] { // once, with the extents of a caller where it has some
				list.Items = append(list.Items, d)
			}
			told[at] = true
		}
	}
	calls := passes.NewCallGraph(m)
	roots := calls.Roots()
	for _, root := range roots {
		if reached := calls.Reached(root.Name); slices.ContainsFunc(reached, shard.Says) {
			check((&ir.Module{Name: m.Name, Funcs: reached}).Clone(), root.Name)
		}
	}
	stands := map[string]*ir.Func{}
	for _, f := range m.Funcs {
		if s := shard.StandIn(f); s != nil {
			stands[f.Name] = s
		}
	}
	for _, f := range m.Funcs {
		if !shard.Says(f) || slices.Contains(roots, f) {
			continue
		}
		part := &ir.Module{Name: m.Name}
		var ends []*ir.Func
		for _, r := range calls.ReachedTo(f.Name, func(f *ir.Func) bool { return stands[f.Name] != nil }) {
			if s := stands[r.Name]; s != nil && r != f {
				ends = append(ends, s)
			} else {
				part.Funcs = append(part.Funcs, r)
			}
		}
		part.Funcs = append(part.Funcs, ends...)
		check(part.Clone(), f.Name)
	}
	list.Sort()
	return list.Err()
}
