// Package arrow passes tensors to other libraries of the same process, and takes them, by the C Data Interface of
// Apache Arrow: two C structs, which say what an array is and where its elements lie. Nothing is copied, but bools, of
// which Arrow has eight in a byte, and tensors that are not in row-major order.
//
// A tensor of one axis is an array of numbers or bools; one of more is a fixed-size list of such lists. Elements are
// never null.
//
// The format: https://arrow.apache.org/docs/format/CDataInterface.html.
package arrow

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"

	"healc/lang/types"
	"healc/runtime/memory"
	"healc/runtime/tensor"
)

// Schema is the C struct ArrowSchema. Its release function is set while it has contents.
type Schema struct {
	Format, Name, Metadata *byte
	Flags, NChildren       int64
	Children               **Schema
	Dictionary             *Schema
	Release                uintptr // a C function
	Private                uintptr
}

// Array is the C struct ArrowArray.
type Array struct {
	Length, NullCount, Offset, NBuffers, NChildren int64
	Buffers                                        *unsafe.Pointer
	Children                                       **Array
	Dictionary                                     *Array
	Release                                        uintptr
	Private                                        uintptr
}

// formats are the strings for element types.
var formats = map[string]types.DType{
	"b": types.Bool, "c": types.I8, "s": types.I16, "i": types.I32, "l": types.I64,
	"C": types.U8, "S": types.U16, "I": types.U32, "L": types.U64, "e": types.F16, "f": types.F32, "g": types.F64,
}

// listFormat begins the format of a fixed-size list, and its length follows.
const listFormat = "+w:"

// Drop calls the release function of a schema that has contents.
func (s *Schema) Drop() {
	if s.Release != 0 {
		purego.SyscallN(s.Release, uintptr(unsafe.Pointer(s)))
	}
}

// Drop calls the release function of an array that has contents.
func (a *Array) Drop() {
	if a.Release != 0 {
		purego.SyscallN(a.Release, uintptr(unsafe.Pointer(a)))
	}
}

// format is the string at s, of which no type that this package knows has more than a number in it.
func (s *Schema) format() (string, error) {
	const longest = 64
	if s.Format == nil {
		return "", fmt.Errorf("a schema has no format")
	}
	for n := range longest {
		if *(*byte)(unsafe.Add(unsafe.Pointer(s.Format), n)) == 0 {
			return unsafe.String(s.Format, n), nil
		}
	}
	return "", fmt.Errorf("unsupported: a format of more than %d bytes", longest)
}

// Import makes a tensor of what another library has exported, and takes it over, also when there is an error: both
// structs have no contents afterwards. The tensor cannot be written. Its Close releases the array.
func Import(s *Schema, a *Array) (*tensor.Tensor, error) {
	defer s.Drop()
	if s.Release == 0 || a.Release == 0 {
		a.Drop()
		return nil, fmt.Errorf("import from Arrow: the schema or the array has been released")
	}
	moved := new(Array) // a struct is moved by copying it
	*moved = *a
	a.Release = 0
	t, err := imported(s, moved)
	if err != nil {
		moved.Drop()
		return nil, fmt.Errorf("import from Arrow: %w", err)
	}
	return t, nil
}

// imported is a tensor that drops a when it is closed.
func imported(s *Schema, a *Array) (*tensor.Tensor, error) {
	whole, shape := a, []int64{a.Length}
	first, n := int64(0), a.Length // of the elements of a that belong to the tensor
	for {
		format, err := s.format()
		if err != nil {
			return nil, err
		}
		if err := a.check(format, first, n); err != nil {
			return nil, err
		}
		first += a.Offset
		if dtype, ok := formats[format]; ok {
			return a.elements(dtype, first, shape, whole)
		}
		length, isList := strings.CutPrefix(format, listFormat)
		size, err := strconv.ParseInt(length, 10, 64)
		switch {
		case !isList || s.Dictionary != nil || a.Dictionary != nil:
			return nil, fmt.Errorf("unsupported: an array of format %q", format)
		case err != nil || size < 0 || size > types.MaxExtent:
			return nil, fmt.Errorf("unsupported: fixed-size lists of format %q", format)
		case s.NChildren != 1 || a.NChildren != 1 || s.Children == nil || a.Children == nil || *s.Children == nil ||
			*a.Children == nil:
			return nil, fmt.Errorf("a fixed-size list has no single child")
		case size > 0 && (first > math.MaxInt64/size || n > math.MaxInt64/size):
			return nil, fmt.Errorf("fixed-size lists of %d elements are too long", size)
		}
		first, n, shape = first*size, n*size, append(shape, size)
		s, a = *s.Children, *a.Children
	}
}

// check is the error of an array in which the elements [first, first+n) are not all there.
func (a *Array) check(format string, first, n int64) error {
	switch {
	case a.Length < 0 || a.Offset < 0 || a.Offset > math.MaxInt64-a.Length || first > a.Length-n:
		return fmt.Errorf("an array of format %q with %d elements from %d on has no elements [%d, +%d)", format,
			a.Length, a.Offset, first, n)
	case a.NullCount == 0 || n == 0:
		return nil
	case a.NBuffers < 1 || a.Buffers == nil:
		return fmt.Errorf("an array of format %q has no buffers", format)
	}
	valid := *a.Buffers
	if valid == nil {
		return nil
	}
	for i := first + a.Offset; i < first+a.Offset+n; i++ {
		if !bit(valid, i) {
			return fmt.Errorf("unsupported: element %d of an array of format %q is null", i-a.Offset, format)
		}
	}
	return nil
}

func bit(at unsafe.Pointer, i int64) bool { return *(*byte)(unsafe.Add(at, i/8))>>(i%8)&1 != 0 }

// elements is the tensor on the elements of a from first on, in its buffer.
func (a *Array) elements(dtype types.DType, first int64, shape []int64, whole *Array) (*tensor.Tensor, error) {
	size, err := tensor.CheckShape(dtype, shape)
	if err != nil {
		return nil, err
	}
	if size == 0 {
		t, err := tensor.Zeros(dtype, shape...)
		if err == nil {
			whole.Drop()
		}
		return t, err
	}
	const buffers = 2 // of which the first says which elements are null
	if a.Buffers == nil {
		return nil, fmt.Errorf("an array of %v has no buffers", dtype)
	}
	if a.NBuffers != buffers {
		return nil, fmt.Errorf("an array of %v has %d buffers, not %d", dtype, a.NBuffers, buffers)
	}
	data := *(*unsafe.Pointer)(unsafe.Add(unsafe.Pointer(a.Buffers), unsafe.Sizeof(uintptr(0))))
	if data == nil {
		return nil, fmt.Errorf("an array of %v has no elements in memory", dtype)
	}
	if dtype == types.Bool {
		t, err := tensor.New(dtype, shape...)
		if err != nil {
			return nil, err
		}
		for i, raw := int64(0), t.Raw(); i < size; i++ {
			raw[i] = 0
			if bit(data, first+i) {
				raw[i] = 1
			}
		}
		whole.Drop()
		return t, nil
	}
	at := unsafe.Add(data, first*int64(dtype.Bytes()))
	if uintptr(at)%uintptr(dtype.Bytes()) != 0 {
		return nil, fmt.Errorf("unsupported: the elements of an array of %v lie at no multiple of their size", dtype)
	}
	return tensor.FromStorage(memory.WrapReadOnly(at, size, whole, whole.Drop), dtype, shape...)
}

// node is what one struct that was exported refers to. Memory of the Go heap does not move, and kept keeps it.
type node struct {
	text     []byte
	buffers  [2]unsafe.Pointer
	bits     []byte // of bools
	t        *tensor.Tensor
	schema   Schema // of the child
	array    Array
	children [1]unsafe.Pointer
}

var kept struct {
	sync.Mutex
	nodes map[uintptr]*node
	last  uintptr
}

func keep(n *node) uintptr {
	kept.Lock()
	defer kept.Unlock()
	if kept.nodes == nil {
		kept.nodes = map[uintptr]*node{}
	}
	kept.last++
	kept.nodes[kept.last] = n
	return kept.last
}

func forget(id uintptr) *node {
	kept.Lock()
	defer kept.Unlock()
	n := kept.nodes[id]
	delete(kept.nodes, id)
	return n
}

// The release functions of what is exported. A child that was moved away has its own life.
var releaseSchema = sync.OnceValue(func() uintptr {
	return purego.NewCallback(func(s *Schema) uintptr {
		n := forget(s.Private)
		s.Release = 0
		if n != nil {
			n.schema.Drop()
		}
		return 0
	})
})

var releaseArray = sync.OnceValue(func() uintptr {
	return purego.NewCallback(func(a *Array) uintptr {
		n := forget(a.Private)
		a.Release = 0
		if n != nil {
			n.array.Drop()
			n.t.Close()
		}
		return 0
	})
})

// Export fills in both structs, which have no contents, with a tensor of one axis at least. The memory stays as long
// as the one who imports it wants, whatever becomes of t, and nobody is to write there meanwhile.
func Export(t *tensor.Tensor, s *Schema, a *Array) error {
	if err := t.HostErr(); err != nil {
		return err
	}
	format := ""
	for f, d := range formats {
		if d == t.DType {
			format = f
		}
	}
	switch {
	case format == "":
		to := types.F32
		if t.DType == types.I4 {
			to = types.I8
		}
		return fmt.Errorf("export to Arrow: unsupported dtype %v; convert to %v first", t.DType, to)
	case t.Rank() == 0:
		return fmt.Errorf("export to Arrow: unsupported: a scalar; give it an axis by Reshape(1)")
	}
	dense, err := t.Contiguous()
	if err != nil {
		return err
	}
	exportSchema(s, format, t.Shape)
	exportArray(a, dense, 0)
	return nil
}

func exportSchema(s *Schema, format string, shape []int64) {
	n := &node{text: append([]byte(format), 0)}
	*s = Schema{Release: releaseSchema(), Private: keep(n)}
	if len(shape) > 1 {
		n.text = append([]byte(listFormat+strconv.FormatInt(shape[1], 10)), 0)
		exportSchema(&n.schema, format, shape[1:])
		n.children[0] = unsafe.Pointer(&n.schema)
		s.NChildren, s.Children = 1, (**Schema)(unsafe.Pointer(&n.children[0]))
	}
	s.Format, s.Name = &n.text[0], &n.text[len(n.text)-1]
}

// exportArray is the array of the lists along an axis, of which the last has t.
func exportArray(a *Array, t *tensor.Tensor, axis int) {
	n := &node{}
	*a = Array{Length: memory.Count(t.Shape[:axis+1]), NBuffers: 1, Buffers: &n.buffers[0], Release: releaseArray(),
		Private: keep(n)}
	if axis+1 < t.Rank() {
		exportArray(&n.array, t, axis+1)
		n.children[0] = unsafe.Pointer(&n.array)
		a.NChildren, a.Children = 1, (**Array)(unsafe.Pointer(&n.children[0]))
		return
	}
	a.NBuffers, n.t = 2, t
	if t.DType != types.Bool {
		n.buffers[1] = t.Ptr()
		return
	}
	n.bits = make([]byte, t.Bytes()/8+1)
	for i, x := range t.Raw() {
		n.bits[i/8] |= x << (i % 8)
	}
	n.buffers[1] = unsafe.Pointer(&n.bits[0])
}
