package ptx

// Type is a fundamental type of PTX, of a value, register or variable.
type Type uint8

// The types have the names of PTX.
const (
	NoType Type = iota
	B8
	B16
	B32
	B64
	B128
	U8
	U16
	U32
	U64
	S8
	S16
	S32
	S64
	F16
	BF16
	F32
	F64
	F16x2
	BF16x2
	U16x2
	S16x2
	TF32
	Pred
)

// types has the types by their names.
var types = map[string]Type{
	"b8": B8, "b16": B16, "b32": B32, "b64": B64, "b128": B128,
	"u8": U8, "u16": U16, "u32": U32, "u64": U64, "s8": S8, "s16": S16, "s32": S32, "s64": S64,
	"f16": F16, "bf16": BF16, "f32": F32, "f64": F64, "f16x2": F16x2, "bf16x2": BF16x2, "u16x2": U16x2, "s16x2": S16x2,
	"tf32": TF32, "pred": Pred,
}

// TypeNamed is the type with a name, which has no dot: "u32".
func TypeNamed(name string) (t Type, ok bool) {
	t, ok = types[name]
	return t, ok
}

func (t Type) String() string {
	for name, u := range types {
		if u == t {
			return name
		}
	}
	return "none"
}

// Bits is the width of a value of the type.
func (t Type) Bits() int {
	switch t {
	case B8, U8, S8:
		return 8
	case B16, U16, S16, F16, BF16:
		return 16
	case B32, U32, S32, F32, F16x2, BF16x2, U16x2, S16x2, TF32:
		return 32
	case B64, U64, S64, F64:
		return 64
	case B128:
		return 128
	}
	return 1
}

// Bytes is the size of a value in memory.
func (t Type) Bytes() int { return (t.Bits() + 7) / 8 }

// Signed says whether the type is a signed integer.
func (t Type) Signed() bool { return t == S8 || t == S16 || t == S32 || t == S64 }

// Unsigned says whether the type is an unsigned integer.
func (t Type) Unsigned() bool { return t == U8 || t == U16 || t == U32 || t == U64 }

// Integer says whether the type is an integer with or without a sign.
func (t Type) Integer() bool { return t.Signed() || t.Unsigned() }

// Untyped says whether the type is bits without a meaning.
func (t Type) Untyped() bool { return t >= B8 && t <= B128 }

// Float says whether the type is one floating-point number.
func (t Type) Float() bool { return t == F16 || t == BF16 || t == F32 || t == F64 }
