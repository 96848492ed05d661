package literal

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"healc/ir/scalar"
	"healc/lang/ast"
	"healc/lang/types"
)

// Kind says whether an expression takes its element type from its context.
type Kind uint8

const (
	Typed Kind = iota // has a type of its own
	Ints
	Floats // consists of literals, at least one a float
)

// Default is the element type of literals of the given kind where want says nothing.
func Default(k Kind, want types.DType) types.DType {
	switch {
	case want.IsFloat(), k == Ints && want.IsNumber():
		return want
	case k == Floats:
		return types.F32
	}
	return types.I32
}

// Want asks for an element type and leaves the shape open.
func Want(d types.DType) types.Type {
	if d == types.Invalid {
		return nil
	}
	return types.Scalar(d)
}

// ParseInt reads the digits of an integer literal, decimal or 0x.
func ParseInt(s string) (uint64, error) {
	if h, ok := strings.CutPrefix(strings.ToLower(s), "0x"); ok {
		return strconv.ParseUint(h, 16, 64)
	}
	return strconv.ParseUint(s, 10, 64)
}

// IntBits is the integer n, or -n, of type d, and whether it is one.
func IntBits(d types.DType, n uint64, neg bool) (uint64, bool) {
	width := uint(d.Bits())
	if d.IsUnsigned() {
		return n, (!neg || n == 0) && (width == 64 || n < 1<<width)
	}
	limit := uint64(1) << (width - 1)
	if neg {
		if n > limit {
			return 0, false
		}
		n = -n
	} else if n >= limit {
		return 0, false
	}
	if width < 64 {
		n &= 1<<width - 1
	}
	return n, true
}

// IntRange is the least and the greatest integer of type d.
func IntRange(d types.DType) (lo, hi string) {
	if d.IsUnsigned() {
		return "0", strconv.FormatUint(math.MaxUint64>>(64-d.Bits()), 10)
	}
	m := int64(math.MaxInt64) >> (64 - d.Bits())
	return strconv.FormatInt(-m-1, 10), strconv.FormatInt(m, 10)
}

// FloatBits rounds a literal once, to nearest even, to type d. It is false for one that is finite as
// written and infinite in d. The texts `inf` and `nan`, which no source has, are inputs from the command line.
func FloatBits(d types.DType, text string, neg bool) (uint64, bool) {
	switch text {
	case "inf":
		sign := 1
		if neg {
			sign = -1
		}
		return scalar.FloatBits(d, math.Inf(sign)), true
	case "nan":
		return scalar.FloatBits(d, math.Float64frombits(0x7ff8<<48)), true
	}
	if n, err := ParseInt(text); err == nil && strings.HasPrefix(strings.ToLower(text), "0x") {
		text = strconv.FormatUint(n, 10) // as a hexadecimal float it would need an exponent
	}
	if neg {
		text = "-" + text
	}
	switch d {
	case types.F32:
		x, err := strconv.ParseFloat(text, 32)
		return scalar.FloatBits(d, x), err == nil
	case types.F64:
		x, err := strconv.ParseFloat(text, 64)
		return scalar.FloatBits(d, x), err == nil
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, false
	}
	// Rounding to f64 first may land exactly between two values of d and then round to the wrong one. So
	// x is rounded to odd instead: of the two f64 around the written value the one whose last bit is 1,
	// which is never such a middle. Below 1e-50 both types have only 0.
	if math.Abs(x) > 1e-50 {
		exact, ok := new(big.Rat).SetString(text)
		if ok && math.Float64bits(x)&1 == 0 {
			if s := exact.Cmp(new(big.Rat).SetFloat64(x)); s != 0 {
				x = math.Nextafter(x, math.Inf(s))
			}
		}
	}
	bits := scalar.FloatBits(d, x)
	return bits, !math.IsInf(scalar.FloatValue(d, bits), 0)
}

// Number is e as a number literal, with whether a minus stands before it; nil when it is none.
func Number(e ast.Expr) (l *ast.Lit, neg bool) {
	if u, ok := e.(*ast.Unary); ok && u.Op == "-" {
		e, neg = u.X, true
	}
	l, ok := e.(*ast.Lit)
	if !ok || l.Kind != ast.IntLit && l.Kind != ast.FloatLit {
		return nil, false
	}
	return l, neg
}
