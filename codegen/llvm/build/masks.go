package build

import (
	"github.com/llir/llvm/ir/constant"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"
)

// VectorLen is the number of elements of a vector.
func VectorLen(v value.Value) int { return int(v.Type().(*lt.VectorType).Len) }

// ShuffleMask is the vector <from(0), from(1), ...> of w i32: the numbers of the elements that a shuffle takes.
func ShuffleMask(w int, from func(i int) int) value.Value {
	elems := make([]constant.Constant, w)
	for i := range elems {
		elems[i] = Int(I32, int64(from(i)))
	}
	return constant.NewVector(nil, elems...)
}

// IotaMask is the mask <at, at+1, ...> of w.
func IotaMask(at, w int) value.Value { return ShuffleMask(w, func(i int) int { return at + i }) }
