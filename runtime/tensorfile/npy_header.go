package tensorfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"healc/lang/types"
)

// The .npy format (NumPy enhancement proposal 1): the magic bytes "\x93NUMPY", one byte each for the major and minor
// version, the length of the header (2 bytes in version 1, 4 from version 2 on, little-endian), the header, which is a
// Python dict literal in Latin-1 (UTF-8 from version 3 on), and the elements.
const (
	npyMagic     = "\x93NUMPY"
	maxNpyHeader = 64 << 10 // NumPy writes about a hundred bytes
	maxNpyRank   = 64       // NumPy's own limit
	npyAlign     = 64       // of the first element in the file
)

type npyHeader struct {
	dtype   types.DType
	swap    bool // the file's byte order is not ours
	fortran bool
	shape   []int64
	shapeAt int64 // offset of the shape, for messages
	bytes   int64 // up to the first element
}

func npyFail(offset int64, format string, args ...any) error {
	return &NpyError{Offset: offset, Reason: fmt.Sprintf(format, args...)}
}

// readFull is io.ReadFull at an offset, with the error of a stream that ends early.
func readFull(r io.Reader, b []byte, offset int64, what string) error {
	n, err := io.ReadFull(r, b)
	if err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return &NpyError{Offset: offset + int64(n), Reason: what, Err: err}
}

func readNpyHeader(r io.Reader) (*npyHeader, error) {
	var start [8]byte
	err := readFull(r, start[:], 0, "the magic bytes of .npy")
	switch got := strings.TrimRight(string(start[:6]), "\x00"); { // of a file that is shorter, what there is
	case err != nil && strings.HasPrefix(npyMagic, got):
		return nil, err
	case got != npyMagic:
		return nil, npyFail(0, `no .npy file: it starts with %q, not "\x93NUMPY"`, got)
	}
	at := int64(len(start))
	var length [4]byte
	field := length[:]
	switch major := start[6]; {
	case major == 1:
		field = length[:2]
	case major < 1 || major > 3:
		return nil, npyFail(6, "unsupported .npy version %d.%d; versions 1 to 3 are supported", major, start[7])
	}
	if err := readFull(r, field, at, "the length of the header"); err != nil {
		return nil, err
	}
	at += int64(len(field))
	n := binary.LittleEndian.Uint32(length[:])
	if n > maxNpyHeader {
		return nil, npyFail(8, "a header of %d bytes is longer than the limit of %d", n, maxNpyHeader)
	}
	text := make([]byte, n)
	if err := readFull(r, text, at, "the header"); err != nil {
		return nil, err
	}
	h := &npyHeader{bytes: at + int64(n)}
	return h, h.parse(text, at)
}

// parse reads the dict, which starts at offset at of the file.
func (h *npyHeader) parse(text []byte, at int64) error {
	v, err := parseLiteral(string(text), at)
	if err != nil {
		return err
	}
	if v.kind != pyDict {
		return npyFail(v.at, "the header is a %s, not a dict", v.kind)
	}
	seen := map[string]bool{}
	for i := 0; i < len(v.items); i += 2 {
		key, val := v.items[i], v.items[i+1]
		if key.kind != pyString {
			return npyFail(key.at, "a key of the header is a %s, not a string", key.kind)
		}
		if seen[key.str] {
			return npyFail(key.at, "key %q stands twice in the header", key.str)
		}
		seen[key.str] = true
		switch key.str {
		case "descr":
			err = h.setDescr(val)
		case "fortran_order":
			if val.kind != pyBool {
				return npyFail(val.at, "fortran_order is a %s, not a bool", val.kind)
			}
			h.fortran = val.num != 0
		case "shape":
			err = h.setShape(val)
		default:
			return npyFail(key.at, "unknown key %q in the header", key.str)
		}
		if err != nil {
			return err
		}
	}
	for _, key := range []string{"descr", "fortran_order", "shape"} {
		if !seen[key] {
			return npyFail(v.at, "the header lacks key %q", key)
		}
	}
	return nil
}

var npyDTypes = map[string]types.DType{
	"b1": types.Bool, "?": types.Bool,
	"i1": types.I8, "i2": types.I16, "i4": types.I32, "i8": types.I64,
	"u1": types.U8, "u2": types.U16, "u4": types.U32, "u8": types.U64,
	"f2": types.F16, "f4": types.F32, "f8": types.F64,
}

// npyKinds names the kinds of dtype that tensors have no element type for.
var npyKinds = map[byte]string{
	'c': "complex numbers", 'f': "extended floats", 'O': "Python objects", 'S': "byte strings", 'a': "byte strings",
	'U': "strings",
	'V': "raw bytes", 'M': "dates", 'm': "time spans",
}

func (h *npyHeader) setDescr(v pyValue) error {
	if v.kind == pyList || v.kind == pyTuple {
		return npyFail(v.at, "unsupported dtype: structured arrays")
	}
	if v.kind != pyString {
		return npyFail(v.at, "descr is a %s, not a string", v.kind)
	}
	name := strings.TrimLeft(v.str, "<>=|")
	if len(v.str)-len(name) > 1 {
		return npyFail(v.at, "unsupported dtype %q", v.str)
	}
	dtype, ok := npyDTypes[name]
	if !ok {
		if name != "" && npyKinds[name[0]] != "" {
			return npyFail(v.at, "unsupported dtype %q: %s", v.str, npyKinds[name[0]])
		}
		return npyFail(v.at, "unsupported dtype %q", v.str)
	}
	h.dtype = dtype
	if dtype.Bytes() > 1 {
		switch v.str[0] {
		case '<':
			h.swap = hostIsBigEndian
		case '>':
			h.swap = !hostIsBigEndian
		case '|':
			return npyFail(v.at, "dtype %q of %d bytes has no byte order", v.str, dtype.Bytes())
		}
	}
	return nil
}

func (h *npyHeader) setShape(v pyValue) error {
	if v.kind != pyTuple {
		return npyFail(v.at, "shape is a %s, not a tuple", v.kind)
	}
	if len(v.items) > maxNpyRank {
		return npyFail(v.at, "a shape of rank %d; the limit is %d", len(v.items), maxNpyRank)
	}
	h.shapeAt = v.at
	h.shape = make([]int64, len(v.items))
	for i, d := range v.items {
		if d.kind != pyInt {
			return npyFail(d.at, "extent %d of the shape is a %s, not an int", i, d.kind)
		}
		if d.num < 0 {
			return npyFail(d.at, "extent %d of the shape is negative: %d", i, d.num)
		}
		h.shape[i] = d.num
	}
	return nil
}
