package ir

import (
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/cluster"
)

// EvalContext is what Eval may ask of the interpreter.
type EvalContext interface {
	// Dim is the value of an extent under the current bindings.
	Dim(d types.Dim) int64
	// Region evaluates region r of op with the given arguments.
	Region(op *Op, r int, args ...*Array) ([]*Array, error)
	// Call evaluates another function of the module, for op; dims bind its shape parameters in order.
	Call(op *Op, callee string, dims []int64, args []*Array) ([]*Array, error)
	// Fail returns the run-time error with the position of op.
	Fail(op *Op, kind scalar.CheckKind, details ...int64) error
	// System gives access to input and output.
	System() System
	// Cluster connects the ranks of the program; nil where there is one.
	Cluster() cluster.Comm
	// Ended is why the run is to end before its end, nil while it is not. An operation that takes much longer than its
	// operands are large asks now and then.
	Ended() error
}

// System is the outside world as operations see it. The runtime has one, tests another.
type System interface {
	Print(text string) error
	Format(a *Array) (string, error) // as `print` shows it
	LoadNpy(path string) (*Array, error)
	SaveNpy(path string, a *Array) error
	SaveImage(path, form string, a *Array) error // form is "png" or "pgm"
}

// Pull builds the scalar program for one element of a kernel. Elements of operands are pulled in at the
// index where they are needed, so that everything between two materialised buffers becomes one body.
type Pull interface {
	scalar.Sink
	// E is the emitter of the current place in the body.
	E() scalar.Emitter
	// Arg is the element of operand i at index at.
	Arg(op *Op, i int, at []scalar.Ref) scalar.Ref
	// Region evaluates region r of op, its parameters bound to the scalars args, and gives yield number
	// `yield` at index at.
	Region(op *Op, r, yield int, args []scalar.Ref, at []scalar.Ref) scalar.Ref
	// Extent is an extent as an I64.
	Extent(d types.Dim) scalar.Ref
	// If evaluates only the arm that is taken.
	If(cond scalar.Ref, t types.DType, then, els func() scalar.Ref) scalar.Ref
	// Reduce combines body over the index space, in the order that section 9 gives to kind. An empty space
	// gives ReduceKind.Identity; where there is none, a Check before has stopped the program.
	Reduce(op *Op, kind ReduceKind, t types.DType, lastAxis bool, extents []types.Dim,
		body func(at []scalar.Ref) scalar.Ref) scalar.Ref
	// Loop folds strictly in row-major order. begin skips that many leading elements of the flattened space.
	// It gives init when nothing is left.
	Loop(extents []types.Dim, begin int64, init []scalar.Ref,
		body func(at, state []scalar.Ref) []scalar.Ref) []scalar.Ref
	// Iterate computes a state again and again: n times (an integer; below 1 is none), or until body's second
	// value, a bool, is true after a step; body gives scalar.None for a loop that only counts. i is the number
	// of the step, an I64.
	Iterate(n scalar.Ref, init []scalar.Ref, body func(i scalar.Ref, state []scalar.Ref) (next []scalar.Ref,
		stop scalar.Ref)) []scalar.Ref
	// Call calls a scalar function of the module (one that recurses, so that it could not be inlined) and
	// gives its result number `result`.
	Call(op *Op, callee string, args []scalar.Ref, result int) scalar.Ref
}

// ReduceKind is what a reduction combines with. Every reduction starts with its first element; see Note
// [Order of reductions]. Positions compare elements by <, so that -0 and +0 tie, and the first one wins.
type ReduceKind uint8

// The reductions whose order is not strictly left to right. Sums and products of floats have the fixed
// order of section 9; all others give the same bits in any order.
const (
	ReduceSum ReduceKind = iota
	ReduceProd
	ReduceMax
	ReduceMin
	ReduceAnd
	ReduceOr
	ReduceArgMax // body gives the value; the result is the I64 position of the first maximum (or first NaN)
	ReduceArgMin
)

func (k ReduceKind) String() string {
	return [...]string{"sum", "prod", "max", "min", "and", "or", "argmax", "argmin"}[k]
}

// Combine is the scalar program that joins two elements.
func (k ReduceKind) Combine(e scalar.Emitter, x, y scalar.Ref) scalar.Ref {
	switch k {
	case ReduceSum:
		return e.Add(x, y)
	case ReduceProd:
		return e.Mul(x, y)
	case ReduceMax:
		return e.Max(x, y)
	case ReduceMin:
		return e.Min(x, y)
	case ReduceAnd:
		return e.And(x, y)
	case ReduceOr:
		return e.Or(x, y)
	}
	panic("BUG: elements are not combined by " + k.String())
}

// Identity gives the bits of the reduction of nothing in elements of type t, and whether there is one.
func (k ReduceKind) Identity(t types.DType) (uint64, bool) {
	switch k {
	case ReduceSum, ReduceOr:
		return 0, true
	case ReduceProd, ReduceAnd:
		return scalar.IntBits(t, 1), true
	}
	return 0, false
}

// Moved is the index at with position i on an axis.
func Moved(at []scalar.Ref, axis int64, i scalar.Ref) []scalar.Ref {
	out := append([]scalar.Ref{}, at...)
	out[axis] = i
	return out
}

// CheckedPosition is element at of operand i, a position on an axis of the given extent, checked. It reports false
// when the axis is empty: the check fails then, and there is nothing to pull.
func CheckedPosition(p Pull, op *Op, i int, at []scalar.Ref, extent types.Dim) (scalar.Ref, bool) {
	e := p.E()
	pos := e.Cast(types.I64, p.Arg(op, i, at))
	bound := p.Extent(extent)
	inside := e.And(e.Le(e.Int(types.I64, 0), pos), e.Lt(pos, bound))
	e.Check(scalar.CheckIndex, inside, pos, bound)
	return pos, !extent.IsConst(0)
}
