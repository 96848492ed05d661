package tensor

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"healc/lang/types"
)

// TestShortestReadsBack reads every value of 16 bits back, and checks that one digit less would not do.
func TestShortestReadsBack(t *testing.T) {
	for _, dtype := range []types.DType{types.F16, types.BF16} {
		for bits := uint64(0); bits < 1<<16; bits++ {
			x := FloatValue(dtype, bits)
			if special(x) != "" {
				continue
			}
			s := shortest(dtype, x, 'e')
			y, err := strconv.ParseFloat(s, 64)
			if err != nil || roundTo(dtype, y) != x || math.Signbit(y) != math.Signbit(x) {
				t.Fatalf("%v %#x: %s reads back as %v", dtype, bits, s, y)
			}
			if digits := strings.IndexByte(s, 'e'); digits > 3 && x > 0 { // d.dd
				less := strconv.FormatFloat(x, 'e', digits-3, 64)
				if y, _ := strconv.ParseFloat(less, 64); roundTo(dtype, y) == x {
					t.Fatalf("%v %#x: %s is longer than %s", dtype, bits, s, less)
				}
			}
		}
	}
}
