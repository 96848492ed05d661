package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"

	heal "healc"
	"healc/cmd/healc/driver"
	"healc/internal/engine"
	"healc/lang/diag"
)

// report prints an error and returns the exit code that it means. Of several ranks one prints.
func (a *app) report(err error) int {
	a.line.Done()
	var code exitCode
	well := err == nil || errors.As(err, &code)
	if a.rank != nil {
		if failed := a.out.flush(); well && failed != nil {
			well, err = false, failed
		}
		if well {
			err = nil
		}
		return a.rank.End(int(code), err, func(w io.Writer, err error) int {
			a.err = w
			return a.show(err)
		})
	}
	if well {
		return int(code)
	}
	return a.show(err)
}

// show prints what has failed, and returns the exit code that it means.
func (a *app) show(err error) int {
	var signalled *signalError
	if errors.As(err, &signalled) {
		a.diagnostic(&diag.Diagnostic{Message: signalled.Error()})
		return signalled.ExitCode()
	}
	o := driver.Classify(err, a.file)
	if o.Bug != nil {
		return a.bug(o.Bug)
	}
	var differ *heal.DisagreeError // which says of which ranks it is
	if a.rank != nil && a.rank.Comm != nil && o.Class == driver.RuntimeFault && len(o.Diagnostics) == 1 &&
		!errors.As(err, &differ) {
		d := *o.Diagnostics[0]
		d.Notes = append(slices.Clip(d.Notes), fmt.Sprintf("on rank %d of %d", a.rank.Rank(), a.rank.Size()))
		o.Diagnostics[0] = &d
	}
	a.diagnostics(o.Diagnostics, o.More)
	return int(o.Class)
}

// diagnostics prints a list and how many errors it has, when there are several.
func (a *app) diagnostics(list []*diag.Diagnostic, more int) {
	failed := 0
	for i, d := range list {
		if i > 0 {
			a.notef("")
		}
		a.diagnostic(d)
		if d.Severity == diag.Error {
			failed++
		}
	}
	switch {
	case more > 0:
		a.notef("\n%d errors, of which the first %d are shown", failed+more, failed)
	case failed > 1:
		a.notef("\n%d errors", failed)
	}
}

// loaded keeps the module for reports of bugs, and prints the warnings of its source. The function that is wanted is
// used.
func (a *app) loaded(entry string) func(*engine.Module) {
	warned := false // several modules are made of a source
	return func(m *engine.Module) {
		a.module = m
		if warned {
			return
		}
		warned = true
		a.warnings(m.Program().WarningsOf(entry))
	}
}

// warnings prints warnings, with an empty line below each.
func (a *app) warnings(list []*diag.Diagnostic) {
	var shown diag.List
	shown.AddWarnings(list)
	for _, d := range shown.Items {
		a.diagnostic(d)
		a.notef("")
	}
	if _, more := shown.NotShown(); more != "" {
		a.notef("%s\n", more)
	}
}

// notef prints a line on standard error, after all that was printed before it on standard output.
func (a *app) notef(format string, args ...any) {
	_ = a.out.flush() // an error of standard output shows when the command ends
	fmt.Fprintf(a.err, format+"\n", args...)
}
