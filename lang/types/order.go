package types

import "math"

// SortKey is a number by which the bits of an element sort: equal for elements that are equal and for all NaNs, which
// come last.
func (d DType) SortKey(bits uint64) uint64 {
	switch {
	case d.IsSigned():
		unused := 64 - d.Bits()
		return uint64(int64(bits<<unused)>>unused) ^ 1<<63
	case d.IsFloat():
		x := d.floatValue(bits)
		if x != x {
			return math.MaxUint64
		}
		if x == 0 {
			return 1 << 63
		}
		key := math.Float64bits(x)
		if key>>63 == 1 {
			return ^key
		}
		return key | 1<<63
	}
	return bits
}

// floatValue is the value of an element of a float type; every one is a float64.
func (d DType) floatValue(bits uint64) float64 {
	switch d {
	case F16:
		return float64(F16Value(uint16(bits)))
	case BF16:
		return float64(BF16Value(uint16(bits)))
	case F32:
		return float64(math.Float32frombits(uint32(bits)))
	}
	return math.Float64frombits(bits)
}
