package ranks

import (
	"os/exec"
	goruntime "runtime"

	"golang.org/x/sys/unix"
)

// processorSet is a set of processors.
type processorSet = unix.CPUSet

// shares cuts the processors that this process may use into one set for each of n ranks, every n-th for a rank, so that
// fast and slow ones are shared evenly; nil, where there are fewer than ranks.
func shares(n int) []*processorSet {
	var all processorSet
	if unix.SchedGetaffinity(0, &all) != nil {
		return nil
	}
	return cut(&all, n)
}

func cut(all *processorSet, n int) []*processorSet {
	if all.Count() < n {
		return nil
	}
	sets := make([]*processorSet, n)
	next := 0
	for i := range 64 * len(all) {
		if !all.IsSet(i) {
			continue
		}
		if sets[next%n] == nil {
			sets[next%n] = &processorSet{}
		}
		sets[next%n].Set(i)
		next++
	}
	return sets
}

// startOn starts a process that may use these processors alone; nil: those of this process.
func startOn(cmd *exec.Cmd, set *processorSet) error {
	if set == nil {
		return cmd.Start()
	}
	started := make(chan error)
	go func() { // its thread has the processors that the process inherits
		goruntime.LockOSThread()
		var all processorSet
		if unix.SchedGetaffinity(0, &all) != nil || unix.SchedSetaffinity(0, set) != nil {
			goruntime.UnlockOSThread()
			started <- cmd.Start() // where the system allows nothing else
			return
		}
		err := cmd.Start()
		if unix.SchedSetaffinity(0, &all) == nil {
			goruntime.UnlockOSThread() // a thread that stays locked ends here
		}
		started <- err
	}()
	return <-started
}
