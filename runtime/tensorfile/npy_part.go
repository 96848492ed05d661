package tensorfile

import (
	"bufio"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"

	"healc/internal/regular"
	"healc/lang/types"
	"healc/runtime/tensor"
)

// Cut says which part of a tensor is wanted of a file that holds this one: the elements of an axis from lo on and
// before hi, or with an axis of -1 all of it.
type Cut func(dtype types.DType, shape []int64) (axis int, lo, hi int64, err error)

// ReadNpyPart is ReadNpyFile for a part of the array, and gives the shape of the whole. No more of a regular file is
// read than the part, and what stands between short runs of it.
func ReadNpyPart(path string, cut Cut) (part *tensor.Tensor, shape []int64, err error) {
	f, info, err := regular.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if !info.Mode().IsRegular() {
		t, err := readNpy(bufio.NewReaderSize(f, 1<<16), path, unknownSize, npyWants{})
		if err != nil {
			return nil, nil, err
		}
		defer t.Close()
		part, err := PartOf(t, cut)
		return part, t.Shape, err
	}
	h, err := readNpyHeader(bufio.NewReader(f))
	if err != nil {
		return nil, nil, withPath(err, path)
	}
	if _, err := h.fits(path, info.Size(), true); err != nil {
		return nil, nil, err
	}
	axis, lo, hi, err := cut(h.dtype, h.shape)
	if err != nil {
		return nil, nil, err
	}
	part, n, err := h.readPart(f, axis, lo, hi)
	if err != nil {
		return nil, nil, &NpyError{Path: path, Offset: h.bytes, Err: err,
			Reason: fmt.Sprintf("a part of the array, of which %d bytes are read", n)}
	}
	return part, h.shape, nil
}

// readPart reads the elements of an axis from lo on and before hi, or all where that is -1. n is how many bytes there
// were.
func (h *npyHeader) readPart(from io.ReaderAt, axis int, lo, hi int64) (part *tensor.Tensor, n int64, err error) {
	of := slices.Clone(h.shape)
	r := &runs{from: from, base: h.bytes, rows: 1, extent: 1, lo: 0, hi: 1, inner: int64(h.dtype.Bytes())}
	if axis >= 0 {
		of[axis] = hi - lo
		r.extent, r.lo, r.hi = h.shape[axis], lo, hi
	}
	for k, n := range h.shape {
		switch {
		case k == axis:
		case axis >= 0 && (k < axis) != h.fortran:
			r.rows *= n
		default:
			r.inner *= n
		}
	}
	if part, err = tensor.New(h.dtype, of...); err != nil {
		return nil, 0, err
	}
	if n, err := h.read(r, part.Raw()); err != nil {
		part.Close()
		return nil, n, err
	}
	if h.fortran {
		setColumnMajor(part.Strides, part.Shape)
	}
	return part, part.Bytes(), nil
}

// PartOf is a part of a tensor, in memory of its own.
func PartOf(t *tensor.Tensor, cut Cut) (*tensor.Tensor, error) {
	axis, lo, hi, err := cut(t.DType, t.Shape)
	if err != nil {
		return nil, err
	}
	if axis < 0 {
		return t.Clone()
	}
	ranges := slices.Repeat([]tensor.Range{tensor.All}, axis+1)
	ranges[axis] = tensor.Range{Start: lo, Stop: hi}
	view, err := t.Slice(ranges...)
	if err != nil {
		return nil, err
	}
	defer view.Close()
	return view.Clone()
}

// runs reads a part of an array of rows, of each of which it has the elements from lo on and before hi.
type runs struct {
	from                        io.ReaderAt
	base                        int64 // where the array begins
	rows, extent, lo, hi, inner int64 // inner is the bytes of an element
	row                         int64 // which is read
	done                        int64 // bytes of it that are
	band                        []byte
}

// shortRun is a run of so few bytes that several are read at a time, with what stands between them; bandOfRuns is how
// many bytes are.
const (
	shortRun   = 4 << 10
	bandOfRuns = 1 << 20
)

// Read implements io.Reader.
func (r *runs) Read(p []byte) (int, error) {
	run, whole := (r.hi-r.lo)*r.inner, r.extent*r.inner
	if r.row == r.rows || run == 0 {
		return 0, io.EOF
	}
	if run >= shortRun || run == whole || whole > bandOfRuns/2 {
		n, err := r.from.ReadAt(p[:min(int64(len(p)), run-r.done)], r.base+r.row*whole+r.lo*r.inner+r.done)
		if r.done += int64(n); r.done == run {
			r.row, r.done = r.row+1, 0
		}
		if n > 0 {
			err = nil
		}
		return n, err
	}
	at := 0
	for at < len(p) && r.row < r.rows {
		if len(r.band) == 0 {
			n := min(bandOfRuns/whole, r.rows-r.row)
			r.band = make([]byte, (n-1)*whole+run)
			if _, err := r.from.ReadAt(r.band, r.base+r.row*whole+r.lo*r.inner); err != nil {
				return at, err
			}
		}
		n := copy(p[at:], r.band[r.done:run])
		at, r.done = at+n, r.done+int64(n)
		if r.done == run {
			r.row, r.done = r.row+1, 0
			r.band = r.band[min(whole, int64(len(r.band))):]
		}
	}
	return at, nil
}

// Samples tells a file from others without reading it whole: its length, and a checksum of its beginning, its end and
// pieces between.
func Samples(path string) (string, error) {
	f, info, err := regular.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if !info.Mode().IsRegular() {
		return "", &os.PathError{Op: "read", Path: path, Err: os.ErrInvalid}
	}
	const pieces, bytes = 64, 4096
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	last := max(info.Size()-bytes, 0)
	for i := range int64(pieces) {
		at := last / (pieces - 1) * i
		if i == pieces-1 {
			at = last
		}
		if _, err := io.Copy(sum, io.NewSectionReader(f, at, bytes)); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d bytes, checksum %08x of samples", info.Size(), sum.Sum32()), nil
}
