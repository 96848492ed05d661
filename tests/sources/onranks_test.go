package sources

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	heal "healc"
	"healc/internal/engine"
	"healc/runtime/cluster"
	"healc/tests/random"
	"healc/tests/sample"
	"healc/tests/ways"
)

// TestRanks: a program has the same bits, or stops at the same place, on any number of ranks.
func TestRanks(t *testing.T) {
	n, seed := 2000/sample.Part(20), *from
	if testing.Short() {
		n = 20
	}
	if seed == 0 {
		seed = uint64(sample.Today(t)) << 20
	} else {
		n = *count
	}
	bad, said := 0, 0
	for i := range uint64(n) {
		p, ranks := New(seed+i, nil), []int{2, 3, 4, 7}[(seed+i)%4]
		if strings.Contains(p.Text(), "sharded(") {
			said++
		}
		want, err := Run(p, Interp, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		msg := onRanks(t, p, ranks, (seed+i)%3 == 0, want)
		if msg == "" {
			continue
		}
		t.Errorf("program %d on %d ranks: %s\nrun it with: go test ./tests/sources -run TestRanks -sources.seed=%d\n%s",
			seed+i, ranks, msg, seed+i, p)
		if bad++; bad == 5 {
			return
		}
	}
	t.Logf("%d of %d programs have tensors of which ranks have parts", said, n)
	if seed >= ranked && n >= 20 && said < n/4 {
		t.Error("too few programs have tensors of which ranks have parts")
	}
}

// onRanks says how what a program gives on some ranks differs, "" where it does not.
func onRanks(t *testing.T, p *Program, n int, interp bool, want *random.Outcome) string {
	comms, err := heal.LocalCluster(n)
	if err != nil {
		t.Fatal(err)
	}
	input, err := p.Input()
	if err != nil {
		t.Fatal(err)
	}
	got, errs := make([]*random.Outcome, n), make([]error, n)
	var all sync.WaitGroup
	for rank, c := range comms {
		all.Go(func() {
			defer func() {
				if r := recover(); r != nil {
					errs[rank] = fmt.Errorf("rank %d: panic: %v\n%s", rank, r, debug.Stack())
				}
				if errs[rank] != nil {
					c.Abort(1, errs[rank].Error())
				} else if err := c.Close(); err != nil && got[rank].Failed == "" {
					errs[rank] = err
				}
			}()
			opts := engine.Options{Backend: heal.Interp}
			if !interp {
				opts = engine.Options{Backend: heal.CPU, Threads: 1}
				ways.Least.Set(&opts)
			}
			opts.Cluster = c
			got[rank], errs[rank] = call(p, opts, input)
		})
	}
	all.Wait()
	for rank, err := range errs { // a rank that has not failed itself knows which one has
		var failed *cluster.FailedError
		if errors.As(err, &failed) && failed.Rank != rank {
			if got[rank] = got[failed.Rank]; got[rank] != nil && got[rank].Failed != "" {
				errs[rank] = nil
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return first(err)
	}
	for rank, g := range got {
		if d := Diff(want, g); d != "" {
			return fmt.Sprintf("rank %d: %s", rank, d)
		}
	}
	return ""
}
