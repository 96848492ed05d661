package explore

import (
	"healc/cmd/healc/driver"
	"healc/lang/diag"
)

// Data is all that the page shows.
type Data struct {
	Title   string                  `json:"title"`
	Options Options                 `json:"options"`
	Files   []File                  `json:"files"` // that of the program first
	Spans   []Span                  `json:"spans"`
	Entries []*Entry                `json:"entries"`
	Errors  []driver.JSONDiagnostic `json:"errors"`
	// Balance is the number of operations a byte at which a processor of the model is as long at both.
	Balance float64 `json:"balance"`
	// Sample is the value of shape parameters that have none, in numbers.
	Sample float64 `json:"sample"`
}

// Options are what a program is explored for.
type Options struct {
	Entry  string           `json:"entry"`  // "" for those of `healc explain`
	Shape  map[string]int64 `json:"shape"`  // values of shape parameters
	Target string           `json:"target"` // cpu or gpu
	CPU    string           `json:"cpu"`    // LLVM's name of the processor; "" for this machine's
	Trace  string           `json:"trace"`  // the file of a run's trace; "" for none
}

// File is a text that places are in.
type File struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Span is a place in a file. Offsets are in UTF-16 code units, as JavaScript counts.
type Span struct {
	File  int `json:"f"`
	Start int `json:"b"`
	End   int `json:"e"`
	Line  int `json:"l"` // where it starts, from 1
	Call  int `json:"c"` // the span of the call in whose place it stands; -1 for none
}

// Line is a line of a form of the program.
type Line struct {
	Text  string `json:"t"`
	Spans []int  `json:"s,omitempty"`
}

// Entry is a function that code is made of.
type Entry struct {
	Name      string    `json:"name"`
	Signature string    `json:"signature"`
	Dims      []string  `json:"dims"` // shape parameters
	Passes    []*Pass   `json:"passes"`
	Remarks   []Line    `json:"remarks"` // what fusion says
	Kernels   []*Kernel `json:"kernels"`
	Plan      []*Step   `json:"plan"`
	Memory    *Memory   `json:"memory,omitempty"`
}

// Pass is the tensor IR after a pass, "" being before the first.
type Pass struct {
	Name    string `json:"name"`
	Doc     string `json:"doc"`
	Changed bool   `json:"changed"`
	Lines   []Line `json:"lines,omitempty"` // none where nothing has changed
}

// Kernel is a kernel with its code.
type Kernel struct {
	Name  string `json:"name"`
	Over  string `json:"over"`  // its axes
	Fused []Line `json:"fused"` // the operations in it

	Bytes      float64 `json:"bytes"`
	Operations float64 `json:"operations"`
	Known      bool    `json:"known"` // the numbers depend on no shape parameter
	Reads      string  `json:"reads"`
	Writes     string  `json:"writes"`
	Work       string  `json:"work"`  // the operations, as text
	Limit      string  `json:"limit"` // "" where the model says nothing

	Times *Times `json:"times,omitempty"` // nil where it was not measured

	Code     []Line `json:"code"` // kernel IR
	Schedule []Line `json:"schedule"`
	Rejected []Line `json:"rejected"`

	LLVM      []Line `json:"llvm"`      // as it is generated
	Optimised []Line `json:"optimised"` // by LLVM's passes
	Machine   []Line `json:"machine"`   // assembly, or PTX
	Failure   string `json:"failure"`   // why there is none; "" where there is
}

// Step is a line of the plan.
type Step struct {
	Line
	Kernel int `json:"k"` // that it launches; -1 for none
}

// Memory is what temporary buffers take.
type Memory struct {
	Live  []float64 `json:"live"` // in each step of the plan
	Total int64     `json:"total"`
	Arena int64     `json:"arena"`
	Known bool      `json:"known"` // else Total and Arena are not there, and Live is for Sample
}

// spans numbers places.
type spans struct {
	data   *Data
	files  map[*diag.File]int
	number map[diag.Span]int
	units  map[*diag.File][]int // the UTF-16 offset of each byte of files that are not ASCII
}

func newSpans(data *Data, home *diag.File) *spans {
	s := &spans{data: data, files: map[*diag.File]int{}, number: map[diag.Span]int{}, units: map[*diag.File][]int{}}
	s.file(home)
	return s
}

// file is the number of a file.
func (s *spans) file(f *diag.File) int {
	n, ok := s.files[f]
	if !ok {
		n = len(s.data.Files)
		s.files[f] = n
		s.data.Files = append(s.data.Files, File{f.Name, f.Text})
	}
	return n
}

// of is the number of a place, -1 for none.
func (s *spans) of(at diag.Span) int {
	if !at.Valid() {
		return -1
	}
	if n, ok := s.number[at]; ok {
		return n
	}
	out := Span{File: s.file(at.File), Start: s.unit(at.File, at.Start), End: s.unit(at.File, at.End),
		Line: at.Pos().Line, Call: -1}
	if at.Call != nil {
		out.Call = s.of(*at.Call)
	}
	n := len(s.data.Spans)
	s.number[at] = n
	s.data.Spans = append(s.data.Spans, out)
	return n
}

// unit is the offset of a byte in UTF-16 code units.
func (s *spans) unit(f *diag.File, offset int) int {
	units, ok := s.units[f]
	if !ok {
		n := 0
		for i, r := range f.Text {
			for len(units) <= i {
				units = append(units, n)
			}
			if n++; r > 0xffff {
				n++
			}
		}
		for len(units) <= len(f.Text) {
			units = append(units, n)
		}
		s.units[f] = units
	}
	return units[min(max(offset, 0), len(f.Text))]
}

// line is a line with its places.
func (s *spans) line(text string, at ...diag.Span) Line {
	l := Line{Text: text}
	for _, a := range at {
		if n := s.of(a); n >= 0 {
			l.Spans = append(l.Spans, n)
		}
	}
	return l
}

// lines are printed lines.
func (s *spans) lines(list []diag.Placed) []Line {
	out := make([]Line, len(list))
	for i, l := range list {
		out[i] = s.line(l.Text, l.At...)
	}
	return out
}
