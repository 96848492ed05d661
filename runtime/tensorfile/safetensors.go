package tensorfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"healc/lang/types"
	"healc/runtime/tensor"
)

// The safetensors format (https://github.com/huggingface/safetensors): the length of the header, 8 bytes,
// little-endian; the header, a JSON object that starts with "{" and may end in spaces; the elements, little-endian and
// row-major. The header has {"dtype": "F32", "shape": [2, 3], "data_offsets": [BEGIN, END]} for each name, in bytes
// after the header, and may have strings under "__metadata__". The tensors cover all bytes after the header, each once,
// and no name stands twice. Elements of F4 are two in a byte, the first in its lower half.
const (
	maxSafetensorsHeader = 100_000_000 // the limit of the format's own reader
	metadataKey          = "__metadata__"
)

// SafetensorsError is a file that is no .safetensors, is damaged, or has what tensors cannot hold.
type SafetensorsError struct {
	Path   string // of the file; empty for a reader
	Tensor string // which one is wrong; empty for the file as such
	Reason string
	Err    error // what caused it, or nil
}

// Error names file, tensor and reason.
func (e *SafetensorsError) Error() string {
	msg := e.Path
	if msg == "" {
		msg = "safetensors data"
	}
	if e.Tensor != "" {
		msg += fmt.Sprintf(": tensor %q", e.Tensor)
	}
	msg += ": " + e.Reason
	if e.Err != nil {
		msg += ": " + e.Err.Error()
	}
	return msg
}

// Unwrap returns the cause: io.ErrUnexpectedEOF, an *OutOfMemoryError, an error of the file system.
func (e *SafetensorsError) Unwrap() error { return e.Err }

// Safetensors is an open .safetensors file. Tensors are read when they are asked for.
type Safetensors struct {
	path     string
	data     io.ReaderAt
	file     *os.File // nil when the data is a reader of the caller
	begin    int64    // where the elements start
	tensors  []safetensor
	metadata map[string]string
}

// safetensor is a tensor in the header; begin and end count from the first byte after the header.
type safetensor struct {
	name       string
	dtype      types.DType
	shape      []int64
	begin, end int64
}

// safetensorsDTypes are the names of the element types.
var safetensorsDTypes = map[string]types.DType{
	"BOOL": types.Bool,
	"I8":   types.I8, "I16": types.I16, "I32": types.I32, "I64": types.I64,
	"U8": types.U8, "U16": types.U16, "U32": types.U32, "U64": types.U64,
	"F16": types.F16, "BF16": types.BF16, "F32": types.F32, "F64": types.F64,
	"F8_E4M3": types.F8E4M3, "F8_E5M2": types.F8E5M2, "F8_E8M0": types.E8M0, "F4": types.F4E2M1,
}

// OpenSafetensors opens a .safetensors file. A file that cannot be opened gives the error of os.Open, one with a wrong
// header a *SafetensorsError.
func OpenSafetensors(path string) (*Safetensors, error) {
	var s *Safetensors
	f, err := openArchive(path, func(f *os.File, size int64) (err error) {
		s, err = ReadSafetensors(f, size)
		var e *SafetensorsError
		if errors.As(err, &e) {
			e.Path = path
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	s.path, s.file = path, f
	return s, nil
}

// ReadSafetensors reads the header of data of size bytes. Everything that it says of sizes and places is checked here,
// against size, so that a small file cannot ask for much memory. The errors are *SafetensorsError.
func ReadSafetensors(r io.ReaderAt, size int64) (*Safetensors, error) {
	fail := func(err error, format string, args ...any) (*Safetensors, error) {
		return nil, &SafetensorsError{Reason: fmt.Sprintf(format, args...), Err: err}
	}
	var length [8]byte
	if err := readAt(r, length[:], 0); err != nil {
		return fail(err, "the length of the header")
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > maxSafetensorsHeader {
		return fail(nil, "a header of %d bytes is longer than the limit of %d", n, maxSafetensorsHeader)
	}
	s := &Safetensors{data: r, begin: int64(len(length)) + int64(n)}
	if s.begin > size {
		return fail(io.ErrUnexpectedEOF, "the header has %d bytes, the file has %d left", n,
			max(size-int64(len(length)), 0))
	}
	header := make([]byte, n)
	if err := readAt(r, header, int64(len(length))); err != nil {
		return fail(err, "the header")
	}
	if err := s.parse(header); err != nil {
		return nil, err
	}
	if err := s.covers(size - s.begin); err != nil {
		return nil, err
	}
	return s, nil
}

// readAt fills b from an offset of r.
func readAt(r io.ReaderAt, b []byte, offset int64) error {
	n, err := r.ReadAt(b, offset)
	switch {
	case n == len(b):
		return nil
	case errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	}
	return err
}

// Close closes the file; the tensors that were read stay.
func (s *Safetensors) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// Names lists the tensors in the order of the header.
func (s *Safetensors) Names() []string {
	var out []string
	for _, x := range s.tensors {
		out = append(out, x.name)
	}
	return out
}

// Metadata are the strings that the file has beside its tensors; nil for none.
func (s *Safetensors) Metadata() map[string]string { return s.metadata }

// Read reads the tensor of a name.
func (s *Safetensors) Read(name string) (*tensor.Tensor, error) {
	i := slices.IndexFunc(s.tensors, func(x safetensor) bool { return x.name == name })
	if i < 0 {
		return nil, &SafetensorsError{Path: s.path, Tensor: name, Reason: "the file has no such tensor; it has " +
			quoted(s.Names())}
	}
	x := s.tensors[i]
	t, err := tensor.New(x.dtype, x.shape...)
	if err != nil {
		return nil, &SafetensorsError{Path: s.path, Tensor: name, Reason: "no memory", Err: err}
	}
	data := t.Raw()
	into := data[t.Bytes()-(x.end-x.begin):] // the upper half where two elements are in a byte
	if err := readAt(s.data, into, s.begin+x.begin); err != nil {
		t.Close()
		return nil, &SafetensorsError{Path: s.path, Tensor: name, Reason: "reading its elements", Err: err}
	}
	fromLittleEndian(data, x.dtype)
	if x.dtype == types.F4E2M1 {
		unpack(data, into)
	}
	return t, nil
}

// ReadColumnMajor is Read for a tensor in column-major order.
func (s *Safetensors) ReadColumnMajor(name string) (*tensor.Tensor, error) {
	t, err := s.Read(name)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	return t.ColumnMajor()
}

// Describe says what the file holds of a name.
func (s *Safetensors) Describe(name string) (Described, bool) {
	for _, x := range s.tensors {
		if x.name == name {
			return Described{x.name, x.dtype, slices.Clone(x.shape)}, true
		}
	}
	return Described{}, false
}

// ReadPart is Read for a part of the tensor. No more is read than the part, and what stands between short runs of it.
func (s *Safetensors) ReadPart(name string, cut Cut) (*tensor.Tensor, error) {
	i := slices.IndexFunc(s.tensors, func(x safetensor) bool { return x.name == name })
	if i < 0 || s.tensors[i].dtype == types.F4E2M1 {
		t, err := s.Read(name) // which says that there is none; a row of halves of bytes may begin within one
		if err != nil {
			return nil, err
		}
		defer t.Close()
		return PartOf(t, cut)
	}
	x := s.tensors[i]
	axis, lo, hi, err := cut(x.dtype, x.shape)
	if err != nil {
		return nil, err
	}
	h := &npyHeader{dtype: x.dtype, shape: x.shape, bytes: s.begin + x.begin, swap: hostIsBigEndian}
	t, _, err := h.readPart(s.data, axis, lo, hi)
	if err != nil {
		return nil, &SafetensorsError{Path: s.path, Tensor: name, Reason: "reading its elements", Err: err}
	}
	return t, nil
}

// unpack gives each half of a byte a byte of its own. The packed ones may be the upper half of data.
func unpack(data, packed []byte) {
	for i, b := range packed {
		data[2*i], data[2*i+1] = b&15, b>>4
	}
}

// fromLittleEndian makes elements of bytes in a file.
func fromLittleEndian(data []byte, dtype types.DType) {
	if hostIsBigEndian {
		swapBytes(data, dtype.Bytes())
	}
	if dtype == types.Bool {
		normalizeBools(data)
	}
}
