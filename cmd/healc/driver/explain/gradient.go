package explain

import (
	"bufio"
	"fmt"
	"io"

	"healc/cmd/healc/driver"
	"healc/ir"
	"healc/ir/kernel"
	"healc/passes"
	"healc/runtime/abi"
)

// phase is the part of a derivative that a step of its plan belongs to.
type phase int

const (
	neither  phase = iota // no derivative is explained
	forward               // the value of the function needs it
	backward              // the gradients alone need it
	both                  // it computes something for the value, and something else
)

// String is what follows the name of a kernel.
func (p phase) String() string {
	return [...]string{"", ", forward", ", backward", ", forward and backward"}[p]
}

// Gradient is Program for the value and the gradient of a function by some of its parameters, all floats for
// none. It also says which kernels are of the forward pass, what they leave in memory for the backward pass, and what
// that computes again.
func Gradient(e *driver.Emit, w io.Writer, of string, wrt []string) error {
	e.Entry = of
	kept := hearKept(e)
	if err := e.Load(); err != nil {
		return err
	}
	names, err := driver.Entries(e.Module().Program(), of)
	if err != nil {
		return err
	}
	if err := e.CheckShape(names); err != nil {
		return err
	}
	g, err := e.Module().Gradient(names[0], wrt...)
	if err != nil {
		return err
	}
	bind := e.Bindings(names[0])
	km, err := g.Module().Kernels(g.IR().Name, bind, nil)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	x, err := newExplanation(e, out, km)
	if err != nil {
		return err
	}
	entry := km.Plan.Funcs[0]
	flow := newDataflow(entry, x.kernels, entry.Results[0].Buffer)
	x.phases = flow.launches
	x.program(g, e.Shape)
	x.kept(*kept)
	x.keptForBackward(entry, flow)
	*e.Opts.Debug.Passes = passes.Options{} // the passes run once more, and have been shown
	fused, err := g.Module().Fused(g.IR().Name, bind)
	if err != nil {
		return err
	}
	x.computedAgain(fused, fused.Func(g.IR().Name))
	return out.Flush()
}

// dataflow says what the steps of a plan are for.
type dataflow struct {
	kernels  map[string]*kernel.Kernel
	steps    []phase // of the top-level steps
	launches map[*abi.Launch]phase
	writes   []map[int]bool // the buffers that each step writes
	reads    []map[int]bool
}

// newDataflow follows a result back to what it is computed from. A loop, and a choice, is one step.
func newDataflow(f *abi.Function, kernels map[string]*kernel.Kernel, result int) *dataflow {
	d := &dataflow{kernels: kernels, launches: map[*abi.Launch]phase{}}
	need := map[int]bool{result: true}
	d.steps = make([]phase, len(f.Steps))
	for i := range f.Steps {
		reads, writes := map[int]bool{}, map[int]bool{}
		d.touch(f.Steps[i:i+1], reads, writes)
		d.reads, d.writes = append(d.reads, reads), append(d.writes, writes)
	}
	for i := len(f.Steps) - 1; i >= 0; i-- {
		wanted, other := false, false
		for b := range d.writes[i] {
			wanted = wanted || need[b]
			other = other || !need[b]
		}
		switch {
		case !wanted && len(d.writes[i]) > 0:
			d.steps[i] = backward
		case other && f.Steps[i].Launch != nil:
			d.steps[i] = both
		default:
			d.steps[i] = forward
		}
		if wanted {
			for b := range d.reads[i] {
				need[b] = true
			}
		}
		walkSteps(f.Steps[i:i+1], func(s *abi.Step) {
			if s.Launch != nil {
				d.launches[s.Launch] = d.steps[i]
			}
		})
	}
	return d
}

// touch adds the buffers that steps read and write.
func (d *dataflow) touch(steps []abi.Step, reads, writes map[int]bool) {
	add := func(to map[int]bool, buffers ...int) {
		for _, b := range buffers {
			if b >= 0 {
				to[b] = true
			}
		}
	}
	walkSteps(steps, func(s *abi.Step) {
		switch {
		case s.Launch != nil:
			k := d.kernels[s.Launch.Kernel]
			for i, p := range k.Params[:k.Buffers()] {
				if p.Out {
					add(writes, s.Launch.Args[i])
				}
				if !p.Out || p.InPlace {
					add(reads, s.Launch.Args[i])
				}
			}
		case s.Host != nil:
			for _, v := range s.Host.Args {
				add(reads, v.Buffer)
			}
			add(writes, s.Host.Out...)
		case s.Call != nil:
			for _, v := range s.Call.Args {
				add(reads, v.Buffer)
			}
			add(writes, s.Call.Out...)
		case s.Copy != nil:
			add(reads, s.Copy.From.Buffer)
			add(writes, s.Copy.To)
		case s.If != nil:
			add(reads, s.If.Cond)
		case s.Loop != nil:
			add(reads, s.Loop.Count, s.Loop.Until)
			for _, pair := range s.Loop.Swap { // what a step wrote is what the next one reads
				add(reads, pair[:]...)
				add(writes, pair[:]...)
			}
		}
	})
}

// keptForBackward lists the buffers that the forward pass writes and the backward pass reads.
func (x *explanation) keptForBackward(f *abi.Function, d *dataflow) {
	total := cost{}
	var lines []string
	for b := range f.Buffers {
		from, to := false, false
		for i, p := range d.steps {
			from = from || p != backward && d.writes[i][b]
			to = to || p != forward && d.reads[i][b] && !(p == both && d.writes[i][b])
		}
		if k := f.Buffers[b].Kind; !from || !to || k != abi.Temp && k != abi.Output {
			continue
		}
		size := bufferCost(&f.Buffers[b])
		total = total.plus(size)
		lines = append(lines, fmt.Sprintf("    %s: %s", size.inBytes(), x.names[b]))
	}
	x.line("")
	if len(lines) == 0 {
		x.line("  kept for the backward pass: nothing but the arguments")
		return
	}
	x.line("  kept for the backward pass: %s, beside the arguments", total.inBytes())
	for _, l := range lines {
		x.line("%s", l)
	}
}

// computedAgain lists what kernels that the value needs compute, and then kernels that only the gradients need.
func (x *explanation) computedAgain(m *ir.Module, f *ir.Func) {
	needed := map[*ir.Op]bool{}
	queue := []*ir.Value{f.Body.Yields[0]}
	for len(queue) > 0 {
		op := queue[0].Def
		queue = queue[1:]
		if op == nil || needed[op] {
			continue
		}
		needed[op] = true
		queue = append(queue, op.Args...)
		for _, r := range op.Regions {
			queue = append(queue, ir.Captures(r)...)
		}
	}
	var order []string
	again := map[string]int{}
	for _, a := range passes.Recomputations(m, f) {
		first, more := false, 0
		for _, kernel := range a.In {
			if needed[kernel] {
				first = true
			} else {
				more++
			}
		}
		if !first || more == 0 {
			continue
		}
		what := a.Op.Def.Name
		if a.Op.Span.Valid() {
			what += ", " + a.Op.Span.Line(m.Home())
		}
		if again[what] == 0 {
			order = append(order, what)
		}
		again[what] = max(again[what], more)
	}
	if len(order) == 0 {
		return
	}
	x.line("")
	x.line("  computed again in the backward pass")
	for _, what := range order {
		x.line("    %s: in %s", what, driver.Count(again[what], "kernel"))
	}
}
