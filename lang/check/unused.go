package check

import (
	"path"
	"strings"

	"healc/lang/ast"
	"healc/lang/diag"
)

// Unused warns of what a file declares and never reads: variables, functions that nothing outside can call, imports.
// A name that begins with `_` is meant to be so, and parameters are part of a contract. Where a file has neither
// public functions nor `main`, all of its functions can be called from outside.
func Unused(file *ast.File) []*diag.Diagnostic {
	u := &unused{bound: map[string][]*binding{}, modules: map[string]bool{}, byDecl: map[ast.Decl]map[string]bool{},
		users: map[string]int{}}
	outside := false
	for _, d := range file.Decls {
		u.used = map[string]bool{}
		switch d := d.(type) {
		case *ast.FuncDecl:
			outside = outside || d.Pub || d.Name.Name == "main"
			for _, p := range d.Params {
				u.bind(p.Name.Name, diag.Span{})
				u.typ(p.Type)
			}
			for _, p := range d.Dims {
				u.bind(p.Name.Name, diag.Span{})
			}
			u.typ(d.Result)
			u.expr(d.Body)
		case *ast.ConstDecl:
			u.typ(d.Type)
			u.expr(d.Value)
		case *ast.TestDecl:
			u.expr(d.Body)
		}
		u.leave(0)
		u.byDecl[d] = u.used
		for name := range u.used {
			u.users[name]++
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if outside && !d.Pub && d.Name.Name != "main" && !u.elsewhere(d) {
				u.warn(d.Name.Name, d.Name.Loc, "function", "declare it `pub fn "+d.Name.Name+
					"` if others call it, or leave it out")
			}
		case *ast.ImportDecl:
			name, at := path.Base(d.Path), d.Loc
			if d.Alias != nil {
				name, at = d.Alias.Name, d.Alias.Loc
			}
			if !u.modules[name] {
				u.warn(name, at, "module", "leave out the import")
			}
		}
	}
	list := &diag.List{Items: u.found}
	list.Sort()
	return list.Items
}

// unused walks over a file.
type unused struct {
	scope   []*binding
	bound   map[string][]*binding        // scope, by name
	used    map[string]bool              // the names of the declaration that no binding around them has
	byDecl  map[ast.Decl]map[string]bool // used, of each declaration
	users   map[string]int               // how many declarations use a name
	modules map[string]bool              // the modules that are named
	found   []*diag.Diagnostic
}

// binding is a name in its scope; one whose place is not valid is not reported.
type binding struct {
	name string
	at   diag.Span
	read *bool // shared by the names of a pattern: those of its parts say what these are
}

func (u *unused) bind(name string, at diag.Span) { u.share(name, at, new(bool)) }

func (u *unused) share(name string, at diag.Span, read *bool) {
	b := &binding{name: name, at: at, read: read}
	u.scope = append(u.scope, b)
	u.bound[name] = append(u.bound[name], b)
}

// leave ends the scopes since mark, and reports what was never read in them.
func (u *unused) leave(mark int) {
	for _, b := range u.scope[mark:] {
		u.bound[b.name] = u.bound[b.name][:len(u.bound[b.name])-1]
		if !*b.read && b.at.Valid() {
			u.warn(b.name, b.at, "variable", "leave it out, or call it `_"+b.name+"`")
		}
	}
	u.scope = u.scope[:mark]
}

func (u *unused) warn(name string, at diag.Span, what, help string) {
	if name == "" || strings.HasPrefix(name, "_") {
		return
	}
	u.found = append(u.found, &diag.Diagnostic{Code: diag.CodeUnused, Severity: diag.Warning,
		Message: what + " `" + name + "` is never used", Primary: diag.Label{Span: at}, Help: help})
}

func (u *unused) read(name string) {
	if all := u.bound[name]; len(all) > 0 {
		*all[len(all)-1].read = true
		return
	}
	u.used[name] = true
}

// elsewhere reports that another declaration names a function.
func (u *unused) elsewhere(f *ast.FuncDecl) bool {
	others := u.users[f.Name.Name]
	if u.byDecl[f][f.Name.Name] {
		others--
	}
	return others > 0
}

func (u *unused) pattern(p ast.Pattern, report bool) { u.parts(p, report, new(bool)) }

func (u *unused) parts(p ast.Pattern, report bool, read *bool) {
	switch p := p.(type) {
	case *ast.NamePattern:
		at := p.Loc
		if !report {
			at = diag.Span{}
		}
		u.share(p.Name, at, read)
	case *ast.TuplePattern:
		for _, e := range p.Elems {
			u.parts(e, report, read)
		}
	}
}

func (u *unused) typ(t ast.TypeExpr) {
	switch t := t.(type) {
	case *ast.TensorType:
		u.all(t.Dims)
		if t.Sharded != nil {
			u.expr(t.Sharded.Axis)
		}
	case *ast.TupleType:
		for _, e := range t.Elems {
			u.typ(e)
		}
	}
}

func (u *unused) all(es []ast.Expr) {
	for _, e := range es {
		u.expr(e)
	}
}

func (u *unused) expr(e ast.Expr) {
	mark := len(u.scope)
	switch e := e.(type) {
	case *ast.Name:
		u.read(e.Name)
	case *ast.Member:
		u.modules[e.Module.Name] = true
	case *ast.Unary:
		u.expr(e.X)
	case *ast.Binary:
		u.all([]ast.Expr{e.X, e.Y, e.Split})
	case *ast.Pipe:
		u.expr(e.X)
		u.expr(e.F)
	case *ast.Range:
		u.all([]ast.Expr{e.Lo, e.Hi, e.Step})
	case *ast.Cast:
		u.expr(e.X)
		u.typ(e.Type)
	case *ast.Call:
		u.expr(e.Fun)
		u.all(e.Generics)
		for _, a := range e.Args {
			u.expr(a.Value)
		}
	case *ast.Index:
		u.expr(e.X)
		u.all(e.Indices)
	case *ast.Reduce:
		u.all([]ast.Expr{e.Fun, e.Init, e.Axis, e.X})
	case *ast.Array:
		u.all(e.Elems)
	case *ast.Tuple:
		u.all(e.Elems)
	case *ast.Paren:
		u.expr(e.X)
	case *ast.Lambda:
		for _, p := range e.Params {
			u.pattern(p, false)
		}
		u.expr(e.Body)
	case *ast.Let:
		u.typ(e.Type)
		u.expr(e.Value)
		u.pattern(e.Pattern, true)
		u.expr(e.Body)
	case *ast.If:
		u.expr(e.Cond)
		u.expr(e.Then)
		u.expr(e.Else)
	case *ast.Match:
		u.expr(e.X)
		for _, a := range e.Arms {
			if n, ok := a.Pattern.(*ast.Name); ok {
				u.bind(n.Name, diag.Span{})
			}
			u.expr(a.Guard)
			u.expr(a.Body)
			u.leave(mark)
		}
	case *ast.Block:
		if e != nil {
			u.block(e)
		}
	}
	u.leave(mark)
}

func (u *unused) block(b *ast.Block) {
	for _, s := range b.Stmts {
		switch s := s.(type) {
		case *ast.LetStmt:
			u.typ(s.Type)
			u.expr(s.Value)
			u.pattern(s.Pattern, true)
		case *ast.AssignStmt:
			// To assign is not to read: what is only assigned is as good as left out.
			if x, ok := s.Target.(*ast.Index); ok {
				u.all(x.Indices)
			}
			u.expr(s.Value)
		case *ast.ReturnStmt:
			u.expr(s.Value)
		case *ast.ExprStmt:
			u.expr(s.X)
		}
	}
	u.expr(b.Value)
}
