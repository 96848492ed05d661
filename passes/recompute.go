package passes

import (
	"slices"

	"healc/ir"
	"healc/ir/ops"
)

// A Recomputation is an operation that several kernels of a fused function compute.
type Recomputation struct {
	Op *ir.Op   // as the first of them has it
	In []*ir.Op // these fusion operations, in the order of the function
}

// Recomputations lists the operations that stand in more than one kernel of a fused function, in the order of their
// first appearance. Two are the same when they compute the same from the same values, as in CSE. What costs a kernel
// next to nothing is left out, and so are kernels in the steps of loops, where each step has values of its own.
func Recomputations(m *ir.Module, f *ir.Func) []*Recomputation {
	c := newMerger(m)
	var out []*Recomputation
	known := map[string]*Recomputation{}
	for _, kernel := range f.Body.Ops {
		if kernel.Def != ops.Fusion {
			continue
		}
		body := kernel.Regions[0]
		for i, p := range body.Params {
			c.ids[p] = c.id(kernel.Args[i])
		}
		for _, op := range body.Ops {
			key := c.key(op)
			a := known[key]
			if a == nil {
				a = &Recomputation{Op: op}
				known[key] = a
				out = append(out, a)
			}
			for i, r := range op.Results {
				c.ids[r] = c.id(a.Op.Results[i])
			}
			a.In = append(a.In, kernel)
		}
		for i, r := range kernel.Results {
			c.ids[r] = c.id(body.Yields[i])
		}
	}
	return slices.DeleteFunc(out, func(a *Recomputation) bool {
		a.In = slices.Compact(a.In)
		return len(a.In) < 2 || isFree(a.Op)
	})
}

// isFree reports that an operation costs a kernel next to nothing: a view, a constant, positions, scalar arithmetic.
func isFree(op *ir.Op) bool {
	switch {
	case op.Def.Class == ir.Reindex, op.Def == ops.StopGradient, len(op.Args) == 0 && len(op.Regions) == 0:
		return true
	}
	return op.Def.Class == ir.Pointwise && op.Type().IsScalar()
}
