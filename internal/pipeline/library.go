package pipeline

import (
	"fmt"
	"maps"
	"slices"

	"healc/codegen"
	"healc/codegen/llvm/aot"
	"healc/internal/residency"
	"healc/ir"
	"healc/ir/kernel/transform"
	"healc/lang/types"
)

// Library prepares entries for a shared library whose C functions are called prefix_NAME; aot.Objects and aot.Link
// make it. bind gives the values of an entry's shape parameters; those it leaves out stay free.
func (m *Module) Library(prefix string, entries []string, bind func(entry string) map[string]int64) (*aot.Library,
	error) {
	l := &aot.Library{Prefix: prefix, Target: m.opts.Target, Took: m.opts.Debug.Timer.took(),
		Native: m.opts.Native}
	for _, name := range entries {
		e, err := m.libraryEntry(name, bind(name))
		if err != nil {
			return nil, err
		}
		l.Entries = append(l.Entries, e)
	}
	return l, nil
}

func (m *Module) libraryEntry(name string, bind map[string]int64) (*aot.Entry, error) {
	f, declared, err := m.Find(name)
	if err != nil {
		return nil, err
	}
	refuse := func(why string) error {
		return &codegen.Unsupported{What: fmt.Sprintf("the function `%s`", name), Target: "a library", Why: why}
	}
	memory := residency.Of(f, declared, nil)
	if memory.Off() != nil {
		return nil, memory.Off()
	}
	if !memory.IsUsual() {
		return nil,
			refuse("layouts other than row_major in its type; pass any strides to the function for tensors instead")
	}
	for _, t := range append(ir.ArgTypes(f.Params()), f.Results...) {
		if t.Elem == types.String {
			return nil, refuse("a string in its type, and strings do not leave the program")
		}
	}
	strides := freeStrides(f)
	strided := slices.ContainsFunc(strides, func(of []types.Dim) bool { return len(of) > 0 })
	e := &aot.Entry{Name: f.Name, Signature: memory.Signature()}
	code, km, err := m.kernels(f.Name, bind, nil)
	if err != nil {
		return nil, err
	}
	e.Packed = transform.Share(km)
	if m.opts.Native { // else it is for other processors than that of the file
		if e.Tuned, err = m.Sets(e.Packed); err != nil {
			return nil, err
		}
	}
	if strided {
		_, km, err := m.kernels(f.Name, bind, strides)
		if err != nil {
			return nil, err
		}
		e.Strided = transform.Share(km)
	}
	e.Dims = code.Dims
	for i, p := range code.Params() {
		name := p.Name
		if name == "" {
			name = fmt.Sprintf("x%d", i)
		}
		e.Params = append(e.Params, aot.Param{Name: name, Type: p.Type,
			Update: slices.Contains(code.Updates, int64(i))})
	}
	e.Results = code.Results[:len(code.Results)-len(code.Updates)]
	return e, e.Supported()
}

// freeStrides are strides of the parameters of f that are shape parameters of their own.
func freeStrides(f *ir.Func) [][]types.Dim {
	strides := make([][]types.Dim, len(f.Params()))
	for i, p := range f.Params() {
		strides[i] = []types.Dim{}
		for k := range p.Type.Shape {
			strides[i] = append(strides[i], types.Param(aot.StrideName(i, k)))
		}
	}
	return strides
}

// AnyShapeDims are the values with which code of BuildAnyShape is called, whose plan has these shape parameters.
func AnyShapeDims(dims []string, bind map[string]int64, strides [][]int64) []int64 {
	values := map[string]int64{}
	maps.Copy(values, bind)
	for i, of := range strides {
		for k, n := range of {
			values[aot.StrideName(i, k)] = n
		}
	}
	var out []int64
	for _, name := range dims {
		out = append(out, values[name])
	}
	return out
}
