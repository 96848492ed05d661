package runtime

import (
	"healc/runtime/abi"
	"healc/runtime/memory"
)

// call runs another function of the plan. Where its results are whole outputs it writes them where the caller wants
// them; others are copied. Memory apart from the frame comes from the allocator and goes back there, so that a
// recursion that has been as deep before allocates nothing.
func (r *run) call(fr *frame, s *boundStep, depth int) error {
	c := s.def.Call
	if depth >= abi.MaxCallDepth {
		site := r.site(c.Site)
		site.Kind = abi.KindRecursion
		return &RuntimeError{Site: site, Message: abi.Message(site, [2]int64{})}
	}
	f := r.b.funcs[c.Func]
	if err := r.take(f); err != nil {
		return err
	}
	defer r.give(f)
	callee, err := f.frame()
	if err != nil {
		return err
	}
	defer f.recycle(callee)
	for i := range s.views {
		if err := callee.pass(f.def.Params[i], fr, &s.views[i]); err != nil {
			return err
		}
	}
	for i := range f.results {
		if v := &f.results[i]; callee.takes(v) && fr.mayWrite(c.Out[i], s.views) {
			callee.ptrs[v.buf] = fr.ptrs[c.Out[i]]
		}
	}
	if err := callee.room(); err != nil {
		return err
	}
	if err := r.do(callee, f.steps, depth+1); err != nil {
		return err
	}
	for i := range f.results {
		v, to := &f.results[i], c.Out[i]
		if callee.isString(v) {
			fr.strs[to] = callee.strs[v.buf]
		} else if callee.ptrs[v.buf] != fr.ptrs[to] {
			memory.Copy(fr.buffer(to), callee.elements(v))
		}
	}
	return nil
}

// pass makes a view of the caller's memory a parameter, which lies as the plan declares: without gaps, unless it says
// otherwise.
func (fr *frame) pass(param int, caller *frame, v *boundView) error {
	if caller.isString(v) {
		fr.strs[param] = caller.strs[v.buf]
		return nil
	}
	e, b := caller.elements(v), &fr.f.bufs[param]
	if !memory.SameStrides(v.shape, v.strides, b.strides) {
		dense, memory, err := e.Aside(b.strides)
		if err != nil {
			return err
		}
		e = dense
		fr.owned = append(fr.owned, memory)
	}
	fr.ptrs[param] = e.Ptr
	return nil
}

// takes reports whether a result is a whole output that has no memory yet.
func (fr *frame) takes(v *boundView) bool {
	b := &fr.f.bufs[v.buf]
	return v.whole && b.kind == abi.Output && fr.ptrs[v.buf] == nil && !fr.isString(v)
}

// mayWrite reports whether a buffer, which is to get a result of a call, may be written while the arguments are
// still read.
func (fr *frame) mayWrite(buf int, args []boundView) bool {
	if b := &fr.f.bufs[buf]; b.kind == abi.Input {
		return false // an argument may share its memory with another, and have any strides
	}
	for i := range args {
		if args[i].buf == buf {
			return false
		}
	}
	return true
}
