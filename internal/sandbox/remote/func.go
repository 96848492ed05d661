package remote

import (
	"context"
	"fmt"
	"slices"

	"healc/internal/sandbox/wire"
	"healc/lang/types"
	"healc/runtime"
	"healc/runtime/tensor"
)

// Func is a function of a module in another process.
type Func struct {
	m  *Module
	is wire.Function
}

// Is describes the function.
func (f *Func) Is() *wire.Function { return &f.is }

// Call is CallAll for a function with one result.
func (f *Func) Call(ctx context.Context, args ...*tensor.Tensor) (*tensor.Tensor, error) {
	if n := len(f.is.Results); n != 1 {
		return nil, fmt.Errorf("%s has %s; use CallAll", f.is.Name, types.Count(n, "result"))
	}
	out, err := f.CallAll(ctx, args...)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// CallAll sends the arguments, and gives the results that come back.
func (f *Func) CallAll(ctx context.Context, args ...*tensor.Tensor) ([]*tensor.Tensor, error) {
	return f.call(ctx, args, nil)
}

// CallInto is CallAll with the results copied into out.
func (f *Func) CallInto(ctx context.Context, out []*tensor.Tensor, args ...*tensor.Tensor) error {
	if len(out) != len(f.is.Results) {
		return fmt.Errorf("%s has %s, not %d", f.is.Name, types.Count(len(f.is.Results), "result"), len(out))
	}
	if i := tensor.HoldAll(out); i >= 0 {
		return fmt.Errorf("the tensor for result %d of %s: %w", i, f.is.Name, tensor.ErrClosed)
	}
	defer tensor.ReleaseAll(out)
	results, err := f.call(ctx, args, func(wants []wire.Want) error { return f.takes(out, wants) })
	if err != nil {
		return err
	}
	defer closeAll(results)
	for i, t := range results {
		if err := t.CopyTo(out[i]); err != nil {
			return err
		}
	}
	return nil
}

// takes checks the places for results.
func (f *Func) takes(out []*tensor.Tensor, wants []wire.Want) error {
	for i, t := range out {
		fail := func(format string, args ...any) error {
			return fmt.Errorf("the tensor for result %d of %s"+format, append([]any{i, f.is.Name}, args...)...)
		}
		if err := t.HostErr(); err != nil {
			return fail(": %w", err)
		}
		if w := wants[i]; t.DType != w.DType || !slices.Equal(t.Shape, w.Shape) {
			return fail(" is %s, and the result is %s", t, types.Of(w.DType, w.Shape...))
		}
		for axis, s := range t.Strides {
			if s == 0 && t.Shape[axis] > 1 {
				return fail(": its elements along axis %d are one place in memory", axis)
			}
		}
		for k := range i {
			if t.Overlaps(out[k]) {
				return fmt.Errorf("the tensors for results %d and %d of %s share memory", k, i, f.is.Name)
			}
		}
	}
	return nil
}

// arguments checks what is to be known before arguments can be sent. What else there is to them, the child checks.
func (f *Func) arguments(args []*tensor.Tensor) error {
	fail := func(format string, a ...any) error {
		return &runtime.ArgumentError{Func: f.is.Signature, Message: fmt.Sprintf(format, a...)}
	}
	params := f.is.Params
	if len(args) != len(params) {
		return fail("%d arguments are needed, %d were given", len(params), len(args))
	}
	for i, t := range args {
		name := params[i].Name
		switch {
		case t == nil:
			return fail("argument `%s` is nil", name)
		case t.IsText():
			continue
		case t.Err() != nil:
			return &runtime.ArgumentError{Func: f.is.Signature,
				Message: fmt.Sprintf("argument `%s`: %v", name, t.Err()), Err: t.Err()}
		case t.Device() != nil:
			return fail("argument `%s` is on a device, and the backend is %s; (*Tensor).ToHost copies it", name,
				f.m.Backend())
		case t.DType != params[i].Type.Elem:
			return fail("argument `%s` is %s; its elements must be %s", name, types.Of(t.DType, t.Shape...),
				params[i].Type.Elem)
		}
		if !params[i].Updated {
			continue
		}
		if err := t.WriteErr(); err != nil {
			return fail("argument `%s` is `&mut`, and %v", name, err)
		}
		for k, o := range args {
			if k != i && o != nil && t.Overlaps(o) {
				return fail("argument `%s` is `&mut`, and shares memory with argument `%s`; clone one of them", name,
					params[k].Name)
			}
		}
	}
	return nil
}

// call runs the function. check looks at the results that there will be.
func (f *Func) call(ctx context.Context, args []*tensor.Tensor, check func([]wire.Want) error) ([]*tensor.Tensor,
	error) {
	if ctx == nil {
		ctx = context.Background()
	}
	if !f.m.uses.Begin() {
		return nil, fmt.Errorf("%s cannot be called: %w", f.is.Name, runtime.ErrClosed)
	}
	defer f.m.uses.End()
	if tensor.HoldAll(args) >= 0 {
		return nil, f.arguments(args) // which says it
	}
	defer tensor.ReleaseAll(args)
	if err := f.arguments(args); err != nil {
		return nil, err
	}
	if err := runtime.Ended(ctx); err != nil {
		return nil, err
	}
	shapes := make([][]int64, len(args))
	for i, t := range args {
		shapes[i] = t.Shape
	}
	wants, unknown := f.is.Wanted(shapes)
	if unknown == nil && check != nil {
		if err := check(wants); err != nil {
			return nil, err
		}
	}
	msg := &wire.Message{Kind: wire.Call, Func: f.is.Number, Tensors: args}
	if ctx.Done() != nil {
		msg.Text = []byte("may end")
	}
	a := f.m.request(ctx, msg, wants)
	switch {
	case a.err != nil:
		return nil, a.err
	case unknown != nil: // the child finds the same, and no results
		return nil, f.m.abort("a call succeeds that cannot")
	}
	n := len(f.is.Results)
	defer closeAll(a.tensors[n:])
	for i, k := 0, n; i < len(args); i++ {
		if f.is.Params[i].Updated {
			if err := a.tensors[k].CopyTo(args[i]); err != nil {
				closeAll(a.tensors[:n])
				return nil, err
			}
			k++
		}
	}
	return a.tensors[:n:n], nil
}
