package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	heal "healc"
)

// array is a tensor in JSON: its extents, none for a scalar, and its elements in row-major order, of a scalar the one.
type array struct {
	Shape []int           `json:"shape"`
	Data  json.RawMessage `json:"data"`
}

// errArray says that an array of a request does not fit a parameter.
var errArray = errors.New("bad argument")

// form is how the elements of a type are read and written.
type form struct {
	read  func(array) (*heal.Tensor, error)
	write func(*heal.Tensor) (array, error)
}

// forms are those of the types that JSON has numbers or truth values for. f16 and bf16 are no types of Go.
var forms = map[string]form{
	"bool": formOf[bool](), "f32": formOf[float32](), "f64": formOf[float64](),
	"i8": formOf[int8](), "i16": formOf[int16](), "i32": formOf[int32](), "i64": formOf[int64](),
	"u8": formOf[octet](), "u16": formOf[uint16](), "u32": formOf[uint32](), "u64": formOf[uint64](),
}

// octet is a number where JSON would take a slice of bytes for text.
type octet uint8

// MarshalJSON implements json.Marshaler.
func (o octet) MarshalJSON() ([]byte, error) { return strconv.AppendUint(nil, uint64(o), 10), nil }

func formOf[T heal.Elem]() form { return form{read[T], write[T]} }

// read is the tensor on the memory of the numbers that were read.
func read[T heal.Elem](a array) (*heal.Tensor, error) {
	var err error
	data := make([]T, 1)
	if len(a.Shape) > 0 {
		err = json.Unmarshal(a.Data, &data)
	} else {
		err = json.Unmarshal(a.Data, &data[0])
	}
	if err != nil {
		return nil, err
	}
	if len(a.Shape) == 0 {
		return heal.Scalar(data[0]), nil
	}
	t := heal.Of(data, a.Shape...)
	return t.Tensor, t.Err()
}

func write[T heal.Elem](t *heal.Tensor) (array, error) {
	rows, err := t.Contiguous()
	if err != nil {
		return array{}, err
	}
	defer rows.Close()
	data, err := heal.Slice[T](rows)
	if err != nil {
		return array{}, err
	}
	a := array{Shape: make([]int, len(t.Shape))}
	for i, n := range t.Shape {
		a.Shape[i] = int(n)
	}
	switch {
	case len(a.Shape) == 0:
		a.Data, err = json.Marshal(data[0])
	case len(data) == 0:
		a.Data = json.RawMessage("[]")
	default:
		a.Data, err = json.Marshal(data)
	}
	return a, err // of NaN and infinities, which JSON has no numbers for
}

// tensors are the arguments of a function, those that were read before an error, too.
func tensors(params []heal.Param, given []array) ([]*heal.Tensor, error) {
	if len(given) != len(params) {
		return nil, fmt.Errorf("%w: %d arrays for %d parameters", errArray, len(given), len(params))
	}
	var args []*heal.Tensor
	for i, p := range params {
		f, ok := forms[p.Type.Elem.String()]
		if !ok {
			return args, fmt.Errorf("%w %s: JSON has no %s", errArray, p.Name, p.Type.Elem)
		}
		t, err := f.read(given[i])
		if err != nil {
			return args, fmt.Errorf("%w %s: %w", errArray, p.Name, err)
		}
		args = append(args, t)
	}
	return args, nil
}

// arrayOf is a result in JSON.
func arrayOf(t *heal.Tensor) (array, error) {
	f, ok := forms[t.DType.String()]
	if !ok {
		return array{}, fmt.Errorf("%w: the result is of %s, which JSON has not", errArray, t.DType)
	}
	return f.write(t)
}
