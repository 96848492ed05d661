package explore

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"healc/cmd/healc/driver"
	"healc/cmd/healc/driver/explain"
	"healc/codegen"
	"healc/codegen/gpu"
	"healc/codegen/llvm"
	"healc/codegen/target"
	"healc/internal/backend"
	"healc/internal/engine"
	"healc/ir"
	"healc/ir/kernel"
	"healc/lang/diag"
	"healc/passes"
	"healc/runtime"
	"healc/runtime/abi"
)

// Explore makes what the page shows of a program. Where the error is a *diag.List, of mistakes in the source, the data
// has these.
//
// base has what finds imports, and what was measured about kernels, which holds for this machine's processor alone.
func Explore(file *diag.File, base engine.Options, opts Options) (*Data, error) {
	data := &Data{Title: file.Name, Options: opts, Balance: explain.Balance, Sample: explain.Sample,
		Spans: []Span{}, Entries: []*Entry{}, Errors: []driver.JSONDiagnostic{}}
	x := &exploration{data: data, spans: newSpans(data, file), docs: map[string]string{}}
	for _, p := range passes.Standard("", nil) {
		x.docs[p.Name] = p.Doc
	}
	if opts.Trace != "" {
		data.Options.Trace = filepath.Base(opts.Trace)
	}
	times, err := timesOf(opts.Trace)
	if err != nil {
		return nil, err
	}
	x.times = times
	base.Target = backend.Processor(codegen.Target{Kind: opts.Target, CPU: opts.CPU})
	base.Debug.Passes = &passes.Options{Watch: &passes.Watch{After: x.after, Remark: x.remark}}
	if opts.CPU != "" || opts.Target == backend.GPU {
		base.Tuned, base.RequireTuned = nil, false
	}
	x.emit = &driver.Emit{File: file, Entry: opts.Entry, Shape: opts.Shape, Opts: base}
	if opts.CPU != "" && opts.Target != backend.GPU {
		if err := llvm.CheckProcessor(x.emit.Opts.Target); err != nil {
			return nil, err
		}
	}
	x.entry = &Entry{}
	err = x.emit.Lowered(func(name string, km *kernel.Module, _ bool) error {
		defer func() { x.entry, x.last = &Entry{}, nil }()
		return x.lowered(name, km)
	})
	var list *diag.List
	if errors.As(err, &list) {
		data.Entries, data.Errors = []*Entry{}, driver.JSONDiagnostics(list)
	} else if err == nil {
		list = &diag.List{}
		list.AddWarnings(x.emit.Module().Program().Warnings)
		data.Errors = driver.JSONDiagnostics(list)
	}
	return data, err
}

// exploration is one Explore.
type exploration struct {
	data  *Data
	spans *spans
	emit  *driver.Emit
	entry *Entry // that is lowered
	docs  map[string]string
	last  []diag.Placed // the tensor IR after the last pass
	times map[string]*Times
}

// after keeps the tensor IR after a pass.
func (x *exploration) after(pass string, m *ir.Module) {
	if pass == "" { // a run that failed may have been before it
		x.entry.Passes, x.entry.Remarks, x.last = nil, nil, nil
	}
	lines := &diag.Lines{}
	for i, f := range m.Funcs {
		if i > 0 {
			fmt.Fprintln(lines)
		}
		_ = ir.PrintFunc(lines, f, ir.PrintOptions{Lines: lines}) // diag.Lines never fails
	}
	p := &Pass{Name: pass, Doc: x.docs[pass], Changed: !same(lines.List, x.last)}
	if p.Changed {
		p.Lines = x.spans.lines(lines.List)
	}
	x.entry.Passes, x.last = append(x.entry.Passes, p), lines.List
}

// same reports that two texts are equal.
func same(a, b []diag.Placed) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Text != b[i].Text {
			return false
		}
	}
	return true
}

// remark keeps what fusion says.
func (x *exploration) remark(pass, text string, places ...diag.Span) {
	if pass == "fuse" {
		x.entry.Remarks = append(x.entry.Remarks, x.spans.line(text, places...))
	}
}

// lowered completes the entry whose kernels are there.
func (x *exploration) lowered(name string, km *kernel.Module) error {
	e := x.entry
	f, err := x.emit.Module().Func(name)
	if err != nil {
		return err
	}
	e.Name, e.Signature, e.Dims = name, f.Signature(), append([]string{}, f.IR().Dims...)
	t := x.emit.Opts.Target
	sets, err := x.emit.Module().Sets(km)
	if err != nil {
		return err
	}
	scheduled := map[string]*kernel.Schedule{}
	var all *kernel.Module
	if t.Kind == backend.GPU {
		all = gpu.Scheduled(km, t.CPU)
	} else {
		all = llvm.Scheduled(km, target.MachineOf(t), sets)
	}
	withSchedule := map[string]*kernel.Kernel{}
	for _, k := range all.Kernels {
		scheduled[k.Name], withSchedule[k.Name] = k.Schedule, k
	}
	index := map[string]int{}
	e.Kernels = []*Kernel{}
	for i, k := range km.Kernels {
		index[k.Name] = i
		out := x.kernel(k)
		if s := scheduled[k.Name]; s != nil {
			x.schedule(out, withSchedule[k.Name], s)
		}
		c, err := list(km, k, t, sets)
		if err != nil {
			out.Failure = err.Error()
		}
		out.LLVM, out.Optimised, out.Machine = x.spans.lines(c.generated), x.spans.lines(c.optimised),
			x.spans.lines(c.machine)
		e.Kernels = append(e.Kernels, out)
	}
	x.plan(km, index)
	x.data.Entries = append(x.data.Entries, e)
	return nil
}

// kernel is a kernel without its code.
func (x *exploration) kernel(k *kernel.Kernel) *Kernel {
	w := explain.WorkOf(k)
	out := &Kernel{Name: k.Name, Over: "once", Fused: []Line{}, Bytes: w.Reads + w.Writes, Operations: w.Operations,
		Known: w.Known, Reads: w.ReadsText, Writes: w.WritesText, Work: w.OperationsText, Limit: w.Limit,
		Schedule: []Line{}, Rejected: []Line{}, Times: x.times[k.Name]}
	var axes []string
	for _, a := range k.Axes {
		axes = append(axes, kernel.FormatExtent(a.Extent))
	}
	if len(axes) > 0 {
		out.Over = "over [" + strings.Join(axes, ", ") + "]"
	}
	for _, c := range w.Calls {
		out.Work += ", and those of `" + c + "`"
	}
	for _, n := range k.Notes {
		out.Fused = append(out.Fused, x.spans.line(n.Op, n.At))
	}
	out.Code = x.spans.lines(k.Lines())
	return out
}

// schedule is how a kernel is written, and what was not taken.
func (x *exploration) schedule(out *Kernel, k *kernel.Kernel, s *kernel.Schedule) {
	taken := *k
	taken.Schedule = &kernel.Schedule{Directives: s.Directives}
	for _, l := range taken.ScheduleLines() {
		out.Schedule = append(out.Schedule, Line{Text: l})
	}
	for _, r := range s.Rejected {
		out.Rejected = append(out.Rejected, Line{Text: "no " + r.What + ": " + r.Why})
	}
}

// plan is the plan by lines, and what it takes of memory.
func (x *exploration) plan(km *kernel.Module, index map[string]int) {
	lines := &diag.Lines{}
	kernels := map[int]int{}
	places, next := slices.Concat(km.Steps...), 0
	kernel.PrintPlan(lines, km.Plan, func(s *abi.Step) {
		lines.Place(places[next])
		next++
		if s.Launch != nil {
			k := index[s.Launch.Kernel]
			kernels[len(lines.List)] = k
			for _, n := range km.Kernels[k].Notes {
				lines.Place(n.At)
			}
		}
	})
	for i, l := range lines.List {
		l.Text = strings.TrimPrefix(strings.TrimPrefix(l.Text, "//"), " ")
		step := &Step{x.spans.line(l.Text, l.At...), -1}
		if k, ok := kernels[i]; ok {
			step.Kernel = k
		}
		x.entry.Plan = append(x.entry.Plan, step)
	}
	if len(km.Plan.Funcs) == 0 {
		return
	}
	m := &Memory{Live: explain.Live(km.Plan.Funcs[0])}
	if len(km.Plan.Dims) == 0 {
		if total, err := runtime.MemoryOf(km.Plan, nil); err == nil {
			m.Total, m.Arena, m.Known = total.Total(), total.Arena, true
		}
	}
	x.entry.Memory = m
}
