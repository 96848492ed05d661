package driver

import (
	"fmt"

	"healc/ir"
	"healc/runtime/mapped"
	"healc/runtime/tensor"
	"healc/runtime/tensorfile"
)

// inputFiles are the inputs that stay in their files while the program runs.
type inputFiles []inputFile

type inputFile struct {
	input string
	file  *mapped.File
}

// read gives the tensor in a .npy file, for a parameter that the program does not change.
func (fs *inputFiles) read(p *ir.Value, path string) (*tensor.Tensor, error) {
	t, file, err := tensorfile.MapNpyFile(path)
	if file != nil {
		*fs = append(*fs, inputFile{p.Name, file})
	}
	return t, err
}

// err says which input may have been another than its file held: nobody sees a result that was computed from it.
func (fs inputFiles) err() error {
	for _, f := range fs {
		if err := f.file.Err(); err != nil {
			return fmt.Errorf("input `%s`: %w", f.input, err)
		}
	}
	return nil
}
