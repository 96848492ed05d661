package ir

import (
	"fmt"
	"sort"

	"healc/ir/scalar"
	"healc/lang/types"
)

// OpDef is everything the compiler knows about one operation. The checker, the verifier, the text
// form, the interpreter, fusion, both code generators and the manual read it; none has an op switch.
type OpDef struct {
	Name    string
	Summary string    // one sentence, for the manual
	Arity   int       // number of operands, or Variadic
	Regions int       // number of regions, or Variadic
	Attrs   []AttrDef // printed in this order
	Traits  Traits
	Class   Class

	// Fails narrows the trait MayFail to the uses that can fail; nil means all. Op.MayFail asks it.
	Fails func(op *Op) bool

	// Surface is how programs spell it: an operator such as "+" or a function name such as "exp"; ""
	// when it has no spelling of its own. The checker finds pointwise functions by it.
	Surface string

	// Operands are the names that programs give to the operands of a function; nil for x, or a, b, c.
	Operands []string

	// Infer gives the result types. A broken rule is a *types.RuleError with the constraint's name.
	// Region types are read from the regions' parameters and yields.
	Infer func(args []types.Tensor, attrs Attrs, regions []*Block) ([]types.Tensor, error)

	// Reads says of operand i what Op.ReadsAll does; nil for what is true of the class: Pointwise, Reduce, Contract and
	// Host read all, the others are not known to.
	Reads func(op *Op, i int) bool

	// Doomed gives the rule error of a use that fails whenever it is evaluated, by its literal extents: an
	// index into an empty axis. The checker reports it. Later stages, where shape parameters are bound,
	// leave it to run time, when an `if` may keep it from being evaluated. nil where nothing is doomed.
	Doomed func(args []types.Tensor, attrs Attrs) error

	// Scalar is the meaning of a Pointwise operation: the scalar program for one element. The
	// interpreter runs it, kernels inline it. x are the operands' elements at the same index.
	Scalar func(e scalar.Emitter, op *Op, x []scalar.Ref) scalar.Ref

	// Eval is the reference meaning of every other operation, on whole arrays.
	Eval func(c EvalContext, op *Op, args []*Array) ([]*Array, error)

	// Element builds the scalar program for the element of result number `result` at index `at` (one
	// I64 Ref an axis): the lowering of every operation that can stand in a kernel and is not Pointwise.
	Element func(p Pull, op *Op, result int, at []scalar.Ref) scalar.Ref

	// Rows writes a kernel that computes one row of the result at a time, in memory: along the attribute `axis`,
	// at the given index of the other axes. Operations of the class Rows have it beside Element.
	Rows func(p RowPull, op *Op, at []scalar.Ref)

	// RowWork estimates the scalar operations of an element of a Rows operation where it has no kernel of its own, by
	// estimates of extents.
	RowWork func(op *Op, size func(types.Dim) float64) float64

	// Space is the index space of the region of a Scope operation, which is evaluated once for each index. nil where
	// it is evaluated once, or as often as data say.
	Space func(op *Op) types.Shape

	// Expand rewrites the operation into simpler ones, before fusion; operations that have it need
	// neither Scalar, Eval nor Element. It gives nil while an extent that decides the program is symbolic.
	Expand func(b *Builder, op *Op) []*Value

	// Merge gives one operation that does what op does together with the one that makes an operand, and does better;
	// nil where there is none. made is what makes an operand for op alone, with nothing between them that could fail
	// first; else nil. The pass expand asks for it.
	Merge func(b *Builder, op *Op, made func(arg int) *Op) []*Value

	// VJP is the rule of reverse mode: from the cotangents of the results, nil where one has none, it adds the
	// cotangents of the operands to the tape. Operations that Expand defines need none. See Note [Gradients].
	VJP func(t *Tape, op *Op, cts []*Value)

	// NoGrad says why there is no gradient: every operation has a VJP, an Expand or this.
	NoGrad string

	Constraints []Constraint // C1, C2, ...: named by rule errors and by tests

	// Example is `expr == expr` in the language, executed by the tests and printed in the manual. Decls are
	// the declarations that it needs; empty for most.
	Example string
	Decls   string
}

// Variadic stands for any number of operands or regions.
const Variadic = -1

// AttrDef describes one attribute.
type AttrDef struct {
	Name     string
	Kind     AttrKind
	Optional bool
	Doc      string
}

// Constraint is a rule that operands obey.
type Constraint struct{ Name, Text string }

// Traits are facts that passes use.
type Traits uint16

// The traits.
const (
	Commutative Traits = 1 << iota
	Associative
	Effect  // input or output: keeps its order, is never removed or repeated
	MayFail // can stop the program: never removed, and never skipped for part of its elements
	Cheap   // a few machine instructions: recomputing beats reading it back from memory
	View    // costs nothing by itself: only changes where elements are read
	// what it gives differs between processors, and what reads it, all of it in the same program, does not: never
	// computed beforehand
	Partial
)

// Has reports whether all traits in u are set.
func (t Traits) Has(u Traits) bool { return t&u == u }

// Class says how fusion treats an operation.
type Class uint8

// The classes.
const (
	Pointwise Class = iota // one element from the operands' elements at the same index
	Reindex                // one element from one element of an operand, elsewhere: broadcast, slice, index, concat
	Source                 // no operands: const, iota, dim
	Reduce                 // combines elements along axes; ReducedAxes lists them
	Contract               // matrix products
	Scope                  // has regions that are evaluated per element, per step or once: tabulate, fold, iterate, if
	Host                   // runs between kernels: input, output, calls that are not inlined
	Fused                  // the fusion operation
	Rows                   // whole rows at once, in memory: sort, scatter_add; see Note [Rows]
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
}

// System is the outside world as operations see it. The runtime has one, tests another.
type System interface {
	Print(text string) error
	Format(a *Array) string // as `print` shows it
	LoadNpy(path string) (*Array, error)
	SaveNpy(path string, a *Array) error
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

var table = map[string]*OpDef{}

// declare reserves the entry of an operation, which define fills in. Two variables, so that the rules of an entry can
// name operations, itself among them: rules in the initializer of the variable would be initialization cycles.
func declare(name string) *OpDef { return &OpDef{Name: name} }

// define fills in the entry of an operation and adds it to the table. It panics at start-up when a fact is missing.
func define(d *OpDef, entry OpDef) *OpDef {
	entry.Name = d.Name
	*d = entry
	switch {
	case table[d.Name] != nil:
		panic("BUG: operation " + d.Name + " is defined twice")
	case d.Summary == "" || d.Infer == nil:
		panic("BUG: operation " + d.Name + " has no summary or no type rule")
	case d.Class == Pointwise && d.Expand == nil && d.Scalar == nil:
		panic("BUG: pointwise operation " + d.Name + " has no scalar program")
	case d.Class != Pointwise && d.Expand == nil && d.Eval == nil && d.Class != Fused:
		panic("BUG: operation " + d.Name + " has no reference meaning")
	case (d.Class == Rows) != (d.Rows != nil) || (d.Class == Rows) != (d.RowWork != nil):
		panic("BUG: operation " + d.Name + " has a Rows rule, an estimate for it or the class, and not all of them")
	}
	d.Infer = guarded(d)
	table[d.Name] = d
	return d
}

// Lookup returns the operation called name, or nil.
func Lookup(name string) *OpDef { return table[name] }

// Ops returns the whole table, sorted by name.
func Ops() []*OpDef {
	out := make([]*OpDef, 0, len(table))
	for _, d := range table {
		out = append(out, d)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

func (d *OpDef) attrIndex(name string) int {
	for i, a := range d.Attrs {
		if a.Name == name {
			return i
		}
	}
	panic(fmt.Sprintf("BUG: operation %s has no attribute %q", d.Name, name))
}

// MakeAttrs puts named attributes into table order. It panics on a name the table does not have.
func (d *OpDef) MakeAttrs(named map[string]any) Attrs {
	out := make(Attrs, len(d.Attrs))
	for name, v := range named {
		out[d.attrIndex(name)] = v
	}
	return out
}
