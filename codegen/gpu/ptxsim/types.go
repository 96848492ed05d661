package ptxsim

// dtype is a fundamental type of PTX.
type dtype uint8

const (
	noType dtype = iota
	b8
	b16
	b32
	b64
	b128
	u8
	u16
	u32
	u64
	s8
	s16
	s32
	s64
	f16
	bf16
	f32
	f64
	f16x2
	bf16x2
	u16x2
	s16x2
	tf32
	pred
)

// dtypes has the types by their modifier.
var dtypes = map[string]dtype{
	"b8": b8, "b16": b16, "b32": b32, "b64": b64, "b128": b128,
	"u8": u8, "u16": u16, "u32": u32, "u64": u64, "s8": s8, "s16": s16, "s32": s32, "s64": s64,
	"f16": f16, "bf16": bf16, "f32": f32, "f64": f64, "f16x2": f16x2, "bf16x2": bf16x2, "u16x2": u16x2, "s16x2": s16x2,
	"tf32": tf32, "pred": pred,
}

func (t dtype) String() string {
	for name, u := range dtypes {
		if u == t {
			return name
		}
	}
	return "none"
}

// bits is the width of a value of type t.
func (t dtype) bits() int {
	switch t {
	case b8, u8, s8:
		return 8
	case b16, u16, s16, f16, bf16:
		return 16
	case b32, u32, s32, f32, f16x2, bf16x2, u16x2, s16x2, tf32:
		return 32
	case b64, u64, s64, f64:
		return 64
	case b128:
		return 128
	}
	return 1
}

func (t dtype) bytes() int { return (t.bits() + 7) / 8 }

func (t dtype) signed() bool { return t == s8 || t == s16 || t == s32 || t == s64 }

func (t dtype) unsigned() bool { return t == u8 || t == u16 || t == u32 || t == u64 }

func (t dtype) integer() bool { return t.signed() || t.unsigned() }

func (t dtype) untyped() bool { return t >= b8 && t <= b128 }

func (t dtype) float() bool { return t == f16 || t == bf16 || t == f32 || t == f64 }

// extend makes a register value of a raw value of type t: sign-extended for signed types, else zero-extended.
func (t dtype) extend(v uint64) uint64 {
	switch t {
	case s8:
		return uint64(int64(int8(v)))
	case s16:
		return uint64(int64(int16(v)))
	case s32:
		return uint64(int64(int32(v)))
	}
	return v & mask(t.bits())
}

// mask has the low bits set.
func mask(bits int) uint64 {
	if bits >= 64 {
		return ^uint64(0)
	}
	return 1<<bits - 1
}

// space is a state space.
type space uint8

const (
	generic space = iota
	global
	shared
	local
	constant
	param
	register
)

var spaces = map[string]space{"global": global, "shared": shared, "local": local, "const": constant, "param": param,
	"reg": register}

func (s space) String() string {
	for name, t := range spaces {
		if t == s {
			return name
		}
	}
	return "generic"
}
