package tensor

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"sync/atomic"
	"unsafe"

	"healc/lang/types"
	"healc/runtime/memory"
)

// Tensor is a view of a Storage: element [i0, i1, ...] lies at Offset + i0*Strides[0] + i1*Strides[1] + ...
// elements from its start. Strides may be 0 (an expanded axis) or negative (a reversed one). A bool takes
// one byte, 0 or 1.
//
// The exported fields are there to be read; a method that needs other ones makes a new Tensor.
type Tensor struct {
	DType   types.DType
	held    atomic.Int32 // by how many calls, which Close takes from; here, so that a Tensor is small
	Shape   []int64      // extents, outermost axis first; empty for a scalar
	Strides []int64      // in elements, one per axis
	Offset  int64        // of element [0, ..., 0], in elements

	storage *memory.Storage
	text    *string            // of a string (Text), which has no storage
	err     error              // why there is no storage: what failed
	inline  [2 * fewAxes]int64 // backs Shape and Strides of a tensor of few axes
}

const fewAxes = 4

// ErrClosed is the error of every use of a tensor after its Close.
var ErrClosed = errors.New("tensor is closed")

// newView makes a tensor over s, whose reference it takes, with uninitialised Shape and Strides of the rank.
func newView(s *memory.Storage, dtype types.DType, rank int) *Tensor {
	t := &Tensor{DType: dtype, storage: s}
	if rank <= fewAxes {
		t.Shape, t.Strides = t.inline[:rank:rank], t.inline[fewAxes:fewAxes+rank:fewAxes+rank]
	} else {
		both := make([]int64, 2*rank)
		t.Shape, t.Strides = both[:rank:rank], both[rank:]
	}
	return t
}

// view makes another tensor on t's storage, with a reference of its own.
func (t *Tensor) view(rank int) *Tensor {
	t.storage.Retain()
	v := newView(t.storage, t.DType, rank)
	v.Offset = t.Offset
	return v
}

// What Close takes from the number of calls that hold a tensor, and about what that is when the memory is given back.
const (
	closed = math.MinInt32 / 2
	gone   = math.MinInt32
)

// Err is nil for a tensor that can be used. It is ErrClosed after Close, and the reason when a constructor
// without an error result, such as FromSlice, failed; every use of such a tensor returns this error.
func (t *Tensor) Err() error {
	switch {
	case t == nil:
		return errors.New("tensor is nil")
	case t.err != nil:
		return t.err
	case t.text != nil:
		return errText
	case t.held.Load() < 0:
		return ErrClosed
	case t.storage == nil:
		return errors.New("tensor has no storage; use New, FromSlice or ReadNpy")
	}
	return nil
}

// WriteErr is Err, and an error for a tensor whose elements cannot be written, since they lie in a file. What writes
// tensors asks it; through Raw and Slice, a write would end the process.
func (t *Tensor) WriteErr() error {
	if err := t.Err(); err != nil {
		return err
	}
	if t.storage.ReadOnly() {
		return errors.New("the tensor lies in a file and cannot be written; Clone makes one that can")
	}
	return nil
}

// Close drops the tensor's reference to its memory, which is free at once when this was the last. A call of a function
// that has the tensor keeps the memory until it ends. Closing again does nothing.
func (t *Tensor) Close() {
	if t == nil || t.text != nil || t.err != nil {
		return
	}
	if t.held.CompareAndSwap(0, gone) {
		t.drop()
		return
	}
	for n := t.held.Load(); n >= 0; n = t.held.Load() {
		if t.held.CompareAndSwap(n, n+closed) {
			if n == 0 {
				t.dropLast()
			}
			return
		}
	}
}

// drop gives the reference to the memory back.
func (t *Tensor) drop() {
	if s := t.storage; s != nil {
		t.storage = nil
		s.Release()
	}
}

// dropLast is drop for a tensor that was closed while it was held, when nobody seems to hold it any more: who was
// refused counts for a moment, too.
func (t *Tensor) dropLast() {
	if t.held.CompareAndSwap(closed, gone) {
		t.drop()
	}
}

// Hold keeps the memory of a tensor until Release, whoever closes the tensor meanwhile. It reports false for a tensor
// that is closed, which is not to be released.
func (t *Tensor) Hold() bool {
	if t.held.Add(1) > 0 {
		return true
	}
	t.Release()
	return false
}

// Release ends what Hold began.
func (t *Tensor) Release() {
	if t.held.Add(-1) == closed {
		t.dropLast()
	}
}

// HoldAll holds every tensor of a list but those that are nil. Where one is closed none is held, and the result is its
// place in the list; else it is -1.
func HoldAll(list []*Tensor) int {
	for i, t := range list {
		if t != nil && !t.Hold() {
			ReleaseAll(list[:i])
			return i
		}
	}
	return -1
}

// ReleaseAll ends what HoldAll began.
func ReleaseAll(list []*Tensor) {
	for _, t := range list {
		if t != nil {
			t.Release()
		}
	}
}

// Storage is the memory that t is a view of, nil when t cannot be used. The caller gets no reference.
func (t *Tensor) Storage() *memory.Storage {
	if t == nil {
		return nil
	}
	return t.storage
}

// Ptr is the address of element [0, ..., 0], nil when t cannot be used or is where only a device reaches it. It is
// valid until t is closed; who hands it to compiled code keeps t reachable meanwhile, with runtime.KeepAlive of the
// standard library, since the garbage collector does not see the use.
func (t *Tensor) Ptr() unsafe.Pointer {
	if t == nil || t.storage == nil {
		return nil
	}
	p := t.storage.Ptr()
	if p == nil {
		return nil
	}
	return unsafe.Add(p, t.Offset*int64(t.DType.Bytes()))
}

// Rank is the number of axes.
func (t *Tensor) Rank() int { return len(t.Shape) }

// Elems is the number of elements.
func (t *Tensor) Elems() int64 { return memory.Count(t.Shape) }

// Bytes is the size of the elements, which an expanded tensor has fewer of in memory.
func (t *Tensor) Bytes() int64 { return t.Elems() * int64(t.DType.Bytes()) }

// String names type and shape, as in f32[2,3]; Format prints the elements.
func (t *Tensor) String() string {
	if t == nil {
		return "nil tensor"
	}
	return TypeName(t.DType, t.Shape)
}

// IsContiguous reports whether the elements lie in row-major order without gaps. Axes of extent 1 do not
// matter, and an empty tensor is contiguous.
func (t *Tensor) IsContiguous() bool { return t.Array().IsRowMajor() }

// IsColumnMajor reports whether the elements lie in column-major order without gaps, as IsContiguous does
// for row-major order.
func (t *Tensor) IsColumnMajor() bool {
	want := int64(1)
	for i := range t.Shape {
		if t.Shape[i] != 1 && t.Strides[i] != want {
			return t.Elems() == 0
		}
		want *= t.Shape[i]
	}
	return true
}

// CheckShape returns the size of a tensor in bytes, or an error when an extent is out of range, the type
// has no elements in memory, or the size needs more than 63 bits.
func CheckShape(dtype types.DType, shape []int64) (int64, error) {
	if int(dtype) >= len(types.DTypes)+2 || dtype.Bytes() == 0 {
		return 0, fmt.Errorf("%v is no element type of a tensor", dtype)
	}
	empty := false
	for axis, d := range shape {
		if d < 0 || d > types.MaxExtent {
			return 0, fmt.Errorf("shape %s: extent %d of axis %d is not in [0, 2^31)", shapeName(shape), d, axis)
		}
		empty = empty || d == 0
	}
	if empty {
		return 0, nil
	}
	n := uint64(dtype.Bytes())
	for _, d := range shape {
		hi, lo := bits.Mul64(n, uint64(d))
		if hi != 0 || lo > math.MaxInt64 {
			return 0, &memory.OutOfMemoryError{Bytes: math.MaxInt64}
		}
		n = lo
	}
	return int64(n), nil
}

// checkAxis resolves axis, negative from the end, against a rank.
func checkAxis(what string, axis int, shape []int64) (int, error) {
	rank := len(shape)
	if axis < -rank || axis >= rank {
		return 0, fmt.Errorf("%s: axis %d is out of range for shape %s of rank %d", what, axis, shapeName(shape), rank)
	}
	if axis < 0 {
		axis += rank
	}
	return axis, nil
}

// shapeName prints [2, 3].
func shapeName(shape []int64) string { return "[" + joinInts(shape, ", ") + "]" }

// TypeName prints f32[2,3], and f32 for a scalar.
func TypeName(dtype types.DType, shape []int64) string {
	if len(shape) == 0 {
		return dtype.String()
	}
	return dtype.String() + "[" + joinInts(shape, ",") + "]"
}

func joinInts(s []int64, sep string) string {
	var b strings.Builder
	for i, n := range s {
		if i > 0 {
			b.WriteString(sep)
		}
		b.WriteString(strconv.FormatInt(n, 10))
	}
	return b.String()
}
