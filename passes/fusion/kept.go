package fusion

import (
	"fmt"

	"healc/lang/diag"
)

// Kept is a value that fusion leaves in memory between kernels, as the argument of a remark.
type Kept struct {
	Value string // as in the text of the function
	Op    string // the operation that it is of
	Span  diag.Span
	Home  string // the file that the module is of
	Why   string // what was compared
}

// Where is the operation and its line, for people.
func (k Kept) Where() string {
	if !k.Span.Valid() {
		return k.Op
	}
	return k.Op + ", " + k.Span.Line(k.Home)
}

// String is the remark.
func (k Kept) String() string { return fmt.Sprintf("kept %s (%s): %s", k.Value, k.Where(), k.Why) }

// Place is where the value is computed.
func (k Kept) Place() diag.Span { return k.Span }
