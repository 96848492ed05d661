package kernel

import "healc/ir"

// Line is a run of neighbouring elements of a buffer.
type Line struct {
	Param int
	At    Access // of the first
}

// Transform runs the stages of a number theoretic transform; see Note [Number theoretic transform] in package ir.
// Source holds Size residues modulo P, and Data, which may be the same line, gets those of the transform; where there
// are Times, that of the products of Source with them, element by element. Stage h of the forward transform reads the
// factors h to 2h-1 of Table; the inverse goes through the stages backwards, and multiplies by Scale at the end.
//
// All elements are i64. Size is a power of two from MinTransform on; P is positive, and Scale in [0, P). When P is not
// below TransformLimit, or an element of Source, Times or Table is not in [0, P), the bool ID is false and Data has no
// meaning, unless the transform was that of the elements' residues; otherwise it is true. Spare has Size/2 elements, in
// which generated code keeps what it likes, for the rows that follow as well.
type Transform struct {
	ID                         Ref
	Data, Source, Table, Spare Line
	Times                      *Line // nil for none
	Size                       int64
	Inverse                    bool
	P                          Ref
	Scale                      Ref // None in the forward transform
}

// The limits of Size and P.
const (
	MinTransform   = ir.MinTransform
	TransformLimit = ir.TransformLimit
)

// Lines are the parts of buffers that the transform works on, Data and Spare, which it reads and writes, and what it
// only reads.
func (t *Transform) Lines() []*Line {
	return append([]*Line{&t.Data, &t.Spare}, t.Reads()...)
}

// Reads are the lines that it only reads, the source first.
func (t *Transform) Reads() []*Line {
	lines := []*Line{&t.Source, &t.Table}
	if t.Times != nil {
		lines = append(lines, t.Times)
	}
	return lines
}

func (*Transform) stmt() {}
