package tensorfile

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"

	"healc/lang/types"
)

// Shared is a file that several processes write, each its part, and that takes the place of another when all is there.
// Who creates it gives the others its tag.
type Shared struct {
	f     *os.File
	path  string      // which it is to become
	mode  os.FileMode // of what is there
	ended func() error
}

// CreateShared makes a new file beside path. ended, unless it is nil, is asked before each write and before the file
// takes its place: an error ends that. What is at path and no regular file, such as a pipe, is written in order alone:
// the error is then errors.ErrUnsupported.
func CreateShared(path string, ended func() error) (*Shared, uint64, error) {
	s := &Shared{path: resolved(path), ended: ended}
	info, err := os.Stat(s.path)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return nil, 0, errors.ErrUnsupported
	case err == nil:
		s.mode = info.Mode().Perm()
	}
	for {
		tag := rand.Uint64()
		s.f, err = os.OpenFile(sharedName(s.path, tag), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err == nil {
			return s, tag, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, 0, s.named(err)
		}
	}
}

// OpenShared opens the file that another process has created to become path.
func OpenShared(path string, tag uint64, ended func() error) (*Shared, error) {
	s := &Shared{path: resolved(path), ended: ended}
	var err error
	if s.f, err = os.OpenFile(sharedName(s.path, tag), os.O_WRONLY, 0); err != nil {
		return nil, err
	}
	return s, nil
}

func sharedName(path string, tag uint64) string { return fmt.Sprintf("%s.%016x.tmp", path, tag) }

// resolved is the path that a link names, which is replaced, and not the link.
func resolved(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
}

// named is an error with the file that was asked for, and not the one beside it.
func (s *Shared) named(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		at.Path = s.path
	}
	return err
}

// WriteAt implements io.WriterAt.
func (s *Shared) WriteAt(p []byte, at int64) (int, error) {
	if err := s.asked(); err != nil {
		return 0, err
	}
	n, err := s.f.WriteAt(p, at)
	return n, s.named(err)
}

func (s *Shared) asked() error {
	if s.ended == nil {
		return nil
	}
	return s.ended()
}

// Finish closes the file when all that this process has written is on the disk.
func (s *Shared) Finish() error {
	err := s.f.Sync()
	if closed := s.f.Close(); err == nil {
		err = closed
	}
	return s.named(err)
}

// Commit, by who has created it, puts the file in its place, when all have finished.
func (s *Shared) Commit() error {
	if err := s.asked(); err != nil {
		return err
	}
	if s.mode != 0 {
		if err := sameMode(s.f.Name(), s.mode); err != nil {
			return err
		}
	}
	return os.Rename(s.f.Name(), s.path)
}

// Drop, by who has created it, removes a file that is not to be.
func (s *Shared) Drop() {
	_ = s.f.Close()
	_ = os.Remove(s.f.Name())
}

// NpyHeader is what stands before the elements of a .npy file in row-major order.
func NpyHeader(dtype types.DType, shape []int64) ([]byte, error) {
	head, err := npyPreamble(dtype, false, shape)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", types.Of(dtype, shape...), err)
	}
	return head, nil
}
