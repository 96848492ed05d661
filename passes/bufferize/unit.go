package bufferize

import (
	"fmt"
	"strings"

	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/ops"
	"healc/ir/scalar"
	"healc/lang/diag"
	"healc/lang/types"
)

// A unit is one program under construction.
type unit struct {
	src     *ir.Module
	teams   bool // Options.Teams
	out     *kernel.Module
	sites   map[siteKey]int
	scalars map[string]bool // scalar functions, by name
	indexOf map[string]int  // functions of the plan, by name
}

type siteKey struct {
	kind scalar.CheckKind
	at   diag.Span
	op   string
}

// site is the number of the place that fails with kind in op.
func (u *unit) site(kind scalar.CheckKind, op *ir.Op) int {
	var at diag.Span
	name := ""
	if op != nil {
		at, name = op.Span, ops.Subject(op)
	}
	return u.siteAt(kind.String(), siteKey{kind, at, name})
}

func (u *unit) siteAt(kind string, key siteKey) int {
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

// maxInstances bounds the functions that one program becomes: a recursion that changes its shape
// parameters would make new ones for ever.
const maxInstances = 1000

// callee returns the function that op calls, with its shape parameters bound.
func (u *unit) callee(op *ir.Op, name string, dims types.Shape) (*ir.Func, error) {
	f := u.src.Func(name)
	if f == nil {
		panic("BUG: call of " + name + ", which does not exist")
	}
	if len(u.scalars)+len(u.indexOf) > maxInstances {
		return nil, &Error{op.Span, fmt.Sprintf("the recursion of `%s` uses too many different shapes",
			ir.OriginalName(name))}
	}
	if len(f.Dims) == 0 {
		return f, nil
	}
	c := ir.NewCloner()
	c.Dims = map[string]types.Dim{}
	for i, d := range f.Dims {
		c.Dims[d] = dims[i]
	}
	g, err := c.Func(f)
	if err != nil {
		return nil, &Error{op.Span, err.Error()}
	}
	return g, nil
}

// failure carries an *Error out of the callbacks of the op table; Lower catches it.
type failure struct{ err error }

// scalarFunc returns the name of the kernel function for a call, and makes it at the first call.
func (u *unit) scalarFunc(op *ir.Op, callee string) string {
	name := instance(callee, op.Dims("dims"))
	if u.scalars[name] {
		return name
	}
	u.scalars[name] = true
	f, err := u.callee(op, callee, op.Dims("dims"))
	if err != nil {
		panic(failure{err})
	}
	for _, t := range append(ir.ArgTypes(f.Params()), f.Results...) {
		if !t.IsScalar() {
			panic(failure{&Error{op.Span,
				fmt.Sprintf("a call of `%s` inside of an element-wise computation, with tensors",
					ir.OriginalName(callee))}})
		}
	}
	b := newBody(u)
	out := &kernel.Func{Name: name, Site: u.siteAt(scalar.CheckRecursion.String(),
		siteKey{scalar.CheckRecursion, f.Span, name})}
	u.out.Funcs = append(u.out.Funcs, out)
	args := make([]kernel.Ref, len(f.Params()))
	for i, p := range f.Params() {
		args[i] = b.define(p.Type.Elem, b.top())
		out.Params = append(out.Params, p.Type.Elem)
	}
	b.leaf = func(v *ir.Value, _ []kernel.Ref) kernel.Ref {
		panic("BUG: a function reads a value from outside of it")
	}
	if args == nil {
		args = []kernel.Ref{}
	}
	b.frame = b.enter(nil, f.Body, args)
	b.force(f.Body)
	for i, y := range f.Body.Yields {
		out.Vals = append(out.Vals, b.pull(y, nil))
		out.Results = append(out.Results, f.Results[i].Elem)
	}
	out.Body, out.Types, out.Source = b.close().block, b.types, b.source
	tidyFunc(out)
	return name
}
