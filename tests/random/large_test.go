package random

import (
	"testing"

	"healc"
	"healc/internal/engine"
)

// TestLarge: the checker takes the programs of Large and Huge. What they give is compared in tests/reach.
func TestLarge(t *testing.T) {
	for seed := range uint64(300) {
		seed += []uint64{0, sumsSince, vectorsSince, ownSince}[seed%4]
		some, _ := Symbolic(Large(seed))
		more, _ := Symbolic(Huge(seed))
		for _, text := range []string{Large(seed), Huge(seed), some, more} {
			m, err := engine.Compile(text, engine.Options{Backend: heal.Interp})
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, text)
			}
			m.Close()
		}
	}
}
