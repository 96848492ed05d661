package check_test

import (
	"math"
	"testing"

	"healc/lang/check/tree"
)

// TestLiteralBits checks that literals are rounded once, to nearest even, in every float type.
func TestLiteralBits(t *testing.T) {
	tests := []struct {
		text, elem string
		want       uint64
	}{
		{"0.1", "f32", uint64(math.Float32bits(0.1))},
		{"0.1", "f64", math.Float64bits(0.1)},
		{"-0.0", "f32", 1 << 31},
		{"-0", "f64", 1 << 63},
		{"16777217", "f32", uint64(math.Float32bits(16777216))},
		{"0xFF", "f32", uint64(math.Float32bits(255))},
		{"1e-400", "f64", 0},
		{"1.000000059604644775390625", "f32", 0x3f800000},         // half way: to even
		{"1.00000005960464477539062500000001", "f32", 0x3f800001}, // above
		{"1.00048828125", "f16", 0x3c00},
		{"1.00048828125000000000000001", "f16", 0x3c01},
		{"1.00048828124999999999999999", "f16", 0x3c00},
		{"1.00146484375", "f16", 0x3c02},
		{"1.00146484374999999999999999", "f16", 0x3c01},
		{"65519.99", "f16", 0x7bff},
		{"5.9604644775390625e-8", "f16", 1}, // the least subnormal
		{"1.00390625", "bf16", 0x3f80},
		{"1.00390625000000000000000001", "bf16", 0x3f81},
		{"1e-400000000", "bf16", 0},
		{"-1", "i8", 0xff},
		{"-128", "i8", 0x80},
		{"0xFFFFFFFFFFFFFFFF", "u64", math.MaxUint64},
	}
	for _, test := range tests {
		p, errs := compile(t, "fn f() -> "+test.elem+" = "+test.text)
		if errs.HasErrors() {
			t.Errorf("%s: %v", test.text, errs)
			continue
		}
		k, ok := p.Funcs[0].Body.(*tree.Const)
		if !ok || k.Value.Bits[0] != test.want {
			t.Errorf("%s as %s: got %#x, want %#x", test.text, test.elem, k.Value.Bits, test.want)
		}
	}
}
