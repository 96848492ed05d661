package infer

import (
	"slices"
	"strings"

	"healc/lang/ast"
	"healc/lang/check/literal"
	"healc/lang/check/report"
	"healc/lang/check/scope"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// instance is the function f with these types for its type parameters and its parameters for tuples.
func (c *Checker) instance(f *scope.Func, ts []types.DType, ps []types.Type) *scope.Func {
	var names, keys []string
	for _, t := range ts {
		names, keys = append(names, t.String()), append(keys, t.String())
	}
	for i, p := range f.TupleParams {
		names, keys = append(names, scope.TupleShape(p.Name, ps[i]).String()), append(keys, tupleKey(ps[i]))
	}
	key := strings.Join(keys, ".")
	if g := f.Instances[key]; g != nil {
		return g
	}
	g := &scope.Func{
		Decl: f.Decl, Pos: f.Pos, Module: f.Module, Template: f, Types: map[string]types.DType{},
		TupleTypes: map[string]types.Type{},
		Tree: &tree.Func{
			Name: f.Tree.Name + "." + key, Shown: f.Tree.DisplayName() + "[" + strings.Join(names, ", ") + "]",
			Loc: f.Tree.Loc, Decl: f.Decl, // not public: from outside it is named with its types
		},
	}
	for i, p := range f.TypeParams {
		g.Types[p.Name] = ts[i]
	}
	for i, p := range f.TupleParams {
		g.TupleTypes[p.Name] = scope.TupleShape(p.Name, ps[i])
	}
	f.Instances[key] = g // before its signature, which does not call it but may ask for constants
	c.Guarded(g, func() { c.InModule(g.Module, func() { c.Signature(g) }) })
	c.Order = append(c.Order, g)
	return g
}

// Guarded collects what check reports about an instance. The first instance of a template that fails
// is reported, with its types; the others fail in silence.
func (c *Checker) Guarded(g *scope.Func, check func()) {
	if g.Template == nil {
		check()
		return
	}
	outer := c.List
	c.List = &diag.List{}
	check()
	found := c.List
	c.List = outer
	if !found.HasErrors() || g.Template.Reported {
		return
	}
	g.Template.Reported = true
	var parts []string
	for _, p := range g.Template.TypeParams {
		parts = append(parts, p.Name+" = "+g.Types[p.Name].String())
	}
	for _, p := range g.Template.TupleParams {
		parts = append(parts, p.Name+" = "+g.TupleTypes[p.Name].String())
	}
	for _, d := range found.Items {
		d.Notes = append(d.Notes, "for "+strings.Join(parts, ", "))
		c.List.AddUpTo(scope.MaxErrors, d)
	}
	c.List.More += found.More
}

// maxTrials bounds the combinations of types for which a body is typed at its declaration.
const maxTrials = 256

// Trials types the body of a template for the types of its bounds: for all combinations, or, when these
// are too many, for every type of each parameter with the others at their first.
func (c *Checker) Trials(f *scope.Func) {
	total := 1
	for _, p := range f.TypeParams {
		total = min(total*len(scope.Bounds[p.Bound]), maxTrials+1)
	}
	choice := make([]int, len(f.TypeParams))
	try := func() {
		ts := make([]types.DType, len(choice))
		for i, k := range choice {
			ts[i] = scope.Bounds[f.TypeParams[i].Bound][k]
		}
		if len(f.TupleParams) > 0 {
			c.tupleTrials(f, ts)
			return
		}
		c.Need(c.instance(f, ts, nil))
	}
	if total > maxTrials {
		for i, p := range f.TypeParams {
			for k := range scope.Bounds[p.Bound] {
				choice[i] = k
				try()
			}
			choice[i] = 0
		}
		return
	}
	for {
		try()
		i := len(choice) - 1
		for ; i >= 0; i-- {
			if choice[i]++; choice[i] < len(scope.Bounds[f.TypeParams[i].Bound]) {
				break
			}
			choice[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

// typeBinding finds the type arguments of one call.
type typeBinding struct {
	f      *scope.Func
	bind   map[string]types.DType
	tuples map[string]types.Type // the arguments that bind parameters for tuples
	hint   bool                  // collect what a place asks for, which binds only what the bound allows
}

func newBinding(f *scope.Func) *typeBinding {
	return &typeBinding{f: f, bind: map[string]types.DType{}, tuples: map[string]types.Type{}}
}

// boundOf is the bound of a type parameter, "" for every other name.
func (b *typeBinding) boundOf(name string) string {
	for _, p := range b.f.TypeParams {
		if p.Name == name {
			return p.Bound
		}
	}
	return ""
}

func (b *typeBinding) isParam(name string) bool { return b.boundOf(name) != "" }

// collect binds the type parameters that t mentions where a value of type got stands.
func (b *typeBinding) collect(t ast.TypeExpr, got types.Type) {
	switch t := t.(type) {
	case *ast.TensorType:
		if p, ok := b.f.TupleParam(t.Elem.Name); ok {
			b.collectTuple(p, got)
			return
		}
		g, ok := got.(types.Tensor)
		if !ok || !b.isParam(t.Elem.Name) || !g.Elem.Converts() {
			return
		}
		if _, bound := b.bind[t.Elem.Name]; !bound && (!b.hint || scope.InBound(b.boundOf(t.Elem.Name), g.Elem)) {
			b.bind[t.Elem.Name] = g.Elem
		}
	case *ast.TupleType:
		g, ok := got.(types.Tuple)
		if !ok || len(g.Elems) != len(t.Elems) {
			return
		}
		for i, e := range t.Elems {
			b.collect(e, g.Elems[i])
		}
	}
}

// want is the type that an argument for a parameter of type t should have as far as it is known: its
// element types, without shapes. It is nil for nothing.
func (b *typeBinding) want(t ast.TypeExpr) types.Type {
	switch t := t.(type) {
	case *ast.TensorType:
		if p, ok := b.f.TupleParam(t.Elem.Name); ok {
			return b.wantTuple(p)
		}
		if d, ok := b.bind[t.Elem.Name]; ok {
			return literal.Want(d)
		}
		if d, ok := types.ParseDType(t.Elem.Name); ok && !b.isParam(t.Elem.Name) {
			return literal.Want(d)
		}
	case *ast.TupleType:
		out := types.Tuple{Elems: make([]types.Type, len(t.Elems))}
		for i, e := range t.Elems {
			out.Elems[i] = b.want(e)
		}
		return out
	}
	return nil
}

// literalDefault is the type that a literal gives a type parameter that nothing else binds.
func (b *typeBinding) literalDefault(name string, k literal.Kind) types.DType {
	if b.boundOf(name) == "float" {
		return types.F32
	}
	return literal.Default(k, types.Invalid)
}

// callGeneric is a call of a template. ordered are the arguments in the order of the parameters.
func (c *Checker) callGeneric(e *ast.Call, f *scope.Func, ordered []ast.Expr, want types.Type) tree.Expr {
	b := newBinding(f)
	var dims types.Shape
	if len(e.Generics) > 0 {
		var ok bool
		if dims, ok = c.explicitGenerics(e, f, b); !ok {
			return tree.Bad(e.Loc)
		}
	}
	params := f.Decl.Params
	args := make([]tree.Expr, len(ordered))
	for i, a := range ordered { // what has a type of its own says what the literals are
		if c.LiteralKindOf(a) == literal.Typed {
			args[i] = c.Expr(a, b.want(params[i].Type))
			if tree.IsBad(args[i]) {
				c.restOf(ordered, args)
				return tree.Bad(e.Loc)
			}
			b.collect(params[i].Type, args[i].Type())
		}
	}
	if len(b.bind) < len(f.TypeParams) && f.Decl.Result != nil && want != nil {
		b.hint = true
		b.collect(f.Decl.Result, want)
		b.hint = false
	}
	kinds := map[string]literal.Kind{} // of the literals that stand for an unbound parameter, the widest
	for i, a := range ordered {
		if t, ok := params[i].Type.(*ast.TensorType); ok && args[i] == nil {
			name := t.Elem.Name
			if p, ok := f.TupleParam(name); ok {
				name = p.Of
			}
			if b.isParam(name) {
				kinds[name] = max(kinds[name], c.LiteralKindOf(a))
			}
		}
	}
	for name, k := range kinds {
		if _, bound := b.bind[name]; !bound {
			b.bind[name] = b.literalDefault(name, k)
		}
	}
	for i, a := range ordered {
		if args[i] == nil {
			args[i] = c.Expr(a, b.want(params[i].Type))
			b.collect(params[i].Type, args[i].Type())
		}
	}
	if slices.ContainsFunc(args, tree.IsBad) {
		return tree.Bad(e.Loc)
	}
	g := c.bound(e.Loc, f, b)
	if g == nil {
		return tree.Bad(e.Loc)
	}
	return c.instantiate(e.Loc, g, dims, args, want)
}

// restOf types the arguments that are left, for their errors.
func (c *Checker) restOf(ordered []ast.Expr, args []tree.Expr) {
	for i, a := range ordered {
		if args[i] == nil {
			args[i] = c.Expr(a, nil)
		}
	}
}

// bound is the instance that a binding chooses; nil when there is none, which has been reported.
func (c *Checker) bound(at diag.Span, f *scope.Func, b *typeBinding) *scope.Func {
	ts := make([]types.DType, len(f.TypeParams))
	for i, p := range f.TypeParams {
		d, ok := b.bind[p.Name]
		if !ok {
			c.Errorf(diag.CodeUnboundParam, at, "nothing says what type %s of %s is", report.Quote(p.Name),
				report.Quote(f.Tree.DisplayName())).
				Note("%s", scope.TemplateText(f)).Help("give it in the call: `%s[%s](...)`", f.Tree.DisplayName(),
				scope.GenericNames(f.Decl))
			return nil
		}
		if !scope.InBound(p.Bound, d) {
			r := c.Errorf(diag.CodeBound, at, "type parameter %s of %s is %s, and here it would be %s",
				report.Quote(p.Name), report.Quote(f.Tree.DisplayName()), scope.BoundText(p.Bound), d).
				Note("%s", scope.TemplateText(f))
			if d.IsStored() {
				r.Help("elements are only stored in %s, and no bound stands for it: convert the argument, `as %s`", d,
					d.ComputesAs())
			}
			return nil
		}
		ts[i] = d
	}
	ps, ok := c.boundTuples(at, f, b)
	if !ok {
		return nil
	}
	g := c.instance(f, ts, ps)
	if g.Failed {
		c.Cur.Failed = true
	}
	return g
}

// generalInstance is the instance of f for arguments of these types, as where a function's name stands
// for a lambda.
func (c *Checker) generalInstance(at diag.Span, f *scope.Func, args []tree.Expr) *scope.Func {
	b := newBinding(f)
	for i, a := range args {
		if i < len(f.Decl.Params) {
			b.collect(f.Decl.Params[i].Type, a.Type())
		}
	}
	return c.bound(at, f, b)
}

// explicitGenerics reads the brackets of a call of a template: types and extents, in the order of the
// declaration.
func (c *Checker) explicitGenerics(e *ast.Call, f *scope.Func, b *typeBinding) (types.Shape, bool) {
	if len(f.TupleParams) > 0 {
		c.Errorf(diag.CodeArity, e.Generics[0].Span(), "%s takes no brackets: an argument says what type %s is",
			report.Quote(f.Tree.DisplayName()), report.Quote(f.TupleParams[0].Name)).Note("%s", scope.TemplateText(f))
		return nil, false
	}
	if len(e.Generics) != len(f.Decl.Dims) {
		c.Errorf(diag.CodeArity, e.Generics[0].Span(), "%s takes %s in brackets, not %d",
			report.Quote(f.Tree.DisplayName()),
			report.Plural(len(f.Decl.Dims), "argument"), len(e.Generics)).Note("%s", scope.TemplateText(f))
		return nil, false
	}
	dims := types.Shape{}
	for i, g := range e.Generics {
		p := f.Decl.Dims[i]
		if !b.isParam(p.Name.Name) {
			d, ok := c.Dim(g)
			if !ok {
				return nil, false
			}
			dims = append(dims, d)
			continue
		}
		n, ok := g.(*ast.Name)
		if !ok {
			c.Errorf(diag.CodeUnknownType, g.Span(), "type parameter %s of %s takes an element type",
				report.Quote(p.Name.Name), report.Quote(f.Tree.DisplayName())).
				Note("%s", scope.TemplateText(f))
			return nil, false
		}
		d, ok := c.ElemType(ast.Ident{At: n.At, Name: n.Name})
		if !ok {
			return nil, false
		}
		b.bind[p.Name.Name] = d
	}
	if len(dims) == 0 {
		dims = nil
	}
	return dims, true
}
