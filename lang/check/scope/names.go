package scope

import (
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

// Enter starts a scope; leave takes its result.
func (c *Scope) Enter() int { return len(c.undo) }

// Leave ends the scopes that were entered since mark.
func (c *Scope) Leave(mark int) {
	for len(c.undo) > mark {
		u := c.undo[len(c.undo)-1]
		c.undo = c.undo[:len(c.undo)-1]
		if u.old == nil {
			delete(c.Locals, u.name)
		} else {
			c.Locals[u.name] = u.old
		}
	}
}

// Bind makes a name visible until its scope is left.
func (c *Scope) Bind(l *tree.Local) {
	if l.Name == "_" || l.Name == "" {
		return
	}
	c.undo = append(c.undo, shadowed{l.Name, c.Locals[l.Name]})
	c.Locals[l.Name] = l
}

// IsDim reports whether name is a shape parameter in scope.
func (c *Scope) IsDim(name string) bool {
	return c.Locals[name] == nil && c.Cur.Fn != nil && c.Cur.Fn.Dims[name]
}

// IsValue reports whether name stands for a value here.
func (c *Scope) IsValue(name string) bool {
	return c.Locals[name] != nil || c.IsDim(name) || c.Consts[name] != nil
}

// IsFunction reports whether name can be called.
func (c *Scope) IsFunction(name string) bool {
	return c.Funcs[name] != nil || c.functions.Has(name)
}

// Unknown reports a name that is not declared, with the nearest one that is.
func (c *Scope) Unknown(at diag.Span, name string) tree.Expr {
	if name == "" {
		c.Cur.Failed = true
		return tree.Bad(at) // the parser has reported it
	}
	if types.IsError(c.typeByName(name)) {
		r := c.Errorf(diag.CodeUnknownName, at, "unknown name %s", report.Quote(name))
		if c.Full() {
			return tree.Bad(at)
		}
		if c.Mod.Imports[name] != nil {
			r.Label("a module")
			r.Help("what it has is named `%s.name`; `healc doc` lists modules", name)
		} else if advice := foreignAdvice[name]; advice != "" {
			r.Help("%s", advice)
		} else if t := ForeignTypes[name]; !types.IsError(c.typeByName(t)) {
			r.Help("`x as %s` converts", t)
		} else if h := c.elsewhere(name); h != "" {
			r.Help("%s", h)
		} else if near := diag.Nearest(name, c.Visible()); near != "" {
			r.Meant(near)
		}
		return tree.Bad(at)
	}
	c.Errorf(diag.CodeUnknownName, at, "%s is a type, not a value", report.Quote(name)).Help("`x as %s` converts", name)
	return tree.Bad(at)
}

// typeByName is the scalar type of that name, or the error type.
func (c *Scope) typeByName(name string) types.Type {
	if d, ok := c.TypeParameter(name); ok {
		return types.Scalar(d)
	}
	if d, ok := types.ParseDType(name); ok {
		return types.Scalar(d)
	}
	return types.ErrorType
}

// TypeParameter is the value of a type parameter of the function that is checked.
func (c *Scope) TypeParameter(name string) (types.DType, bool) {
	if c.Cur.Fn == nil {
		return types.Invalid, false
	}
	d, ok := c.Cur.Fn.Types[name]
	return d, ok
}

// TupleParameter is the value of a parameter for tuples of the function that is checked.
func (c *Scope) TupleParameter(name string) (types.Type, bool) {
	if c.Cur.Fn == nil {
		return nil, false
	}
	t, ok := c.Cur.Fn.TupleTypes[name]
	return t, ok
}

// Visible lists all names that can be used here, for suggestions.
func (c *Scope) Visible() []string {
	var out []string
	for n := range c.Locals {
		out = append(out, n)
	}
	if c.Cur.Fn != nil {
		out = append(out, c.Cur.Fn.Tree.Dims...)
	}
	for n := range c.Consts {
		out = append(out, n)
	}
	for n := range c.Funcs {
		out = append(out, n)
	}
	return append(out, c.functions.Names()...)
}
