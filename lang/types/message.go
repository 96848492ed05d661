package types

import "strings"

// AssertMessage is what a failed assertion says: what was asserted, and below it the two values that were
// compared. The interpreter and the runtime share it, so that every backend says the same.
func AssertMessage(what string, shown []string) string {
	s := what + " does not hold"
	for i, v := range shown {
		name := "\nleft:  "
		if i == 1 {
			name = "\nright: "
		}
		s += name + strings.ReplaceAll(v, "\n", "\n       ")
	}
	return s
}

// TupleForm is how a value of type t is printed, with a % in the place of each tensor: (%, (%, %)).
func TupleForm(t Type) string {
	tuple, ok := t.(Tuple)
	if !ok {
		return "%"
	}
	parts := make([]string, len(tuple.Elems))
	for i, e := range tuple.Elems {
		parts[i] = TupleForm(e)
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// TupleSlots is the number of values that a form of TupleForm shows. The empty form is that of one value.
func TupleSlots(form string) int {
	if form == "" {
		return 1
	}
	return strings.Count(form, "%")
}

// TupleText is a form of TupleForm with the text of each value in its place; there are TupleSlots of them.
func TupleText(form string, shown []string) string {
	if form == "" {
		return shown[0]
	}
	var b strings.Builder
	for i, part := range strings.Split(form, "%") {
		if i > 0 {
			b.WriteString(shown[i-1])
		}
		b.WriteString(part)
	}
	return b.String()
}
