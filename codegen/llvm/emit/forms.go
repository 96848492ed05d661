package emit

import (
	"github.com/llir/llvm/ir/value"

	"healc/ir/kernel"
)

// Forms are the ways to write a loop other than iteration after iteration or in plain vectors, in the order in which
// they are tried. An effort or a target that has none of them leaves the lists empty.
type Forms struct {
	Parallel   []ParallelForm   // before vectors along the loop
	Scalar     []ParallelForm   // of loops that are no vectors
	Sequential []SequentialForm // of loops that carry a state
}

// ParallelForm is a form of loops whose iterations are independent.
type ParallelForm struct {
	Name string
	For  string // which loops
	Why  string // and why it stands where it stands in its list
	// Write writes iterations of v from lo on, and returns from which one on they are left; ok is false where the loop
	// is of another form.
	Write func(g *Func, v kernel.Ref, lo, hi value.Value, body *kernel.Block) (rest value.Value, ok bool)
}

// SequentialForm is a form of loops that carry a state.
type SequentialForm struct {
	Name string
	For  string
	Why  string
	// Write writes the loop, whose iterations step does, and returns the state at its end; ok is false where the loop
	// is of another form.
	Write func(g *Func, l *kernel.Loop, init []value.Value, lo, hi value.Value, step StepFunc) (out []value.Value,
		ok bool)
}

// StepFunc writes iteration i of a loop, from a state to the next one.
type StepFunc func(i value.Value, state []value.Value) []value.Value
