package ir

import "healc/lang/types"

// Param is an argument of a function of the language, in OpDef.Params. It becomes an operand of the operation, or the
// attribute of its name.
type Param struct {
	Name string
	Kind ParamKind
	Attr string // the attribute, where it has another name

	// What messages call it; "" for an operand is "the first argument of" the function.
	What string

	// Optional arguments may be left out. An axis is Default then, counted from the end where it is negative.
	Optional bool
	Default  int64

	// Literals says which element type literals in an operand take. With Elem it is that one; an operand of the kind
	// ParamScalar has to be of that type.
	Literals Literals
	Elem     types.DType
}

// ParamKind is what an argument may be.
type ParamKind uint8

// The kinds of arguments.
const (
	ParamOperand  ParamKind = iota // a tensor or scalar of numbers or bools
	ParamScalar                    // a scalar of the type Elem
	ParamOperands                  // a tuple or list of tensors, which are the operands
	ParamValue                     // any value, which becomes operands in a way of its own
	ParamFunction                  // a lambda or the name of a function
	ParamAxis                      // an axis of the first operand, counted from either end
	ParamAnyAxis                   // an axis; the attribute is missing where it is left out
	ParamAxes                      // an axis, or a tuple of axes; all of them where it is left out
	ParamInt                       // an integer that is known when the program is compiled
	ParamFlag                      // true or false, known as well; false where it is left out
	ParamShape                     // a list of extents
	ParamString                    // a string that is known when the program is compiled
	ParamRest                      // any number of arguments, Default at least, none of them by its name
)

// Literals says which element type literals in an operand take.
type Literals uint8

// The element types of literals.
const (
	LiteralsOfResult Literals = iota // the one that is wanted of the result
	LiteralsOfFirst                  // that of the first operand
	LiteralsOwn                      // their own: i32 or f32
	LiteralsShared                   // the one of the other operands that have this, too
)

// Operands are parameters of these names for operands.
func Operands(names ...string) []Param {
	out := make([]Param, len(names))
	for i, n := range names {
		out[i].Name = n
	}
	return out
}
