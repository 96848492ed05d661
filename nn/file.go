package nn

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"healc/runtime/tensor"
	"healc/runtime/tensorfile"
)

// Save writes the values of the parameters, under their names, to a .npz or .safetensors file, as the path says. A file
// that is there is replaced as a whole. bf16 needs .safetensors.
func (m *Module) Save(path string) error { return save(path, m.tensors()) }

// Load reads the values of the parameters from a file as Save writes it. It has to have a tensor of the same type and
// shape for each parameter, and no others. After an error the parameters are what they were.
func (m *Module) Load(path string) error { return load(path, m.tensors()) }

func (m *Module) tensors() []tensorfile.NamedTensor {
	var out []tensorfile.NamedTensor
	for _, p := range m.params {
		out = append(out, tensorfile.NamedTensor{Name: p.Name, Tensor: p.Value})
	}
	return out
}

// reader is an open file of tensors.
type reader interface {
	Names() []string
	Read(name string) (*tensor.Tensor, error)
	Close() error
}

func save(path string, tensors []tensorfile.NamedTensor) error {
	switch ext := filepath.Ext(path); ext {
	case ".npz":
		return tensorfile.WriteNpzFile(path, false, tensors...)
	case ".safetensors":
		return tensorfile.WriteSafetensorsFile(path, nil, tensors...)
	default:
		return unknownFormat(path, ext)
	}
}

func open(path string) (reader, error) {
	switch ext := filepath.Ext(path); ext {
	case ".npz":
		return tensorfile.OpenNpz(path)
	case ".safetensors":
		return tensorfile.OpenSafetensors(path)
	default:
		return nil, unknownFormat(path, ext)
	}
}

func unknownFormat(path, ext string) error {
	return fmt.Errorf("%s: the formats are .npz and .safetensors, not %q", path, ext)
}

// load fills tensors from a file that has these and no others. They are written when all of them are there.
func load(path string, tensors []tensorfile.NamedTensor) error {
	file, err := open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := sameNames(path, file.Names(), tensors); err != nil {
		return err
	}
	values := make([]*tensor.Tensor, len(tensors))
	defer func() {
		for _, v := range values {
			v.Close()
		}
	}()
	for i, x := range tensors {
		if values[i], err = file.Read(x.Name); err != nil {
			return err
		}
		if v := values[i]; v.DType != x.Tensor.DType || !slices.Equal(v.Shape, x.Tensor.Shape) {
			return fmt.Errorf("%s: `%s` is %v in the file, and %v is needed", path, x.Name, v, x.Tensor)
		}
	}
	for i, x := range tensors {
		if err := values[i].CopyTo(x.Tensor); err != nil {
			return err
		}
	}
	return nil
}

// sameNames compares the names in a file with those that are needed.
func sameNames(path string, have []string, tensors []tensorfile.NamedTensor) error {
	var need, missing, extra []string
	for _, x := range tensors {
		need = append(need, x.Name)
		if !slices.Contains(have, x.Name) {
			missing = append(missing, x.Name)
		}
	}
	for _, name := range have {
		if !slices.Contains(need, name) {
			extra = append(extra, name)
		}
	}
	var wrong []string
	if len(missing) > 0 {
		wrong = append(wrong, "lacks "+quoted(missing))
	}
	if len(extra) > 0 {
		wrong = append(wrong, "has "+quoted(extra)+", which nothing here is called")
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%s %s", path, strings.Join(wrong, " and "))
	}
	return nil
}

// quoted lists a few names for a message.
func quoted(names []string) string {
	const most = 8
	rest := ""
	if len(names) > most {
		rest = fmt.Sprintf(" and %d more", len(names)-most)
		names = names[:most]
	}
	return "`" + strings.Join(names, "`, `") + "`" + rest
}
