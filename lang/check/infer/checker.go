package infer

import (
	"healc/lang/ast"
	"healc/lang/check/literal"
	"healc/lang/check/scope"
	"healc/lang/check/tree"
	"healc/lang/diag"
)

// Checker types declarations and what is in them.
type Checker struct {
	*scope.Scope
	Language *Language

	Order []*scope.Func // all functions and instances, of all files
	Queue []*scope.Func // those whose bodies are needed, in the order in which they are typed

	Gradients bool // something is differentiated
	Placed    bool // the source names a place that is not the host
	Sharded   bool // the source says which part of a tensor a rank has

	kinds   map[ast.Expr]literal.Kind // memo of LiteralKindOf
	general map[*ast.Array]bool       // array literals that hold more than numbers
	symbols map[*tree.Local]string    // the symbols of locals that stand in slice bounds
}

// New is a checker in a scope of the language's functions.
func New(source *diag.File, importer scope.Importer, l *Language) *Checker {
	return &Checker{Scope: scope.New(source, importer, l), Language: l, kinds: map[ast.Expr]literal.Kind{},
		general: map[*ast.Array]bool{}, symbols: map[*tree.Local]string{}}
}

// Need asks for the body of f to be typed.
func (c *Checker) Need(f *scope.Func) {
	if !f.Needed && !f.Generic() {
		f.Needed = true
		c.Queue = append(c.Queue, f)
	}
}
