package check

import (
	"healc/lang/ast"
	"healc/lang/diag"
	"healc/lang/types"
)

// Check types a file. The program has the functions without errors; the list has all diagnostics, sorted,
// and is never nil. Any tree is fine as input, also one that the parser repaired.
func Check(file *ast.File) (*Program, *diag.List) {
	c := newChecker(file.Source)
	c.declare(file)
	for _, f := range c.order {
		c.signature(f)
	}
	for _, k := range c.constOrder {
		c.constant(k)
	}
	for _, f := range c.order {
		c.body(f)
	}
	c.recursion()
	p := &Program{Source: file.Source}
	for _, f := range c.order {
		if !f.failed {
			p.Funcs = append(p.Funcs, f.fn)
		}
	}
	c.list.Sort()
	return p, c.list
}

// checker is the state of one run.
type checker struct {
	source *diag.File
	list   *diag.List

	funcs      map[string]*funcInfo
	order      []*funcInfo // in source order
	consts     map[string]*constInfo
	constOrder []*constInfo

	cur    *owner            // what is being checked
	locals map[string]*Local // the names in scope
	undo   []shadowed        // how to leave scopes again
	lambda int               // how many lambdas we are in
	idle   int               // how many index spaces without elements we are in: nothing there is evaluated

	kinds   map[ast.Expr]literalKind // memo of literalKindOf
	general map[*ast.Array]bool      // array literals that hold more than numbers
	symbols map[*Local]string        // the symbols of locals that stand in slice bounds
}

// owner is the declaration to which errors, calls and effects belong.
type owner struct {
	name   string
	fn     *funcInfo // nil in a constant
	failed bool
}

// funcInfo is a declared function.
type funcInfo struct {
	fn     *Func
	decl   *ast.FuncDecl
	pos    int // in the order of the source
	dims   map[string]bool
	calls  []callSite // in order, for effects and recursion
	failed bool
}

type callSite struct {
	callee *funcInfo
	at     diag.Span
}

func newChecker(source *diag.File) *checker {
	return &checker{
		source: source, list: &diag.List{},
		funcs: map[string]*funcInfo{}, consts: map[string]*constInfo{},
		cur: &owner{}, locals: map[string]*Local{},
		kinds: map[ast.Expr]literalKind{}, general: map[*ast.Array]bool{}, symbols: map[*Local]string{},
	}
}

// declare collects the names of the file and reports declarations that cannot be.
func (c *checker) declare(file *ast.File) {
	places := map[string]diag.Span{}
	unique := func(id ast.Ident) bool {
		if id.Name == "" {
			return false // the parser has reported it
		}
		if first, dup := places[id.Name]; dup {
			c.errorf(diag.CodeDuplicate, id.Loc, "%s is declared twice", quote(id.Name)).
				related(first, "first declared here")
			return false
		}
		places[id.Name] = id.Loc
		return true
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			f := &funcInfo{decl: d, pos: len(c.order), fn: &Func{Name: d.Name.Name, Public: d.Pub, Loc: d.Name.Loc, Decl: d}}
			if !unique(d.Name) {
				f.failed = true
			} else {
				c.funcs[d.Name.Name] = f
			}
			c.order = append(c.order, f)
		case *ast.ConstDecl:
			k := &constInfo{decl: d}
			if unique(d.Name) {
				c.consts[d.Name.Name] = k
			}
			c.constOrder = append(c.constOrder, k)
		case *ast.ImportDecl:
			c.unsupported(d.Loc, "import")
		case *ast.TestDecl:
			c.unsupported(d.Loc, "a `test` block")
		}
	}
}

// signature types the head of a function.
func (c *checker) signature(f *funcInfo) {
	d := f.decl
	failed := f.failed
	c.cur = &owner{name: d.Name.Name, fn: f}
	c.attributes(f)
	f.dims = map[string]bool{}
	places := map[string]diag.Span{}
	unique := func(id ast.Ident, what string) {
		if first, dup := places[id.Name]; dup && id.Name != "_" {
			c.errorf(diag.CodeDuplicate, id.Loc, "%s %s is declared twice", what, quote(id.Name)).related(first, "first declared here")
		}
		places[id.Name] = id.Loc
	}
	for _, g := range d.Dims {
		unique(g.Name, "parameter")
		if g.Bound != nil && g.Bound.Name != "nat" {
			switch g.Bound.Name {
			case "num", "int", "float", "any":
				c.unsupported(g.Loc, "a type parameter")
			default:
				c.errorf(diag.CodeUnknownType, g.Bound.Loc, "unknown bound %s", quote(g.Bound.Name)).
					help("a shape parameter is `%s` or `%s: nat`; a type parameter has the bound num, int, float or any", g.Name.Name, g.Name.Name)
			}
			continue
		}
		f.dims[g.Name.Name] = true
		f.fn.Dims = append(f.fn.Dims, g.Name.Name)
	}
	for _, p := range d.Params {
		unique(p.Name, "parameter")
		if p.Mut {
			c.unsupported(p.Loc, "a `&mut` parameter")
		}
		f.fn.Params = append(f.fn.Params, &Local{Name: p.Name.Name, T: c.typeOf(p.Type), Loc: p.Name.Loc})
	}
	f.fn.Result = types.Unit
	if d.Result != nil {
		f.fn.Result = c.typeOf(d.Result)
	}
	f.failed = failed || c.cur.failed
}

// attributes reads what stands before `fn`.
func (c *checker) attributes(f *funcInfo) {
	seen := map[string]diag.Span{}
	for _, a := range f.decl.Attrs {
		name := a.Name.Name
		if first, dup := seen[name]; dup {
			c.errorf(diag.CodeUnknownAttr, a.Loc, "attribute `@%s` is given twice", name).related(first, "first given here")
			continue
		}
		seen[name] = a.Loc
		switch name {
		case "io":
			f.fn.IO = true
		case "kernel":
			f.fn.Kernel = true
		case "grad":
			c.unsupported(a.Loc, "attribute `@grad`")
			continue
		default:
			r := c.errorf(diag.CodeUnknownAttr, a.Loc, "unknown attribute `@%s`", name)
			if near := diag.Nearest(name, []string{"io", "kernel", "grad"}); near != "" {
				r.help("did you mean `@%s`?", near)
			} else {
				r.help("the attributes are `@io` and `@kernel`")
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
	c.cur = &owner{name: f.fn.Name, fn: f, failed: f.failed}
	mark := c.enter()
	for _, p := range f.fn.Params {
		c.bind(p)
	}
	var body Expr
	if b, ok := f.decl.Body.(*ast.Block); ok && b != nil {
		body = c.functionBlock(b, f.fn.Result)
	} else {
		body = c.expr(f.decl.Body, f.fn.Result)
	}
	c.leave(mark)
	if !types.Equal(body.Type(), f.fn.Result) {
		at := resultSpan(f.decl.Body)
		r := c.errorf(diag.CodeResult, at, "%s returns %s, but its body is %s", quote(f.fn.Name), f.fn.Result, body.Type()).
			label("%s", body.Type())
		if f.decl.Result != nil {
			r.related(f.decl.Result.Span(), "the declared type")
		}
		c.explainMismatch(r, at, f.fn.Result, body.Type())
		if b, ok := f.decl.Body.(*ast.Block); ok && types.Equal(body.Type(), types.Unit) && len(b.Stmts) > 0 && f.decl.Result != nil {
			r.help("leave out the last `;`: a block that ends in `;` has the value unit")
		} else if f.decl.Result == nil {
			r.help("write the result's type: `-> %s`", body.Type())
		}
	}
	f.fn.Body = body
	f.failed = c.cur.failed
}

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
