package abi

import (
	"testing"

	"healc/codegen/target/profile"
)

// TestWithin: so many indices as a time needs, also where one takes longer than all that counts for splitting.
func TestWithin(t *testing.T) {
	on := &profile.Threads{OpTime: 30, ByteTime: 10, RegionTime: 5000}
	for _, c := range []struct{ work, bytes, time, want int64 }{
		{0, 0, 1000, 1000},
		{1, 0, 3000, 100},
		{1, 0, 3001, 101},
		{1, 30, 3000, 10},
		{100_000_000, 0, 500_000_000, 1},         // an index of 3 ms
		{2_000_000, 0, 500_000_000, 9},           // of 60 us
		{1 << 62, 1 << 62, 1_000_000_000_000, 1}, // no overflow
	} {
		l := &Launch{Work: c.work, Bytes: c.bytes}
		if got := l.Within(c.time, on); got != c.want {
			t.Errorf("%d operations and %d bytes an index: %d take %d ps, not %d", c.work, c.bytes, got, c.time, c.want)
		}
		if got, most := l.Grain(on), int64(5_000_000/l.IndexTime(on)+1); got > most {
			t.Errorf("an index of %d operations and %d bytes: grain %d", c.work, c.bytes, got)
		}
	}
}

// TestRouse: few long indices are worth waking a thread as many short ones are, however many take as long as a region.
func TestRouse(t *testing.T) {
	on := &profile.Threads{OpTime: 10, ByteTime: 10, RegionTime: 5000, WakeTime: 30}
	for _, c := range []struct{ work, grain, rouse int64 }{
		{1000, 500, 3000},   // 10 ns
		{1_000_000, 1, 3},   // 10 us
		{10_000_000, 1, 1},  // 100 us
		{100_000_000, 1, 1}, // 1 ms
	} {
		l := &Launch{Work: c.work}
		if grain, rouse := l.Grain(on), l.Rouse(on); grain != c.grain || rouse != c.rouse {
			t.Errorf("%d operations an index: %d and %d, not %d and %d", c.work, grain, rouse, c.grain, c.rouse)
		}
	}
}

// TestMoved: what moves between threads counts as a region does, however much it is.
func TestMoved(t *testing.T) {
	on := &profile.Threads{OpTime: 10, ByteTime: 10, RegionTime: 5000, MovedTime: 50}
	for _, c := range []struct{ moved, grain int64 }{
		{0, 5},
		{100_000, 10}, // 5 us
		{1_000_000, 55},
		{1 << 62, 500_005},
	} {
		l := &Launch{Work: 100_000, Moved: c.moved} // 1 us
		if grain := l.Grain(on); grain != c.grain {
			t.Errorf("%d bytes move: %d and not %d", c.moved, grain, c.grain)
		}
	}
}
