package check

import (
	"healc/lang/ast"
	"healc/lang/check/report"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// shadowed is what a name meant before it was bound.
type shadowed struct {
	name string
	old  *tree.Local
}

// enter starts a scope; leave takes its result.
func (c *checker) enter() int { return len(c.undo) }

// leave ends the scopes that were entered since mark.
func (c *checker) leave(mark int) {
	for len(c.undo) > mark {
		u := c.undo[len(c.undo)-1]
		c.undo = c.undo[:len(c.undo)-1]
		if u.old == nil {
			delete(c.locals, u.name)
		} else {
			c.locals[u.name] = u.old
		}
	}
}

// bind makes a name visible until its scope is left.
func (c *checker) bind(l *tree.Local) {
	if l.Name == "_" || l.Name == "" {
		return
	}
	c.undo = append(c.undo, shadowed{l.Name, c.locals[l.Name]})
	c.locals[l.Name] = l
}

// isDim reports whether name is a shape parameter in scope.
func (c *checker) isDim(name string) bool {
	return c.locals[name] == nil && c.cur.fn != nil && c.cur.fn.dims[name]
}

// isValue reports whether name stands for a value here.
func (c *checker) isValue(name string) bool {
	return c.locals[name] != nil || c.isDim(name) || c.consts[name] != nil
}

// name is a name used as a value.
func (c *checker) name(e *ast.Name) tree.Expr {
	if l := c.locals[e.Name]; l != nil {
		return tree.NewUse(l, e.Loc)
	}
	if c.isDim(e.Name) {
		return c.dimValue(types.Param(e.Name), e.Loc)
	}
	if k := c.consts[e.Name]; k != nil {
		return c.constantUse(k, e.Loc)
	}
	if c.isFunction(e.Name) {
		r := c.errorf(diag.CodeFunctionValue, e.Loc, "%s is a function, not a value", report.Quote(e.Name))
		r.Help("call it: `%s(...)`", e.Name)
		return tree.Bad(e.Loc)
	}
	return c.unknown(e.Loc, e.Name)
}

// isFunction reports whether name can be called.
func (c *checker) isFunction(name string) bool {
	return c.funcs[name] != nil || builtins()[name] != nil
}

// unknown reports a name that is not declared, with the nearest one that is.
func (c *checker) unknown(at diag.Span, name string) tree.Expr {
	if name == "" {
		c.cur.failed = true
		return tree.Bad(at) // the parser has reported it
	}
	if types.IsError(c.typeByName(name)) {
		r := c.errorf(diag.CodeUnknownName, at, "unknown name %s", report.Quote(name))
		if c.full() {
			return tree.Bad(at)
		}
		if c.mod.imports[name] != nil {
			r.Label("a module")
			r.Help("what it has is named `%s.name`; `healc doc` lists modules", name)
		} else if t := foreignTypes[name]; !types.IsError(c.typeByName(t)) {
			r.Help("`x as %s` converts", t)
		} else if h := c.elsewhere(name); h != "" {
			r.Help("%s", h)
		} else if near := diag.Nearest(name, c.visible()); near != "" {
			r.Help("did you mean %s?", report.Quote(near))
		}
		return tree.Bad(at)
	}
	c.errorf(diag.CodeUnknownName, at, "%s is a type, not a value", report.Quote(name)).Help("`x as %s` converts", name)
	return tree.Bad(at)
}

// typeByName is the scalar type of that name, or the error type.
func (c *checker) typeByName(name string) types.Type {
	if d, ok := c.typeParameter(name); ok {
		return types.Scalar(d)
	}
	if d, ok := types.ParseDType(name); ok {
		return types.Scalar(d)
	}
	return types.ErrorType
}

// typeParameter is the value of a type parameter of the function that is checked.
func (c *checker) typeParameter(name string) (types.DType, bool) {
	if c.cur.fn == nil {
		return types.Invalid, false
	}
	d, ok := c.cur.fn.types[name]
	return d, ok
}

// tupleParameter is the value of a parameter for tuples of the function that is checked.
func (c *checker) tupleParameter(name string) (types.Type, bool) {
	if c.cur.fn == nil {
		return nil, false
	}
	t, ok := c.cur.fn.tupleTypes[name]
	return t, ok
}

// visible lists all names that can be used here, for suggestions.
func (c *checker) visible() []string {
	var out []string
	for n := range c.locals {
		out = append(out, n)
	}
	if c.cur.fn != nil {
		out = append(out, c.cur.fn.fn.Dims...)
	}
	for n := range c.consts {
		out = append(out, n)
	}
	for n := range c.funcs {
		out = append(out, n)
	}
	for n := range builtins() {
		out = append(out, n)
	}
	return out
}
