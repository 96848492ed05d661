package onnx

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"healc/internal/regular"
	"healc/lang/types"
	"healc/runtime/tensor"
)

// Tensor is a tensor in the file: its elements in row-major order, in little-endian bytes.
type Tensor struct {
	Name  string
	Elem  types.DType
	Shape []int64
	data  []byte
	// where the elements lie, if not in data
	external *external
}

// external is a place in another file.
type external struct {
	location       string
	offset, length int64 // length is -1 to the end
}

// elems are ONNX's element types that Heal has.
var elems = map[int64]types.DType{
	1: types.F32, 2: types.U8, 3: types.I8, 4: types.U16, 5: types.I16, 6: types.I32, 7: types.I64, 9: types.Bool,
	10: types.F16, 11: types.F64, 12: types.U32, 13: types.U64, 16: types.BF16, 17: types.F8E4M3, 19: types.F8E5M2,
}

// otherElems are the names of those that Heal has not, or that this version does not import.
var otherElems = map[int64]string{
	8: "strings", 14: "complex64", 15: "complex128", 18: "float8e4m3fnuz", 20: "float8e5m2fnuz", 21: "uint4",
	22: "int4", 23: "float4e2m1", 24: "float8e8m0",
}

// elemType is the type of Heal for an element type of ONNX.
func elemType(n int64) (types.DType, error) {
	if d, ok := elems[n]; ok {
		return d, nil
	}
	if name := otherElems[n]; name != "" {
		return 0, fmt.Errorf("unsupported: tensors of %s", name)
	}
	return 0, fmt.Errorf("there is no element type %d", n)
}

// DecodeTensor reads a tensor, as in the .pb files of ONNX's tests.
func DecodeTensor(data []byte) (*tensor.Tensor, error) {
	t, err := decodeTensor(data)
	if err != nil {
		return nil, err
	}
	return t.Tensor("")
}

func decodeTensor(data []byte) (*Tensor, error) {
	t := &Tensor{}
	var elem, location int64
	var raw, floats, doubles []byte
	var ints, longs, ulongs []int64
	var hasRaw bool
	entries := map[string]string{}
	err := fields(data, func(x field) (err error) {
		switch x.number {
		case 1:
			return x.integers(&t.Shape)
		case 2:
			return x.integer(&elem)
		case 3:
			return fmt.Errorf("unsupported: a tensor in segments")
		case 4:
			return x.fixed(4, &floats)
		case 5:
			return x.integers(&ints)
		case 7:
			return x.integers(&longs)
		case 8:
			return x.text(&t.Name)
		case 9:
			hasRaw = true
			raw, err = x.message()
			return err
		case 10:
			return x.fixed(8, &doubles)
		case 11:
			return x.integers(&ulongs)
		case 13:
			return decodeEntry(x, entries)
		case 14:
			return x.integer(&location)
		}
		return nil
	})
	if err == nil {
		t.Elem, err = elemType(elem)
	}
	var size int64
	if err == nil && len(t.Shape) > maxAxes {
		err = fmt.Errorf("it has %d axes, and %d are possible", len(t.Shape), maxAxes)
	}
	if err == nil {
		size, err = tensor.CheckShape(t.Elem, t.Shape)
	}
	if err != nil {
		return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
	}
	switch width := t.Elem.Bytes(); {
	case location == 1:
		t.external, err = externalPlace(entries)
	case hasRaw:
		t.data = raw
	case t.Elem == types.F32:
		t.data = floats
	case t.Elem == types.F64:
		t.data = doubles
	case t.Elem == types.I64:
		t.data = narrowed(longs, width)
	case t.Elem == types.U64 || t.Elem == types.U32:
		t.data = narrowed(ulongs, width)
	default:
		t.data = narrowed(ints, width)
	}
	if err == nil && t.external == nil && int64(len(t.data)) != size {
		err = fmt.Errorf("%v of shape %v has %d bytes, and the file has %d", t.Elem, t.Shape, size, len(t.data))
	}
	if err != nil {
		return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
	}
	return t, nil
}

// decodeEntry reads a key and its value.
func decodeEntry(x field, to map[string]string) error {
	b, err := x.message()
	if err != nil {
		return err
	}
	var key, value string
	err = fields(b, func(x field) error {
		switch x.number {
		case 1:
			return x.text(&key)
		case 2:
			return x.text(&value)
		}
		return nil
	})
	to[key] = value
	return err
}

// externalPlace is the place that the entries say.
func externalPlace(entries map[string]string) (*external, error) {
	e := &external{location: entries["location"], length: -1}
	for key, to := range map[string]*int64{"offset": &e.offset, "length": &e.length} {
		if text, ok := entries[key]; ok {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil || n < 0 {
				return nil, fmt.Errorf("the %s %q of its elements is no number", key, text)
			}
			*to = n
		}
	}
	return e, nil
}

// narrowed are the lowest bytes of each number.
func narrowed(numbers []int64, width int) []byte {
	out := make([]byte, 0, len(numbers)*width)
	for _, n := range numbers {
		out = append(out, binary.LittleEndian.AppendUint64(nil, uint64(n))[:width]...)
	}
	return out
}

// bytes are the elements. Those in files of their own are read from the folder dir.
func (t *Tensor) bytes(dir string) ([]byte, error) {
	if t.external == nil {
		return t.data, nil
	}
	size, err := tensor.CheckShape(t.Elem, t.Shape)
	if err != nil {
		return nil, err
	}
	data, err := t.external.read(dir, size)
	if err != nil {
		return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
	}
	return data, nil
}

// read reads size bytes. A file that does not lie in the folder, links followed, is an error.
func (e *external) read(dir string, size int64) ([]byte, error) {
	switch {
	case dir == "":
		return nil, fmt.Errorf("its elements are in the file %q, and the model is in none", e.location)
	case e.length >= 0 && e.length != size:
		return nil, fmt.Errorf("it has %d bytes, and the file says %d", size, e.length)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	name := filepath.FromSlash(e.location)
	if st, err := root.Stat(name); err != nil || !st.Mode().IsRegular() {
		return nil, fmt.Errorf("its elements are in %q, which is no file in the folder of the model", e.location)
	} else if st.Size()-size < e.offset {
		return nil, fmt.Errorf("its elements are %d bytes from byte %d of %q on, which has %d", size, e.offset,
			e.location, st.Size())
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data := make([]byte, size)
	if _, err := io.ReadFull(io.NewSectionReader(f, e.offset, size), data); err != nil {
		return nil, fmt.Errorf("cannot read %q: %w", e.location, err)
	}
	return data, nil
}

// Tensor makes a tensor of t. Elements in files of their own are read from the folder dir.
func (t *Tensor) Tensor(dir string) (*tensor.Tensor, error) {
	data, err := t.bytes(dir)
	if err != nil {
		return nil, err
	}
	if t.Elem != types.Bool && binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		out, err := tensor.New(t.Elem, t.Shape...)
		if err == nil {
			copy(out.Raw(), data)
		}
		return out, err
	}
	width := t.Elem.Bytes()
	bits := make([]uint64, len(data)/width)
	for i := range bits {
		bits[i] = element(data, i, width)
		if t.Elem == types.Bool && bits[i] != 0 {
			bits[i] = 1
		}
	}
	return tensor.FromBits(t.Elem, t.Shape, bits)
}

// element is the i-th number of width bytes.
func element(data []byte, i, width int) uint64 {
	var b [8]byte
	copy(b[:], data[i*width:(i+1)*width])
	return binary.LittleEndian.Uint64(b[:])
}

// maxModel is how large a file may be: that of a protobuf message.
const maxModel = 2 << 30

// Read reads the model in a file. Elements in files of their own are read when they are asked for, from its folder.
func Read(path string) (*Model, error) {
	data, err := regular.Read(path, maxModel)
	if err != nil {
		return nil, err
	}
	m, err := Decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	m.dir = filepath.Dir(path)
	return m, nil
}
