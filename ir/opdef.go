package ir

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"healc/ir/scalar"
	"healc/ir/scan"
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
	// when it has no spelling of its own.
	Surface string

	// Function is the name of the function that programs call, where that is not Surface.
	Function string

	// Params are the arguments of that function, in order; the checker reads calls by them. nil where there is no
	// function, and for element-wise operations whose operands are called x, or a, b, c.
	Params []Param

	// Brackets is what stands in brackets before the arguments, for signatures; "" for nothing.
	Brackets string

	// Infer gives the result types. A broken rule is a *types.RuleError with the constraint's name.
	// Region types are read from the regions' parameters and yields.
	Infer func(args []types.Tensor, attrs Attrs, regions []*Block) ([]types.Tensor, error)

	// Reads says of operand i what Op.ReadsAll does; nil for what is true of the class: Pointwise, Reduce, Contract and
	// Host read all, the others are not known to.
	Reads func(op *Op, i int) bool

	// Positions lists the operands that hold positions on axes. Each is checked whenever the operation is evaluated,
	// where no element is read or written, too: there, no element's program looks at it, so that the pass positions
	// writes the check down. nil where there are none, and where each position belongs to an element.
	Positions func(op *Op) []Position

	// Doomed gives the rule error of a use that fails whenever it is evaluated, by its literal extents: an
	// index into an empty axis. The checker reports it. Later stages, where shape parameters are bound,
	// leave it to run time, when an `if` may keep it from being evaluated. nil where nothing is doomed.
	Doomed func(args []types.Tensor, attrs Attrs) error

	// Sharding says what becomes of it where operands are cut into parts along an axis. Pointwise operations and those
	// with an Expand need not say it.
	Sharding ShardingRule

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

	// Panel is how many rows that are neighbours along the last axis, or along the one before where the rows lie along
	// the last one, Rows writes together, the first of which is at the index that it is given; 1, as where it is nil,
	// is the row at that index. The extents of these axes, and of those from `axis` on, are known where it is more, and
	// of the operands before Tables it reads the elements of these rows alone, all before it writes the first one.
	Panel func(op *Op) int64

	// Tables is the operand of a Rows operation from which on operands are tables, the same for all rows whatever axes
	// the others have in front; 0 where there are none.
	Tables int

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
	VJP func(t Tape, op *Op, cts []*Value)

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

// Position is an operand that holds positions on an axis of this extent, at which runs of Size elements begin. A run
// without elements is nowhere, and its position is not checked.
type Position struct {
	Arg          int
	Extent, Size types.Dim
}

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
	Files // reads or writes files
	Loop  // carries a state through steps: the operands after the first, the number of steps, and the results
)

// Has reports whether all traits in u are set.
func (t Traits) Has(u Traits) bool { return t&u == u }

// Class says how fusion treats an operation.
type Class uint8

// The classes.
const (
	Pointwise Class = iota // one element from the operands' elements at the same index
	Reindex                // from elements of operands elsewhere, one or a few: broadcast, slice, index, concat
	Source                 // no operands: const, iota, dim
	Reduce                 // combines elements along axes; ReducedAxes lists them
	Contract               // matrix products
	Scope                  // has regions that are evaluated per element, per step or once: tabulate, fold, iterate, if
	Host                   // runs between kernels: input, output, calls that are not inlined
	Fused                  // the fusion operation
	Rows                   // whole rows at once, in memory: sort, scatter_add; see Note [Rows]
)

var table = make(map[string]*OpDef, 256)

// Declare reserves the entry of an operation, which Define fills in. Two variables, so that the rules of an entry can
// name operations, itself among them: rules in the initializer of the variable would be initialization cycles.
func Declare(name string) *OpDef { return &OpDef{Name: name} }

// Define fills in the entry of an operation and adds it to the table. It panics at start-up when a fact is missing.
func Define(d *OpDef, entry OpDef) *OpDef {
	entry.Name = d.Name
	switch {
	case entry.Sharding != ShardUnknown:
	case entry.Expand != nil:
		entry.Sharding = ShardExpanded
	case entry.Class == Pointwise:
		entry.Sharding = ShardElements
	}
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
	case d.Sharding == ShardUnknown:
		panic("BUG: operation " + d.Name + " does not say what becomes of it where operands are sharded")
	case (d.Class == Rows) != (d.Rows != nil) || (d.Class == Rows) != (d.RowWork != nil):
		panic("BUG: operation " + d.Name + " has a Rows rule, an estimate for it or the class, and not all of them")
	}
	d.Infer = guarded(d)
	table[d.Name] = d
	return d
}

// Lookup returns the operation called name, or nil.
func Lookup(name string) *OpDef { return table[name] }

// Ops returns the whole table, sorted by name. It is complete when the program has started.
func Ops() []*OpDef { return slices.Clone(sorted()) }

var sorted = sync.OnceValue(func() []*OpDef {
	return slices.SortedFunc(maps.Values(table), func(a, b *OpDef) int { return strings.Compare(a.Name, b.Name) })
})

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

// Spelling is the operation as programs write it, or its name when it has no spelling of its own. Messages
// to the user speak of operations by it.
func (d *OpDef) Spelling() string {
	if d.Surface != "" {
		return d.Surface
	}
	return d.Name
}

// FunctionName is the name by which programs call the operation, or "".
func (d *OpDef) FunctionName() string {
	switch {
	case d.Function != "":
		return d.Function
	case d.Params != nil, d.Class == Pointwise && len(d.Attrs) == 0 && scan.IsWord(d.Surface):
		return d.Surface
	}
	return ""
}

// Quoted is the spelling for the middle of a message.
func (d *OpDef) Quoted() string {
	if d.Surface != "" {
		return "`" + d.Surface + "`"
	}
	return d.Name
}
