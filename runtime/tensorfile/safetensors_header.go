package tensorfile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"

	"healc/lang/types"
	"healc/runtime/tensor"
)

// parse reads the header.
func (s *Safetensors) parse(header []byte) error {
	fail := func(err error, reason string) error { return &SafetensorsError{Reason: reason, Err: err} }
	if len(header) == 0 || header[0] != '{' {
		return fail(nil, "no .safetensors file: the header does not start with `{`")
	}
	if !utf8.Valid(header) {
		return fail(nil, "the header is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(header))
	d.UseNumber()
	seen := map[string]bool{}
	err := eachField(d, func(name string) error {
		if seen[name] {
			return &SafetensorsError{Tensor: name, Reason: "the name stands twice in the header"}
		}
		seen[name] = true
		if name == metadataKey {
			return s.parseMetadata(d)
		}
		return s.parseTensor(d, name)
	})
	if err != nil {
		var e *SafetensorsError
		if errors.As(err, &e) {
			return err
		}
		return fail(err, "the header is wrong JSON")
	}
	if rest := bytes.Trim(header[d.InputOffset():], " "); len(rest) > 0 {
		return fail(nil, fmt.Sprintf("%q stands after the header's object", rest[:min(len(rest), 20)]))
	}
	return nil
}

// eachField reads an object: field has to read the value of the name that it is given.
func eachField(d *json.Decoder, field func(name string) error) error {
	if err := delimiter(d, '{'); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		if err := field(name.(string)); err != nil { // the decoder takes nothing else for a name
			return err
		}
	}
	return delimiter(d, '}')
}

// eachElement reads a list: element has to read a value.
func eachElement(d *json.Decoder, element func() error) error {
	if err := delimiter(d, '['); err != nil {
		return err
	}
	for d.More() {
		if err := element(); err != nil {
			return err
		}
	}
	return delimiter(d, ']')
}

func delimiter(d *json.Decoder, want json.Delim) error {
	t, err := d.Token()
	if err == nil && t != want {
		err = fmt.Errorf("%v stands where %q has to", t, want.String())
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}

func (s *Safetensors) parseMetadata(d *json.Decoder) error {
	s.metadata = map[string]string{}
	return eachField(d, func(name string) error {
		if _, twice := s.metadata[name]; twice {
			return fmt.Errorf("%q stands twice in %s", name, metadataKey)
		}
		t, err := d.Token()
		if err != nil {
			return err
		}
		text, ok := t.(string)
		if !ok {
			return fmt.Errorf("%q in %s is no string", name, metadataKey)
		}
		s.metadata[name] = text
		return nil
	})
}

// tensorParser reads the header's entry of one tensor.
type tensorParser struct {
	d    *json.Decoder
	x    safetensor
	seen map[string]bool // the fields of the entry
}

// parseTensor reads the header's entry of one tensor, and compares its type with its bytes.
func (s *Safetensors) parseTensor(d *json.Decoder, name string) error {
	p := &tensorParser{d: d, x: safetensor{name: name}, seen: map[string]bool{}}
	if err := eachField(d, p.field); err != nil {
		return err
	}
	for _, field := range []string{"dtype", "shape", "data_offsets"} {
		if !p.seen[field] {
			return p.fail(nil, "the field %q is missing", field)
		}
	}
	x := p.x
	size, err := tensor.CheckShape(x.dtype, x.shape)
	if err == nil {
		size, err = safetensorsBytes(x.dtype, size)
	}
	if err != nil {
		return p.fail(err, "the shape")
	}
	if x.end-x.begin != size {
		return p.fail(nil, "%s has %d bytes, and data_offsets [%d, %d] do not", tensor.TypeName(x.dtype, x.shape), size,
			x.begin, x.end)
	}
	s.tensors = append(s.tensors, x)
	return nil
}

// safetensorsBytes is how many bytes of a file the elements take that are so many in memory.
func safetensorsBytes(d types.DType, size int64) (int64, error) {
	switch {
	case d != types.F4E2M1:
		return size, nil
	case size%2 != 0:
		return 0, fmt.Errorf("two elements of %v are a byte, and there are %d", d, size)
	}
	return size / 2, nil
}

func (p *tensorParser) fail(err error, format string, args ...any) error {
	return &SafetensorsError{Tensor: p.x.name, Reason: fmt.Sprintf(format, args...), Err: err}
}

// field reads one field of the entry.
func (p *tensorParser) field(name string) error {
	if p.seen[name] {
		return p.fail(nil, "%q stands twice", name)
	}
	p.seen[name] = true
	switch name {
	case "dtype":
		return p.dtype()
	case "shape":
		return eachElement(p.d, func() error {
			n, err := p.whole("the shape")
			if p.x.shape = append(p.x.shape, n); len(p.x.shape) > maxNpyRank {
				return p.fail(nil, "a shape of more than %d axes", maxNpyRank)
			}
			return err
		})
	case "data_offsets":
		return p.offsets()
	}
	return p.fail(nil, "unknown field %q", name)
}

func (p *tensorParser) dtype() error {
	t, err := p.d.Token()
	if err != nil {
		return err
	}
	dtype, isString := t.(string)
	known := false
	if p.x.dtype, known = safetensorsDTypes[dtype]; !isString || !known {
		return p.fail(nil, "unsupported dtype %q", fmt.Sprint(t))
	}
	return nil
}

func (p *tensorParser) offsets() error {
	var offsets []int64
	err := eachElement(p.d, func() error {
		n, err := p.whole("data_offsets")
		if offsets = append(offsets, n); len(offsets) > 2 {
			return p.fail(nil, "data_offsets has more than a begin and an end")
		}
		return err
	})
	if err != nil {
		return err
	}
	if len(offsets) != 2 {
		return p.fail(nil, "data_offsets has no begin and end")
	}
	p.x.begin, p.x.end = offsets[0], offsets[1]
	return nil
}

// whole reads a whole number.
func (p *tensorParser) whole(what string) (n int64, err error) {
	t, err := p.d.Token()
	if err != nil {
		return 0, err
	}
	digits, ok := t.(json.Number)
	if ok {
		n, err = strconv.ParseInt(digits.String(), 10, 64)
	}
	if !ok || err != nil || n < 0 {
		return 0, p.fail(nil, "%v in %s is no whole number from 0 to 2^63 - 1", t, what)
	}
	return n, nil
}

// covers checks that the tensors cover size bytes, each byte once.
func (s *Safetensors) covers(size int64) error {
	order := slices.Clone(s.tensors)
	slices.SortStableFunc(order, func(a, b safetensor) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end))
	})
	at := int64(0)
	for _, x := range order {
		switch {
		case x.end > size:
			return &SafetensorsError{Tensor: x.name,
				Reason: fmt.Sprintf("it ends at byte %d, the file has %d after the header", x.end, size),
				Err:    io.ErrUnexpectedEOF}
		case x.begin > at:
			return &SafetensorsError{Tensor: x.name,
				Reason: fmt.Sprintf("the bytes from %d to %d before it belong to no tensor", at, x.begin)}
		case x.begin < at:
			return &SafetensorsError{Tensor: x.name,
				Reason: fmt.Sprintf("it starts at byte %d, where another tensor ends at %d", x.begin, at)}
		}
		at = x.end
	}
	if at != size {
		return &SafetensorsError{Reason: fmt.Sprintf("%d bytes after the last tensor belong to none", size-at)}
	}
	return nil
}
