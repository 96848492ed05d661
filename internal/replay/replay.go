// Package replay compiles execution transcripts and runs them. In: a transcript.Transcript. Out: what went to the host,
// as a transcript.Result. transcript/lower makes tensor IR of it, and internal/engine compiles that like any program.
package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"healc/internal/backend"
	"healc/internal/engine"
	"healc/ir"
	"healc/lang/types"
	"healc/runtime"
	"healc/runtime/tensor"
	"healc/transcript"
	"healc/transcript/lower"
)

// Transcript is an execution transcript that is ready to run: a program that another compiler recorded, operation by
// operation (docs/transcripts.md), which is fused and compiled like any other.
type Transcript struct {
	prog  *lower.Program
	mod   *engine.Module
	funcs []*engine.Func // of each step; nil where nothing is left of it
	last  []int          // the step that uses a value last
	path  string
}

// Options say how a transcript is compiled.
type Options struct {
	engine.Options
	NoFuse bool // compile every operation for itself, instead of the segments
}

// Compile checks a transcript and makes it ready to run; machine code is made by the first Run. The
// transcript has to stay open as long as the result is used. A mistake in it is a *transcript.Error.
func Compile(t *transcript.Transcript, opts Options) (*Transcript, error) {
	done := opts.Debug.Timer.Stage("lower")
	prog, err := lower.Lower(t, lower.Options{PerOp: opts.NoFuse})
	done()
	if err != nil {
		return nil, err
	}
	if opts.Backend == backend.Interp {
		if err := checkInterpretable(t.Path, prog); err != nil {
			return nil, err
		}
	}
	mod, err := engine.CompileIR(prog.Module, opts.Options)
	if err != nil {
		return nil, err
	}
	x := &Transcript{prog: prog, mod: mod, path: t.Path, last: make([]int, prog.Slots)}
	// Steps with the same text are the same code. A segment keeps its own, since run-time errors have their places in
	// it.
	known := map[string]*engine.Func{}
	for i, s := range prog.Steps {
		var f *engine.Func
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
		if o.Fill == nil {
			x.last[o.Value] = len(prog.Steps)
		}
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

// Run executes the transcript. An operation that fails, because a modulus is not positive or a position out of
// range, is a *transcript.Error around a *runtime.RuntimeError.
func (x *Transcript) Run(ctx context.Context) (*transcript.Result, error) {
	slots := make([]*tensor.Tensor, x.prog.Slots)
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
	res := &transcript.Result{Path: x.path}
	for i, s := range x.prog.Steps {
		out := transcript.Step{Segment: s.Segment, First: s.First, Last: s.Last, Ops: s.Ops}
		if s.Ops == 1 {
			out.Op = x.opName(s.First)
		}
		if f := x.funcs[i]; f != nil {
			args := make([]*tensor.Tensor, len(s.Args))
			for k, v := range s.Args {
				args[k] = slots[v]
			}
			start := time.Now()
			made, err := f.PrepareStaying(ctx, args)
			if err != nil {
				return nil, x.failure(s, err)
			}
			if made {
				out.Compile = time.Since(start)
			}
			start = time.Now()
			results, err := f.CallStaying(ctx, args, x.stay(len(s.Results)))
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
		t, err := output(o, slots)
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
		res.Outputs = append(res.Outputs, transcript.Output{Entry: o.Entry, Name: o.Name, Tensor: t,
			Expected: o.Expected})
	}
	return res, nil
}

// output is the tensor of an output, a view of its value.
func output(o lower.Output, slots []*tensor.Tensor) (*tensor.Tensor, error) {
	switch {
	case o.Fill != nil:
		one, err := tensor.FromBits(o.Elem, nil, []uint64{*o.Fill})
		if err != nil {
			return nil, err
		}
		defer one.Close()
		return one.Strided(0, o.Shape, make([]int64, len(o.Shape)))
	case o.Strides != nil:
		return slots[o.Value].Strided(o.Offset, o.Shape, o.Strides)
	}
	return slots[o.Value].View()
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
