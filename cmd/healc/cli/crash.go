package cli

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	heal "healc"
	"healc/cmd/healc/driver"
	"healc/lang/diag"
)

// bug reports a defect of healc: one message, and a file with all that is needed to find it.
func (a *app) bug(b *driver.Bug) int {
	path, err := a.dump(b)
	d := &diag.Diagnostic{Message: "this is a bug in healc: " + firstLine(b.Cause)}
	if err != nil {
		d.Notes = append(d.Notes, "no dump could be written: "+err.Error())
		d.Help = "please report it with the program and the command line"
	} else {
		d.Notes = append(d.Notes, "the dump is "+path)
		d.Help = "please report it, with the dump (it has the program in it)"
	}
	a.diagnostic(d)
	return exitBug
}

// dump writes cause, versions, command line, stack, source and tensor IR to a file in the temporary folder.
func (a *app) dump(bug *driver.Bug) (path string, err error) {
	f, err := os.CreateTemp("", "healc-bug-*.txt")
	if err != nil {
		return "", err
	}
	code := bug.IR
	if code == "" {
		code = a.moduleText()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "healc %s, %s %s/%s\ncommand: %q\n", heal.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH,
		os.Args)
	section := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "\n== %s\n%s\n", name, strings.TrimRight(text, "\n"))
		}
	}
	section("cause", bug.Cause)
	section("stack", bug.Stack)
	if a.file != nil {
		section("source "+a.file.Name, a.file.Text)
	}
	section("tensor IR", code)
	_, err = f.WriteString(b.String())
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return f.Name(), err
}

// moduleText prints the module that was worked on. What is broken enough to panic may be too broken to print.
func (a *app) moduleText() (text string) {
	defer func() {
		if p := recover(); p != nil {
			text = fmt.Sprintf("(the module cannot be printed: %v)", p)
		}
	}()
	if a.module == nil {
		return ""
	}
	return a.module.IR().String()
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
