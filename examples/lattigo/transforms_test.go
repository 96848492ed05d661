package lattigo

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/tuneinsight/lattigo/v6/ring"
)

// pairs calls f with a ring of Lattigo and the same with the transforms of healc, of primes of each size.
func pairs(t testing.TB, lengths, sizes []int, f func(name string, own, ours *ring.SubRing)) {
	transforms, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(transforms.Close)
	for _, n := range lengths {
		var primes []uint64
		for _, b := range sizes {
			g := ring.NewNTTFriendlyPrimesGenerator(uint64(b), uint64(4*n))
			p, err := g.NextDownstreamPrime()
			if err != nil {
				t.Fatal(err)
			}
			primes = append(primes, p)
		}
		for _, kind := range []ring.Type{ring.Standard, ring.ConjugateInvariant} {
			own, err := ring.NewRingFromType(n, primes, kind)
			if err != nil {
				t.Fatal(err)
			}
			ours, err := transforms.Ring(n, primes, kind)
			if err != nil {
				t.Fatal(err)
			}
			for i, b := range sizes {
				f(fmt.Sprintf("%v_n%d_b%d", kind, n, b), own.SubRings[i], ours.SubRings[i])
			}
		}
	}
}

// methods are the four of a ring, with the one that is not lazy.
var methods = []struct {
	name       string
	run, exact func(s *ring.SubRing, p1, p2 []uint64)
}{
	{"forward", (*ring.SubRing).NTT, (*ring.SubRing).NTT},
	{"forward lazy", (*ring.SubRing).NTTLazy, (*ring.SubRing).NTT},
	{"backward", (*ring.SubRing).INTT, (*ring.SubRing).INTT},
	{"backward lazy", (*ring.SubRing).INTTLazy, (*ring.SubRing).INTT},
}

// TestBits: the results are Lattigo's own, in place and aside, of residues and of larger numbers. Those of healc are
// never lazy, and it takes any numbers.
func TestBits(t *testing.T) {
	pairs(t, []int{128, 256, 512, 4096}, []int{30, 40, 49, 50, 55, 60, 61},
		func(name string, own, ours *ring.SubRing) {
			q, n := own.Modulus, own.N
			healc := n >= shortest && q < 1<<modulusBits
			for what, most := range map[string]uint64{"residues": q - 1, "lazy": 2*q - 1, "any": math.MaxUint64} {
				if what == "any" && !healc {
					continue
				}
				x, residues := make([]uint64, n+8), make([]uint64, n)
				for i := range x {
					if x[i] = rand.Uint64(); most < math.MaxUint64 {
						x[i] %= most + 1
					}
				}
				x[0], x[1] = most, 0
				for i := range residues {
					residues[i] = x[i] % q
				}
				before := slices.Clone(x)
				for _, m := range methods {
					want := make([]uint64, n)
					m.exact(own, residues, want)
					aside, inPlace := make([]uint64, n+8), slices.Clone(x)
					m.run(ours, x, aside)
					m.run(ours, inPlace, inPlace)
					for where, got := range map[string][]uint64{"aside": aside[:n], "in place": inPlace[:n]} {
						for i := range got {
							if !healc { // those of Lattigo may be lazy
								got[i] %= q
							}
						}
						if !slices.Equal(got, want) {
							t.Errorf("%s, %s, %s %s: %d, not %d", name, what, m.name, where, got[:4], want[:4])
						}
					}
					if healc && (!slices.Equal(x, before) || !slices.Equal(inPlace[n:], x[n:]) || aside[n] != 0) {
						t.Errorf("%s, %s, %s: writes elsewhere", name, what, m.name)
					}
				}
			}
		})
}

// TestAtOnce: goroutines share a ring, from its first transform on.
func TestAtOnce(t *testing.T) {
	pairs(t, []int{1024}, []int{45, 60}, func(name string, own, ours *ring.SubRing) {
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				x, y := make([]uint64, own.N), make([]uint64, own.N)
				for range 50 {
					for i := range x {
						x[i] = rand.Uint64N(own.Modulus)
					}
					ours.NTT(x, y)
					ours.INTT(y, y)
					if !slices.Equal(x, y) {
						t.Errorf("%s: there and back again gives other residues", name)
						return
					}
				}
			})
		}
		group.Wait()
	})
}

// TestAllocations: a transform leaves the heap alone.
func TestAllocations(t *testing.T) {
	pairs(t, []int{256}, []int{45}, func(name string, _, ours *ring.SubRing) {
		x, y := make([]uint64, ours.N), make([]uint64, ours.N)
		for _, m := range methods {
			if n := testing.AllocsPerRun(100, func() { m.run(ours, x, y); m.run(ours, y, y) }); n != 0 {
				t.Errorf("%s, %s: %v allocations", name, m.name, n)
			}
		}
	})
}

// TestTurns measures the transforms of Lattigo and of healc, which take turns, and prints the least times in us:
//
//	TURNS=40 go test -run Turns -v
func TestTurns(t *testing.T) {
	turns, _ := strconv.Atoi(os.Getenv("TURNS"))
	if turns == 0 {
		t.Skip("TURNS=40 measures")
	}
	lengths := []int{256, 4096, 16384, 65536}
	pairs(t, lengths, []int{45, 50, 60}, func(name string, own, ours *ring.SubRing) {
		x := make([]uint64, own.N)
		for _, m := range methods[:3:3] {
			if m.name == "forward lazy" {
				continue
			}
			least := [2]time.Duration{math.MaxInt64, math.MaxInt64}
			for range turns {
				for i, s := range []*ring.SubRing{own, ours} {
					for j := range x {
						x[j] = rand.Uint64N(own.Modulus)
					}
					calls := max(1<<14/own.N, 1)
					start := time.Now()
					for range calls {
						m.run(s, x, x)
					}
					least[i] = min(least[i], time.Since(start)/time.Duration(calls))
				}
			}
			t.Logf("%-32s lattigo %8.2f healc %8.2f ratio %5.2f", name+" "+m.name, float64(least[0])/1e3,
				float64(least[1])/1e3, float64(least[0])/float64(least[1]))
		}
	})
}
