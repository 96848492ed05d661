package heal

import (
	"fmt"

	"healc/lang/check"
	"healc/lang/types"
	"healc/runtime"
	"healc/runtime/abi"
)

// memory is what a function declares about where its arguments and results lie. Inside of a program a layout
// says nothing: a value has the strides that suit the code. It counts where tensors enter and leave.
type memory struct {
	params  []types.Tensor // as declared, flattened
	results []types.Tensor
	off     error // why the function cannot run: what it needs is not on the host
}

// memoryOf is the memory of a function; nil when all is as usual.
func memoryOf(f *check.Func) *memory {
	m := &memory{results: types.Flatten(f.Declared)}
	for _, p := range f.Params {
		m.params = append(m.params, types.Flatten(p.Declared)...)
	}
	usual := f.Off == nil
	if f.Off != nil {
		p := f.Off.Loc.Pos()
		m.off = &runtime.RuntimeError{
			Site:    abi.Site{File: p.File, Line: p.Line, Col: p.Col, Text: f.Off.Loc.File.Line(p.Line)},
			Message: fmt.Sprintf("`on %s` needs a GPU backend, which this version does not have", f.Off.Place),
		}
	}
	for _, t := range append(m.params[:len(m.params):len(m.params)], m.results...) {
		usual = usual && t.Layout == types.RowMajor
	}
	if usual {
		return nil
	}
	return m
}

// Layout is the layout that parameter i is declared with, parameters of tuple types flattened.
func (f *Func) Layout(i int) types.Layout {
	if f.memory == nil {
		return types.RowMajor
	}
	return f.memory.params[i].Layout
}

// accepts checks the layouts of the arguments. What else may be wrong with them, the call reports.
func (f *Func) accepts(args []*runtime.Tensor) error {
	if f.memory.off != nil {
		return f.memory.off
	}
	for i, p := range f.memory.params {
		if i < len(args) && args[i] != nil && p.Layout == types.ColMajor && args[i].Rank() == p.Rank() && !args[i].IsColumnMajor() {
			return &ArgumentError{f.Signature(), fmt.Sprintf("argument `%s` is declared `in col_major`, and its strides are %d for the shape %d; (*Tensor).ColumnMajor converts it",
				f.ir.Params()[i].Name, args[i].Strides, args[i].Shape)}
		}
	}
	return nil
}

// arrange gives the results the layouts that they are declared with. It closes those it replaces, after an
// error all.
func (f *Func) arrange(results []*runtime.Tensor) ([]*runtime.Tensor, error) {
	for i, t := range results {
		if f.memory.results[i].Layout != types.ColMajor {
			continue
		}
		c, err := t.ColumnMajor()
		if err != nil {
			for _, t := range results {
				t.Close()
			}
			return nil, err
		}
		t.Close()
		results[i] = c
	}
	return results, nil
}
