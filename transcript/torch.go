package transcript

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"healc/lang/types"
	"healc/runtime/tensor"
)

// torchStorages are the classes of storages, by the element type that they hold.
var torchStorages = map[string]types.DType{
	"BoolStorage": types.Bool, "CharStorage": types.I8, "ShortStorage": types.I16, "IntStorage": types.I32,
	"LongStorage": types.I64,
	"ByteStorage": types.U8, "HalfStorage": types.F16, "FloatStorage": types.F32, "DoubleStorage": types.F64,
}

// readTorch reads the one tensor that torch.save wrote: a zip archive without compression, with the folder of
// data.pkl, the pickled tensor, data/KEY, the elements of its storage, and byteorder.
func readTorch(data []byte) (*tensor.Tensor, error) {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("no file of torch.save: %w", err)
	}
	files := map[string]*zip.File{}
	root := ""
	for _, f := range z.File {
		if files[f.Name] != nil {
			return nil, fmt.Errorf("the archive has two files %q", clip(f.Name))
		}
		files[f.Name] = f
		if path.Base(f.Name) == "data.pkl" {
			if root != "" {
				return nil, fmt.Errorf("the archive has two pickles, %q and %q", clip(root+"/data.pkl"), clip(f.Name))
			}
			root = path.Dir(f.Name)
		}
	}
	if root == "" {
		return nil, fmt.Errorf("the archive has no data.pkl, so it is none of torch.save")
	}
	entry := func(name string) ([]byte, error) {
		f := files[path.Join(root, name)]
		if f == nil {
			return nil, fmt.Errorf("the archive has no %s", clip(name))
		}
		if f.Method != zip.Store {
			return nil, fmt.Errorf("%s is compressed, which torch.save does not do", clip(name))
		}
		if f.UncompressedSize64 > uint64(len(data)) {
			return nil, fmt.Errorf("%s claims %d bytes, and the whole archive has %d", clip(name), f.UncompressedSize64,
				len(data))
		}
		r, err := f.Open()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", clip(name), err)
		}
		defer r.Close()
		b, err := io.ReadAll(r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", clip(name), err)
		}
		return b, nil
	}
	text, err := entry("data.pkl")
	if err != nil {
		return nil, err
	}
	p, err := unpickle(text)
	if err != nil {
		return nil, fmt.Errorf("data.pkl: %w", err)
	}
	big := false
	if files[path.Join(root, "byteorder")] != nil {
		order, err := entry("byteorder")
		if err != nil {
			return nil, err
		}
		switch string(order) {
		case "little":
		case "big":
			big = true
		default:
			return nil, fmt.Errorf("byteorder is %q, not little or big", clip(string(order)))
		}
	}
	if strings.ContainsAny(p.key, `/\`) || p.key == "" || p.key == ".." {
		return nil, fmt.Errorf("the storage has the key %q, which is no name of a file", clip(p.key))
	}
	raw, err := entry("data/" + p.key)
	if err != nil {
		return nil, err
	}
	return p.tensor(raw, big)
}

// pickled is a tensor as torch pickles it.
type pickled struct {
	dtype         types.DType
	key           string // of its storage
	elems         int64  // of the storage
	offset        int64
	shape, stride []int64
}

// tensor makes the tensor from the bytes of its storage.
func (p *pickled) tensor(raw []byte, big bool) (*tensor.Tensor, error) {
	size := int64(p.dtype.Bytes())
	if p.elems < 0 || p.elems > types.MaxExtent || p.elems*size != int64(len(raw)) {
		return nil, fmt.Errorf("the storage claims %d elements of %s, and its file has %d bytes", p.elems, p.dtype,
			len(raw))
	}
	whole, err := tensor.New(p.dtype, p.elems)
	if err != nil {
		return nil, err
	}
	defer whole.Close()
	bits := make([]byte, size)
	for i := range p.elems {
		copy(bits, raw[i*size:])
		if big {
			slices.Reverse(bits)
		}
		var v uint64
		for k := len(bits) - 1; k >= 0; k-- {
			v = v<<8 | uint64(bits[k])
		}
		if p.dtype == types.Bool && v != 0 {
			v = 1
		}
		if err := whole.SetBits(v, i); err != nil {
			return nil, err
		}
	}
	return whole.Strided(p.offset, p.shape, p.stride)
}
