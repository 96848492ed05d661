package nn

import (
	"context"
	"fmt"
	"strings"

	"healc/ir/scalar"
	"healc/runtime/tensor"
)

// Graph is the loss of some inputs, at the values that the parameters have when it is computed. It holds the inputs,
// which must stay open as long as it is used.
type Graph struct {
	m      *Module
	inputs []*tensor.Tensor
}

// Loss is the loss of the inputs, which are the parameters of the loss that are not trained, in order. Nothing is
// computed yet.
func (m *Module) Loss(inputs ...*tensor.Tensor) *Graph { return &Graph{m, inputs} }

// Value computes the loss, and no gradient.
func (g *Graph) Value(ctx context.Context) (float64, error) {
	args, err := g.arguments()
	if err != nil {
		return 0, err
	}
	if err := g.m.loss.CallInto(ctx, g.m.out[:1], args...); err != nil {
		return 0, err
	}
	return floatOf(g.m.out[0]), nil
}

// Backward computes the loss and adds its gradients to those of the parameters; a second Backward adds them once more.
// After an error all gradients are zero.
func (g *Graph) Backward(ctx context.Context) (float64, error) {
	m := g.m
	args, err := g.arguments()
	if err != nil {
		return 0, err
	}
	fresh := true
	for _, p := range m.params {
		fresh = fresh && p.zero
	}
	if fresh {
		err = m.forward.CallInto(ctx, m.out, args...)
	} else {
		err = m.addInto(ctx, args)
	}
	for _, p := range m.params {
		p.zero = err != nil
	}
	if err != nil {
		return 0, err
	}
	return floatOf(m.out[0]), nil
}

// addInto adds the gradients to what is there.
func (m *Module) addInto(ctx context.Context, args []*tensor.Tensor) error {
	if m.add == nil {
		var err error
		if m.add, err = m.prog.AddGradient(m.loss.Name(), m.names()...); err != nil {
			return err
		}
	}
	for _, p := range m.params {
		args = append(args, p.Grad())
	}
	m.args = args
	return m.add.CallInto(ctx, m.out[:1], args...)
}

// arguments are those of the loss. The list is the module's, and lasts until the next call.
func (g *Graph) arguments() ([]*tensor.Tensor, error) {
	m := g.m
	if len(g.inputs) != len(m.inputs) {
		return nil, fmt.Errorf("%s: beside the module's parameters it takes %d inputs (%s), and %d were given",
			m.loss.Signature(), len(m.inputs), strings.Join(m.inputs, ", "), len(g.inputs))
	}
	m.args = m.args[:0]
	rest := g.inputs
	for _, p := range m.takes {
		if param := m.Parameter(p.Name); param != nil {
			m.args = append(m.args, param.Value)
			continue
		}
		m.args, rest = append(m.args, rest[0]), rest[1:]
	}
	return m.args, nil
}

// floatOf is the value of a scalar of any float type.
func floatOf(t *tensor.Tensor) float64 {
	bits, err := t.At()
	if err != nil {
		panic("BUG: a scalar of the module: " + err.Error())
	}
	return scalar.FloatValue(t.DType, bits)
}
