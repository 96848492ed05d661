package ir

import (
	"healc/ir/scalar"
)

// Functions of the bits of integers, of every width. Both operands of a shift have one type, like all operands of
// pointwise operations; a shift count counts modulo the width, so that every count has a result, the same one
// everywhere.

var OpPopcount = bitwise("popcount", 1, 0, "How many bits of x are 1, of two's complement for a negative x.",
	unary(scalar.Emitter.Popcnt), "popcount([7, -1]) == [3, 32]")

var OpClz = bitwise("clz", 1, 0, "How many bits of x are 0 above its highest 1; the width for 0.",
	unary(scalar.Emitter.Clz), "clz([1, 0]) == [31, 32]")

var OpShl = bitwise("shl", 2, 0, "a shifted left by b bits; b counts modulo the width.",
	binary(scalar.Emitter.Shl), "shl([1, 1], [3, 33]) == [8, 2]")

var OpShr = bitwise("shr", 2, 0,
	"a shifted right by b bits, filled with the sign bit of a signed type, else with 0; b counts modulo the width.",
	binary(scalar.Emitter.Shr), "shr([-8, 8], [1, 1]) == [-4, 4]")

var OpBand = bitwise("band", 2, Commutative|Associative, "Bits that are 1 in both.",
	binary(scalar.Emitter.And), "band([12, 10], [10, 6]) == [8, 2]")

var OpBor = bitwise("bor", 2, Commutative|Associative, "Bits that are 1 in one of them, or both.",
	binary(scalar.Emitter.Or), "bor([12, 10], [10, 6]) == [14, 14]")

var OpBxor = bitwise("bxor", 2, Commutative|Associative, "Bits that are 1 in exactly one of them.",
	binary(scalar.Emitter.Xor), "bxor([12, 10], [10, 6]) == [6, 12]")

var OpBnot = bitwise("bnot", 1, 0, "Bits that are 0.",
	unary(scalar.Emitter.Not), "bnot([0, 5]) == [-1, -6]")

func bitwise(name string, arity int, t Traits, summary string, rule func(scalar.Emitter, *Op, []scalar.Ref) scalar.Ref,
	example string) *OpDef {
	return pointwise(declare(name), OpDef{
		Surface: name, Arity: arity, Traits: t | Cheap,
		Summary: summary, Scalar: rule, Example: example, NoGrad: "integers have no gradient",
	}, integers, like)
}
