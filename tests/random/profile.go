package random

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"healc/codegen/target/profile"
)

// added are fields that were added since the programs of tests/reach were found: they are drawn after the others, so
// that a seed keeps what it gives these.
var added = []string{"columns.few_rows", "columns.few_bytes", "ntt.long_first", "matmul.square_turns",
	"loops.fours_most", "ntt.short_back", "reduce.free_streams", "stores.written_most", "threads.moved_time",
	"fusion.mirror_rows", "fusion.mirror_steps",
	"gpu.scatter_table", "gpu.scatter_blocks", "gpu.column_threads", "gpu.column_ahead"}

// Profile has each field at random: often the one that it has, else one of its range, near its ends or anywhere.
func Profile(r *rand.Rand) *profile.Profile {
	p := profile.Base().Clone()
	fields := slices.Clone(profile.Fields())
	slices.SortStableFunc(fields, func(a, b profile.Field) int {
		return cmp.Compare(slices.Index(added, a.Name), slices.Index(added, b.Name))
	})
	for _, f := range fields {
		if r.IntN(2) == 0 {
			continue
		}
		x := f.Low + r.IntN(f.High-f.Low+1)
		switch r.IntN(3) {
		case 0:
			x = f.Low
		case 1:
			x = min(f.High, max(f.Low, f.Get(p)<<r.IntN(3)>>r.IntN(3)))
		}
		if f.Power {
			for x&(x-1) != 0 {
				x &= x - 1
			}
			x = max(x, f.Low)
		}
		if err := f.Set(p, x); err != nil {
			panic(err)
		}
	}
	return p
}
