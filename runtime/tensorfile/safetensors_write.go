package tensorfile

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	goruntime "runtime"
	"slices"
	"unicode/utf8"

	"healc/lang/types"
	"healc/runtime/tensor"
)

// WriteSafetensors writes tensors under their names, and metadata where there is any. Those with the larger elements
// come first, in the order given, so that each lies at a multiple of its element size. The same tensors give the same
// bytes.
func WriteSafetensors(w io.Writer, metadata map[string]string, tensors ...NamedTensor) error {
	order := slices.Clone(tensors)
	slices.SortStableFunc(order, func(a, b NamedTensor) int {
		return cmp.Compare(b.Tensor.DType.Bytes(), a.Tensor.DType.Bytes())
	})
	var described []Described
	for _, x := range order {
		if err := x.Tensor.Err(); err != nil {
			return fmt.Errorf("write safetensors: tensor %q: %w", x.Name, err)
		}
		described = append(described, Described{x.Name, x.Tensor.DType, x.Tensor.Shape})
	}
	header, _, err := SafetensorsHeader(metadata, described)
	if err != nil {
		return err
	}
	if _, err := w.Write(header); err != nil {
		return err
	}
	for _, x := range order {
		if err := writeLittleEndian(w, x.Tensor); err != nil {
			return fmt.Errorf("write safetensors: tensor %q: %w", x.Name, err)
		}
	}
	return nil
}

// Described is what a file says of a tensor.
type Described struct {
	Name  string
	DType types.DType
	Shape []int64
}

// SafetensorsHeader is all that stands before the elements of tensors, which lie one after the other, and where those
// of each begin in the file.
func SafetensorsHeader(metadata map[string]string, order []Described) (head []byte, begin []int64, err error) {
	text, ends, err := safetensorsHeader(metadata, order)
	if err != nil {
		return nil, nil, fmt.Errorf("write safetensors: %w", err)
	}
	head = append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	at := int64(len(head))
	for _, end := range ends {
		begin = append(begin, at)
		at = int64(len(head)) + end
	}
	return head, begin, nil
}

// safetensorsHeader is the text before the elements: what each tensor is, and where its elements stand behind it, whose
// ends it gives, too.
func safetensorsHeader(metadata map[string]string, order []Described) (text []byte, ends []int64, err error) {
	var header bytes.Buffer
	header.WriteByte('{')
	field := func(name string, value any) error {
		text, err := json.Marshal(value)
		if err == nil {
			if header.Len() > 1 {
				header.WriteByte(',')
			}
			key, _ := json.Marshal(name) // a string always has a form
			header.Write(append(append(key, ':'), text...))
		}
		return err
	}
	if metadata != nil {
		if err := field(metadataKey, metadata); err != nil {
			return nil, nil, err
		}
	}
	seen := map[string]bool{"": true, metadataKey: true}
	at := int64(0)
	for _, x := range order {
		if seen[x.Name] || !utf8.ValidString(x.Name) {
			return nil, nil, fmt.Errorf("the name %q is empty, reserved, not UTF-8 or stands twice", x.Name)
		}
		seen[x.Name] = true
		dtype := ""
		for name, d := range safetensorsDTypes {
			if d == x.DType {
				dtype = name
			}
		}
		if dtype == "" {
			return nil, nil, fmt.Errorf("tensor %q: unsupported dtype %v", x.Name, x.DType)
		}
		size, err := tensor.CheckShape(x.DType, x.Shape)
		if err == nil {
			size, err = safetensorsBytes(x.DType, size)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("tensor %q: %w", x.Name, err)
		}
		end := at + size
		err = field(x.Name, struct {
			DType   string   `json:"dtype"`
			Shape   []int64  `json:"shape"`
			Offsets [2]int64 `json:"data_offsets"`
		}{dtype, append([]int64{}, x.Shape...), [2]int64{at, end}})
		if err != nil {
			return nil, nil, fmt.Errorf("tensor %q: %w", x.Name, err)
		}
		at = end
		ends = append(ends, end)
	}
	header.WriteByte('}')
	for header.Len()%8 != 0 {
		header.WriteByte(' ')
	}
	if header.Len() > maxSafetensorsHeader {
		return nil, nil, fmt.Errorf("a header of %d bytes is longer than the limit of %d", header.Len(),
			maxSafetensorsHeader)
	}
	return header.Bytes(), ends, nil
}

// writeLittleEndian writes the elements of t in row-major order.
func writeLittleEndian(w io.Writer, t *tensor.Tensor) error {
	dense, err := t.Contiguous()
	if err != nil {
		return err
	}
	defer dense.Close()
	data := dense.Raw()
	if hostIsBigEndian {
		data = slices.Clone(data)
		swapBytes(data, t.DType.Bytes())
	}
	if t.DType == types.F4E2M1 {
		data = packed(data)
	}
	_, err = w.Write(data)
	goruntime.KeepAlive(dense)
	return err
}

// packed is the inverse of unpack.
func packed(data []byte) []byte {
	out := make([]byte, len(data)/2)
	for i := range out {
		out[i] = data[2*i]&15 | data[2*i+1]<<4
	}
	return out
}

// WriteSafetensorsFile writes tensors to a file, which is replaced as a whole or stays as it was.
func WriteSafetensorsFile(path string, metadata map[string]string, tensors ...NamedTensor) error {
	return writeFile(path, func(w io.Writer) error { return WriteSafetensors(w, metadata, tensors...) })
}
