// Package explain says what the compiler made of a program: its kernels, what went into each, what they move and
// compute, which of these bounds them, and what lies in memory between them. It is `healc explain`.
//
// explain.go and notes.go walk the plan, gradient.go adds the passes of a derivative, kernelcost.go counts the work of
// a kernel, cost.go has the polynomials in shape parameters that it is counted in, and ranks.go prints what package
// scaling predicts for several ranks.
package explain

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	heal "healc"
	"healc/cmd/healc/driver"
	"healc/codegen/gpu"
	"healc/codegen/llvm"
	"healc/codegen/schedule"
	"healc/codegen/target"
	"healc/codegen/target/profile"
	"healc/codegen/target/tuned"
	"healc/internal/engine"
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/lang/types"
	"healc/runtime"
	"healc/runtime/abi"
)

// balance is the number of scalar operations that a core does in the time in which it gets one byte from
// memory: 8 f32 lanes, twice 3e9 times a second, over about 6e9 bytes a second. It is a round number
// for today's processors, not measured on this one; kernels within a factor of two of it are called
// balanced.
const balance = 8.0

// Program writes the kernels of a program's entries: what was fused into each, with its source lines,
// what it moves and computes, which of these bounds it, and the buffers between kernels. Kernels are
// lowered as for `healc compile`, with symbolic shapes where Emit.Shape has no value.
func Program(e *driver.Emit, w io.Writer) error {
	first := true
	kept := hearKept(e)
	out := bufio.NewWriter(w)
	err := e.Lowered(func(entry string, km *kernel.Module, _ bool) error {
		if !first {
			fmt.Fprintln(out)
		}
		first = false
		f, err := e.Module().Func(entry)
		if err != nil {
			return err
		}
		x, err := newExplanation(e, out, km)
		if err != nil {
			return err
		}
		x.program(f, e.Shape)
		x.kept(*kept)
		*kept = nil
		return nil
	})
	if ferr := out.Flush(); err == nil {
		err = ferr
	}
	return err
}

func newExplanation(e *driver.Emit, w *bufio.Writer, km *kernel.Module) (*explanation, error) {
	x := &explanation{w: w, home: e.File.Name, km: km,
		kernels: map[string]*kernel.Kernel{}, machine: target.Machine{Profile: profile.Base()}}
	for _, k := range km.Kernels {
		x.kernels[k.Name] = k
	}
	if e.Opts.Target.Kind == heal.GPU {
		var err error
		arch := e.Opts.Target.CPU
		if _, x.device, err = gpu.Generate(km, arch, false); err != nil {
			return nil, err
		}
		x.forms = gpu.FormNames(km, arch)
		if e.Schedule {
			x.scheduled = gpu.Scheduled(km, arch)
		}
		return x, nil
	}
	x.machine = target.MachineOf(e.Opts.Target)
	if e.Schedule {
		if e.Opts.Target.CPU != "" {
			if err := llvm.CheckProcessor(e.Opts.Target); err != nil {
				return nil, err
			}
		}
		sets, err := e.Module().Sets(km) // the error is about kernels that it has nothing about
		if err != nil {
			return nil, err
		}
		x.tuned = e.Opts.Tuned.Use(km, tuned.ProcessorOf(e.Opts.Target)).Entries
		x.scheduled = llvm.Scheduled(km, x.machine, sets)
	}
	return x, nil
}

type explanation struct {
	w         *bufio.Writer
	machine   target.Machine // the processor; on a GPU only its profile, that of any
	home      string         // the file that is explained
	km        *kernel.Module
	kernels   map[string]*kernel.Kernel
	names     []string                // of the buffers of the function that is explained
	phases    map[*abi.Launch]phase   // of the kernels of a derivative; nil for any other function
	device    *abi.Device             // how the kernels are launched on a GPU; nil when the program is for the CPU
	scheduled *kernel.Module          // with the schedules for a processor; nil when nobody asks
	tuned     map[string]*tuned.Entry // what was measured about kernels, by their names
	forms     map[string]string       // how each of them is mapped to a grid, by its name: gpu.KernelForms
}

// code has what a schedule of a kernel is made by.
func (x *explanation) code(k *kernel.Kernel) schedule.Code {
	return schedule.Code{Types: k.Types, Params: k.Params, Machine: x.machine}
}

func (x *explanation) line(format string, args ...any) {
	fmt.Fprintln(x.w, strings.TrimRight(fmt.Sprintf(format, args...), " "))
}

// given says which shape parameters have values.
func (x *explanation) given(f *engine.Func, shape map[string]int64) {
	var given []string
	for _, d := range f.IR().Dims {
		if n, ok := shape[d]; ok {
			given = append(given, fmt.Sprintf("%s = %d", d, n))
		}
	}
	if len(given) > 0 {
		x.line("  for %s", strings.Join(given, ", "))
	}
}

func (x *explanation) program(f *engine.Func, shape map[string]int64) {
	x.line("%s", f.Signature())
	x.given(f, shape)
	for i, fn := range x.km.Plan.Funcs {
		var params []string
		if i == 0 {
			for _, p := range f.IR().Params() {
				params = append(params, p.Name)
			}
		} else {
			x.line("")
			x.line("  function %s", fn.Name)
		}
		x.function(fn, params)
	}
}

// function explains one function of the plan.
func (x *explanation) function(f *abi.Function, params []string) {
	x.name(f, params)
	launches, temps := 0, 0
	walkSteps(f.Steps, func(s *abi.Step) {
		if s.Launch != nil {
			launches++
		}
	})
	for _, b := range f.Buffers {
		if b.Kind == abi.Temp {
			temps++
		}
	}
	memory, known := runtime.Memory{}, false
	if len(x.km.Plan.Dims) == 0 && f == x.km.Plan.Funcs[0] {
		m, err := runtime.MemoryOf(x.km.Plan, nil)
		memory, known = m, err == nil
	}
	summary := fmt.Sprintf("  %s, ", driver.Count(launches, "kernel"))
	if temps == 0 {
		summary += "no temporary buffers"
	} else {
		size := arena(f)
		if known {
			size = number(float64(memory.Arena))
		}
		summary += fmt.Sprintf("%s in an arena of %s", driver.Count(temps, "temporary buffer"), size.inBytes())
	}
	x.line("%s", summary)
	if known {
		x.line("  memory: %s at the peak, beside the inputs", number(float64(memory.Total())).inBytes())
	}
	x.steps(f.Steps, "  ")
}

// name gives every buffer a name for people: the parameter's, result N, or a number.
func (x *explanation) name(f *abi.Function, params []string) {
	x.names = make([]string, len(f.Buffers))
	for i := range f.Buffers {
		switch b := &f.Buffers[i]; b.Kind {
		case abi.Data:
			x.names[i] = "constant " + driver.BufferType(b)
		case abi.Output:
			x.names[i] = "output " + strconv.Itoa(i) + ": " + driver.BufferType(b)
		default:
			x.names[i] = "buffer " + strconv.Itoa(i) + ": " + driver.BufferType(b)
		}
	}
	for i, b := range f.Params {
		if i < len(params) {
			x.names[b] = params[i] + ": " + driver.BufferType(&f.Buffers[b])
		}
	}
	for i := range f.Results {
		b := &f.Buffers[f.Results[i].Buffer]
		if b.Kind != abi.Output {
			continue
		}
		name := "the result"
		if len(f.Results) > 1 {
			name = "result " + strconv.Itoa(i)
		}
		x.names[f.Results[i].Buffer] = name + ": " + driver.BufferType(b)
	}
}

func walkSteps(steps []abi.Step, visit func(*abi.Step)) {
	for i := range steps {
		visit(&steps[i])
		if c := steps[i].If; c != nil {
			walkSteps(c.Then, visit)
			walkSteps(c.Else, visit)
		}
		if l := steps[i].Loop; l != nil {
			walkSteps(l.Body, visit)
		}
	}
}

func (x *explanation) steps(steps []abi.Step, indent string) {
	for i := range steps {
		switch s := &steps[i]; {
		case s.Launch != nil:
			x.line("")
			x.launch(s.Launch, indent)
		case s.Host != nil:
			x.line("")
			x.line("%s%s%s", indent, s.Host.Name, x.lineOf(s.Host.Site))
		case s.Call != nil:
			x.line("")
			x.line("%scall of function %s", indent, x.km.Plan.Funcs[s.Call.Func].Name)
		case s.Copy != nil:
			x.line("")
			x.line("%scopy of %s to %s", indent, x.names[s.Copy.From.Buffer], x.names[s.Copy.To])
		case s.Fail != nil:
			x.line("")
			x.line("%sstop where each of %s is at least 1%s", indent, types.Shape(s.Fail.Where),
				x.lineOf(s.Fail.Site))
		case s.Loop != nil:
			x.line("")
			x.loop(s.Loop, indent)
		case s.If != nil:
			x.line("")
			x.line("%sif %s", indent, x.names[s.If.Cond])
			x.steps(s.If.Then, indent+"  ")
			if len(s.If.Else) > 0 {
				x.line("%selse", indent)
				x.steps(s.If.Else, indent+"  ")
			}
		}
	}
}

// loop explains a loop over kernels.
func (x *explanation) loop(l *abi.Loop, indent string) {
	text := "loop, as often as " + x.names[l.Count] + " says"
	if l.Until >= 0 {
		text += ", or until " + x.names[l.Until]
	}
	x.line("%s%s", indent, text)
	x.steps(l.Body, indent+"  ")
	if len(l.Swap) > 0 {
		x.line("")
		pairs := make([]string, len(l.Swap))
		for i, s := range l.Swap {
			pairs[i] = x.names[s[0]] + " and " + x.names[s[1]]
		}
		x.line("%s  then %s change places, without a copy", indent, strings.Join(pairs, ", "))
	}
}

// lineOf is the place of a site.
func (x *explanation) lineOf(site int) string {
	if site < 0 || site >= len(x.km.Sites) || x.km.Sites[site].Line == 0 {
		return ""
	}
	return fmt.Sprintf(" (line %d)", x.km.Sites[site].Line)
}

// launch explains one kernel.
func (x *explanation) launch(l *abi.Launch, indent string) {
	k := x.kernels[l.Kernel]
	axes := make([]string, len(k.Axes))
	for i, a := range k.Axes {
		axes[i] = kernel.FormatExtent(a.Extent)
	}
	over := "once"
	if len(axes) > 0 {
		over = "over [" + strings.Join(axes, ", ") + "]"
	}
	x.line("%skernel %s, %s%s", indent, k.Name, over, x.phases[l])
	x.fused(k.Notes, indent+"  ")
	c := measureKernel(k)
	var reads, writes []string
	readBytes, writeBytes := cost{}, cost{}
	for i, p := range k.Params[:k.Buffers()] {
		if p.Out {
			name := x.names[l.Args[i]]
			if x.code(k).PastCaches(i) && c.writes[i].isNumber() { // else the kernel decides when it runs
				name += ", past the caches"
			}
			writes = append(writes, name)
			writeBytes = writeBytes.plus(c.writes[i])
		}
		if !p.Out || p.InPlace && len(c.reads[i]) > 0 {
			reads = append(reads, x.names[l.Args[i]])
			readBytes = readBytes.plus(c.reads[i])
		}
	}
	x.moved(indent, "reads", readBytes, reads)
	x.moved(indent, "writes", writeBytes, writes)
	if x.device == nil {
		x.packs(indent, k, l)
	}
	x.bound(indent, c, readBytes.plus(writeBytes))
	switch {
	case x.device != nil:
		x.grids(indent, x.forms[l.Kernel], x.device.Kernels[l.Kernel])
	case len(k.Axes) > 0:
		x.split(indent, axes[0], l)
	}
	x.schedule(indent, l.Kernel)
}

// schedule says how a kernel is written for a processor, and what was not taken.
func (x *explanation) schedule(indent, name string) {
	if x.scheduled == nil {
		return
	}
	word := "schedule"
	for _, k := range x.scheduled.Kernels {
		if k.Name != name {
			continue
		}
		for _, line := range k.ScheduleLines() {
			x.line("%s  %-11s%s", indent, word, line)
			word = ""
		}
	}
	x.measured(indent, x.tuned[name])
}

// measured says what was measured about a kernel: the schedule that holds, and those that do not.
func (x *explanation) measured(indent string, e *tuned.Entry) {
	if e == nil {
		return
	}
	aCall := func(ns float64) string {
		if ns == 0 {
			return "not measured beside others"
		}
		return driver.Nanoseconds(ns) + " a call"
	}
	x.line("%s  %-11s%s: %s; %s", indent, "tuned", e.Set, aCall(e.Time), e.Measured)
	for _, t := range e.Rejected {
		x.line("%s  %-11s%s: %s", indent, "rejected", t.Set, aCall(t.Time))
	}
}

// split says from where on the kernel runs on several threads.
func (x *explanation) split(indent, axis string, l *abi.Launch) {
	threads := &profile.Host().Profile.Threads
	grain, each := l.Grain(threads), float64(l.IndexTime(threads))/1e3
	text := fmt.Sprintf("split when %s is %d or more", axis, 2*grain)
	if n, ok := l.Outer.Dim.Const(); ok {
		if n = (n + max(l.Outer.Div, 1) - 1) / max(l.Outer.Div, 1); n/2 >= grain {
			text = fmt.Sprintf("split into pieces of %d indices or more", grain)
		} else {
			text = fmt.Sprintf("not split, which would pay from %d indices on", 2*grain)
		}
	}
	x.line("%s  %-11s%s; about %s ns an index", indent, "threads", text, strconv.FormatFloat(each, 'g', 3, 64))
}

// grids says how a kernel is mapped to a grid on a GPU, and launched.
func (x *explanation) grids(indent, form string, k abi.DeviceKernel) {
	x.line("%s  %-11s%s", indent, "form", form)
	for i := range k.Launches {
		x.line("%s  %-11s%s", indent, "grid", driver.LaunchText(&k.Launches[i]))
	}
	if len(k.Scratch) > 0 {
		x.line("%s  %-11s%s bytes between its launches", indent, "scratch", driver.Extents(k.Scratch))
	}
}

// packs says which operands of a matrix product are computed while they are packed, by what they are computed from.
func (x *explanation) packs(indent string, k *kernel.Kernel, l *abi.Launch) {
	for _, o := range analysis.ComputedOperands(k) {
		var from []string
		for _, st := range o.Stmts {
			if load, ok := st.(*kernel.Load); ok {
				if name := x.names[l.Args[load.Param]]; !slices.Contains(from, name) {
					from = append(from, name)
				}
			}
		}
		if len(from) > 0 {
			x.line("%s  %-11swhat is computed from %s", indent, "packs", strings.Join(from, ", "))
		}
	}
}

func (x *explanation) moved(indent, verb string, bytes cost, names []string) {
	if len(names) == 0 {
		return
	}
	x.line("%s  %-11s%s: %s", indent, verb, bytes.inBytes(), strings.Join(names, ", "))
}

// bound says what limits the kernel, by the roofline model (Williams, Waterman, Patterson: Roofline, CACM 52(4), 2009).
func (x *explanation) bound(indent string, c kernelCost, bytes cost) {
	ops := c.ops.String()
	for _, f := range c.calls {
		ops += ", and those of `" + f + "`"
	}
	x.line("%s  %-11s%s", indent, "operations", ops)
	if len(c.calls) > 0 || bytes.at() == 0 {
		return
	}
	intensity := c.ops.at() / bytes.at()
	limit := limitOf(intensity)
	note := ""
	if !c.ops.isNumber() || !bytes.isNumber() {
		note = fmt.Sprintf(" (shape parameters at %d)", sample)
	}
	x.line("%s  %-11s%s; %s operations a byte%s", indent, "bound", limit, ratio(intensity), note)
}

// limitOf is what limits a kernel of so many operations a byte.
func limitOf(intensity float64) string {
	switch {
	case intensity < balance/2:
		return "memory"
	case intensity > balance*2:
		return "arithmetic"
	}
	return "balanced between memory and arithmetic"
}

// ratio prints a ratio with two digits after the point, three significant ones when it is large.
func ratio(v float64) string {
	if v >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}
