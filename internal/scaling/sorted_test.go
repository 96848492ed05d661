package scaling

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"healc/runtime/cluster"
	"healc/runtime/cluster/mesh"
	parts "healc/runtime/exchange"
)

// calls counts the exchanges of a rank.
type calls struct {
	cluster.Comm
	n int64
}

func (c *calls) AllToAll(send []byte, to []int, recv []byte, from []int) error {
	c.n++
	return c.Comm.AllToAll(send, to, recv, from)
}

// TestSortRounds: splitters are found in no more rounds than are predicted, whatever is sorted.
func TestSortRounds(t *testing.T) {
	for _, ranks := range []int{2, 5, 9} {
		for _, n := range []int64{20, 1000, 300_000} {
			for kind := range 4 {
				b := parts.CutFor(n, ranks)
				r := rand.New(rand.NewPCG(uint64(n), uint64(kind)))
				keys := make([]uint64, n)
				for i := range keys {
					keys[i] = []uint64{r.Uint64(), 7, uint64(i), uint64(r.IntN(3)) * uint64(i)}[kind]
				}
				comms, err := mesh.Local(ranks)
				if err != nil {
					t.Fatal(err)
				}
				counts, errs := make([]calls, ranks), make([]error, ranks)
				var all sync.WaitGroup
				for rank, c := range comms {
					all.Go(func() {
						counts[rank].Comm = c
						lo, hi := b.Of(rank)
						own := slices.Sorted(slices.Values(keys[lo:hi]))
						column := parts.Column{Out: make([]byte, 8*len(own)), Bytes: 8}
						for _, k := range own {
							column.Part = binary.LittleEndian.AppendUint64(column.Part, k)
						}
						key := func(i int64) uint64 { return own[i] }
						err := parts.Sorted(&counts[rank], 1, b, key, []parts.Column{column})
						errs[rank] = errors.Join(err, c.Close())
					})
				}
				all.Wait()
				if err := errors.Join(errs...); err != nil {
					t.Fatal(err)
				}
				if most := 2*sortRounds(n) + 2; counts[0].n > most {
					t.Errorf("%d elements of kind %d on %d ranks: %d exchanges, and %d are predicted", n, kind, ranks,
						counts[0].n, most)
				}
			}
		}
	}
}
