package lattigo_test

import (
	"testing"

	"github.com/tuneinsight/lattigo/v6/ring"

	"healc/examples/lattigo"
)

// TestExample has the code of docs/modular.md.
func TestExample(t *testing.T) {
	g := ring.NewNTTFriendlyPrimesGenerator(50, 2<<14)
	primes, err := g.NextAlternatingPrimes(2)
	if err != nil {
		t.Fatal(err)
	}
	if err := example(primes); err != nil {
		t.Fatal(err)
	}
}

func example(primes []uint64) error {
	transforms, err := lattigo.New() // the error says what is missing, such as libLLVM
	if err != nil {
		return err
	}
	defer transforms.Close()
	r, err := transforms.Ring(1<<14, primes, ring.Standard)
	if err != nil {
		return err
	}
	p := r.NewPoly()
	r.NTT(p, p)
	return nil
}
