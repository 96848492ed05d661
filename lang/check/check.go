package check

import (
	"slices"

	"healc/lang/ast"
	"healc/lang/check/grad"
	"healc/lang/check/infer"
	"healc/lang/check/modules"
	"healc/lang/check/report"
	"healc/lang/check/scope"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// Check types a file that imports nothing. The program has the functions without errors; the list has all
// diagnostics, sorted, and is never nil. Any tree is fine as input, also one that the parser repaired.
func Check(file *ast.File) (*tree.Program, *diag.List) { return CheckWith(file, nil) }

// CheckWith is Check for a file whose imports importer finds. The diagnostics are those of all files; the
// program has what the functions of the file use of others.
func CheckWith(file *ast.File, importer scope.Importer) (*tree.Program, *diag.List) {
	c := newRun(file.Source, importer)
	root := scope.NewModule(file)
	if file.Source != nil {
		root.Key = file.Source.Name
	}
	c.Modules = []*scope.Module{root}
	c.EnterModule(root)
	modules.Read(c.Scope, root)
	for _, m := range c.Modules {
		c.EnterModule(m)
		c.declare(m)
	}
	for _, m := range c.Modules {
		c.EnterModule(m)
		for _, f := range m.Order {
			if f.Generic() {
				c.Attributes(f, true)
				f.Failed = f.Failed || c.Cur.Failed
			} else {
				c.Signature(f)
			}
		}
		for _, t := range m.Tests {
			c.Order = append(c.Order, t.Func)
		}
	}
	for _, m := range c.Modules {
		c.EnterModule(m)
		for _, d := range m.Tree.Decls {
			if d, ok := d.(*ast.ConstDecl); ok && !m.Library {
				c.Constant(c.constOf[d])
			}
		}
		for _, f := range m.Order {
			switch {
			case m.Library && m != root:
			case f.Generic():
				c.Trials(f)
			default:
				c.Need(f)
			}
		}
	}
	for _, t := range root.Tests {
		c.Need(t.Func)
	}
	for i := 0; i < len(c.Queue); i++ { // grows: bodies need more functions
		f := c.Queue[i]
		c.Guarded(f, func() { c.InModule(f.Module, func() { c.body(f) }) })
	}
	c.EnterModule(root)
	c.recursion()
	c.places()
	c.List.Sort()
	return c.program(), c.List
}

// program is what the functions of the file and its tests reach: those of the file in source order, then
// the others, by module, place and instance.
func (c *run) program() *tree.Program {
	root := c.Modules[0]
	p := &tree.Program{Source: root.Tree.Source, Gradients: c.Gradients, Sharded: c.Sharded}
	seen := map[*scope.Func]bool{}
	var work []*scope.Func
	reach := func(f *scope.Func) {
		if !seen[f] && !f.Failed {
			seen[f] = true
			work = append(work, f)
		}
	}
	for _, f := range root.Order {
		if !f.Generic() {
			reach(f)
		}
	}
	for _, t := range root.Tests {
		reach(t.Func)
	}
	for i := 0; i < len(work); i++ {
		for _, s := range work[i].Calls {
			reach(s.Callee)
		}
	}
	instances := map[*scope.Module][]*scope.Func{}
	for _, f := range c.Order {
		if f.Template != nil {
			instances[f.Module] = append(instances[f.Module], f)
		}
	}
	for _, m := range c.Modules {
		for _, f := range slices.Concat(m.Order, instances[m]) {
			if seen[f] {
				p.Funcs = append(p.Funcs, f.Tree)
			}
		}
	}
	for _, t := range root.Tests {
		if seen[t.Func] {
			p.Tests = append(p.Tests, &tree.Test{Name: t.Name, Fn: t.Func.Tree})
		}
	}
	for _, f := range slices.Concat(root.Order, instances[root]) {
		if f.Failed && f.Tree != nil && f.Tree.Body != nil {
			p.Broken = append(p.Broken, f.Tree)
		}
	}
	for _, f := range instances[root] {
		if !f.Failed {
			p.Instances = append(p.Instances, &tree.Instance{Fn: f.Tree, Tuples: len(f.TupleTypes) > 0,
				Needs: func() []*tree.Func { return reached(f) }})
		}
	}
	return p
}

// reached are the functions that f calls, perhaps through others, itself first.
func reached(f *scope.Func) []*tree.Func {
	var out []*tree.Func
	seen := map[*scope.Func]bool{f: true}
	work := []*scope.Func{f}
	for i := 0; i < len(work); i++ {
		out = append(out, work[i].Tree)
		for _, s := range work[i].Calls {
			if !seen[s.Callee] {
				seen[s.Callee] = true
				work = append(work, s.Callee)
			}
		}
	}
	return out
}

// run is one check of a program.
type run struct {
	*infer.Checker
	constOf map[*ast.ConstDecl]*scope.Const
}

func newRun(source *diag.File, importer scope.Importer) *run {
	return &run{Checker: infer.New(source, importer, frontEnd()), constOf: map[*ast.ConstDecl]*scope.Const{}}
}

// declare collects the names of a file and reports declarations that cannot be.
func (c *run) declare(m *scope.Module) {
	places := map[string]diag.Span{}
	tests := map[string]diag.Span{}
	unique := func(id ast.Ident) bool {
		if id.Name == "" {
			return false // the parser has reported it
		}
		if first, dup := places[id.Name]; dup {
			c.Errorf(diag.CodeDuplicate, id.Loc, "%s is declared twice", report.Quote(id.Name)).
				Related(first, "first declared here")
			return false
		}
		places[id.Name] = id.Loc
		return true
	}
	for _, d := range m.Tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			f := &scope.Func{Decl: d, Pos: len(m.Order), Module: m, TypeParams: scope.TypeParams(d),
				TupleParams: scope.TupleParams(d),
				Instances:   map[string]*scope.Func{},
				Tree: &tree.Func{Name: m.Link + d.Name.Name, Public: d.Pub && m == c.Modules[0], Loc: d.Name.Loc,
					Decl: d}}
			if m.Link != "" {
				f.Tree.Shown = m.Name + "." + d.Name.Name
			}
			if !unique(d.Name) {
				f.Failed = true
			} else {
				m.Funcs[d.Name.Name] = f
			}
			m.Order = append(m.Order, f)
			if !f.Generic() {
				c.Order = append(c.Order, f)
			}
		case *ast.ConstDecl:
			k := &scope.Const{Decl: d, Mod: m}
			if unique(d.Name) {
				m.Consts[d.Name.Name] = k
			}
			c.constOf[d] = k
		case *ast.TestDecl:
			if m == c.Modules[0] {
				c.declareTest(m, d, tests)
			}
		}
	}
}

// body types the body of a function.
func (c *run) body(f *scope.Func) {
	c.Cur = &scope.Owner{Name: f.OwnerName(), Fn: f, Failed: f.Failed}
	outer := c.Flow
	c.Flow = scope.Flow{}
	mark := c.Enter()
	for _, p := range f.Tree.Params {
		c.Bind(p)
	}
	for _, i := range f.Tree.Muts {
		c.Variable(f.Tree.Params[i], true)
	}
	body := grad.Body(c.Checker, f)
	c.Leave(mark)
	c.Flow = outer
	if body.Type() != types.Never && !types.Equal(body.Type(), f.Tree.Result) {
		at := infer.ResultSpan(f.Decl.Body)
		r := c.Errorf(diag.CodeResult, at, "%s returns %s, but its body is %s", report.Quote(f.Tree.DisplayName()),
			f.Tree.Result, body.Type()).
			Label("%s", body.Type())
		if f.Decl.Result != nil {
			r.Related(f.Decl.Result.Span(), "the declared type")
		}
		r.Explain(at, f.Tree.Result, body.Type())
		if b, ok := f.Decl.Body.(*ast.Block); ok && types.Equal(body.Type(), types.Unit) && len(b.Stmts) > 0 &&
			f.Decl.Result != nil {
			r.Help("leave out the last `;`: a block that ends in `;` has the value unit")
		} else if f.Decl.Result == nil {
			r.Help("write the result's type: `-> %s`", body.Type())
		}
	}
	f.Tree.Body = body
	f.Failed = c.Cur.Failed
}
