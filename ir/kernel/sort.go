package kernel

import "healc/lang/types"

// Sort puts the Size elements of Source into Data, which may be the same line, as the operation sort does: ascending,
// NaN last, and what is equal, such as zeros and NaNs, in the order in which it was. Data and Spare are work memory of
// Size numbers each, as wide in one as in the other and of 32 or 64 bits; what Spare holds then has no meaning. It
// stands behind a scalar.Compresses.
//
// With Positions all are u64, and Data gets the positions of the elements instead, in the order in which these are
// sorted, with anything in the upper 32 bits. Then it is not the line of Source.
//
// With Ranks only the elements of Data that have one of these ranks are in place; the others are any numbers.
type Sort struct {
	Size                types.Dim
	Positions           bool
	Data, Source, Spare Line
	Ranks               []Ranks
}

// Ranks are the ranks from First up to End, two I64; those that the row does not have are none.
type Ranks struct{ First, End Ref }

// Lines are the parts of buffers that it reads and writes.
func (s *Sort) Lines() []*Line { return []*Line{&s.Data, &s.Source, &s.Spare} }

func (*Sort) stmt() {}
