package infer

import (
	"healc/lang/ast"
	"healc/lang/check/report"
	"healc/lang/check/scope"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// Signature types the head of a function.
func (c *Checker) Signature(f *scope.Func) {
	d := f.Decl
	failed := f.Failed
	c.Cur = &scope.Owner{Name: d.Name.Name, Fn: f}
	c.Attributes(f, f.Template == nil)
	c.Cur.Missing = &scope.MissingDims{}
	f.Dims = map[string]bool{}
	places := map[string]diag.Span{}
	unique := func(id ast.Ident, what string) {
		if first, dup := places[id.Name]; dup && id.Name != "_" {
			c.Errorf(diag.CodeDuplicate, id.Loc, "%s %s is declared twice", what, report.Quote(id.Name)).Related(first,
				"first declared here")
		}
		places[id.Name] = id.Loc
	}
	for _, g := range d.Dims {
		unique(g.Name, "parameter")
		if g.Bound != nil && g.Bound.Name != "nat" {
			if scope.Bounds[g.Bound.Name] == nil && g.Bound.Name != scope.TupleBound {
				c.Errorf(diag.CodeUnknownType, g.Bound.Loc, "unknown bound %s", report.Quote(g.Bound.Name)).
					Help(
						"a shape parameter is `%s` or `%s: nat`; a type parameter has the bound num, int, float, any "+
							"or tuple[T]", g.Name.Name, g.Name.Name)
				continue
			}
			c.bracketsOfBound(g)
			continue
		}
		f.Dims[g.Name.Name] = true
		f.Tree.Dims = append(f.Tree.Dims, g.Name.Name)
	}
	if f.Template != nil {
		for _, p := range f.Template.TupleParams {
			for _, t := range types.Flatten(f.TupleTypes[p.Name]) {
				for _, d := range t.Shape {
					f.Tree.Dims = append(f.Tree.Dims, d.String())
				}
			}
		}
	}
	for i, p := range d.Params {
		unique(p.Name, "parameter")
		declared := c.TypeOf(p.Type)
		t := types.Bare(declared)
		if p.Mut {
			if x, ok := t.(types.Tensor); !ok || !x.Elem.Converts() && !types.IsError(t) {
				c.Errorf(diag.CodeMismatch, p.Loc, "a `&mut` parameter is a tensor, not %s", t)
			}
			f.Tree.Muts = append(f.Tree.Muts, i)
		}
		f.Tree.Params = append(f.Tree.Params, &tree.Local{Name: p.Name.Name, T: t, Loc: p.Name.Loc, Declared: declared})
	}
	f.Tree.Result, f.Tree.Declared = types.Unit, types.Unit
	if d.Result != nil {
		f.Tree.Declared = c.TypeOf(d.Result)
		f.Tree.Result = types.Bare(f.Tree.Declared)
	}
	c.Cur.Missing = nil
	f.Failed = failed || c.Cur.Failed
}

// Attributes reads what stands before `fn`. Those of a template are reported once, and count for its
// instances.
func (c *Checker) Attributes(f *scope.Func, report bool) {
	if !report {
		f.Tree.IO, f.Tree.Kernel, f.Failed = f.Template.Tree.IO, f.Template.Tree.Kernel, f.Template.Failed
		return
	}
	c.Cur = &scope.Owner{Name: f.Decl.Name.Name, Fn: f}
	seen := map[string]diag.Span{}
	for _, a := range f.Decl.Attrs {
		name := a.Name.Name
		if first, dup := seen[name]; dup {
			c.Errorf(diag.CodeUnknownAttr, a.Loc, "attribute `@%s` is given twice", name).Related(first,
				"first given here")
			continue
		}
		seen[name] = a.Loc
		switch name {
		case "io":
			f.Tree.IO = true
		case "kernel":
			f.Tree.Kernel = true
		case "grad":
			continue // body reads it
		default:
			r := c.Errorf(diag.CodeUnknownAttr, a.Loc, "unknown attribute `@%s`", name)
			if near := diag.Nearest(name, []string{"io", "kernel", "grad"}); near != "" {
				r.Help("did you mean `@%s`?", near).Fix(a.Name.Loc, near)
			} else {
				r.Help("the attributes are `@io`, `@kernel` and `@grad`")
			}
			continue
		}
		if len(a.Args) > 0 {
			c.Errorf(diag.CodeUnknownAttr, a.Loc, "attribute `@%s` takes no arguments", name)
		}
	}
}
