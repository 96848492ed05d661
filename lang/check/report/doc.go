// Package report makes diagnostics of the checker: the label, the notes and the advice of an error, the shapes that
// do not fit printed one below the other, and names and numbers as messages have them.
package report
