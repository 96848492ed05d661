package names

import (
	"healc/lang/ast"
	"healc/lang/diag"
)

// reader walks over the declarations of a file.
type reader struct {
	table *Table
	in    ast.Decl
	scope []*Symbol
	bound map[string][]*Symbol // scope, by name
}

func (r *reader) bind(s *Symbol) {
	r.table.Symbols = append(r.table.Symbols, s)
	r.scope = append(r.scope, s)
	r.bound[s.Name] = append(r.bound[s.Name], s)
}

// leave ends the scopes since mark.
func (r *reader) leave(mark int) {
	for _, s := range r.scope[mark:] {
		r.bound[s.Name] = r.bound[s.Name][:len(r.bound[s.Name])-1]
	}
	r.scope = r.scope[:mark]
}

func (r *reader) use(name string, at diag.Span, assigned bool) {
	u := &Use{Span: at, Name: name, In: r.in, Assigned: assigned, Symbol: r.table.top[name]}
	if all := r.bound[name]; len(all) > 0 {
		u.Symbol = all[len(all)-1]
	}
	r.table.Uses = append(r.table.Uses, u)
}

func (r *reader) function(d *ast.FuncDecl) {
	for _, p := range d.Dims {
		r.bind(&Symbol{Name: p.Name.Name, Kind: Shape, Decl: p.Name.Loc, Scope: d.Loc, Node: p})
	}
	for _, a := range d.Attrs {
		r.all(a.Args)
	}
	for _, p := range d.Params {
		r.typ(p.Type)
	}
	for _, p := range d.Params {
		r.bind(&Symbol{Name: p.Name.Name, Kind: Parameter, Decl: p.Name.Loc, Scope: d.Loc, Node: p})
	}
	for _, p := range d.Dims {
		if p.Of != nil {
			r.use(p.Of.Name, p.Of.Loc, false)
		}
	}
	r.typ(d.Result)
	r.expr(d.Body)
}

// pattern binds the names of a pattern from after on, to the end of a scope.
func (r *reader) pattern(p, whole ast.Pattern, kind Kind, node ast.Node, scope diag.Span) {
	switch p := p.(type) {
	case *ast.NamePattern:
		if p.Name != "_" {
			r.bind(&Symbol{Name: p.Name, Kind: kind, Decl: p.Loc, Scope: scope, Node: node, Pattern: whole})
		}
	case *ast.TuplePattern:
		for _, e := range p.Elems {
			r.pattern(e, whole, kind, node, scope)
		}
	}
}

// from is the part of a span that begins where another ends.
func from(begin, all diag.Span) diag.Span {
	return diag.Span{File: all.File, Start: begin.End, End: max(begin.End, all.End)}
}

func (r *reader) typ(t ast.TypeExpr) {
	switch t := t.(type) {
	case *ast.TensorType:
		if len(r.bound[t.Elem.Name]) > 0 { // a type parameter
			r.use(t.Elem.Name, t.Elem.Loc, false)
		}
		r.all(t.Dims)
		if t.Sharded != nil {
			r.expr(t.Sharded.Axis)
		}
	case *ast.TupleType:
		for _, e := range t.Elems {
			r.typ(e)
		}
	}
}

func (r *reader) all(es []ast.Expr) {
	for _, e := range es {
		r.expr(e)
	}
}

func (r *reader) expr(e ast.Expr) {
	mark := len(r.scope)
	switch e := e.(type) {
	case *ast.Name:
		r.use(e.Name, e.Loc, false)
	case *ast.Member:
		r.member(e)
	case *ast.Unary:
		r.expr(e.X)
	case *ast.Binary:
		r.all([]ast.Expr{e.X, e.Y, e.Split})
	case *ast.Pipe:
		r.expr(e.X)
		r.expr(e.F)
	case *ast.Range:
		r.all([]ast.Expr{e.Lo, e.Hi, e.Step})
	case *ast.Cast:
		r.expr(e.X)
		r.typ(e.Type)
	case *ast.Call:
		r.expr(e.Fun)
		r.all(e.Generics)
		for _, a := range e.Args {
			r.expr(a.Value)
		}
	case *ast.Index:
		r.expr(e.X)
		r.all(e.Indices)
	case *ast.Reduce:
		r.all([]ast.Expr{e.Fun, e.Init, e.Axis, e.X})
	case *ast.Array:
		r.all(e.Elems)
	case *ast.Tuple:
		r.all(e.Elems)
	case *ast.Paren:
		r.expr(e.X)
	case *ast.Lambda:
		for _, p := range e.Params {
			r.pattern(p, p, LambdaParameter, e, from(p.Span(), e.Loc))
		}
		r.expr(e.Body)
	case *ast.Let:
		r.typ(e.Type)
		r.expr(e.Value)
		r.pattern(e.Pattern, e.Pattern, Variable, e, e.Body.Span())
		r.expr(e.Body)
	case *ast.If:
		r.expr(e.Cond)
		r.expr(e.Then)
		r.expr(e.Else)
	case *ast.Match:
		r.expr(e.X)
		for _, a := range e.Arms {
			if n, ok := a.Pattern.(*ast.Name); ok && n.Name != "_" {
				r.bind(&Symbol{Name: n.Name, Kind: ArmName, Decl: n.Loc, Scope: a.Loc, Node: a})
			}
			r.expr(a.Guard)
			r.expr(a.Body)
			r.leave(mark)
		}
	case *ast.Block:
		if e != nil {
			r.block(e)
		}
	}
	r.leave(mark)
}

func (r *reader) member(e *ast.Member) {
	r.use(e.Module.Name, e.Module.Loc, false)
	module := r.table.Uses[len(r.table.Uses)-1].Symbol
	r.table.Uses = append(r.table.Uses, &Use{Span: e.Name.Loc, Name: e.Name.Name, In: r.in, Module: module})
}

func (r *reader) block(b *ast.Block) {
	for _, s := range b.Stmts {
		switch s := s.(type) {
		case *ast.LetStmt:
			r.typ(s.Type)
			r.expr(s.Value)
			r.pattern(s.Pattern, s.Pattern, Variable, s, from(s.Loc, b.Loc))
		case *ast.AssignStmt:
			r.target(s.Target)
			r.expr(s.Value)
		case *ast.ReturnStmt:
			r.expr(s.Value)
		case *ast.ExprStmt:
			r.expr(s.X)
		}
	}
	r.expr(b.Value)
}

// target is what gets another value.
func (r *reader) target(e ast.Expr) {
	switch e := e.(type) {
	case *ast.Name:
		r.use(e.Name, e.Loc, true)
	case *ast.Index:
		r.target(e.X)
		r.all(e.Indices)
	default:
		r.expr(e)
	}
}
