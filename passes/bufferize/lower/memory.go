package lower

import (
	"slices"

	"healc/lang/types"
	"healc/runtime/abi"
)

// MustMul is x*y, of which it is known that it does not overflow.
func MustMul(x, y types.Dim) types.Dim {
	p, err := x.Mul(y)
	if err != nil {
		panic("BUG: the size of a tensor overflows")
	}
	return p
}

// RowMajor gives the strides of a contiguous tensor. Where they overflow the tensor is empty, and they do
// not matter.
func RowMajor(s types.Shape) []types.Dim {
	out := make([]types.Dim, len(s))
	size := types.Lit(1)
	for k := len(s) - 1; k >= 0; k-- {
		out[k] = size
		p, err := size.Mul(s[k])
		if err != nil {
			return make([]types.Dim, len(s))
		}
		size = p
	}
	return out
}

// Whole is the view of a row-major buffer.
func Whole(buffer int, s types.Shape) abi.View {
	return abi.View{Buffer: buffer, Shape: s, Strides: RowMajor(s)}
}

// Extents are the extents of a buffer of shape s.
func Extents(s types.Shape) []abi.Extent {
	out := make([]abi.Extent, len(s))
	for i, d := range s {
		out[i] = abi.Extent{Dim: d}
	}
	return out
}

// MaybeEmpty reports that one of the extents may be 0.
func MaybeEmpty(extents []types.Dim) bool {
	for _, d := range extents {
		if less, err := d.Sub(types.Lit(1)); err != nil || !nonNegative(less) {
			return true
		}
	}
	return false
}

// Empty reports that one of the extents is 0 for certain.
func Empty(extents []types.Dim) bool {
	return slices.ContainsFunc(extents, func(d types.Dim) bool { return d.IsConst(0) })
}
