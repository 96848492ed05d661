package ptxsim

import "sort"

// Module is PTX text that was understood completely. It is immutable, and may run on any number of devices.
type Module struct {
	Name    string
	Version string // of PTX: "7.0"
	Target  string // "sm_80"

	src   string
	files map[int]string // of .loc

	funcs map[string]*function
	vars  []*variable // in global, constant and shared memory, those declared in functions among them
}

// Entries are the names of the kernels, sorted.
func (m *Module) Entries() []string {
	var names []string
	for name, f := range m.funcs {
		if f.entry {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}

// ParamBytes is the size of the parameters of an entry, laid out as Launch takes them: each at the next multiple
// of its alignment. It is -1 if there is no such entry.
func (m *Module) ParamBytes(entry string) int {
	f := m.funcs[entry]
	if f == nil || !f.entry {
		return -1
	}
	return f.paramBytes
}

// line is line n of the text, with single spaces.
func (m *Module) line(n int) string { return lineOf(m.src, n) }

// variable is memory with a name. A parameter and a .param variable of a function have an offset in the parameter area
// of its frames; a local variable has one in its stack frame.
type variable struct {
	name   string
	space  space
	size   int // in bytes; 0 for an array of extern shared memory
	align  int
	init   []byte // what a global or constant variable starts with; the rest is zero
	refs   []reference
	extern bool // dynamic shared memory
	line   int

	offset int  // param and local variables: in the area of the function
	launch bool // a parameter of an entry, which is the same for all threads
}

// reference is the address of another variable in the initial value of one.
type reference struct {
	offset  int
	name    string
	add     int64
	generic bool
}

// function is an entry or a device function.
type function struct {
	name  string
	entry bool
	line  int
	body  bool // false for a declaration only

	params, results []*variable
	paramBytes      int // of the parameters
	areaBytes       int // of a frame's area for one lane: parameters, results, and variables for calls
	localBytes      int // of its stack frame
	maxThreads      int // .maxntid or .reqntid: how many threads a block may have; 0: any
	required        [3]int

	regs    map[string]dtype  // single registers
	ranges  map[string]ranged // %r<10>
	source  []*instr
	labels  map[string]int      // index in source
	targets map[string][]string // .branchtargets

	// What compile makes of it.
	code    []op
	nvals   int         // slots of values in a frame: registers, then constants and symbols
	npreds  int         // slots of predicates
	fixed   []fixed     // the slots that are no registers
	tracked bool        // some register may be read before it is written
	symbols []*variable // shared, global and constant variables that it names
	calls   []*function
}

// ranged is a declaration such as .reg .b32 %r<10>.
type ranged struct {
	t dtype
	n int
}

// instr is one instruction as it is written.
type instr struct {
	line  int
	loc   location
	guard *operand // predicate
	not   bool     // @!p
	op    string   // the first word
	mods  []string // the rest, in order
	args  []operand
}

// location is a .loc.
type location struct{ file, line, col int }

// operandKind tells the forms of an operand.
type operandKind uint8

const (
	argReg    operandKind = iota // name: a register or a special register
	argInt                       // bits
	argFloat                     // bits, of an f32 or, if wide, of an f64
	argSymbol                    // name: a variable, function or label
	argMemory                    // [base + add]; base is a register, a symbol, or empty
	argVector                    // {list}
	argPair                      // a|b in list
	argList                      // (list), of a call
	argAny                       // _
)

type operand struct {
	kind operandKind
	name string
	bits uint64
	wide bool
	not  bool // !p
	add  int64
	list []operand
	v    *variable // of argSymbol and argMemory, when the name is a variable of the function
}
