package heal

import (
	"fmt"

	"healc/ir/kernel"
	"healc/lang/check"
	"healc/lang/types"
	"healc/runtime"
)

// memory is what a function declares about where its arguments and results lie. Inside of a program a layout
// says nothing: a value has the strides that suit the code. It counts where tensors enter and leave.
type memory struct {
	params  []types.Tensor // as declared, flattened
	results []types.Tensor
	stay    []types.Place // where each result stays; nil: all on the host
	off     error         // why the function cannot run: what it needs is not there
}

// memoryOf is the memory of a function; nil when all is as usual. d is the device of the backend, if it has one.
func memoryOf(f *check.Func, d *runtime.Device) *memory {
	m := &memory{results: types.Flatten(f.Declared)}
	for _, p := range f.Params {
		m.params = append(m.params, types.Flatten(p.Declared)...)
	}
	usual := f.Off == nil
	if f.Off != nil && (d == nil || f.Off.Place == types.OnUnified && !d.Info().Managed) {
		message := fmt.Sprintf("`on %s` needs a GPU backend; run it with --backend gpu", f.Off.Place)
		if d != nil {
			message = "`on unified`: " + (&runtime.NoUnifiedError{Device: d.Info().Name}).Error()
		}
		m.off = &runtime.RuntimeError{
			Site:    kernel.SiteAt(f.Off.Loc),
			Message: message,
		}
	}
	for _, t := range append(m.params[:len(m.params):len(m.params)], m.results...) {
		usual = usual && t.Layout == types.RowMajor && t.Place == types.OnHost
	}
	for i, t := range m.results {
		if t.Place != types.OnHost && !t.IsScalar() {
			if m.stay == nil {
				m.stay = make([]types.Place, len(m.results))
			}
			m.stay[i] = t.Place
		}
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

// Place is the memory that parameter i is declared to be in, parameters of tuple types flattened.
func (f *Func) Place(i int) types.Place {
	if f.memory == nil || i >= len(f.memory.params) {
		return types.OnHost
	}
	return f.memory.params[i].Place
}

// resultPlace is Place for result i.
func (f *Func) resultPlace(i int) types.Place {
	if f.memory == nil || i >= len(f.memory.results) {
		return types.OnHost
	}
	return f.memory.results[i].Place
}

// inPlace checks that arguments, or the places for results, are in the memory that is declared. A module that was made
// of IR declares none: its tensors may be on the host or on the module's device.
func (f *Func) inPlace(what string, list []*runtime.Tensor, place func(i int) types.Place) error {
	for i, t := range list {
		if t == nil || t.Err() != nil {
			continue // the call reports it
		}
		dev, mine := t.Device(), f.m.opts.Device
		is, want := t.Place(), place(i)
		if t.Rank() == 0 {
			want = types.OnHost
		}
		switch {
		case dev != nil && mine == nil:
			return &ArgumentError{f.Signature(),
				fmt.Sprintf("%s is on a device, and the backend is %s; (*Tensor).ToHost copies it", f.named(what, i),
					f.m.opts.Backend)}
		case dev != nil && dev != mine && (f.m.prog == nil || want != types.OnHost):
			return &ArgumentError{f.Signature(), fmt.Sprintf("%s is on another device than the program; %s",
				f.named(what, i), copies[want])}
		case f.m.prog != nil && is != want:
			return &ArgumentError{f.Signature(), fmt.Sprintf("%s is %s, and is declared %s; %s", f.named(what, i),
				places[is], declared[want], copies[want])}
		}
	}
	return nil
}

// What messages say about a place, and what copies a tensor there.
var (
	places = map[types.Place]string{types.OnHost: "on the host", types.OnDevice: "on a device",
		types.OnUnified: "in unified memory"}
	declared = map[types.Place]string{types.OnHost: "to be on the host", types.OnDevice: "`on device`",
		types.OnUnified: "`on unified`"}
	copies = map[types.Place]string{types.OnHost: "(*Tensor).ToHost copies it",
		types.OnDevice: "ToDevice(m.Device()) copies it", types.OnUnified: "ToUnified(m.Device()) copies it"}
)

// named is how messages call an argument or a result.
func (f *Func) named(what string, i int) string {
	if params := f.ir.Params(); what == "argument" && i < len(params) {
		return "argument `" + params[i].Name + "`"
	}
	return fmt.Sprintf("the tensor for %s %d", what, i)
}

// accepts checks the layouts of the arguments. What else may be wrong with them, the call reports.
func (f *Func) accepts(args []*runtime.Tensor) error {
	if f.memory.off != nil {
		return f.memory.off
	}
	for i, p := range f.memory.params {
		if i < len(args) && args[i] != nil && p.Layout == types.ColMajor && args[i].Rank() == p.Rank() &&
			!args[i].IsColumnMajor() {
			return &ArgumentError{f.Signature(),
				fmt.Sprintf(
					"argument `%s` is declared `in col_major`, and its strides are %d for the shape %d; "+
						"(*Tensor).ColumnMajor converts it",
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
