package check

import (
	"healc/lang/ast"
	"healc/lang/check/literal"
	"healc/lang/check/report"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// Check types a file that imports nothing. The program has the functions without errors; the list has all
// diagnostics, sorted, and is never nil. Any tree is fine as input, also one that the parser repaired.
func Check(file *ast.File) (*tree.Program, *diag.List) { return CheckWith(file, nil) }

// CheckWith is Check for a file whose imports importer finds. The diagnostics are those of all files; the
// program has what the functions of the file use of others.
func CheckWith(file *ast.File, importer Importer) (*tree.Program, *diag.List) {
	c := newChecker(file.Source)
	c.importer = importer
	root := newModule(file)
	if file.Source != nil {
		root.key = file.Source.Name
	}
	c.modules = []*module{root}
	c.enterModule(root)
	c.imports(root)
	for _, m := range c.modules {
		c.enterModule(m)
		c.declare(m)
	}
	for _, m := range c.modules {
		c.enterModule(m)
		for _, f := range m.order {
			if f.generic() {
				c.attributes(f, true)
				f.failed = f.failed || c.cur.failed
			} else {
				c.signature(f)
			}
		}
		for _, t := range m.tests {
			c.order = append(c.order, t.f)
		}
	}
	for _, m := range c.modules {
		c.enterModule(m)
		for _, d := range m.tree.Decls {
			if d, ok := d.(*ast.ConstDecl); ok && !m.library {
				c.constant(c.constOf[d])
			}
		}
		for _, f := range m.order {
			switch {
			case m.library && m != root:
			case f.generic():
				c.trials(f)
			default:
				c.need(f)
			}
		}
	}
	for _, t := range root.tests {
		c.need(t.f)
	}
	for i := 0; i < len(c.queue); i++ { // grows: bodies need more functions
		f := c.queue[i]
		c.guarded(f, func() { c.inModule(f.mod, func() { c.body(f) }) })
	}
	c.enterModule(root)
	c.recursion()
	c.places()
	c.list.Sort()
	return c.program(), c.list
}

// need asks for the body of f to be typed.
func (c *checker) need(f *funcInfo) {
	if !f.needed && !f.generic() {
		f.needed = true
		c.queue = append(c.queue, f)
	}
}

// program is what the functions of the file and its tests reach: those of the file in source order, then
// the others, by module, place and instance.
func (c *checker) program() *tree.Program {
	root := c.modules[0]
	p := &tree.Program{Source: root.tree.Source, Gradients: c.gradients}
	seen := map[*funcInfo]bool{}
	var work []*funcInfo
	reach := func(f *funcInfo) {
		if !seen[f] && !f.failed {
			seen[f] = true
			work = append(work, f)
		}
	}
	for _, f := range root.order {
		if !f.generic() {
			reach(f)
		}
	}
	for _, t := range root.tests {
		reach(t.f)
	}
	for i := 0; i < len(work); i++ {
		for _, s := range work[i].calls {
			reach(s.callee)
		}
	}
	for _, m := range c.modules {
		for _, f := range m.order {
			if seen[f] {
				p.Funcs = append(p.Funcs, f.fn)
			}
		}
		for _, f := range c.order {
			if f.mod == m && f.template != nil && seen[f] {
				p.Funcs = append(p.Funcs, f.fn)
			}
		}
	}
	for _, t := range root.tests {
		if seen[t.f] {
			p.Tests = append(p.Tests, &tree.Test{Name: t.name, Fn: t.f.fn})
		}
	}
	for _, f := range c.order {
		if f.mod == root && f.template != nil && !f.failed {
			p.Instances = append(p.Instances, c.reached(f))
		}
	}
	return p
}

// reached is an instance with all functions that it calls, itself first.
func (c *checker) reached(f *funcInfo) *tree.Instance {
	out := &tree.Instance{Fn: f.fn, Tuples: len(f.tupleTypes) > 0}
	seen := map[*funcInfo]bool{f: true}
	work := []*funcInfo{f}
	for i := 0; i < len(work); i++ {
		out.Needs = append(out.Needs, work[i].fn)
		for _, s := range work[i].calls {
			if !seen[s.callee] {
				seen[s.callee] = true
				work = append(work, s.callee)
			}
		}
	}
	return out
}

// checker is the state of one run.
type checker struct {
	source   *diag.File
	list     *diag.List
	importer Importer

	modules []*module         // all files, the one that is compiled first
	chain   []*ast.ImportDecl // the imports that are being read, one in the other
	mod     *module           // the file that we are in; funcs and consts are its
	funcs   map[string]*funcInfo
	consts  map[string]*constInfo
	constOf map[*ast.ConstDecl]*constInfo
	order   []*funcInfo // all functions and instances, of all files
	queue   []*funcInfo // those whose bodies are needed, in the order in which they are typed

	cur     *owner                 // what is being checked
	locals  map[string]*tree.Local // the names in scope
	undo    []shadowed             // how to leave scopes again
	lambda  int                    // how many lambdas we are in
	derives string                 // the derivative whose function we are in: `grad`; "" outside of all
	// how many of these, from the outside, are functions of loops, whose calls have an order
	ordered int
	flow    flow // the variables of what is being checked, and what happens to them
	placed  bool // the source names a place that is not the host
	idle    int  // how many index spaces without elements we are in: nothing there is evaluated

	gradients bool // something is differentiated

	kinds   map[ast.Expr]literal.Kind // memo of literalKindOf
	general map[*ast.Array]bool       // array literals that hold more than numbers
	symbols map[*tree.Local]string    // the symbols of locals that stand in slice bounds
}

// owner is the declaration to which errors, calls and effects belong.
type owner struct {
	name    string
	fn      *funcInfo // nil in a constant
	failed  bool
	effects int          // how many places that do input or output have been typed
	missing *missingDims // while the head of a function is typed
}

// funcInfo is a declared function, an instance of one, or a test.
type funcInfo struct {
	fn     *tree.Func
	decl   *ast.FuncDecl
	mod    *module
	pos    int // in the order of the source
	dims   map[string]bool
	calls  []callSite // in order, for effects and recursion
	needed bool       // its body is typed, or waits for it
	failed bool

	tparams    []typeParam            // of a template
	instances  map[string]*funcInfo   // of a template
	tuples     []tupleParam           // of a template: its parameters for tuples
	told       bool                   // of a template: an instance that failed has been reported
	template   *funcInfo              // of an instance
	types      map[string]types.DType // of an instance: the values of the type parameters
	tupleTypes map[string]types.Type  // and of the parameters for tuples
}

type callSite struct {
	callee *funcInfo
	at     diag.Span
}

func newChecker(source *diag.File) *checker {
	c := &checker{
		source: source, list: &diag.List{}, constOf: map[*ast.ConstDecl]*constInfo{},
		cur: &owner{}, locals: map[string]*tree.Local{},
		kinds: map[ast.Expr]literal.Kind{}, general: map[*ast.Array]bool{}, symbols: map[*tree.Local]string{},
	}
	c.enterModule(newModule(&ast.File{Source: source}))
	return c
}

// declare collects the names of a file and reports declarations that cannot be.
func (c *checker) declare(m *module) {
	places := map[string]diag.Span{}
	tests := map[string]diag.Span{}
	unique := func(id ast.Ident) bool {
		if id.Name == "" {
			return false // the parser has reported it
		}
		if first, dup := places[id.Name]; dup {
			c.errorf(diag.CodeDuplicate, id.Loc, "%s is declared twice", report.Quote(id.Name)).
				Related(first, "first declared here")
			return false
		}
		places[id.Name] = id.Loc
		return true
	}
	for _, d := range m.tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			f := &funcInfo{decl: d, pos: len(m.order), mod: m, tparams: typeParams(d), tuples: tupleParams(d),
				instances: map[string]*funcInfo{},
				fn: &tree.Func{Name: m.link + d.Name.Name, Public: d.Pub && m == c.modules[0], Loc: d.Name.Loc,
					Decl: d}}
			if m.link != "" {
				f.fn.Shown = m.name + "." + d.Name.Name
			}
			if !unique(d.Name) {
				f.failed = true
			} else {
				m.funcs[d.Name.Name] = f
			}
			m.order = append(m.order, f)
			if !f.generic() {
				c.order = append(c.order, f)
			}
		case *ast.ConstDecl:
			k := &constInfo{decl: d, mod: m}
			if unique(d.Name) {
				m.consts[d.Name.Name] = k
			}
			c.constOf[d] = k
		case *ast.TestDecl:
			if m == c.modules[0] {
				c.declareTest(m, d, tests)
			}
		}
	}
}

// signature types the head of a function.
func (c *checker) signature(f *funcInfo) {
	d := f.decl
	failed := f.failed
	c.cur = &owner{name: d.Name.Name, fn: f}
	c.attributes(f, f.template == nil)
	c.cur.missing = &missingDims{}
	f.dims = map[string]bool{}
	places := map[string]diag.Span{}
	unique := func(id ast.Ident, what string) {
		if first, dup := places[id.Name]; dup && id.Name != "_" {
			c.errorf(diag.CodeDuplicate, id.Loc, "%s %s is declared twice", what, report.Quote(id.Name)).Related(first,
				"first declared here")
		}
		places[id.Name] = id.Loc
	}
	for _, g := range d.Dims {
		unique(g.Name, "parameter")
		if g.Bound != nil && g.Bound.Name != "nat" {
			if bounds[g.Bound.Name] == nil && g.Bound.Name != tupleBound {
				c.errorf(diag.CodeUnknownType, g.Bound.Loc, "unknown bound %s", report.Quote(g.Bound.Name)).
					Help(
						"a shape parameter is `%s` or `%s: nat`; a type parameter has the bound num, int, float, any "+
							"or tuple[T]", g.Name.Name, g.Name.Name)
				continue
			}
			c.bracketsOfBound(g)
			continue
		}
		f.dims[g.Name.Name] = true
		f.fn.Dims = append(f.fn.Dims, g.Name.Name)
	}
	if f.template != nil {
		for _, p := range f.template.tuples {
			for _, t := range types.Flatten(f.tupleTypes[p.name]) {
				for _, d := range t.Shape {
					f.fn.Dims = append(f.fn.Dims, d.String())
				}
			}
		}
	}
	for i, p := range d.Params {
		unique(p.Name, "parameter")
		declared := c.typeOf(p.Type)
		t := types.Bare(declared)
		if p.Mut {
			if x, ok := t.(types.Tensor); !ok || !x.Elem.Converts() && !types.IsError(t) {
				c.errorf(diag.CodeMismatch, p.Loc, "a `&mut` parameter is a tensor, not %s", t)
			}
			f.fn.Muts = append(f.fn.Muts, i)
		}
		f.fn.Params = append(f.fn.Params, &tree.Local{Name: p.Name.Name, T: t, Loc: p.Name.Loc, Declared: declared})
	}
	f.fn.Result, f.fn.Declared = types.Unit, types.Unit
	if d.Result != nil {
		f.fn.Declared = c.typeOf(d.Result)
		f.fn.Result = types.Bare(f.fn.Declared)
	}
	c.cur.missing = nil
	f.failed = failed || c.cur.failed
}

// attributes reads what stands before `fn`. Those of a template are reported once, and count for its
// instances.
func (c *checker) attributes(f *funcInfo, report bool) {
	if !report {
		f.fn.IO, f.fn.Kernel, f.failed = f.template.fn.IO, f.template.fn.Kernel, f.template.failed
		return
	}
	c.cur = &owner{name: f.decl.Name.Name, fn: f}
	seen := map[string]diag.Span{}
	for _, a := range f.decl.Attrs {
		name := a.Name.Name
		if first, dup := seen[name]; dup {
			c.errorf(diag.CodeUnknownAttr, a.Loc, "attribute `@%s` is given twice", name).Related(first,
				"first given here")
			continue
		}
		seen[name] = a.Loc
		switch name {
		case "io":
			f.fn.IO = true
		case "kernel":
			f.fn.Kernel = true
		case "grad":
			continue // body reads it
		default:
			r := c.errorf(diag.CodeUnknownAttr, a.Loc, "unknown attribute `@%s`", name)
			if near := diag.Nearest(name, []string{"io", "kernel", "grad"}); near != "" {
				r.Help("did you mean `@%s`?", near)
			} else {
				r.Help("the attributes are `@io`, `@kernel` and `@grad`")
			}
			continue
		}
		if len(a.Args) > 0 {
			c.errorf(diag.CodeUnknownAttr, a.Loc, "attribute `@%s` takes no arguments", name)
		}
	}
}

// body types the body of a function.
func (c *checker) body(f *funcInfo) {
	c.cur = &owner{name: f.ownerName(), fn: f, failed: f.failed}
	outer := c.flow
	c.flow = flow{}
	mark := c.enter()
	for _, p := range f.fn.Params {
		c.bind(p)
	}
	for _, i := range f.fn.Muts {
		c.variable(f.fn.Params[i], true)
	}
	body := c.bodyValue(f)
	c.leave(mark)
	c.flow = outer
	if body.Type() != types.Never && !types.Equal(body.Type(), f.fn.Result) {
		at := resultSpan(f.decl.Body)
		r := c.errorf(diag.CodeResult, at, "%s returns %s, but its body is %s", report.Quote(f.fn.DisplayName()),
			f.fn.Result,
			body.Type()).
			Label("%s", body.Type())
		if f.decl.Result != nil {
			r.Related(f.decl.Result.Span(), "the declared type")
		}
		r.Explain(at, f.fn.Result, body.Type())
		if b, ok := f.decl.Body.(*ast.Block); ok && types.Equal(body.Type(), types.Unit) && len(b.Stmts) > 0 &&
			f.decl.Result != nil {
			r.Help("leave out the last `;`: a block that ends in `;` has the value unit")
		} else if f.decl.Result == nil {
			r.Help("write the result's type: `-> %s`", body.Type())
		}
	}
	f.fn.Body = body
	f.failed = c.cur.failed
}

// ownerName is the function as its own messages name it: without its module.
func (f *funcInfo) ownerName() string { return f.decl.Name.Name }

// resultSpan is the part of a body that gives its value: the mark of a long block covers only that.
func resultSpan(e ast.Expr) diag.Span {
	for {
		b, ok := e.(*ast.Block)
		if !ok || b == nil || b.Value == nil {
			break
		}
		e = b.Value
	}
	if e == nil {
		return diag.Span{}
	}
	s := e.Span()
	if b, ok := e.(*ast.Block); ok && b != nil {
		s.Start = max(s.Start, s.End-1) // the closing brace
	}
	return s
}
