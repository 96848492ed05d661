package shard_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"testing"

	"healc/ir"
	"healc/ir/interp"
	"healc/ir/ops"
	"healc/passes"
	"healc/passes/shard"
	"healc/runtime/cluster/mesh"
	"healc/tests/random"
	"healc/tests/sample"
)

// scattered cuts parameters and values of a program along axes that are drawn.
func scattered(r *rand.Rand, f *ir.Func) {
	b := &ir.Builder{Block: &ir.Block{}}
	with := map[*ir.Value]*ir.Value{}
	mark := func(v *ir.Value) {
		if n := v.Type.Rank(); n > 0 {
			with[v] = b.Emit(ops.Shard, ir.A{"axis": int64(r.IntN(n))}, v)
		}
	}
	for _, v := range f.Params() {
		if r.IntN(3) > 0 {
			mark(v)
		}
	}
	first := b.Block.Ops
	var out []*ir.Op
	for _, op := range f.Body.Ops {
		for i, a := range op.Args {
			if w := with[a]; w != nil {
				op.Args[i] = w
			}
		}
		for _, region := range op.Regions {
			ir.Replace(region, with)
		}
		out = append(out, op)
		b.Block = &ir.Block{}
		for _, v := range op.Results {
			if r.IntN(8) == 0 {
				mark(v)
			}
		}
		out = append(out, b.Block.Ops...)
	}
	f.Body.Ops = append(first, out...)
	for i, y := range f.Body.Yields {
		if w := with[y]; w != nil {
			f.Body.Yields[i] = w
		}
	}
}

// TestRandomShardings: programs whose values are cut at random have the same bits on any number of ranks. Others are
// drawn every day; HEAL_TEST_SHARD_SEED names one.
func TestRandomShardings(t *testing.T) {
	n := uint64(300)
	switch {
	case sample.All():
		n = 5000
	case testing.Short():
		n = 100
	}
	from := 1<<24 + uint64(sample.Today(t))*5000
	if s := os.Getenv("HEAL_TEST_SHARD_SEED"); s != "" {
		var err error
		if from, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
		n = 1
	}
	counts := map[string]int{}
	for seed := from; seed < from+n; seed++ {
		if err := tryProgram(seed, counts); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
	if n > 1 && (counts["runs"] < int(n) || counts["failed"] > counts["runs"]/2) {
		t.Errorf("of %d programs these were run: %v", n, counts)
	}
}

func tryProgram(seed uint64, counts map[string]int) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	if seed%2 == 0 { // what is short is exchanged as what is long
		defer shard.SetLatency(0)()
	}
	p := random.New(seed, map[string]int{})
	return try(p.IR, p.Bind, p.Input, rand.New(rand.NewPCG(seed, 11)), counts)
}

// try cuts the values of a program at random, and compares what it gives on several numbers of ranks.
func try(m *ir.Module, bind map[string]int64, input []*ir.Array, r *rand.Rand, counts map[string]int) error {
	want, failed := interp.RunDims(m.Clone(), "f", bind, input, &interp.MemSystem{})
	prepare := func() *ir.Module {
		c := m.Clone()
		before := passes.Distributed("f", bind, shard.Ranks{Size: 1})
		if e := passes.Run(c, before, passes.Options{StopAfter: "batch"}); e != nil {
			return nil
		}
		return c
	}
	c := prepare()
	if c == nil {
		return nil
	}
	f := c.Func("f")
	scattered(r, f)
	counts["repaired"] += shard.Repair(f)
	return onRanks(c, bind, input, want, failed, counts)
}

// onRanks compares what a program whose values are cut gives on several numbers of ranks with what it is to give.
func onRanks(c *ir.Module, bind map[string]int64, input, want []*ir.Array, failed error, counts map[string]int) error {
	for _, size := range []int{1, 2, 3, 4, 7} {
		comms, e := mesh.Local(size)
		if e != nil {
			return e
		}
		out, errs := make([][]*ir.Array, size), make([]error, size)
		mods := make([]*ir.Module, size)
		for rank := range size {
			mods[rank] = c.Clone()
			if e := shard.Run(mods[rank], shard.Ranks{Rank: rank, Size: size}); e != nil {
				return e
			}
			if e := ir.Verify(mods[rank]); e != nil {
				return fmt.Errorf("rank %d of %d: %w\n%s", rank, size, e, mods[rank])
			}
		}
		var all sync.WaitGroup
		for rank := range size {
			all.Go(func() {
				defer func() {
					if x := recover(); x != nil {
						errs[rank] = fmt.Errorf("panic: %v\n%s", x, debug.Stack())
					}
					if errs[rank] != nil {
						comms[rank].Abort(1, errs[rank].Error())
					} else {
						comms[rank].Close()
					}
				}()
				out[rank], errs[rank] = interp.RunWithin(interp.Bounds{Cluster: comms[rank]}, mods[rank], "f", bind,
					input, &interp.MemSystem{})
			})
		}
		all.Wait()
		counts["runs"]++
		if failed != nil {
			counts["failed"]++
			if errors.Join(errs...) == nil {
				return fmt.Errorf("%d ranks do not fail: %v", size, failed)
			}
			continue
		}
		for rank := range size {
			if errs[rank] != nil {
				return fmt.Errorf("rank %d of %d: %v\n%s", rank, size, errs[rank], mods[rank])
			}
			for i := range want {
				if !same(want[i], out[rank][i]) {
					return fmt.Errorf("rank %d of %d: result %d is %v, not %v\n%s\n%s", rank, size, i, out[rank][i],
						want[i], c,
						mods[rank])
				}
			}
		}
	}
	return nil
}

func same(a, b *ir.Array) bool {
	return random.Diff(&random.Outcome{Results: []*ir.Array{a}}, &random.Outcome{Results: []*ir.Array{b}}) == ""
}
