package engine

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"healc/internal/backend"
	"healc/lang/types"
	"healc/runtime"
	"healc/runtime/cluster"
	"healc/runtime/tensor"
)

// CallInto is CallAll with the results written into out, one tensor a result, of its type and shape. Where a tensor is
// contiguous and shares no memory with an argument the machine code writes it directly; otherwise the result is
// computed aside and copied, so that every tensor is right, a strided view or an argument itself too. A second call
// with the same shapes allocates nothing on Go's heap, but for what prints, concatenates strings, or reads and writes
// files, and for results in column-major order. An argument that shares memory with a result must not be smaller than
// it, as where broadcasting enlarges the argument: that is an error. After an error the contents of out are undefined.
func (f *Func) CallInto(ctx context.Context, out []*tensor.Tensor, args ...*tensor.Tensor) error {
	if err := f.holdInto(out, args); err != nil {
		return err
	}
	defer releaseInto(out, args)
	if cluster.Many(f.m.opts.Cluster) { // of copies, so that the lists of a caller on one rank need not be on the heap
		out, args := slices.Clone(out), slices.Clone(args)
		return f.together(ctx, args, func() error { return f.callInto(ctx, out, args) })
	}
	return f.callInto(ctx, out, args)
}

// callInto is CallInto on this rank.
func (f *Func) callInto(ctx context.Context, out, args []*tensor.Tensor) error {
	if err := f.memory.Accepts(args); err != nil {
		return err
	}
	if !f.memory.OnHost(args) {
		if err := f.memory.CheckArguments(f.m.home(), args); err != nil {
			return err
		}
	}
	if !f.memory.OnHost(out) {
		if err := f.memory.CheckResults(f.m.home(), out); err != nil {
			return err
		}
	}
	if err := f.enlarged(out, args); err != nil {
		return err
	}
	if f.m.opts.Backend == backend.Interp {
		return f.interpretInto(ctx, out, args)
	}
	if g := f.turned(); g != nil && f.takesColumns(out, args) {
		return f.turnedInto(ctx, g, out, args)
	}
	return f.runInto(ctx, out, args)
}

// runInto is CallInto where everything has been looked at.
func (f *Func) runInto(ctx context.Context, out, args []*tensor.Tensor) error {
	c, err := f.code(ctx, args)
	if err != nil {
		return err
	}
	env := runtime.Env{Ctx: ctx, System: f.m.opts.System, Pool: f.m.pool, Limits: f.m.opts.Limits,
		Cluster: f.m.opts.Cluster, Trace: f.m.opts.Trace,
		Counts: f.m.opts.Counts, Labels: f.m.opts.Labels}
	defer f.ended(c, c.begun())
	return c.exec.CallInto(env, c.dims, out, args...)
}

// interpretInto is CallInto on the reference interpreter.
func (f *Func) interpretInto(ctx context.Context, out, args []*tensor.Tensor) error {
	// Asked before it runs: it may write arguments, print, or write files.
	if n := len(f.ir.Results) - len(f.ir.Updates); n != len(out) {
		return fmt.Errorf("%s has %s, not %d", f.ir.Name, types.Count(n, "result"), len(out))
	}
	results, err := f.interpret(ctx, args)
	if err != nil {
		return err
	}
	for i, t := range results {
		if err == nil {
			err = t.CopyTo(out[i])
		}
		t.Close()
	}
	return err
}

// enlarged refuses an argument that shares memory with a result to whose shape it broadcasts, other than its own:
// elements of it would be written, on a device that computes in place, before they are read for the last time.
func (f *Func) enlarged(out, args []*tensor.Tensor) error {
	for i, x := range args {
		for k, y := range out {
			if x.Err() != nil || y.Err() != nil || slices.Equal(x.Shape, y.Shape) || !broadcasts(x.Shape, y.Shape) ||
				!x.Overlaps(y) {
				continue
			}
			if want, ok := f.resultShape(k, args); ok && !slices.Equal(y.Shape, want) {
				continue // that it has another shape is said where it is written
			}
			name := strconv.Itoa(i)
			if p := f.ir.Params(); i < len(p) {
				name = p[i].Name
			}
			return fmt.Errorf(
				"%s: argument `%s` of shape %s shares memory with result %d of shape %s, to which broadcasting "+
					"enlarges it", f.ir.Name, name, extentList(x.Shape), k, extentList(y.Shape))
		}
	}
	return nil
}

// resultShape is the shape of result k for these arguments, where they fit the function.
func (f *Func) resultShape(k int, args []*tensor.Tensor) ([]int64, bool) {
	bind, err := f.bind(args)
	if err != nil || k >= len(f.ir.Results) {
		return nil, false
	}
	want := f.ir.Results[k].Shape
	shape := make([]int64, len(want))
	for i, d := range want {
		if shape[i], err = d.Eval(bind); err != nil {
			return nil, false
		}
	}
	return shape, true
}

// broadcasts reports whether every extent of from, aligned from the last, is that of to, or 1.
func broadcasts(from, to []int64) bool {
	if len(from) > len(to) {
		return false
	}
	for i, n := range from {
		if n != 1 && n != to[len(to)-len(from)+i] {
			return false
		}
	}
	return true
}

// extentList prints [2, 3].
func extentList(shape []int64) string { return strings.ReplaceAll(fmt.Sprint(shape), " ", ", ") }
