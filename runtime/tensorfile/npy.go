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
func ReadNpyFile(path string) (*tensor.Tensor, error) { return readNpyFile(path, false) }

// ReadNpyFileColumnMajor is ReadNpyFile for a tensor in column-major order, which an array in C order is brought into
// as it is read.
func ReadNpyFileColumnMajor(path string) (*tensor.Tensor, error) {
	t, err := readNpyFile(path, true)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	return t.ColumnMajor()
}

func readNpyFile(path string, columns bool) (*tensor.Tensor, error) {
	f, info, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if !info.Mode().IsRegular() {
		return readNpy(bufio.NewReaderSize(f, 1<<16), path, unknownSize, npyWants{columns: columns})
	}
	return readNpy(bufio.NewReaderSize(f, 1<<16), path, info.Size(), npyWants{whole: true, columns: columns})
}

// ReadNpy reads one array from a stream and leaves what follows it. It takes what ReadNpyFile takes; the errors are
// *NpyError.
func ReadNpy(r io.Reader) (*tensor.Tensor, error) {
	size := unknownSize
	if l, ok := r.(interface{ Len() int }); ok { // bytes.Reader and the like
		size = int64(l.Len())
	}
	return readNpy(r, "", size, npyWants{})
}

// npyWants is what a reader wants of an array.
type npyWants struct {
	whole   bool // it has to be all of the stream
	columns bool // in column-major order, where that can be had as it is read
}

// readNpy reads an array from r, which has size bytes or is of unknownSize.
func readNpy(r io.Reader, path string, size int64, wants npyWants) (*tensor.Tensor, error) {
	h, err := readNpyHeader(r)
	if err != nil {
		return nil, withPath(err, path)
	}
	fail := func(offset int64, err error, format string, args ...any) (*tensor.Tensor, error) {
		return nil, &NpyError{Path: path, Offset: offset, Reason: fmt.Sprintf(format, args...), Err: err}
	}
	need, err := h.fits(path, size, wants.whole)
	if err != nil {
		return nil, err
	}
	t, err := tensor.New(h.dtype, h.shape...)
	if err != nil {
		return fail(h.bytes, err, "no memory for the array")
	}
	if rows := bandRows(h, need); wants.columns && rows > 0 {
		setColumnMajor(t.Strides, t.Shape)
		if n, err := h.readBands(r, t, rows); err != nil {
			t.Close()
			return fail(h.bytes+n, err, "%s needs %d bytes, %d are there", tensor.TypeName(h.dtype, h.shape), need, n)
		}
		return t, nil
	}
	if n, err := h.read(r, t.Raw()); err != nil {
		t.Close()
		return fail(h.bytes+n, err, "%s needs %d bytes, %d are there", tensor.TypeName(h.dtype, h.shape), need, n)
	}
	if h.fortran {
		setColumnMajor(t.Strides, t.Shape)
	}
	return t, nil
}

// fits compares the declared size with the real one, before memory is taken, and gives the bytes of the array. Where a
// stream does not tell, the system gives memory as the elements come. whole says that nothing may follow the array.
func (h *npyHeader) fits(path string, size int64, whole bool) (int64, error) {
	fail := func(offset int64, err error, format string, args ...any) (int64, error) {
		return 0, &NpyError{Path: path, Offset: offset, Reason: fmt.Sprintf(format, args...), Err: err}
	}
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
	return need, nil
}

// read reads elements as they are in memory, and says how many bytes there were.
func (h *npyHeader) read(r io.Reader, data []byte) (int64, error) {
	n, err := io.ReadFull(r, data)
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return int64(n), err
	}
	if h.swap {
		swapBytes(data, h.dtype.Bytes())
	}
	if h.dtype == types.Bool {
		normalizeBools(data)
	}
	return int64(n), nil
}

// bandBytes is the size of a piece of an array that is brought into another order as it is read.
const bandBytes = 8 << 20

// bandRows is how many rows of an array in C order, of so many bytes, are read at a time into a tensor in column-major
// order; 0 where its rows are so long or so few that it is read whole.
func bandRows(h *npyHeader, bytes int64) int64 {
	if h.fortran || len(h.shape) < 2 || bytes <= bandBytes {
		return 0
	}
	if rows := bandBytes / (bytes / h.shape[0]); rows >= 64 {
		return rows / 64 * 64
	}
	return 0
}

// readBands reads an array in C order into t, so many rows at a time, and says how many bytes there were.
func (h *npyHeader) readBands(r io.Reader, t *tensor.Tensor, rows int64) (int64, error) {
	shape := slices.Clone(t.Shape)
	shape[0] = rows
	band, err := tensor.New(h.dtype, shape...)
	if err != nil {
		return 0, err
	}
	defer band.Close()
	done, data, row := int64(0), band.Raw(), band.Bytes()/rows
	for at := int64(0); at < t.Shape[0]; at += rows {
		n := min(rows, t.Shape[0]-at)
		got, err := h.read(r, data[:n*row])
		if done += got; err != nil {
			return done, err
		}
		from, err := band.Slice(tensor.Range{Stop: n})
		if err != nil {
			return done, err
		}
		to, err := t.Slice(tensor.Range{Start: at, Stop: at + n})
		if err == nil {
			err = from.CopyTo(to)
			to.Close()
		}
		if from.Close(); err != nil {
			return done, err
		}
	}
	return done, nil
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
