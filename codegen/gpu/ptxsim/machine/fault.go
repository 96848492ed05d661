package machine

import (
	"fmt"
	"strings"
)

// Kind says what a Fault is about.
type Kind string

// The kinds of faults.
const (
	OutOfBounds       Kind = "access out of bounds"
	UseAfterFree      Kind = "use after free"
	Misaligned        Kind = "misaligned access"
	ReadOnly          Kind = "write to read-only memory"
	Uninitialised     Kind = "uninitialised read"
	Race              Kind = "data race"
	BarrierDivergence Kind = "barrier divergence" // threads of a block do not meet at one barrier
	WarpDivergence    Kind = "warp divergence"    // lanes named by a mask do not meet at one instruction
	DivisionByZero    Kind = "division by zero"   // the ISA gives no value for it
	Trap              Kind = "trap"
	StackOverflow     Kind = "stack overflow"
	InstructionLimit  Kind = "instruction limit"
	Undefined         Kind = "undefined behaviour" // an operand that the ISA gives no meaning
)

// Fault is what stopped a launch: which rule was broken, by which thread, at which instruction. The memory is left as
// it was at that moment.
type Fault struct {
	Kind   Kind
	Module string // the name given to Parse
	Entry  string // the kernel that was launched
	Func   string // the function of the instruction; Entry, unless it is called by it
	Line   int    // of the PTX text
	Text   string // that line
	Source string // file:line:column of the source, where the PTX has .loc; else ""
	Block  [3]int
	Thread [3]int
	Detail string // addresses, sizes, the other access
}

func (f *Fault) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n  at %s:%d: %s\n", f.Kind, f.Detail, f.Module, f.Line, f.Text)
	fmt.Fprintf(&b, "  in %s", f.Func)
	if f.Entry != f.Func {
		fmt.Fprintf(&b, " called by %s", f.Entry)
	}
	fmt.Fprintf(&b, ", block %v, thread %v", f.Block, f.Thread)
	if f.Source != "" {
		fmt.Fprintf(&b, ", from %s", f.Source)
	}
	return b.String()
}
