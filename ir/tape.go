package ir

import "healc/lang/diag"

// Tape is what a VJP rule writes the operations of a derivative with. Contributions to the gradient of a value are
// added in the order in which the rules give them, from the last use of the value to the first: that order is part of
// the language, as that of every sum. Package ops has the implementation.
type Tape interface {
	// Needs reports whether the gradient of v is wanted: rules need not compute others.
	Needs(v *Value) bool
	// Add adds g to the gradient of v.
	Add(v, g *Value)
	// AddInto is Add for a gradient that is zero almost everywhere: into gives the sum of it and another tensor.
	AddInto(v *Value, into func(sum *Value) *Value)
	// Emit writes an operation with one result.
	Emit(d *OpDef, attrs A, args ...*Value) *Value
}

// A GradientError says why a function has no derivative, or none that this version finds. Rules panic with it.
type GradientError struct{ Diagnostic *diag.Diagnostic }

func (e *GradientError) Error() string { return e.Diagnostic.Message }

// Unwrap gives the *diag.List that reports it.
func (e *GradientError) Unwrap() error { return &diag.List{Items: []*diag.Diagnostic{e.Diagnostic}} }
