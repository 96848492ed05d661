package ops

import (
	"math/rand/v2"
	"testing"

	"healc/lang/types"
)

// TestSortKeys: keys of elements are in the order of sort.
func TestSortKeys(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 6))
	for _, d := range types.Operands {
		mask := ^uint64(0) >> (64 - d.Bits())
		special := []uint64{0, 1, mask, mask >> 1, mask>>1 + 1, mask - 1}
		switch d {
		case types.F16:
			special = append(special, 0x7c00, 0xfc00, 0x7c01, 0x8001, 0x3c00)
		case types.BF16:
			special = append(special, 0x7f80, 0xff80, 0x7f81, 0x8001, 0x3f80)
		case types.F32:
			special = append(special, 0x7f800000, 0xff800000, 0x7f800001, 0x80000001)
		case types.F64:
			special = append(special, 0x7ff<<52, 0xfff<<52, 0x7ff<<52+1, 1<<63+1)
		}
		draw := func() uint64 {
			if r.IntN(2) == 0 {
				return special[r.IntN(len(special))] & mask
			}
			return r.Uint64() & mask
		}
		for range 2000 {
			x, y := draw(), draw()
			if got, want := d.SortKey(x) < d.SortKey(y), SortsBefore(d, x, y); got != want {
				t.Fatalf("%s: %#x before %#x is %v by keys, and %v by the order of sort", d, x, y, got, want)
			}
		}
	}
}
