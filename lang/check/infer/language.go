package infer

import (
	"maps"
	"slices"

	"healc/lang/ast"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// The expressions that are typed here are those that any program has: names, literals, calls, blocks, choices. What is
// written with a sign of its own, what the functions of the language do, and what takes a function and gives one, is
// typed by packages above this one, which the language names.

// Language is what the checker takes from other packages.
type Language struct {
	Functions  map[string]*Builtin // the functions of the language, by name
	Forms      []Form
	Transforms []TransformForm

	// Assign types an assignment, and appends what it binds.
	Assign func(c *Checker, bs []tree.Binding, s *ast.AssignStmt) []tree.Binding
	// Arithmetic reports an operator whose operands and result have one type, so that literals take it.
	Arithmetic func(op string) bool
}

// Form is a kind of expression with signs of its own.
type Form struct {
	Name     string
	Examples []string
	// Typed types e, wanted as in expr; nil where e is something else.
	Typed func(c *Checker, e ast.Expr, want types.Type) tree.Expr
}

// Transform is a function that is made of a function, as by `grad(f)`. Functions are no values: it stands where it is
// called, or where a lambda can.
type Transform interface {
	// Call is `grad(f)(args)`.
	Call(c *Checker, e *ast.Call) tree.Expr
	// Apply is its value for arguments that are typed.
	Apply(c *Checker, at diag.Span, args []tree.Expr) tree.Expr
}

// TransformForm is how a transform is written.
type TransformForm struct {
	Name     string
	Examples []string
	// Read is nil where e is something else; ok is false where it has an error, which has been reported.
	Read func(c *Checker, e ast.Expr) (t Transform, ok bool)
}

// transform reads e as a function that is made of another; nil when it is something else. An error in its arguments is
// reported, and ok is false.
func (c *Checker) transform(e ast.Expr) (t Transform, ok bool) {
	for _, f := range c.Language.Transforms {
		if t, ok := f.Read(c, e); t != nil || !ok {
			return t, ok
		}
	}
	return nil, true
}

// Add adds functions of the language.
func (l *Language) Add(groups ...map[string]*Builtin) {
	for _, group := range groups {
		for name, b := range group {
			if l.Functions[name] != nil {
				panic("BUG: two functions are called " + name)
			}
			l.Functions[name] = b
		}
	}
}

// Has reports a function of the language.
func (l *Language) Has(name string) bool { return l.Functions[name] != nil }

// Names lists the functions of the language.
func (l *Language) Names() []string { return slices.Collect(maps.Keys(l.Functions)) }
