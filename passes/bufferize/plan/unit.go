package plan

import (
	"strings"

	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/kernel/transform"
	"healc/ir/ops"
	"healc/ir/scalar"
	"healc/lang/diag"
	"healc/lang/types"
	"healc/passes/bufferize/lower"
)

// A unit is the translation unit: one program under construction.
type unit struct {
	src     *ir.Module
	steps   *ir.Steps
	effects *ir.Effects
	passes  transform.Options // for the passes over kernels
	out     *kernel.Module
	sites   map[siteKey]int
	scalars map[string]bool // scalar functions, by name
	indexOf map[string]int  // functions of the plan, by name
}

type siteKey struct {
	kind  scalar.CheckKind
	at    diag.Span
	op    string
	shows string
}

// Site implements lower.Unit.
func (u *unit) Site(kind scalar.CheckKind, op *ir.Op) int {
	key := siteKey{kind: kind}
	var shows types.Shape
	if op != nil {
		key.at, key.op = op.Span, ops.Subject(op)
	}
	if op != nil && op.Def == ops.Stop && strings.Contains(key.op, "{}") {
		shows = op.Dims("shows")
		key.shows = shows.String()
	}
	i := u.siteAt(kind.String(), key)
	u.out.Sites[i].Shows = shows
	return i
}

func (u *unit) siteAt(kind string, key siteKey) int {
	key.at = key.at.Place()
	if i, ok := u.sites[key]; ok {
		return i
	}
	site := kernel.SiteAt(key.at)
	site.Kind, site.Op = kind, key.op
	u.out.Sites = append(u.out.Sites, site)
	u.sites[key] = len(u.out.Sites) - 1
	return len(u.out.Sites) - 1
}

// instance is the name of a function with its shape parameters bound.
func instance(name string, dims types.Shape) string {
	if len(dims) == 0 {
		return name
	}
	parts := make([]string, len(dims))
	for i, d := range dims {
		parts[i] = d.String()
	}
	return name + "[" + strings.Join(parts, ",") + "]"
}

// maxInstances bounds how many more functions than it has a program becomes: a recursion that changes its shape
// parameters would make new ones for ever.
const maxInstances = 1000

// callee returns the function that op calls, with its shape parameters bound.
func (u *unit) callee(op *ir.Op) *ir.Func {
	name, dims := op.Str("callee"), op.Dims("dims")
	f := u.src.Func(name)
	if f == nil {
		panic("BUG: call of " + name + ", which does not exist")
	}
	if len(u.scalars)+len(u.indexOf) > maxInstances+len(u.src.Funcs) {
		lower.Fail(op.Span, "the recursion of `%s` uses too many different shapes", ir.OriginalName(name))
	}
	if len(f.Dims) == 0 {
		return f
	}
	c := ir.NewCloner()
	c.Dims = map[string]types.Dim{}
	for i, d := range f.Dims {
		c.Dims[d] = dims[i]
	}
	g, err := c.Func(f)
	if err != nil {
		lower.Fail(op.Span, "%v", err)
	}
	return g
}

// Teams implements lower.Unit.
func (u *unit) Teams() bool { return u.passes.Teams }

// ScalarFunc implements lower.Unit: it makes the kernel function for a call at the first call.
func (u *unit) ScalarFunc(op *ir.Op, callee string) string {
	name := instance(callee, op.Dims("dims"))
	if u.scalars[name] {
		return name
	}
	u.scalars[name] = true
	f := u.callee(op)
	for _, t := range append(ir.ArgTypes(f.Params()), f.Results...) {
		if !t.IsScalar() {
			lower.Fail(op.Span, "a call of `%s` inside of an element-wise computation, with tensors",
				ir.OriginalName(callee))
		}
	}
	out := &kernel.Func{Name: name, Site: u.siteAt(scalar.CheckRecursion.String(),
		siteKey{kind: scalar.CheckRecursion, at: f.Span, op: name})}
	u.out.Funcs = append(u.out.Funcs, out)
	lower.ScalarFunc(u, f, out)
	return name
}
