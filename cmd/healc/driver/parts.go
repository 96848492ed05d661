package driver

import (
	"fmt"
	"hash/crc32"
	"slices"

	"healc/internal/engine"
	"healc/ir"
	"healc/lang/types"
	"healc/runtime/tensor"
	"healc/runtime/tensorfile"
)

// Of a sharded parameter a rank makes its part alone, and of a sharded result it writes its part: Note [Arguments in
// parts] in internal/engine.

// partOf makes this rank's part of the value for a sharded parameter. Of a .npy or .safetensors file no more
// is read.
func (j *Job) partOf(m *engine.Module, p *ir.Value, axis int, text string) (*tensor.Tensor, engine.Whole, error) {
	cut := func(d types.DType, shape []int64) (int, int64, int64, error) {
		if d != p.Type.Elem || len(shape) != p.Type.Rank() {
			return min(len(shape), 1) - 1, 0, 0, nil // nothing of what does not fit, which is said later
		}
		lo, hi := m.Block(shape[axis])
		return axis, lo, hi, nil
	}
	var whole engine.Whole
	cutOut := func(t *tensor.Tensor, sum string) (*tensor.Tensor, error) {
		defer t.Close()
		whole = engine.Whole{Shape: slices.Clone(t.Shape), Sum: sum}
		return tensorfile.PartOf(t, cut)
	}
	t, err := valueIn(p, text, j.Dir, fileReader{
		npy: func(_ *ir.Value, path string) (*tensor.Tensor, error) {
			t, shape, err := tensorfile.ReadNpyPart(path, cut)
			if err != nil {
				return nil, err
			}
			whole.Shape = shape
			whole.Sum, err = tensorfile.Samples(path)
			if err != nil {
				t.Close()
				return nil, err
			}
			return t, nil
		},
		member: func(z archive, name, path string) (*tensor.Tensor, error) {
			if s, ok := z.(*tensorfile.Safetensors); ok {
				if d, ok := s.Describe(name); ok {
					whole.Shape = d.Shape
				}
				sum, err := tensorfile.Samples(path)
				if err != nil {
					return nil, err
				}
				whole.Sum = sum + " of " + name
				return s.ReadPart(name, cut)
			}
			t, err := z.Read(name)
			if err != nil {
				return nil, err
			}
			sum := crc32.Checksum(t.Raw(), crc32.MakeTable(crc32.Castagnoli))
			return cutOut(t, fmt.Sprintf("checksum %08x", sum))
		},
	})
	if err == nil && whole.Shape == nil { // a literal, or what a generator makes, which its text says
		t, err = cutOut(t, text)
	}
	return t, whole, err
}
