package wire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	goruntime "runtime"
	"slices"

	"healc/lang/types"
	"healc/runtime/memory"
	"healc/runtime/tensor"
)

// Want is what a reader knows about a tensor before it comes.
type Want struct {
	DType types.DType
	Shape []int64
}

// Bytes is how many bytes the elements of some tensors have.
func Bytes(all []Want) (sum int64) {
	for _, w := range all {
		if n, err := tensor.CheckShape(w.DType, w.Shape); err == nil {
			sum = min(sum, math.MaxInt64-n) + n
		}
	}
	return sum
}

// Reader reads messages. It is for one goroutine at a time.
type Reader struct {
	from *bufio.Reader
	head [headBytes]byte

	trusts bool // memory is made for what is announced
}

// NewReader reads from r.
func NewReader(r io.Reader) *Reader { return &Reader{from: bufio.NewReaderSize(r, 64<<10)} }

// Head is what a message begins with. Its text, and then its tensors, are read next.
type Head struct {
	Kind    Kind
	ID      uint32
	Func    uint32
	text    int
	Tensors int
}

// Next reads a head. The error is io.EOF where there is no more message.
func (r *Reader) Next() (Head, error) {
	if _, err := io.ReadFull(r.from, r.head[:]); err != nil {
		return Head{}, err
	}
	at := func(i int) uint32 { return binary.LittleEndian.Uint32(r.head[i:]) }
	h := Head{Kind: Kind(r.head[0]), ID: at(1), Func: at(5), text: int(at(9)), Tensors: int(at(13))}
	switch {
	case h.Kind == 0 || h.Kind > lastKind:
		return h, fmt.Errorf("there is no message of kind %d", h.Kind)
	case h.text < 0 || h.text > MaxText:
		return h, fmt.Errorf("a text of %d bytes is too long", h.text)
	case h.Tensors < 0 || h.Tensors > MaxTensors:
		return h, fmt.Errorf("%d tensors are too many", h.Tensors)
	}
	return h, nil
}

// Text reads the text.
func (r *Reader) Text(h Head) ([]byte, error) { return r.grow(int64(h.text)) }

// chunk is what memory grows by, at first.
const chunk = 256 << 10

// grow reads n bytes; memory for them is made as they come.
func (r *Reader) grow(n int64) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	var b bytes.Buffer
	b.Grow(int(min(n, chunk)))
	if _, err := io.CopyN(&b, r.from, n); err != nil {
		return nil, unexpected(err)
	}
	return b.Bytes(), nil
}

// unexpected is the error of an end in the middle.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Wanted reads a tensor of which the type and the shape are known. Anything else is an error.
// A *RoomError says that there is no memory for it; it was read over.
func (r *Reader) Wanted(w Want) (*tensor.Tensor, error) { return r.tensor(&w, 0) }

// Any reads a tensor of at most so many bytes, or nil. Elements that are one place count each.
func (r *Reader) Any(most int64) (*tensor.Tensor, error) { return r.tensor(nil, most) }

// Trusted reads a tensor, or nil, from a side that may have memory made for what it announces.
func (r *Reader) Trusted() (*tensor.Tensor, error) {
	r.trusts = true
	defer func() { r.trusts = false }()
	return r.tensor(nil, 0)
}

// RoomError says that there is no memory for a tensor. What comes after it can be read.
type RoomError struct{ Err error }

func (e *RoomError) Error() string { return e.Err.Error() }

// Unwrap gives what the allocator said.
func (e *RoomError) Unwrap() error { return e.Err }

func (r *Reader) tensor(w *Want, most int64) (*tensor.Tensor, error) {
	form, err := r.from.ReadByte()
	if err != nil {
		return nil, unexpected(err)
	}
	switch form {
	case formNil:
		if w != nil {
			return nil, fmt.Errorf("there is no tensor where %s is to be", types.Of(w.DType, w.Shape...))
		}
		return nil, nil
	case formText:
		return r.text(w)
	case formTensor:
		return r.elements(w, most)
	}
	return nil, fmt.Errorf("there is no tensor of form %d", form)
}

// text reads a string.
func (r *Reader) text(w *Want) (*tensor.Tensor, error) {
	if w != nil && w.DType != types.String {
		return nil, fmt.Errorf("there is a string where %s is to be", types.Of(w.DType, w.Shape...))
	}
	var n [4]byte
	if _, err := io.ReadFull(r.from, n[:]); err != nil {
		return nil, unexpected(err)
	}
	size := int64(binary.LittleEndian.Uint32(n[:]))
	if size > types.MaxString {
		return nil, fmt.Errorf("a string of %d bytes is too long", size)
	}
	b, err := r.grow(size)
	if err != nil {
		return nil, err
	}
	return tensor.Text(string(b)), nil
}

// elements reads what has elements.
func (r *Reader) elements(w *Want, most int64) (*tensor.Tensor, error) {
	var b [7]byte
	if _, err := io.ReadFull(r.from, b[:3]); err != nil {
		return nil, unexpected(err)
	}
	dtype, rank := types.DType(b[0]), int(binary.LittleEndian.Uint16(b[1:]))
	if !slices.Contains(types.DTypes, dtype) || rank > MaxRank {
		return nil, fmt.Errorf("there is no tensor of type %d with %d axes", dtype, rank)
	}
	shape, axes := make([]int64, rank), make([]axis, rank)
	for i := range rank {
		if _, err := io.ReadFull(r.from, b[:7]); err != nil {
			return nil, unexpected(err)
		}
		shape[i] = int64(binary.LittleEndian.Uint32(b[:]))
		axes[i] = axis{binary.LittleEndian.Uint16(b[4:]), b[6]}
	}
	if w != nil && (dtype != w.DType || !slices.Equal(shape, w.Shape)) {
		return nil, fmt.Errorf("there is %s where %s is to be", tensor.TypeName(dtype, shape),
			tensor.TypeName(w.DType, w.Shape))
	}
	whole, err := tensor.CheckShape(dtype, shape)
	if err != nil {
		return nil, err
	}
	if memory.Count(shape) == 0 && !plain(axes) {
		return nil, fmt.Errorf("%s, which is empty, has strides", tensor.TypeName(dtype, shape))
	}
	if memory.Count(shape) == 0 {
		return tensor.New(dtype, shape...)
	}
	strides, offset, room, err := place(shape, axes)
	if err != nil {
		return nil, err
	}
	dense := sent(shape, axes)
	bytes := memory.Count(dense) * int64(dtype.Bytes())
	if w == nil && !r.trusts && (whole > most || room > 4*most+64) {
		return nil, fmt.Errorf("a tensor of %d bytes is too large", whole)
	}
	t, err := r.fill(w != nil || r.trusts, dtype, dense, bytes)
	if err != nil {
		return nil, err
	}
	if plain(axes) {
		return t, nil
	}
	defer t.Close()
	return scatter(t, shape, dense, strides, offset, room)
}

// fill reads elements that lie without gaps, at once where they are known to come.
func (r *Reader) fill(known bool, dtype types.DType, shape []int64, bytes int64) (*tensor.Tensor, error) {
	var have []byte
	var err error
	if !known && bytes > chunk {
		if have, err = r.grow(bytes); err != nil {
			return nil, err
		}
	}
	t, err := tensor.New(dtype, shape...)
	if err != nil {
		if have == nil {
			if _, err := io.CopyN(io.Discard, r.from, bytes); err != nil {
				return nil, unexpected(err)
			}
		}
		return nil, &RoomError{err}
	}
	if bytes == 0 {
		return t, nil
	}
	to := t.Raw()
	if have != nil {
		copy(to, have)
	} else if _, err = io.ReadFull(r.from, to); err != nil {
		t.Close()
		return nil, unexpected(err)
	}
	if dtype == types.Bool {
		for _, b := range to {
			if b > 1 {
				t.Close()
				return nil, fmt.Errorf("a bool is %d", b)
			}
		}
	}
	goruntime.KeepAlive(t)
	return t, nil
}

// scatter puts elements where strides want them.
func scatter(t *tensor.Tensor, shape, dense, strides []int64, offset, room int64) (*tensor.Tensor, error) {
	base, err := tensor.New(t.DType, split(room)...)
	if err != nil {
		return nil, &RoomError{err}
	}
	defer base.Close()
	to, err := base.Unchecked(offset, dense, strides)
	if err != nil {
		return nil, err
	}
	defer to.Close()
	if err := t.CopyTo(to); err != nil {
		return nil, err
	}
	return base.Unchecked(offset, shape, strides)
}

// split is a shape for so many elements, or a few more: no axis is longer than axes may be.
func split(n int64) []int64 {
	if n <= types.MaxExtent {
		return []int64{n}
	}
	const row = 1 << 20
	return []int64{(n + row - 1) / row, row}
}
