package aot

import (
	"strings"

	"healc/runtime/abi"
)

// What a function of a library returns. The header names them.
const (
	CodeOK               = 0
	CodeMemory           = 1 // also in runtime.ll
	CodeArgument         = 2
	CodeIndex            = 3
	CodeDivide           = 4
	CodeNegativeExponent = 5
	CodeRecursion        = 6
	CodeEmpty            = 7
	CodeAssert           = 8
	CodeFailed           = 9
)

// codes are the constants of the header, in order of their values.
var codes = []struct{ name, doc string }{
	{"HEAL_OK", ""},
	{"HEAL_MEMORY", "out of memory, or an extent that no memory holds"},
	{"HEAL_ARGUMENT", "an argument does not fit: its shape, its address, or memory that arguments share"},
	{"HEAL_INDEX", "an index is out of range"},
	{"HEAL_DIVIDE", "integer division by zero"},
	{"HEAL_NEGATIVE_EXPONENT", "an integer raised to a negative power"},
	{"HEAL_RECURSION", "calls nested too deep"},
	{"HEAL_EMPTY", "a reduction of no elements that has no value"},
	{"HEAL_ASSERT", "an assertion does not hold"},
	{"HEAL_FAILED", "another failure"},
}

// codeOf is the code of a failing site.
func codeOf(kind string) int {
	switch kind {
	case abi.KindIndex:
		return CodeIndex
	case abi.KindDivideByZero:
		return CodeDivide
	case abi.KindNegativeExponent:
		return CodeNegativeExponent
	case abi.KindRecursion:
		return CodeRecursion
	case abi.KindEmpty:
		return CodeEmpty
	}
	return CodeFailed
}

// hostAssert is the only Host operation that a library does.
const hostAssert = "assert"

// escapeFormat makes text stand for itself in a format.
func escapeFormat(text string) string { return strings.ReplaceAll(text, "%", "%%") }

// cFormat turns a format of package fmt for 64-bit integers into one of printf.
func cFormat(format string) string { return strings.ReplaceAll(format, "%d", "%lld") }
