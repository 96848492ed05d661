package exchange

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"healc/runtime/cluster"
)

// TestUpdates: every rank gets what is added to its part, in the order of the ranks, whether it is spread or not, in
// one piece or, where values are long, in several.
func TestUpdates(t *testing.T) {
	for try := range 60 {
		r := rand.New(rand.NewPCG(uint64(try), 7))
		n := []int{1, 2, 3, 4, 7}[r.IntN(5)]
		b := CutFor(1+r.Int64N(50), n)
		if try%2 == 1 { // a part of an axis that was cut
			b.Origin = r.Int64N(min(b.Block, b.Extent))
			b.Extent -= b.Origin
		}
		at := make([][]int64, n)
		want := make([][][2]int64, n) // of each rank, where and what
		all, width, most := byte(0), []int64{3, 4, 8}[try%3], 30
		if try%10 == 9 {
			width, most = 400_000, 8
		}
		values := make([][]byte, n)
		for rank := range n {
			least := r.Int64N(b.Extent)
			for range r.IntN(most) {
				p := least + r.Int64N(b.Extent-least)
				at[rank] = append(at[rank], p)
				values[rank] = append(append(values[rank], all, 1, 2), make([]byte, width-3)...)
				owner := (p + b.Origin) / b.Block
				first, _ := b.Of(int(owner))
				want[owner] = append(want[owner], [2]int64{p - first, int64(all)})
				all++
			}
		}
		size := 1 + r.Int64N(40)
		onEach(t, n, func(c cluster.Comm) error {
			me := c.Rank()
			rounds, err := UpdateRounds(c, b, at[me], size)
			if err != nil {
				return err
			}
			want := want[me]
			toAt, to := make([]int64, size), make([]byte, width*size)
			for round := range rounds {
				if err := Updates(c, b, at[me], values[me], width, round, toAt, to); err != nil {
					return err
				}
				for i, p := range toAt {
					to := to[int64(i)*width:]
					v := [2]int64{p, int64(to[0])}
					if len(want) == 0 {
						if v != [2]int64{b.Len(me), 0} || to[1] != 0 {
							return fmt.Errorf("rank %d, round %d: %v is behind the last", me, round, v)
						}
						continue
					}
					if v != want[0] || to[1] != 1 || to[2] != 2 {
						return fmt.Errorf("rank %d, round %d: %v instead of %v", me, round, v, want[0])
					}
					want = want[1:]
				}
			}
			if len(want) > 0 {
				return fmt.Errorf("rank %d: %v are not sent in %d rounds of %d", me, want, rounds, size)
			}
			return nil
		})
	}
}
