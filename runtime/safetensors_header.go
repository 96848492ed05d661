package runtime

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

// parseTensor reads what the header says of one tensor, and compares its type with its bytes.
func (s *Safetensors) parseTensor(d *json.Decoder, name string) error {
	fail := func(err error, format string, args ...any) error {
		return &SafetensorsError{Tensor: name, Reason: fmt.Sprintf(format, args...), Err: err}
	}
	whole := func(what string) (n int64, err error) {
		t, err := d.Token()
		if err != nil {
			return 0, err
		}
		digits, ok := t.(json.Number)
		if ok {
			n, err = strconv.ParseInt(digits.String(), 10, 64)
		}
		if !ok || err != nil || n < 0 {
			return 0, fail(nil, "%v in %s is no whole number from 0 to 2^63 - 1", t, what)
		}
		return n, nil
	}
	x := safetensor{name: name}
	seen := map[string]bool{}
	err := eachField(d, func(field string) (err error) {
		if seen[field] {
			return fail(nil, "%q stands twice", field)
		}
		seen[field] = true
		switch field {
		case "dtype":
			t, err := d.Token()
			if err != nil {
				return err
			}
			dtype, isString := t.(string)
			known := false
			if x.dtype, known = safetensorsDTypes[dtype]; !isString || !known {
				return fail(nil, "unsupported dtype %q", fmt.Sprint(t))
			}
		case "shape":
			return eachElement(d, func() error {
				n, err := whole("the shape")
				if x.shape = append(x.shape, n); len(x.shape) > maxNpyRank {
					return fail(nil, "a shape of more than %d axes", maxNpyRank)
				}
				return err
			})
		case "data_offsets":
			var offsets []int64
			err = eachElement(d, func() error {
				n, err := whole("data_offsets")
				if offsets = append(offsets, n); len(offsets) > 2 {
					return fail(nil, "data_offsets has more than a begin and an end")
				}
				return err
			})
			if err == nil && len(offsets) != 2 {
				return fail(nil, "data_offsets has no begin and end")
			}
			if err == nil {
				x.begin, x.end = offsets[0], offsets[1]
			}
		default:
			return fail(nil, "unknown field %q", field)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, field := range []string{"dtype", "shape", "data_offsets"} {
		if !seen[field] {
			return fail(nil, "the field %q is missing", field)
		}
	}
	size, err := checkShape(x.dtype, x.shape)
	if err != nil {
		return fail(err, "the shape")
	}
	if x.end-x.begin != size {
		return fail(nil, "%s has %d bytes, and data_offsets [%d, %d] do not", typeName(x.dtype, x.shape), size, x.begin,
			x.end)
	}
	s.tensors = append(s.tensors, x)
	return nil
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
