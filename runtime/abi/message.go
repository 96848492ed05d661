package abi

import "fmt"

// The kinds of Site: the names of scalar.CheckKind.
const (
	KindDivideByZero     = "divide_by_zero"
	KindNegativeExponent = "negative_exponent"
	KindIndex            = "index"
	KindRecursion        = "recursion"
	KindEmpty            = "empty"
)

// Message is what a failing check says, without its position. info holds the details of the check: for
// an index, the index and the bound. The interpreter and the runtime share it, so that every backend
// says the same.
func Message(s Site, info [2]int64) string {
	switch s.Kind {
	case KindDivideByZero:
		return "integer division by zero"
	case KindNegativeExponent:
		return "an integer cannot be raised to a negative power"
	case KindIndex:
		return fmt.Sprintf("index %d is out of range for an axis of extent %d", info[0], info[1])
	case KindRecursion:
		return fmt.Sprintf("calls are nested more than %d deep", MaxCallDepth)
	case KindEmpty:
		return fmt.Sprintf("%s of no elements has no value", s.Op)
	}
	return "a check failed: " + s.Kind
}
