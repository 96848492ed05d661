package diag

import (
	"fmt"
	"sort"
)

// Entry is the page of one code: what it means, a program that shows it, and how to fix it.
// `healc explain CODE` prints it, and a test compiles Example and requires exactly that code.
type Entry struct {
	Code    Code
	Title   string // one lower-case clause
	Text    string // a paragraph or two: why it is an error and how to fix it
	Example string // a whole program that gives exactly this code; "" when Runtime or Extern is set
	Fixed   string // the example put right, or ""
	Runtime bool   // the error shows when the program runs; Example is then a program to run
	Warning bool   // what it says stops nothing: the example compiles
	Extern  string // set when no program alone can show it: says what does (a missing file, a missing library)
}

var entries = map[Code]Entry{}

// define adds the page of a code and returns the code. It panics on a repeat.
func define(e Entry) Code {
	if _, dup := entries[e.Code]; dup {
		panic(fmt.Sprintf("BUG: error code %s is defined twice", e.Code))
	}
	entries[e.Code] = e
	return e.Code
}

// Lookup returns the page of a code.
func Lookup(c Code) (Entry, bool) { e, ok := entries[c]; return e, ok }

// Entries returns all pages in order of their codes.
func Entries() []Entry {
	out := make([]Entry, 0, len(entries))
	for _, e := range entries {
		out = append(out, e)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Code < out[j].Code })
	return out
}
