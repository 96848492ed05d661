package scope

import (
	"fmt"
	"strings"

	"healc/ir"
	"healc/lang/ast"
	"healc/lang/check/report"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// Owner is the declaration to which errors, calls and effects belong.
type Owner struct {
	Name    string
	Fn      *Func // nil in a constant
	Failed  bool
	Effects int          // how many places that do input or output have been typed
	Missing *MissingDims // while the head of a function is typed
}

// Func is a declared function, an instance of one, or a test.
type Func struct {
	Tree   *tree.Func
	Decl   *ast.FuncDecl
	Module *Module
	Pos    int // in the order of the source
	Dims   map[string]bool
	Calls  []CallSite // in order, for effects and recursion
	Needed bool       // its body is typed, or waits for it
	Failed bool

	TypeParams  []TypeParam            // of a template
	Instances   map[string]*Func       // of a template
	TupleParams []TupleParam           // of a template: its parameters for tuples
	Reported    bool                   // of a template: an instance that failed has been reported
	Template    *Func                  // of an instance
	Types       map[string]types.DType // of an instance: the values of the type parameters
	TupleTypes  map[string]types.Type  // and of the parameters for tuples
}

// CallSite is a call of a function.
type CallSite struct {
	Callee *Func
	At     diag.Span
}

// OwnerName is the function as its own messages name it: without its module.
func (f *Func) OwnerName() string { return f.Decl.Name.Name }

// Signature is the head of a function for messages.
func (f *Func) Signature() string {
	if f.Generic() {
		return TemplateText(f)
	}
	return tree.SignatureText(f.Tree)
}

// Const is a `const` declaration. Its value is computed when it is first needed.
type Const struct {
	Decl  *ast.ConstDecl
	Mod   *Module
	State ConstState
	Value *ir.Array // nil until done, and when it failed
}

// ConstState says how far the value of a constant is computed.
type ConstState uint8

const (
	ConstNew ConstState = iota
	ConstActive
	ConstDone
)

// MissingDims are the shape parameters that the head of a function uses and does not declare: one report says which.
type MissingDims struct {
	Names  []string
	Report *report.Report
}

// DeclareDims is the advice to declare shape parameters of f.
func DeclareDims(f *Func, names ...string) string {
	what := "it"
	if len(names) > 1 {
		what = "them"
	}
	return fmt.Sprintf("declare %s: `fn %s[%s](...)`", what, f.Decl.Name.Name,
		strings.Join(append(append([]string{}, f.Tree.Dims...), names...), ", "))
}

// Test is a `test` block, which is checked as a function with effects that returns unit.
type Test struct {
	Name string
	Func *Func
}
