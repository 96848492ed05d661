package build

import (
	"fmt"

	"github.com/llir/llvm/ir/constant"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/lang/types"
)

var (
	I1  = lt.I1
	I8  = lt.I8
	I32 = lt.I32
	I64 = lt.I64
)

// RegisterType is the type of a scalar in a register. f16 and bf16 are carried as the f32 of the same
// value; bool is i1.
func RegisterType(d types.DType) lt.Type {
	switch d {
	case types.Bool:
		return lt.I1
	case types.F16, types.BF16, types.F32:
		return lt.Float
	case types.F64:
		return lt.Double
	}
	return IntType(d.Bits())
}

// MemoryType is the type of an element in memory.
func MemoryType(d types.DType) lt.Type {
	switch d {
	case types.Bool:
		return lt.I8
	case types.F16, types.BF16:
		return lt.I16
	}
	return RegisterType(d)
}

func IntType(bits int) *lt.IntType {
	switch bits {
	case 1:
		return lt.I1
	case 8:
		return lt.I8
	case 16:
		return lt.I16
	case 32:
		return lt.I32
	case 64:
		return lt.I64
	case 128:
		return lt.I128
	}
	return lt.NewInt(uint64(bits))
}

// Vector returns t, or a vector of w of it.
func Vector(t lt.Type, w int) lt.Type {
	if w == 0 {
		return t
	}
	return lt.NewVector(uint64(w), t)
}

func Int(t *lt.IntType, n int64) constant.Constant { return constant.NewInt(t, n) }

// FromBits returns the constant of register type t with the given bits. Floats go through their
// integer, so that NaN, -0 and every last bit survive the text.
func FromBits(t lt.Type, bits uint64) constant.Constant {
	switch t := t.(type) {
	case *lt.IntType:
		if t.BitSize == 1 {
			return constant.NewBool(bits&1 == 1)
		}
		return constant.NewInt(t, int64(bits)<<(64-t.BitSize)>>(64-t.BitSize))
	case *lt.FloatType:
		if t.Kind == lt.FloatKindFloat {
			return constant.NewBitCast(constant.NewInt(lt.I32, int64(int32(bits))), t)
		}
		return constant.NewBitCast(constant.NewInt(lt.I64, int64(bits)), t)
	}
	panic(fmt.Sprintf("BUG: constant of type %v", t))
}

// SplatConst returns c in every one of w elements; c itself when w is 0.
func SplatConst(c constant.Constant, w int) constant.Constant {
	if w == 0 {
		return c
	}
	elems := make([]constant.Constant, w)
	for i := range elems {
		elems[i] = c
	}
	return constant.NewVector(nil, elems...)
}

// IotaConst returns <0, 1, ...> of w i64.
func IotaConst(w int) value.Value {
	elems := make([]constant.Constant, w)
	for i := range elems {
		elems[i] = Int(I64, int64(i))
	}
	return constant.NewVector(nil, elems...)
}
