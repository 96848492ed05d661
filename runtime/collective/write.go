// Package collective has input and output that the ranks of a program do together (collective I/O): of a file that a
// tensor is written to, which is cut, each rank writes its part.
//
// In: bytes, how they lie, and files that all ranks see. Out: a file that is whole or not there.
package collective

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"healc/runtime/cluster"
	"healc/runtime/exchange"
)

// Files are files that several ranks write together.
type Files interface {
	// CreateShared makes a new file which is to become path, and a tag that is not 0, by which other ranks open it.
	// errors.ErrUnsupported says that path is nothing of which parts can be written.
	CreateShared(path string) (File, uint64, error)
	// OpenShared opens what another rank has created.
	OpenShared(path string, tag uint64) (File, error)
}

// File is a file that is being written.
type File interface {
	io.WriterAt
	// Finish closes it when all that was written is on the disk.
	Finish() error
	// Commit, on the rank that has created it, puts the file in its place.
	Commit() error
	// Drop, on that rank, removes it.
	Drop()
}

// Note [Files of ranks]. Rank 0 creates the file, below another name, and writes its head; every rank writes its part
// where it belongs. Ranks meet after each piece, so that all know soon of one that has failed, and when all is on the
// disk. Then rank 0 gives the file its name, and the ranks meet once more: none goes on before it is there, since it
// may read it. Where a rank has failed, rank 0 removes the file. So below its own name the file is whole, or what was
// there before; what stays where rank 0 is killed has a name that nobody asks for.

const (
	// piece is how many bytes a rank writes between two meetings.
	piece = 16 << 20
	// shortRun is how many bytes of a part have to lie together in the file, so that they are written as they lie.
	// Where they are fewer, ranks exchange them first.
	shortRun = 64 << 10
)

// Tensor is what a rank has of a tensor in a file.
type Tensor struct {
	At     int64 // where it begins in the file
	Layout exchange.Layout
	Part   []byte
}

// Replicated is a tensor that every rank has: rank 0 writes it.
func Replicated(c cluster.Comm, at int64, bytes []byte) Tensor {
	n := int64(len(bytes))
	all := exchange.Blocks{Extent: n, Block: max(n, 1)}
	t := Tensor{At: at, Layout: exchange.Layout{Outer: 1, Blocks: all, Inner: 1}}
	if c.Rank() == 0 {
		t.Part = bytes
	}
	return t
}

// Write writes a file of which each rank has parts: head, and tensors. It reports false, on all ranks, where that
// cannot be: a rank has no shared files, or path is nothing of which parts can be written. The error is one of
// cluster.Settle.
func Write(c cluster.Comm, files Files, path string, head []byte, tensors ...Tensor) (bool, error) {
	w := &writer{c: c, files: files, path: path}
	together, err := w.open()
	if !together || err != nil {
		return together, err
	}
	return true, w.write(head, tensors)
}

type writer struct {
	c     cluster.Comm
	files Files
	path  string
	file  File // nil where it could not be opened
}

// settle is what all ranks agree on. Where one has failed the file is dropped.
func (w *writer) settle(err error) error {
	err = cluster.Settle(w.c, cluster.Anywhere, cluster.FailedCode, err)
	if err != nil && w.file != nil && w.c.Rank() == 0 {
		w.file.Drop()
		w.file = nil
	}
	return err
}

// open creates the file on rank 0 and opens it on the others.
func (w *writer) open() (together bool, err error) {
	can := make([]byte, w.c.Size())
	if w.files != nil {
		can[w.c.Rank()] = 1
	}
	ones, first := Opening(w.c.Size())
	if err := w.c.AllGather(can, ones); err != nil {
		return false, err
	}
	for _, k := range can {
		if k == 0 {
			return false, nil
		}
	}
	tag, err := uint64(0), error(nil)
	if w.c.Rank() == 0 {
		w.file, tag, err = w.files.CreateShared(w.path)
		if errors.Is(err, errors.ErrUnsupported) {
			w.file, tag, err = nil, 0, nil
		}
	}
	if err = w.settle(err); err != nil {
		return true, err
	}
	var said [8]byte
	binary.LittleEndian.PutUint64(said[:], tag)
	if err := w.c.AllGather(said[:], first); err != nil {
		return true, w.settle(err)
	}
	if tag = binary.LittleEndian.Uint64(said[:]); tag == 0 {
		return false, nil
	}
	if w.c.Rank() > 0 {
		w.file, err = w.files.OpenShared(w.path, tag)
		if errors.Is(err, fs.ErrNotExist) {
			err = w.apart(err)
		}
	}
	return true, w.settle(err)
}

// apart is the error of a rank that does not see the file.
func (w *writer) apart(err error) error {
	host, _ := os.Hostname()
	return fmt.Errorf("%s cannot be written: %w\nrank 0 has made that file, and rank %d does not see it on %s: each "+
		"rank writes its part of a sharded tensor, so the folder has to be shared by all machines; a tensor that is "+
		"gathered, `replicate(x)`, is written by rank 0 alone", w.path, err, w.c.Rank(), host)
}

// write writes the parts of this rank, and puts the file in its place.
func (w *writer) write(head []byte, tensors []Tensor) error {
	var failed error
	if w.c.Rank() == 0 {
		_, failed = w.file.WriteAt(head, 0)
	}
	if err := w.settle(failed); err != nil {
		return err
	}
	for _, t := range tensors {
		var err error
		if bands := Bands(t.Layout, w.c.Size()); bands != nil {
			err = w.bands(bands, t)
		} else {
			err = w.runs(t.At, t.Layout, t.Part)
		}
		if err != nil {
			return err
		}
	}
	if err := w.settle(w.file.Finish()); err != nil {
		return err
	}
	if w.c.Rank() == 0 {
		failed = w.file.Commit()
	}
	return w.settle(failed)
}

// runs writes every run of a part where it belongs.
func (w *writer) runs(base int64, l exchange.Layout, part []byte) error {
	most := int64(0)
	for r := range w.c.Size() {
		most = max(most, l.Outer*l.Len(r)*l.Inner)
	}
	for done := int64(0); done < most; done += piece {
		var failed error
		if done < int64(len(part)) {
			failed = writeRuns(w.file, base, l, w.c.Rank(), part, done, min(done+piece, int64(len(part))))
		}
		if err := w.settle(failed); err != nil {
			return err
		}
	}
	return nil
}

// bands writes a part whose runs are short: of so many rows at a time, each rank gets some whole, and writes these.
func (w *writer) bands(bands []exchange.Swap, t Tensor) error {
	row, run := t.Layout.Extent*t.Layout.Inner, t.Layout.Len(w.c.Rank())*t.Layout.Inner
	at := int64(0)
	for _, b := range bands {
		lo, hi := b.To.Of(w.c.Rank())
		mine := make([]byte, (hi-lo)*row)
		err := exchange.AllToAll(w.c, b, t.Part[at*run:(at+b.To.Extent)*run], mine)
		if err == nil && len(mine) > 0 {
			_, err = w.file.WriteAt(mine, t.At+(at+lo)*row)
		}
		if err := w.settle(err); err != nil {
			return err
		}
		at += b.To.Extent
	}
	return nil
}

// writeRuns writes the bytes of a part from one on and before another: each run of the part is one of the file.
func writeRuns(f io.WriterAt, base int64, l exchange.Layout, rank int, part []byte, from, to int64) error {
	lo, hi := l.Of(rank)
	run := (hi - lo) * l.Inner
	for from < to {
		row, in := from/run, from%run
		n := min(run-in, to-from)
		if _, err := f.WriteAt(part[from:from+n], base+(row*l.Extent+lo)*l.Inner+in); err != nil {
			return err
		}
		from += n
	}
	return nil
}
