package check

import (
	"healc/ir"
	"healc/lang/ast"
	"healc/lang/diag"
	"healc/lang/types"
)

// Program is a checked file.
type Program struct {
	Source *diag.File
	Funcs  []*Func // in source order, without those that failed
}

// Func returns the function called name, or nil.
func (p *Program) Func(name string) *Func {
	for _, f := range p.Funcs {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// Func is a function, typed once with its shape parameters symbolic.
type Func struct {
	Name      string
	Dims      []string // shape parameters, in order
	Params    []*Local
	Result    types.Type
	Body      Expr
	Public    bool
	IO        bool
	Recursive bool // calls itself, perhaps through others: stays a call in the IR
	Kernel    bool // marked @kernel
	Loc       diag.Span
	Decl      *ast.FuncDecl
}

// Local is a parameter or a let-bound name. It never changes its value.
type Local struct {
	Name string
	T    types.Type
	Loc  diag.Span
}

// Expr is a typed expression.
type Expr interface {
	Type() types.Type
	Span() diag.Span
}

// Info is the type and place of an expression.
type Info struct {
	T   types.Type
	Loc diag.Span
}

// Type implements Expr.
func (i Info) Type() types.Type { return i.T }

// Span implements Expr.
func (i Info) Span() diag.Span { return i.Loc }

// Const is a constant scalar, tensor or string.
type Const struct {
	Info
	Value *ir.Array
}

// Use is the value of a local.
type Use struct {
	Info
	Local *Local
}

// Apply is an operation of the table. Attrs are by name. It has a tuple type when the operation has
// several results, or none (unit). The operation's region parameters are the lambdas' parameters.
type Apply struct {
	Info
	Op      *ir.OpDef
	Attrs   ir.A
	Args    []Expr
	Lambdas []*Lambda
}

// Lambda is the body of a region. Every parameter is a tensor or scalar.
type Lambda struct {
	Params []*Local
	Body   Expr
}

// Call calls a function with its shape parameters bound.
type Call struct {
	Info
	Fn   *Func
	Dims types.Shape // one extent for each of Fn.Dims
	Args []Expr
}

// If evaluates one arm; both have the type of the whole.
type If struct {
	Info
	Cond, Then, Else Expr
}

// Let evaluates Value, binds it, and then evaluates Body. Local is nil when the value is dropped
// (a statement, or the pattern `_`).
type Let struct {
	Info
	Local *Local
	Value Expr
	Body  Expr
}

// Tuple makes a tuple; without elements it is unit.
type Tuple struct {
	Info
	Elems []Expr
}

// Get is element Index of a tuple.
type Get struct {
	Info
	X     Expr
	Index int
}
