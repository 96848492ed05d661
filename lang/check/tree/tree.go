package tree

import (
	"strings"

	"healc/ir"
	"healc/lang/ast"
	"healc/lang/diag"
	"healc/lang/types"
)

// Program is a checked file.
type Program struct {
	Source *diag.File
	// those of the file in source order, without those that failed; then those of other files, and instances, that they
	// use
	Funcs     []*Func
	Tests     []*Test // the `test` blocks of the file, in source order
	Broken    []*Func // those of the file that have mistakes, typed as far as they can be: for editors, and nobody else
	Gradients bool    // a function is differentiated somewhere: whether it can be shows in its operations
	Sharded   bool    // a source says which part of a tensor a rank has: whether operands agree shows in the operations
	// What is most likely a slip in the file, and stops nothing.
	Warnings  []*diag.Diagnostic
	Instances []*Instance // of the file's functions with type parameters: one for each type that they can be used with
}

// Test is a `test` block: a function with effects that takes and returns nothing.
type Test struct {
	Name string
	Fn   *Func
}

// Instance is a function with a type for each of its type parameters.
type Instance struct {
	Fn     *Func
	Needs  func() []*Func // the functions that it needs, itself first
	Tuples bool           // it has parameters for tuples: it is called by functions, and is no entry
}

// Use adds the instance that is written name, as `norm[f32]`, to the functions of the program.
func (p *Program) Use(name string) *Func {
	for _, i := range p.Instances {
		if i.Fn.Shown != name || i.Tuples {
			continue
		}
		have := map[*Func]bool{}
		for _, f := range p.Funcs {
			have[f] = true
		}
		for _, f := range i.Needs() {
			if !have[f] {
				p.Funcs = append(p.Funcs, f)
			}
		}
		return i.Fn
	}
	return nil
}

// WarningsOf are the warnings where the function entry, "" for none, is wanted, and so used. A nil program has none.
func (p *Program) WarningsOf(entry string) (out []*diag.Diagnostic) {
	if p == nil {
		return nil
	}
	entry, _, _ = strings.Cut(entry, "[")
	for _, d := range p.Warnings {
		if d.Code != diag.CodeUnused || d.Primary.Span.Text() != entry {
			out = append(out, d)
		}
	}
	return out
}

// Func returns the function called name, or nil. An instance that the program uses is also called as
// messages show it, `norm[f32]`.
func (p *Program) Func(name string) *Func {
	for _, f := range p.Funcs {
		if f.Name == name || f.Shown == name {
			return f
		}
	}
	return nil
}

// Func is a function, typed once with its shape parameters symbolic.
type Func struct {
	Name      string   // in the IR: `f`, `f.f32` for an instance, `nn.f` for one of a module
	Shown     string   // in messages: `f[f32]` for an instance; "" when it is Name
	Dims      []string // shape parameters, in order
	Params    []*Local
	Muts      []int // the `&mut` parameters, by position: the caller sees the value that each has in the end
	Result    types.Type
	Declared  types.Type // the result's type as written, with layouts, places and shardings
	Off       *Placed    // the most that it needs beside the host, itself or through a call; nil for nothing
	Body      Expr
	Public    bool
	IO        bool
	Recursive bool // calls itself, perhaps through others: stays a call in the IR
	Kernel    bool // marked @kernel
	Loc       diag.Span
	Decl      *ast.FuncDecl
}

// DisplayName is the function's name in messages.
func (f *Func) DisplayName() string {
	if f.Shown != "" {
		return f.Shown
	}
	return f.Name
}

// Local is a parameter or a let-bound name. Its value changes only by Assign, and by a call that gets it
// for a `&mut` parameter.
type Local struct {
	Name     string
	T        types.Type
	Loc      diag.Span
	Declared types.Type // as written, with layouts, places and shardings; nil for a name without a type
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
	Muts []*Local // what the call changes, one for each `&mut` parameter
}

// If evaluates one arm. Both have the type of the whole, or types.Never when they leave the function.
type If struct {
	Info
	Cond, Then, Else Expr
	Assigns          []*Local // declared outside of the arms and changed in one
	Returns          bool     // an arm may leave the function
}

// Assign evaluates Value, which then is the value of Local. Its own type is unit.
type Assign struct {
	Info
	Local *Local
	Value Expr
}

// Return leaves the function with a value. Its type is types.Never. It stands where the value of the
// function or of an arm of an If stands, and never inside of a lambda.
type Return struct {
	Info
	Value Expr
}

// Let evaluates Value, binds it, and then evaluates Body. Local is nil when the value is dropped
// (a statement, or the pattern `_`).
type Let struct {
	Info
	Local *Local
	Value Expr
	Body  Expr
}

// Move is X, a tensor, copied to a place. Its type says no place, as no type of the tree does.
type Move struct {
	Info
	X  Expr
	To types.Place
}

// Placed is where a program first names a place other than the host.
type Placed struct {
	Place types.Place
	Loc   diag.Span
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
