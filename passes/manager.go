package passes

import (
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"healc/ir"
	"healc/lang/diag"
	"healc/passes/fusion"
)

// Pass rewrites a module in place. An error is about the user's program (a *BindError, a *TooLargeError);
// what cannot happen panics.
type Pass struct {
	Name     string // the word used in flags, dumps and tests
	Doc      string // one line, shown in help
	Required bool   // later stages rely on it: it cannot be disabled
	OnCPU    bool   // devices do not gain from it
	Run      func(m *ir.Module, remark Remark) error
}

// Remark takes one line about a decision of a pass, formatted as by fmt.
type Remark = func(format string, args ...any)

// Options say what to show of a run. The zero value shows nothing and checks nothing; Defaults is what
// users get.
type Options struct {
	PrintAfter    []string // passes after which to print what changed
	PrintAfterAll bool
	PrintFunc     string   // print only this function, or "" for all
	TimePasses    bool     // print a table of times at the end
	StopAfter     string   // the last pass to run, or ""
	Disable       []string // passes to leave out
	VerifyEach    bool     // verify the module before the first pass and after each one
	Remarks       []string // passes whose remarks to print; "all" for every one
	Dump          *Dump    // where to write the module after passes, or nil
	Watch         *Watch   // is told what the passes do; nil for nobody
	Out           io.Writer
	Kept          func(fusion.Kept) // hears what fusion leaves in memory, and why; or nil
}

// A Watch is told what passes do, as data.
type Watch struct {
	After  func(pass string, m *ir.Module)              // the module after each pass, "" before the first
	Remark func(pass, text string, places ...diag.Span) // a decision, and where what it mentions comes from
}

// An UnknownPassError says that a name in the options is no pass of the pipeline, or cannot be disabled.
type UnknownPassError struct{ Name, Why string }

func (e *UnknownPassError) Error() string { return fmt.Sprintf("pass %q %s", e.Name, e.Why) }

// A BugError is a defect of the compiler that showed while a pass ran: a panic or an invalid result.
type BugError struct {
	Pass  string
	Cause string
	IR    string // the module as the pass found it
	Stack string // where it panicked, or ""
}

func (e *BugError) Error() string { return fmt.Sprintf("bug in pass %s: %s", e.Pass, e.Cause) }

// Run runs the pipeline on m. Errors of the program come from the pass that found them; everything that
// is the compiler's own fault is a *BugError.
func Run(m *ir.Module, pipeline []Pass, opts Options) error {
	if opts.Out == nil {
		opts.Out = io.Discard
	}
	if err := opts.check(pipeline); err != nil {
		return err
	}
	if opts.VerifyEach {
		if err := ir.Verify(m); err != nil {
			return &BugError{Pass: "(before the first)", Cause: err.Error(), IR: m.String()}
		}
	}
	r := &run{m: m, opts: opts}
	if opts.Watch != nil {
		opts.Watch.After("", m)
	}
	for _, p := range pipeline {
		if slices.Contains(opts.Disable, p.Name) {
			continue
		}
		if err := r.pass(p); err != nil {
			return err
		}
		if p.Name == opts.StopAfter {
			break
		}
	}
	if opts.TimePasses {
		r.printTimes()
	}
	return nil
}

// check requires that every name in the options is a pass of the pipeline.
func (o *Options) check(pipeline []Pass) error {
	find := func(name string) *Pass {
		for i := range pipeline {
			if pipeline[i].Name == name {
				return &pipeline[i]
			}
		}
		return nil
	}
	names := append(append([]string{}, o.PrintAfter...), o.Disable...)
	for _, n := range o.Remarks {
		if n != "all" {
			names = append(names, n)
		}
	}
	if o.StopAfter != "" {
		names = append(names, o.StopAfter)
	}
	for _, n := range names {
		if find(n) == nil {
			have := make([]string, len(pipeline))
			for i, p := range pipeline {
				have[i] = p.Name
			}
			return &UnknownPassError{n, "is not in the pipeline, which is " + strings.Join(have, ",")}
		}
	}
	for _, n := range o.Disable {
		if find(n).Required {
			return &UnknownPassError{n, "cannot be disabled: later stages need it"}
		}
	}
	return nil
}

// run is one execution of a pipeline.
type run struct {
	m     *ir.Module
	opts  Options
	names []string
	times []time.Duration
	count int // passes that ran
}

func (r *run) pass(p Pass) error {
	r.count++
	print := r.opts.PrintAfterAll || slices.Contains(r.opts.PrintAfter, p.Name)
	dump := r.opts.Dump.wants(p.Name)
	var before string
	if print || dump {
		before = r.text()
	}
	start := time.Now()
	err := r.guarded(p)
	r.names, r.times = append(r.names, p.Name), append(r.times, time.Since(start))
	if err != nil {
		return err
	}
	if r.opts.VerifyEach {
		if err := ir.Verify(r.m); err != nil {
			return &BugError{Pass: p.Name, Cause: err.Error(), IR: before}
		}
	}
	if r.opts.Watch != nil {
		r.opts.Watch.After(p.Name, r.m)
	}
	if !print && !dump {
		return nil
	}
	after := r.text()
	if print && after == before {
		fmt.Fprintf(r.opts.Out, "// after %s: no change\n", p.Name)
	} else if print {
		fmt.Fprintf(r.opts.Out, "// after %s\n%s\n", p.Name, after)
	}
	if dump {
		return r.opts.Dump.Write(p.Name, "ir", r.opts.Dump.text(r.m))
	}
	return nil
}

// guarded runs p and turns a panic into a *BugError.
func (r *run) guarded(p Pass) (err error) {
	shown := slices.Contains(r.opts.Remarks, p.Name) || slices.Contains(r.opts.Remarks, "all")
	remark := func(format string, args ...any) {
		if shown {
			fmt.Fprintf(r.opts.Out, "remark: %s: %s\n", p.Name, fmt.Sprintf(format, args...))
		}
		for _, a := range args {
			if k, ok := a.(fusion.Kept); ok && r.opts.Kept != nil {
				r.opts.Kept(k)
			}
		}
		if w := r.opts.Watch; w != nil {
			var places []diag.Span
			for _, a := range args {
				if a, ok := a.(interface{ Place() diag.Span }); ok {
					places = append(places, a.Place())
				}
			}
			w.Remark(p.Name, fmt.Sprintf(format, args...), places...)
		}
	}
	defer func() {
		e := recover()
		if failed, ok := e.(*ir.GradientError); ok { // of a module that no checker has seen
			err = failed
		} else if e != nil {
			err = &BugError{Pass: p.Name, Cause: fmt.Sprint(e), IR: r.m.String(), Stack: string(debug.Stack())}
		}
	}()
	return p.Run(r.m, remark)
}

// text is what the options ask to print.
func (r *run) text() string { return funcText(r.m, r.opts.PrintFunc) }

func funcText(m *ir.Module, name string) string {
	if name == "" {
		return m.String()
	}
	if f := m.Func(name); f != nil {
		return f.String()
	}
	return fmt.Sprintf("// no function %s\n", ir.FormatSym(name))
}

func (r *run) printTimes() {
	var total time.Duration
	w := tabwriter.NewWriter(r.opts.Out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for i, n := range r.names {
		total += r.times[i]
		fmt.Fprintf(w, "%s\t%.3f ms\t\n", n, float64(r.times[i].Microseconds())/1000)
	}
	fmt.Fprintf(w, "total\t%.3f ms\t\n", float64(total.Microseconds())/1000)
	_ = w.Flush() // the table is for people: an error of their terminal is no error of the run
}
