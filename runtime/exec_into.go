package runtime

import (
	"fmt"
)

// CallInto is Call with the results written into out, one tensor a result, of its type and shape. A tensor
// that is contiguous and shares no memory with an argument is written by the kernels directly; for any other
// the result is computed aside and copied. After an error the contents of out are undefined.
//
// A second CallInto of the same executable allocates no memory, neither Go's nor for tensors, as long as all of
// out is written directly and the plan has no steps but kernels, ifs and loops.
func (x *Executable) CallInto(env Env, dims []int64, out []*Tensor, args ...*Tensor) error {
	if env.System == nil {
		env.System = OS{}
	}
	b, err := x.bind(dims)
	if err != nil {
		return err
	}
	env.Pool.enter()
	defer env.Pool.leave()
	return b.funcs[0].runInto(x, env, b, out, args)
}

// runInto is run for a caller that has places for the results.
func (f *boundFunc) runInto(x *Executable, env Env, b *binding, out, args []*Tensor) error {
	if err := f.checkOut(out); err != nil {
		return err
	}
	if !f.simple {
		results, err := f.run(&run{x: x, env: env, b: b}, args, 0)
		if err != nil {
			return err
		}
		for i, t := range results {
			if e := t.CopyTo(out[i]); e != nil && err == nil {
				err = e
			}
			t.Close()
		}
		return err
	}
	if err := f.check(args); err != nil {
		return err
	}
	fr, err := f.frame()
	if err != nil {
		return err
	}
	defer f.recycle(fr)
	fr.takeArgs(args)
	defer fr.giveBack(out)
	for i := range f.def.Results {
		if out[i].IsContiguous() && !overlapsAny(out[i], args) {
			fr.lend(f.def.Results[i].Buffer, out[i])
		}
	}
	if err := fr.outputs(); err != nil {
		return err
	}
	fr.run = run{x: x, env: env, b: b}
	if err := fr.run.steps(fr, f.steps, 0); err != nil {
		return err
	}
	for i := range f.def.Results {
		if t := fr.tensors[f.def.Results[i].Buffer]; t != out[i] {
			if err := t.CopyTo(out[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkOut compares the places for the results with the results.
func (f *boundFunc) checkOut(out []*Tensor) error {
	if len(out) != len(f.def.Results) {
		return fmt.Errorf("%s has %d results, and there are %d tensors for them", f.def.Name, len(f.def.Results), len(out))
	}
	for i, t := range out {
		if err := t.Err(); err != nil {
			return fmt.Errorf("the tensor for result %d of %s: %w", i, f.def.Name, err)
		}
		v := &f.def.Results[i]
		b := &f.bufs[v.Buffer]
		fits := t.DType == b.dtype && len(t.Shape) == len(v.Shape)
		for k := 0; fits && k < len(v.Shape); k++ {
			n, err := v.Shape[k].Eval(f.bind)
			fits = err == nil && n == t.Shape[k]
		}
		if !fits {
			return fmt.Errorf("the tensor for result %d of %s is %s, which is not the result's type", i, f.def.Name, t)
		}
		for axis, s := range t.Strides {
			if s == 0 && t.Shape[axis] > 1 {
				return fmt.Errorf("the tensor for result %d of %s: its elements along axis %d are one place in memory", i, f.def.Name, axis)
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

func overlapsAny(t *Tensor, others []*Tensor) bool {
	for _, o := range others {
		if t.Overlaps(o) {
			return true
		}
	}
	return false
}

// takeArgs gives the frame the caller's arguments.
func (fr *frame) takeArgs(args []*Tensor) {
	for i, t := range args {
		id := fr.f.def.Params[i]
		if t.text != nil {
			fr.strs[id] = *t.text
			continue
		}
		fr.ptrs[id] = t.Ptr()
		fr.tensors[id] = t
	}
}

// lend makes a tensor of the caller the memory of an output.
func (fr *frame) lend(buf int, t *Tensor) {
	fr.tensors[buf], fr.ptrs[buf] = t, t.Ptr()
}

// giveBack forgets the tensors that were lent, so that the end of the activation does not close them.
func (fr *frame) giveBack(out []*Tensor) {
	for i := range fr.f.def.Results {
		if b := fr.f.def.Results[i].Buffer; fr.tensors[b] == out[i] {
			fr.tensors[b] = nil
		}
	}
	fr.run = run{}
}
