package exchange

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"healc/runtime/cluster"
	"healc/runtime/cluster/mesh"
)

// TestCut: blocks cover an axis once, in the order of the ranks, and begin at multiples of their unit.
func TestCut(t *testing.T) {
	for _, n := range []int64{0, 1, 2, 3, 7, 16, 100, 1000, 4095, 4096, 4097, 100003, 1 << 20, 1<<40 + 5} {
		for _, ranks := range []int{1, 2, 3, 4, 7, 16, 1000} {
			b := CutFor(n, ranks)
			at, most := int64(0), (n+int64(ranks)-1)/int64(ranks)
			for r := range ranks {
				lo, hi := b.Of(r)
				if lo != at || hi < lo || hi-lo > b.Block {
					t.Fatalf("%d elements on %d ranks: rank %d has %d to %d", n, ranks, r, lo, hi)
				}
				at = hi
			}
			if at != n {
				t.Errorf("%d elements on %d ranks: the blocks end at %d", n, ranks, at)
			}
			if n > 0 && b.Block-most > most/16 {
				t.Errorf("%d elements on %d ranks: a block of %d where %d would do", n, ranks, b.Block, most)
			}
		}
	}
	if b := CutFor(1<<20, 4); b.Block%4096 != 0 {
		t.Errorf("blocks of %d do not begin at chunks", b.Block)
	}
}

// whole is a tensor of bytes with different ones.
func whole(n int64) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(i*7 + i>>8)
	}
	return out
}

// pick is elements lo to hi of the axis of a tensor.
func (l Layout) pick(x []byte, lo, hi int64) []byte {
	var out []byte
	for o := range l.Outer {
		row := x[o*l.Extent*l.Inner:]
		out = append(out, row[lo*l.Inner:hi*l.Inner]...)
	}
	return out
}

// onEach runs f on each of n ranks.
func onEach(t *testing.T, n int, f func(c cluster.Comm) error) {
	t.Helper()
	comms, err := mesh.Local(n)
	if err != nil {
		t.Fatal(err)
	}
	errs := make([]error, n)
	var all sync.WaitGroup
	for r, c := range comms {
		all.Go(func() {
			if errs[r] = f(c); errs[r] != nil {
				c.Abort(1, errs[r].Error())
				return
			}
			errs[r] = c.Close()
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func equal(what string, got, want []byte) error {
	if string(got) != string(want) {
		return fmt.Errorf("%s: %v is not %v", what, got, want)
	}
	return nil
}

// TestExchanges compares every exchange with what is cut out of the whole tensor, for drawn layouts.
func TestExchanges(t *testing.T) {
	for try := range 60 {
		r := rand.New(rand.NewPCG(uint64(try), 3))
		n := []int{1, 2, 3, 4, 7}[r.IntN(5)]
		extent := r.Int64N(40)
		l := Layout{Outer: r.Int64N(4), Blocks: CutFor(extent, n), Inner: 1 + r.Int64N(9)}
		if r.IntN(2) == 0 {
			l.Block = 1 + r.Int64N(20)
			l.Block = max(l.Block, (extent+int64(n)-1)/int64(n))
		}
		x := whole(l.Outer * extent * l.Inner)
		run := func() Window {
			lo := r.Int64N(extent + 1)
			return Window{lo, lo + r.Int64N(extent-lo+1)}
		}
		var windows []Window
		for range n {
			windows = append(windows, run())
		}
		fetched := run()
		var at []int64
		for range r.IntN(20) {
			if extent > 0 {
				at = append(at, r.Int64N(extent))
			}
		}
		onEach(t, n, func(c cluster.Comm) error {
			lo, hi := l.Of(c.Rank())
			part := l.pick(x, lo, hi)
			out := make([]byte, len(x))
			if err := Gather(c, l, part, out); err != nil {
				return err
			}
			if err := equal("gather", out, x); err != nil {
				return err
			}
			out = make([]byte, l.bytes(fetched.Hi-fetched.Lo))
			if err := Fetch(c, l, part, fetched.Lo, fetched.Hi-fetched.Lo, out); err != nil {
				return err
			}
			if err := equal("fetch", out, l.pick(x, fetched.Lo, fetched.Hi)); err != nil {
				return err
			}
			w := windows[c.Rank()]
			b, a := l.Halo(c.Rank(), n, w)
			before, after := make([]byte, l.bytes(b)), make([]byte, l.bytes(a))
			if err := Halos(c, l, part, windows, before, after); err != nil {
				return err
			}
			if err := equal("before", before, l.pick(x, w.Lo, w.Lo+b)); err != nil {
				return err
			}
			if err := equal("after", after, l.pick(x, w.Hi-a, w.Hi)); err != nil {
				return err
			}
			if l.Outer != 1 {
				return nil
			}
			mine := at[:len(at)*c.Rank()/n] // each asks for others
			out = make([]byte, int64(len(mine))*l.Inner)
			if err := Take(c, l, part, mine, out); err != nil {
				return err
			}
			var want []byte
			for _, p := range mine {
				want = append(want, l.pick(x, p, p+1)...)
			}
			return equal("take", out, want)
		})
	}
}

// TestAllToAll compares parts along one axis with parts along another, both ways.
func TestAllToAll(t *testing.T) {
	for try := range 40 {
		r := rand.New(rand.NewPCG(uint64(try), 4))
		n := []int{1, 2, 3, 4, 7}[r.IntN(5)]
		shape := []int64{1 + r.Int64N(3), r.Int64N(12), 1 + r.Int64N(3), r.Int64N(12), 1 + r.Int64N(3)}
		x := whole(shape[0] * shape[1] * shape[2] * shape[3] * shape[4])
		cut := func(axis int64, rank int) ([]byte, []int64) {
			b := CutFor(shape[axis], n)
			l := LayoutOf(axis, b, shape, 1)
			lo, hi := b.Of(rank)
			local := append([]int64{}, shape...)
			local[axis] = hi - lo
			return l.pick(x, lo, hi), local
		}
		for _, way := range [][2]int64{{1, 3}, {3, 1}} {
			onEach(t, n, func(c cluster.Comm) error {
				part, local := cut(way[0], c.Rank())
				want, _ := cut(way[1], c.Rank())
				s := SwapOf(way[0], CutFor(shape[way[0]], n), way[1], CutFor(shape[way[1]], n).Block, local, 1)
				out := make([]byte, len(want))
				if err := AllToAll(c, s, part, out); err != nil {
					return err
				}
				return equal("all to all", out, want)
			})
		}
	}
}

// TestInOrder: what goes from rank to rank comes in order.
func TestInOrder(t *testing.T) {
	onEach(t, 5, func(c cluster.Comm) error {
		state := []byte{100}
		if err := FromPrevious(c, state); err != nil {
			return err
		}
		state[0]++
		if err := ToNext(c, state); err != nil {
			return err
		}
		return equal("state", state, []byte{byte(101 + c.Rank())})
	})
}
