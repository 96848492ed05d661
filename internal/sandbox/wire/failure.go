package wire

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"

	"healc/codegen/target/tuned"
	"healc/lang/diag"
	"healc/runtime"
	"healc/runtime/abi"
	"healc/runtime/memory"
)

// Failure is an error on its way: one of the kinds that callers tell apart, or a text.
type Failure struct {
	Kind  string `json:",omitempty"`
	Text  string `json:",omitempty"`
	Func  string `json:",omitempty"`
	Needs int64  `json:",omitempty"`
	Limit int64  `json:",omitempty"`
	Large string `json:",omitempty"`
	Bytes int64  `json:",omitempty"`

	Number uint32     `json:",omitempty"` // of an error of the parent's System, which stays there
	Site   *abi.Site  `json:",omitempty"`
	Cause  *Failure   `json:",omitempty"`
	List   *diagnoses `json:",omitempty"`

	Untuned *tuned.MissingError `json:",omitempty"`
}

// The kinds.
const (
	kindArgument = "argument"
	kindRuntime  = "runtime"
	kindStopped  = "stopped"
	kindSteps    = "steps"
	kindMemory   = "memory"
	kindNoMemory = "no memory"
	kindList     = "diagnostics"
	kindNoFile   = "no file"
	kindNoRight  = "no right"
	kindSystem   = "system"
	kindUntuned  = "untuned"
)

// SystemError is an error of the System of the parent, as the child sees it.
type SystemError struct {
	Number uint32
	Text   string
	Kind   error // fs.ErrNotExist or fs.ErrPermission, where it is one
}

func (e *SystemError) Error() string { return e.Text }

// Unwrap gives the kind.
func (e *SystemError) Unwrap() error { return e.Kind }

// FailureOf describes an error. main is the file that both sides have.
func FailureOf(err error, main *diag.File) *Failure {
	if err == nil {
		return nil
	}
	f := &Failure{Text: err.Error()}
	switch e := err.(type) {
	case *runtime.ArgumentError:
		return &Failure{Kind: kindArgument, Func: e.Func, Text: e.Message}
	case *runtime.RuntimeError:
		return &Failure{Kind: kindRuntime, Text: e.Message, Site: &e.Site, Cause: FailureOf(e.Err, main)}
	case *runtime.StoppedError:
		return &Failure{Kind: kindStopped}
	case *runtime.StepsError:
		return &Failure{Kind: kindSteps, Limit: e.Limit}
	case *runtime.MemoryLimitError:
		return &Failure{Kind: kindMemory, Func: e.Func, Needs: e.Needs, Limit: e.Limit, Large: e.Largest,
			Bytes: e.Bytes}
	case *memory.OutOfMemoryError:
		return &Failure{Kind: kindNoMemory, Bytes: e.Bytes, Limit: e.Available, Cause: FailureOf(e.Err, main)}
	case *tuned.MissingError:
		return &Failure{Kind: kindUntuned, Untuned: e}
	case *diag.List:
		return &Failure{Kind: kindList, List: diagnosesOf(e, main)}
	case *SystemError:
		f.Kind, f.Number = kindSystem, e.Number
		return f
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.Kind = kindNoFile
	case errors.Is(err, fs.ErrPermission):
		f.Kind = kindNoRight
	default:
		f.Cause = known(err, main)
	}
	return f
}

// known is what an error of a text of its own wraps, where callers tell it apart.
func known(err error, main *diag.File) *Failure {
	var stopped *runtime.StoppedError
	var steps *runtime.StepsError
	var limit *runtime.MemoryLimitError
	var room *memory.OutOfMemoryError
	var system *SystemError
	switch {
	case errors.As(err, &stopped):
		return FailureOf(stopped, main)
	case errors.As(err, &steps):
		return FailureOf(steps, main)
	case errors.As(err, &limit):
		return FailureOf(limit, main)
	case errors.As(err, &room):
		return FailureOf(room, main)
	case errors.As(err, &system):
		return FailureOf(system, main)
	}
	return nil
}

// Context is what the side that reads an error knows.
type Context struct {
	Main   *diag.File
	Ctx    context.Context    // of the call
	System func(uint32) error // the error of the System with this number, nil for none
}

// Err is the error that is described.
func (f *Failure) Err(c Context) error { return f.err(c, 0) }

// maxCauses is how far errors are followed: a longer chain is cut.
const maxCauses = 16

func (f *Failure) err(c Context, depth int) error {
	if f == nil || depth > maxCauses {
		return nil
	}
	switch f.Kind {
	case kindArgument:
		return &runtime.ArgumentError{Func: f.Func, Message: f.Text}
	case kindRuntime:
		e := &runtime.RuntimeError{Message: f.Text, Err: f.Cause.err(c, depth+1)}
		if f.Site != nil {
			e.Site = *f.Site
		}
		return e
	case kindStopped:
		if err := runtime.Ended(c.Ctx); err != nil {
			return err
		}
		return errors.New("the process of the sandbox stopped a call that nobody had ended")
	case kindSteps:
		return &runtime.StepsError{Limit: f.Limit}
	case kindMemory:
		return &runtime.MemoryLimitError{Func: f.Func, Needs: f.Needs, Limit: f.Limit, Largest: f.Large,
			Bytes: f.Bytes}
	case kindNoMemory:
		return &memory.OutOfMemoryError{Bytes: f.Bytes, Available: f.Limit, Err: f.Cause.err(c, depth+1)}
	case kindList:
		if f.List != nil {
			return f.List.list(c.Main)
		}
	case kindUntuned:
		if f.Untuned != nil && len(f.Untuned.Missing) > 0 {
			return f.Untuned
		}
	case kindNoFile:
		return &textError{f.Text, fs.ErrNotExist}
	case kindNoRight:
		return &textError{f.Text, fs.ErrPermission}
	case kindSystem:
		if c.System != nil {
			if err := c.System(f.Number); err != nil {
				return err
			}
		}
	}
	return &textError{f.Text, f.Cause.err(c, depth+1)}
}

// textError is an error that is a text, and what it is told apart by.
type textError struct {
	text string
	of   error
}

func (e *textError) Error() string { return e.text }
func (e *textError) Unwrap() error { return e.of }

// Encode is the text of a message.
func Encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		b, _ = json.Marshal(&Failure{Text: "BUG: a message cannot be written: " + err.Error()})
	}
	return b
}

// Decode reads what Encode wrote.
func Decode(text []byte, v any) error { return json.Unmarshal(text, v) }

// diagnoses are a diag.List, with the files that its places are in.
type diagnoses struct {
	Files []file
	Items []diagnosis
	More  int `json:",omitempty"`
}

type file struct{ Name, Text string }

type diagnosis struct {
	Code     diag.Code
	Severity diag.Severity `json:",omitempty"`
	Message  string
	Primary  label
	Related  []label  `json:",omitempty"`
	Notes    []string `json:",omitempty"`
	Help     string   `json:",omitempty"`
}

type label struct {
	Places []spot // the first is the place, those after it its callers
	Text   string `json:",omitempty"`
}

// spot is a span. File is 0 for no file, 1 for the one that both sides have, from 2 on one of the list.
type spot struct{ File, Start, End int }

func diagnosesOf(l *diag.List, main *diag.File) *diagnoses {
	out := &diagnoses{More: l.More}
	number := map[*diag.File]int{nil: 0, main: 1}
	labelOf := func(l diag.Label) label {
		to := label{Text: l.Text}
		for s := &l.Span; s != nil && len(to.Places) < maxCauses; s = s.Caller {
			n, ok := number[s.File]
			if !ok {
				out.Files = append(out.Files, file{s.File.Name, s.File.Text})
				n = len(out.Files) + 1
				number[s.File] = n
			}
			to.Places = append(to.Places, spot{n, s.Start, s.End})
		}
		return to
	}
	for _, d := range l.Items {
		to := diagnosis{Code: d.Code, Severity: d.Severity, Message: d.Message, Primary: labelOf(d.Primary),
			Notes: d.Notes, Help: d.Help}
		for _, r := range d.Related {
			to.Related = append(to.Related, labelOf(r))
		}
		out.Items = append(out.Items, to)
	}
	return out
}

func (l *diagnoses) list(main *diag.File) *diag.List {
	files := []*diag.File{nil, main}
	for _, f := range l.Files {
		files = append(files, diag.NewFile(f.Name, f.Text))
	}
	labelOf := func(from label) diag.Label {
		to := diag.Label{Text: from.Text}
		var caller *diag.Span
		for i := min(len(from.Places), maxCauses) - 1; i >= 0; i-- {
			p := from.Places[i]
			s := diag.Span{Caller: caller}
			if p.File > 0 && p.File < len(files) && files[p.File] != nil {
				n := len(files[p.File].Text)
				s.File = files[p.File]
				s.Start = min(max(p.Start, 0), n)
				s.End = min(max(p.End, s.Start), n)
			}
			to.Span, caller = s, &s
		}
		return to
	}
	out := &diag.List{More: l.More}
	for _, d := range l.Items {
		to := &diag.Diagnostic{Code: d.Code, Severity: d.Severity, Message: d.Message, Primary: labelOf(d.Primary),
			Notes: d.Notes, Help: d.Help}
		for _, r := range d.Related {
			to.Related = append(to.Related, labelOf(r))
		}
		out.Add(to)
	}
	return out
}
