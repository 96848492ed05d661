package infer

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"healc/lang/ast"
	"healc/lang/check/report"
	"healc/lang/check/scope"
	"healc/lang/check/tree"
	"healc/lang/check/unify"
	"healc/lang/diag"
	"healc/lang/types"
)

// call is `f[generics](args)`.
func (c *Checker) call(e *ast.Call, want types.Type) tree.Expr {
	switch f := e.Fun.(type) {
	case *ast.Name:
		return c.callName(e, f, want)
	case *ast.Call, *ast.Paren:
		if t, ok := c.transform(f); t != nil || !ok {
			if !ok {
				return tree.Bad(e.Loc)
			}
			return t.Call(c, e)
		}
	case *ast.Member:
		callee, k := c.Member(f)
		switch {
		case callee != nil:
			return c.callUser(e, callee, want)
		case k != nil:
			c.Errorf(diag.CodeFunctionValue, f.Loc, "`%s.%s` is a constant, not a function", f.Module.Name, f.Name.Name)
		}
		return tree.Bad(e.Loc)
	case *ast.BadExpr, nil:
		c.Cur.Failed = true // the parser has reported it
		return tree.Bad(e.Loc)
	}
	if call, ok := ast.Unparen(e.Fun).(*ast.Call); ok {
		if n, ok := call.Fun.(*ast.Name); ok && !c.IsValue(n.Name) && !c.IsFunction(n.Name) {
			c.Unknown(n.Loc, n.Name)
			return tree.Bad(e.Loc)
		}
	}
	what := "this value"
	if _, ok := ast.Unparen(e.Fun).(*ast.Lambda); ok {
		what = "a lambda"
	}
	c.Errorf(diag.CodeFunctionValue, e.Fun.Span(), "%s cannot be called",
		what).Help("declare a function, or bind the value with `let`")
	return tree.Bad(e.Loc)
}

func (c *Checker) callName(e *ast.Call, f *ast.Name, want types.Type) tree.Expr {
	name := f.Name
	if c.IsValue(name) {
		if l := c.Locals[name]; l != nil && types.IsError(l.T) {
			return tree.Bad(e.Loc) // its value has been reported
		}
		r := c.Errorf(diag.CodeFunctionValue, f.Loc, "%s is a value, not a function", report.Quote(name))
		if l := c.Locals[name]; l != nil {
			r.Label("%s", l.T)
			if c.Language.Functions[name] != nil || c.Funcs[name] != nil {
				r.Help("the value hides the function %s: give it another name", report.Quote(name))
			} else if t, ok := l.T.(types.Tensor); ok && t.Rank() > 0 {
				r.Help("index it with brackets: `%s[i]`", name)
			}
		}
		return tree.Bad(e.Loc)
	}
	if callee := c.Funcs[name]; callee != nil {
		return c.callUser(e, callee, want)
	}
	if b := c.Language.Functions[name]; b != nil {
		if len(e.Generics) > 0 && !b.Generic {
			c.Errorf(diag.CodeArity, e.Generics[0].Span(), "%s takes no arguments in brackets",
				report.Quote(name)).Help("write `%s`", b.Signature(name))
			return tree.Bad(e.Loc)
		}
		args, ok := c.BuiltinArguments(e, name, b)
		if !ok || c.misplacedFunction(name, b, args) {
			return tree.Bad(e.Loc)
		}
		return b.Build(c, e, args, want)
	}
	c.Unknown(f.Loc, name)
	return tree.Bad(e.Loc)
}

// misplacedFunction reports a lambda that stands where a function of the language takes a value, if it takes a function
// at another place.
func (c *Checker) misplacedFunction(name string, b *Builtin, args []ast.Expr) bool {
	takes := func(i int) bool {
		switch {
		case name == "tabulate":
			return true // it has errors of its own
		case b.Variadic != "":
			return i == 0
		}
		return slices.Contains([]string{"f", "step", "done", "rule"}, b.Params[i])
	}
	wrong, right := -1, false
	for i, a := range args {
		if _, lambda := a.(*ast.Lambda); lambda && !takes(i) {
			wrong = i
		}
		right = right || takes(i)
	}
	if wrong < 0 || !right {
		return false
	}
	c.Errorf(diag.CodeFunctionValue, args[wrong].Span(), "%s takes its function at another place",
		report.Quote(name)).Note("%s", b.Signature(name))
	return true
}

// positional is the number of arguments without a name.
func positional(args []ast.Arg) int {
	n := 0
	for _, a := range args {
		if a.Name == nil {
			n++
		}
	}
	return n
}

// BuiltinArguments brings the arguments of a function of the language into order.
func (c *Checker) BuiltinArguments(e *ast.Call, name string, b *Builtin) ([]ast.Expr, bool) {
	if b.Folds && b.Required == 2 && positional(e.Args) == 1 { // as other languages have them
		c.Errorf(diag.CodeArity, e.Loc, "%s takes 2 arguments, not 1", report.Quote(name)).Note("%s",
			b.Signature(name)).
			Help("`%[1]s/(x)` is that of all elements of x, `%[1]s/[axis=1](x)` that along an axis", name)
		return nil, false
	}
	if b.Variadic == "" && c.functionFirst(e, name, b) {
		return nil, false
	}
	if b.Variadic == "" {
		return c.arguments(e.Loc, name, e.Args, b.Params, b.Required, b.Signature(name))
	}
	var args []ast.Expr
	for _, a := range e.Args {
		if a.Name != nil {
			c.Errorf(diag.CodeArgName, a.Name.Loc, "%s has no parameter %s", report.Quote(name),
				report.Quote(a.Name.Name)).Note("%s", b.Signature(name)).
				Help("it takes any number of arguments, and none by its name")
			return nil, false
		}
		args = append(args, a.Value)
	}
	if len(args) < b.Required {
		c.Errorf(diag.CodeArity, e.Loc, "%s takes at least %s, not %d", report.Quote(name),
			report.Plural(b.Required, "argument"), len(args)).Note("%s", b.Signature(name))
		return nil, false
	}
	return args, true
}

// functionFirst reports a call such as `scan(f, v)`, whose function stands where an initial value or a count
// does, and which has too few arguments.
func (c *Checker) functionFirst(e *ast.Call, name string, b *Builtin) bool {
	at := slices.Index(b.Params, "f")
	if at <= 0 || len(e.Args) >= b.Required || positional(e.Args) != len(e.Args) {
		return false
	}
	for i, a := range e.Args[:min(at, len(e.Args))] {
		switch f := ast.Unparen(a.Value).(type) {
		case *ast.Lambda:
		case *ast.Name:
			if c.IsValue(f.Name) || !c.IsFunction(f.Name) {
				continue
			}
		default:
			continue
		}
		r := c.Errorf(diag.CodeArity, e.Loc, "%s takes %s, not %d", report.Quote(name),
			atLeast(b.Required, len(b.Params)), len(e.Args))
		r.Label("%s is missing", report.Quote(b.Params[i])).Note("%s", b.Signature(name))
		if b.Params[i] != "init" {
			return true
		}
		var texts []string
		for _, a := range e.Args[i:] {
			texts = append(texts, a.Value.Span().Text())
		}
		if text := strings.Join(texts, ", "); len(text) <= 60 && !strings.Contains(text, "\n") {
			r.Help("an initial value stands before the function: `%s(0.0, %s)`", name, text)
		}
		return true
	}
	return false
}

// arguments brings the arguments of a call into the order of the parameters; one that may be left out
// and is, is nil. Only the first required have to be there.
func (c *Checker) arguments(at diag.Span, name string, args []ast.Arg, params []string, required int,
	signature string) ([]ast.Expr, bool) {
	out := make([]ast.Expr, len(params))
	places := make([]diag.Span, len(params))
	named := false
	for i, a := range args {
		if a.Name == nil {
			if named {
				c.Errorf(diag.CodeArgName, a.Value.Span(),
					"an argument without a name stands after one with a name").Help("write `%s`", signature)
				return nil, false
			}
			if i >= len(params) {
				r := c.Errorf(diag.CodeArity, at, "%s takes %s, not %d", report.Quote(name),
					report.Plural(len(params), "argument"), len(args)).Note("%s", signature)
				if help := tooMany(name, signature, params, args); help != "" {
					r.Help("%s", help)
				}
				return nil, false
			}
			out[i], places[i] = a.Value, a.Value.Span()
			continue
		}
		named = true
		k := -1
		for j, p := range params {
			if p == a.Name.Name {
				k = j
			}
		}
		if k < 0 {
			r := c.Errorf(diag.CodeArgName, a.Name.Loc, "%s has no parameter %s", report.Quote(name),
				report.Quote(a.Name.Name)).Note("%s", signature)
			if ours := scope.ForeignParams[a.Name.Name]; slices.Contains(params, ours) {
				r.Help("write `%s = ...`", ours).Fix(a.Name.Loc, ours)
			} else if a.Name.Name == "argnums" {
				r.Help("the parameters by which the derivative is taken are named: `grad(f, wrt = y)`")
			} else if near := diag.Nearest(a.Name.Name, append([]string{}, params...)); near != "" && !c.Full() {
				r.Meant(near)
			}
			return nil, false
		}
		if out[k] != nil {
			c.Errorf(diag.CodeArgName, a.Name.Loc, "argument %s is given twice",
				report.Quote(a.Name.Name)).Related(places[k], "first given here")
			return nil, false
		}
		out[k], places[k] = a.Value, a.Value.Span()
	}
	for i := 0; i < required; i++ {
		if out[i] != nil {
			continue
		}
		// Arguments with names can be enough in number and leave one out.
		msg := fmt.Sprintf("%s takes %s, not %d", report.Quote(name), atLeast(required, len(params)), len(args))
		if len(args) >= required {
			msg = fmt.Sprintf("%s needs its argument %s", report.Quote(name), report.Quote(params[i]))
		}
		c.Errorf(diag.CodeArity, at, "%s", msg).Label("%s is missing", report.Quote(params[i])).Note("%s", signature)
		return nil, false
	}
	return out, true
}

// tooMany is the help for arguments that other languages have as a list, or "".
func tooMany(name, signature string, params []string, args []ast.Arg) string {
	var texts []string
	if strings.HasPrefix(signature, "fn ") {
		return "" // a function of the program
	}
	if strings.HasPrefix(signature, name+"[") && len(params) == 0 {
		return "a type and a shape stand in brackets, as in `" + name + "[f32, 2, 3]()`"
	}
	for _, a := range args {
		if a.Name != nil || len(a.Value.Span().Text()) > 20 {
			return ""
		}
		texts = append(texts, a.Value.Span().Text())
	}
	switch {
	case name == "print":
		return "a tuple prints several values: `print((" + strings.Join(texts, ", ") + "))`"
	case len(params) > 1 && params[len(params)-1] == "shape":
		k := len(params) - 1
		return "the shape is a list: `" + name + "(" + strings.Join(texts[:k], ", ") + ", [" +
			strings.Join(texts[k:], ", ") + "])`"
	case name == "transpose" && len(texts) == 3:
		return "two axes of several change places by `permute_axes(" + texts[0] + ", [1, 0, 2])`; " +
			"`transpose` takes a matrix"
	case strings.HasPrefix(signature, name+"["):
		return "a type and a shape stand in brackets, as in `" + name + "[f32, 2, 3]()`"
	}
	return ""
}

func atLeast(required, most int) string {
	if required == most {
		return report.Plural(most, "argument")
	}
	return fmt.Sprintf("%d to %s", required, report.Plural(most, "argument"))
}

// callUser is a call of a function of this file or of a module.
func (c *Checker) callUser(e *ast.Call, f *scope.Func, want types.Type) tree.Expr {
	params := make([]string, len(f.Decl.Params))
	for i, p := range f.Decl.Params {
		params[i] = p.Name.Name
	}
	ordered, ok := c.arguments(e.Loc, f.Tree.DisplayName(), e.Args, params, len(params), f.Signature())
	if !ok {
		return tree.Bad(e.Loc)
	}
	if f.Generic() {
		return c.callGeneric(e, f, ordered, want)
	}
	var dims types.Shape
	if len(e.Generics) > 0 {
		if len(e.Generics) != len(f.Tree.Dims) {
			c.Errorf(diag.CodeArity, e.Generics[0].Span(), "%s takes %s in brackets, not %d",
				report.Quote(f.Tree.DisplayName()),
				report.Plural(len(f.Tree.Dims), "extent"), len(e.Generics)).Note("%s", tree.SignatureText(f.Tree))
			return tree.Bad(e.Loc)
		}
		for _, g := range e.Generics {
			d, ok := c.Dim(g)
			if !ok {
				return tree.Bad(e.Loc)
			}
			dims = append(dims, d)
		}
	}
	args := make([]tree.Expr, len(ordered))
	for i, a := range ordered {
		args[i] = c.Expr(a, f.Tree.Params[i].T)
	}
	return c.instantiate(e.Loc, f, dims, args, want)
}

// instantiate calls f with typed arguments. dims are the shape parameters given in the call, or nil; want is the type
// that the place asks for, which only helps with messages.
func (c *Checker) instantiate(at diag.Span, f *scope.Func, dims types.Shape, args []tree.Expr,
	want types.Type) tree.Expr {
	if f.Generic() {
		if f = c.generalInstance(at, f, args); f == nil {
			return tree.Bad(at)
		}
	}
	fn := f.Tree
	if c.Cur.Fn == nil {
		c.Errorf(diag.CodeNotConstant, at, "a constant cannot call %s", report.Quote(fn.DisplayName())).
			Help("a constant is made of literals, other constants, operators and element-wise functions")
		return tree.Bad(at)
	}
	c.Need(f)
	c.Cur.Fn.Calls = append(c.Cur.Fn.Calls, scope.CallSite{Callee: f, At: at})
	if fn.IO && !c.Effect(at, report.Quote(fn.DisplayName())) {
		return tree.Bad(at)
	}
	for _, a := range args {
		if tree.IsBad(a) {
			return tree.Bad(at)
		}
	}
	u := unify.NewUnifier()
	for i, d := range dims {
		u.Bind[fn.Dims[i]], u.From[fn.Dims[i]] = d, -1
	}
	for i, a := range args {
		u.Collect(fn.Params[i].T, a.Type(), i)
	}
	u.Solve(fn.Params, args)
	for i, p := range fn.Params {
		if !c.fits(at, f, u, p, args, i) {
			return tree.Bad(at)
		}
	}
	muts, ok := c.mutArguments(fn, args)
	if !ok {
		return tree.Bad(at)
	}
	call := &tree.Call{Info: tree.Info{Loc: at}, Fn: fn, Args: args, Muts: muts}
	for _, name := range fn.Dims {
		d, ok := u.Bind[name]
		if !ok {
			c.unbound(at, fn, name, u.Bind, want)
			return tree.Bad(at)
		}
		call.Dims = append(call.Dims, d)
	}
	result, err := types.Subst(fn.Result, u.Bind)
	if err != nil {
		c.Rule(diag.CodeExtent, at, err)
		return tree.Bad(at)
	}
	if types.IsError(result) {
		c.Cur.Failed = true // the callee's head has an error
		return tree.Bad(at)
	}
	for _, t := range types.Flatten(result) {
		if !c.Extents(at, t) {
			return tree.Bad(at)
		}
	}
	call.T = result
	return call
}

// unbound reports a shape parameter that no argument binds.
func (c *Checker) unbound(at diag.Span, fn *tree.Func, name string, bind map[string]types.Dim, want types.Type) {
	for _, p := range fn.Params {
		if types.IsError(p.T) {
			c.Cur.Failed = true // the head has an error, which may be why
			return
		}
	}
	r := c.Errorf(diag.CodeUnboundParam, at, "nothing says what %s of %s is", report.Quote(name),
		report.Quote(fn.DisplayName())).Note("%s", tree.SignatureText(fn))
	text := tree.WithDims(fn)
	if t, ok := want.(types.Tensor); ok && t.Rank() > 0 { // as the place of the call asks for
		u := unify.NewUnifier()
		u.Collect(fn.Result, want, 0)
		maps.Copy(u.Bind, bind)
		text = tree.WithExtents(fn, u.Bind)
	}
	r.Help("give it in the call: `%s(...)`", text)
}

// fits compares argument i with the type of its parameter under the bindings.
func (c *Checker) fits(at diag.Span, f *scope.Func, u *unify.Unifier, p *tree.Local, args []tree.Expr, i int) bool {
	want, err := types.Subst(p.T, u.Bind)
	if err != nil {
		c.Rule(diag.CodeExtent, at, err)
		return false
	}
	got := args[i].Type()
	if types.Equal(want, got) {
		return true
	}
	for _, name := range f.Tree.Dims { // reported as what it is, not as a wrong type
		if _, ok := u.Bind[name]; !ok && unify.Mentions(want, name) && unify.SameKind(p.T, got) {
			if !c.unsolved(f.Tree, u, args, i, name) {
				c.unbound(at, f.Tree, name, nil, nil)
			}
			return false
		}
	}
	w, ok1 := p.T.(types.Tensor)
	g, ok2 := got.(types.Tensor)
	if !ok1 || !ok2 || w.Elem != g.Elem || len(w.Shape) != len(g.Shape) {
		r := c.Mismatch(args[i].Span(), "argument "+report.Quote(p.Name)+" of "+report.Quote(f.Tree.DisplayName()),
			want, got)
		r.Note("%s", tree.SignatureText(f.Tree))
		overElements(r, f.Tree, args)
		return false
	}
	solved := want.(types.Tensor)
	for k, d := range w.Shape {
		if solved.Shape[k].Equal(g.Shape[k]) {
			continue
		}
		var r *report.Report
		if name, ok := d.AsParam(); ok {
			r = c.Errorf(diag.CodeShapeParam, args[i].Span(), "shape parameter %s of %s is both %s and %s",
				report.Quote(name), report.Quote(f.Tree.DisplayName()), solved.Shape[k], g.Shape[k])
		} else {
			r = c.Errorf(diag.CodeShapeParam, args[i].Span(), "argument %s of %s has extent %s where %s is needed",
				report.Quote(p.Name), report.Quote(f.Tree.DisplayName()), g.Shape[k], solved.Shape[k])
		}
		r.Label("%s", got)
		told := map[int]bool{i: true}
		for _, name := range d.Params() {
			switch from := u.From[name]; {
			case told[from]:
			case from < 0:
				r.Note("%s is %s by the brackets of the call", name, u.Bind[name])
			default:
				r.Related(args[from].Span(), "%s: %s is %s", args[from].Type(), name, u.Bind[name])
				told[from] = true
			}
		}
		r.Align(&types.RuleError{
			Shapes: []types.Shape{solved.Shape, g.Shape}, Axis: len(w.Shape) - k,
			Why: fmt.Sprintf("%s and %s differ", solved.Shape[k], g.Shape[k])})
		r.Note("%s", tree.SignatureText(f.Tree))
		return false
	}
	panic("BUG: two types differ and no extent does")
}

// overElements is the help for a call that gives tensors to a function of scalars.
func overElements(r *report.Report, fn *tree.Func, args []tree.Expr) {
	if t, ok := fn.Result.(types.Tensor); !ok || !t.IsScalar() {
		return
	}
	name, _, _ := strings.Cut(fn.DisplayName(), "[")
	inner := make([]string, len(args))
	var names, outer []string
	for i, a := range args {
		p, ok1 := fn.Params[i].T.(types.Tensor)
		t, ok2 := a.Type().(types.Tensor)
		text := a.Span().Text()
		if !ok1 || !ok2 || !p.IsScalar() || p.Elem != t.Elem || len(text) > 30 || strings.Contains(text, "\n") {
			return
		}
		if inner[i] = text; t.IsScalar() {
			continue
		}
		inner[i] = fn.Params[i].Name
		names, outer = append(names, fn.Params[i].Name), append(outer, text)
	}
	f := name
	if len(names) < len(args) {
		f = "|" + strings.Join(names, ", ") + "| " + name + "(" + strings.Join(inner, ", ") + ")"
	}
	r.Help("`map(%s, %s)` applies it to each element", f, strings.Join(outer, ", "))
}

// pipe is `x |> f(y)`, which is f(x, y).
func (c *Checker) pipe(e *ast.Pipe, want types.Type) tree.Expr {
	call := &ast.Call{At: e.At}
	switch f := e.F.(type) {
	case *ast.Call:
		call.Fun, call.Generics = f.Fun, f.Generics
		call.Args = append([]ast.Arg{{Value: e.X}}, f.Args...)
	case *ast.Name, *ast.Member:
		call.Fun, call.Args = f, []ast.Arg{{Value: e.X}}
	case nil, *ast.BadExpr:
		c.Cur.Failed = true // the parser has reported it
		return tree.Bad(e.Loc)
	default:
		c.Errorf(diag.CodeFunctionValue, f.Span(), "the right of `|>` is a call").Help(
			"write `x |> f(y)` for `f(x, y)`")
		return tree.Bad(e.Loc)
	}
	return c.call(call, want)
}

// Function types what stands as the function of a fold or of `tabulate`: a lambda or a function's name,
// applied to values of the given types. what names its place.
func (c *Checker) Function(e ast.Expr, params []*tree.Local, want types.Type, what string) *tree.Lambda {
	c.Lambda++
	defer func() { c.Lambda-- }()
	out := &tree.Lambda{Params: params}
	uses := make([]tree.Expr, len(params))
	for i, p := range params {
		uses[i] = tree.NewUse(p, e.Span())
	}
	switch f := ast.Unparen(e).(type) {
	case *ast.Lambda:
		out.Body = c.lambdaBody(f, params, want, what)
		return out
	case *ast.Name:
		out.Body = c.namedBody(f, uses, what)
		return out
	case *ast.Call:
		t, ok := c.transform(f)
		if t != nil {
			out.Body = t.Apply(c, f.Loc, uses)
			return out
		}
		if !ok {
			out.Body = tree.Bad(f.Loc)
			return out
		}
	case *ast.Member:
		out.Body = tree.Bad(f.Loc)
		switch callee, k := c.Member(f); {
		case callee != nil:
			out.Body = c.named(f.Loc, callee, uses, what)
		case k != nil:
			c.Errorf(diag.CodeFunctionValue, f.Loc, "`%s.%s` is a constant, not a function", f.Module.Name, f.Name.Name)
		}
		return out
	}
	out.Body = tree.Bad(e.Span())
	c.Errorf(diag.CodeFunctionValue, e.Span(), "%s is a lambda or the name of a function", what)
	return out
}

// lambdaBody types the body of a lambda whose parameters are these.
func (c *Checker) lambdaBody(f *ast.Lambda, params []*tree.Local, want types.Type, what string) tree.Expr {
	if len(f.Params) != len(params) {
		c.Errorf(diag.CodeArity, f.Loc, "%s takes %s, not %d", what, report.Plural(len(params), "parameter"),
			len(f.Params))
		return tree.Bad(f.Loc)
	}
	mark := c.Enter()
	defer c.Leave(mark)
	var bs []tree.Binding // of the names in patterns
	for i, p := range f.Params {
		if n, ok := p.(*ast.NamePattern); ok {
			params[i].Name, params[i].Loc = n.Name, n.Loc
			c.Bind(params[i])
			continue
		}
		if _, ok := params[i].T.(types.Tuple); !ok {
			c.Errorf(diag.CodePattern, p.Span(), "%s gets %s here, not a tuple", what, params[i].T)
			return tree.Bad(f.Loc)
		}
		bs = c.pattern(bs, p, tree.NewUse(params[i], p.Span()), params[i].T)
	}
	return tree.Wrap(bs, c.Expr(f.Body, want))
}

// namedBody is the call of a function by its name, of the program or an element-wise one of the language.
func (c *Checker) namedBody(f *ast.Name, uses []tree.Expr, what string) tree.Expr {
	if callee := c.Funcs[f.Name]; callee != nil && !c.IsValue(f.Name) {
		return c.named(f.Loc, callee, uses, what)
	}
	if b := c.Language.Functions[f.Name]; b != nil && b.Op != nil && !c.IsValue(f.Name) {
		if b.Op.Arity != len(uses) {
			c.Errorf(diag.CodeArity, f.Loc, "%s takes %s, not %d", what, report.Plural(len(uses), "parameter"),
				b.Op.Arity)
			return tree.Bad(f.Loc)
		}
		return c.Pointwise(f.Loc, b.Op, uses)
	}
	switch {
	case c.IsValue(f.Name):
		c.Errorf(diag.CodeFunctionValue, f.Loc, "%s is a value, not a function", report.Quote(f.Name))
	case c.IsFunction(f.Name):
		c.Errorf(diag.CodeFunctionValue, f.Loc, "%s cannot stand here",
			report.Quote(f.Name)).Help("write a lambda: `|x| %s(x)`", f.Name)
	default:
		c.Unknown(f.Loc, f.Name)
	}
	return tree.Bad(f.Loc)
}

// named applies a function whose name stands where a lambda can.
func (c *Checker) named(at diag.Span, f *scope.Func, uses []tree.Expr, what string) tree.Expr {
	if len(f.Decl.Params) != len(uses) {
		c.Errorf(diag.CodeArity, at, "%s takes %s, not %d", what, report.Plural(len(uses), "parameter"),
			len(f.Decl.Params)).
			Note("%s", f.Signature())
		return tree.Bad(at)
	}
	return c.instantiate(at, f, nil, uses, nil)
}

// unsolved reports that an extent of argument i would have to say what the shape parameter name is, and has
// no solution. It is false where no extent is an equation for name alone.
func (c *Checker) unsolved(fn *tree.Func, u *unify.Unifier, args []tree.Expr, i int, name string) bool {
	told := false
	unify.EachExtent(fn.Params[i].T, args[i].Type(), func(d, got types.Dim) {
		unknown, _, ok := u.Solution(d, got)
		if told || unknown != name || ok {
			return
		}
		told = true
		r := c.Errorf(diag.CodeShapeParam, args[i].Span(), "argument %s of %s has extent %s, which is %s for no %s",
			report.Quote(fn.Params[i].Name), report.Quote(fn.DisplayName()), got, d, name)
		r.Label("%s", args[i].Type())
		if _, literal := got.Const(); !literal {
			r.Help("write the argument's own extent in a form such as `%s`", d)
		}
		r.Note("%s", tree.SignatureText(fn))
	})
	return told
}
