package abi

import (
	"fmt"
	"strconv"
	"strings"

	"healc/lang/types"
)

// The kinds of Site: the names of scalar.CheckKind.
const (
	KindDivideByZero     = "divide_by_zero"
	KindNegativeExponent = "negative_exponent"
	KindIndex            = "index"
	KindRecursion        = "recursion"
	KindEmpty            = "empty"
	KindModulus          = "modulus"
	KindNoInverse        = "no_inverse"
	KindPowerOfTwo       = "power_of_two"
	KindRequire          = "require"
)

// Message is what a failing check says, without its position. info holds the details of the check: for
// an index, the index and the bound; for recursion on a device, the bytes of stack that ended it. The interpreter and
// the runtime share it, so that every backend says the same.
func Message(s Site, info [2]int64) string {
	if s.Kind == KindRecursion && info[0] > 0 {
		return fmt.Sprintf("calls are nested deeper than the stack of a thread on the device has room for, which is "+
			"%d bytes; the CPU takes %d calls", info[0], MaxCallDepth)
	}
	format, details := MessageFormat(s)
	args := make([]any, details)
	for i := range args {
		args[i] = info[i]
	}
	return fmt.Sprintf(format, args...)
}

// With is the site with numbers in its message for what it shows.
func (s Site) With(dims map[string]int64) Site {
	for _, d := range s.Shows {
		n, err := d.Eval(dims)
		if err != nil { // above 64 bits
			return s
		}
		s.Op = strings.Replace(s.Op, "{}", strconv.FormatInt(n, 10), 1)
	}
	s.Shows = nil
	return s
}

// MessageFormat is the format of Message, whose verbs are %d and %%, and the number of details that it shows.
func MessageFormat(s Site) (format string, details int) {
	escape := func(text string) string { return strings.ReplaceAll(text, "%", "%%") }
	switch s.Kind {
	case KindDivideByZero:
		return "integer division by zero", 0
	case KindNegativeExponent:
		return "an integer cannot be raised to a negative power", 0
	case KindIndex:
		return "index %d is out of range for an axis of extent %d", 2
	case KindRecursion:
		return fmt.Sprintf("calls are nested more than %d deep", MaxCallDepth), 0
	case KindEmpty:
		return escape(s.Op) + " of no elements has no value", 0
	case KindModulus:
		return "%d is no modulus: a modulus is at least 1", 1
	case KindNoInverse:
		return "%d has no inverse modulo %d: they share a factor", 2
	case KindPowerOfTwo:
		return types.TransformLength, 1
	case KindRequire:
		details = strings.Count(s.Op, "{}")
		return strings.ReplaceAll(escape(s.Op), "{}", "%d"), details
	}
	return "a check failed: " + escape(s.Kind), 0
}
