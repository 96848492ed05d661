package engine

import (
	"context"
	"errors"

	"healc/internal/interpio"
	"healc/ir"
	"healc/ir/interp"
	"healc/ir/kernel"
	"healc/runtime"
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
	in := make([]*ir.Array, len(args))
	for i, t := range args {
		in[i] = interpio.ToArray(t)
	}
	out, err := interp.Run(f.m.IR(), f.ir.Name, in, interpio.System{To: f.m.opts.System})
	if err != nil {
		var e *interp.RuntimeError
		if errors.As(err, &e) {
			return nil, &runtime.RuntimeError{Site: kernel.SiteAt(e.Span), Message: e.Message, Err: errors.Unwrap(e)}
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
