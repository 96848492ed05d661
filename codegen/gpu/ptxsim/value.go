package ptxsim

import "healc/codegen/gpu/ptx"

// extend makes a register value of a raw value of type t: sign-extended for signed types, else zero-extended.
func extend(t ptx.Type, v uint64) uint64 {
	switch t {
	case ptx.S8:
		return uint64(int64(int8(v)))
	case ptx.S16:
		return uint64(int64(int16(v)))
	case ptx.S32:
		return uint64(int64(int32(v)))
	}
	return v & mask(t.Bits())
}

// mask has the low bits set.
func mask(bits int) uint64 {
	if bits >= 64 {
		return ^uint64(0)
	}
	return 1<<bits - 1
}
