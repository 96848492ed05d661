// Package residency knows what functions declare about the memory of their arguments and results: layouts, places such
// as `on device`, and which part of each a rank has. Inside of a program they say nothing, since a value has the
// strides and the place that suit the code, and operations say which part they make; they count where tensors come in
// and go out.
package residency

import (
	"fmt"
	"slices"
	"strings"

	"healc/ir"
	"healc/ir/kernel"
	"healc/lang/check/tree"
	"healc/lang/types"
	"healc/runtime"
	"healc/runtime/memory"
	"healc/runtime/tensor"
)

// Memory is what a function declares about where its arguments and results lie, those of tuple types flattened.
type Memory struct {
	of      *ir.Func
	params  []types.Tensor // as declared; nil: as in IR, all row-major and on the host
	results []types.Tensor
	stay    []types.Place // where each result stays; nil: all on the host
	off     error         // why the function cannot run: what it needs is not there
	columns []bool        // which results are column-major and have axes to turn over; nil: none
	shards  shardings
}

// Usual is the memory of a function all of whose tensors are row-major and on the host, or of one that declares
// nothing.
func Usual(of *ir.Func) *Memory { return &Memory{of: of} }

// Of is the memory of a function that is declared as f; that is nil for one that nothing declares. d is the device that
// it runs on, nil where that is the host.
func Of(of *ir.Func, f *tree.Func, d *memory.Device) *Memory {
	if f == nil {
		return Usual(of)
	}
	m := &Memory{of: of, results: types.Flatten(f.Declared)}
	for _, p := range f.Params {
		m.params = append(m.params, types.Flatten(p.Declared)...)
	}
	usual := f.Off == nil
	if f.Off != nil && (d == nil || f.Off.Place == types.OnUnified && !d.Info().Managed) {
		message := fmt.Sprintf("`on %s` needs a GPU backend; run it with --backend gpu", f.Off.Place)
		if d != nil {
			message = "`on unified`: " + (&memory.NoUnifiedError{Device: d.Info().Name}).Error()
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
		if t.Layout == types.ColMajor && t.Rank() > 1 {
			if m.columns == nil {
				m.columns = make([]bool, len(m.results))
			}
			m.columns[i] = true
		}
	}
	m.shards = shardingsOf(of, m.params, m.results)
	if usual {
		return &Memory{of: of, shards: m.shards}
	}
	return m
}

// OfGradient is the memory of a derivative by the parameters at by, which is code: each gradient is row-major, and
// where its parameter is.
func (m *Memory) OfGradient(code *ir.Func, by []int64) *Memory {
	shards := m.shards.ofGradient(code, by)
	if m.IsUsual() {
		return &Memory{of: code, shards: shards}
	}
	out := &Memory{of: code, params: slices.Clone(m.params), off: m.off, shards: shards}
	for i, t := range code.Results { // the value, then the gradients, which are results or what is updated
		if i > 0 {
			t.Place, t.Sharding = m.params[by[i-1]].Place, shards.result(i)
		}
		if len(code.Updates) > 0 && i > 0 {
			out.params = append(out.params, t)
			continue
		}
		out.results = append(out.results, t)
		place := t.Place
		if t.IsScalar() {
			place = types.OnHost
		}
		out.stay = append(out.stay, place)
	}
	return out
}

// IsUsual reports whether all tensors are row-major and on the host.
func (m *Memory) IsUsual() bool { return m.params == nil && m.results == nil && m.off == nil }

// Off says why the function cannot run, nil where it can.
func (m *Memory) Off() error { return m.off }

// Stay says where each result stays; nil is all on the host.
func (m *Memory) Stay() []types.Place { return m.stay }

// Param is the declared type of parameter i.
func (m *Memory) Param(i int) types.Tensor {
	if m.IsUsual() {
		t := m.of.Params()[i].Type
		t.Sharding = m.shards.param(i)
		return t
	}
	return m.params[i]
}

// Results are the declared types of the results; what is updated in place is none.
func (m *Memory) Results() []types.Tensor {
	n := len(m.of.Results) - len(m.of.Updates)
	if !m.IsUsual() {
		return m.results[:n]
	}
	if !m.IsSharded() {
		return m.of.Results[:n]
	}
	out := slices.Clone(m.of.Results[:n])
	for i := range out {
		out[i].Sharding = m.shards.result(i)
	}
	return out
}

// Place is the memory that parameter i is declared to be in.
func (m *Memory) Place(i int) types.Place {
	if i >= len(m.params) {
		return types.OnHost
	}
	return m.params[i].Place
}

// resultPlace is Place for result i.
func (m *Memory) resultPlace(i int) types.Place {
	if i >= len(m.results) {
		return types.OnHost
	}
	return m.results[i].Place
}

// Signature is the function's type as source.
func (m *Memory) Signature() string {
	var b strings.Builder
	b.WriteString(m.of.Name)
	if len(m.of.Dims) > 0 {
		b.WriteString("[" + strings.Join(m.of.Dims, ", ") + "]")
	}
	b.WriteString("(")
	for i, p := range m.of.Params() {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(p.Name + ": ")
		if slices.Contains(m.of.Updates, int64(i)) {
			b.WriteString("&mut ")
		}
		b.WriteString(m.Param(i).String())
	}
	results := types.Tuple{}
	for _, r := range m.Results() {
		results.Elems = append(results.Elems, r)
	}
	var t types.Type = results
	if len(results.Elems) == 1 {
		t = results.Elems[0]
	}
	b.WriteString(") -> " + t.String())
	return b.String()
}

// refuse says that a tensor is not as it is declared.
func (m *Memory) refuse(format string, args ...any) error {
	return &runtime.ArgumentError{Func: m.Signature(), Message: fmt.Sprintf(format, args...)}
}

// Home is what a module runs on.
type Home struct {
	Backend string
	Device  *memory.Device // nil where that is the host
	// Declared says that functions declare where their tensors are. Those of a module that was made of IR do not: they
	// may be on the host or on the device.
	Declared bool
}

// OnHost reports that nothing is to be checked: tensors are on the host, where the function declares all of its own. It
// is what nearly every call has.
func (m *Memory) OnHost(ts []*tensor.Tensor) bool {
	if !m.IsUsual() {
		return false
	}
	for _, t := range ts {
		if t.Device() != nil {
			return false
		}
	}
	return true
}

// CheckArguments checks that arguments are in the memory that is declared.
func (m *Memory) CheckArguments(h Home, args []*tensor.Tensor) error {
	for i, t := range args {
		if err := m.inPlace(h, t, m.Place, m.argumentName, i); err != nil {
			return err
		}
	}
	return nil
}

// CheckResults is CheckArguments for the tensors that results are written into.
func (m *Memory) CheckResults(h Home, out []*tensor.Tensor) error {
	for i, t := range out {
		if err := m.inPlace(h, t, m.resultPlace, resultName, i); err != nil {
			return err
		}
	}
	return nil
}

// inPlace checks one tensor, which is number i and has a place and a name.
func (m *Memory) inPlace(h Home, t *tensor.Tensor, place func(int) types.Place, name func(int) string, i int) error {
	if t == nil || t.Err() != nil {
		return nil // the call reports it
	}
	dev := t.Device()
	is, want := t.Place(), place(i)
	if t.Rank() == 0 {
		want = types.OnHost
	}
	switch {
	case dev != nil && h.Device == nil:
		return m.refuse("%s is on a device, and the backend is %s; (*Tensor).ToHost copies it", name(i), h.Backend)
	case dev != nil && dev != h.Device && (!h.Declared || want != types.OnHost):
		return m.refuse("%s is on another device than the program; %s", name(i), copies[want])
	case h.Declared && is != want:
		return m.refuse("%s is %s, and is declared %s; %s", name(i), places[is], declared[want], copies[want])
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

// argumentName is how messages call an argument.
func (m *Memory) argumentName(i int) string {
	if params := m.of.Params(); i < len(params) {
		return "argument `" + params[i].Name + "`"
	}
	return fmt.Sprintf("the tensor for argument %d", i)
}

// resultName is how messages call the tensor for a result.
func resultName(i int) string { return fmt.Sprintf("the tensor for result %d", i) }

// Accepts checks that the function can run, and the layouts of the arguments. What else may be wrong with them, the
// call reports.
func (m *Memory) Accepts(args []*tensor.Tensor) error {
	if m.off != nil {
		return m.off
	}
	for i, p := range m.params {
		if i < len(args) && args[i] != nil && p.Layout == types.ColMajor && args[i].Rank() == p.Rank() &&
			!args[i].IsColumnMajor() {
			return m.refuse("argument `%s` is declared `in col_major`, and its strides are %d for the shape %d; "+
				"(*Tensor).ColumnMajor converts it", m.of.Params()[i].Name, args[i].Strides, args[i].Shape)
		}
	}
	return nil
}

// Arrange gives the results the layouts that they are declared with. It closes those it replaces, after an
// error all.
func (m *Memory) Arrange(results []*tensor.Tensor) ([]*tensor.Tensor, error) {
	if m.IsUsual() {
		return results, nil
	}
	for i, t := range results {
		if m.results[i].Layout != types.ColMajor {
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
