package exchange

import (
	"math/rand/v2"
	"testing"

	"healc/runtime/cluster"
)

// TestOwner compares which rank has an element with a division.
func TestOwner(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 5))
	for range 10_000 {
		b := Blocks{Block: 1 + r.Int64N(1<<r.IntN(62)), Origin: r.Int64N(1 << r.IntN(40))}
		k := r.Int64N(1 << r.IntN(20))
		p := r.Int64N(1 << r.IntN(62))
		if near := k*b.Block + r.Int64N(3) - 1 - b.Origin; near >= 0 && k < (1<<62)/b.Block && r.IntN(2) == 0 {
			p = near
		}
		rank, at := b.owner().of(uint64(p))
		if want := (p + b.Origin) / b.Block; int64(rank) != want || int64(at) != (p+b.Origin)%b.Block {
			t.Fatalf("element %d of %+v is element %d of rank %d, not of %d", p, b, at, rank, want)
		}
	}
}

// TestTake compares rows of every width at drawn positions with those of the whole tensor: in one round and in
// several, of which ranks need different numbers, and with positions that are sent in eight bytes.
func TestTake(t *testing.T) {
	for try, c := range []struct{ inner, block, positions int64 }{
		{1, 0, 50}, {2, 0, 50}, {4, 0, 50}, {8, 0, 50}, {3, 0, 50}, {16, 0, 50}, {0, 0, 50}, {4, 0, 0},
		{8, 0, 300_000}, {200_000, 0, 12}, {4, 1 << 33, 50},
	} {
		r := rand.New(rand.NewPCG(uint64(try), 6))
		n, extent := 1+r.IntN(4), 1+r.Int64N(40)
		l := Layout{Outer: 1, Blocks: CutFor(extent, n), Inner: c.inner}
		if c.block > 0 {
			l.Block = c.block
		}
		x := whole(extent * c.inner)
		at := make([]int64, c.positions)
		for i := range at {
			at[i] = r.Int64N(extent)
		}
		onEach(t, n, func(comm cluster.Comm) error {
			lo, hi := l.Of(comm.Rank())
			part := l.pick(x, lo, hi)
			mine := at[:len(at)*(comm.Rank()+1)/n] // each asks for others
			want := make([]byte, 0, int64(len(mine))*c.inner)
			short := make([]int32, len(mine))
			for i, p := range mine {
				want = append(want, x[p*c.inner:(p+1)*c.inner]...)
				short[i] = int32(p)
			}
			out := make([]byte, len(want))
			if err := Take(comm, l, part, mine, out); err != nil {
				return err
			}
			if string(out) != string(want) {
				t.Errorf("rank %d of %d has got other rows of %d bytes", comm.Rank(), n, c.inner)
			}
			clear(out)
			if err := Take(comm, l, part, short, out); err != nil {
				return err
			}
			if string(out) != string(want) {
				t.Errorf("rank %d of %d has got other rows of %d bytes, by short positions", comm.Rank(), n, c.inner)
			}
			return nil
		})
	}
}
