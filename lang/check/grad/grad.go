package grad

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"healc/ir"
	"healc/ir/ops"
	"healc/ir/scalar"
	"healc/lang/ast"
	"healc/lang/check/infer"
	"healc/lang/check/report"
	"healc/lang/check/scope"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// Note [Derivatives]: `grad(f)`, `value_and_grad(f)`, `vjp(f)` and `jvp(f)` are functions, and functions are no values:
// they stand where they are called, or where a lambda can. The function that is differentiated becomes the lambda of an
// operation `vjp` or `jvp`, typed by the arguments. What the lambda sees around it is constant. `custom_vjp(f, rule)`
// and `checkpoint(f)` are functions of functions, too (rules.go).

// Functions are the functions that differentiate, and those that say how.
func Functions() map[string]*infer.Builtin {
	out := map[string]*infer.Builtin{}
	for name, params := range gradParams {
		required := len(params)
		if params[required-1] == "wrt" {
			required--
		}
		out[name] = &infer.Builtin{Params: params, Required: required,
			Build: func(c *infer.Checker, e *ast.Call, _ []ast.Expr, _ types.Type) tree.Expr {
				r := c.Errorf(diag.CodeFunctionValue, e.Loc, "`%s(f)` is a function, and not a value", name)
				if f, ok := ast.Unparen(e.Args[0].Value).(*ast.Call); ok && funcOf(c, f.Fun) != nil {
					r.Help("`%s` takes the function, and what it gives the arguments: `%s(f)(x)`, not `%s(f(x))`", name,
						name, name)
				} else {
					r.Help("call it: `%s(f)(x)`", name)
				}
				return tree.Bad(e.Loc)
			}}
	}
	return out
}

// gradParams are the forms of a derivative, and what each takes.
var gradParams = map[string][]string{
	"grad": {"f", "wrt"}, "value_and_grad": {"f", "wrt"}, "vjp": {"f", "wrt"}, "jvp": {"f", "wrt"},
	"custom_vjp": {"f", "rule"}, "checkpoint": {"f"},
}

// derivative is `grad(f, wrt = (w, b))` and its like.
type derivative struct {
	kind string
	f    ast.Expr
	wrt  []*ast.Name // nil for every float parameter
	rule ast.Expr    // of custom_vjp
	at   diag.Span
}

// derivativeOf reads e as a function that differentiates another; nil when it is something else. An error in its
// arguments is reported, and ok is false.
func derivativeOf(c *infer.Checker, e ast.Expr) (d *derivative, ok bool) {
	call, isCall := ast.Unparen(e).(*ast.Call)
	if !isCall {
		return nil, true
	}
	name, isName := call.Fun.(*ast.Name)
	if !isName || gradParams[name.Name] == nil || c.IsValue(name.Name) || c.Funcs[name.Name] != nil {
		return nil, true
	}
	b := c.Language.Functions[name.Name]
	args, ok := c.BuiltinArguments(call, name.Name, b)
	if !ok {
		return nil, false
	}
	d = &derivative{kind: name.Name, f: args[0], at: call.Loc}
	switch {
	case d.kind == "custom_vjp":
		d.rule = args[1]
		return d, true
	case len(args) == 1 || args[1] == nil:
		return d, true
	}
	list := []ast.Expr{ast.Unparen(args[1])}
	if t, isTuple := list[0].(*ast.Tuple); isTuple {
		list = t.Elems
	}
	if len(list) == 0 {
		c.Errorf(diag.CodeWrt, args[1].Span(), "`wrt` lists no parameter").Help("leave it out for all float parameters")
		return nil, false
	}
	for _, x := range list {
		n, isName := ast.Unparen(x).(*ast.Name)
		if !isName {
			c.Errorf(diag.CodeWrt, x.Span(), "`wrt` lists names of parameters").Help(
				"write `wrt = w` or `wrt = (w, b)`")
			return nil, false
		}
		d.wrt = append(d.wrt, n)
	}
	return d, true
}

// parameters are the names of f's parameters; nil where they are not known before it is typed.
func parameters(c *infer.Checker, f ast.Expr) []string {
	switch f := ast.Unparen(f).(type) {
	case *ast.Lambda:
		names := make([]string, len(f.Params))
		for i, p := range f.Params {
			if n, ok := p.(*ast.NamePattern); ok {
				names[i] = n.Name
			}
		}
		return names
	case *ast.Name, *ast.Member:
		if callee := funcOf(c, f); callee != nil {
			return declared(callee)
		}
	case *ast.Call:
		// The other two take more than f does.
		if n, ok := f.Fun.(*ast.Name); ok && gradParams[n.Name] != nil && n.Name != "vjp" && n.Name != "jvp" &&
			len(f.Args) > 0 {
			return parameters(c, f.Args[0].Value)
		}
	}
	return nil
}

// funcOf is the function that a name stands for, nil for none.
func funcOf(c *infer.Checker, f ast.Expr) *scope.Func {
	switch f := f.(type) {
	case *ast.Name:
		if !c.IsValue(f.Name) {
			return c.Funcs[f.Name]
		}
	case *ast.Member:
		if m := c.Mod.Imports[f.Module.Name]; m != nil {
			return m.Funcs[f.Name.Name]
		}
	}
	return nil
}

func declared(f *scope.Func) []string {
	names := make([]string, len(f.Decl.Params))
	for i, p := range f.Decl.Params {
		names[i] = p.Name.Name
	}
	return names
}

// wanted is the type that the context of argument i asks for, nil for none.
func wanted(c *infer.Checker, f ast.Expr, i int) types.Type {
	switch f := ast.Unparen(f).(type) {
	case *ast.Name, *ast.Member:
		if callee := funcOf(c, f); callee != nil && !callee.Generic() && i < len(callee.Tree.Params) {
			return callee.Tree.Params[i].T
		}
	case *ast.Call:
		if n, ok := f.Fun.(*ast.Name); ok && gradParams[n.Name] != nil && len(f.Args) > 0 {
			return wanted(c, f.Args[0].Value, i)
		}
	}
	return nil
}

// callDerivative is `grad(f)(args)`.
func callDerivative(c *infer.Checker, e *ast.Call, d *derivative) tree.Expr {
	for _, a := range e.Args {
		if a.Name != nil {
			c.Errorf(diag.CodeArgName, a.Name.Loc, "the arguments of `%s(f)` have no names", d.kind)
			return tree.Bad(e.Loc)
		}
	}
	return derive(c, e.Loc, d, len(e.Args), func(i int,
		want types.Type) tree.Expr {
		return c.Expr(e.Args[i].Value, want)
	})
}

// Body types the body of a function; `@grad(w) fn g(w: T) -> T = e` is `fn g(w: T) -> T = grad(|w| e, wrt =
// w)(w)`.
func Body(c *infer.Checker, f *scope.Func) tree.Expr {
	var attr *ast.Attr
	for _, a := range f.Decl.Attrs {
		if a.Name.Name == "grad" {
			attr = a
		}
	}
	if attr == nil {
		return c.Expr(f.Decl.Body, f.Tree.Result)
	}
	if len(f.Tree.Muts) > 0 {
		return c.Unsupported(attr.Loc, "attribute `@grad` of a function with a `&mut` parameter")
	}
	at := ast.At{Loc: f.Decl.Body.Span()}
	lambda := &ast.Lambda{At: at, Body: f.Decl.Body}
	call := &ast.Call{At: at}
	for _, p := range f.Decl.Params {
		lambda.Params = append(lambda.Params, &ast.NamePattern{At: ast.At{Loc: p.Name.Loc}, Name: p.Name.Name})
		call.Args = append(call.Args, ast.Arg{Value: &ast.Name{At: at, Name: p.Name.Name}})
	}
	d := &derivative{kind: "grad", f: lambda, at: attr.Loc}
	for _, x := range attr.Args {
		n, ok := ast.Unparen(x).(*ast.Name)
		if !ok {
			c.Errorf(diag.CodeWrt, x.Span(), "`@grad` lists names of parameters").Help(
				"write `@grad(w)` or `@grad(w, b)`")
			return tree.Bad(at.Loc)
		}
		d.wrt = append(d.wrt, n)
	}
	return callDerivative(c, call, d)
}

// derive types a derivative with count arguments, which arg types one after another.
func derive(c *infer.Checker, at diag.Span, d *derivative, count int,
	arg func(i int, want types.Type) tree.Expr) tree.Expr {
	names := parameters(c, d.f)
	n := primals(d, names, count)
	if n < 0 || n > count {
		c.Errorf(diag.CodeArity, at, "`%s(f)` takes %s, not %d", d.kind, report.Plural(max(n, 0), "argument"), count)
		return tree.Bad(at)
	}
	if f := funcOf(c, ast.Unparen(d.f)); f != nil && len(f.Tree.Muts) > 0 {
		return c.Unsupported(d.f.Span(), fmt.Sprintf("`%s` of a function with a `&mut` parameter", d.kind))
	}
	defer func(outer string) { c.Derives = outer }(c.Derives)
	args := make([]tree.Expr, n)
	params := make([]*tree.Local, n)
	for i := range args {
		if args[i] = arg(i, wanted(c, d.f, i)); tree.IsBad(args[i]) {
			return tree.Bad(at)
		}
		params[i] = &tree.Local{Name: "x" + strconv.Itoa(i), T: args[i].Type(), Loc: d.f.Span()}
	}
	c.Derives = d.kind
	if d.kind == "checkpoint" || d.rule != nil {
		return ruled(c, at, d, args, params, count)
	}
	by, ok := wrt(c, at, d, params, names)
	if !ok || !takesTangents(c, at, d, n, len(by), count) {
		return tree.Bad(at)
	}
	f := c.Function(d.f, params, nil, "the function of `"+d.kind+"`")
	if tree.IsBad(f.Body) || !differentiable(c, d, f.Body) {
		return tree.Bad(at)
	}
	if t, ok := f.Body.Type().(types.Tuple); ok && d.kind == "value_and_grad" {
		f.Body = firstAlone(c, at, f.Body, t)
	}
	c.Gradients = true
	more, ok := tangents(c, at, d, f, by, func(i int, want types.Type) tree.Expr { return arg(n+i, want) })
	if !ok {
		return tree.Bad(at)
	}
	return gradients(c, at, d, f, by, append(args, more...))
}

// primals is the number of the parameters of the function itself, of which names are known, or nil.
func primals(d *derivative, names []string, count int) int {
	switch {
	case names != nil:
		return len(names)
	case d.kind == "vjp":
		return count - 1
	case d.kind == "jvp" && d.wrt != nil:
		return count - len(d.wrt)
	case d.kind == "jvp":
		return count / 2
	}
	return count
}

// takesTangents checks the number of the arguments after the first n, which are those of the function itself.
func takesTangents(c *infer.Checker, at diag.Span, d *derivative, n, by, count int) bool {
	extra := map[string]int{"vjp": 1, "jvp": by}[d.kind]
	if count == n+extra {
		return true
	}
	r := c.Errorf(diag.CodeArity, at, "`%s(f)` takes %s here, not %d", d.kind, report.Plural(n+extra, "argument"),
		count)
	switch d.kind {
	case "vjp":
		r.Note("the arguments of f, then the cotangent of its result")
	case "jvp":
		r.Note("the arguments of f, then a direction for each that is differentiated")
	}
	return false
}

// tangents are the operands after those of f: the cotangent of its result, which is 1 where the program does not give
// it, or a direction for each parameter that is differentiated. arg types them.
func tangents(c *infer.Checker, at diag.Span, d *derivative, f *tree.Lambda, by []int,
	arg func(i int, want types.Type) tree.Expr) ([]tree.Expr, bool) {
	given := func(i int, want types.Type, what string) (tree.Expr, bool) {
		x := arg(i, want)
		if !tree.IsBad(x) && !types.Equal(x.Type(), want) {
			c.Mismatch(x.Span(), what, want, x.Type())
			return x, false
		}
		return x, !tree.IsBad(x)
	}
	result := f.Body.Type()
	switch d.kind {
	case "vjp":
		x, ok := given(0, result, "the cotangent")
		return []tree.Expr{x}, ok
	case "jvp":
		var out []tree.Expr
		for k, i := range by {
			x, ok := given(k, f.Params[i].T, "a direction")
			if !ok {
				return nil, false
			}
			out = append(out, x)
		}
		return out, true
	}
	var out []tree.Expr
	for i, t := range types.Flatten(result) {
		switch {
		case i == 0:
			one := ir.NewArray(t.Elem)
			one.Bits[0] = scalar.IntBits(one.DType, 1)
			out = append(out, tree.NewConst(one, at))
		case t.Elem.IsFloat():
			out = append(out, c.Broadcast(tree.ScalarConst(t.Elem, 0, at), t.Shape))
		}
	}
	return out, true
}

// firstAlone is a tuple of type t whose further parts are constants to derivatives.
func firstAlone(c *infer.Checker, at diag.Span, body tree.Expr, t types.Tuple) tree.Expr {
	return c.Let(body, func(x tree.Expr) tree.Expr {
		parts := &tree.Tuple{Info: tree.Of(t, at)}
		for i, p := range t.Elems {
			part := tree.Expr(tree.NewGet(x, i, p, at))
			if i > 0 {
				part = stopped(c, at, part)
			}
			parts.Elems = append(parts.Elems, part)
		}
		return parts
	})
}

// stopped is a value that derivatives take for a constant.
func stopped(c *infer.Checker, at diag.Span, x tree.Expr) tree.Expr {
	switch t := x.Type().(type) {
	case types.Tuple:
		parts := &tree.Tuple{Info: tree.Of(t, at)}
		for i, p := range t.Elems {
			parts.Elems = append(parts.Elems, stopped(c, at, tree.NewGet(x, i, p, at)))
		}
		return parts
	case types.Tensor:
		if t.Elem.IsFloat() {
			return c.Apply(at, ops.StopGradient, nil, x)
		}
	}
	return x
}

// gradients is the operation, and what the derivative takes of its results.
func gradients(c *infer.Checker, at diag.Span, d *derivative, f *tree.Lambda, by []int, args []tree.Expr) tree.Expr {
	leaves, of := leavesOf(f.Params, by)
	result := f.Body.Type()
	op, rest := ops.Vjp, types.Type(of)
	if d.kind == "jvp" {
		op, rest = ops.Jvp, result
	}
	both := types.Tuple{Elems: []types.Type{result, rest}}
	whole := &tree.Apply{Info: tree.Of(both, at), Op: op, Attrs: ir.A{"wrt": leaves}, Args: args,
		Lambdas: []*tree.Lambda{f}}
	return c.Let(whole, func(x tree.Expr) tree.Expr {
		var grads tree.Expr = tree.NewGet(x, 1, rest, at)
		if d.kind != "jvp" && len(by) == 1 {
			grads = tree.NewGet(grads, 0, of.Elems[0], at)
		}
		if d.kind != "value_and_grad" {
			return grads
		}
		return &tree.Tuple{Info: tree.Of(types.Tuple{Elems: []types.Type{result, grads.Type()}}, at),
			Elems: []tree.Expr{tree.NewGet(x, 0, result, at), grads}}
	})
}

// leavesOf are the tensors, numbered through all parameters, of the parameters that are differentiated, and the types
// of these.
func leavesOf(params []*tree.Local, by []int) (leaves []int64, of types.Tuple) {
	first := 0
	for i, p := range params {
		n := len(types.Flatten(p.T))
		if slices.Contains(by, i) {
			of.Elems = append(of.Elems, p.T)
			for j := range n {
				leaves = append(leaves, int64(first+j))
			}
		}
		first += n
	}
	return leaves, of
}

// wrt are the parameters that are differentiated, ascending.
func wrt(c *infer.Checker, at diag.Span, d *derivative, params []*tree.Local, names []string) ([]int, bool) {
	var by []int
	if d.wrt == nil {
		for i, p := range params {
			if allFloats(p.T) {
				by = append(by, i)
			}
		}
		if len(by) == 0 {
			r := c.Errorf(diag.CodeWrt, at, "`%s` differentiates by floats, and the function has no float parameter",
				d.kind)
			if len(params) > 0 {
				r.Note("the arguments are %s", typesOf(params)).Help("%s", withoutFloats(params))
			}
		}
		return by, len(by) > 0
	}
	last := -1
	for _, w := range d.wrt {
		k := -1
		for i, name := range names {
			if name == w.Name {
				k = i
			}
		}
		switch {
		case k < 0:
			r := c.Errorf(diag.CodeWrt, w.Loc, "the function has no parameter %s", report.Quote(w.Name))
			if near := diag.Nearest(w.Name, append([]string{}, names...)); near != "" && !c.Full() {
				r.Meant(near)
			} else if names != nil {
				r.Note("its parameters are %s", strings.Join(names, ", "))
			}
			return nil, false
		case k <= last:
			c.Errorf(diag.CodeWrt, w.Loc, "`wrt` lists parameters in their order, each once").
				Note("the parameters are %s; the derivatives come in this order", strings.Join(names, ", "))
			return nil, false
		case !allFloats(params[k].T):
			c.Errorf(diag.CodeWrt, w.Loc, "parameter %s is %s, and only floats have derivatives", report.Quote(w.Name),
				params[k].T).
				Help("%s", withoutFloats(params[k:k+1]))
			return nil, false
		}
		by, last = append(by, k), k
	}
	return by, true
}

// differentiable checks the result of a function that is differentiated.
func differentiable(c *infer.Checker, d *derivative, body tree.Expr) bool {
	t := body.Type()
	if d.kind == "vjp" || d.kind == "jvp" {
		if !allFloats(t) {
			c.Errorf(diag.CodeNotScalar, body.Span(), "`%s` needs a function of floats, not %s", d.kind, t).Label("%s",
				t)
			return false
		}
		return true
	}
	first := t
	if p, ok := t.(types.Tuple); ok && d.kind == "value_and_grad" && len(p.Elems) > 0 {
		first = p.Elems[0]
	}
	if x, ok := first.(types.Tensor); ok && x.IsScalar() && x.Elem.IsFloat() {
		return true
	}
	r := c.Errorf(diag.CodeNotScalar, body.Span(), "`%s` needs a function that gives one float, not %s", d.kind,
		t).Label("%s", t)
	if x, ok := t.(types.Tensor); ok && x.Elem.IsFloat() {
		r.Help("sum it, or use `vjp`, which takes a weight for each element")
	}
	if _, ok := t.(types.Tuple); ok {
		r.Help("`value_and_grad` differentiates the first value of a tuple, one float, and gives the others with it")
	}
	return false
}

// withoutFloats says what to do where none of the parameters can be differentiated.
func withoutFloats(params []*tree.Local) string {
	for _, p := range params {
		if _, ok := p.T.(types.Tuple); ok {
			for _, x := range types.Flatten(p.T) {
				if x.Elem.IsFloat() {
					return "a tuple is differentiated where it holds floats alone: give the others as another parameter"
				}
			}
		}
	}
	return "integers and bools have no derivative: make a float of the value before, `x as f32`"
}

// allFloats reports that a type holds values, and all of them are floats.
func allFloats(t types.Type) bool {
	leaves := types.Flatten(t)
	for _, x := range leaves {
		if !x.Elem.IsFloat() {
			return false
		}
	}
	return len(leaves) > 0
}

// typesOf names the types of parameters.
func typesOf(params []*tree.Local) string {
	names := make([]string, len(params))
	for i, p := range params {
		names[i] = fmt.Sprint(p.T)
	}
	return strings.Join(names, ", ")
}

// Read is the form of derivatives.
func Read(c *infer.Checker, e ast.Expr) (infer.Transform, bool) {
	d, ok := derivativeOf(c, e)
	if d == nil {
		return nil, ok
	}
	return d, true
}

// Call is `grad(f)(args)`.
func (d *derivative) Call(c *infer.Checker, e *ast.Call) tree.Expr { return callDerivative(c, e, d) }

// Apply is `grad(f)` where a lambda can stand.
func (d *derivative) Apply(c *infer.Checker, at diag.Span, args []tree.Expr) tree.Expr {
	return derive(c, at, d, len(args), func(i int, _ types.Type) tree.Expr { return args[i] })
}
