package engine

import (
	"context"
	"errors"
	"time"

	"healc/internal/interpio"
	"healc/ir"
	"healc/ir/interp"
	"healc/ir/kernel"
	"healc/runtime"
	"healc/runtime/memory"
	"healc/runtime/tensor"
)

// interpret runs the function on the reference interpreter.
func (f *Func) interpret(ctx context.Context, args []*tensor.Tensor) ([]*tensor.Tensor, error) {
	bind, err := f.bind(args)
	if err != nil {
		return nil, err
	}
	if err := f.m.CheckPromise(f.ir.Name, bind); err != nil {
		return nil, err
	}
	if err := f.updatable(args); err != nil {
		return nil, err
	}
	if err := runtime.Ended(ctx); err != nil {
		return nil, err
	}
	if !f.m.uses.Begin() {
		return nil, f.closedErr()
	}
	defer f.m.uses.End()
	in := make([]*ir.Array, len(args))
	for i, t := range args {
		if in[i], err = toArray(t); err != nil {
			return nil, f.unusable(f.ir.Params()[i].Name, err)
		}
	}
	out, err := f.evaluate(ctx, bind, in)
	if err != nil {
		var steps *interp.StepsError
		if errors.As(err, &steps) {
			return nil, &runtime.StepsError{Limit: steps.Limit}
		}
		var e *interp.RuntimeError
		if errors.As(err, &e) {
			return nil, &runtime.RuntimeError{Site: kernel.SiteAt(e.Span), Message: e.Message, Err: e.Err, Step: e.Step}
		}
		return nil, err
	}
	if out, err = f.update(args, out); err != nil {
		return nil, err
	}
	res := make([]*tensor.Tensor, len(out))
	for i, a := range out {
		if res[i], err = interpio.FromArray(a); err != nil {
			return nil, err
		}
	}
	return res, nil
}

// toArray copies a tensor that is held, and may be closed meanwhile.
func toArray(t *tensor.Tensor) (*ir.Array, error) {
	if t.IsText() {
		return interpio.ToArray(t), nil
	}
	v, err := t.Unchecked(0, t.Shape, t.Strides)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	return interpio.ToArray(v), nil
}

// patience is how long the interpreter has to notice that its context has ended.
const patience = 50 * time.Millisecond

// evaluate runs the interpreter until its end or that of ctx. It looks at ctx between operations, and a few operations
// do while they work; what another one is at when ctx ends is left to it, and dropped.
func (f *Func) evaluate(ctx context.Context, bind map[string]int64, in []*ir.Array) ([]*ir.Array, error) {
	run := func() ([]*ir.Array, error) {
		limits := f.m.opts.Limits
		bounds := interp.Bounds{Ended: func() error { return runtime.Ended(ctx) }, MaxSteps: limits.Steps,
			Available: max(memory.Available(), 1), MaxBytes: limits.Memory,
			Cluster: f.m.opts.Cluster}
		return interp.RunWithin(bounds, f.m.IR(), f.ir.Name, bind, in, interpio.System{To: f.m.opts.System,
			Checkpoint: f.m.opts.Checkpoint})
	}
	out, err := runtime.Before(ctx, patience, run, nil)
	if err == nil {
		err = runtime.Ended(ctx)
	}
	return out, err
}
