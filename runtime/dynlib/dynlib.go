// Package dynlib opens shared libraries and finds what they define, on each system by what it has for that.
package dynlib

import "strings"

// Mode says how a library is opened.
type Mode int

const (
	// Now has all that the library needs be found at once, so that what is missing is an error here. Otherwise a
	// function is looked for at its first call, where the system can do that.
	Now Mode = 1 << iota
	// Global lets libraries that are opened later use what this one defines, where a system distinguishes that.
	Global
)

// Absent reports whether the message of an error of Open, without the path in front of it, says that path itself is not
// there, as glibc and musl word it: not one of the libraries that it needs.
func Absent(path, message string) bool {
	return strings.HasPrefix(message, "cannot open shared object file") ||
		message == "Error loading shared library "+path+": No such file or directory"
}
