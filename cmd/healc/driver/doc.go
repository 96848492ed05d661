// Package driver does the work of healc's commands: it runs programs with inputs from the command line (Job), and
// writes down what each stage of the compiler makes (Emit). What `healc explain`, `bench`, `test` and `doc` do is in
// the packages below. They know nothing of flags, terminals and exit codes; package cli does.
package driver

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"healc/internal/regular"
	"healc/lang/diag"
)

// UsageError says that what the user asked for does not fit the program or this version of healc: the
// command line has to change, not the program.
type UsageError struct {
	Message string   // one lower-case clause
	Notes   []string // such as the signature of the function
	Help    string   // how to put it right, or ""
}

func (e *UsageError) Error() string {
	parts := append([]string{e.Message}, e.Notes...)
	if e.Help != "" {
		parts = append(parts, e.Help)
	}
	return strings.Join(parts, "; ")
}

// NoFile says that a file named on the command line cannot be read.
func NoFile(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &UsageError{Message: "there is no file " + name}
	}
	var kind *regular.KindError
	var large *regular.LargeError
	if errors.As(err, &kind) || errors.As(err, &large) {
		return &UsageError{Message: err.Error()}
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return &UsageError{Message: "cannot read " + name + ": " + err.Error()}
}

// Diagnostic is the error in the form that diag.Render prints.
func (e *UsageError) Diagnostic() *diag.Diagnostic {
	return &diag.Diagnostic{Message: e.Message, Notes: e.Notes, Help: e.Help}
}

// Usagef is a UsageError with a message alone.
func Usagef(format string, args ...any) *UsageError {
	return &UsageError{Message: fmt.Sprintf(format, args...)}
}

// Unsupported is the error for something that cli.md names and this version does not have.
func Unsupported(what, instead string) *UsageError {
	return &UsageError{Message: "unsupported in this version: " + what, Help: instead}
}

// Nearest returns the one of names that name is most likely a slip of, or "".
func Nearest(name string, names []string) string {
	name = strings.ToLower(name)
	if slices.Contains(names, name) {
		return name
	}
	return diag.Nearest(name, names)
}
