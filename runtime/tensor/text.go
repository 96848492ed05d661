package tensor

import (
	"errors"

	"healc/lang/types"
)

// Text makes a string a value that functions take and give. It has the type types.String and no axes, and no
// elements either: it has no memory, so that Close need not be called, and what reads elements fails.
func Text(s string) *Tensor { return &Tensor{DType: types.String, text: &s} }

// Text is the string of a value made by the function Text, or of a result of that type; false for a tensor.
func (t *Tensor) Text() (string, bool) {
	if !t.IsText() {
		return "", false
	}
	return *t.text, true
}

// IsText reports whether t is a string.
func (t *Tensor) IsText() bool { return t != nil && t.text != nil }

// errText is the error of reading or writing elements of a string.
var errText = errors.New("a string has no elements")
