package heal

import (
	"context"
	"fmt"

	"healc/runtime"
)

// CallInto is CallAll with the results written into out, one tensor a result, of its type and shape. Where a
// tensor is contiguous and shares no memory with an argument the machine code writes it directly, and a second call
// with the same shapes allocates nothing; otherwise the result is computed aside and copied, so that every tensor
// is right, a strided view or an argument itself too. After an error the contents of out are undefined.
func (f *Func) CallInto(ctx context.Context, out []*runtime.Tensor, args ...*runtime.Tensor) error {
	if f.memory != nil {
		if err := f.accepts(args); err != nil {
			return err
		}
	}
	if f.m.opts.Backend == Interp {
		return f.interpretInto(ctx, out, args)
	}
	c, err := f.code(args)
	if err != nil {
		return err
	}
	env := runtime.Env{Ctx: ctx, System: f.m.opts.System, Pool: f.m.pool}
	return c.exec.CallInto(env, nil, out, args...)
}

// interpretInto is CallInto on the reference interpreter.
func (f *Func) interpretInto(ctx context.Context, out, args []*runtime.Tensor) error {
	results, err := f.interpret(ctx, args)
	if err != nil {
		return err
	}
	if len(out) != len(results) {
		err = fmt.Errorf("%s has %d results, and there are %d tensors for them", f.name, len(results), len(out))
	}
	for i, t := range results {
		if err == nil {
			err = t.CopyTo(out[i])
		}
		t.Close()
	}
	return err
}
