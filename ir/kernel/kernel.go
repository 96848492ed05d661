package kernel

import (
	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/diag"
	"healc/lang/types"
	"healc/runtime/abi"
)

// Ref names a scalar in a kernel: Kernel.Types[r] is its type. Every Ref has one definition, and is
// visible after it in its block and in the blocks below.
type Ref = scalar.Ref

// Module is the code of one program: its kernels and the scalar functions they call.
type Module struct {
	Name    string
	Dims    []string // free shape parameters, in the order of the kernel argument `dims`
	Funcs   []*Func
	Kernels []*Kernel
	Sites   []abi.Site
	Plan    *abi.Program // how the kernels are launched; not part of the text form's kernels section

	// Steps is where in the source each function of the plan has its steps from, in the order of abi.EachStep; not part
	// of the text form, nor of the plan, which is the same whatever stands above the function in its file.
	Steps [][]diag.Span
}

// Kernel is one loop nest. The parallel Axes, outermost first, span its iteration space; iterations are
// independent and may run in any order and on any thread. Axis 0 is the one that the runtime splits.
type Kernel struct {
	Name   string
	Params []Param
	Axes   []Axis
	Types  []types.DType // of every Ref
	Source Source        // of every Ref; not part of the text form
	Body   *Block
	Notes  []Note // what was fused into it, in order

	Contract *Contract // that it is a matrix product, see Note [Contracts]; nil: it is none, or nobody has looked
	Schedule *Schedule // how it is written for one target, see Note [Schedules]; nil: not decided
}

// Note is an operation that was fused into a kernel.
type Note struct {
	Op    string
	Where string    // its line, for people, as "line 3"; "" when it is not known
	At    diag.Span // not part of the text form
}

// String is the operation with its line.
func (n Note) String() string {
	if n.Where == "" {
		return n.Op
	}
	return n.Op + " (" + n.Where + ")"
}

// NewRef adds a scalar, whose place is that of another one.
func (k *Kernel) NewRef(t types.DType, like Ref) Ref {
	at := k.Source.At(like)
	k.Source = append(k.Source, make(Source, len(k.Types)-len(k.Source))...)
	k.Types, k.Source = append(k.Types, t), append(k.Source, at)
	return Ref(len(k.Types) - 1)
}

// Func is a scalar function that recurses. Its parameters are Refs 0 to len(Params)-1. A call that is
// deeper than abi.MaxCallDepth fails with scalar.CheckRecursion at Site.
type Func struct {
	Name    string
	Params  []types.DType
	Results []types.DType
	Types   []types.DType
	Source  Source // as in a Kernel
	Body    *Block
	Vals    []Ref
	Site    int
}

// Param is a buffer of the kernel.
type Param struct {
	Name  string
	DType types.DType
	Out   bool // written; an output is never read, an input never written
	// InPlace marks an output that is an input, too: each element is read only by the iteration that writes
	// it, at the index where it then writes, and before.
	InPlace bool
	Work    bool // of an output: it is read, too, each element only by the iteration of the axes that writes it
	// Stream marks an output that is not read and is written past the caches, as it would not be found there: the
	// kernel's buffers, which pass through the caches while it runs, are larger than what a core can call its own, and
	// the output is no small part of them (docs/tuning/streaming-stores.md).
	Stream bool
	// Local is memory of the kernel itself, for which no buffer is passed: each iteration of the axes writes an element
	// before it reads it. It is an output in Out, and in Work where what was read may be written again, and stands
	// behind all other parameters.
	Local bool
	Shape []abi.Extent
	Elems []types.Dim // strides in elements, for the text form and bounds checks; nil means row-major
}

// OnlyWritten reports that the parameter is an output whose memory is somebody else's and is not read.
func (p *Param) OnlyWritten() bool { return p.Out && !p.Work && !p.InPlace && !p.Local }

// Buffers is the number of parameters for which a buffer is passed: all but local ones.
func (k *Kernel) Buffers() int {
	n := len(k.Params)
	for n > 0 && k.Params[n-1].Local {
		n--
	}
	return n
}

// Axis is a loop variable, an I64, from Begin up to Extent.
type Axis struct {
	Var    Ref
	Begin  int64
	Extent abi.Extent
}

// Block is a list of statements in order.
type Block struct{ Stmts []Stmt }

// Stmt is a statement of a kernel body.
type Stmt interface{ stmt() }

// Let computes a scalar. Check (which has no value, ID None) carries its Site.
type Let struct {
	ID   Ref
	In   scalar.Instr
	Site int // for Check: index into Module.Sites
}

// DimValue is the value of a dim as an I64.
type DimValue struct {
	ID  Ref
	Dim types.Dim
}

// Load reads one element.
type Load struct {
	ID    Ref
	Param int
	At    Access
}

// Store writes one element.
type Store struct {
	Param int
	At    Access
	Val   Ref
}

// Access is the place of an element: Offset + sum(Coef * Var), in elements from the buffer's element 0.
// A Var is any I64: a loop variable, or a computed index that was checked.
type Access struct {
	Offset types.Dim
	Terms  []Term
}

// Term is one summand of an Access.
type Term struct {
	Coef types.Dim
	Var  Ref
}

// Loop runs Body for each value of its axis, in order unless Parallel. State is carried from one
// iteration to the next: it starts as Init, is visible in Body as Vars, becomes Next, and is visible
// after the loop as IDs. A Parallel loop has no state; its iterations are independent.
type Loop struct {
	Axis     Axis
	Parallel bool
	Init     []Ref
	Vars     []Ref
	Body     *Block
	Next     []Ref
	IDs      []Ref
}

// Iterate runs Body Count times, in order, with Var counting from 0; a Count below 1 is none. State is carried
// as in a Loop. When Until is not None, a bool of Body, the loop ends after the iteration in which it is
// true; what that iteration computed is the state at the end.
type Iterate struct {
	Var   Ref // an I64
	Count Ref // an I64
	Init  []Ref
	Vars  []Ref
	Body  *Block
	Next  []Ref
	Until Ref
	IDs   []Ref
}

// Reduce combines Val over the axes. Order is the order of language.md section 9.
type Reduce struct {
	ID    Ref
	Kind  ir.ReduceKind
	Type  types.DType // of Val; of ID too, except for ArgMax and ArgMin, whose ID is an I64 position
	Order Order
	Axes  []Axis // outermost first; elements are numbered in row-major order of these
	Body  *Block
	Val   Ref
	// Chunk, when it is not None, restricts the reduction to elements [Chunk*Order.Chunk(),
	// (Chunk+1)*Order.Chunk()): one partial result, which a second kernel reduces by Lanes.
	Chunk Ref
}

// Order is the order in which a reduction combines.
type Order uint8

// The orders. Any: the same bits whatever the order (integers, max, min, and, or, first position).
const (
	Any     Order = iota
	Lanes         // the last axis is reduced: chunks of 4096, 128 lanes, folded in halves
	Columns       // it is not: chunks of 256 in one lane; their results by Lanes
)

// Chunk is the number of elements of one chunk.
func (o Order) Chunk() int64 {
	if o == Columns {
		return 256
	}
	return 4096
}

// NumLanes is the number of lanes of the order Lanes.
const NumLanes = 128

func (o Order) String() string { return [...]string{"any", "lanes", "columns"}[o] }

// If evaluates one arm. IDs take the values of the arm that ran.
type If struct {
	Cond       Ref
	Then, Else *Block
	ThenVals   []Ref
	ElseVals   []Ref
	IDs        []Ref

	Choices []*scalar.Choice // what it decides, for tests that count; not printed
}

// Call calls a scalar function of the module.
type Call struct {
	IDs  []Ref
	Func string
	Args []Ref
}

func (*Let) stmt()      {}
func (*DimValue) stmt() {}
func (*Load) stmt()     {}
func (*Store) stmt()    {}
func (*Loop) stmt()     {}
func (*Iterate) stmt()  {}
func (*Reduce) stmt()   {}
func (*If) stmt()       {}
func (*Call) stmt()     {}
