package zarr

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"

	"healc/internal/regular"
	"healc/runtime/tensor"
)

// Store is an array, or a group of arrays. They are read when they are asked for.
type Store struct {
	path   string
	names  []string
	arrays map[string]*array
}

const (
	metadata     = "zarr.json"
	mostMetadata = 16 << 20 // bytes of zarr.json
	deepest      = 16       // groups in groups
	mostChunks   = 1 << 26  // of an array
)

// Open reads what a folder says of itself. An array alone has the name "", those of a group the path within.
func Open(path string) (*Store, error) {
	s := &Store{path: path, arrays: map[string]*array{}}
	if err := s.node("", 0); err != nil {
		return nil, err
	}
	return s, nil
}

// node reads the array or the group at a place in the store.
func (s *Store) node(name string, depth int) error {
	path := filepath.Join(s.path, filepath.FromSlash(name))
	text, err := readMetadata(filepath.Join(path, metadata))
	if err != nil {
		info, e := os.Stat(path)
		switch {
		case e == nil && !info.IsDir():
			return &Error{Path: path, Reason: "it is no folder, as an array of Zarr is"}
		case e == nil && errors.Is(err, fs.ErrNotExist):
			return &Error{Path: path, Reason: "it is no array and no group of Zarr version 3: it has no " + metadata}
		}
		return cmp.Or(e, err)
	}
	a, err := parseArray(text)
	if err != nil {
		return &Error{Path: filepath.Join(path, metadata), Reason: "malformed, or unsupported", Err: err}
	}
	if a != nil {
		s.arrays[name] = a
		s.names = append(s.names, name)
		return nil
	}
	if depth == deepest {
		return &Error{Path: path, Reason: fmt.Sprintf("unsupported: groups in groups, more than %d deep", deepest)}
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if _, err := os.Lstat(filepath.Join(path, e.Name(), metadata)); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := s.node(strings.TrimPrefix(name+"/"+e.Name(), "/"), depth+1); err != nil {
			return err
		}
	}
	return nil
}

func readMetadata(path string) ([]byte, error) {
	f, info, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > mostMetadata {
		return nil, &Error{Path: path, Reason: fmt.Sprintf("%d bytes are more than the limit of %d", info.Size(),
			mostMetadata)}
	}
	return io.ReadAll(io.LimitReader(f, mostMetadata))
}

// Names are those of the arrays, sorted.
func (s *Store) Names() []string { return slices.Clone(s.names) }

// Close ends the use of the store, of which nothing is open between calls.
func (s *Store) Close() error { return nil }

// Read reads an array.
func (s *Store) Read(name string) (*tensor.Tensor, error) {
	a := s.arrays[name]
	path := filepath.Join(s.path, filepath.FromSlash(name))
	if a == nil {
		return nil, &Error{Path: s.path, Reason: fmt.Sprintf("there is no array %q; there is %q", name, s.names)}
	}
	counts := grid(a.shape, a.chunk)
	if count(counts, mostChunks) < 0 {
		return nil, &Error{Path: path, Reason: fmt.Sprintf("unsupported: it has more than %d chunks", mostChunks)}
	}
	t, err := tensor.Zeros(a.dtype, a.shape...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := a.read(path, t, counts); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// ReadColumnMajor is Read for a tensor in column-major order.
func (s *Store) ReadColumnMajor(name string) (*tensor.Tensor, error) {
	t, err := s.Read(name)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	return t.ColumnMajor()
}

func (a *array) read(path string, t *tensor.Tensor, counts []int64) error {
	defer goruntime.KeepAlive(t)
	whole := block{data: t.Raw(), elem: int64(a.dtype.Bytes()), shape: a.shape, valid: a.shape, strides: t.Strides}
	if a.fill != 0 {
		var one [8]byte
		binary.LittleEndian.PutUint64(one[:], a.fill)
		if hostIsBigEndian {
			binary.BigEndian.PutUint64(one[:], a.fill<<(64-8*whole.elem))
		}
		for at := int64(0); at < int64(len(whole.data)); at += whole.elem {
			copy(whole.data[at:], one[:whole.elem])
		}
	}
	return odometer(counts, func(index []int64) error {
		file := filepath.Join(path, filepath.FromSlash(a.key(index)))
		f, info, err := regular.Open(file)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		defer f.Close()
		if err := a.codecs.read(blob{f, info.Size()}, whole.part(index, a.chunk)); err != nil {
			return &Error{Path: file, Reason: "malformed", Err: err}
		}
		return nil
	})
}
