package onnx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// field is one field of a protobuf message: a number (varint, fixed) or bytes.
type field struct {
	number int
	kind   int // the wire type
	value  uint64
	bytes  []byte
}

// The wire types.
const (
	varint  = 0
	fixed64 = 1
	block   = 2
	fixed32 = 5
)

var errCut = errors.New("the file ends in the middle of a field")

// fields calls f for each field of a message, which gives the first error. Nothing is copied: bytes are parts of
// message.
func fields(message []byte, f func(field) error) error {
	for len(message) > 0 {
		key, n := binary.Uvarint(message)
		if n <= 0 || key>>3 == 0 || key>>3 > 1<<29-1 {
			return errCut
		}
		message = message[n:]
		x := field{number: int(key >> 3), kind: int(key & 7)}
		size := 0
		switch x.kind {
		case varint:
			if x.value, size = binary.Uvarint(message); size <= 0 {
				return errCut
			}
		case fixed64:
			if size = 8; len(message) < size {
				return errCut
			}
			x.value = binary.LittleEndian.Uint64(message)
		case fixed32:
			if size = 4; len(message) < size {
				return errCut
			}
			x.value = uint64(binary.LittleEndian.Uint32(message))
		case block:
			length, n := binary.Uvarint(message)
			if n <= 0 || length > uint64(len(message)-n) {
				return errCut
			}
			size = n + int(length)
			x.bytes = message[n:size]
		default:
			return fmt.Errorf("field %d has the wire type %d, which is none", x.number, x.kind)
		}
		message = message[size:]
		if err := f(x); err != nil {
			return err
		}
	}
	return nil
}

// wrongKind is the error of a field that is of another wire type than the format says.
func (x field) wrongKind() error {
	return fmt.Errorf("field %d has the wire type %d", x.number, x.kind)
}

// message is a field that has bytes.
func (x field) message() ([]byte, error) {
	if x.kind != block {
		return nil, x.wrongKind()
	}
	return x.bytes, nil
}

// text sets s to a field that has a string.
func (x field) text(s *string) error {
	b, err := x.message()
	*s = string(b)
	return err
}

// texts appends a field that has a string.
func (x field) texts(s *[]string) error {
	b, err := x.message()
	*s = append(*s, string(b))
	return err
}

// integer sets n to a field that has a number.
func (x field) integer(n *int64) error {
	if x.kind != varint {
		return x.wrongKind()
	}
	*n = int64(x.value)
	return nil
}

// integers appends the numbers of a field, which has one or, packed, many.
func (x field) integers(ns *[]int64) error {
	if x.kind == varint {
		*ns = append(*ns, int64(x.value))
		return nil
	}
	b, err := x.message()
	for err == nil && len(b) > 0 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return errCut
		}
		*ns = append(*ns, int64(v))
		b = b[n:]
	}
	return err
}

// fixed appends the bytes of numbers of the given size, of which a field has one or, packed, many.
func (x field) fixed(size int, to *[]byte) error {
	switch {
	case x.kind == fixed32 && size == 4:
		*to = binary.LittleEndian.AppendUint32(*to, uint32(x.value))
	case x.kind == fixed64 && size == 8:
		*to = binary.LittleEndian.AppendUint64(*to, x.value)
	case x.kind == block && len(x.bytes)%size == 0:
		*to = append(*to, x.bytes...)
	default:
		return x.wrongKind()
	}
	return nil
}

// floats appends the numbers of a field, which has one or, packed, many.
func (x field) floats(to *[]float64) error {
	var b []byte
	if err := x.fixed(4, &b); err != nil {
		return err
	}
	for ; len(b) > 0; b = b[4:] {
		*to = append(*to, float64(math.Float32frombits(binary.LittleEndian.Uint32(b))))
	}
	return nil
}
