package tensor

import (
	"math"
	"testing"
)

// TestPhilox has the known answers of the generator's authors (Random123, kat_vectors); ours fixes the
// fourth word of the counter to 0, so only the first one fits.
func TestPhilox(t *testing.T) {
	if got, want := philox(0, 0, 0), [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}; got != want {
		t.Errorf("got %x, want %x", got, want)
	}
}

func TestElementaryFunctions(t *testing.T) {
	for i := 1; i <= 100000; i++ {
		x := float64(i) / 100000
		if got, want := logUnit(x), math.Log(x); math.Abs(got-want) > 4e-16*math.Max(math.Abs(want), 0.5) {
			t.Fatalf("log %v = %v, want %v", x, got, want)
		}
		y := x - 0.5/100000
		sin, cos := sinCosTurn(y)
		if ws, wc := math.Sincos(2 * math.Pi * y); math.Abs(sin-ws) > 2e-15 || math.Abs(cos-wc) > 2e-15 {
			t.Fatalf("turn %v: %v %v, want %v %v", y, sin, cos, ws, wc)
		}
	}
	if got, want := logUnit(0x1p-53), -53*math.Ln2; got != want {
		t.Errorf("log 2^-53 = %v, want %v", got, want)
	}
}
