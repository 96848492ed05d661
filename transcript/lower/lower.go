package lower

import (
	"errors"
	"fmt"
	"strings"

	"healc/ir"
	"healc/ir/ops"
	"healc/lang/diag"
	"healc/lang/types"
	"healc/runtime/tensor"
	"healc/transcript"
)

// Program is a transcript as functions of IR and the order to call them in.
type Program struct {
	Module  *ir.Module
	File    *diag.File       // the listing, which operations of the module have their places in: line i+1 is entry i
	Inputs  []*tensor.Tensor // the host tensors; they belong to the transcript
	Steps   []Step
	Slots   int // values are numbered below: first the Inputs, then the results of the steps
	Outputs []Output
}

// Step is the call of a function.
type Step struct {
	Segment     string // the path of the segment, "" outside of all
	First, Last int    // the entries of its first and last operation
	Ops         int    // operations that it stands for, the ones without effect included
	Func        string // "" where nothing is left to do
	Args        []int  // values
	Results     []int  // values
}

// Output is a device_to_host.
type Output struct {
	Entry    int
	Name     transcript.Name
	Value    int            // -1 where there is a Fill
	Expected *tensor.Tensor // what the transcript recorded, or nil

	// The part of the value that it is, in the terms of tensor.Tensor.Strided; nil for all of it. Only tensors that
	// came from the host have one, so that their strides survive.
	Strides, Shape []int64
	Offset         int64

	// A tensor whose elements are all one number takes no more memory than that, whatever its Shape: these are its
	// type and the bits of the number; nil for any other.
	Elem types.DType
	Fill *uint64
}

// Options say how a transcript is lowered.
type Options struct {
	PerOp bool // a function for each operation, instead of one for each segment
}

// Lower turns a transcript into a program. The errors are of type *transcript.Error.
func Lower(t *transcript.Transcript, opts Options) (*Program, error) {
	l := newLowerer(t)
	for i := range t.Entries {
		if err := l.entry(i, opts); err != nil {
			e := &transcript.Error{Path: t.Path, Entry: i, Msg: err.Error(), Err: errors.Unwrap(err)}
			if op := t.Entries[i].Op; op != nil {
				e.Op = op.Name
			}
			return nil, e
		}
	}
	if n := len(l.segments); n > 0 {
		return nil, &transcript.Error{Path: t.Path, Entry: l.starts[n-1],
			Msg: fmt.Sprintf("segment %q has no end", l.segments[n-1])}
	}
	l.cut()
	return l.finish(), nil
}

// lowerer is the state of the device and what was emitted for it.
type lowerer struct {
	t        *transcript.Transcript
	file     *diag.File
	lines    []int // where the line of each entry starts in file
	at       int   // the entry
	names    map[transcript.Name]*view
	freed    map[transcript.Name]int // the entry that freed a name which means nothing now
	segments []string
	starts   []int // the entries where these begin
	older    bool  // the order of arguments of `expand`, once it shows
	inputs   []*tensor.Tensor
	step     *step
	steps    []*step
	outputs  []output
}

// step is a function that grows.
type step struct {
	segment     string
	first, last int
	ops         int
	body        *ir.Block
	from        []*version // what the parameters are
	have        map[*version]*ir.Value
	made        []*version // what it computes that others may read
}

type output struct {
	Output
	from *version
}

func newLowerer(t *transcript.Transcript) *lowerer {
	l := &lowerer{t: t, names: map[transcript.Name]*view{}, freed: map[transcript.Name]int{}}
	var text strings.Builder
	for _, e := range t.Entries {
		l.lines = append(l.lines, text.Len())
		text.WriteString(e.String() + "\n")
	}
	l.file = diag.NewFile(t.Path, text.String())
	l.older = olderExpand(t)
	l.open()
	return l
}

// span is the place of the current entry in the listing.
func (l *lowerer) span() diag.Span {
	if l.at >= len(l.lines) {
		return diag.Span{}
	}
	return diag.Span{File: l.file, Start: l.lines[l.at], End: l.lines[l.at]}
}

// open begins a step.
func (l *lowerer) open() {
	l.step = &step{segment: strings.Join(l.segments, "/"), body: &ir.Block{}, have: map[*version]*ir.Value{}}
}

// cut ends the current step and begins another.
func (l *lowerer) cut() {
	if l.step.ops > 0 {
		l.steps = append(l.steps, l.step)
	}
	l.open()
}

// failure is a mistake of the transcript, on its way up to entry.
type failure struct{ err error }

// fail reports a mistake; it does not return.
func fail(format string, args ...any) {
	panic(failure{fmt.Errorf(format, args...)})
}

func (l *lowerer) entry(i int, opts Options) (err error) {
	defer func() {
		if p := recover(); p != nil {
			f, ok := p.(failure)
			if !ok {
				panic(p)
			}
			err = f.err
		}
	}()
	l.at = i
	e := l.t.Entries[i]
	switch e.Kind {
	case transcript.SegmentStart:
		l.cut()
		l.segments, l.starts = append(l.segments, e.Segment), append(l.starts, i)
		l.open()
	case transcript.SegmentEnd:
		if len(l.segments) == 0 {
			fail("the end of a segment that was not started")
		}
		l.cut()
		l.segments, l.starts = l.segments[:len(l.segments)-1], l.starts[:len(l.starts)-1]
		l.open()
	case transcript.Free:
		l.lookup(e.Freed)
		delete(l.names, e.Freed)
		l.freed[e.Freed] = i
	case transcript.DeviceOp:
		if l.step.ops == 0 {
			l.step.first = i
		}
		l.step.ops++
		l.step.last = i
		l.op(e.Op)
		if opts.PerOp {
			l.cut()
		}
	}
	return nil
}

// lookup finds the tensor of a name.
func (l *lowerer) lookup(n transcript.Name) *view {
	v := l.names[n]
	if v == nil {
		if i, ok := l.freed[n]; ok {
			fail("tensor %s was freed by entry %d", n, i)
		}
		fail("there is no tensor %s", n)
	}
	return v
}

// bind gives a name to a tensor; a name that is taken moves.
func (l *lowerer) bind(n transcript.Name, v *view) {
	l.names[n] = v
	delete(l.freed, n)
}

// emit appends an operation to the step. A broken rule of the operation is a mistake of the transcript.
func (l *lowerer) emit(d *ir.OpDef, attrs ir.A, args ...*ir.Value) *ir.Value {
	if _, err := d.Infer(ir.ArgTypes(args), d.MakeAttrs(attrs), nil); err != nil {
		var of []string
		for _, a := range args {
			of = append(of, a.Type.String())
		}
		fail("%v (of %s)", err, strings.Join(of, ", "))
	}
	b := ir.Builder{Block: l.step.body, Span: l.span()}
	return b.Emit(d, attrs, args...)
}

// number is a scalar constant.
func (l *lowerer) number(d types.DType, bits uint64) *ir.Value {
	c := ir.NewArray(d)
	c.Bits[0] = bits
	return l.emit(ops.Const, ir.A{"value": c})
}

func (l *lowerer) broadcast(x *ir.Value, shape []int64) *ir.Value {
	if x.Type.Shape.Equal(dims(shape)) {
		return x
	}
	return l.emit(ops.Broadcast, ir.A{"shape": dims(shape)}, x)
}

func (l *lowerer) reshape(x *ir.Value, shape []int64) *ir.Value {
	if x.Type.Shape.Equal(dims(shape)) {
		return x
	}
	return l.emit(ops.Reshape, ir.A{"shape": dims(shape)}, x)
}

func (l *lowerer) permute(x *ir.Value, perm ...int64) *ir.Value {
	return l.emit(ops.Permute, ir.A{"perm": perm}, x)
}

func (l *lowerer) cast(x *ir.Value, to types.DType) *ir.Value {
	if x.Type.Elem == to {
		return x
	}
	return l.emit(ops.Cast, ir.A{"to": to}, x)
}
