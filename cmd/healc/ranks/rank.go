package ranks

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"

	"healc/runtime/cluster"
	"healc/runtime/cluster/mesh"
	"healc/runtime/cluster/mpi"
)

// failedCode is the exit code of a run that ends because its ranks cannot go on together.
const failedCode = cluster.FailedCode

// Rank is this process as one of several.
type Rank struct {
	cluster.Comm // nil before it has joined the others
	report       *os.File
	once         sync.Once
	launched     bool
	told         atomic.Bool // a signal has come
	silent       bool        // another process says why this one is no rank
	sharing      int         // ranks that may use the same processors, this one too
}

var errNoRank = fmt.Errorf("%s is set, which healc says to the ranks that it starts, and this is none of them", envRank)

// Join makes this process, which Start has started, one of its ranks. orphaned is called when the process that has
// started it ends.
func Join(orphaned func(rank int)) (*Rank, error) {
	_ = os.Unsetenv(envRank)
	files := [3]*os.File{}
	for i := range files {
		fd := uintptr(fdListener + i)
		closeOnExec(fd)
		files[i] = os.NewFile(fd, "rank")
		if _, err := files[i].Stat(); err != nil {
			return &Rank{}, errNoRank
		}
	}
	r := &Rank{report: files[fdReport-fdListener]}
	tell := bufio.NewReader(files[fdTold-fdListener])
	line, err := tell.ReadBytes('\n')
	if err != nil {
		return r, errNoRank
	}
	var is told
	if err := json.Unmarshal(line, &is); err != nil {
		return r, err
	}
	go func() {
		_, _ = io.Copy(io.Discard, tell)
		orphaned(is.Rank)
	}()
	l, err := net.FileListener(files[0])
	_ = files[0].Close()
	if err != nil {
		return r, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), joining)
	defer cancel()
	c, err := mesh.Join(ctx, l, mesh.Place{Rank: is.Rank, Addrs: is.Addrs, Key: is.Key, Poll: is.Poll})
	if err != nil {
		return r, err
	}
	r.Comm = c
	return r, r.share()
}

// Launched makes this process, started by a launcher of MPI, one of its ranks.
func Launched() (*Rank, error) {
	c, err := mpi.Open()
	if err != nil {
		var launcher *mpi.LauncherError
		return &Rank{silent: errors.As(err, &launcher) && launcher.Rank > 0}, err
	}
	r := &Rank{Comm: c, launched: true}
	return r, r.share()
}

// Told says that a signal ends this rank. A launcher of MPI, which tells all of its ranks so, ends the others when one
// has ended, too: none asks it to, for which MPI_Abort may take longer than the second until it kills them.
func (r *Rank) Told() { r.told.Store(r.launched) }

// Launched reports whether a launcher of MPI has started this rank.
func (r *Rank) Launched() bool { return r.launched }

// share counts the ranks that may use the same processors.
func (r *Rank) share() error {
	words := make([]uint64, 2*r.Size())
	here := words[2*r.Rank():][:2]
	here[0], here[1] = host(), processors()
	if err := r.Meet(words); err != nil {
		return err
	}
	for i := 0; i < len(words); i += 2 {
		if words[i] == here[0] && words[i+1] == here[1] {
			r.sharing++
		}
	}
	return nil
}

// Threads is how many threads this rank has by default: as many as a process has, divided by the ranks that may use
// the same processors.
func (r *Rank) Threads(all int) int { return max(1, all/max(1, r.sharing)) }
