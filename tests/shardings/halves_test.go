package shardings

import (
	"sync/atomic"
	"testing"

	"healc"
	"healc/internal/engine"
	"healc/ir"
	"healc/lang/types"
	"healc/runtime/cluster"
	"healc/tests/random"
	"healc/tests/ways"
)

// halving counts the exchanges that are made in halves.
type halving struct {
	cluster.Comm
	begun *atomic.Int64
}

// Begin implements cluster.Comm.
func (h halving) Begin(out, in [][]byte) error {
	h.begun.Add(1)
	return h.Comm.Begin(out, in)
}

// TestHalves: an exchange whose data is read at the edges of a kernel goes on while it computes, and a failure between
// the edges does not come before one at them.
func TestHalves(t *testing.T) {
	const source = `pub fn f[N](x: i32[N] sharded(0), t: i32[4]) -> i32[N] sharded(0) =
    tabulate(N, |i| if i > 0 { t[x[i - 1]] } else { 0 })`
	const n = 64
	for _, bad := range [][]int{nil, {31}, {40, 31}, {31, 40}, {62}, {0}, {33, 10}} {
		x := &ir.Array{DType: types.I32, Shape: []int64{n}, Bits: make([]uint64, n)}
		for i := range x.Bits {
			x.Bits[i] = uint64(i % 4)
		}
		for k, at := range bad {
			x.Bits[at] = uint64(100 + k)
		}
		input := []*ir.Array{x, {DType: types.I32, Shape: []int64{4}, Bits: []uint64{1, 2, 3, 4}}}
		want, err := outcome(source, input, engine.Options{Backend: heal.Interp})
		if err != nil {
			t.Fatal(err)
		}
		comms, err := heal.LocalCluster(2)
		if err != nil {
			t.Fatal(err)
		}
		var begun atomic.Int64
		got := make(chan *random.Outcome, len(comms))
		for _, c := range comms {
			go func() {
				o, err := outcome(source, input, engine.Options{Threads: 1, Cluster: halving{c, &begun}})
				if err != nil { // it has heard of the failure
					o = &random.Outcome{Failed: err.Error()}
				}
				got <- o
			}()
		}
		said := false // what has failed, by the rank whose failure counts
		for range comms {
			o := <-got
			if d := random.Diff(want, o); d != "" {
				t.Errorf("bad elements at %v: %s", bad, d)
			}
			said = said || o.Failed == want.Failed
		}
		if !said {
			t.Errorf("bad elements at %v: no rank says %q", bad, want.Failed)
		}
		if n := begun.Load(); n != 4 && bad == nil || n < 2 { // of the edges, and of the result
			t.Errorf("bad elements at %v: %d exchanges have halves", bad, n)
		}
	}
}

// TestManyRanks: more ranks than gather by messages gather in the way of the library, and halos stay in halves.
func TestManyRanks(t *testing.T) {
	const source = `pub fn f[N](x: f32[N] sharded(0)) -> f32[N] =
    replicate(tabulate(N, |i| if i > 0 { x[i - 1] } else { 0.0 }))`
	const ranks = 18
	if n := halved(t, source, ranks, []int64{20 * ranks}); n != ranks {
		t.Errorf("%d exchanges have halves on %d ranks", n, ranks)
	}
}

// halved runs a program on ranks of this process, compares each with the interpreter, and counts the exchanges that
// have halves.
func halved(t *testing.T, source string, ranks int, shapes ...[]int64) int64 {
	t.Helper()
	p := program{"", source, shapes}
	input := p.input()
	want, err := outcome(source, input, engine.Options{Backend: heal.Interp})
	if err != nil {
		t.Fatal(err)
	}
	comms, err := heal.LocalCluster(ranks)
	if err != nil {
		t.Fatal(err)
	}
	var begun atomic.Int64
	for k := range comms {
		comms[k] = halving{comms[k], &begun}
	}
	o := engine.Options{Threads: 1}
	ways.Least.Set(&o)
	call := func(o engine.Options) (*random.Outcome, error) { return outcome(source, input, o) }
	for rank, got := range together(t, comms, o, call) {
		if d := random.Diff(want, got); d != "" {
			t.Errorf("rank %d of %d: %s", rank, ranks, d)
		}
	}
	return begun.Load()
}

// TestPieces: the pieces of a factor are sent in halves by any number of ranks.
func TestPieces(t *testing.T) {
	const source = `pub fn f[N, K, M](a: f32[N, K] sharded(0), b: f32[K, M] sharded(0)) -> f32[N, M] sharded(0) = a @ b`
	for ranks, pieces := range map[int]int64{2: 4, 18: 4} {
		result := int64(0)
		if ranks <= 16 { // the result is gathered in halves, too
			result = 1
		}
		n := halved(t, source, ranks, []int64{36, 720}, []int64{720, 896})
		if n != int64(ranks)*(pieces+result) {
			t.Errorf("%d exchanges have halves on %d ranks", n, ranks)
		}
	}
}
