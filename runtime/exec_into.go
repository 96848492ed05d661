package runtime

import (
	"fmt"
	goruntime "runtime"
	"slices"

	"healc/lang/types"
	"healc/runtime/abi"
	"healc/runtime/memory"
	"healc/runtime/tensor"
)

// CallInto is Call with the results written into out, one tensor a result, of its type and shape. A tensor
// that is contiguous and shares no memory with an argument is written by the kernels directly; for any other, and for
// results that are views of arguments or constants, elements are copied at the end. After an error the contents of out
// are undefined.
//
// A second CallInto with the same dims allocates nothing on Go's heap, but for what the host does (texts, files) and
// tensors of more than 8 axes that are copied. Memory for tensors comes from what the first call gave back.
func (x *Executable) CallInto(env Env, dims []int64, out []*tensor.Tensor, args ...*tensor.Tensor) error {
	if x.away != nil {
		// those of the caller may lie on its stack
		return x.awayInto(env, slices.Clone(dims), slices.Clone(out), slices.Clone(args))
	}
	env.complete()
	b, err := x.bindUntil(env.Ctx, dims)
	if err != nil {
		return err
	}
	if x.dev != nil {
		return x.callIntoOn(env, b, out, args)
	}
	if !b.funcs[0].brief {
		env.Pool.Enter()
		defer env.Pool.Leave()
	}
	return b.funcs[0].runInto(x, &env, b, out, args)
}

// runInto is run for a caller that has places for the results.
func (f *boundFunc) runInto(x *Executable, env *Env, b *binding, out, args []*tensor.Tensor) error {
	if err := f.checkOut(out); err != nil {
		return err
	}
	if err := f.check(args); err != nil {
		return err
	}
	bytes, err := env.Limits.take(0, f)
	if err != nil {
		return err
	}
	fr, err := f.frame()
	if err != nil {
		return err
	}
	defer func() { // one, as a list of several would cost more than a small kernel
		f.recycle(fr)
		goruntime.KeepAlive(out)
		goruntime.KeepAlive(args)
	}()
	fr.takeArgs(args)
	there := 0 // results that are written where they are wanted
	for i := range f.results {
		if v := &f.results[i]; fr.takes(v) && out[i].IsContiguous() &&
			(apart(out[i], args) || !overlapsAny(out[i].Array(), args)) {
			fr.ptrs[v.buf] = out[i].Ptr()
			there++
		}
	}
	if err := fr.room(); err != nil {
		return err
	}
	if err := fr.execute(x, env, b, bytes); err != nil || there == len(out) {
		return err
	}
	return fr.deliver(out)
}

// deliver copies the results that do not lie in their places yet. Those that are views of an argument are copied away
// first when one of the places is that argument.
func (fr *frame) deliver(out []*tensor.Tensor) error {
	from := fr.from[:0]
	for i := range fr.f.results {
		v := &fr.f.results[i]
		e := fr.elements(v)
		if fr.f.bufs[v.buf].kind == abi.Input && !e.Same(out[i].Array()) && overlapsAny(e, out) {
			aside, memory, err := e.Aside(v.dense)
			if err != nil {
				return err
			}
			e = aside
			fr.owned = append(fr.owned, memory)
		}
		from = append(from, e)
	}
	for i, e := range from {
		if to := out[i].Array(); !e.Same(to) {
			memory.Copy(to, e)
		}
		from[i] = memory.Array{}
	}
	fr.from = from
	return nil
}

// checkOut compares the places for the results with the results.
func (f *boundFunc) checkOut(out []*tensor.Tensor) error {
	if len(out) != len(f.def.Results) {
		return fmt.Errorf("%s has %s, not %d", f.def.Name, types.Count(len(f.def.Results), "result"), len(out))
	}
	for i, t := range out {
		if err := t.WriteErr(); err != nil {
			return fmt.Errorf("the tensor for result %d of %s: %w", i, f.def.Name, err)
		}
		v := &f.results[i]
		if t.DType != f.bufs[v.buf].dtype || !slices.Equal(t.Shape, v.shape) {
			return fmt.Errorf("the tensor for result %d of %s is %s, and the result is %s", i, f.def.Name, t,
				types.Of(f.bufs[v.buf].dtype, v.shape...))
		}
		for axis, s := range t.Strides {
			if s == 0 && t.Shape[axis] > 1 {
				return fmt.Errorf("the tensor for result %d of %s: its elements along axis %d are one place in memory",
					i, f.def.Name, axis)
			}
		}
		for k := range i {
			if t.Overlaps(out[k]) {
				return fmt.Errorf("the tensors for results %d and %d of %s share memory", k, i, f.def.Name)
			}
		}
	}
	return nil
}

// apart reports that a tensor lies in another piece of memory than all others, for which nobody need look at extents.
func apart(t *tensor.Tensor, others []*tensor.Tensor) bool {
	for _, o := range others {
		if !t.Apart(o) {
			return false
		}
	}
	return true
}

func overlapsAny(e memory.Array, others []*tensor.Tensor) bool {
	if memory.Count(e.Shape) == 0 {
		return false
	}
	lo, hi := e.Span() // once
	for _, t := range others {
		o := t.Array()
		if from, to := o.Span(); lo < to && from < hi && memory.Count(o.Shape) != 0 {
			return true
		}
	}
	return false
}
