// Package wire is what a program and the process in which it has a module compiled and run (heal.Sandbox) say to each
// other: messages over a pair of sockets.
//
// Note [Wire]. A message is a head of fixed size, a text, and tensors. Neither side believes the other one: a length
// that is too large is an error before anything is read, and memory grows with what has arrived, not with what a head
// claims. A tensor is read into memory of its own only where the reader knows its type and shape beforehand (Want);
// another one is collected first. The order of bytes is little-endian, as elements lie in memory.
//
// The elements of a tensor go in row-major order. An axis along which all elements are one place (stride 0) is sent
// once. What else there is to its strides is sent as an order of the axes, signs and gaps, so that the reader makes the
// strides, and these are never beyond the memory that it has made for them.
package wire

// Kind says what a message is about.
type Kind uint8

// The messages. Those of the parent are requests, and each is answered with Done or Failed; but Stop is not answered,
// and Answer is the answer to one of the child's.
const (
	Start     Kind = iota + 1 // parent: a Program, the first message
	Find                      // parent: Wanted, a function; Done has its Function
	Call                      // parent: Func is the function, the tensors are its arguments
	Stop                      // parent: the call ID is to end
	Answer                    // parent: of a request of the child; its text is a Failure, or nothing
	Done                      // child: of the request ID
	Failed                    // child: of the request ID; a Failure
	Print                     // child: the text is printed
	LoadNpy                   // child: the text is a path; the answer has a tensor
	SaveNpy                   // child: the text is a path; there is one tensor
	ReadFile                  // child: the text is the path of an import; the answer's text is the file, if Func is 1
	SaveImage                 // child: the text is FORM:PATH; there is one tensor
	lastKind  = SaveImage
)

// Limits of a message.
const (
	MaxText    = 256 << 20 // bytes of its text
	MaxTensors = 1 << 16   // tensors
	MaxRank    = 1 << 10   // axes of one
)

// Program is what the child compiles.
type Program struct {
	Name, Text string // of the source
	Backend    string
	Threads    int
	Once       bool
	Entry      string
	SplitAll   bool
	Steps      int64
	Memory     int64
	Imports    bool     // they are asked for by ReadFile
	From       []string // folders of imports beside that of the source
	Files      bool     // files of the program are asked for by LoadNpy, SaveNpy and SaveImage
	Read       []string // without Files: the folders whose files it may read and write
	Write      []string

	Tuned        []byte // a tune file; nil for none
	RequireTuned bool
}

// Compiled is what the answer to Start says.
type Compiled struct{ Names []string }

// Wanted is a function that is asked for.
type Wanted struct {
	Name     string
	Gradient bool     // its derivative, by what Wrt says
	Add      bool     // which accumulates
	Wrt      []string // parameters
}
