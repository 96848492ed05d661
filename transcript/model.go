package transcript

import (
	"fmt"
	"strconv"

	"healc/lang/types"
	"healc/runtime/tensor"
)

// Transcript is a decoded file. Its host tensors belong to it.
type Transcript struct {
	Path    string // of the file, for messages
	Entries []Entry
}

// Close frees the tensors.
func (t *Transcript) Close() {
	for _, e := range t.Entries {
		if e.Op == nil {
			continue
		}
		for _, a := range append(e.Op.Args, e.Op.Out) {
			a.Tensor.Close()
		}
	}
}

// EntryKind says what an entry is.
type EntryKind uint8

// The kinds of entry.
const (
	NoOp EntryKind = iota
	SegmentStart
	SegmentEnd
	DeviceOp
	Free
)

// Entry is one element of the list. Messages name an entry by its index in the list, from 0.
type Entry struct {
	Kind    EntryKind
	Segment string // the name that a SegmentStart gives
	Freed   Name   // the tensor that a Free frees
	Op      *Op    // of a DeviceOp
}

// Op is an operation with its arguments and where its result goes.
type Op struct {
	Name string
	Args []Arg
	Out  Arg
}

// Name is the name of a tensor on the device: a string, or an integer, which is another name than its digits.
type Name struct {
	Text    string
	Integer bool
}

// String is the name as listings show it.
func (n Name) String() string {
	if n.Integer {
		return "%" + n.Text
	}
	for i, c := range n.Text {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return "%" + strconv.Quote(n.Text)
		}
	}
	if n.Text == "" {
		return `%""`
	}
	return "%" + n.Text
}

// ArgKind is the kind of an argument.
type ArgKind uint8

// The kinds of argument; the comments name the fields of Arg that they use.
const (
	None         ArgKind = iota
	DeviceTensor         // Name, DType
	HostTensor           // Tensor
	Shape                // List, of Int, Slice and Ellipsis
	Int                  // Number
	TensorType           // DType
	Slice                // Slice
	Ellipsis
)

var argKinds = map[string]ArgKind{
	"NONE": None, "DEVICE_TENSOR": DeviceTensor, "HOST_TENSOR": HostTensor, "SHAPE": Shape, "INT": Int,
	"TENSOR_TYPE": TensorType, "SLICE": Slice, "ELLIPSIS": Ellipsis,
}

// String is the kind as the format spells it.
func (k ArgKind) String() string {
	for name, kind := range argKinds {
		if kind == k {
			return name
		}
	}
	return "ArgKind(" + strconv.Itoa(int(k)) + ")"
}

// Arg is one argument.
type Arg struct {
	Kind   ArgKind
	Name   Name
	DType  types.DType // types.Invalid where a pointer says none
	Tensor *tensor.Tensor
	List   []Arg
	Number Number
	Slice  Range
}

// Number is an integer, a bool (which is 0 or 1) or a float.
type Number struct {
	Int     int64
	Float   float64
	IsFloat bool
}

// Range is a slice as Python writes it: nil where nothing is given.
type Range struct{ Start, Stop, Step *int64 }

// Error says what is wrong with a transcript.
type Error struct {
	Path  string
	Entry int    // the index of the entry, -1 for the file as a whole
	Op    string // the name of the operation, or ""
	Msg   string // one lower-case clause
	Err   error  // what caused it, or nil
}

func (e *Error) Error() string {
	s := ""
	if e.Path != "" {
		s = e.Path + ": "
	}
	if e.Entry >= 0 {
		s += "entry " + strconv.Itoa(e.Entry)
		if e.Op != "" {
			s += " (" + e.Op + ")"
		}
		s += ": "
	}
	return s + e.Msg
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// errorf makes an error of a part; Read adds path and entry.
func errorf(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	e := &Error{Entry: -1, Msg: err.Error()}
	if u, ok := err.(interface{ Unwrap() error }); ok {
		e.Err = u.Unwrap()
	}
	return e
}
