package engine

import (
	"context"
	"fmt"

	"healc/internal/backend"
	"healc/lang/types"
	"healc/runtime"
	"healc/runtime/cluster"
	"healc/runtime/tensor"
)

// Call runs a function that has one tensor as its result; one that has another number of them, as where it only changes
// its arguments, is not run, and needs CallAll. Shape parameters are bound from the arguments. A failure of the program
// is a *runtime.RuntimeError.
func (f *Func) Call(ctx context.Context, args ...*tensor.Tensor) (*tensor.Tensor, error) {
	// Asked before it runs: it may write arguments, print, or write files.
	if n := len(f.ir.Results) - len(f.ir.Updates); n != 1 {
		return nil, fmt.Errorf("%s has %s; use CallAll", f.ir.Name, types.Count(n, "result"))
	}
	out, err := f.CallAll(ctx, args...)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// CallAll runs a function and returns all its results, tuples flattened from left to right. The arguments
// of `&mut` parameters are written in place; after an error their contents are undefined.
func (f *Func) CallAll(ctx context.Context, args ...*tensor.Tensor) (out []*tensor.Tensor, err error) {
	if err := f.hold(args); err != nil {
		return nil, err
	}
	defer tensor.ReleaseAll(args)
	if !cluster.Many(f.m.opts.Cluster) {
		return f.callAll(ctx, args)
	}
	err = f.together(ctx, args, func() (err error) {
		out, err = f.callAll(ctx, args)
		return err
	})
	if err != nil {
		for _, t := range out {
			t.Close()
		}
		return nil, err
	}
	return out, nil
}

// callAll is CallAll on this rank.
func (f *Func) callAll(ctx context.Context, args []*tensor.Tensor) ([]*tensor.Tensor, error) {
	if err := f.begin(args); err != nil {
		return nil, err
	}
	if err := f.memory.Accepts(args); err != nil {
		return nil, err
	}
	if g := f.turned(); g != nil {
		return f.callTurned(ctx, g, args)
	}
	out, err := f.CallStaying(ctx, args, f.memory.Stay())
	if err != nil {
		return nil, err
	}
	return f.memory.Arrange(out)
}

// CallStaying is CallAll where layouts do not matter. stay says where each result stays; nil is all on the host.
func (f *Func) CallStaying(ctx context.Context, args []*tensor.Tensor, stay []types.Place) ([]*tensor.Tensor, error) {
	if !f.memory.OnHost(args) {
		if err := f.memory.CheckArguments(f.m.home(), args); err != nil {
			return nil, err
		}
	}
	if f.m.opts.Backend == backend.Interp {
		return f.interpret(ctx, args)
	}
	c, err := f.code(ctx, args)
	if err != nil {
		return nil, err
	}
	env := runtime.Env{Ctx: ctx, System: f.m.opts.System, Pool: f.m.pool, Places: stay,
		Limits: f.m.opts.Limits, Cluster: f.m.opts.Cluster, Checkpoint: f.m.opts.Checkpoint,
		Trace: f.m.opts.Trace, Counts: f.m.opts.Counts, Labels: f.m.opts.Labels, Now: f.m.opts.Now}
	defer f.ended(c, c.begun())
	return c.exec.Call(env, c.dims, args...)
}
