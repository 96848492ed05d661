package transcript

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"healc/runtime/tensor"
	"healc/runtime/tensorfile"
)

// readHostTensor reads a HostTensor: a file of NumPy or torch in base64.
func readHostTensor(raw json.RawMessage, what string) (*tensor.Tensor, error) {
	f, err := object(raw, what, "HostTensor")
	if err != nil {
		return nil, err
	}
	var body fields
	if err := decode(f["tensor_base64"], &body, "the `tensor_base64` of "+what, "an object"); err != nil {
		return nil, err
	}
	var kind, text string
	if err := decode(body["type"], &kind, "the type of the data of "+what, "a string"); err != nil {
		return nil, err
	}
	if err := decode(body["data"], &text, "the data of "+what, "a string"); err != nil {
		return nil, err
	}
	data, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, errorf("the data of %s is no base64: %w", what, err)
	}
	var t *tensor.Tensor
	switch kind {
	case "numpy":
		r := bytes.NewReader(data)
		if t, err = tensorfile.ReadNpy(r); err == nil && r.Len() > 0 {
			t.Close()
			err = fmt.Errorf("%d bytes follow the array", r.Len())
		}
	case "torch":
		t, err = readTorch(data)
	default:
		return nil, errorf("the data of %s is of the unknown type %q; there are numpy and torch", what, clip(kind))
	}
	if err != nil {
		return nil, errorf("%s: %w", what, err)
	}
	return t, nil
}
