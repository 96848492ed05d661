package wire

import (
	"encoding/binary"
	"fmt"
	"io"
	goruntime "runtime"

	"healc/runtime/tensor"
)

// Message is one message.
type Message struct {
	Kind    Kind
	ID      uint32
	Func    uint32
	Text    []byte
	Tensors []*tensor.Tensor // nil is one that is nil
}

// headBytes is the size of a head: kind, id, function, length of the text, number of tensors.
const headBytes = 1 + 4 + 4 + 4 + 4

// The forms of a tensor.
const (
	formNil    = iota
	formText   // a length, and bytes
	formTensor // a type, a rank, axes, elements
)

// direct is from how many bytes on elements are written from where they lie.
const direct = 32 << 10

// Writer writes messages. It is for one goroutine at a time.
type Writer struct {
	to  io.Writer
	buf []byte
}

// NewWriter writes to w.
func NewWriter(w io.Writer) *Writer { return &Writer{to: w} }

// Send writes a message.
func (w *Writer) Send(m *Message) error {
	if len(m.Text) > MaxText {
		return fmt.Errorf("a text of %d bytes is larger than a message, which has at most %d", len(m.Text), MaxText)
	}
	if len(m.Tensors) > MaxTensors {
		return fmt.Errorf("%d tensors are more than a message has", len(m.Tensors))
	}
	b := append(w.buf[:0], byte(m.Kind))
	b = binary.LittleEndian.AppendUint32(b, m.ID)
	b = binary.LittleEndian.AppendUint32(b, m.Func)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(m.Text)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(m.Tensors)))
	w.buf = b
	if err := w.bytes(m.Text); err != nil {
		return err
	}
	for _, t := range m.Tensors {
		if err := w.tensor(t); err != nil {
			return err
		}
	}
	err := w.flush()
	if cap(w.buf) > 4*direct {
		w.buf = nil
	}
	return err
}

func (w *Writer) flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	_, err := w.to.Write(w.buf)
	w.buf = w.buf[:0]
	return err
}

func (w *Writer) bytes(b []byte) error {
	if len(b) < direct {
		w.buf = append(w.buf, b...)
		return nil
	}
	if err := w.flush(); err != nil {
		return err
	}
	_, err := w.to.Write(b)
	return err
}

func (w *Writer) tensor(t *tensor.Tensor) error {
	if t == nil {
		w.buf = append(w.buf, formNil)
		return nil
	}
	if s, ok := t.Text(); ok {
		w.buf = binary.LittleEndian.AppendUint32(append(w.buf, formText), uint32(len(s)))
		return w.bytes([]byte(s))
	}
	if err := t.HostErr(); err != nil {
		return err
	}
	rank := len(t.Shape)
	if rank > MaxRank {
		return fmt.Errorf("a tensor of %d axes is larger than a message, which has at most %d", rank, MaxRank)
	}
	w.buf = append(w.buf, formTensor, byte(t.DType))
	w.buf = binary.LittleEndian.AppendUint16(w.buf, uint16(rank))
	axes := axesOf(t.Shape, t.Strides)
	for i, n := range t.Shape {
		w.buf = binary.LittleEndian.AppendUint32(w.buf, uint32(n))
		w.buf = binary.LittleEndian.AppendUint16(w.buf, axes[i].order)
		w.buf = append(w.buf, axes[i].flags)
	}
	v, err := t.Unchecked(0, sent(t.Shape, axes), t.Strides)
	if err != nil {
		return err
	}
	defer v.Close()
	dense, err := v.Contiguous()
	if err != nil {
		return err
	}
	defer dense.Close()
	if dense.Bytes() == 0 {
		return nil
	}
	err = w.bytes(dense.Raw())
	goruntime.KeepAlive(dense)
	return err
}
