package abi

import (
	"math"
	"testing"

	"healc/lang/types"
)

func TestBlocks(t *testing.T) {
	literal := func(e Extent) int64 {
		n, _ := e.Dim.Const()
		return (n + max(e.Div, 1) - 1) / max(e.Div, 1)
	}
	lit := func(n, div int64) Extent { return Extent{Dim: types.Lit(n), Div: div} }
	for _, c := range []struct {
		items    []Extent
		perBlock int64
		want     int64
	}{
		{nil, 256, 1},
		{[]Extent{lit(0, 0)}, 256, 0},
		{[]Extent{lit(1, 0)}, 256, 1},
		{[]Extent{lit(256, 0)}, 256, 1},
		{[]Extent{lit(257, 0)}, 256, 2},
		{[]Extent{lit(1000, 0), lit(0, 0)}, 256, 0},
		{[]Extent{lit(129, 128), lit(300, 128)}, 1, 6},
		{[]Extent{lit(math.MaxInt32, 0), lit(math.MaxInt32, 0), lit(math.MaxInt32, 0), lit(math.MaxInt32, 0)}, 1,
			MaxBlocks},
		{[]Extent{lit(1<<62, 0), lit(3, 0), lit(0, 0)}, 1, 0},
	} {
		l := DeviceLaunch{Items: c.items, PerBlock: c.perBlock}
		if got := l.Blocks(literal); got != c.want {
			t.Errorf("%v by %d: %d blocks, want %d", c.items, c.perBlock, got, c.want)
		}
	}
	k := DeviceKernel{}
	if n := k.ScratchBytes(literal); n != 0 {
		t.Errorf("%d bytes of scratch for a kernel without", n)
	}
	k.Scratch = []Extent{lit(4097, 4096), lit(12, 0)}
	if n := k.ScratchBytes(literal); n != 24 {
		t.Errorf("%d bytes of scratch, want 24", n)
	}
}
