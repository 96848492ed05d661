package heal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"healc/ir"
	"healc/lang/types"
	"healc/runtime"
	"healc/transcript"
	"healc/transcript/lower"
)

// Transcript is an execution transcript that is ready to run: a program that another compiler recorded, operation by
// operation (docs/transcripts.md), which is fused and compiled like any other.
type Transcript struct {
	prog  *lower.Program
	mod   *Module
	funcs []*Func // of each step; nil where nothing is left of it
	last  []int   // the step that uses a value last
	path  string
}

// TranscriptOptions say how a transcript is compiled.
type TranscriptOptions struct {
	Options
	NoFuse bool // compile every operation for itself, instead of the segments
}

// CompileTranscript checks a transcript and makes it ready to run; machine code is made by the first Run. The
// transcript has to stay open as long as the result is used. A mistake in it is a *transcript.Error.
func CompileTranscript(t *transcript.Transcript, opts TranscriptOptions) (*Transcript, error) {
	done := opts.Debug.Timer.Stage("lower")
	prog, err := lower.Lower(t, lower.Options{PerOp: opts.NoFuse})
	done()
	if err != nil {
		return nil, err
	}
	if opts.Backend == Interp {
		if err := checkInterpretable(t.Path, prog); err != nil {
			return nil, err
		}
	}
	mod, err := CompileIR(prog.Module, opts.Options)
	if err != nil {
		return nil, err
	}
	x := &Transcript{prog: prog, mod: mod, path: t.Path, last: make([]int, prog.Slots)}
	// Steps with the same text are the same code. A segment keeps its own, since run-time errors have their places in
	// it.
	known := map[string]*Func{}
	for i, s := range prog.Steps {
		var f *Func
		if s.Func != "" {
			text := ""
			if opts.NoFuse {
				text = bodyText(prog.Module.Func(s.Func))
			}
			if f = known[text]; f == nil || text == "" {
				if f, err = mod.Func(s.Func); err != nil {
					mod.Close()
					return nil, err
				}
				known[text] = f
			}
		}
		x.funcs = append(x.funcs, f)
		for _, v := range slices.Concat(s.Args, s.Results) {
			x.last[v] = i
		}
	}
	for _, o := range prog.Outputs {
		x.last[o.Value] = len(prog.Steps)
	}
	return x, nil
}

// bodyText is what tells functions apart, without their names.
func bodyText(f *ir.Func) string {
	m := &ir.Module{Funcs: []*ir.Func{{Name: "f", Body: f.Body, Results: f.Results}}}
	return m.String()
}

// mostInterpreted is the most elements of a tensor that the interpreter takes on: it has 8 bytes for each, and does
// not look whether the memory is there.
const mostInterpreted = 1 << 26

func checkInterpretable(path string, p *lower.Program) error {
	for _, f := range p.Module.Funcs {
		// a host tensor that was expanded before it was saved takes hardly a byte of the file
		values := slices.Clone(f.Body.Params)
		for _, op := range f.Body.Ops {
			values = append(values, op.Results...)
		}
		for _, v := range values {
			if elems(v.Type) <= mostInterpreted {
				continue
			}
			at := v.Span
			if v.Def != nil {
				at = v.Def.Span
			}
			return &transcript.Error{Path: path, Entry: at.Pos().Line - 1,
				Msg: fmt.Sprintf("a tensor of type %s is too large for the interpreter", v.Type)}
		}
	}
	return nil
}

// elems is the number of elements of a type with literal extents, at most mostInterpreted+1.
func elems(t types.Tensor) int64 {
	n := int64(1)
	shape, _ := t.Shape.Ints()
	if slices.Contains(shape, 0) {
		return 0
	}
	for _, e := range shape {
		if n *= e; n > mostInterpreted {
			return mostInterpreted + 1
		}
	}
	return n
}

// Close frees the machine code.
func (x *Transcript) Close() { x.mod.Close() }

// IR is the transcript as tensor IR, before any pass.
func (x *Transcript) IR() *ir.Module { return x.prog.Module }

// TranscriptResult is what a run gave.
type TranscriptResult struct {
	Outputs []TranscriptOutput
	Steps   []TranscriptStep
}

// TranscriptOutput is what one device_to_host gave. The tensor belongs to the result.
type TranscriptOutput struct {
	Entry    int // the index of the operation
	Name     transcript.Name
	Tensor   *runtime.Tensor
	Expected *runtime.Tensor // what was recorded, or nil; it belongs to the transcript
}

// TranscriptStep is how long a part of a transcript took: a segment, what stands between two, or with NoFuse an
// operation.
type TranscriptStep struct {
	Segment     string // the path of the segment, "" outside of all
	First, Last int    // the entries of its first and last operation
	Ops         int
	Op          string        // the name of the operation when it is only one
	Compile     time.Duration // 0 when the code was there
	Run         time.Duration
}

// Close frees the tensors.
func (r *TranscriptResult) Close() {
	for _, o := range r.Outputs {
		o.Tensor.Close()
	}
}

// Run executes the transcript. An operation that fails, because a modulus is not positive or a position out of
// range, is a *transcript.Error around a *runtime.RuntimeError.
func (x *Transcript) Run(ctx context.Context) (*TranscriptResult, error) {
	slots := make([]*runtime.Tensor, x.prog.Slots)
	own := len(x.prog.Inputs)
	copy(slots, x.prog.Inputs)
	if d := x.mod.Device(); d != nil {
		// What several steps use goes to the device once, and what is between steps stays there.
		for i, t := range x.prog.Inputs {
			if _, text := t.Text(); text {
				continue
			}
			there, err := t.Mirror(d) // outputs may be views of its memory, by offset and strides
			if err != nil {
				return nil, err
			}
			defer there.Close()
			slots[i] = there
		}
	}
	defer func() {
		for _, t := range slots[own:] {
			t.Close()
		}
	}()
	res := &TranscriptResult{}
	for i, s := range x.prog.Steps {
		out := TranscriptStep{Segment: s.Segment, First: s.First, Last: s.Last, Ops: s.Ops}
		if s.Ops == 1 {
			out.Op = x.opName(s.First)
		}
		if f := x.funcs[i]; f != nil {
			args := make([]*runtime.Tensor, len(s.Args))
			for k, v := range s.Args {
				args[k] = slots[v]
			}
			var err error
			start := time.Now()
			if x.mod.opts.Backend != Interp {
				if _, err = f.code(args); err != nil {
					return nil, x.failure(s, err)
				}
				out.Compile = time.Since(start)
			}
			start = time.Now()
			results, err := f.callAll(ctx, args, x.stay(len(s.Results)))
			if err != nil {
				return nil, x.failure(s, err)
			}
			out.Run = time.Since(start)
			for k, v := range s.Results {
				slots[v] = results[k]
			}
		}
		for _, v := range slices.Concat(s.Args, s.Results) {
			if v >= own && x.last[v] == i {
				slots[v].Close()
			}
		}
		res.Steps = append(res.Steps, out)
	}
	for _, o := range x.prog.Outputs {
		t, err := slots[o.Value].View()
		if o.Strides != nil {
			t.Close()
			t, err = slots[o.Value].Strided(o.Offset, o.Shape, o.Strides)
		}
		if err == nil && t.Device() != nil {
			there := t
			t, err = there.ToHost()
			there.Close()
		}
		if err != nil {
			res.Close()
			return nil, &transcript.Error{Path: x.path, Entry: o.Entry, Op: "device_to_host", Msg: err.Error(),
				Err: err}
		}
		res.Outputs = append(res.Outputs, TranscriptOutput{o.Entry, o.Name, t, o.Expected})
	}
	return res, nil
}

// stay says that n results stay on the device, if there is one.
func (x *Transcript) stay(n int) []types.Place {
	if x.mod.Device() == nil {
		return nil
	}
	return slices.Repeat([]types.Place{types.OnDevice}, n)
}

// failure gives an error of a step the entry that it comes from.
func (x *Transcript) failure(s lower.Step, err error) error {
	var run *runtime.RuntimeError
	if !errors.As(err, &run) {
		return err
	}
	e := &transcript.Error{Path: x.path, Entry: -1, Msg: run.Message, Err: err}
	switch {
	case s.Ops == 1:
		e.Entry = s.First
	case run.Site.Line > 0:
		e.Entry = run.Site.Line - 1
	}
	if e.Entry >= 0 {
		e.Op = x.opName(e.Entry)
	}
	return e
}

// opName is the name of the operation of an entry, from its line of the listing.
func (x *Transcript) opName(entry int) string {
	line := x.prog.File.Line(entry + 1)
	if _, rest, ok := strings.Cut(line, " = "); ok { // behind the name and type of the result
		line = rest
	}
	name, _, _ := strings.Cut(line, "(")
	return name
}

// A MismatchError is an output that is not what the transcript recorded.
type MismatchError struct {
	Path  string
	Entry int     // the index of the device_to_host
	Index []int64 // of the first element that differs, in row-major order; nil when the types differ
	Got   string
	Want  string
}

func (e *MismatchError) Error() string {
	place := ""
	if e.Path != "" {
		place = e.Path + ": "
	}
	place += fmt.Sprintf("entry %d (device_to_host): ", e.Entry)
	if e.Index == nil {
		return place + fmt.Sprintf("the result is %s, and %s was recorded", e.Got, e.Want)
	}
	return place + fmt.Sprintf("element %s is %s, and %s was recorded", extentList(e.Index), e.Got, e.Want)
}

// Verify compares the outputs with what the transcript recorded, bit for bit, or as numbers where the types of
// integers differ. The first difference is a
// *MismatchError; an output without a recorded value is an error, too, since it cannot be verified.
func (x *Transcript) Verify(r *TranscriptResult) error {
	for _, o := range r.Outputs {
		fail := &MismatchError{Path: x.path, Entry: o.Entry}
		if o.Expected == nil {
			return &transcript.Error{Path: x.path, Entry: o.Entry, Op: "device_to_host",
				Msg: "no value was recorded that the result could be compared with"}
		}
		if !ofOneKind(o.Tensor, o.Expected) {
			fail.Got, fail.Want = o.Tensor.String(), o.Expected.String()
			return fail
		}
		index, err := firstDifference(o.Tensor, o.Expected)
		if err != nil {
			return err
		}
		if index != nil {
			fail.Index, fail.Got, fail.Want = index, element(o.Tensor, index), element(o.Expected, index)
			return fail
		}
	}
	return nil
}

// ofOneKind reports whether two tensors are of one shape and of types that words compares.
func ofOneKind(a, b *runtime.Tensor) bool {
	// a large u64 has the bits of a negative i64
	number := func(d types.DType) bool { return d.IsInt() && d != types.U64 }
	return slices.Equal(a.Shape, b.Shape) && (a.DType == b.DType || number(a.DType) && number(b.DType))
}

// words has the elements of a tensor so that they are equal where the elements are: bits of one type, or numbers of two
// types of integers.
func words(t *runtime.Tensor) []uint64 {
	out := t.Bits()
	if t.DType.IsSigned() {
		unused := 64 - t.DType.Bits()
		for i, w := range out {
			out[i] = uint64(int64(w<<unused) >> unused)
		}
	}
	return out
}

// firstDifference is the index of the first element in row-major order that differs between tensors of one kind, nil
// where none does. It takes a piece at a time, and one index of an axis of equal elements: a file of a few bytes can
// claim a large tensor, by strides of 0.
func firstDifference(a, b *runtime.Tensor) ([]int64, error) {
	const piece = 1 << 14
	for axis, n := range a.Shape {
		bounds := []int64{0, n / 2, n}
		if a.Strides[axis] == 0 && b.Strides[axis] == 0 {
			bounds = []int64{0, 1}
		} else if a.Elems() <= piece {
			continue
		}
		if n < 2 {
			continue
		}
		for i, start := range bounds[:len(bounds)-1] {
			index, err := differenceWithin(a, b, axis, start, bounds[i+1])
			if index != nil || err != nil {
				return index, err
			}
		}
		return nil, nil
	}
	x, y := words(a), words(b)
	for i := range x {
		if x[i] == y[i] {
			continue
		}
		index, rest := make([]int64, len(a.Shape)), int64(i)
		for k := len(index) - 1; k >= 0; k-- {
			index[k], rest = rest%a.Shape[k], rest/a.Shape[k]
		}
		return index, nil
	}
	return nil, nil
}

// differenceWithin is firstDifference of a part of an axis.
func differenceWithin(a, b *runtime.Tensor, axis int, start, stop int64) ([]int64, error) {
	ranges := slices.Repeat([]runtime.Range{runtime.All}, axis+1)
	ranges[axis] = runtime.Range{Start: start, Stop: stop}
	x, err := a.Slice(ranges...)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	y, err := b.Slice(ranges...)
	if err != nil {
		return nil, err
	}
	defer y.Close()
	index, err := firstDifference(x, y)
	if index != nil {
		index[axis] += start
	}
	return index, err
}

// element prints one element.
func element(t *runtime.Tensor, index []int64) string {
	v, err := t.View()
	for range index {
		if err != nil {
			return err.Error()
		}
		row := v
		v, err = row.Index(0, index[0])
		row.Close()
		index = index[1:]
	}
	if err != nil {
		return err.Error()
	}
	defer v.Close()
	var b strings.Builder
	if err := runtime.Format(&b, v); err != nil {
		return err.Error()
	}
	return b.String()
}

// PrintTimes writes a table: for each segment, or part between two, how long its compilation and its execution took.
func (r *TranscriptResult) PrintTimes(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "entries\toperations\tcompile ms\trun ms\t  segment")
	var sum TranscriptStep
	line := func(entries string, s TranscriptStep, name string) {
		fmt.Fprintf(tw, "%s\t%d\t%.3f\t%.3f\t  %s\n", entries, s.Ops, ms(s.Compile), ms(s.Run), name)
	}
	for _, s := range r.Steps {
		name := s.Segment
		if name == "" {
			name = "(none)"
		}
		if s.Op != "" {
			name += ": " + s.Op
		}
		line(fmt.Sprintf("%d-%d", s.First, s.Last), s, name)
		sum.Ops, sum.Compile, sum.Run = sum.Ops+s.Ops, sum.Compile+s.Compile, sum.Run+s.Run
	}
	line("all", sum, "")
	return tw.Flush()
}

func ms(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
