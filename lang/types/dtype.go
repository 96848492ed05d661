package types

import "fmt"

// DType is the type of one element.
type DType uint8

// The element types. Invalid silences follow-up errors; String is only ever a scalar.
const (
	Invalid DType = iota
	Bool
	I8
	I16
	I32
	I64
	U8
	U16
	U32
	U64
	F16
	BF16
	F32
	F64
	String
	F8E4M3 // what follows is stored and converted, and nothing computes with it
	F8E5M2
	E8M0
	I4 // a byte each, as f4e2m1
	F4E2M1
)

// Operands lists the element types that operations compute with, DTypes every one that can stand in a tensor, in table
// order.
var (
	Operands = []DType{Bool, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64}
	DTypes   = append(Operands[:len(Operands):len(Operands)], F8E4M3, F8E5M2, E8M0, I4, F4E2M1)
)

var dtypeNames = [...]string{"invalid", "bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16",
	"f32", "f64", "string", "f8e4m3", "f8e5m2", "e8m0", "i4", "f4e2m1"}

var dtypeBytes = [...]int{0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 0, 1, 1, 1, 1, 1}

// String returns the name that programs use.
func (d DType) String() string {
	if int(d) < len(dtypeNames) {
		return dtypeNames[d]
	}
	return fmt.Sprintf("dtype(%d)", uint8(d))
}

// ParseDType returns the element type that name names.
func ParseDType(name string) (DType, bool) {
	for i, n := range dtypeNames {
		if n == name && i != 0 {
			return DType(i), true
		}
	}
	return Invalid, false
}

// Bytes is the size of one element in memory; 0 for Invalid and String.
func (d DType) Bytes() int { return dtypeBytes[d] }

// Bits is the number of bits that an element has in registers: 1 for Bool, else 8*Bytes.
func (d DType) Bits() int {
	if d == Bool {
		return 1
	}
	return 8 * d.Bytes()
}

// Width is the number of bits that say which value an element has: Bits, but 4 for i4 and f4e2m1.
func (d DType) Width() int {
	if d.IsNibble() {
		return 4
	}
	return d.Bits()
}

// IsFloat reports f16, bf16, f32 and f64.
func (d DType) IsFloat() bool { return d >= F16 && d <= F64 }

// IsSigned reports i8 to i64.
func (d DType) IsSigned() bool { return d >= I8 && d <= I64 }

// IsUnsigned reports u8 to u64.
func (d DType) IsUnsigned() bool { return d >= U8 && d <= U64 }

// IsInt reports the signed and unsigned integers.
func (d DType) IsInt() bool { return d >= I8 && d <= U64 }

// IsNumber reports integers and floats.
func (d DType) IsNumber() bool { return d >= I8 && d <= F64 }

// IsStored reports f8e4m3, f8e5m2, e8m0, i4 and f4e2m1: elements are kept in them and converted, and nothing computes
// with them.
func (d DType) IsStored() bool { return d >= F8E4M3 && d <= F4E2M1 }

// IsNibble reports i4 and f4e2m1: the lower 4 bits of a byte say which value an element has. Those above are made
// copies of the sign of an i4, so that it is an i8 as well, and 0 in an f4e2m1; what is read may have any.
func (d DType) IsNibble() bool { return d == I4 || d == F4E2M1 }

// Computes reports a number type or bool: those that operations compute with.
func (d DType) Computes() bool { return d == Bool || d.IsNumber() }

// ComputesAs is the type that has all values of d and that operations compute with: d, or for those that are only
// stored i32 for i4 and f32 for the others.
func (d DType) ComputesAs() DType {
	switch {
	case d == I4:
		return I32
	case d.IsStored():
		return F32
	}
	return d
}

// Converts reports every element type: those that `as` converts between.
func (d DType) Converts() bool { return d.Computes() || d.IsStored() }
