package tensor

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"healc/lang/types"
)

// NumPy's defaults: arrays of more than printThreshold elements show printEdge elements at either end of each long
// axis, and lines hold printWidth characters.
const (
	printThreshold = 1000
	printEdge      = 3
	printWidth     = 75
)

// Format writes t the way NumPy's print does with floatmode='unique', without a newline at the end: every float in the
// fewest digits that read back as the same value, columns aligned, in exponent form when an element's magnitude is 1e8
// or above or below 1e-4, or the largest is over 1000 times the smallest. Bools are true and false, where NumPy writes
// True and False. Types that NumPy does not have print as the f32 of the same value, bf16 in the digits that it needs.
// An empty tensor prints as [], a string as its characters.
//
//	[[ 1.    2.5 ]
//	 [-0.125 3.  ]]
//
// Source of the layout: numpy/_core/arrayprint.py.
func Format(w io.Writer, t *Tensor) error {
	if s, ok := t.Text(); ok {
		_, err := io.WriteString(w, s)
		return err
	}
	if err := t.HostErr(); err != nil {
		return err
	}
	var text string
	switch {
	case t.Rank() == 0:
		text = scalarText(t.DType, t.load(0))
	case t.Elems() == 0:
		text = "[]"
	default:
		p := &printer{t: t, summary: t.Elems() > printThreshold}
		p.format = p.chooseFormat()
		text = p.array(0, 0, " ", printWidth)
	}
	_, err := io.WriteString(w, text)
	return err
}

// scalarText prints an element on its own.
func scalarText(dtype types.DType, bits uint64) string {
	switch {
	case dtype == types.Bool:
		return strconv.FormatBool(bits != 0)
	case dtype.IsFloat():
		return floatScalarText(dtype, bits)
	case dtype.IsStored() && dtype != types.I4:
		return floatScalarText(types.F32, storedAsF32(dtype, bits))
	}
	return intText(dtype, bits)
}

func intText(dtype types.DType, bits uint64) string {
	if dtype == types.I4 {
		return strconv.Itoa(int(types.StoredValue(dtype, uint8(bits))))
	}
	if dtype.IsUnsigned() {
		return strconv.FormatUint(bits, 10)
	}
	unused := 64 - dtype.Bits()
	return strconv.FormatInt(int64(bits<<unused)>>unused, 10)
}

// printer prints one tensor of at least one axis and element.
type printer struct {
	t       *Tensor
	summary bool
	format  func(bits uint64) string // of an element, all of one width
}

// shown yields the indices of an axis that are printed, and -1 where dots stand.
func (p *printer) shown(axis int) func(yield func(int64) bool) {
	n := p.t.Shape[axis]
	return func(yield func(int64) bool) {
		for i := int64(0); i < n; i++ {
			if p.summary && n > 2*printEdge && i == printEdge {
				if !yield(-1) {
					return
				}
				i = n - printEdge
			}
			if !yield(i) {
				return
			}
		}
	}
}

// visit calls f with the bits of all elements that are printed, of the sub-tensor at position at whose first axis is
// axis.
func (p *printer) visit(axis int, at int64, f func(bits uint64)) {
	if axis == p.t.Rank() {
		f(p.t.load(at))
		return
	}
	for i := range p.shown(axis) {
		if i >= 0 {
			p.visit(axis+1, at+i*p.t.Strides[axis], f)
		}
	}
}

// storedAsF32 is the bits of the f32 that has the value of an element of a type that is only stored. It prints as that,
// but for an i4, which prints as an integer.
func storedAsF32(dtype types.DType, bits uint64) uint64 {
	return uint64(math.Float32bits(types.StoredValue(dtype, uint8(bits))))
}

// floatFormat prints elements as the floats of a type whose bits as gives.
func (p *printer) floatFormat(dtype types.DType, as func(uint64) uint64) func(uint64) string {
	f := newFloatFormat(dtype)
	p.visit(0, 0, func(bits uint64) { f.see(as(bits)) })
	f.choose()
	p.visit(0, 0, func(bits uint64) { f.measure(as(bits)) })
	f.reserve()
	return func(bits uint64) string { return f.text(as(bits)) }
}

// chooseFormat looks at the printed elements and returns how to print each.
func (p *printer) chooseFormat() func(uint64) string {
	dtype := p.t.DType
	if dtype.IsFloat() {
		return p.floatFormat(dtype, func(bits uint64) uint64 { return bits })
	}
	if dtype.IsStored() && dtype != types.I4 {
		return p.floatFormat(types.F32, func(bits uint64) uint64 { return storedAsF32(dtype, bits) })
	}
	text := func(bits uint64) string { return intText(dtype, bits) }
	width := 0
	if dtype == types.Bool {
		text = func(bits uint64) string { return strconv.FormatBool(bits != 0) }
		width = len("false")
	} else {
		p.visit(0, 0, func(bits uint64) { width = max(width, len(text(bits))) })
	}
	return func(bits uint64) string { return fmt.Sprintf("%*s", width, text(bits)) }
}

// array prints the sub-tensor at position at whose first axis is axis. Lines after the first start with indent, and
// width is what a line may hold with its closing brackets.
func (p *printer) array(axis int, at int64, indent string, width int) string {
	rank, stride := p.t.Rank(), p.t.Strides[axis]
	var b strings.Builder
	if axis == rank-1 {
		l := lineWriter{out: &b, line: indent, indent: indent, width: width - 1}
		first := true
		for i := range p.shown(axis) {
			if !first {
				l.line += " "
			}
			first = false
			if i < 0 {
				l.add("...")
			} else {
				l.add(p.format(p.t.load(at + i*stride)))
			}
		}
		b.WriteString(l.line)
	} else {
		for i := range p.shown(axis) {
			if b.Len() > 0 {
				b.WriteString(strings.Repeat("\n", rank-1-axis))
			}
			b.WriteString(indent)
			if i < 0 {
				b.WriteString("...")
			} else {
				b.WriteString(p.array(axis+1, at+i*stride, indent+" ", width-1))
			}
		}
	}
	return "[" + b.String()[len(indent):] + "]"
}

// lineWriter breaks a row of words into lines.
type lineWriter struct {
	out    *strings.Builder
	line   string // being filled
	indent string
	width  int
}

func (l *lineWriter) add(word string) {
	if len(l.line)+len(word) > l.width && len(l.line) > len(l.indent) {
		l.out.WriteString(strings.TrimRight(l.line, " "))
		l.out.WriteByte('\n')
		l.line = l.indent
	}
	l.line += word
}
