package infer

import (
	"strings"

	"healc/ir"
	"healc/lang/ast"
	"healc/lang/check/tree"
	"healc/lang/types"
)

// Builtin is a function of the language: an operation of the table, or made of operations by code of the front end.
type Builtin struct {
	Params   []string
	Required int    // how many of them have to be given
	Brackets string // what stands in brackets before the arguments, for the signature; "" for nothing
	Generic  bool   // takes arguments in brackets
	Variadic string // set when it takes any number of arguments: those, for the signature
	Build    Build

	Op      *ir.OpDef // of an element-wise function
	Floats  bool      // of an element-wise function: takes floats alone
	Literal bool      // of an element-wise function: operands and result have one element type
	Folds   bool      // also the name of a reduction, `max/(x)`
}

// Signature is the function called name as manuals have it.
func (b *Builtin) Signature(name string) string {
	s := name
	if b.Brackets != "" {
		s += "[" + b.Brackets + "]"
	}
	if b.Variadic != "" {
		return s + "(" + b.Variadic + ")"
	}
	params := append([]string{}, b.Params...)
	for i := b.Required; i < len(params); i++ {
		params[i] += " = ..."
	}
	return s + "(" + strings.Join(params, ", ") + ")"
}

// Build types a call. args has an argument for each parameter, nil where it is left out.
type Build = func(c *Checker, e *ast.Call, args []ast.Expr, want types.Type) tree.Expr
