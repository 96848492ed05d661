package run

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	heal "healc"
	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime"
	"healc/runtime/abi"
	"healc/tests/devices"
)

// call is one line of the section `calls`.
type call struct {
	line    int
	text    string // up to the expectation
	name    string
	args    []*ir.Array
	want    []*ir.Array
	ulps    int64
	failAt  string // "line:column" of an expected run-time error, "" for none
	failMsg string // what its message has
}

func parseCall(line string) (*call, error) {
	open, end := strings.IndexByte(line, '('), strings.IndexByte(line, ')')
	if open < 0 || end < open {
		return nil, fmt.Errorf("%q is no call", line)
	}
	c := &call{text: line[:end+1], name: line[:open]}
	var err error
	if c.args, err = parseTensors(line[open+1 : end]); err != nil {
		return nil, err
	}
	rest := strings.TrimSpace(line[end+1:])
	if rest == "" {
		return nil, fmt.Errorf("the expectation is missing")
	}
	kind, rest := rest[0], strings.TrimSpace(rest[1:])
	switch kind {
	case '=':
	case '~':
		n, more, _ := strings.Cut(rest, " ")
		if c.ulps, err = strconv.ParseInt(n, 10, 64); err != nil {
			return nil, err
		}
		rest = more
	case '!':
		parts := strings.SplitN(rest, ":", 3)
		if len(parts) < 3 {
			return nil, fmt.Errorf("expected `! line:column: message`")
		}
		c.failAt, c.failMsg = parts[0]+":"+parts[1], strings.TrimSpace(parts[2])
		return c, nil
	default:
		return nil, fmt.Errorf("%q is no expectation", line[end+1:])
	}
	c.want, err = parseTensors(rest)
	return c, err
}

// parseTensors reads tensors that are separated by commas; commas in brackets belong to a type.
func parseTensors(text string) ([]*ir.Array, error) {
	var out []*ir.Array
	depth, start := 0, 0
	for i := 0; i <= len(text); i++ {
		switch {
		case i < len(text) && text[i] == '[':
			depth++
		case i < len(text) && text[i] == ']':
			depth--
		case i == len(text) || text[i] == ',' && depth == 0:
			if part := strings.TrimSpace(text[start:i]); part != "" {
				a, err := parseTensor(part)
				if err != nil {
					return nil, err
				}
				out = append(out, a)
			}
			start = i + 1
		}
	}
	return out, nil
}

// parseTensor reads `f32[2, 3] 1 2 3 4 5 6`.
func parseTensor(text string) (*ir.Array, error) {
	name, shape, elems := text, "", ""
	if i := strings.IndexAny(text, "[ "); i >= 0 {
		name, elems = text[:i], text[i:]
		if text[i] == '[' {
			end := strings.IndexByte(text, ']')
			if end < 0 {
				return nil, fmt.Errorf("%q: `]` is missing", text)
			}
			shape, elems = text[i+1:end], text[end+1:]
		}
	}
	d, ok := types.ParseDType(name)
	if !ok {
		return nil, fmt.Errorf("%q is no element type", name)
	}
	a := &ir.Array{DType: d, Shape: []int64{}, Bits: []uint64{}}
	n := int64(1)
	for _, s := range strings.FieldsFunc(shape, func(r rune) bool { return r == ',' || r == ' ' }) {
		e, err := strconv.ParseInt(s, 10, 32)
		if err != nil {
			return nil, err
		}
		a.Shape = append(a.Shape, e)
		n *= e
	}
	for _, word := range strings.Fields(elems) {
		word, times, repeated := strings.Cut(word, "*")
		count := 1
		if repeated {
			var err error
			if count, err = strconv.Atoi(times); err != nil {
				return nil, err
			}
		}
		bits, err := parseElement(d, word)
		if err != nil {
			return nil, err
		}
		for range count {
			a.Bits = append(a.Bits, bits)
		}
	}
	if int64(len(a.Bits)) != n {
		return nil, fmt.Errorf("%q has %d elements, not %d", text, len(a.Bits), n)
	}
	return a, nil
}

// parseElement gives the bits of an element, rounded once.
func parseElement(d types.DType, word string) (uint64, error) {
	switch {
	case d == types.Bool:
		b, err := strconv.ParseBool(word)
		if b {
			return 1, err
		}
		return 0, err
	case d == types.F64:
		x, err := strconv.ParseFloat(word, 64)
		return math.Float64bits(x), err
	case d.IsFloat():
		x, err := strconv.ParseFloat(word, 32)
		switch f := float32(x); d {
		case types.F16:
			return uint64(types.F16Bits(f)), err
		case types.BF16:
			return uint64(types.BF16Bits(f)), err
		default:
			return uint64(math.Float32bits(f)), err
		}
	case d.IsUnsigned():
		return strconv.ParseUint(word, 0, int(d.Bits()))
	default:
		x, err := strconv.ParseInt(word, 0, int(d.Bits()))
		return uint64(x) << (64 - d.Bits()) >> (64 - d.Bits()), err
	}
}

// check says how an outcome differs from the expectation, "" when it does not.
func (c *call) check(o outcome) string {
	switch {
	case c.failAt != "" && o.failed == nil:
		return fmt.Sprintf("runs, instead of stopping with %q", c.failMsg)
	case c.failAt != "":
		at := fmt.Sprintf("%d:%d", o.failed.Site.Line, o.failed.Site.Col)
		if at != c.failAt || !strings.Contains(o.failed.Message, c.failMsg) {
			return fmt.Sprintf("stops at %s with %q; want %s with %q", at, o.failed.Message, c.failAt, c.failMsg)
		}
		return ""
	case o.failed != nil:
		return "stops with " + o.failed.Error()
	case len(o.results) != len(c.want):
		return fmt.Sprintf("gives %d results, want %d", len(o.results), len(c.want))
	}
	for i, w := range c.want {
		if msg := sameArray(w, o.results[i], c.ulps); msg != "" {
			return fmt.Sprintf("result %d: %s", i, msg)
		}
	}
	return ""
}

// sameOutcome compares two backends, exactly. A GPU may end recursion before the calls that the language allows.
func sameOutcome(a, b outcome) string {
	if endedBefore(a.failed, b.failed) {
		return ""
	}
	if (a.failed == nil) != (b.failed == nil) {
		return fmt.Sprintf("failure %v against %v", a.failed, b.failed)
	}
	if a.failed != nil {
		if a.failed.Error() != b.failed.Error() {
			return fmt.Sprintf("failure %v against %v", a.failed, b.failed)
		}
		return ""
	}
	for i := range a.results {
		if msg := sameArray(a.results[i], b.results[i], 0); msg != "" {
			return fmt.Sprintf("result %d: %s", i, msg)
		}
	}
	return ""
}

// endedBefore reports whether b is recursion for which the stack of a thread of a device has no room, and a that of too
// many calls at the same place, or on a GPU no failure; the simulator has stacks for all calls.
func endedBefore(a, b *runtime.RuntimeError) bool {
	if b == nil || b.Site.Kind != abi.KindRecursion ||
		!strings.Contains(b.Message, "the stack of a thread on the device") {
		return false
	}
	if a == nil {
		return devices.Backend() == heal.GPU
	}
	return strings.Contains(a.Message, "calls are nested more than") && a.Site.Line == b.Site.Line &&
		a.Site.Col == b.Site.Col
}

// sameArray says how two tensors differ, "" when they are the same within ulps; any NaN equals any NaN.
func sameArray(want, got *ir.Array, ulps int64) string {
	if !types.Equal(want.Type(), got.Type()) {
		return fmt.Sprintf("got %s, want %s", got.Type(), want.Type())
	}
	for i, w := range want.Bits {
		g := got.Bits[i]
		if w == g || want.DType.IsFloat() && near(want.DType, w, g, ulps) {
			continue
		}
		return fmt.Sprintf("element %d is %s (%#x), want %s (%#x)", i, scalar.FormatBits(want.DType, g), g,
			scalar.FormatBits(want.DType, w), w)
	}
	return ""
}

// near reports whether two floats are at most ulps steps apart, or both NaN.
func near(d types.DType, a, b uint64, ulps int64) bool {
	x, y := scalar.FloatValue(d, a), scalar.FloatValue(d, b)
	if x != x || y != y {
		return x != x && y != y
	}
	if ulps == 0 {
		return false // the bits differ; -0 is not +0
	}
	dist := ordinal(d, a) - ordinal(d, b)
	return -ulps <= dist && dist <= ulps
}

// ordinal numbers the floats of a type in their order.
func ordinal(d types.DType, bits uint64) int64 {
	sign := uint64(1) << (d.Bits() - 1)
	if bits&sign != 0 {
		return -int64(bits &^ sign)
	}
	return int64(bits)
}
