package tensor

import (
	"math"
	"strconv"
	"strings"

	"healc/lang/types"
)

// FloatValue is the value of an element of a float type, or of one that is only stored.
func FloatValue(dtype types.DType, bits uint64) float64 {
	if dtype.IsStored() {
		return float64(types.StoredValue(dtype, uint8(bits)))
	}
	switch dtype {
	case types.F16:
		return float64(types.F16Value(uint16(bits)))
	case types.BF16:
		return float64(types.BF16Value(uint16(bits)))
	case types.F32:
		return float64(math.Float32frombits(uint32(bits)))
	}
	return math.Float64frombits(bits)
}

// roundTo rounds x to a float type and returns its value there.
func roundTo(dtype types.DType, x float64) float64 {
	switch dtype {
	case types.F16:
		return float64(types.F16Value(types.F16Bits(float32(x))))
	case types.BF16:
		return float64(types.BF16Value(types.BF16Bits(float32(x))))
	case types.F32:
		return float64(float32(x))
	}
	return x
}

// shortest prints x, a finite value of dtype, in the fewest digits that read back as x: as 'e', 1.5e-07, or
// as 'f', 0.00000015. Of two such numbers that are as near to x it is the even one.
func shortest(dtype types.DType, x float64, form byte) string {
	if dtype == types.F32 || dtype == types.F64 {
		return shortestEven(x, form, dtype.Bits())
	}
	// No value of 16 bits needs more than 5 digits. Next to a power of two the values above are twice as far as those
	// below, so the second nearest decimal may read back where the nearest, if it lies below, does not.
	for digits := 0; ; digits++ {
		y := parsedFloat(strconv.FormatFloat(x, 'e', digits, 64))
		if roundTo(dtype, y) != x && math.Abs(y) < math.Abs(x) {
			exp := int(math.Floor(math.Log10(math.Abs(x))))
			y = parsedFloat(strconv.FormatFloat(y+math.Copysign(math.Pow10(exp-digits), x), 'e', digits, 64))
		}
		if roundTo(dtype, y) == x {
			return strconv.FormatFloat(y, form, -1, 64)
		}
	}
}

// shortestEven is shortest for a type that strconv knows, which takes the greater of two that are as near:
// 0.00024414063 for the f32 2^-12, which is 0.000244140625.
func shortestEven(x float64, form byte, bits int) string {
	s := strconv.FormatFloat(x, 'e', -1, bits)
	digits, exp, _ := strings.Cut(s, "e")
	after := max(len(strings.TrimLeft(digits, "-"))-len("1."), 0)
	even := strconv.FormatFloat(x, 'e', after, 64)
	places := after
	if form == 'f' {
		power, err := strconv.Atoi(exp)
		if err != nil {
			panic("BUG: runtime: " + err.Error())
		}
		places -= power
	}
	if y, err := strconv.ParseFloat(even, bits); even == s || err != nil || y != x || places < 0 {
		return strconv.FormatFloat(x, form, -1, bits)
	}
	return strconv.FormatFloat(x, form, places, 64)
}

func parsedFloat(s string) float64 {
	y, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic("BUG: runtime: " + err.Error())
	}
	return y
}

// special returns the text of NaN and the infinities, "" for other values.
func special(x float64) string {
	switch {
	case math.IsNaN(x):
		return "nan"
	case math.IsInf(x, 1):
		return "inf"
	case math.IsInf(x, -1):
		return "-inf"
	}
	return ""
}

// floatScalarText prints a float on its own: 1.0, 0.1, 1e-05, 1e+16, nan.
func floatScalarText(dtype types.DType, bits uint64) string {
	x := FloatValue(dtype, bits)
	if s := special(x); s != "" {
		return s
	}
	if a := math.Abs(x); a != 0 && (a < 1e-4 || a >= 1e16) {
		return shortest(dtype, x, 'e')
	}
	s := shortest(dtype, x, 'f')
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// floatFormat is the common format of the floats of an array. It sees all of them, then measures them.
type floatFormat struct {
	dtype               types.DType
	least, most         float64 // magnitudes of the finite values other than 0
	finite, odd, negInf bool    // whether there are finite values, others, -inf
	exponent            bool    // exponent form
	left, right         int     // characters before and after the point
	digits              int     // of the longest exponent
}

func newFloatFormat(dtype types.DType) *floatFormat {
	return &floatFormat{dtype: dtype, least: math.Inf(1)}
}

func (f *floatFormat) see(bits uint64) {
	x := FloatValue(f.dtype, bits)
	if special(x) != "" {
		f.odd = true
		f.negInf = f.negInf || math.IsInf(x, -1)
		return
	}
	f.finite = true
	if a := math.Abs(x); a != 0 {
		f.least, f.most = min(f.least, a), max(f.most, a)
	}
}

// choose picks exponent or positional form. 1e-4 is that of the type: the f32 next to it, which is less, prints as
// 0.0001.
func (f *floatFormat) choose() {
	f.exponent = f.most > 0 &&
		(f.most >= 1e8 || f.least < roundTo(f.dtype, 1e-4) || roundTo(f.dtype, f.most/f.least) > 1000)
}

// split returns the parts of a finite value: before the point with the sign, after it, and the exponent without its e.
func (f *floatFormat) split(x float64) (before, after, exp string) {
	if f.exponent {
		return cutFloat(shortest(f.dtype, x, 'e'))
	}
	before, after, exp = cutFloat(shortest(f.dtype, x, 'f'))
	if after == "" {
		before = strconv.FormatFloat(x, 'f', 0, 64) // as NumPy does: 24992 where 25000 would read back
	}
	return before, after, exp
}

// cutFloat cuts 1.5e-07 into 1, 5 and -07.
func cutFloat(s string) (before, after, exp string) {
	s, exp, _ = strings.Cut(s, "e")
	before, after, _ = strings.Cut(s, ".")
	return before, after, exp
}

// measure widens the columns for one value.
func (f *floatFormat) measure(bits uint64) {
	x := FloatValue(f.dtype, bits)
	if special(x) != "" {
		return
	}
	before, after, exp := f.split(x)
	f.left, f.right = max(f.left, len(before)), max(f.right, len(after))
	f.digits = max(f.digits, len(exp)-1)
}

// tail is what the columns after the point take.
func (f *floatFormat) tail() int {
	if f.exponent && f.finite {
		return f.right + len("e+") + f.digits
	}
	return f.right
}

// reserve makes room for NaN and the infinities, which are aligned at the right.
func (f *floatFormat) reserve() {
	if !f.odd {
		return
	}
	width := len("nan")
	if f.negInf {
		width = len("-inf")
	}
	f.left = max(f.left, width-f.tail()-1)
}

func (f *floatFormat) text(bits uint64) string {
	x := FloatValue(f.dtype, bits)
	width := f.left + 1 + f.tail()
	if s := special(x); s != "" {
		return strings.Repeat(" ", max(width-len(s), 0)) + s
	}
	before, after, exp := f.split(x)
	if f.exponent && len(after) < f.right {
		// Here NumPy fills up with the digits that follow in the exact value, not with zeros.
		before, after, exp = cutFloat(strconv.FormatFloat(x, 'e', f.right, 64))
	}
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", max(f.left-len(before), 0)))
	b.WriteString(before)
	b.WriteByte('.')
	b.WriteString(after)
	if !f.exponent {
		b.WriteString(strings.Repeat(" ", f.right-len(after)))
		return b.String()
	}
	b.WriteByte('e')
	b.WriteByte(exp[0])
	b.WriteString(strings.Repeat("0", f.digits-len(exp)+1))
	b.WriteString(exp[1:])
	return b.String()
}
