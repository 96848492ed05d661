package analysis

import (
	"healc/lang/types"
)

// ArithmeticType is the type in which values of type d are computed.
func ArithmeticType(d types.DType) types.DType {
	if d == types.F16 || d == types.BF16 {
		return types.F32
	}
	return d
}
