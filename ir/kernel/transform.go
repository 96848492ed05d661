package kernel

import "healc/ir"

// Line is a run of neighbouring elements of a buffer.
type Line struct {
	Param int
	At    Access // of the first
}

// Transform runs the stages of a number theoretic transform in place; see Note [Number theoretic transform] in package
// ir. Data holds Size residues modulo P, which it replaces by those of the transform. Stage h of the forward transform reads
// the factors h to 2h-1 of Table; the inverse goes through the stages backwards, and multiplies by Scale at the end.
//
// All elements are i64. Size is a power of two from MinTransform on; 0 < P < TransformLimit; the residues, the
// factors and Scale are in [0, P). Spare has Size/2 elements, in which generated code keeps what it likes.
type Transform struct {
	Data, Table, Spare Line
	Size               int64
	Inverse            bool
	P                  Ref
	Scale              Ref // None in the forward transform
}

// The limits of Size and P.
const (
	MinTransform   = ir.MinTransform
	TransformLimit = ir.TransformLimit
)

// Lines are the three parts of buffers that the transform works on. It reads Table, and reads and writes the others.
func (t *Transform) Lines() []*Line { return []*Line{&t.Data, &t.Table, &t.Spare} }

func (*Transform) stmt() {}
