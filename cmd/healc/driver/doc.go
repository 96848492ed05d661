// Package driver does the work of healc's commands: it runs programs with inputs from the command line,
// writes down what each stage of the compiler makes, explains kernels, and runs test files. It knows
// nothing of flags, terminals and exit codes; package cli does.
package driver

import (
	"fmt"
	"strings"

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

// Diagnostic is the error in the form that diag.Render prints.
func (e *UsageError) Diagnostic() *diag.Diagnostic {
	return &diag.Diagnostic{Message: e.Message, Notes: e.Notes, Help: e.Help}
}

func usagef(format string, args ...any) *UsageError {
	return &UsageError{Message: fmt.Sprintf(format, args...)}
}

// Unsupported is the error for something that cli.md names and this version does not have.
func Unsupported(what, instead string) *UsageError {
	return &UsageError{Message: "unsupported in this version: " + what, Help: instead}
}

// Nearest returns the one of names that name is most likely a slip of, or "".
func Nearest(name string, names []string) string {
	best, bestAt := "", min(max(1, len(name)/3)+1, len(name))
	for _, n := range names {
		if d := distance(strings.ToLower(name), strings.ToLower(n)); d < bestAt {
			best, bestAt = n, d
		}
	}
	return best
}

// distance is the number of insertions, deletions, substitutions and swaps of neighbours that make b of
// a, each byte being touched once (the restricted form of Damerau and Levenshtein's distance).
func distance(a, b string) int {
	row := func() []int { return make([]int, len(b)+1) }
	before, last, cur := row(), row(), row()
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(last[j]+1, cur[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		before, last, cur = last, cur, before
	}
	return last[len(b)]
}
