package collective_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"healc/runtime/cluster"
	"healc/runtime/cluster/mesh"
	"healc/runtime/collective"
	"healc/runtime/exchange"
	"healc/runtime/tensorfile"
)

// folder is the files of a folder, whose operations may fail.
type folder struct {
	dir  string
	fail func(step string) error // nil: nothing fails
}

func (f folder) step(name string) error {
	if f.fail == nil {
		return nil
	}
	return f.fail(name)
}

func (f folder) CreateShared(path string) (collective.File, uint64, error) {
	if err := f.step("create"); err != nil {
		return nil, 0, err
	}
	s, tag, err := tensorfile.CreateShared(filepath.Join(f.dir, path), nil)
	if err != nil {
		return nil, 0, err
	}
	return file{s, f}, tag, nil
}

func (f folder) OpenShared(path string, tag uint64) (collective.File, error) {
	if err := f.step("open"); err != nil {
		return nil, err
	}
	s, err := tensorfile.OpenShared(filepath.Join(f.dir, path), tag, nil)
	if err != nil {
		return nil, err
	}
	return file{s, f}, nil
}

type file struct {
	*tensorfile.Shared
	of folder
}

func (f file) WriteAt(p []byte, at int64) (int, error) {
	if err := f.of.step("write"); err != nil {
		return 0, err
	}
	return f.Shared.WriteAt(p, at)
}

func (f file) Finish() error {
	return errors.Join(f.Shared.Finish(), f.of.step("finish"))
}

func (f file) Commit() error {
	if err := f.of.step("commit"); err != nil {
		return err
	}
	return f.Shared.Commit()
}

// onEach runs f on each of n ranks, and gives their errors.
func onEach(t *testing.T, n int, f func(c cluster.Comm) error) []error {
	t.Helper()
	comms, err := mesh.Local(n)
	if err != nil {
		t.Fatal(err)
	}
	errs := make([]error, n)
	var all sync.WaitGroup
	for r, c := range comms {
		all.Go(func() {
			errs[r] = f(c)
			_ = c.Close()
		})
	}
	all.Wait()
	return errs
}

// part is what a rank has of a tensor.
func part(x []byte, l exchange.Layout, rank int) []byte {
	lo, hi := l.Of(rank)
	var out []byte
	for o := range l.Outer {
		row := x[o*l.Extent*l.Inner:]
		out = append(out, row[lo*l.Inner:hi*l.Inner]...)
	}
	return out
}

func random(r *rand.Rand, n int64) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(r.Uint32())
	}
	return out
}

// TestWrite: what ranks write together is the file that one writes, whatever was there.
func TestWrite(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 7))
	for i := range 60 {
		n := 1 + r.IntN(7)
		l := exchange.Layout{Outer: 1 + r.Int64N(5), Blocks: exchange.CutFor(r.Int64N(100), n), Inner: 1 + r.Int64N(9)}
		if i%3 == 0 { // the inner part of an axis
			l.Origin = r.Int64N(l.Block + 1)
			l.Extent = max(l.Extent-l.Origin, 0)
		}
		if i == 0 { // in several pieces
			n, l = 2, exchange.Layout{Outer: 3, Blocks: exchange.CutFor(1<<20, 2), Inner: 13}
		}
		if i == 1 { // in several bands
			n, l = 3, exchange.Layout{Outer: 400, Blocks: exchange.Blocks{Extent: 25, Block: 10}, Inner: 6000}
		}
		head, x := random(r, 10), random(r, l.Outer*l.Extent*l.Inner)
		f := folder{dir: t.TempDir()}
		path := filepath.Join(f.dir, "x")
		if i%2 == 0 {
			if err := os.WriteFile(path, random(r, 100_000), 0o640); err != nil {
				t.Fatal(err)
			}
		}
		errs := onEach(t, n, func(c cluster.Comm) error {
			done, err := collective.Write(c, f, "x", head,
				collective.Tensor{At: int64(len(head)), Layout: l, Part: part(x, l, c.Rank())})
			if err == nil && !done {
				err = errors.New("it is not written in parts")
			}
			got, _ := os.ReadFile(path) // which is there when a rank goes on
			if err == nil && !bytes.Equal(got, slices.Concat(head, x)) {
				err = fmt.Errorf("another file, of %d bytes", len(got))
			}
			return err
		})
		if err := errors.Join(errs...); err != nil {
			t.Errorf("%d ranks, %+v: %v", n, l, err)
		}
		if i%2 == 0 {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("the permissions are lost: %v, %v", info, err)
			}
		}
		alone(t, f.dir, "x")
	}
}

// alone wants these files in a folder, and nothing else.
func alone(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if !slices.Equal(names, want) {
		t.Errorf("there are %q, want %q", names, want)
	}
}

// TestFailures: whatever fails on whichever rank, the file that was there stays as it was, nothing is left beside it,
// that rank has the error, and the others know of it.
func TestFailures(t *testing.T) {
	const ranks = 3
	full := errors.New("no space left on device")
	l := exchange.Layout{Outer: 2, Blocks: exchange.CutFor(30, ranks), Inner: 4}
	x := make([]byte, 2*30*4)
	for bad := range ranks {
		for _, step := range []string{"create", "open", "write", "finish", "commit"} {
			if first := step == "create" || step == "commit"; first && bad > 0 || step == "open" && bad == 0 {
				continue // that is done by others
			}
			t.Run(fmt.Sprintf("%s on rank %d", step, bad), func(t *testing.T) {
				dir := t.TempDir()
				path := filepath.Join(dir, "x")
				if err := os.WriteFile(path, []byte("before"), 0o666); err != nil {
					t.Fatal(err)
				}
				errs := onEach(t, ranks, func(c cluster.Comm) error {
					f := folder{dir: dir}
					if c.Rank() == bad {
						f.fail = func(s string) error {
							if s == step {
								return full
							}
							return nil
						}
					}
					_, err := collective.Write(c, f, "x", []byte("head"),
						collective.Tensor{At: 4, Layout: l, Part: part(x, l, c.Rank())})
					return err
				})
				for rank, err := range errs {
					var failed *cluster.FailedError
					if !errors.As(err, &failed) || failed.Rank != bad || !failed.Known ||
						errors.Is(err, full) != (rank == bad) {
						t.Errorf("rank %d: %v", rank, err)
					}
				}
				if got, err := os.ReadFile(path); err != nil || string(got) != "before" {
					t.Errorf("the file has become %q, %v", got, err)
				}
				alone(t, dir, "x")
			})
		}
	}
}

// TestApart: a rank that does not see the file of rank 0 says what that needs.
func TestApart(t *testing.T) {
	dirs := []string{t.TempDir(), t.TempDir()}
	errs := onEach(t, 2, func(c cluster.Comm) error {
		l := exchange.Layout{Outer: 1, Blocks: exchange.CutFor(10, 2), Inner: 1}
		_, err := collective.Write(c, folder{dir: dirs[c.Rank()]}, "x", nil,
			collective.Tensor{Layout: l, Part: make([]byte, 5)})
		return err
	})
	if errs[1] == nil || !strings.Contains(errs[1].Error(), "the folder has to be shared by all machines") {
		t.Errorf("rank 1: %v", errs[1])
	}
	var failed *cluster.FailedError
	if !errors.As(errs[0], &failed) || failed.Rank != 1 {
		t.Errorf("rank 0: %v", errs[0])
	}
	alone(t, dirs[0])
	alone(t, dirs[1])
}

// TestNotInParts: where a rank has no files to share, or the path is no regular file, all ranks are told so.
func TestNotInParts(t *testing.T) {
	l := exchange.Layout{Outer: 1, Blocks: exchange.CutFor(10, 3), Inner: 1}
	for _, c := range []struct {
		name, path string
		without    int // the rank that has no files
	}{{"rank 0 has none", "x", 0}, {"rank 2 has none", "x", 2}, {"a device", "/dev/null", -1}} {
		dir := t.TempDir()
		errs := onEach(t, 3, func(comm cluster.Comm) error {
			var files collective.Files = folder{dir: dir}
			if comm.Rank() == c.without {
				files = nil
			}
			path := c.path
			if filepath.IsAbs(path) {
				up, err := filepath.Rel(dir, path)
				if err != nil {
					return err
				}
				path = up
			}
			done, err := collective.Write(comm, files, path, nil,
				collective.Tensor{Layout: l, Part: part(make([]byte, 10), l, comm.Rank())})
			if err == nil && done {
				err = errors.New("it was written")
			}
			return err
		})
		if err := errors.Join(errs...); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		alone(t, dir)
	}
}

// TestLost: where a rank is gone, the others get an error, and nothing is left.
func TestLost(t *testing.T) {
	dir := t.TempDir()
	comms, err := mesh.Local(3)
	if err != nil {
		t.Fatal(err)
	}
	l := exchange.Layout{Outer: 1, Blocks: exchange.CutFor(30, 3), Inner: 1}
	var all sync.WaitGroup
	for rank, c := range comms {
		all.Go(func() {
			f := folder{dir: dir}
			if rank == 2 {
				f.fail = func(step string) error {
					if step == "write" {
						c.Abort(5, "it is gone")
						return errors.New("gone")
					}
					return nil
				}
			}
			if _, err := collective.Write(c, f, "x", nil,
				collective.Tensor{Layout: l, Part: make([]byte, l.Len(rank))}); err == nil {
				t.Errorf("rank %d has written it", rank)
			}
		})
	}
	all.Wait()
	alone(t, dir)
}
