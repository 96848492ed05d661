package check

import (
	"fmt"
	"slices"
	"strings"

	"healc/lang/ast"
	"healc/lang/check/literal"
	"healc/lang/check/report"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// A function with type parameters is a template. An instance of it is the function with an element type
// for each of them; it is typed like any function, its shape parameters symbolic. The body is typed for
// every type of the bounds where it is declared, so an error shows there whoever calls it; the first
// type that fails is reported, with the type in a note. The functions of the library are typed for the
// types that are used: the library's own tests type them for all.
//
// An instance is called `norm[f32]` in messages and norm.f32 in the IR.

// typeParam is a type parameter and its bound.
type typeParam struct {
	name  string
	bound string
}

// bounds are the element types that each bound stands for, in table order.
var bounds = func() map[string][]types.DType {
	m := map[string][]types.DType{"any": types.DTypes}
	for _, d := range types.DTypes {
		switch {
		case d.IsFloat():
			m["float"] = append(m["float"], d)
			m["num"] = append(m["num"], d)
		case d.IsInt():
			m["int"] = append(m["int"], d)
			m["num"] = append(m["num"], d)
		}
	}
	return m
}()

// boundText is a bound for messages.
func boundText(bound string) string {
	switch bound {
	case "int":
		return "an integer type"
	case "float":
		return "a float type"
	case "num":
		return "a number type"
	}
	return "an element type"
}

func inBound(bound string, d types.DType) bool {
	for _, x := range bounds[bound] {
		if x == d {
			return true
		}
	}
	return false
}

// typeParams lists the type parameters of a declaration.
func typeParams(d *ast.FuncDecl) []typeParam {
	var out []typeParam
	for _, g := range d.Dims {
		if g.Bound != nil && bounds[g.Bound.Name] != nil {
			out = append(out, typeParam{g.Name.Name, g.Bound.Name})
		}
	}
	return out
}

// generic reports that f is a template.
func (f *funcInfo) generic() bool { return len(f.tparams)+len(f.tuples) > 0 }

// instance is the function f with these types for its type parameters and its parameters for tuples.
func (c *checker) instance(f *funcInfo, ts []types.DType, ps []types.Type) *funcInfo {
	var names, keys []string
	for _, t := range ts {
		names, keys = append(names, t.String()), append(keys, t.String())
	}
	for i, p := range f.tuples {
		names, keys = append(names, tupleShape(p.name, ps[i]).String()), append(keys, tupleKey(ps[i]))
	}
	key := strings.Join(keys, ".")
	if g := f.instances[key]; g != nil {
		return g
	}
	g := &funcInfo{
		decl: f.decl, pos: f.pos, mod: f.mod, template: f, types: map[string]types.DType{},
		tupleTypes: map[string]types.Type{},
		fn: &tree.Func{
			Name: f.fn.Name + "." + key, Shown: f.fn.DisplayName() + "[" + strings.Join(names, ", ") + "]",
			Loc: f.fn.Loc, Decl: f.decl, // not public: from outside it is named with its types
		},
	}
	for i, p := range f.tparams {
		g.types[p.name] = ts[i]
	}
	for i, p := range f.tuples {
		g.tupleTypes[p.name] = tupleShape(p.name, ps[i])
	}
	f.instances[key] = g // before its signature, which does not call it but may ask for constants
	c.guarded(g, func() { c.inModule(g.mod, func() { c.signature(g) }) })
	c.order = append(c.order, g)
	return g
}

// guarded collects what check reports about an instance. The first instance of a template that fails
// is reported, with its types; the others fail in silence.
func (c *checker) guarded(g *funcInfo, check func()) {
	if g.template == nil {
		check()
		return
	}
	outer := c.list
	c.list = &diag.List{}
	check()
	found := c.list
	c.list = outer
	if !found.HasErrors() || g.template.told {
		return
	}
	g.template.told = true
	var parts []string
	for _, p := range g.template.tparams {
		parts = append(parts, p.name+" = "+g.types[p.name].String())
	}
	for _, p := range g.template.tuples {
		parts = append(parts, p.name+" = "+g.tupleTypes[p.name].String())
	}
	for _, d := range found.Items {
		d.Notes = append(d.Notes, "for "+strings.Join(parts, ", "))
		if len(c.list.Items) < maxErrors {
			c.list.Add(d)
		}
	}
}

// maxTrials bounds the combinations of types for which a body is typed at its declaration.
const maxTrials = 256

// trials types the body of a template for the types of its bounds: for all combinations, or, when these
// are too many, for every type of each parameter with the others at their first.
func (c *checker) trials(f *funcInfo) {
	total := 1
	for _, p := range f.tparams {
		total = min(total*len(bounds[p.bound]), maxTrials+1)
	}
	choice := make([]int, len(f.tparams))
	try := func() {
		ts := make([]types.DType, len(choice))
		for i, k := range choice {
			ts[i] = bounds[f.tparams[i].bound][k]
		}
		if len(f.tuples) > 0 {
			c.tupleTrials(f, ts)
			return
		}
		c.need(c.instance(f, ts, nil))
	}
	if total > maxTrials {
		for i, p := range f.tparams {
			for k := range bounds[p.bound] {
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
			if choice[i]++; choice[i] < len(bounds[f.tparams[i].bound]) {
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
	f      *funcInfo
	bind   map[string]types.DType
	tuples map[string]types.Type // the arguments that bind parameters for tuples
	hint   bool                  // collect what a place asks for, which binds only what the bound allows
}

func newBinding(f *funcInfo) *typeBinding {
	return &typeBinding{f: f, bind: map[string]types.DType{}, tuples: map[string]types.Type{}}
}

// boundOf is the bound of a type parameter, "" for every other name.
func (b *typeBinding) boundOf(name string) string {
	for _, p := range b.f.tparams {
		if p.name == name {
			return p.bound
		}
	}
	return ""
}

func (b *typeBinding) isParam(name string) bool { return b.boundOf(name) != "" }

// collect binds the type parameters that t mentions where a value of type got stands.
func (b *typeBinding) collect(t ast.TypeExpr, got types.Type) {
	switch t := t.(type) {
	case *ast.TensorType:
		if p, ok := b.f.tupleParam(t.Elem.Name); ok {
			b.collectTuple(p, got)
			return
		}
		g, ok := got.(types.Tensor)
		if !ok || !b.isParam(t.Elem.Name) || !g.Elem.Converts() {
			return
		}
		if _, bound := b.bind[t.Elem.Name]; !bound && (!b.hint || inBound(b.boundOf(t.Elem.Name), g.Elem)) {
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
		if p, ok := b.f.tupleParam(t.Elem.Name); ok {
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
func (c *checker) callGeneric(e *ast.Call, f *funcInfo, ordered []ast.Expr, want types.Type) tree.Expr {
	b := newBinding(f)
	var dims types.Shape
	if len(e.Generics) > 0 {
		var ok bool
		if dims, ok = c.explicitGenerics(e, f, b); !ok {
			return tree.Bad(e.Loc)
		}
	}
	params := f.decl.Params
	args := make([]tree.Expr, len(ordered))
	for i, a := range ordered { // what has a type of its own says what the literals are
		if c.literalKindOf(a) == literal.Typed {
			args[i] = c.expr(a, b.want(params[i].Type))
			if tree.IsBad(args[i]) {
				c.restOf(ordered, args)
				return tree.Bad(e.Loc)
			}
			b.collect(params[i].Type, args[i].Type())
		}
	}
	if len(b.bind) < len(f.tparams) && f.decl.Result != nil && want != nil {
		b.hint = true
		b.collect(f.decl.Result, want)
		b.hint = false
	}
	kinds := map[string]literal.Kind{} // of the literals that stand for an unbound parameter, the widest
	for i, a := range ordered {
		if t, ok := params[i].Type.(*ast.TensorType); ok && args[i] == nil {
			name := t.Elem.Name
			if p, ok := f.tupleParam(name); ok {
				name = p.of
			}
			if b.isParam(name) {
				kinds[name] = max(kinds[name], c.literalKindOf(a))
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
			args[i] = c.expr(a, b.want(params[i].Type))
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
	return c.instantiate(e.Loc, g, dims, args)
}

// restOf types the arguments that are left, for their errors.
func (c *checker) restOf(ordered []ast.Expr, args []tree.Expr) {
	for i, a := range ordered {
		if args[i] == nil {
			args[i] = c.expr(a, nil)
		}
	}
}

// bound is the instance that a binding chooses; nil when there is none, which has been reported.
func (c *checker) bound(at diag.Span, f *funcInfo, b *typeBinding) *funcInfo {
	ts := make([]types.DType, len(f.tparams))
	for i, p := range f.tparams {
		d, ok := b.bind[p.name]
		if !ok {
			c.errorf(diag.CodeUnboundParam, at, "nothing says what type %s of %s is", report.Quote(p.name),
				report.Quote(f.fn.DisplayName())).
				Note("%s", templateText(f)).Help("give it in the call: `%s[%s](...)`", f.fn.DisplayName(),
				genericNames(f.decl))
			return nil
		}
		if !inBound(p.bound, d) {
			c.errorf(diag.CodeBound, at, "type parameter %s of %s is %s, and here it would be %s", report.Quote(p.name),
				report.Quote(f.fn.DisplayName()), boundText(p.bound), d).
				Note("%s", templateText(f))
			return nil
		}
		ts[i] = d
	}
	ps, ok := c.boundTuples(at, f, b)
	if !ok {
		return nil
	}
	g := c.instance(f, ts, ps)
	if g.failed {
		c.cur.failed = true
	}
	return g
}

// generalInstance is the instance of f for arguments of these types, as where a function's name stands
// for a lambda.
func (c *checker) generalInstance(at diag.Span, f *funcInfo, args []tree.Expr) *funcInfo {
	b := newBinding(f)
	for i, a := range args {
		if i < len(f.decl.Params) {
			b.collect(f.decl.Params[i].Type, a.Type())
		}
	}
	return c.bound(at, f, b)
}

// explicitGenerics reads the brackets of a call of a template: types and extents, in the order of the
// declaration.
func (c *checker) explicitGenerics(e *ast.Call, f *funcInfo, b *typeBinding) (types.Shape, bool) {
	if len(f.tuples) > 0 {
		c.errorf(diag.CodeArity, e.Generics[0].Span(), "%s takes no brackets: an argument says what type %s is",
			report.Quote(f.fn.DisplayName()),
			report.Quote(f.tuples[0].name)).Note("%s", templateText(f))
		return nil, false
	}
	if len(e.Generics) != len(f.decl.Dims) {
		c.errorf(diag.CodeArity, e.Generics[0].Span(), "%s takes %s in brackets, not %d",
			report.Quote(f.fn.DisplayName()),
			report.Plural(len(f.decl.Dims), "argument"), len(e.Generics)).Note("%s", templateText(f))
		return nil, false
	}
	dims := types.Shape{}
	for i, g := range e.Generics {
		p := f.decl.Dims[i]
		if !b.isParam(p.Name.Name) {
			d, ok := c.dim(g)
			if !ok {
				return nil, false
			}
			dims = append(dims, d)
			continue
		}
		n, ok := g.(*ast.Name)
		if !ok {
			c.errorf(diag.CodeUnknownType, g.Span(), "type parameter %s of %s takes an element type",
				report.Quote(p.Name.Name), report.Quote(f.fn.DisplayName())).
				Note("%s", templateText(f))
			return nil, false
		}
		d, ok := c.elemType(ast.Ident{At: n.At, Name: n.Name})
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

// genericNames is "T, M, N".
func genericNames(d *ast.FuncDecl) string {
	names := make([]string, len(d.Dims))
	for i, g := range d.Dims {
		names[i] = g.Name.Name
	}
	return strings.Join(names, ", ")
}

// templateText is the head of a template as it is declared, its types as written.
func templateText(f *funcInfo) string {
	var dims, params []string
	for _, g := range f.decl.Dims {
		s := g.Name.Name
		if g.Bound != nil && g.Bound.Name != "nat" {
			s += ": " + g.Bound.Name
		}
		if g.Of != nil {
			s += "[" + g.Of.Name + "]"
		}
		dims = append(dims, s)
	}
	for _, p := range f.decl.Params {
		params = append(params, p.Name.Name+": "+p.Type.Span().Text())
	}
	s := fmt.Sprintf("fn %s[%s](%s)", f.fn.DisplayName(), strings.Join(dims, ", "), strings.Join(params, ", "))
	if f.decl.Result != nil {
		s += " -> " + f.decl.Result.Span().Text()
	}
	return s
}
