package ranks

import (
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// TestCut: each rank has processors of its own, of those that the process may use, as many as others or one more.
func TestCut(t *testing.T) {
	var all processorSet
	for _, i := range []int{1, 2, 5, 64, 130, 131, 700} {
		all.Set(i)
	}
	for n := 1; n <= 7; n++ {
		var joined processorSet
		sets := cut(&all, n)
		for r, s := range sets {
			if k := s.Count(); k != 7/n && k != 7/n+1 {
				t.Errorf("rank %d of %d has %d processors", r, n, k)
			}
			for i := range 64 * len(s) {
				if s.IsSet(i) {
					if joined.IsSet(i) {
						t.Errorf("processor %d is of two of %d ranks", i, n)
					}
					joined.Set(i)
				}
			}
		}
		if len(sets) != n || joined != all {
			t.Errorf("%d sets for %d ranks, of %v not of %v", len(sets), n, joined, all)
		}
	}
	if sets := cut(&all, 8); sets != nil {
		t.Errorf("8 ranks have %v of 7 processors", sets)
	}
}

// TestStartOn: a process that is started has its processors, and this one keeps its own.
func TestStartOn(t *testing.T) {
	var before processorSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		t.Skip(err)
	}
	for _, set := range append(cut(&before, min(before.Count(), 3)), nil) {
		want := set
		if set == nil {
			want = &before
		}
		cmd := exec.Command("cat")
		in, err := cmd.StdinPipe()
		if err == nil {
			err = startOn(cmd, set)
		}
		if err != nil {
			t.Fatal(err)
		}
		var got, now processorSet
		if err := unix.SchedGetaffinity(cmd.Process.Pid, &got); err != nil || got != *want {
			t.Errorf("the process has %v, not %v: %v", got, *want, err)
		}
		if err := unix.SchedGetaffinity(0, &now); err != nil || now != before {
			t.Errorf("this one has %v, and had %v: %v", now, before, err)
		}
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
}
