package nn

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	heal "healc"
	"healc/lang/types"
	"healc/runtime/tensor"
)

// Parameter is a tensor that is trained. Both tensors are row-major and belong to the module.
type Parameter struct {
	Name  string
	Value *tensor.Tensor

	grad *tensor.Tensor
	zero bool // grad is to be read as zeros, whatever it holds
}

// Grad is the sum of the gradients since ZeroGrad, of the type and shape of Value. What is written into it, such as
// gradients that are clipped, is what the next step of an optimizer takes.
func (p *Parameter) Grad() *tensor.Tensor {
	if p.zero {
		_ = p.grad.Clear() // its only error is that of a closed module, which any use of the tensor has, too
		p.zero = false
	}
	return p.grad
}

// Module is a loss and the parameters that it is minimised by. Any number of goroutines may call Forward while none
// calls anything else.
type Module struct {
	prog    *heal.Module
	loss    *heal.Func
	forward *heal.Func // the loss and its gradients
	add     *heal.Func // the loss, and its gradients added to tensors; nil until one is needed
	params  []*Parameter
	takes   []heal.Param     // the parameters of the loss
	inputs  []string         // those that are no Parameter, in order
	args    []*tensor.Tensor // of a call of forward or add, kept from call to call
	out     []*tensor.Tensor // its results: the value of the loss, then all gradients

	mu    sync.Mutex
	slots map[string][]*Parameter // of the functions that Forward has met: the Parameter for each parameter, or nil
}

// New makes a module of a loss, which is a function of prog that gives one float, and of the initial values of those of
// its parameters that are trained, by name. The values are copied, and stay on the host. A parameter of the loss that
// is a tuple has a name for each of its tensors: `p.0`, `p.1` and so on. What the loss takes beside them are its
// inputs.
//
// The error is a *diag.List when the loss has no gradient. Close the module before prog.
func New(prog *heal.Module, loss string, values map[string]*tensor.Tensor) (*Module, error) {
	if prog == nil {
		return nil, errors.New("the program of a module is nil")
	}
	f, err := prog.Func(loss)
	if err != nil {
		return nil, err
	}
	m := &Module{prog: prog, loss: f, takes: f.Params(), slots: map[string][]*Parameter{}}
	fail := func(err error) (*Module, error) {
		m.Close()
		return nil, err
	}
	dims := map[string]int64{}
	for _, p := range m.takes {
		v, trained := values[p.Name]
		if !trained {
			m.inputs = append(m.inputs, p.Name)
			continue
		}
		if err := fits(v, p, dims); err != nil {
			return fail(fmt.Errorf("%s: the value of `%s` %w", f.Signature(), p.Name, err))
		}
		param := &Parameter{Name: p.Name, zero: true}
		m.params = append(m.params, param)
		if param.Value, err = v.Clone(); err != nil {
			return fail(err)
		}
		if param.grad, err = tensor.New(v.DType, v.Shape...); err != nil {
			return fail(err)
		}
	}
	if len(m.params) != len(values) {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			if m.Parameter(name) == nil {
				return fail(fmt.Errorf("%s has no parameter `%s`; it has %s", f.Signature(), name, names(f)))
			}
		}
	}
	if len(m.params) == 0 {
		return fail(fmt.Errorf("%s: no parameter has a value, so there is nothing to train", f.Signature()))
	}
	if m.forward, err = prog.Gradient(loss, m.names()...); err != nil {
		return fail(err)
	}
	value, err := tensor.New(f.Results()[0].Elem)
	if err != nil {
		return fail(err)
	}
	m.out = []*tensor.Tensor{value}
	for _, p := range m.params {
		m.out = append(m.out, p.grad)
	}
	return m, nil
}

// fits says why a tensor cannot be the value of a parameter; dims are the shape parameters that are known already.
func fits(v *tensor.Tensor, p heal.Param, dims map[string]int64) error {
	if v == nil {
		return fmt.Errorf("is nil")
	}
	if err := v.Err(); err != nil {
		return err
	}
	if v.Device() != nil {
		return fmt.Errorf("is on a device, and parameters are on the host; (*Tensor).ToHost copies it")
	}
	is := types.Of(v.DType, v.Shape...)
	if v.DType != p.Type.Elem || v.Rank() != p.Type.Rank() {
		return fmt.Errorf("is %s, not %s", is, p.Type)
	}
	for axis, d := range p.Type.Shape {
		n := v.Shape[axis]
		want, known := d.Const()
		if name, ok := d.AsParam(); ok {
			if want, known = dims[name]; !known {
				dims[name] = n
			}
		}
		if _, literal := d.Const(); literal && n != want {
			return fmt.Errorf("is %s, not %s: axis %d has extent %d, not %d", is, p.Type, axis, n, want)
		}
		if known && n != want {
			return fmt.Errorf("is %s, not %s: axis %d has extent %d, and %s is %d", is, p.Type, axis, n, d, want)
		}
	}
	return nil
}

func names(f *heal.Func) string {
	var out []string
	for _, p := range f.Params() {
		out = append(out, p.Name)
	}
	return strings.Join(out, ", ")
}

// Close frees the parameters; the program stays. What is asked of the module afterwards is an error.
func (m *Module) Close() {
	for _, p := range m.params {
		p.Value.Close()
		p.grad.Close()
	}
	if len(m.out) > 0 {
		m.out[0].Close()
	}
}

// Parameters are the tensors that are trained, in the order of the loss's parameters.
func (m *Module) Parameters() []*Parameter { return m.params }

// Parameter is the one called name, nil for none.
func (m *Module) Parameter(name string) *Parameter {
	for _, p := range m.params {
		if p.Name == name {
			return p
		}
	}
	return nil
}

func (m *Module) names() []string {
	out := make([]string, len(m.params))
	for i, p := range m.params {
		out[i] = p.Name
	}
	return out
}

// ZeroGrad sets all gradients to zero.
func (m *Module) ZeroGrad() {
	for _, p := range m.params {
		p.zero = true
	}
}

// Forward calls a function of the program. Parameters of it that are called like one of the module's take that one's
// value; inputs are the others, in order. The results belong to the caller.
func (m *Module) Forward(ctx context.Context, function string, inputs ...*tensor.Tensor) ([]*tensor.Tensor, error) {
	f, args, err := m.bind(function, inputs)
	if err != nil {
		return nil, err
	}
	return f.CallAll(ctx, args...)
}

// ForwardInto is Forward with the results written into out, as heal's CallInto does.
func (m *Module) ForwardInto(ctx context.Context, out []*tensor.Tensor, function string,
	inputs ...*tensor.Tensor) error {
	f, args, err := m.bind(function, inputs)
	if err != nil {
		return err
	}
	return f.CallInto(ctx, out, args...)
}

// bind puts the arguments of a call of Forward together.
func (m *Module) bind(function string, inputs []*tensor.Tensor) (*heal.Func, []*tensor.Tensor, error) {
	f, err := m.prog.Func(function)
	if err != nil {
		return nil, nil, err
	}
	m.mu.Lock()
	slots, ok := m.slots[function]
	if !ok {
		for _, p := range f.Params() {
			slots = append(slots, m.Parameter(p.Name))
		}
		m.slots[function] = slots
	}
	m.mu.Unlock()
	args := make([]*tensor.Tensor, len(slots))
	rest := inputs
	for i, p := range slots {
		switch {
		case p != nil:
			args[i] = p.Value
		case len(rest) > 0:
			args[i], rest = rest[0], rest[1:]
		default:
			return nil, nil, m.arity(f, slots, len(inputs))
		}
	}
	if len(rest) > 0 {
		return nil, nil, m.arity(f, slots, len(inputs))
	}
	return f, args, nil
}

// arity says which inputs a function takes beside the module's parameters.
func (m *Module) arity(f *heal.Func, slots []*Parameter, got int) error {
	var want []string
	for i, p := range f.Params() {
		if slots[i] == nil {
			want = append(want, p.Name)
		}
	}
	return fmt.Errorf("%s: beside the module's parameters it takes %d inputs (%s), and %d were given", f.Signature(),
		len(want), strings.Join(want, ", "), got)
}
