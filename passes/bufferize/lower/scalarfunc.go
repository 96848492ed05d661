package lower

import (
	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/kernel/transform"
)

// ScalarFunc fills in what the function out of the module computes: f, all of whose parameters and results are scalars.
func ScalarFunc(u Unit, f *ir.Func, out *kernel.Func) {
	b := newBody(u)
	b.home = f.Span
	args := make([]kernel.Ref, len(f.Params()))
	for i, p := range f.Params() {
		args[i] = b.define(p.Type.Elem, b.top())
		out.Params = append(out.Params, p.Type.Elem)
	}
	b.leaf = func(*ir.Value, []kernel.Ref) kernel.Ref {
		panic("BUG: a function reads a value from outside of it")
	}
	b.frame = b.enter(nil, f.Body, args)
	b.force(f.Body)
	for i, y := range f.Body.Yields {
		out.Vals = append(out.Vals, b.pull(y, nil))
		out.Results = append(out.Results, f.Results[i].Elem)
	}
	out.Body, out.Types, out.Source = b.close().block, b.types, b.source
	transform.RunFunc(out)
}
