package exchange

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"healc/runtime/cluster"
)

// TestSorted: every rank gets what belongs into its block of rows that are sorted, from rank after rank, however many
// keys are equal and however they lie.
func TestSorted(t *testing.T) {
	for try := range 60 {
		r := rand.New(rand.NewPCG(uint64(try), 5))
		n := []int{1, 2, 3, 4, 7}[r.IntN(5)]
		rows, extent := r.Int64N(4), r.Int64N(60)
		if r.IntN(4) == 0 {
			extent = r.Int64N(5000)
		}
		b := CutFor(extent, n)
		keys := make([][]uint64, rows)
		for row := range keys {
			keys[row] = drawnKeys(r, extent)
			for rank := range n {
				lo, hi := b.Of(rank)
				slices.Sort(keys[row][lo:hi])
			}
		}
		onEach(t, n, func(c cluster.Comm) error {
			lo, hi := b.Of(c.Rank())
			mine := hi - lo
			var local []uint64
			var places Column
			places.Bytes, places.Out = 3, make([]byte, 3*rows*mine)
			for row := range keys {
				local = append(local, keys[row][lo:hi]...)
				for i := lo; i < hi; i++ {
					places.Part = append(places.Part, byte(i), byte(i>>8), byte(row))
				}
			}
			got := Column{Out: make([]byte, 8*rows*mine), Bytes: 8}
			for _, k := range local {
				got.Part = binary.LittleEndian.AppendUint64(got.Part, k)
			}
			if err := Sorted(c, rows, b, func(i int64) uint64 { return local[i] }, []Column{got, places}); err != nil {
				return err
			}
			for row, all := range keys {
				place := make([]int, extent)
				for i := range place {
					place[i] = i
				}
				slices.SortStableFunc(place, func(i, j int) int {
					switch {
					case all[i] < all[j]:
						return -1
					case all[i] > all[j]:
						return 1
					}
					return 0
				})
				want := slices.Clone(place[lo:hi])
				slices.Sort(want) // what comes of one rank is in its order, and the ranks are in theirs
				for k, i := range want {
					at := row*int(mine) + k
					p := places.Out[3*at:]
					j := int(p[0]) | int(p[1])<<8
					if key := binary.LittleEndian.Uint64(got.Out[8*at:]); j != i || int(p[2]) != row || key != all[i] {
						return fmt.Errorf("rank %d: row %d, %d: element %d with key %d, not %d with %d", c.Rank(), row,
							k, j, key, i, all[i])
					}
				}
			}
			return nil
		})
	}
}

// drawnKeys are keys of one kind: all different, many equal, all equal, in order, backwards.
func drawnKeys(r *rand.Rand, n int64) []uint64 {
	kind := r.IntN(5)
	out := make([]uint64, n)
	for i := range out {
		switch kind {
		case 0:
			out[i] = r.Uint64()
		case 1:
			out[i] = r.Uint64N(3)
		case 2:
			out[i] = 7
		case 3:
			out[i] = uint64(i)
		case 4:
			out[i] = ^uint64(i)
		}
	}
	return out
}
