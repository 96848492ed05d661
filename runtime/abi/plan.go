package abi

import (
	"fmt"
	"strconv"
	"strings"

	"healc/lang/types"
)

// Program is a compiled function as the runtime runs it: buffers, kernels by name, and the steps to
// take. bufferize makes it, the runtime walks it. It can be written to disk (encoding/gob) as it is.
type Program struct {
	Name  string
	Dims  []string // free shape parameters; empty when the program is specialised
	Sites []Site
	Funcs []*Function // Funcs[0] is the entry; the others are called by Call steps

	Device *Device // how the kernels are launched on a device; nil in a program for the CPU
}

// Function is one activation: its buffers live in one arena that is allocated once per call.
type Function struct {
	Name    string
	Buffers []Buffer
	Params  []int  // buffers of the parameters, in order
	Results []View // what it returns
	Updates []int  // buffers of parameters that it changes, which are `&mut`
	Steps   []Step
}

// BufferKind tells where a buffer lives.
type BufferKind uint8

// The kinds of buffer.
const (
	Input  BufferKind = iota // belongs to the caller; strides as declared
	Output                   // a fresh tensor that the caller gets
	Temp                     // in the arena
	Data                     // constant bytes of the program
)

// Buffer is memory for one tensor. Extents may be symbolic; the runtime evaluates them once per call.
type Buffer struct {
	Kind    BufferKind
	DType   types.DType
	Shape   []Extent
	Strides []types.Dim // in elements, for Input when it is not row-major; nil means row-major
	Bytes   []byte      // Data: row-major elements
	Str     string      // for strings, which only Host steps see
	// First and Last are the steps (counted in pre-order) between which a Temp is alive. The runtime
	// gives buffers whose lives do not meet the same place in the arena.
	First, Last int
}

// View is a tensor in a buffer: element i is at Offset + sum(i[k] * Strides[k]), in elements.
type View struct {
	Buffer  int
	Shape   []types.Dim
	Offset  types.Dim
	Strides []types.Dim
}

// Step is one action. Exactly one of the pointers is set.
type Step struct {
	Launch *Launch
	Host   *HostCall
	If     *If
	Call   *Call
	Copy   *Copy
	Fail   *Fail
	Loop   *Loop
}

// EachStep calls f with every step of a list and of the lists in it, outer ones first.
func EachStep(steps []Step, f func(s *Step)) {
	for i := range steps {
		s := &steps[i]
		f(s)
		if s.If != nil {
			EachStep(s.If.Then, f)
			EachStep(s.If.Else, f)
		}
		if s.Loop != nil {
			EachStep(s.Loop.Body, f)
		}
	}
}

// Launch runs a kernel over its outermost parallel axis.
type Launch struct {
	Kernel string
	Args   []int  // buffers, in the order of the kernel's parameters
	Outer  Extent // of the outermost parallel axis; 1 when there is none
	Align  int64  // parts of the axis should start at multiples of this: the vector width; 0 is 1
	Work   int64  // scalar operations for each index of the outer axis, an estimate (0: unknown)
	Bytes  int64  // of elements that each index of the outer axis touches, an estimate (0: unknown)
	// Moved is of elements that one step of a loop after the other hands from thread to thread where several share the
	// launch, an estimate for all of it.
	Moved int64
	Open  bool // nothing bounds how long an index takes: a loop ends when the data say so, a function recurses
	// Tasks, when it is not 0, is the number of parts into which the code has cut all of the iteration space by itself:
	// the kernel is launched over [0, Tasks) in place of the outermost axis, and Align, Work and Bytes are of tasks.
	Tasks int64
	// Stack is how many bytes of stack the functions take that the kernel calls, MaxCallDepth deep; 0: it calls none.
	Stack int64
	// Edges has buffers that are read at the edges of the axis alone, of those that come from other ranks. It says
	// nothing where there are Tasks.
	Edges []Edge `json:",omitempty"`
}

// Edge says that a kernel reads a buffer at the first and at the last so many indices of its outermost axis alone.
type Edge struct {
	Buffer      int
	First, Last int64
}

// HostCall does input or output: Name is the operation in the table ("print", "load_npy", ...).
type HostCall struct {
	Name  string
	Args  []View
	Out   []int // buffers that receive results
	Attrs map[string]string
	Site  int // for the position of errors
}

// If runs one of two lists of steps; Cond is a bool scalar.
type If struct {
	Cond       int
	Then, Else []Step
}

// Loop runs Body again and again: as often as the i32 in buffer Count says, which is read once (below 1 is
// none), or until the bool in buffer Until is true after a run. Before each run its number is written to
// buffer Index, an i32. Index and Until are -1 when there is none. After each run the buffers of every pair
// in Swap, which are temporaries of one type, change places in memory: the state that the run wrote is the
// one that the next run reads.
type Loop struct {
	Count int
	Index int
	Until int
	Body  []Step
	Swap  [][2]int

	Device *DeviceLoop // how all of it is one launch on a device; nil when it is not
}

// Handed is the buffers that a run writes for the next one.
func (l *Loop) Handed() []int {
	var out []int
	for _, p := range l.Swap {
		out = append(out, p[1])
	}
	return out
}

// Call runs Funcs[Func] with fresh buffers; results are copied into Out.
type Call struct {
	Func int
	Args []View
	Out  []int
	Site int
}

// Copy copies elements, of any strides, into a whole buffer.
type Copy struct {
	From View
	To   int
}

// Fail stops the program where every number of Where is at least 1.
type Fail struct {
	Where []types.Dim
	Site  int
}

// Int is an attribute that is an integer; 0 where there is none.
func (h *HostCall) Int(name string) int64 {
	text := h.Attrs[name]
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("BUG: the attribute %s of %s: %v", name, h.Name, err))
	}
	return n
}

// Flag is an attribute that is there or not.
func (h *HostCall) Flag(name string) bool { return h.Attrs[name] == "true" }

// Ints is an attribute that is several integers.
func (h *HostCall) Ints(name string) []int64 {
	var out []int64
	for _, word := range strings.Fields(strings.Trim(h.Attrs[name], "[]")) {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			panic(fmt.Sprintf("BUG: the attribute %s of %s: %v", name, h.Name, err))
		}
		out = append(out, n)
	}
	return out
}
