package onnx

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"healc/ir/scalar"
	"healc/lang/types"
)

// value is what stands for a value of the graph.
type value struct {
	elem  types.DType
	shape shape
	text  string // how it is written: a name; "" while nothing has read what is known or lies in the file
	name  string // in the graph
	known *known
	file  *Tensor // the tensor that it is
	input bool    // whether it is an input of the model
}

// known are the elements of a value in row-major order: integers, with false and true as 0 and 1, or floats.
type known struct {
	ints    []types.Dim
	floats  []float64
	clamped bool // whether an integer is beyond 62 bits, and is another here: such are bounds "to the end" of slices
}

// maxKnown is how many elements of a value are looked at while the program is written. What is computed from shapes has
// as many as shapes have axes, masks and positions have as many as a sequence has.
const maxKnown = 1024

func (k *known) len() int { return max(len(k.ints), len(k.floats)) }

// pick are the elements at these positions.
func (k *known) pick(at []int) *known {
	out := &known{}
	for _, i := range at {
		if k.ints != nil {
			out.ints = append(out.ints, k.ints[i])
		} else {
			out.floats = append(out.floats, k.floats[i])
		}
	}
	return out
}

// look is what is known of a tensor in a file; nil where that are too many elements.
func (t *Tensor) look() *known {
	n := int64(1)
	for _, d := range t.Shape {
		n *= d
	}
	width := t.Elem.Bytes()
	if n > maxKnown || int64(len(t.data)) != n*int64(width) {
		return nil
	}
	k := &known{}
	if !t.Elem.IsFloat() {
		k.ints = []types.Dim{}
	}
	for i := range int(n) {
		bits := element(t.data, i, width)
		switch {
		case t.Elem.IsFloat():
			k.floats = append(k.floats, scalar.FloatValue(t.Elem, bits))
		case t.Elem == types.Bool:
			k.ints = append(k.ints, number(int64(min(bits, 1))))
		case t.Elem.IsSigned():
			v := int64(bits<<(64-8*width)) >> (64 - 8*width)
			if magnitude(v) >= 1<<62 {
				v, k.clamped = max(min(v, 1<<62-1), -1<<62+1), true
			}
			k.ints = append(k.ints, number(v))
		case t.Elem.IsUnsigned() && bits < 1<<62:
			k.ints = append(k.ints, number(int64(bits)))
		default:
			return nil
		}
	}
	return k
}

// literal is the value of known elements in Heal.
func literal(elem types.DType, s shape, k *known) string {
	if len(s) == 0 {
		return k.element(elem, 0)
	}
	if k.len() > 1 {
		first := k.element(elem, 0)
		same := true
		for i := range k.len() {
			same = same && k.element(elem, i) == first
		}
		if same {
			return fmt.Sprintf("full[%v, %s](%s)", elem, strings.Trim(s.String(), "[]"), first)
		}
	}
	if len(s) == 1 && k.ramp(elem) {
		text := fmt.Sprintf("%v..%v", k.ints[0], add(k.ints[0], number(int64(k.len()))))
		if elem == types.I32 {
			return "(" + text + ")"
		}
		return fmt.Sprintf("((%s) as %v)", text, elem)
	}
	at := 0
	var rows func(s shape) string
	rows = func(s shape) string {
		if len(s) == 0 {
			at++
			return k.element(elem, at-1)
		}
		n, _ := s[0].Const()
		parts := make([]string, n)
		for i := range parts {
			parts[i] = rows(s[1:])
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return rows(s)
}

// ramp reports whether the elements are integers, each the one before it and 1.
func (k *known) ramp(elem types.DType) bool {
	if len(k.ints) < 4 || !elem.IsInt() {
		return false
	}
	for i, d := range k.ints {
		if _, ok := d.Const(); !ok || !d.Equal(add(k.ints[0], number(int64(i)))) {
			return false
		}
	}
	return true
}

// element is element i in Heal.
func (k *known) element(elem types.DType, i int) string {
	if k.floats != nil {
		return floatText(elem, k.floats[i])
	}
	d := k.ints[i]
	n, ok := d.Const()
	switch {
	case elem == types.Bool && ok:
		return strconv.FormatBool(n != 0)
	case !ok:
		return fmt.Sprintf("((%v) as %v)", d, elem)
	}
	text := strconv.FormatInt(n, 10)
	if elem != types.I32 {
		text += "_" + elem.String()
	}
	if n < 0 {
		return "(" + text + ")"
	}
	return text
}

// floatText is a float in Heal, which is not negative without parentheses.
func floatText(elem types.DType, v float64) string {
	suffix := ""
	if elem != types.F32 {
		suffix = "_" + elem.String()
	}
	switch {
	case math.IsNaN(v):
		return "(0.0" + suffix + " / 0.0)"
	case math.IsInf(v, 1):
		return "(1.0" + suffix + " / 0.0)"
	case math.IsInf(v, -1):
		return "(-1.0" + suffix + " / 0.0)"
	}
	width := 32
	if elem == types.F64 {
		width = 64
	}
	text := strconv.FormatFloat(v, 'g', -1, width)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	text += suffix
	if strings.HasPrefix(text, "-") {
		return "(" + text + ")"
	}
	return text
}

// integers are the elements of a value as numbers, if they are known, and depend on no dimension.
func (v *value) integers() ([]int64, bool) {
	if v.known == nil || v.known.ints == nil && v.known.len() > 0 {
		return nil, false
	}
	out := make([]int64, len(v.known.ints))
	for i, d := range v.known.ints {
		n, ok := d.Const()
		if !ok {
			return nil, false
		}
		out[i] = n
	}
	return out, true
}

// positions goes over the indices of a shape in row-major order.
func positions(extents []int64) [][]int64 {
	out := [][]int64{{}}
	for _, n := range extents {
		var next [][]int64
		for _, p := range out {
			for i := range n {
				next = append(next, append(slices.Clone(p), i))
			}
		}
		out = next
	}
	return out
}

// flat is the position of an index in row-major order, where an extent of 1 takes every index.
func flat(extents, index []int64) int {
	at := int64(0)
	index = index[len(index)-len(extents):]
	for i, n := range extents {
		at *= n
		if n > 1 {
			at += index[i]
		}
	}
	return int(at)
}
