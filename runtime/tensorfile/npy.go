package tensorfile

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"healc/internal/regular"
	"healc/lang/types"
	"healc/runtime/tensor"
)

// NpyError is a file that is no .npy or .npz, is damaged, or has what tensors cannot hold.
type NpyError struct {
	Path   string // of the file, with ":name" for an array of an .npz; empty for a stream
	Offset int64  // where in the .npy, in bytes
	Reason string
	Err    error // what caused it, or nil
}

// Error names file, place and reason.
func (e *NpyError) Error() string {
	path := e.Path
	if path == "" {
		path = "npy data"
	}
	msg := fmt.Sprintf("%s: at byte %d: %s", path, e.Offset, e.Reason)
	if e.Err != nil {
		msg += ": " + e.Err.Error()
	}
	return msg
}

// Unwrap returns the cause: io.ErrUnexpectedEOF, an *OutOfMemoryError, an error of the file system.
func (e *NpyError) Unwrap() error { return e.Err }

// unknownSize stands for the size of a stream that does not tell.
const unknownSize = int64(-1)

// ReadNpyFile reads a .npy file: versions 1 to 3, either byte order, C or Fortran order, bool, integers of 8 to 64
// bits, f16, f32 and f64. An array in Fortran order becomes a tensor with such strides, without a transposition. The
// array has to be the whole file. A file that cannot be opened gives the error of os.Open, a folder, a pipe or a device
// one that says so, any other trouble is an *NpyError.
func ReadNpyFile(path string) (*tensor.Tensor, error) {
	f, info, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if !info.Mode().IsRegular() {
		return readNpy(bufio.NewReaderSize(f, 1<<16), path, unknownSize, false)
	}
	return readNpy(bufio.NewReaderSize(f, 1<<16), path, info.Size(), true)
}

// ReadNpy reads one array from a stream and leaves what follows it. It takes what ReadNpyFile takes; the errors are
// *NpyError.
func ReadNpy(r io.Reader) (*tensor.Tensor, error) {
	size := unknownSize
	if l, ok := r.(interface{ Len() int }); ok { // bytes.Reader and the like
		size = int64(l.Len())
	}
	return readNpy(r, "", size, false)
}

// readNpy reads an array from r, which has size bytes or is of unknownSize; whole says that the array has to be all of
// it.
func readNpy(r io.Reader, path string, size int64, whole bool) (*tensor.Tensor, error) {
	h, err := readNpyHeader(r)
	if err != nil {
		return nil, withPath(err, path)
	}
	fail := func(offset int64, err error, format string, args ...any) (*tensor.Tensor, error) {
		return nil, &NpyError{Path: path, Offset: offset, Reason: fmt.Sprintf(format, args...), Err: err}
	}
	// Declared size against real size, before memory is taken. Where a stream does not tell, the system gives memory as
	// the elements come.
	need, err := tensor.CheckShape(h.dtype, h.shape)
	if err != nil {
		return fail(h.shapeAt, err, "the shape of the array")
	}
	if size != unknownSize && need > size-h.bytes {
		return fail(h.bytes, io.ErrUnexpectedEOF, "%s needs %d bytes, the file has %d left",
			tensor.TypeName(h.dtype, h.shape), need, max(size-h.bytes, 0))
	}
	if rest := size - h.bytes - need; whole && rest > 0 {
		return fail(h.bytes+need, nil, "bytes after the array: %s has %d, and %d more follow",
			tensor.TypeName(h.dtype, h.shape), need, rest)
	}
	t, err := tensor.New(h.dtype, h.shape...)
	if err != nil {
		return fail(h.bytes, err, "no memory for the array")
	}
	data := t.Raw()
	if n, err := io.ReadFull(r, data); err != nil {
		t.Close()
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return fail(h.bytes+int64(n), err, "%s needs %d bytes, %d are there",
			tensor.TypeName(h.dtype, h.shape), need, n)
	}
	if h.swap {
		swapBytes(data, h.dtype.Bytes())
	}
	if h.dtype == types.Bool {
		normalizeBools(data)
	}
	if h.fortran {
		setColumnMajor(t.Strides, t.Shape)
	}
	return t, nil
}

// withPath fills in the path of an *NpyError.
func withPath(err error, path string) error {
	if e, ok := err.(*NpyError); ok {
		e.Path = path
	}
	return err
}

// setColumnMajor fills strides with those of a dense tensor in Fortran order.
func setColumnMajor(strides, shape []int64) {
	n := int64(1)
	for i, d := range shape {
		strides[i] = n
		n *= max(d, 1)
	}
}

// normalizeBools makes 1 of what is not 0: a bool that is neither would be neither true nor false.
func normalizeBools(data []byte) {
	for i, b := range data {
		if b > 1 {
			data[i] = 1
		}
	}
}

var hostIsBigEndian = binary.NativeEndian.Uint16([]byte{0, 1}) == 1

// swapBytes reverses the bytes of every element.
func swapBytes(data []byte, size int) {
	for ; len(data) >= size; data = data[size:] {
		slices.Reverse(data[:size])
	}
}
