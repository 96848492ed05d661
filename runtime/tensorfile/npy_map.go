package tensorfile

import (
	"bufio"
	"errors"
	"io/fs"
	"os"

	"healc/internal/regular"
	"healc/lang/types"
	"healc/runtime/mapped"
	"healc/runtime/memory"
	"healc/runtime/tensor"
)

// minMapped is the size of arrays from which mapping is worth it: smaller ones are read in about the time that a
// mapping and its page faults take.
const minMapped = 1 << 20

// MapNpyFile is ReadNpyFile that leaves the elements of a large array in the file, where it can: their pages are read
// when they are first touched, and take no memory that other programs could not have. That is so where they lie in the
// file as a tensor has them, at a multiple of 64 bytes, in the byte order of this machine and no bools, and where the
// file can be held (package mapped): on Linux, of the user of the process, on a local file system, open for writing
// nowhere. Any other file is read.
//
// Either way the tensor is independent of the file. A mapped one cannot be written (WriteErr): it is no argument of
// a `&mut` parameter, and no destination. Who opens the file for writing waits until the array has been copied into
// memory, about as long as reading it would have taken. That can fail, as can reading pages from a disk; then zeros, or
// what was written, stand in the tensor. So who uses a mapped tensor asks the *mapped.File afterwards, before the
// result of the use is trusted: its Err says whether all that was read is what the file held. It is nil where the array
// was read, and a nil *mapped.File has no error.
//
// The file is open until the last tensor on it is closed, which nothing but Close does.
func MapNpyFile(path string) (*tensor.Tensor, *mapped.File, error) {
	f, info, err := regular.Open(path)
	if err != nil {
		return nil, nil, err
	}
	t, held, err := mapNpy(f, info)
	if err == nil {
		return t, held, nil
	}
	t, err = ReadNpyFile(path)
	return t, nil, err
}

// mapNpy maps a file, and closes it when that fails.
func mapNpy(f *os.File, info fs.FileInfo) (*tensor.Tensor, *mapped.File, error) {
	if !info.Mode().IsRegular() || info.Size() < minMapped {
		f.Close()
		return nil, nil, errors.ErrUnsupported
	}
	held, err := mapped.Hold(f)
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	t, err := mapHeld(f, held)
	if err != nil {
		held.Close()
		return nil, nil, err
	}
	return t, held, nil
}

// mapHeld maps the array of a file whose size and content stay.
func mapHeld(f *os.File, held *mapped.File) (*tensor.Tensor, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	h, err := readNpyHeader(bufio.NewReader(f))
	if err != nil {
		return nil, err
	}
	bytes, err := tensor.CheckShape(h.dtype, h.shape)
	if err != nil {
		return nil, err
	}
	if bytes < minMapped || bytes != info.Size()-h.bytes || h.bytes%memory.Alignment != 0 || h.swap ||
		h.dtype == types.Bool {
		return nil, errors.ErrUnsupported
	}
	at, err := held.Map(h.bytes, bytes)
	if err != nil {
		return nil, err
	}
	t, err := tensor.FromStorage(memory.WrapReadOnly(at, bytes, held, held.Close), h.dtype, h.shape...)
	if err != nil {
		return nil, err
	}
	if h.fortran {
		setColumnMajor(t.Strides, t.Shape)
	}
	return t, nil
}
