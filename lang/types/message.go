package types

import (
	"fmt"
	"math"
	"strings"
)

// MaxString is the most bytes of a string: whoever joins strings over and over gets an error before the memory is full.
const MaxString = 64 << 20

// JoinStrings is a ++ b.
func JoinStrings(a, b string) (string, error) {
	if len(a)+len(b) > MaxString {
		return "", fmt.Errorf("joining strings of %d and %d bytes: a string has at most %d (64 MiB)", len(a), len(b),
			MaxString)
	}
	return a + b, nil
}

// AssertMessage is what a failed assertion says: what was asserted, and below it the two values that were
// compared, and the Difference between them. The interpreter and the runtime share it, so that every
// backend says the same.
func AssertMessage(what string, shown []string, difference string) string {
	s := what + " does not hold"
	for i, v := range shown {
		name := "\nleft:  "
		if i == 1 {
			name = "\nright: "
		}
		s += name + strings.ReplaceAll(v, "\n", "\n       ")
	}
	if difference != "" {
		s += "\n" + difference
	}
	return s
}

// Difference tells where two tensors of one type differ, since of large ones `print` leaves most elements
// out: floats where they differ most, other elements where they first do. a and b are the bits of the
// elements in row-major order, value what the bits of a float mean, show the text of one element. It is ""
// for scalars and strings, and for tensors that do not differ.
func Difference(elem DType, shape []int64, a, b []uint64, value func(uint64) float64, show func(uint64) string) string {
	if len(shape) == 0 || elem == String {
		return ""
	}
	at, most, what := -1, 0.0, "first"
	for i := range a {
		d := 0.0
		switch {
		case a[i] == b[i]:
		case elem.IsFloat():
			what = "most"
			d = distance(value(a[i]), value(b[i]))
		default:
			d = math.Inf(1)
		}
		if d > most {
			at, most = i, d
		}
	}
	if at < 0 {
		return ""
	}
	return fmt.Sprintf("they differ %s at %s: %s and %s", what, position(at, shape), show(a[at]), show(b[at]))
}

// distance is |x - y|, where a NaN is equal to a NaN and infinitely far from every number.
func distance(x, y float64) float64 {
	switch {
	case x == y || math.IsNaN(x) && math.IsNaN(y):
		return 0
	case math.IsNaN(x) || math.IsNaN(y):
		return math.Inf(1)
	}
	return math.Abs(x - y)
}

// position is the index of element i in row-major order, as `[1, 0]`.
func position(i int, shape []int64) string {
	at := make([]string, len(shape))
	for k := len(shape) - 1; k >= 0; k-- {
		at[k] = fmt.Sprint(int64(i) % shape[k])
		i = int(int64(i) / shape[k])
	}
	return "[" + strings.Join(at, ", ") + "]"
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

// Count is "no result", "1 result", "2 results".
func Count(n int, what string) string {
	switch n {
	case 0:
		return "no " + what
	case 1:
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// TransformLength is what is wrong with the length of a number theoretic transform, whether it is known when a program
// is checked or only when it runs.
const TransformLength = "the length of a transform is a power of two, not %d"
