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
	"healc/passes/shard"
)

// Library prepares entries for a shared library whose C functions are called prefix_NAME; aot.Objects and aot.Link
// make it. bind gives the values of an entry's shape parameters; those it leaves out stay free. Entries that say how
// tensors are cut get the code of each rank for each of the numbers of ranks; where there are none, they are for one.
func (m *Module) Library(prefix string, entries []string, bind func(entry string) map[string]int64, ranks ...int) (
	*aot.Library, error) {
	l := &aot.Library{Prefix: prefix, Target: m.opts.Target, Took: m.opts.Debug.Timer.took(),
		Native: m.opts.Native}
	for _, name := range entries {
		e, err := m.libraryEntry(name, bind(name), ranks)
		if err != nil {
			return nil, err
		}
		l.Entries = append(l.Entries, e)
	}
	return l, nil
}

func (m *Module) libraryEntry(name string, bind map[string]int64, ranks []int) (*aot.Entry, error) {
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
	e := &aot.Entry{Name: f.Name, Signature: memory.Signature()}
	if len(ranks) > 0 && slices.ContainsFunc(m.copyOf(name).Funcs, shard.Says) {
		return m.ranksEntry(e, f, memory, bind, ranks)
	}
	return e, m.complete(e, f, bind)
}

// complete gives an entry the code of f.
func (m *Module) complete(e *aot.Entry, f *ir.Func, bind map[string]int64) error {
	strides := freeStrides(f)
	strided := slices.ContainsFunc(strides, func(of []types.Dim) bool { return len(of) > 0 })
	code, km, err := m.kernels(f.Name, bind, nil)
	if err != nil {
		return err
	}
	e.Packed = transform.Share(km)
	if m.opts.Native { // else it is for other processors than that of the file
		if e.Tuned, err = m.Sets(e.Packed); err != nil {
			return err
		}
	}
	if strided {
		_, km, err := m.kernels(f.Name, bind, strides)
		if err != nil {
			return err
		}
		e.Strided = transform.Share(km)
	}
	e.Dims = code.Dims
	e.Params, e.Results = libraryParams(code), code.Results[:len(code.Results)-len(code.Updates)]
	return e.Supported()
}

// libraryParams are the parameters of an entry, with their types.
func libraryParams(code *ir.Func) (out []aot.Param) {
	for i, p := range code.Params() {
		name := p.Name
		if name == "" {
			name = fmt.Sprintf("x%d", i)
		}
		out = append(out, aot.Param{Name: name, Type: p.Type, Update: slices.Contains(code.Updates, int64(i))})
	}
	return out
}

// ranksEntry completes an entry with the code of each rank, for one and for the numbers that are asked for. Where a
// parameter or result is sharded, a rank has its block of it.
func (m *Module) ranksEntry(e *aot.Entry, f *ir.Func, memory *residency.Memory, bind map[string]int64, sizes []int) (
	*aot.Entry, error) {
	for _, d := range f.Dims {
		if _, known := bind[d]; !known {
			return nil, &codegen.Unsupported{What: fmt.Sprintf("the function `%s`", f.Name),
				Target: "a library of ranks",
				Why: fmt.Sprintf("the blocks of ranks have lengths that are known when it is compiled; give %s a "+
					"value with --shape %s=EXTENT", d, d)}
		}
	}
	cut := CutOf(f, memory)
	sizes = append([]int{1}, sizes...)
	slices.Sort(sizes)
	for _, size := range slices.Compact(sizes) {
		for rank := range size {
			opts := m.opts
			opts.Ranks = shard.Ranks{Rank: rank, Size: size, Cut: cut}
			code, km, err := New(m.Source, opts).kernels(f.Name, bind, nil)
			if err != nil {
				return nil, err
			}
			r := &aot.Rank{Rank: rank, Size: size, Code: transform.Share(km), Params: libraryParams(code),
				Results: code.Results[:len(code.Results)-len(code.Updates)]}
			if size == 1 { // of which the blocks are whole
				e.Params, e.Results = r.Params, r.Results
			}
			e.Ranks = append(e.Ranks, r)
		}
	}
	return e, e.Supported()
}

// CutOf says how the parameters and results of f are cut, as its types have it.
func CutOf(f *ir.Func, memory *residency.Memory) *shard.Cut {
	cut := &shard.Cut{Entry: f.Name}
	for i := range f.Params() {
		cut.Params = append(cut.Params, memory.ParamAxis(i))
	}
	for i := range f.Results {
		cut.Results = append(cut.Results, memory.ResultAxis(i))
	}
	return cut
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
