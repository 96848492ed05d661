package types

import "fmt"

// A RuleError says which rule of an operation its operands break. Op rules return it; the checker
// adds the source position and prints Shapes aligned at the last axis.
type RuleError struct {
	Constraint string  // the name in the op table, such as "C1"
	Msg        string  // one lower-case clause
	Shapes     []Shape // the shapes to show aligned, or nil
	Axis       int     // the axis to mark, counted from the end (1 is the last); 0 for none
	Why        string  // the reason under the mark: "2 and 3 differ, and neither is 1"
	Help       string  // how to fix it, or ""
	Stored     bool    // an operand is of a type that nothing computes with
}

func (e *RuleError) Error() string {
	if e.Why != "" {
		return e.Msg + ": " + e.Why
	}
	return e.Msg
}

// Broadcast returns the common shape of a and b: axes are aligned from the last, and two extents
// agree when they are equal or one is the literal 1. Missing leading axes count as 1.
//
//	[8,1,6] with [7,1] gives [8,7,6]
//
// The error is a *RuleError that marks the first axis, from the last, that disagrees. Source: NumPy's rules, made
// static.
func Broadcast(a, b Shape) (Shape, error) {
	rank := max(len(a), len(b))
	out := make(Shape, rank)
	for i := 1; i <= rank; i++ {
		x, y := Lit(1), Lit(1)
		if i <= len(a) {
			x = a[len(a)-i]
		}
		if i <= len(b) {
			y = b[len(b)-i]
		}
		switch {
		case x.Equal(y), y.IsConst(1):
			out[rank-i] = x
		case x.IsConst(1):
			out[rank-i] = y
		default:
			return nil, &RuleError{
				Msg: "shapes do not broadcast", Shapes: []Shape{a, b}, Axis: i,
				Why: fmt.Sprintf("%s and %s differ, and neither is 1", x, y),
			}
		}
	}
	return out, nil
}
