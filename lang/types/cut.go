package types

import (
	"math"
	"strconv"
	"strings"
)

// FormatCut writes x with six decimals, cut and not rounded: 1.9999999 is "1.999999". It is what
// print_f32 and print_f64 print; "nan", "inf" and "-inf" have no decimals.
func FormatCut(x float64) string {
	switch {
	case math.IsNaN(x):
		return "nan"
	case math.IsInf(x, 1):
		return "inf"
	case math.IsInf(x, -1):
		return "-inf"
	}
	// A float64 has at most 1074 binary, hence 1074 decimal, places: this is exact.
	s := strconv.FormatFloat(x, 'f', 1074, 64)
	return s[:strings.IndexByte(s, '.')+7]
}
