package nn

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	heal "healc"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/tensor"
	"healc/runtime/tensorfile"
)

// Optimizer changes the parameters of a module along their gradients, as module optim of the library does in a program.
// It computes in the type of a parameter, for f16 and bf16 in f32.
type Optimizer struct {
	Rate float64 // the learning rate of the steps to come

	rule    rule
	steps   *tensor.Tensor // how many were made, an i64
	kinds   map[types.DType]*kind
	updates []update // one for each parameter
	states  []tensorfile.NamedTensor
	views   []*tensor.Tensor
}

// kind is the compiled rule for one type of parameters.
type kind struct {
	prog *heal.Module
	f    *heal.Func
	rate *tensor.Tensor
	step *tensor.Tensor // an i32
}

// update is the step of one parameter. The first two arguments are its value and its gradient; all tensors are vectors.
type update struct {
	p    *Parameter
	f    *heal.Func
	args []*tensor.Tensor
}

func newOptimizer(m *Module, rate float64, r rule) (*Optimizer, error) {
	if m == nil {
		return nil, errors.New("the module of an optimizer is nil")
	}
	o := &Optimizer{Rate: rate, rule: r, kinds: map[types.DType]*kind{}, steps: tensor.Scalar[int64](0)}
	opts := m.prog.Options()
	opts.Sandbox = nil // what is compiled here is no program of strangers
	for _, p := range m.params {
		if err := o.add(opts, p); err != nil {
			o.Close()
			return nil, err
		}
	}
	return o, o.steps.Err()
}

// computeType is the type that a step computes in.
func computeType(d types.DType) types.DType {
	if d.Bytes() < types.F32.Bytes() {
		return types.F32
	}
	return d
}

// add prepares the update of a parameter.
func (o *Optimizer) add(opts heal.Options, p *Parameter) error {
	k := o.kinds[p.Value.DType]
	if k == nil {
		k = &kind{}
		o.kinds[p.Value.DType] = k
		if err := k.compile(opts, o.rule, p.Value.DType); err != nil {
			return err
		}
	}
	u := update{p: p, f: k.f}
	vector := func(t *tensor.Tensor) error {
		v, err := t.Reshape(t.Elems())
		if err == nil {
			o.views = append(o.views, v)
			u.args = append(u.args, v)
		}
		return err
	}
	if err := vector(p.Value); err != nil {
		return err
	}
	if err := vector(p.grad); err != nil {
		return err
	}
	for _, s := range o.rule.states {
		t, err := tensor.Zeros(computeType(p.Value.DType), p.Value.Shape...)
		if err != nil {
			return err
		}
		o.states = append(o.states, tensorfile.NamedTensor{Name: p.Name + "." + s, Tensor: t})
		if err := vector(t); err != nil {
			return err
		}
	}
	u.args = append(u.args, k.rate, k.step)
	o.updates = append(o.updates, u)
	return nil
}

// compile makes code of a rule for parameters of type d.
func (k *kind) compile(opts heal.Options, r rule, d types.DType) (err error) {
	in := computeType(d)
	var b strings.Builder
	fmt.Fprintf(&b, "import optim\n\nfn update[N](value: &mut %s[N], gradient: %s[N]", d, d)
	for _, s := range r.states {
		fmt.Fprintf(&b, ", %s: &mut %s[N]", s, in)
	}
	fmt.Fprintf(&b,
		", rate: %s, step: i32) = {\nlet w = value as %s;\nlet g = gradient as %s;\n%svalue = next as %s;\n}\n", in, in,
		in, r.source, d)
	if k.rate, err = tensor.New(in); err != nil {
		return err
	}
	if k.step, err = tensor.New(types.I32); err != nil {
		return err
	}
	opts.Once, opts.Entry, opts.ReadFile = false, "", nil // these are the program's own
	if k.prog, err = heal.Compile(b.String(), opts); err != nil {
		return fmt.Errorf("the update of %s: %w", d, err)
	}
	k.f, err = k.prog.Func("update")
	return err
}

// Step changes all parameters. Those without a gradient since ZeroGrad are taken to have zeros. After an error, such as
// that ctx has ended, some parameters are changed and others are not.
func (o *Optimizer) Step(ctx context.Context) error {
	if err := check(bound{"the learning rate", math.Abs(o.Rate), 0}); err != nil {
		return err
	}
	n, err := o.steps.At()
	if err != nil {
		return err
	}
	if n++; n > math.MaxInt32 {
		return fmt.Errorf("step %d: there are at most %d", int64(n), math.MaxInt32)
	}
	for _, k := range o.kinds {
		if err := k.rate.SetBits(scalar.FloatBits(k.rate.DType, o.Rate)); err != nil {
			return err
		}
		if err := k.step.SetBits(n); err != nil {
			return err
		}
	}
	for _, u := range o.updates {
		u.p.Grad()
		if err := u.f.CallInto(ctx, nil, u.args...); err != nil {
			return fmt.Errorf("the step of `%s`: %w", u.p.Name, err)
		}
	}
	return o.steps.SetBits(n)
}

// Save writes what the optimizer keeps between steps, such as momenta and the number of steps, to a .npz or
// .safetensors file, as Module.Save does with the parameters.
func (o *Optimizer) Save(path string) error { return save(path, o.tensors()) }

// Load reads what Save wrote, for the same kind of optimizer and the same parameters. After an error nothing is
// changed.
func (o *Optimizer) Load(path string) error { return load(path, o.tensors()) }

func (o *Optimizer) tensors() []tensorfile.NamedTensor {
	return append([]tensorfile.NamedTensor{{Name: "steps", Tensor: o.steps}}, o.states...)
}

// Close frees what the optimizer keeps.
func (o *Optimizer) Close() {
	for _, v := range o.views {
		v.Close()
	}
	for _, s := range o.states {
		s.Tensor.Close()
	}
	for _, k := range o.kinds {
		k.rate.Close()
		k.step.Close()
		if k.prog != nil {
			k.prog.Close()
		}
	}
	o.steps.Close()
	o.updates, o.views, o.states = nil, nil, nil
}
