package ptx

import (
	"fmt"
	"sort"
)

// Module is the syntax tree of a PTX text. Nothing changes it after Parse.
type Module struct {
	Name    string // for messages
	Version string // of PTX: "7.0"
	Target  string // "sm_80"

	Files     map[int]string // of .loc
	Functions map[string]*Function
	Variables []*Variable // in global, constant and shared memory, those declared in functions among them

	text string
}

// Entries are the names of the kernels, sorted.
func (m *Module) Entries() []string {
	var names []string
	for name, f := range m.Functions {
		if f.Entry {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}

// ParamBytes is the size of the parameters of an entry, each at the next multiple of its alignment. It is -1 if there
// is no such entry.
func (m *Module) ParamBytes(entry string) int {
	f := m.Functions[entry]
	if f == nil || !f.Entry {
		return -1
	}
	return f.ParamBytes
}

// Line is line n of the text, with single spaces.
func (m *Module) Line(n int) string { return lineOf(m.text, n) }

// Errorf is an error at a line of the text.
func (m *Module) Errorf(line int, format string, args ...any) *Error {
	return errorAt(m.Name, m.text, line, fmt.Sprintf(format, args...))
}

// Variable is memory with a name. A parameter and a .param variable of a function have an offset in the parameter area
// of its frames; a local variable has one in its stack frame.
type Variable struct {
	Name   string
	Space  Space
	Size   int // in bytes; 0 for an array of extern shared memory
	Align  int
	Init   []byte // what a global or constant variable starts with; the rest is zero
	Refs   []Reference
	Extern bool // dynamic shared memory
	line   int

	Offset  int  // param and local variables: in the area of the function
	OfEntry bool // a parameter of an entry, which is the same for all threads
}

// Reference is the address of another variable in the initial value of one.
type Reference struct {
	Offset  int
	Name    string
	Add     int64
	Generic bool
}

// Function is an entry or a device function.
type Function struct {
	Name    string
	Entry   bool
	Line    int
	Defined bool // false for a declaration only

	Params, Results []*Variable
	ParamBytes      int    // of the parameters
	AreaBytes       int    // of a frame's area for one lane: parameters, results, and variables for calls
	LocalBytes      int    // of its stack frame
	MaxThreads      int    // .maxntid or .reqntid: how many threads a block may have; 0: any
	Required        [3]int // .reqntid: how many it has; 0: any

	Instructions []*Instruction
	Labels       map[string]int      // index in Instructions
	Targets      map[string][]string // .branchtargets

	regs   map[string]Type   // single registers
	ranges map[string]ranged // %r<10>
}

// ranged is a declaration such as .reg .b32 %r<10>.
type ranged struct {
	t Type
	n int
}

// Register is the type of a register that the function declares.
func (f *Function) Register(name string) (Type, bool) {
	if t, ok := f.regs[name]; ok {
		return t, true
	}
	end := len(name)
	for end > 0 && name[end-1] >= '0' && name[end-1] <= '9' {
		end--
	}
	r, ok := f.ranges[name[:end]]
	if !ok || end == len(name) || len(name)-end > 8 {
		return NoType, false
	}
	n := 0
	for _, c := range name[end:] {
		n = 10*n + int(c-'0')
	}
	return r.t, n < r.n && (name[end] != '0' || end+1 == len(name))
}
